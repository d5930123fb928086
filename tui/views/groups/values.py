"""A directory with its JSON value as lines.

The value may be cut anywhere (a page of directories is bounded), so it is laid out by its brackets
and not parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rowtui.core.engine.api.groups import DirectoryRow
from rowtui.tui.shell.session import FILTERS, Session
from rowtui.tui.widgets.cells import (
    Line,
    Span,
    cut,
    line,
    width_of,
    wrapped,
)
from rowtui.tui.widgets.short_text import STATUS_MARKS
from textual.geometry import Size

INDENT = 2

_PIECES = re.compile(r'"(?:\\.|[^"\\])*"?|[\[\]{}:,]|[^\s\[\]{}:,"]+')

LEAST_LINES = 3
"""Lines of the pane; with fewer lines, the value is shown in one line."""


def states_of(session: Session) -> Iterator[tuple[str, str, str]]:
    """Yield the word, the text and the style of each state in which directories are."""
    for chosen in FILTERS:
        number = session.directories_in(chosen)
        if number or chosen == session.filter:
            style = "dim" if chosen.word == "all" else STATUS_MARKS[chosen.statuses[0]].style
            yield chosen.word, f"{chosen.word} {number:,}", style


def directory_lines(row: DirectoryRow, size: Size) -> list[Line]:
    """Return the status, the job and the value of a directory, for a pane of this size."""
    mark = STATUS_MARKS[row.status]
    lines: list[Line] = [(*mark.spans, *line("  " + row.job))]
    if row.detail:
        lines += wrapped(line((row.detail, mark.style)), size.width)
    room = size.height - len(lines)
    short = room < LEAST_LINES
    return lines + ([line(row.value)] if short else list(pretty(row.value, size.width, room)))


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
    """Return the index of the bracket that closes the one at `start`; past the end if none."""
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
