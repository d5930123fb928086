"""The only table class of the dashboard: as fast with a million rows as with ten.

It draws single lines on demand (Textual's Line API) from a `RowSource`, caches the drawn lines, and
after a refresh repaints only the lines that look different. Its cost depends on the height of the
screen and not on the number of rows.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from rowtui.tui.commands.registry import bindings_for
from rowtui.tui.textual_patches.framed_lines import FramedLines
from rowtui.tui.widgets.cells import Palette
from rowtui.tui.widgets.columns import GAP, place
from rowtui.tui.widgets.table import scroll_bar as table_news
from rowtui.tui.widgets.table.rows import ListRows, Marks
from rowtui.tui.widgets.table.scroll_bar import QuietScrollBar
from rowtui.tui.widgets.table.table_lines import DrawnRows, RowLook, TableLines
from rowtui.tui.widgets.text_lines import MovingKeys
from textual import events
from textual.geometry import Region, Size
from textual.reactive import reactive
from textual.scrollbar import ScrollBar
from textual.strip import Strip

if TYPE_CHECKING:
    from rowtui.tui.widgets.cells import Cell, Line
    from rowtui.tui.widgets.columns import PlacedColumn, TableColumn
    from rowtui.tui.widgets.table.rows import RowSource
    from rowtui.tui.widgets.table.table_lines import Places

FLASH_SECONDS = 1.5
"""Seconds for which a changed number is highlighted."""

_NO_ROWS: RowSource = ListRows[None]((), str, lambda *_: {})


class VirtualTable(MovingKeys, can_focus=True):
    """A table over a `RowSource`. The cursor is on a row; marks and cursor are stored by key."""

    ALLOW_SELECT = False
    BINDINGS = bindings_for("list")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "table--heading",
        "table--cursor",
        "table--idle-cursor",
        "table--changed",
    }
    DEFAULT_CSS = """
    VirtualTable {
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        & > .table--heading { color: $text-heading; text-style: bold; }
        & > .table--cursor { background: $cursor-background; text-style: bold; }
        & > .table--idle-cursor { background: $cursor-idle-background; }
        & > .table--changed { background: $changed-background; }
    }
    """

    cursor = reactive(0, repaint=False)

    CursorMoved: TypeAlias = table_news.CursorMoved
    RowPressed: TypeAlias = table_news.RowPressed
    HeadingPressed: TypeAlias = table_news.HeadingPressed

    def __init__(self, *, name: str, can_mark: bool = False, headed: bool = True) -> None:
        super().__init__(id=name)
        self._styles_cache = FramedLines()
        self.can_mark = can_mark
        self.head_lines = 1 if headed else 0
        self.total: Mapping[str, Cell] | None = None
        self.marks = Marks()
        self.about: Hashable = None  # What the rows are about: marks belong to these rows alone.
        self.source: RowSource = _NO_ROWS
        self.columns: Sequence[TableColumn] = ()
        self.empty: Line = ()
        self.sort: tuple[str, bool] | None = None  # Column id, and whether the order is reversed.
        self.stale = False
        self.placed: tuple[PlacedColumn, ...] = ()
        self._placed_at = -1
        self._drawn = DrawnRows()
        self._lines: TableLines | None = None  # Draws in the colours of one theme.
        self.cursor_key: Hashable | None = None  # The key of the row under the cursor.
        self._placed_by_hand = False  # The cursor, by a key, a click or a choice of the view.
        self._wanted_top = 0  # The first visible row, as the user left it.
        # The last scroll position that only a resize asked for.
        self._scrolled_for_size: int | None = None
        # The row that the view chose; later moves of the cursor may not have reached the view yet.
        self._chosen: Hashable | None = None
        self._flashing: frozenset[tuple[Hashable, str]] = frozenset()
        self.places: Places | None = None  # Finds the parts of the rows that are highlighted.
        self.shift = 0  # Columns by which long texts are scrolled to the left.
        # Width, first row and number of rows during a draw.
        self._drawing: tuple[int, int, int] | None = None
        self._where = (0, False)  # The cursor, and the focus, during a pass over the rows.

    # Display

    def show(
        self,
        source: RowSource,
        columns: Sequence[TableColumn],
        *,
        stale: bool = False,
    ) -> None:
        """Show these rows. The cursor stays on its row, which keeps its place on the screen.

        Until the user moves the cursor or rearranges the rows, it stays at the top.
        """
        sort = self._prepare(source, columns)
        columns = tuple(columns)
        look = (columns, stale, sort)
        if look != (self.columns, self.stale, self.sort):
            self.columns, self.stale, self.sort = look
            self._place_columns()
            self._forget_strips()
            self.refresh()
        self.source = source
        self._drawn.expect({})
        self.rows_changed()

    def _prepare(
        self, source: RowSource, columns: Sequence[TableColumn]
    ) -> tuple[str, bool] | None:
        """Arrange the rows; return the column of their order, and whether it is ascending."""
        return None

    def sum_up(self, total: Mapping[str, Cell] | None) -> None:
        """Show these cells as a last row that is always visible, and that no cursor reaches."""
        if total != self.total:
            self.total = total
            self.virtual_size = self._whole_size(self.source.row_count)
            self.refresh()

    def say_if_empty(self, text: Line) -> None:
        """Set the text in place of rows; repaint at once if the table is empty."""
        if text != self.empty:
            self.empty = text
            if not self.source.row_count:
                self.refresh()

    def show_nothing(self) -> None:
        """Show no rows; `empty` has the reason."""
        self.start_over(self.about)
        self.show(_NO_ROWS, self.columns)

    def rows_changed(self) -> None:
        """Follow the cursor's row and repaint changed lines: the source may have other rows."""
        count = self.source.row_count
        was = self.cursor
        follows = self._placed_by_hand and self.cursor_key is not None
        now = self.source.index_of(self.cursor_key) if follows else None
        if now is None:
            now = max(0, min(was, count - 1))
        known = self.source.key(now) if count else None
        size = self._whole_size(count)
        if size != self.virtual_size:
            self.virtual_size = size
            self.refresh()
        if now != was:
            self.set_reactive(VirtualTable.cursor, now)
            # By force: a list that was short a moment ago has no scroll bar yet.
            self.scroll_to(y=max(0, self.scroll_offset.y + now - was), animate=False, force=True)
        if known != self.cursor_key and (known is not None or not count):
            self.cursor_key = known
            self.post_message(self.CursorMoved(self, now, known))
        self._want_visible()
        self.repaint_different()

    def flash(self, cells: Iterable[tuple[Hashable, str]]) -> None:
        """Highlight these cells (row key, column id) for a moment."""
        self._set_flashing(frozenset(cells))
        if self._flashing:
            self.set_timer(FLASH_SECONDS, lambda: self._set_flashing(frozenset()))

    def _set_flashing(self, cells: frozenset[tuple[Hashable, str]]) -> None:
        self._flashing = cells
        self.repaint_different()

    def move_to_key(self, key: Hashable) -> None:
        """Put the cursor on the row with that key, if there is one."""
        index = self.source.index_of(key)
        if index is not None:
            self._move(index)

    def choose(self, key: Hashable) -> None:
        """Put the cursor on the row that the view has chosen, if the choice has changed.

        A view that is drawn again between a key and the message about it must not undo the key. The
        view also calls this method for its new choice when it handles such a message.
        """
        if key != self._chosen and self.source.index_of(key) is not None:
            self._chosen = key
            self.move_to_key(key)

    def start_over(self, about: Hashable = None) -> None:
        """Reset cursor and marks, because rows about something else follow."""
        self.about = about
        self.marks.set_all(False)
        self.cursor_key = None
        self._placed_by_hand = False
        self.set_reactive(VirtualTable.cursor, 0)
        self.scroll_to(y=0, animate=False)
        self._forget_strips()
        self.refresh()

    def toggle_mark(self) -> None:
        """Mark the row under the cursor and step down, as in a file manager."""
        if self.cursor_key is None:
            return
        self.marks.toggle(self.cursor_key, self.cursor)
        self._repaint_row(self.cursor)
        self.action_line_down()

    # Moving

    def move_by(self, lines: int) -> None:
        """Move the cursor by this number of rows."""
        self._move(self.cursor + lines)

    @property
    def page_lines(self) -> int:
        """The number of visible rows."""
        return self._visible_rows

    @property
    def half_page_lines(self) -> int:
        """Half of the visible rows."""
        return self._visible_rows // 2

    def action_first(self) -> None:
        """Move to the first row."""
        self._move(0)

    def action_last(self) -> None:
        """Move to the last row."""
        self._move(self.source.row_count - 1)

    def _move(self, index: int) -> None:
        self._placed_by_hand = True
        index = max(0, min(index, self.source.row_count - 1))
        if index == self.cursor or not self.source.row_count:
            return
        self._repaint_row(self.cursor)
        self._repaint_row(index)
        self.set_reactive(VirtualTable.cursor, index)
        self._scroll_to_cursor()
        self._want_visible()
        self.cursor_key = self.source.key(index)
        self.post_message(self.CursorMoved(self, index, self.cursor_key))

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """A scroll bar that is cheaper than Textual's."""
        if self._vertical_scrollbar is None:
            self._vertical_scrollbar = QuietScrollBar()
            self._vertical_scrollbar.display = False
            self.app._start_widget(self, self._vertical_scrollbar)
        return self._vertical_scrollbar

    @property
    def _other_lines(self) -> int:
        """The lines of titles and total, which do not scroll."""
        return self.head_lines + (self.total is not None)

    def _whole_size(self, rows: int) -> Size:
        return Size(self._width, rows + self._other_lines)

    @property
    def _visible_rows(self) -> int:
        return max(1, self._height - self._other_lines)

    @property
    def visible_range(self) -> tuple[int, int]:
        """The first visible row, and the row after the last one."""
        return self._top, min(self._top + self._visible_rows, self.source.row_count)

    @property
    def _top(self) -> int:
        return int(self.scroll_offset.y)

    def _scroll_to_cursor(self) -> None:
        top = self._with_cursor(self._top)
        if top != self._top:
            self.scroll_to(y=top, animate=False, force=True)

    def _with_cursor(self, top: int) -> int:
        """Return the first visible row nearest to `top` at which the cursor is visible."""
        return min(max(top, self.cursor - self._visible_rows + 1), self.cursor)

    def _want_visible(self) -> None:
        top = self._top
        self.source.want(top, top + self._visible_rows)

    # Events

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Request the pages of the rows that are on the screen now."""
        super().watch_scroll_y(old_value, new_value)
        is_cut = new_value < old_value and new_value >= self.max_scroll_y
        if new_value != self._scrolled_for_size and not is_cut:
            self._wanted_top = int(new_value)
        self._want_visible()

    def on_resize(self) -> None:
        """Choose the columns for the new width."""
        self._place_columns()
        self._forget_strips()
        self.virtual_size = self._whole_size(self.source.row_count)
        if self.source.row_count:
            self._scroll_for_size()
        self._want_visible()

    def _scroll_for_size(self) -> None:
        """Show the cursor at this height, from where the user had scrolled to.

        The heights on the way to a new size must not count: how many there are depends on timing.
        """
        top = self._with_cursor(self._wanted_top)
        if top != self._top:
            self._scrolled_for_size = top
            self.scroll_to(y=top, animate=False, force=True)

    def watch_has_focus(self, value: bool) -> None:
        """Repaint the cursor, which looks different with the focus."""
        super().watch_has_focus(value)
        self._repaint_row(self.cursor)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Show the full title of a heading, if the mouse rests there."""
        offset = event.get_content_offset(self)
        heading = offset is not None and offset.y < self.head_lines
        at = self._column_at(offset.x) if offset is not None and heading else None
        self.tooltip = next((one.title for one in self.columns if one.id == at), None)

    async def on_click(self, event: events.Click) -> None:
        """Move the cursor with a click; open by a click on it; sort by one on a heading."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        if offset.y < self.head_lines:
            column = self._column_at(offset.x)
            if column is not None:
                self.post_message(self.HeadingPressed(self, column))
            return
        index = self._top + offset.y - self.head_lines
        if index >= min(self.source.row_count, self._top + self._visible_rows):
            return
        if index == self.cursor and event.chain == 2:
            self.post_message(self.RowPressed(self))
        else:
            self._move(index)

    def _column_at(self, x: int) -> str | None:
        at = self._gutter
        for placed in self.placed:
            if at <= x < at + placed.width + GAP:
                return placed.column.id
            at += placed.width + GAP
        return None

    def notify_style_update(self) -> None:
        """Draw every line again in the colours of the new theme."""
        super().notify_style_update()
        self._lines = None
        self._forget_strips()

    # Drawing

    @property
    def _gutter(self) -> int:
        return 3 if self.can_mark else 2

    @property
    def _width(self) -> int:
        """Columns of the screen beside the scroll bar."""
        return self.scrollable_content_region.width

    @property
    def _height(self) -> int:
        return self.scrollable_content_region.height

    def _place_columns(self) -> None:
        self._placed_at = self._width
        self.placed = place(self.columns, max(1, self._width - self._gutter - 1))

    @property
    def painted_lines(self) -> int:
        """The number of rows drawn so far."""
        return self._drawn.drawn

    def _forget_strips(self) -> None:
        self._drawn.forget()

    def _repaint_row(self, index: int) -> None:
        self._drawn.expect_not(index)
        row = index - self._top
        if 0 <= row < self._visible_rows:
            self.refresh(Region(0, row + self.head_lines, self._width, 1))

    def repaint_different(self) -> None:
        """Repaint the rows that look different now, for example after marks were set."""
        top, visible = self._top, self._visible_rows
        self._where, kept = (self.cursor, self.has_focus), self._drawn.kept
        looks: dict[int, RowLook] = {}
        for index in range(top, min(top + visible, self.source.row_count)):
            look = self._look(index)
            if kept(index, look) is None:
                looks[index] = look
        if len(looks) > visible // 2:  # Many small regions take longer than one large region.
            self.refresh(Region(0, self.head_lines, self._width, visible))
        else:
            for index in looks:
                self._repaint_row(index)
        self._drawn.expect(looks)

    def _look(self, index: int) -> RowLook:
        key = self.source.key(index)
        flashing = self._flashing
        cursor, focus = self._where
        return RowLook(
            self.source.row(index),
            index == cursor,
            focus,
            self.can_mark and key is not None and key in self.marks,
            tuple([column for row, column in flashing if row == key]) if flashing else (),
        )

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the lines of the screen; values that all lines share are determined once."""
        self._drawing = self._about_lines()
        try:
            return super().render_lines(crop)
        finally:
            self._drawing = None
            self._drawn.expect({})

    def _about_lines(self) -> tuple[int, int, int]:
        self._where = (self.cursor, self.has_focus)
        return self._width, self._top, self.source.row_count

    def render_line(self, y: int) -> Strip:
        """Return one line of the screen."""
        width, top, count = self._drawing or self._about_lines()
        if width != self._placed_at:  # The scroll bar appeared or disappeared.
            self._place_columns()
            self._forget_strips()
        lines = self._lines
        if lines is None:
            lines = self._lines = TableLines(self, Palette(self.app))
        if y < self.head_lines:
            return lines.heading(self.placed, self._gutter, self.sort, width)
        row = y - self.head_lines
        index = row + top
        if self.total is not None and row == min(count, self._visible_rows):
            return lines.total(self.total, self.placed, self.can_mark, self.stale, width)
        if index >= count:
            return lines.blank(self.empty if index == 0 else (), width)
        look = self._drawn.expected(index)
        if look is None:
            look = self._look(index)
            kept = self._drawn.kept(index, look)
            if kept is not None:
                return kept
        strip = lines.row(
            look, self.placed, self.can_mark, self.stale, width,
            places=self.places, shift=self.shift,
        )  # fmt: skip
        self._drawn.keep(index, look, strip)
        return strip
