"""Charts over time with a scale at the left: stacked columns, and the area below a curve."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from rowtui.tui.widgets.cells import Line, Span, line
from rowtui.tui.widgets.chart import ChartArea, ChartMark, ChartPart, legend
from rowtui.tui.widgets.chart_axes import (
    NUMBERS,
    AxisTime,
    Scale,
    Units,
    axis_lines,
    number_text,
    scale_for,
)
from rowtui.tui.widgets.chart_cells import is_small, joined, stacked

_DOTS = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))  # left and right, from below
_BELOW = 2  # lines of the axis of time


def columns_chart(
    parts: Sequence[ChartPart],
    period: AxisTime | Sequence[tuple[float, str]],
    unit: str,
    area: ChartArea,
    units: Units = NUMBERS,
) -> list[Line]:
    """Return stacked columns, the first part on the axis.

    `period`: of all columns, or words at shares of the axis, from 0 to 1. The newest
    columns are shown if not all fit. Without colours, the figures stand below the columns.
    """
    sums = [sum(each) for each in zip(*(part.values for part in parts), strict=True)]
    figures = _figures(parts, sums, area) if isinstance(period, AxisTime) else []
    left = max((len(name) + 1 for name, _ in figures), default=0)
    frame = _Frame.of(max(sums, default=0.0), area, units, len(figures), left)
    if frame is None or not sums:
        return [legend(unit, reversed(parts), area)][: area.height]
    count = min(len(sums), frame.room)
    even = frame.room // count
    scale = frame.scale.per_unit
    length = frame.room if isinstance(period, AxisTime) else count * even
    ends = [at * length // count for at in range(count + 1)]
    sizes = [end - begin for begin, end in pairwise(ends)]
    cells = [
        stacked(one, scale, frame.scale.length, parts, area.mark)
        for one in list(zip(*(part.values for part in parts), strict=True))[-count:]
    ]
    rows = [
        joined(
            [
                Span(each[at].text * size, each[at].style)
                for each, size in zip(cells, sizes, strict=True)
            ]
        )
        for at in reversed(range(frame.scale.length))
    ]
    small = any(is_small(value, scale) for part in parts for value in part.values[-count:])
    more = [Span("▁ or less", "dim")] if small and area.mark is ChartMark.COLOUR else []
    first = legend(unit, reversed(parts), area, *more)
    if isinstance(period, AxisTime):
        start = period.last - (period.last - period.first) * count / len(sums)
        period = period._replace(first=start)
    below = [
        line(f"{name:<{frame.left}}" + "".join(map(str.ljust, texts[-count:], sizes)))
        for name, texts in figures
        if all(len(text) < even for text in texts[-count:])
    ]
    return frame.lines(first, rows, period, length, below)


def area_chart(
    values: Sequence[float], period: AxisTime, unit: str, area: ChartArea, part: ChartPart
) -> list[Line]:
    """Return the area below a curve over time: eight dots in a cell, or `#` and `:`."""
    frame = _Frame.of(max(values, default=0.0), area, NUMBERS)
    part = part._replace(shade="⣿")
    if frame is None or not values:
        return [legend(unit, [part], area)][: area.height]
    each, high = (1, 2) if area.ascii else (2, 4)
    means = _means(values, frame.room * each)
    dots = [max(round(mean * frame.scale.per_unit * high), int(mean > 0)) for mean in means]
    rows = []
    for row in reversed(range(frame.scale.length)):
        own = [min(high, max(0, dot - row * high)) for dot in dots]
        text = "".join(" :#"[one] for one in own) if area.ascii else _braille(own)
        rows.append((Span(text, part.style),))
    return frame.lines(legend(unit, [part], area), rows, period, frame.room)


def _braille(heights: Sequence[int]) -> str:
    """Return a cell for each two heights of 0 to 4 dots."""
    cells = (
        sum(_DOTS[side][dot] for side in (0, 1) for dot in range(heights[at + side]))
        for at in range(0, len(heights), 2)
    )
    return "".join(chr(0x2800 + dots) if dots else " " for dots in cells)


def _means(values: Sequence[float], count: int) -> list[float]:
    """Return the means of so many equal shares of the values."""
    sums = [0.0, *accumulate(values)]

    def up_to(at: float) -> float:
        whole = min(int(at), len(values) - 1)
        return sums[whole] + (at - whole) * values[whole]

    each = len(values) / count
    ends = [up_to(at * each) for at in range(count + 1)]
    return [max(0.0, (last - first) / each) for first, last in pairwise(ends)]


Figures = list[tuple[str, list[str]]]


def _figures(parts: Sequence[ChartPart], sums: Sequence[float], area: ChartArea) -> Figures:
    """Return the rows of figures below the columns: of all, and of the parts but the largest."""
    if area.mark is ChartMark.COLOUR or area.height < _BELOW + 7:
        return []
    rows: Figures = [("all", [number_text(each) for each in sums])]
    for part in parts[:-1]:
        rows.append((part.name, [number_text(each) for each in part.values]))
    return rows


class _Frame:
    """The axes of a chart. `left`: columns of the axis at the left, `room`: columns beside it."""

    def __init__(self, scale: Scale, left: int, area: ChartArea, units: Units) -> None:
        self.scale, self.left, self.area, self.units = scale, left, area, units
        self.room = area.width - left

    @classmethod
    def of(
        cls, most: float, area: ChartArea, units: Units, below: int = 0, left: int = 0
    ) -> _Frame | None:
        """Return the frame for numbers up to `most`; None if there is no room for one."""
        scale = scale_for(most, area.height - 1 - _BELOW - below, units)
        if scale is None:
            return None
        size = max(len(units.text(scale.step * at)) for at in range(scale.steps + 1))
        found = cls(scale, max(left, size + 1), area, units)
        return found if found.room >= 4 else None

    def lines(
        self,
        first: Line,
        rows: Sequence[Line],
        period: AxisTime | Sequence[tuple[float, str]],
        length: int,
        below: Sequence[Line] = (),
    ) -> list[Line]:
        """Return the chart. `length`: columns of the axis below.

        Marks and axis are at the upper edge of their cells, where a column of that height ends.
        """
        bare, mark, zero = "│┤└" if self.area.ascii else " ▔▔"
        lines = [first]
        for at, row in enumerate(rows):
            above, rest = divmod(self.scale.length - at, self.scale.cells)
            label = "" if rest else self.units.text(self.scale.step * above)
            axis = Span(f"{label:>{self.left - 1}}{bare if rest else mark}", "dim")
            lines.append((axis, *row))
        origin = f"{'0':>{self.left - 1}}{zero}"
        ticks = (
            period.ticks(length)
            if isinstance(period, AxisTime)
            else ((round(share * length), word) for share, word in period)
        )
        ends, labels = axis_lines(ticks, length)
        if not self.area.ascii:
            ends = zero * length
        blank = " " * self.left
        return [*lines, line((origin + ends, "dim")), line((blank + labels, "dim")), *below]
