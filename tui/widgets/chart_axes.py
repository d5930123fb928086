"""Scales and axes of charts: at least three ticks with figures, at cell edges, from zero on.

A tick stands at a round number; on an axis of time at full units of local time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from itertools import pairwise
from typing import NamedTuple

from rowtui.core.usage.past_intervals import DAY, HOUR, interval_edges

_NICE = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
_MINUTE, _MONTH = 60, 30 * DAY
_STEPS = (
    *(1, 2, 5, 10, 15, 30),
    *(n * _MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * HOUR for n in (1, 2, 3, 4, 6, 12)),
    *(n * DAY for n in (1, 2, 7)),
    *(n * _MONTH for n in (1, 2, 3, 6, 12, 24, 60)),
)
_MOST_TICKS = 50
_NEARLY = 0.85


class Units(NamedTuple):
    """What an axis counts. `step`: the smallest round step between ticks that is not smaller than a
    number; `text`: the figure at a tick.
    """

    step: Callable[[float], float]
    text: Callable[[float], str]


def _step(value: float) -> float:
    if not value > 0 or not math.isfinite(value):
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(one * power for one in _NICE if one * power >= value * (1 - 1e-9))


def _whole_step(value: float) -> float:
    step = _step(value)
    return step if step == int(step) else float(max(1, math.ceil(value - 1e-9)))


def _seconds_step(value: float) -> float:
    return next(
        (float(step) for step in _STEPS if value <= step < _MONTH), _step(value / DAY) * DAY
    )


def number_text(value: float) -> str:
    """Return the figure at a tick: `0`, `1.5`, `2,500`, `25k`, `1.5M`."""
    sizes = ((1e12, 1e12, "T"), (1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k"))
    for least, power, letter in sizes:
        if value >= least:
            return f"{value / power:,.4g}{letter}"
    return f"{value:,.4g}"


def _seconds_text(value: float) -> str:
    """Return `30 s`, `45 min`, `2 h`, `2 d`: in the largest unit of which it is a multiple."""
    for least, size, unit in ((2 * DAY, DAY, "d"), (HOUR, HOUR, "h"), (_MINUTE, _MINUTE, "min")):
        if value >= least and value % size == 0:
            return f"{value / size:g} {unit}"
    return f"{value:g} s" if value else "0"


NUMBERS = Units(_step, number_text)
COUNTS = Units(_whole_step, number_text)
SHARES = Units(
    lambda value: next((step for step in (0.25, 0.5) if step >= value), 1.0),
    lambda value: f"{value * 100:.0f} %",
)
DURATIONS = Units(_seconds_step, _seconds_text)


class Scale(NamedTuple):
    """An axis from 0 in `steps` steps of `step`, each `cells` cells long."""

    step: float
    steps: int
    cells: int

    @property
    def length(self) -> int:
        """Its length in cells."""
        return self.steps * self.cells

    @property
    def per_unit(self) -> float:
        """Cells for 1."""
        return self.cells / self.step


def scale_for(most: float, room: int, units: Units, least: int = 2) -> Scale | None:
    """Return a scale for numbers up to `most` in this many cells: the one with the most ticks of
    those that draw `most` nearly as long as possible. None without room for one.

    `least`: cells between two ticks.
    """
    found = []
    for steps in range(2, 6):
        cells = room // steps
        if cells < (least if steps > 2 else 1):
            break
        one = Scale(units.step(most / steps), steps, cells)
        if one.step * steps >= most * (1 - 1e-9):
            found.append(one)
    longest = max((one.per_unit for one in found), default=0.0)
    return next((one for one in reversed(found) if one.per_unit >= _NEARLY * longest), None)


Ticks = Iterable[tuple[int, str]]


def axis_lines(ticks: Ticks, room: int, beyond: int = 0) -> tuple[str, str]:
    """Return an axis with ticks in these columns, and their texts below it. A text that would touch
    the one before is left out with its tick. `beyond`: columns of texts after the axis.
    """
    cells, labels = ["─"] * room, ""
    for at, text in ticks:
        place = min(at, room - 1)
        begin = max(0, min(place, room + beyond - len(text)))
        if begin >= len(labels) + 2 * bool(labels):
            cells[place] = "┬"
            labels = labels.ljust(begin) + text
    return "".join(cells), labels[: room + beyond]


class AxisTime(NamedTuple):
    """The time on an axis: epoch seconds of its ends, and whether it ends now."""

    first: float
    last: float
    now: bool = False

    def ticks(self, room: int) -> list[tuple[int, str]]:
        """Return the columns and texts of the closest ticks whose texts do not touch."""
        first, last, now = self
        length = max(last - first, 1e-9)
        end = [(room, "now")] * (now and room >= 3)
        for seconds in _STEPS:
            if length / seconds > _MOST_TICKS:
                continue
            found = []
            for edge in self._edges(seconds):
                at = int((edge - first) / length * room + 1e-6)
                text = self._text(edge, seconds)
                if edge >= first and at + len(text) <= room - 5 * bool(end):
                    found.append((at, text))
            apart = pairwise(found)
            if all(at + len(text) + 2 <= after for (at, text), (after, _) in apart):
                return found + end
        return end

    def _edges(self, seconds: int) -> list[float]:
        """Return full local times around this time; from a month on, beginnings of months."""
        if seconds < _MONTH:
            return interval_edges(self.first, self.last, seconds, 0)[0]
        begin, end = (datetime.fromtimestamp(at, UTC).astimezone() for at in self[:2])
        first, last = (time.year * 12 + time.month - 1 for time in (begin, end))
        months = range(first - first % (seconds // _MONTH), last + 1, seconds // _MONTH)
        return [datetime(it // 12, it % 12 + 1, 1).timestamp() for it in months]  # noqa: DTZ001

    def _text(self, at: float, seconds: int) -> str:
        """Return a local time where ticks are so many seconds apart."""
        time = datetime.fromtimestamp(at, UTC).astimezone()
        if seconds >= _MONTH:
            return f"{time:%b %Y}"
        midnight = not (time.hour or time.minute or time.second)
        if seconds >= DAY or (midnight and self.last - self.first > 1.5 * DAY):
            return f"{time.day} {time:%b}"
        return f"{time:%H:%M}" if seconds >= _MINUTE else f"{time:%H:%M:%S}"
