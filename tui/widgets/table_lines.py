"""How the lines of a table are drawn: its heading, a row, and what stands there without rows.

Takes what decides the look of a line, gives a strip of the screen; keeps nothing but the colours of
one theme. Which lines are drawn, and when, is `virtual_table.py`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.segment import Segment
from rich.style import Style
from rowtui.tui.render.cells import Span, fit, line, plain, shifted
from rowtui.tui.render.columns import GAP
from textual.strip import Strip
from textual.widget import Widget

if TYPE_CHECKING:
    from rowtui.tui.render.cells import Cell, Line
    from rowtui.tui.render.columns import Placed
    from rowtui.tui.widgets.palette import Palette

Places = Callable[[str, str], Iterable[tuple[int, int]]]
"""Where, in the text of a column, lies what somebody looks for."""

SEEN = Style(bold=True, underline=True)


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
        self._palette = palette
        base = table.rich_style
        self._grounds = {"": base}  # what the styles of the cells lie on
        changed = table.get_component_rich_style("table--changed", partial=True)
        for name in ("heading", "cursor", "idle-cursor"):
            part = table.get_component_rich_style(f"table--{name}", partial=True)
            self._grounds[name] = base + part
        for name in ("", "cursor", "idle-cursor"):
            self._grounds[f"{name} changed"] = self._grounds[name] + changed
        self._styles: dict[tuple[str, str, bool], Style] = {}

    def _style(self, ground: str, name: str, *, seen: bool = False) -> Style:
        """A style of a cell on its ground; adding styles is dear, and there are few."""
        style = self._styles.get((ground, name, seen))
        if style is None:
            style = self._grounds[ground] + self._palette[name]
            if seen:
                style += SEEN
            self._styles[ground, name, seen] = style
        return style

    def blank(self, text: Line, width: int) -> Strip:
        """A line without a row."""
        base = self._grounds[""]
        if not text:
            return Strip.blank(width, base)
        return self._palette.strip(fit((Span("  "), *text), width), base)

    def heading(
        self, placed: Sequence[Placed], gutter: int, sort: tuple[str, bool] | None, width: int
    ) -> Strip:
        """The titles; the column that the rows are sorted by has an arrow."""
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

    def row(
        self,
        look: Look,
        placed: Sequence[Placed],
        can_mark: bool,
        stale: bool,
        width: int,
        *,
        places: Places | None = None,
        shift: int = 0,
    ) -> Strip:
        """One row, with cursor and mark; what `places` finds stands out, long texts are shifted."""
        ground = ("cursor" if look.focus else "idle-cursor") if look.here else ""
        blank = self._style(ground, "")
        parts: list[tuple[str, Style]] = [("›" if look.here else " ", self._style(ground, "key"))]
        if can_mark:
            parts.append(("●" if look.marked else " ", self._style(ground, "eligible")))
        parts.append((" ", blank))
        for one in placed:
            if look.cells is None:
                text = "·" + " " * (one.width - 1 + GAP)
                parts.append((text, self._style(ground, "faint")))
                continue
            cell: Cell = look.cells.get(one.column.id, ())
            here = f"{ground} changed" if one.column.id in look.flashing else ground
            if shift and isinstance(cell, tuple):
                cell = shifted(cell, shift, one.width)
            spans = fit(cell, one.width, one.column.align)
            found = places(one.column.id, plain(spans)) if places else ()
            marked = _marked_up(spans, found) if found else ((*span, False) for span in spans)
            for text, style, seen in marked:
                parts.append((text, self._style(here, "dim" if stale else style, seen=seen)))
            parts.append((" " * GAP, blank))
        # Every cell is as wide as its column: nothing has to be measured.
        room = width - (3 if can_mark else 2) - sum(one.width + GAP for one in placed)
        if room < 0:
            return Strip(_joined(parts)).adjust_cell_length(width, blank)
        parts.append((" " * room, blank))
        return Strip(_joined(parts), width)


def _marked_up(spans: Line, found: Iterable[tuple[int, int]]) -> Iterator[tuple[str, str, bool]]:
    """The spans, cut where something was found: text, style, and whether it was found."""
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


def _joined(parts: Iterable[tuple[str, Style]]) -> list[Segment]:
    """Neighbours of one style as one segment: what Textual does with a line, it does for each."""
    segments: list[Segment] = []
    texts: list[str] = []
    now: Style | None = None
    for text, style in parts:
        if style is not now and now is not None:
            segments.append(Segment("".join(texts), now))
            texts = []
        now = style
        texts.append(text)
    if now is not None:
        segments.append(Segment("".join(texts), now))
    return segments
