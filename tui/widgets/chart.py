"""Charts of characters: their area, glyphs, parts and legend, and the widget that shows them.

Each function of `time_charts` is pure: it takes numbers, a width and a height, and gives lines with
axes, units and a legend. Parts of a chart differ in their glyph as well as in their style, so that
a chart can be read without colours. `ChartMark` has the three sets of glyphs.

Lengths are true to half a cell, or to an eighth where blocks permit that. A part that is smaller
is a dot, which the legend names: no part is drawn larger than it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple

from rowtui.tui.textual_patches.framed_lines import FramedLines
from rowtui.tui.widgets.cells import Line, Painted, fit
from textual.strip import Strip


class ChartMark(Enum):
    """The glyphs of a chart: dots for curves, eighths of blocks, or ASCII alone."""

    BRAILLE = "braille"
    BLOCK = "block"
    ASCII = "ascii"


class ChartArea(NamedTuple):
    """The room of a chart in columns and lines, and its glyphs."""

    width: int
    height: int
    mark: ChartMark = ChartMark.BLOCK


class ChartPart(NamedTuple):
    """One part of a stacked chart: its name in the legend, its numbers from left to right, its
    style, and its glyph with blocks and in ASCII.
    """

    name: str
    values: Sequence[float]
    style: str = "completed"
    glyph: str = "█"
    ascii_glyph: str = "#"

    def drawn(self, mark: ChartMark) -> str:
        """Return the glyph of a full cell."""
        return self.ascii_glyph if mark is ChartMark.ASCII else self.glyph


SMALL_PARTS = {ChartMark.ASCII: "."}
"""The mark of a part that is smaller than half a cell; "·" with other glyphs."""


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


def legend_of(parts: Sequence[ChartPart], mark: ChartMark) -> list[tuple[str, str]]:
    """Return the glyph and the name of each part."""
    found = []
    for part in parts:
        found += [(part.drawn(mark), part.style), (f" {part.name}  ", "")]
    return found
