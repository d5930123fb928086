"""Drawing of a table's lines.

The input is the values that decide the look of a line; the output is a strip of the screen. Only
the colours of one theme, and the drawn rows, are stored: a row is drawn again only if its look has
changed. `virtual_table` decides which lines are drawn, and when.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.segment import Segment
from rich.style import Style
from rowtui.tui.textual_patches.fast_strips import LineStrip
from rowtui.tui.widgets.cells import Number, Span, Wide, fit, line, plain, shifted
from rowtui.tui.widgets.columns import GAP
from textual.strip import Strip
from textual.widget import Widget

if TYPE_CHECKING:
    from rowtui.tui.widgets.cells import Cell, Line, Palette
    from rowtui.tui.widgets.columns import PlacedColumn


KEPT_ROWS = 600
"""The number of cached rows: some screens up and down."""


class DrawnRows:
    """Drawn rows by index. The cache ignores properties that all rows share: after a change of such
    a property, call `forget`.
    """

    def __init__(self) -> None:
        self._kept: dict[int, tuple[RowLook, Strip]] = {}
        self._next: dict[int, RowLook] = {}  # The new looks of rows that are drawn next.
        self.drawn = 0  # The number of rows drawn so far; tests and benchmarks read it.

    def forget(self) -> None:
        """Drop all rows, because their looks have changed."""
        self._kept.clear()

    def expect(self, looks: dict[int, RowLook]) -> None:
        """Store the new looks of rows that will be drawn next."""
        self._next = looks

    def expect_not(self, index: int) -> None:
        """Drop the expected look of a row, which may have changed again."""
        self._next.pop(index, None)

    def expected(self, index: int) -> RowLook | None:
        """Return and remove the expected look of a changed row, or None if it is unknown."""
        return self._next.pop(index, None)

    def kept(self, index: int, look: RowLook) -> Strip | None:
        """Return the drawn row, if it was drawn with this look."""
        kept = self._kept.get(index)
        return kept[1] if kept is not None and kept[0] == look else None

    def keep(self, index: int, look: RowLook, strip: Strip) -> None:
        """Store the drawn row with its look."""
        self.drawn += 1
        if len(self._kept) >= KEPT_ROWS and index not in self._kept:
            del self._kept[next(iter(self._kept))]  # The oldest entry.
        self._kept[index] = (look, strip)


Places = Callable[[str, str], Iterable[tuple[int, int]]]
"""Function that returns the positions of matches in the text of a column."""

_GAP = " " * GAP

SEEN = Style(bold=True, underline=True)


class RowLook(NamedTuple):
    """All values that decide how a row is drawn: equal looks mean equal lines."""

    cells: Mapping[str, Cell] | None  # None until its page is loaded.
    here: bool  # The row is under the cursor.
    focus: bool
    marked: bool
    flashing: tuple[str, ...]  # Columns.


class TableLines:
    """Draws the lines of one table in the colours of one theme; another theme needs a new one."""

    def __init__(self, table: Widget, palette: Palette) -> None:
        self._palette = palette
        base = table.rich_style
        self._grounds = {"": base}  # The backgrounds of the cells.
        changed = table.get_component_rich_style("table--changed", partial=True)
        for name in ("heading", "cursor", "idle-cursor"):
            part = table.get_component_rich_style(f"table--{name}", partial=True)
            self._grounds[name] = base + part
        self._grounds["total"] = base + Style(bold=True)
        for name in ("", "cursor", "idle-cursor"):
            self._grounds[f"{name} changed"] = self._grounds[name] + changed
        self._styles: dict[str, _Styles] = {}

    def _styles_on(self, ground: str) -> _Styles:
        styles = self._styles.get(ground)
        if styles is None:
            styles = self._styles[ground] = _Styles(self._grounds[ground], self._palette)
        return styles

    def blank(self, text: Line, width: int) -> Strip:
        """Return a line without a row."""
        base = self._grounds[""]
        if not text:
            return Strip.blank(width, base)
        return self._palette.strip(fit((Span("  "), *text), width), base)

    def heading(
        self, placed: Sequence[PlacedColumn], gutter: int, sort: tuple[str, bool] | None, width: int
    ) -> Strip:
        """Return the titles; the column by which the rows are sorted has an arrow."""
        base, style = self._grounds[""], self._grounds["heading"]
        segments = [Segment(" " * gutter, base)]
        for one in placed:
            title = one.title
            if sort and sort[0] == one.column.id:
                space = " " if one.width > 2 else ""
                room = max(0, one.width - 1 - len(space))
                title = f"{title[:room]}{space}{'▲' if sort[1] else '▼'}"
            text = fit(line(title), one.width, one.column.align)
            segments += [Segment(span.text, style) for span in text]
            segments.append(Segment(" " * GAP, base))
        return Strip(segments).adjust_cell_length(width, base)

    def total(
        self,
        cells: Mapping[str, Cell],
        placed: Sequence[PlacedColumn],
        can_mark: bool,
        stale: bool,
        width: int,
    ) -> Strip:
        """Return the row of totals, in bold."""
        look = RowLook(cells, here=False, focus=False, marked=False, flashing=())
        return self.row(look, placed, can_mark, stale, width, ground="total")

    def row(
        self,
        look: RowLook,
        placed: Sequence[PlacedColumn],
        can_mark: bool,
        stale: bool,
        width: int,
        *,
        places: Places | None = None,
        shift: int = 0,
        ground: str = "",
    ) -> Strip:
        """Return one row with cursor and mark; highlight matches of `places`, shift long texts."""
        if look.here:
            ground = "cursor" if look.focus else "idle-cursor"
        styles = self._styles_on(ground)
        blank = styles[""]
        texts: list[str] = ["›" if look.here else " "]
        used: list[Style] = [styles["key"]]
        if can_mark:
            texts.append("●" if look.marked else " ")
            used.append(styles["eligible"])
        texts.append(" ")
        used.append(blank)
        room = width - (3 if can_mark else 2)
        cells, flashing = look.cells, look.flashing
        for one in placed:
            column, size = one.column, one.width
            room -= size + GAP
            if cells is None:
                texts.append("·" + " " * (size - 1 + GAP))
                used.append(styles["faint"])
                continue
            name = column.id
            cell: Cell = cells.get(name, ())
            if type(cell) is Wide:
                size, room = size + max(0, room), min(0, room)
            here = self._styles_on(f"{ground} changed") if name in flashing else styles
            if shift and isinstance(cell, tuple):
                cell = shifted(cell, shift, size)
            if type(cell) is Number and not (cell.style or places or stale):
                text = cell.text(size)
                if len(text) <= size:  # A shorter form of the code below, for most cells.
                    texts.append(text.rjust(size) if column.align == "right" else text.ljust(size))
                    used.append(here[""])
                    texts.append(_GAP)
                    used.append(blank)
                    continue
            spans = fit(cell, size, column.align)
            if places and (found := places(name, plain(spans))):
                for text, style, seen in _marked_up(spans, found):
                    texts.append(text)
                    plainly = here["dim" if stale else style]
                    used.append(plainly + SEEN if seen else plainly)
            else:
                for text, style in spans:
                    if text:
                        texts.append(text)
                        used.append(here["dim" if stale else style])
            texts.append(_GAP)
            used.append(blank)
            if type(cell) is Wide:
                break
        # Every cell is as wide as its column, so the width need not be measured.
        if room < 0:
            return Strip(_joined(texts, used)).adjust_cell_length(width, blank)
        if room:
            texts.append(" " * room)
            used.append(blank)
        return LineStrip(_joined(texts, used), width)


class _Styles(dict[str, Style]):
    """The styles on one background by name: adding styles is slow, and there are few styles."""

    def __init__(self, ground: Style, palette: Palette) -> None:
        self._ground = ground
        self._palette = palette

    def __missing__(self, name: str) -> Style:
        self[name] = style = self._ground + self._palette[name]
        return style


def _marked_up(spans: Line, found: Iterable[tuple[int, int]]) -> Iterator[tuple[str, str, bool]]:
    """Yield the spans, cut at the matches: text, style, and whether it is a match."""
    cuts = sorted({edge for pair in found for edge in pair})
    inside = {begin for begin, _ in found}
    at, seen = 0, False
    for text, style in spans:
        begin = 0
        for edge in cuts:
            if at <= edge < at + len(text):
                if edge - at > begin:
                    yield text[begin : edge - at], style, seen
                begin, seen = edge - at, edge in inside
        yield text[begin:], style, seen
        at += len(text)


def _joined(texts: list[str], styles: list[Style]) -> list[Segment]:
    """Return adjacent texts of one style as one segment, because Textual processes each segment."""
    segments: list[Segment] = []
    begin, now = 0, styles[0]
    for at, style in enumerate(styles):
        if style is not now:
            segments.append(Segment("".join(texts[begin:at]), now))
            begin, now = at, style
    segments.append(Segment("".join(texts[begin:]), now))
    return segments
