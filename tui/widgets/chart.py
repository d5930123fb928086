"""Charts of characters: their area, marks, parts and legend, and the widget that shows them.

Each function of `column_charts` and `bar_charts` is pure: the input is numbers and an area, the
result is lines with axes, units and a legend. A length is proportional to its value, in eighths of
a cell where blocks permit that; `chart_cells` draws the cells. What is too small for the scale is
drawn as the smallest mark, and the legend names that mark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import NamedTuple

from rowtui.tui.shell.terminal import NO_COLOURS, Manner
from rowtui.tui.textual_patches.framed_lines import FramedLines
from rowtui.tui.widgets.cells import Line, Painted, Span, cut, fit, line
from textual.strip import Strip


class ChartMark(Enum):
    """How parts differ: by colour, by shades where there are no colours, or as ASCII alone."""

    COLOUR = "colour"
    SHADE = "shade"
    ASCII = "ascii"


def mark_for(how: Manner) -> ChartMark:
    """Return the marks that a terminal can show."""
    if how.ascii_only:
        return ChartMark.ASCII
    return ChartMark.COLOUR if how.colours != NO_COLOURS else ChartMark.SHADE


class ChartArea(NamedTuple):
    """The room of a chart in columns and lines, and its marks."""

    width: int
    height: int
    mark: ChartMark = ChartMark.COLOUR

    @property
    def ascii(self) -> bool:
        """Whether only ASCII may be drawn."""
        return self.mark is ChartMark.ASCII


class ChartPart(NamedTuple):
    """One part of a chart: its name in the legend, its numbers from left to right, its style, and
    the marks of a full cell without colours and in ASCII.
    """

    name: str
    values: Sequence[float] = ()
    style: str = "completed"
    shade: str = "█"
    letter: str = "#"

    def drawn(self, mark: ChartMark) -> str:
        """Return the mark of a full cell."""
        if mark is ChartMark.COLOUR and self.shade in "▓▒░":
            return "█"
        return self.letter if mark is ChartMark.ASCII else self.shade


class Chart(Painted):
    """A chart that is computed for its size, and again for another size."""

    DEFAULT_CSS = """
    Chart { height: 1fr; width: 1fr; }
    """
    ALLOW_SELECT = False

    def __init__(self, *, name: str) -> None:
        super().__init__(id=name)
        self._styles_cache = FramedLines()
        self._make: Callable[[int, int], Sequence[Line]] = lambda _, __: ()
        self._lines: Sequence[Line] = ()

    def show_made(self, make: Callable[[int, int], Sequence[Line]]) -> None:
        """Show the lines that `make` returns for a width and a height."""
        self._make = make
        self._lay_out()

    def on_resize(self) -> None:
        """Compute the chart for the new size."""
        self._lay_out()

    def _lay_out(self) -> None:
        width, height = self.size
        lines = list(self._make(width, height))[:height] if width and height else []
        if lines != self._lines:
            self._lines = lines
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Return one line of the chart."""
        spans = self._lines[y] if y < len(self._lines) else ()
        return self.palette.strip(fit(spans, self.size.width), self.rich_style)


def legend(unit: str, parts: Iterable[ChartPart], area: ChartArea, *more: Span) -> Line:
    """Return the first line of a chart: its unit, the mark and name of each part, and notes."""
    found = [Span(unit, "dim")] if unit else []
    for part in parts:
        if not part.name:
            continue
        gap = "   " if found else ""
        found += [Span(gap + part.drawn(area.mark), part.style), Span(f" {part.name}")]
    for note in more:
        found += [Span("   " if found else ""), note]
    return cut(tuple(found), area.width)


def sentence(text: str, area: ChartArea) -> list[Line]:
    """Return a sentence in place of a chart."""
    return [cut(line((text, "dim")), area.width)]
