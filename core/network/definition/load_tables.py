"""Common parts of all tables of network.toml: names, places, and values that can be stored.

Takes a table and records problems in its file object.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from typing import Any, Final, NamedTuple

from rowtui.core.base.text import visible
from rowtui.core.network.definition.allowed import NAME_HINT, kind_said, name_fault
from rowtui.core.network.definition.spec import NetworkPosition
from rowtui.core.workflow.positions import KeyPath, offsets
from rowtui.core.workflow.toml_file import LARGEST_INTEGER, TomlFile, TomlTable

# The template of a sink's `publish`: text with `{fields}`.
#
# Takes the template, gives its pieces; `{{` and `}}` are braces. Other forms of Python's format
# strings (`{a.b}`, `{a!r}`, `{a:3}`) have no meaning: the whole text between two braces is a name.


FIELDS: Final = ("sample", "node", "network", "file", "ext")  # besides the dimensions

_PIECE: Final = re.compile(r"(?P<text>(?:[^{}]|\{\{|\}\})+)|\{(?P<field>[^{}]*)\}", re.DOTALL)


class TemplatePiece(NamedTuple):
    """A literal text, or the name of a field."""

    text: str
    is_field: bool


class PublishError(ValueError):
    """A brace without its partner, or without a name."""


def pieces_of(template: str) -> tuple[TemplatePiece, ...]:
    """Return the pieces of a template, in order.

    Raises: PublishError.
    """
    pieces = []
    at = 0
    while at < len(template):
        match = _PIECE.match(template, at)
        if match is None:
            raise PublishError(f"a `{template[at]}` has no partner")
        if match["field"] == "":
            raise PublishError("there is no name in `{}`")
        if match["field"]:
            pieces.append(TemplatePiece(match["field"], True))
        else:
            pieces.append(TemplatePiece(match["text"].replace("{{", "{").replace("}}", "}"), False))
        at = match.end()
    return tuple(pieces)


class NetworkFile(TomlFile):
    """A network.toml. Each part of a network stores its place, so places are found quickly."""

    def __init__(self, data: bytes, file: str) -> None:
        super().__init__(data, file)
        self._lines: list[int] = []  # where each line begins; filled at the first use

    def locate(self, path: KeyPath) -> tuple[int, int]:
        """Return line and column of a key path or of its nearest parent; (0, 0) if there
        is none.
        """
        if self._offsets is None:
            self._offsets = offsets(self.text)
            self._lines = [0, *(match.end() for match in re.finditer("\n", self.text))]
        for length in range(len(path), 0, -1):
            offset = self._offsets.get(path[:length])
            if offset is not None:
                line = bisect_right(self._lines, offset)
                return line, offset - self._lines[line - 1] + 1
        return 0, 0


def place_of(table: TomlTable, *path: str | int) -> NetworkPosition:
    """Return the place of a key of a table; without a key, the place of the table."""
    return NetworkPosition(*table.file.locate((*table.path, *path)))


def checked_name(table: TomlTable, what: str) -> str:
    """Return the checked name of a source, node or sink; "" if it has none."""
    name = table.string("name")
    if name is None:
        if "name" not in table:
            table.problem((), f"{what} has no `name`", 'write name = "..."')
        return ""
    if fault := name_fault(name):
        table.problem("name", f"the name '{visible(name)}' {fault}", NAME_HINT)
    return name


def scalar_fault(value: Any) -> str:
    """Return why a value cannot be that of a dimension: `must be ...`; "" if it can."""
    if isinstance(value, bool):
        return ""
    if isinstance(value, str):
        return "" if is_text(value) else "has half a character (a lone surrogate)"
    if isinstance(value, float):
        return "" if math.isfinite(value) else f"is {value}, which JSON does not have"
    if isinstance(value, int):
        return "" if -LARGEST_INTEGER - 1 <= value <= LARGEST_INTEGER else "does not fit 64 bits"
    return f"must be a number, a string, true or false, not {kind_said(value)}"


def is_text(text: str) -> bool:
    """Whether a text can be written as UTF-8; a lone surrogate cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
