"""Check names and paths that a network may use; a fault is returned as half a sentence.

Names of sources, nodes, sinks, inputs and dimensions are used in names of directories, in templates
and on command lines, so they are plain words.
"""

from __future__ import annotations

import re
from datetime import date, time
from typing import Any, Final

from rowtui.core.base.errors import InvalidFileError
from rowtui.core.network.definition.spec import NODE_KEY
from rowtui.core.workflow.toml_file import kind_of

# characters; a directory's name has to hold a name and values in 255 bytes
LONGEST_NAME: Final = 100
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
        return f"is reserved: `{NODE_KEY}` of a value file says whose samples a directory holds"
    if not name:
        return "is empty"
    return "" if name.isprintable() else "has control characters"


def path_fault(path: str, whole: str) -> str:
    """Return why a path does not stay inside its folder, the `whole` (`the project`); "" if it
    does.
    """
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
