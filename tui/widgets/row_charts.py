"""Charts of rows: a bar in parts for each row, and spans of time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from rowtui.tui.widgets.cells import Line, Span, cut, fit, line, width_of
from rowtui.tui.widgets.chart import SMALL_PARTS, ChartArea, ChartMark, ChartPart, legend_of
from rowtui.tui.widgets.time_charts import time_labels


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
