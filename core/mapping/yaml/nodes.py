"""The nodes of a YAML document, each with its place in the file."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from rowtui.core.mapping.model.origin import FilePosition


class Scalar(NamedTuple):
    """A text, number, truth value or null.

    `value` is typed; `text` is the text as written, without quotes. `text_line` is the line on
    which the text itself begins: the line after `|` or `>` for block scalars.
    """

    value: str | int | float | bool | None
    text: str
    place: FilePosition
    text_line: int


class Items(NamedTuple):
    """A list."""

    items: list[Node]
    place: FilePosition


class YamlTable(NamedTuple):
    """A map in file order, with entries merged by `<<` at the end. Keys are text as written."""

    entries: dict[str, tuple[Scalar, Node]]
    place: FilePosition


Node: TypeAlias = Scalar | Items | YamlTable


def plain(node: Node | None) -> Any:
    """Return Python data: dict, list, str, int, float, bool, None. Aliases become copies."""
    if node is None:
        return None
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Items):
        return [plain(item) for item in node.items]
    return {key: plain(value) for key, (_, value) in node.entries.items()}
