"""How the lines of a table are drawn: its heading, a row, and what stands there without rows.

Takes what decides the look of a line, gives a strip of the screen; keeps nothing but the colours of
one theme. Which lines are drawn, and when, is `virtual_table.py`'s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from rowtui.tui.render.cells import Cell, Line, Span, fit, line
from rowtui.tui.render.columns import GAP, Placed
from rowtui.tui.widgets.palette import Palette
from textual.strip import Strip
from textual.widget import Widget


class Look(NamedTuple):
    """All that decides how a row is drawn: equal looks are equal lines."""

    cells: Mapping[str, Cell] | None  # None: its page is on the way
    here: bool  # under the cursor
    focus: bool
    marked: bool
    flashing: tuple[str, ...]  # columns


class TableLines:
    """Draws for one table in the colours of one theme; make a new one when the theme changes."""

    def __init__(self, table: Widget, palette: Palette) -> None:
        self._table = table
        self._palette = palette

    def _component(self, name: str) -> Style:
        return self._table.get_component_rich_style(name, partial=True)

    def blank(self, text: Line, width: int) -> Strip:
        """A line without a row."""
        base = self._table.rich_style
        if not text:
            return Strip.blank(width, base)
        return self._palette.strip(fit((Span("  "), *text), width), base)

    def heading(
        self, placed: Sequence[Placed], gutter: int, sort: tuple[str, bool] | None, width: int
    ) -> Strip:
        """The titles; the column that the rows are sorted by has an arrow."""
        base = self._table.rich_style
        style = base + self._component("table--heading")
        segments = [Segment(" " * gutter, base)]
        for one in placed:
            title = one.title
            if sort and sort[0] == one.column.id:
                title = f"{title[: max(1, one.width - 2)]} {'▲' if sort[1] else '▼'}"
            text = fit(line(title), one.width, one.column.align)
            segments += [Segment(span.text, style) for span in text]
            segments.append(Segment(" " * GAP, base))
        return Strip(segments).adjust_cell_length(width, base)

    def row(
        self, look: Look, placed: Sequence[Placed], can_mark: bool, stale: bool, width: int
    ) -> Strip:
        """One row, with cursor and mark."""
        palette = self._palette
        base = self._table.rich_style
        if look.here:
            base += self._component("table--cursor" if look.focus else "table--idle-cursor")
        segments = [Segment("›" if look.here else " ", base + palette["key"])]
        if can_mark:
            segments.append(Segment("●" if look.marked else " ", base + palette["eligible"]))
        segments.append(Segment(" ", base))
        changed = base + self._component("table--changed")
        for one in placed:
            if look.cells is None:
                text = "·" + " " * (one.width - 1 + GAP)
                segments.append(Segment(text, base + palette["faint"]))
                continue
            cell: Cell = look.cells.get(one.column.id, ())
            style = changed if one.column.id in look.flashing else base
            segments += [
                Segment(span.text, style + palette["dim" if stale else span.style])
                for span in fit(cell, one.width, one.column.align)
            ]
            segments.append(Segment(" " * GAP, base))
        return Strip(segments).crop(0, width).adjust_cell_length(width, base)
