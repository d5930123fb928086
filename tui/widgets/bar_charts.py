"""Charts with a row for each thing: bars in parts, box plots, and jobs over time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from rowtui.tui.widgets.cells import Line, Span, cut, fit, line, width_of
from rowtui.tui.widgets.chart import ChartArea, ChartPart, legend
from rowtui.tui.widgets.chart_axes import AxisTime, Scale, Ticks, Units, axis_lines, scale_for
from rowtui.tui.widgets.chart_cells import GAP, SIDEWAYS, is_small, joined, stacked

_LEAST_BARS, _GOOD_BARS, _LEAST_APART = 16, 24, 10  # columns
_BELOW = 2  # lines of the axis
_DEEPEST = 3  # lines of a bar at most, and of the gap below it


class BarRow(NamedTuple):
    """One row: the lengths of its parts, one behind the other, and texts of which the longest that
    leaves room for the bars is shown.
    """

    name: str
    lengths: Sequence[float]
    texts: Sequence[str] = ("",)
    style: str = ""


BOX = (
    GAP,
    ChartPart("lowest and highest quarter", (), "faint", "░", "-"),
    ChartPart("up to the median", (), "submitted", "█", "#"),
    ChartPart("above it", (), "eligible", "▒", "x"),
    ChartPart("", (), "faint", "░", "-"),
)
"""The parts of a box plot, each a quarter of the numbers."""


def box_lengths(points: Sequence[float]) -> list[float]:
    """Return the lengths of a box plot: of the least number, the quartiles and the most."""
    return [end - begin for begin, end in pairwise((0.0, *points))]


def bars_chart(
    rows: Sequence[BarRow],
    parts: Sequence[ChartPart],
    unit: str,
    area: ChartArea,
    units: Units,
    *,
    most: float = 0.0,
) -> list[Line]:
    """Return a bar for each row, with a name on the left, a text on the right and an axis below.

    `most`: the number that the axis reaches at least; by default that of the longest bar.
    """
    first = legend(unit, parts if len(parts) > 1 else (), area)
    most = max([most, *(sum(row.lengths) for row in rows)])
    shown, rest = _as_many(rows, area)
    names = _names(shown, area)
    scale: Scale | None = None
    size, texts = 0, [""] * len(shown)
    for form in range(max((len(row.texts) for row in shown), default=0)):
        texts = [row.texts[min(form, len(row.texts) - 1)] for row in shown]
        size = max(map(len, texts))
        scale = scale_for(most, area.width - names - size - 4, units, _LEAST_APART)
        if scale is not None and scale.length >= min(_GOOD_BARS, area.width // 3):
            break
    if scale is None or scale.length < _LEAST_BARS:
        return [first, *rest][: max(0, area.height)]
    if any(is_small(length, scale.per_unit) for row in shown for length in row.lengths):
        mark = "-" if area.ascii else SIDEWAYS[1]
        first = cut(first + line((f"   {mark} or less", "dim")), area.width)
    gap = " " * (area.width - names - size - 2 - scale.length)
    deep = min(_DEEPEST, (area.height - 1 - _BELOW) // len(shown))
    lines: list[Line] = []
    for row, words in zip(shown, texts, strict=True):
        bar = _bar(row.lengths, scale.per_unit, scale.length, parts, area)
        end = line((f"{gap}{words:>{size}}", row.style))
        lines.append((*_named(row, names), *bar, *end))
        again = _named(BarRow("", ()), names)
        lines += [(*again, *bar)] * (deep - 2) + [again] * (deep > 1)
    ticks = [(at * scale.cells, units.text(at * scale.step)) for at in range(scale.steps + 1)]
    return [first, *lines, *rest, *_axis(ticks, scale.length + 1, names, size + 1)]


def spans_chart(
    rows: Sequence[BarRow], parts: Sequence[ChartPart], area: ChartArea, period: AxisTime
) -> list[Line]:
    """Return rows over a common time, with the axis of time below. The lengths are seconds; the
    first part is the gap from the beginning of the axis.
    """
    shown, rest = _as_many(rows, area)
    drawn = [any(row.lengths[at] for row in shown) for at in range(len(parts))]
    first = legend("", [part for part, known in zip(parts, drawn, strict=True) if known], area)
    names = _names(shown, area)
    room = area.width - names - 2
    if not shown or room < _LEAST_BARS:
        return [first, *rest][: max(0, area.height)]
    scale = room / max(period.last - period.first, 1e-9)
    lines = [(*_named(row, names), *_bar(row.lengths, scale, room, parts, area)) for row in shown]
    return [first, *lines, *rest, *_axis(period.ticks(room), room, names)]


def _as_many(rows: Sequence[BarRow], area: ChartArea) -> tuple[Sequence[BarRow], list[Line]]:
    """Return the rows that fit, and a line about the others."""
    room = max(0, area.height - 1 - _BELOW)
    if len(rows) <= room:
        return rows, []
    shown = rows[: max(0, room - 1)]
    return shown, [cut(line((f"{len(rows) - len(shown):,} more", "dim")), area.width)]


def _names(rows: Sequence[BarRow], area: ChartArea) -> int:
    """Return the columns of the names: at most a third of the room."""
    longest = max((width_of(line(row.name)) for row in rows), default=0)
    return min(longest, max(6, area.width // 3))


def _named(row: BarRow, names: int) -> Line:
    return (*fit(line((row.name, row.style)), names), Span(" │", "dim"))


def _bar(
    lengths: Sequence[float], scale: float, room: int, parts: Sequence[ChartPart], area: ChartArea
) -> Line:
    return joined(stacked(lengths, scale, room, parts, area.mark, eighths=SIDEWAYS))


def _axis(ticks: Ticks, room: int, names: int, beyond: int = 0) -> list[Line]:
    axis, labels = axis_lines(ticks, room, beyond)
    blank = " " * (names + 1)
    return [line((f"{blank}└{axis}", "dim")), line((f"{blank} {labels}", "dim"))]
