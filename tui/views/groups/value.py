"""A directory's JSON value on several lines, as much of it as there is room for.

The text may be cut anywhere (a page of directories is bounded), so it is laid out by its brackets
and not parsed: the text is shown up to its end.
"""

from __future__ import annotations

import re

from rowtui.tui.widgets.cells import Line, Span, cut, line, width_of

INDENT = 2

_PIECES = re.compile(r'"(?:\\.|[^"\\])*"?|[\[\]{}:,]|[^\s\[\]{}:,"]+')


def pretty(text: str, width: int, room: int) -> list[Line]:
    """Return at most `room` lines of at most `width` columns; `…` marks a cut.

    The outermost object or list has one line for each of its parts; an inner one too, unless all of
    it fits on one line.
    """
    pieces = _PIECES.findall(text)
    lines = [cut(one, width) for one in _laid_out(pieces, width)]
    if len(lines) > room:
        lines = [*lines[: max(0, room - 1)], line(("…", "dim"))]
    return lines[: max(0, room)]


def _laid_out(pieces: list[str], width: int) -> list[Line]:
    lines: list[Line] = []
    now: list[Span] = []
    depth = 0
    at = 0

    def end_line() -> None:
        nonlocal now
        if now:
            lines.append((Span(" " * INDENT * depth), *now))
        now = []

    while at < len(pieces):
        piece = pieces[at]
        if piece in ("{", "["):
            end = _closing(pieces, at)
            whole = _on_one_line(pieces[at : end + 1])
            taken = INDENT * depth + width_of(now) + width_of(whole) + 1
            if end - at == 1 or (depth and end < len(pieces) and taken <= width):
                now += whole
                at = end + 1
                continue
            now += line(piece)
            end_line()
            depth += 1
        elif piece in ("}", "]"):
            end_line()
            depth = max(0, depth - 1)
            now += line(piece)
        elif piece == ",":
            now += line(piece)
            end_line()
        else:
            now += _one(pieces, at)
        at += 1
    end_line()
    return lines


def _closing(pieces: list[str], start: int) -> int:
    """Return the index of the bracket that closes the one at `start`; past the end if there is
    none.
    """
    depth = 0
    for at in range(start, len(pieces)):
        depth += (pieces[at] in ("{", "[")) - (pieces[at] in ("}", "]"))
        if not depth:
            return at
    return len(pieces)


def _on_one_line(pieces: list[str]) -> Line:
    spans: list[Span] = []
    for at, piece in enumerate(pieces):
        spans += line(", ") if piece == "," else _one(pieces, at)
    return tuple(spans)


def _one(pieces: list[str], at: int) -> Line:
    piece = pieces[at]
    if piece == ":":
        return line((": ", "dim"))
    is_key = at + 1 < len(pieces) and pieces[at + 1] == ":"
    return line((piece, "dim" if is_key else ""))
