"""The layout of a YAML text: the lines that belong to each key or item.

The input is a text that is valid YAML; the output is a tree of marks (line and column, from 0) from
the parser's events, so that lines can be moved and indented without writing new YAML.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import yaml

Mark: TypeAlias = tuple[int, int]


class Unsure(Exception):
    """The text uses a form of YAML in which the lines of each key are uncertain."""


class Leaf(NamedTuple):
    """A node in one piece: a scalar, an alias, or a whole flow collection.

    `names`: the anchors defined (name, True) and used (name, False) in it, in order. `style`: "|"
    or ">" for block scalars, "{" for flow collections, otherwise the style of a scalar.
    """

    start: Mark
    end: Mark
    style: str = ""
    names: tuple[tuple[str, bool], ...] = ()
    text: str = ""


class YamlBlock(NamedTuple):
    """A map or list in lines of its own. `column`: the column of its keys or dashes.

    `members`: key and value for a map; for a list a leaf at the place of the dash, and the item.
    """

    start: Mark
    column: int
    is_map: bool
    members: tuple[tuple[Leaf, Piece], ...]
    names: tuple[tuple[str, bool], ...] = ()

    @property
    def first_line(self) -> int:
        """The line of its first key or dash."""
        return self.members[0][0].start[0]


Piece: TypeAlias = Leaf | YamlBlock


def outline(text: str) -> Piece | None:
    """Return the tree of a document; None if it is empty.

    Raises: Unsure for keys written as `? key`, for a `|` or `>` below its key, and for invalid
    YAML.
    """
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    events = iter(yaml.parse(text, Loader=loader))
    lines = text.split("\n")
    try:
        for event in events:
            kind = type(event).__name__
            if kind == "StreamEndEvent":
                return None
            if kind not in ("StreamStartEvent", "DocumentStartEvent"):
                return _piece(event, events, lines)
    except yaml.YAMLError as error:
        raise Unsure from error
    return None


def _piece(event: Any, events: Iterator[Any], lines: list[str]) -> Piece:
    """Return the node that begins with an event."""
    start = (event.start_mark.line, event.start_mark.column)
    kind = type(event).__name__
    names = ((event.anchor, kind != "AliasEvent"),) if event.anchor else ()
    if kind in ("ScalarEvent", "AliasEvent"):
        end = (event.end_mark.line, event.end_mark.column)
        if kind == "AliasEvent":
            return Leaf(start, end, "", names)
        return Leaf(start, end, event.style or "", names, event.value)
    is_map = kind == "MappingStartEvent"
    inner: list[Piece] = []
    for last in events:
        if type(last).__name__ in ("MappingEndEvent", "SequenceEndEvent"):
            break
        inner.append(_piece(last, events, lines))
    if event.flow_style:
        end = (last.end_mark.line, last.end_mark.column)
        return Leaf(
            start, end, "{", names + tuple(n for piece in inner for n in piece_names(piece))
        )
    if is_map:
        members = tuple(
            (_checked_key(key, value, lines), value)
            for key, value in zip(inner[::2], inner[1::2], strict=True)
        )
    else:
        members = tuple((_dash(item, lines), item) for item in inner)
    column = members[0][0].start[1]
    if any(member.start[1] != column for member, _ in members):
        raise Unsure
    return YamlBlock(start, column, is_map, members, names)


def piece_names(piece: Piece) -> Iterator[tuple[str, bool]]:
    """Yield the anchors defined and used in a piece, in order."""
    yield from piece.names
    if isinstance(piece, YamlBlock):
        for key, value in piece.members:
            yield from key.names
            yield from piece_names(value)


def _checked_key(key: Piece, value: Piece, lines: list[str]) -> Leaf:
    """Return a key that is on one line with its colon. Raises: Unsure."""
    if not isinstance(key, Leaf) or key.style == "{" or key.start[0] != key.end[0]:
        raise Unsure
    row, column = key.start
    if lines[row][:column].strip(" -") or not lines[row][key.end[1] :].lstrip(" ").startswith(":"):
        raise Unsure
    if isinstance(value, YamlBlock) and value.first_line == row:
        raise Unsure
    _check_header(value, row, lines)
    return key


def _check_header(value: Piece, row: int, lines: list[str]) -> None:
    """Raises: Unsure for a text whose `|` or `>` is not on the line of its key or dash."""
    if isinstance(value, Leaf) and value.style in ("|", ">"):
        at, _ = _header(value, lines)
        if at != row:
            raise Unsure


def _dash(item: Piece, lines: list[str]) -> Leaf:
    """Return the dash of an item, which is before the item or on a line above."""
    row, column = item.start
    before = lines[row][:column]
    if not before.strip():
        row -= 1
        while row >= 0 and lines[row].strip()[:1] in ("", "#"):
            row -= 1
        before = lines[row].partition(" #")[0].rstrip() if row >= 0 else ""
    column = before.rfind("-")
    if column < 0 or before.strip(" -"):
        raise Unsure
    _check_header(item, row, lines)
    return Leaf((row, column), (row, column + 1))


def last_line(piece: Piece, lines: list[str]) -> int:
    """Return the last line that belongs to a piece, without blank lines that have no meaning."""
    if isinstance(piece, YamlBlock):
        key, value = piece.members[-1]
        return max(key.start[0], last_line(value, lines))
    row, column = piece.end
    if piece.style not in ("|", ">"):
        return row
    if column == 0 or row >= len(lines):
        row = min(row, len(lines)) - 1
    if not keeps_blanks(piece, lines):
        while row > piece.start[0] and not lines[row].strip():
            row -= 1
    return row


def keeps_blanks(piece: Piece, lines: list[str]) -> bool:
    """Whether the blank lines behind a piece are part of its text (`|+`)."""
    if isinstance(piece, YamlBlock):
        return keeps_blanks(piece.members[-1][1], lines)
    return piece.style in ("|", ">") and "+" in block_header(piece, lines)


def block_header(piece: Leaf, lines: list[str]) -> str:
    """Return the characters behind `|` or `>` of a block scalar: `-`, `+`, a digit."""
    return _header(piece, lines)[1]


def _header(piece: Leaf, lines: list[str]) -> tuple[int, str]:
    """Return the line of the `|` or `>` of a block scalar, and the characters behind it."""
    row, column = piece.start
    for n in range(row, piece.end[0] + 1):
        words = lines[n][column if n == row else 0 :].partition(" #")[0].split()
        while words and words[0][0] in "&!":
            del words[0]
        if words:
            return n, words[0][1:]
    return row, ""
