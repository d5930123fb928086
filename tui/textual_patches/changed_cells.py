"""Write only the cells of the screen that have changed.

Textual writes every region that a widget has asked to draw again, whether or not its cells look
different: after a cursor key all rows of three panes, 5 to 13 kB, which is slow over a thin line.
`ShownCells` knows what the terminal shows, and returns the cells that differ. `bench/results`
has the bytes of a key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rowtui.tui.textual_patches.fast_strips import LightStrip
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate

NEAR = 6
"""Unchanged cells between two changes that are written again: to go past them takes as long."""

Cell = tuple[str, Style | None]
Part = tuple[int, int, Iterable[Segment]]


class ShownCells:
    """The cells that the terminal shows, by line; unknown cells are None."""

    def __init__(self) -> None:
        self._lines: dict[int, list[Cell | None]] = {}

    def forget(self) -> None:
        """Assume nothing about the terminal, for example after another program had it."""
        self._lines.clear()

    def changes(self, y: int, x: int, segments: Iterable[Segment]) -> Iterator[Part]:
        """Store these cells of line `y` from column `x` on, and yield the parts that differ."""
        cells = _cells(segments)
        line = self._lines.setdefault(y, [])
        end = x + len(cells)
        if len(line) < end:
            line += [None] * (end - len(line))
        old = line[x:end]
        if old == cells:
            return
        line[x:end] = cells
        different = [at for at, cell in enumerate(cells) if cell != old[at]]
        begin = last = different[0]
        for at in (*different[1:], len(cells) + NEAR + 1):
            if at - last > NEAR:
                yield y, x + _left(cells, begin), _joined(cells[_left(cells, begin) : last + 1])
                begin = at
            last = at


def _cells(segments: Iterable[Segment]) -> list[Cell]:
    """Return one pair for each column. The second column of a wide character has no text, and a
    character without a width stands in the column before.
    """
    cells: list[Cell] = []
    for text, style, _ in segments:
        if text.isascii():
            cells += [(char, style) for char in text]
            continue
        for char in text:
            width = cell_len(char)
            if not width and cells:
                cells[-1] = (cells[-1][0] + char, cells[-1][1])
            elif width:
                cells += [(char, style), ("", style)][:width]
    return cells


def _left(cells: list[Cell], at: int) -> int:
    """Return the first column of the character in this column."""
    return at - 1 if at and not cells[at][0] else at


def _joined(cells: list[Cell]) -> list[Segment]:
    grouped = groupby(cells, key=lambda cell: cell[1])
    return [Segment("".join(text for text, _ in run), style) for style, run in grouped]


class ChangedCells(CompositorUpdate):
    """The part of an update that changes what the terminal shows."""

    def __init__(self, update: ChopsUpdate | LayoutUpdate, shown: ShownCells) -> None:
        self._update = update
        self._shown = shown

    def render_segments(self, console: Console) -> str:
        """Return the changes for the terminal."""
        written = []
        for y, x, segments in self._parts():
            for line, column, some in self._shown.changes(y, x, segments):
                cells = list(some)
                width = sum(cell_len(one.text) for one in cells)
                text = LightStrip(cells, width).render(console)
                written.append(f"\x1b[{line + 1};{column + 1}H{text}")
        return "".join(written)

    def _parts(self) -> Iterator[Part]:
        """Yield line, column and content of each part of the update."""
        update = self._update
        if isinstance(update, LayoutUpdate):
            for y, strips in enumerate(update.strips, update.region.y):
                yield y, update.region.x, [one for strip in strips for one in strip]
            return
        for y, x1, x2 in update.spans:
            for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
                if strip is not None and x < x2 and end > x1:
                    yield y, x, strip
