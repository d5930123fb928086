"""Common parts of all tables of network.toml: names, paths, places, and values that can be stored.

Takes a table and records problems in its file object.
"""

from __future__ import annotations

import math
import re
from datetime import date, time
from typing import Any, Final, NamedTuple

from rowtui.core.base.errors import InvalidFileError
from rowtui.core.base.text import visible
from rowtui.core.network.definition.network_keys import LONGEST_NAME
from rowtui.core.network.definition.spec import JSON, NODE_KEY, NetworkPosition
from rowtui.core.workflow.toml_file import TomlTable, kind_of
from rowtui.core.workflow.toml_keys import LARGEST_INTEGER

# Check names and paths that a network may use; a fault is returned as half a sentence.
#
# Names of sources, nodes, sinks, inputs and dimensions are used in names of directories, in
# templates and on command lines, so they are plain words.


NAME_HINT: Final = "use letters, digits, `_`, `.` and `-`; begin with a letter, a digit or `_`"

_WORD: Final = re.compile(r"\w[\w.-]*")


class NetworkError(InvalidFileError):
    """network.toml, or a network made in Python, cannot be used."""


def name_fault(name: str) -> str:
    """Return why a name is not allowed, such as `is not a plain word`; "" if it is allowed."""
    if not name:
        return "is empty"
    if _WORD.fullmatch(name) is None:
        return "is not a plain word"
    if len(name) > LONGEST_NAME:
        return f"has {len(name)} characters, more than the {LONGEST_NAME} that are allowed"
    return ""


def dimension_fault(name: str) -> str:
    """Return why samples cannot have a dimension of this name, from any origin; "" if they can.

    Columns of tables and keys of value files may have any name that fits on a line.
    """
    if name == NODE_KEY:
        return f"is reserved: `{NODE_KEY}` of a value file names the node of a directory"
    if not name:
        return "is empty"
    return "" if name.isprintable() else "has control characters"


def path_fault(path: str, whole: str) -> str:
    """Return why a path leaves its folder, the `whole` (`the project`); "" if it stays inside."""
    if not path:
        return "is empty"
    if path.startswith("/"):
        return "is an absolute path"
    if any(char < " " or char == "\x7f" or "\ud800" <= char <= "\udfff" for char in path):
        return "has control characters, or bytes that are not UTF-8"
    if "\\" in path:
        return "has a backslash"
    parts = path.split("/")
    if ".." in parts:
        return f"leads out of {whole}"
    return "names no file" if parts[-1] in {"", "."} else ""


def kind_said(value: Any) -> str:
    """Return the type name of a value in TOML or Python, with its article."""
    if value is None:
        return "nothing"
    known = isinstance(value, (str, int, float, list, dict, date, time))
    return kind_of(value) if known else f"an object of type {type(value).__name__}"


def listed(dimensions: tuple[str, ...]) -> str:
    """Return `temperature x replica`, or `no dimensions`."""
    return " x ".join(dimensions) or "no dimensions"


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
    """Return the pieces of a template, in order. Raises: PublishError."""
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


def place_of(table: TomlTable, *path: str | int) -> NetworkPosition:
    """Return the place of a key of a table; without a key, the place of the table."""
    file = table.file.file if table.file.is_part else ""
    return NetworkPosition(*table.file.locate((*table.path, *path)), file)


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


def read_default(table: TomlTable) -> dict[str, JSON] | None:
    """Read the `default` of a source: {} if it is only `optional`, None if it is neither."""
    default = table.table("default")
    if default is None:
        return {} if table.boolean("optional") else None
    for key, value in default.values.items():
        if fault := dimension_fault(key) or scalar_fault(value):
            default.problem(key, f"the dimension '{visible(key)}' of the default {fault}")
    return dict(default.values)


def is_text(text: str) -> bool:
    """Whether a text can be written as UTF-8; a lone surrogate cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
