"""The nodes of a YAML document, each with its place, and the values of unquoted text.

Unquoted text is read by the core schema of YAML 1.2, as TPV's reader has it: `yes`, `on`, `12:30`
and dates are text. Beyond the core schema, TPV's reader accepts `0b11` and `1_000`. Source: YAML
1.2.2, 10.3.2.
"""

from __future__ import annotations

from math import inf, nan
from typing import Any, NamedTuple, TypeAlias

from rowtui.core.base.lazy import pattern
from rowtui.core.mapping.model.origin import FilePosition

MOST_DIGITS = 300
"""Digits of a whole number; a float represents every such size, so numbers are comparable."""
_MOST_BITS = 997  # of a number of this many digits

NOT_TEXT = frozenset(("", *"0123456789+-.~nNtTfF"))
"""First characters of plain scalars that may not be text; all others are text."""

_WORDS: dict[str, bool | float | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((sign + word for sign in ("", "+") for word in (".inf", ".Inf", ".INF")), inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), nan),
}
_INTEGER = pattern(
    r"[-+]?(?:([0-9][0-9_]*)|0o[0-7][0-7_]*|0x[0-9a-fA-F][0-9a-fA-F_]*|0b[01][01_]*)"
)
_DECIMAL = pattern(
    r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|[0-9][0-9_]*(?=[eE])|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?"
)


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


def typed(text: str) -> str | int | float | bool | None:
    """Return the value of a plain scalar.

    Raises: ValueError for a whole number of more than `MOST_DIGITS`.
    """
    if text in _WORDS:
        return _WORDS[text]
    found = _INTEGER.fullmatch(text)
    if found:
        digits = text.replace("_", "")
        number = int(digits) if found[1] else int(digits, 0)
        if number.bit_length() > _MOST_BITS:
            raise ValueError(text)
        return number
    return float(text.replace("_", "")) if _DECIMAL.fullmatch(text) else text
