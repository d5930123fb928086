"""Charts over time: columns, a curve, and spans of rows; also bars in parts for rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

from rowtui.core.base.text import si
from rowtui.tui.widgets.cells import Line, Span, cut, fit, line, width_of
from rowtui.tui.widgets.chart import SMALL_PARTS, ChartArea, ChartMark, ChartPart, legend_of

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_DOTS = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))  # left and right, from below
_NICE = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


def columns_chart(
    parts: Sequence[ChartPart], times: tuple[float, float], unit: str, area: ChartArea
) -> list[Line]:
    """Return stacked columns over time. `times`: epoch seconds of both ends; `unit`: of the
    numbers, such as "jobs per hour".
    """
    width, height, mark = area
    legend = cut(line(f"{unit}  ", *legend_of(parts, mark)), width)
    sums = [sum(each) for each in zip(*(part.values for part in parts), strict=True)]
    top, axis, room, rows = _frame(sums, area)
    if room < 4 or rows < 2 or not sums:
        return [legend][:height]
    values = [list(part.values)[-room:] for part in parts]
    count = len(values[0])
    sizes = [(at + 1) * room // count - at * room // count for at in range(count)]
    few = SMALL_PARTS.get(mark, "·")
    grid = [_column(one, top, rows, parts, mark) for one in zip(*values, strict=True)]
    body = []
    for row in range(rows):
        cells = [
            Span(cells[row].text * size, cells[row].style)
            for cells, size in zip(grid, sizes, strict=True)
        ]
        body.append((*axis(row), *_joined(cells)))
    if any(few in span.text for cells in grid for span in cells):
        legend = cut((*legend, Span(f"{few} a few", "dim")), width)
    return [legend, *body, *_time_axis(times, axis, room, mark)]


def curve_chart(
    values: Sequence[float],
    times: tuple[float, float],
    unit: str,
    area: ChartArea,
    style: str = "submitted",
) -> list[Line]:
    """Return the area below a curve over time, with dots, blocks or `#`."""
    width, height, mark = area
    legend = cut(line(unit), width)
    top, axis, room, rows = _frame(values, area)
    if room < 4 or rows < 2 or not values:
        return [legend][:height]
    if mark is not ChartMark.BRAILLE:
        glyph = ChartPart("", values, style)
        return [legend, *columns_chart([glyph], times, unit, area)[1:]]
    count = len(values)
    points = [values[min(at * count // (2 * room), count - 1)] for at in range(2 * room)]
    dots = [0 if one <= 0 else max(1, round(one / top * rows * 4)) for one in points]
    body = []
    for row in range(rows):
        below = (rows - 1 - row) * 4
        text = "".join(
            chr(0x2800 + sum(
                _DOTS[side][dot]
                for side in (0, 1) for dot in range(min(4, max(0, dots[2 * at + side] - below)))
            ))
            for at in range(room)
        )  # fmt: skip
        body.append((*axis(row), Span(text.replace("\u2800", " "), style)))
    return [legend, *body, *_time_axis(times, axis, room, mark)]


Axis = Callable[[int], Line]


def _frame(values: Sequence[float], area: ChartArea) -> tuple[float, Axis, int, int]:
    """Return the number at the top, the axis at the left by row (-1: only its blanks), and the
    columns and rows of the plot.
    """
    top = _nice(max(values, default=0.0))
    rows = area.height - 3  # the legend, the axis below, and its times
    labels = {0: _number(top), rows - 1: "0"}
    if rows >= 6:
        labels[rows // 2] = _number(top * (rows - rows // 2) / rows)
    size = max(map(len, labels.values()))
    signs = "|+" if area.mark is ChartMark.ASCII else "│┤"

    def axis(row: int) -> Line:
        if row < 0:
            return (Span(" " * (size + 1)),)
        sign = signs[row in labels]
        return (Span(f"{labels.get(row, ''):>{size}}{sign}", "dim"),)

    return top, axis, area.width - size - 1, rows


def _nice(value: float) -> float:
    """Return a round number that is not smaller; 1 for 0."""
    if not value > 0 or not math.isfinite(value):
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((one * power for one in _NICE if one * power >= value * 0.999), 10 * power)


def _number(value: float) -> str:
    return f"{value:.2g}" if value < 10 else si(value)


def _column(
    values: Sequence[float], top: float, rows: int, parts: Sequence[ChartPart], mark: ChartMark
) -> list[Span]:
    """Return the cells of one column, the highest first."""
    cells: list[Span] = []
    total, hidden = 0.0, ""
    for value, part in zip(values, parts, strict=True):
        total += value
        size = min(rows, round(total / top * rows)) - len(cells)
        cells += [Span(part.drawn(mark), part.style)] * size
        if value > 0:
            hidden = "" if size else part.style
    full, eighths = divmod(max(1, round(total / top * rows * 8)), 8)
    if total == values[0] > 0 and parts[0].drawn(mark) == "█":  # one part alone: in eighths
        cells = [Span("█", parts[0].style)] * full
        cells += [Span(_EIGHTHS[eighths], parts[0].style)] * bool(eighths)
    elif hidden:
        cells[rows - 1 :] = [Span(SMALL_PARTS.get(mark, "·"), hidden)]
    return [*[Span(" ")] * (rows - len(cells)), *reversed(cells[:rows])]


def _joined(cells: Sequence[Span]) -> Line:
    """Return the cells with neighbours of one style as one span."""
    found: list[Span] = []
    for cell in cells:
        if found and found[-1].style == cell.style:
            found[-1] = Span(found[-1].text + cell.text, cell.style)
        else:
            found.append(cell)
    return tuple(found)


def _time_axis(times: tuple[float, float], axis: Axis, room: int, mark: ChartMark) -> list[Line]:
    blanks = axis(-1)[0].text
    sign = "└" if mark is not ChartMark.ASCII else "+"
    rule = "─" if mark is not ChartMark.ASCII else "-"
    ends = line((blanks[:-1] + sign + rule * room, "dim"))
    return [ends, line((blanks + time_labels(times, room), "dim"))]


def time_labels(times: tuple[float, float], room: int) -> str:
    """Return local times below an axis of so many columns, each at its place."""
    first, last = times
    span = last - first
    form = "%H:%M" if span < 86_400 else "%d %b %H:%M" if span < 4 * 86_400 else "%d %b"
    form = "%b %Y" if span > 300 * 86_400 else form
    size = len(_local(first, form))
    count = max(1, room // (size + 4))
    text = before = ""
    for place in range(count):
        at = place * room // count
        label = _local(first + span * at / room, form)
        if at + size <= room and label != before:
            text = text.ljust(at) + label
        before = label
    return text


def _local(at: float, form: str) -> str:
    return datetime.fromtimestamp(at, UTC).astimezone().strftime(form)


class BarRow(NamedTuple):
    """One row of a chart of bars: lengths of parts that lie on top of each other, and texts of
    which the longest that leaves room for the bars is shown.
    """

    name: str
    lengths: Sequence[float]
    texts: Sequence[str]
    style: str = ""


class SpanRow(NamedTuple):
    """One row of a chart of spans: from `start` to `end`, drawn like this part."""

    name: str
    start: float
    end: float
    part: int


Row = TypeVar("Row", BarRow, SpanRow)
_WIDTHS = " ▏▎▍▌▋▊▉█"
_SMALLEST_BARS = 8


def bars_chart(
    rows: Sequence[BarRow],
    parts: Sequence[ChartPart],
    unit: str,
    area: ChartArea,
    whole: float = 0.0,
) -> list[Line]:
    """Return a bar for each row, with a name on the left and a text on the right.

    `parts` has the name, style and glyph of each length; a longer one continues a shorter one. Bars
    as long as the `whole` fill the room; by default, the longest does.
    """
    width, height, mark = area
    legend = cut(line(f"{unit}  ", *legend_of(parts, mark)), width)
    shown, below = _as_many(rows, height - 1)
    names = min(max((width_of(line(row.name)) for row in shown), default=0), max(6, width // 3))
    whole = whole or max((max(row.lengths, default=0.0) for row in shown), default=0.0) or 1.0
    for form in range(max((len(row.texts) for row in shown), default=1)):
        texts = [row.texts[min(form, len(row.texts) - 1)] for row in shown]
        size = max(map(len, texts), default=0)
        room = width - names - size - 2
        if room >= _SMALLEST_BARS:
            break
    lines = [legend]
    for row, text in zip(shown, texts if shown else (), strict=True):
        bar = _bar(row.lengths, parts, room / whole, room, mark)
        drawn = sum(len(span.text) for span in bar)
        named = fit(line((row.name, row.style)), names)
        filled = (*named, Span(" "), *bar, Span(" " * max(0, room - drawn + 1)))
        lines.append(cut((*filled, *line((text, row.style))), width))
    return [*lines, *below]


def _bar(
    lengths: Sequence[float],
    parts: Sequence[ChartPart],
    scale: float,
    room: int,
    mark: ChartMark,
) -> list[Span]:
    """Return one bar, at most as long as the room; a single part of blocks in eighths."""
    if len(parts) == 1 and parts[0].drawn(mark) == "█":
        eighths = max(round(lengths[0] * scale * 8), int(lengths[0] > 0))
        full, rest = divmod(min(eighths, 8 * room), 8)
        return [Span("█" * full + _WIDTHS[rest].strip(), parts[0].style)]
    bar: list[Span] = []
    drawn = 0
    for length, part in zip(lengths, parts, strict=False):
        size = min(room, round(length * scale))
        if size > drawn:
            bar.append(Span(part.drawn(mark) * (size - drawn), part.style))
            drawn = size
    if not bar and any(lengths):
        bar.append(Span(SMALL_PARTS.get(mark, "·"), parts[0].style))
    return bar


def spans_chart(rows: Sequence[SpanRow], parts: Sequence[ChartPart], area: ChartArea) -> list[Line]:
    """Return a span for each row over a common time, with the axis of the time below."""
    width, height, mark = area
    legend = cut(line(*legend_of(parts, mark)), width)
    shown, below = _as_many(rows, height - 2)
    if not shown:
        return [legend, *below]
    first, last = min(row.start for row in shown), max(row.end for row in shown)
    names = min(max(width_of(line(row.name)) for row in shown), max(6, width // 3))
    room = max(1, width - names - 1)
    scale = room / max(last - first, 1e-9)
    lines = [legend]
    for row in shown:
        start = min(int((row.start - first) * scale), room - 1)
        end = min(max(start + 1, round((row.end - first) * scale)), room)
        part = parts[row.part]
        bar = Span(part.drawn(mark) * (end - start), part.style)
        lines.append((*fit(line(row.name), names), Span(" " * (start + 1)), bar))
    axis = line((" " * (names + 1) + time_labels((first, last), room), "dim"))
    return [*lines, *below, axis]


def _as_many(rows: Sequence[Row], room: int) -> tuple[list[Row], list[Line]]:
    """Return the rows that fit, and a line about the others."""
    if len(rows) <= room:
        return list(rows), []
    shown = list(rows[: max(0, room - 1)])
    return shown, [line((f"{len(rows) - len(shown):,} more", "dim"))]
