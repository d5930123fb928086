"""A directory with its JSON value as lines.

The value may be cut anywhere, because a page of directories is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from rowtui.core.engine.api.groups import DirectoryRow
from rowtui.core.groups.model import Status
from rowtui.core.project.views.files import json_lines
from rowtui.tui.shell.session import FILTERS, Session
from rowtui.tui.widgets.cells import (
    Line,
    cut,
    line,
    wrapped,
)
from rowtui.tui.widgets.short_text import STATUS_MARKS
from textual.geometry import Size

_TEXTS = re.compile(r'"(?:\\.|[^"\\])*"(:?)')

LEAST_LINES = 3
"""Lines of the pane; with fewer lines, the value is shown in one line."""


def states_of(session: Session) -> Iterator[tuple[str, str, str]]:
    """Yield the word, the text and the style of each state in which directories are."""
    for chosen in FILTERS:
        number = session.directories_in(chosen)
        if number or chosen == session.filter:
            style = "dim" if chosen.word == "all" else STATUS_MARKS[chosen.statuses[0]].style
            text = f"{chosen.word} {number:,}"
            # Those that failed, were not reached or cancelled are among the eligible ones.
            among = chosen.statuses[0].eligible and chosen.word not in ("eligible", "all")
            yield chosen.word, f"({text})" if among and chosen != session.filter else text, style


def directory_lines(row: DirectoryRow, session: Session, size: Size) -> list[Line]:
    """Return the status, the job and the value of a directory, for a pane of this size."""
    mark = STATUS_MARKS[row.status]
    lines: list[Line] = [(*mark.spans, *line("  " + row.job))]
    before = session.action.previous_actions if session.action is not None else ()
    if row.status is Status.WAITING and before:
        verb = "is" if len(before) == 1 else "are"
        lines += wrapped(line(f"until {' and '.join(before)} {verb} complete here"), size.width)
    if row.detail:
        lines += wrapped(line((row.detail, mark.style)), size.width)
    room = size.height - len(lines)
    short = room < LEAST_LINES
    return lines + ([line(row.value)] if short else list(pretty(row.value, size.width, room)))


def pretty(text: str, width: int, room: int) -> list[Line]:
    """Return at most `room` lines of at most `width` columns; `…` marks a cut."""
    laid_out = list(islice(json_lines(text, width), max(0, room) + 1))
    if len(laid_out) > room:
        laid_out = [*laid_out[: max(0, room - 1)], *["…"] * (room > 0)]
    return [cut(json_line(one), width) for one in laid_out]


def json_line(text: str) -> Line:
    """Return a line of JSON, its keys dim."""
    return line(*_parts(text))


def _parts(text: str) -> Iterator[str | tuple[str, str]]:
    at = 0
    for found in _TEXTS.finditer(text):
        if found[1]:
            yield text[at : found.start()]
            yield found[0], "dim"
            at = found.end()
    yield text[at:]
