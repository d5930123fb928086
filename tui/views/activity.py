"""Events and commands that were run, as rows of one list."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rowtui.core.engine.api.engine import RanCommand
from rowtui.tui.widgets.cells import Line, line
from rowtui.tui.widgets.numbers import clock_time

START = 21
"""The number of columns of time and source."""


class Row(NamedTuple):
    """One line. `text` is the copied text, with time and source; `style` is the style of `rest`."""

    at: float
    start: str
    rest: str
    style: str = ""

    @property
    def text(self) -> str:
        """The line as plain text."""
        return f"{self.start}{self.rest}"


def activity_rows(entries: Iterable[tuple[float, str, str, str]]) -> list[Row]:
    """Return a row for each line of each entry."""
    rows = []
    for at, source, text, style in entries:
        for number, part in enumerate(text.splitlines() or [""]):
            start = _start(at, source) if not number else " " * START
            rows.append(Row(at, start, part, style))
    return rows


def command_rows(ran: Iterable[RanCommand]) -> list[Row]:
    """Return a row for each command, in the order of their starts; and a row for its
    error message.
    """
    rows = []
    for one in ran:
        end = "?" if one.exit_status is None else f"exit {one.exit_status}"
        style = "" if one.ended_well else "failed"
        took = f"{one.seconds:.1f} s"
        rows.append(Row(one.at, _start(one.at, one.where), f"$ {one.what}  ({took}, {end})", style))
        if one.said:
            rows.append(Row(one.at, " " * START, f"  {one.said}", "warning"))
    return rows


def row_line(row: Row) -> Line:
    """Return a row with its colours."""
    return line((row.start, "dim"), (row.rest, row.style))


def _start(at: float, source: str) -> str:
    name = source if len(source) <= 9 else f"{source[:8]}…"
    return f" {clock_time(at)}  {name:<9} "
