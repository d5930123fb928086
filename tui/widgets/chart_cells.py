"""The cells of charts: parts that lie on each other, in eighths of a cell.

Where two parts meet in a cell, the first is the foreground of an eighth block, and the second the
background. A cell that would need three colours leaves out the smallest of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from rowtui.tui.widgets.cells import Line, Span
from rowtui.tui.widgets.chart import ChartMark, ChartPart

UPWARDS, SIDEWAYS = " ▁▂▃▄▅▆▇█", " ▏▎▍▌▋▊▉█"
"""The eighths of a cell, from below and from the left."""

GAP = ChartPart("", (), "ground", " ", " ")
"""A part that is not drawn, before a part that does not begin at zero."""

_GROUND = -1
_BLANK = Span(" ")


def stacked(
    values: Sequence[float],
    scale: float,
    room: int,
    parts: Sequence[ChartPart],
    mark: ChartMark,
    *,
    eighths: str = UPWARDS,
) -> list[Span]:
    """Return the cells of one stack from the axis on, as many as there is room for.

    `values`: of the parts, from the axis on; `scale`: cells for 1; `eighths`: the direction. What
    is not zero gets an eighth; without colours, two parts are drawn in whole cells.
    """
    present = [part for part, value in zip(parts, values, strict=True) if value > 0]
    if mark is ChartMark.COLOUR or (mark is ChartMark.SHADE and _is_block(present)):
        bounds = _bounds(values, scale * 8, room * 8)
        return [_cell(bounds, at * 8, parts, eighths) for at in range(room)]
    if _is_block(present) and eighths is SIDEWAYS:
        end = _bounds(values, scale * 8, room * 8)[-1]
        left = [max(0, min(8, end - at * 8)) for at in range(room)]
        glyphs = " ---====" + present[0].letter
        return [Span(glyphs[each], present[0].style) if each else _BLANK for each in left]
    cells = [
        Span(part.drawn(mark), part.style)
        for size, part in zip(_rounded(values, scale, room), parts, strict=True)
        for _ in range(size)
    ]
    return [*cells, *[_BLANK] * (room - len(cells))]


def is_small(value: float, scale: float) -> bool:
    """Whether a value is drawn longer than it is, because it is not zero."""
    return 0 < value * scale * 8 < 0.5


def _is_block(present: Sequence[ChartPart]) -> bool:
    return len(present) == 1 and present[0].shade == "█"


def _bounds(values: Sequence[float], scale: float, most: int) -> list[int]:
    """Return where each part ends, in eighths; no part that is not zero is empty."""
    bounds: list[int] = []
    total, last = 0.0, 0
    for value in values:
        total += value
        last = max(round(total * scale), last + (value > 0))
        bounds.append(last)
    for at in reversed(range(len(bounds))):
        bounds[at] = min(bounds[at], most)
        most = bounds[at] - (values[at] > 0)
    return bounds


def _cell(bounds: Sequence[int], base: int, parts: Sequence[ChartPart], eighths: str) -> Span:
    """Return the cell above `base` eighths."""
    pieces: list[list[int]] = []  # part, eighths
    low = base
    for part, end in enumerate(bounds):
        size = min(end, base + 8) - low
        if size > 0:
            pieces.append([part, size])
            low += size
    if low < base + 8:
        pieces.append([_GROUND, base + 8 - low])
    while len(pieces) > 2:
        least = min(range(len(pieces)), key=lambda at: (pieces[at][1], -at))
        pieces[least + 1 if least + 1 < len(pieces) else least - 1][1] += pieces[least][1]
        del pieces[least]
    (first, size), (second, _) = pieces[0], pieces[-1]
    styles = [parts[at].style if at != _GROUND else GAP.style for at in (first, second)]
    if first == second or styles[1] == GAP.style:
        return Span(eighths[size], styles[0]) if styles[0] != GAP.style else _BLANK
    return Span(eighths[size], " on ".join(styles))


def _rounded(values: Sequence[float], scale: float, room: int) -> list[int]:
    """Return the whole cells of each part, each within half a cell, together at most `room`."""
    sizes = [round(value * scale) for value in values]
    while sum(sizes) > room:
        over = [size - value * scale for size, value in zip(sizes, values, strict=True)]
        sizes[over.index(max(over))] -= 1
    return sizes


def joined(cells: Sequence[Span]) -> Line:
    """Return the cells with neighbours of one style as one span."""
    found: list[Span] = []
    for cell in cells:
        if found and found[-1].style == cell.style:
            found[-1] = Span(found[-1].text + cell.text, cell.style)
        else:
            found.append(cell)
    return tuple(found)
