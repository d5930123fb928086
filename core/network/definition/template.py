"""The template of a sink's `publish`: text with `{fields}`.

Takes the template, gives its pieces; `{{` and `}}` are braces. Other forms of Python's format
strings (`{a.b}`, `{a!r}`, `{a:3}`) have no meaning: the whole text between two braces is a name.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

FIELDS: Final = ("sample", "node", "network", "file", "ext")  # besides the dimensions

_PIECE: Final = re.compile(r"(?P<text>(?:[^{}]|\{\{|\}\})+)|\{(?P<field>[^{}]*)\}", re.DOTALL)


class Piece(NamedTuple):
    """A literal text, or the name of a field."""

    text: str
    is_field: bool


class PublishError(ValueError):
    """A brace without its partner, or without a name."""


def pieces_of(template: str) -> tuple[Piece, ...]:
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
            pieces.append(Piece(match["field"], True))
        else:
            pieces.append(Piece(match["text"].replace("{{", "{").replace("}}", "}"), False))
        at = match.end()
    return tuple(pieces)
