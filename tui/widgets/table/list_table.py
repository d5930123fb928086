"""A table that the user can filter, sort, mark in ranges, arrange by columns and write to a file.

It is a `VirtualTable` over `Arranged` rows: of the engine (`EngineRows`) or in memory
(`MemoryRows`). A view uses it in place of `VirtualTable`, gives it such rows, and has the keys of
`everywhere.ROWS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from rowtui.core.base.text import visible
from rowtui.core.project.views.views import ListRequest
from rowtui.tui.commands.registry import bindings_for
from rowtui.tui.shell.column_choice import FieldChoice, KeptFields
from rowtui.tui.shell.work import start
from rowtui.tui.views.export import FieldsScreen, export_list
from rowtui.tui.widgets.columns import place
from rowtui.tui.widgets.table.engine_rows import LOADED, Arranged, EngineRows
from rowtui.tui.widgets.table.filtered_table import FilteredTable
from textual.geometry import Region

if TYPE_CHECKING:
    from rowtui.tui.shell.recall import StartState
    from rowtui.tui.widgets.columns import TableColumn
    from rowtui.tui.widgets.table.rows import RowSource
    from rowtui.tui.widgets.table.table_lines import RowLook

MOST_MARKED = 100_000
"""The number of rows that can be marked one by one: their keys are stored in the table."""

SHIFT = 10
"""Columns by which long texts are scrolled."""


class ListTable(FilteredTable):
    """A `VirtualTable` with the keys of lists. `kept_as` is its name in the file of columns."""

    BINDINGS = bindings_for("rows")

    def __init__(
        self,
        *,
        name: str,
        can_mark: bool = False,
        kept_as: str = "",
        may_mark: Callable[[], str] = lambda: "",
    ) -> None:
        """Create the table. `may_mark` returns why rows cannot be marked now."""
        super().__init__(name=name, can_mark=can_mark)
        self.kept_as = kept_as or name
        self._may_mark = may_mark
        self._choice: FieldChoice | None = None
        self._recalled = False  # Whether filter and order of the last dashboard were taken.
        self._to_find = ""  # The row on which the cursor was in the last dashboard.

    # What the last dashboard showed, or what the command line names

    def _prepare(
        self, source: RowSource, columns: Sequence[TableColumn]
    ) -> tuple[str, bool] | None:
        """Give the first rows the recalled filter and order."""
        if not self._recalled and isinstance(source, Arranged):
            self._recalled = True
            recall: StartState | None = getattr(self.app, "recall", None)
            kept = recall.lists.get(self.kept_as) if recall is not None else None
            if kept is not None:
                self.asked = ListRequest(*kept[:3])
                self._to_find = kept.cursor
                if self._to_find and isinstance(source, EngineRows):
                    source.reload_near(self._to_find)
        return super()._prepare(source, columns)

    def rows_changed(self) -> None:
        """Follow the cursor's row, and find the recalled row once the rows are there."""
        super().rows_changed()
        source = self.source
        if not self._to_find or not (isinstance(source, Arranged) and source.settled):
            return
        number = self._to_find.removeprefix("#")
        if source.index_of(self._to_find) is not None:
            key, self._to_find = self._to_find, ""
            self.move_to_key(key)
        elif source.row_count:
            if number != self._to_find and number.isdecimal():
                self._move(int(number) - 1)
            self._to_find = ""

    # Columns

    @property
    def _kept(self) -> KeptFields | None:
        return getattr(self.app, "kept_fields", None)

    def _place_columns(self) -> None:
        if self._choice is None and self._kept is not None:
            self._choice = self._kept.of(self.kept_as)
        columns = (self._choice or FieldChoice()).shown(self.columns) if self.columns else ()
        self._placed_at = self._width
        self.placed = place(columns, max(1, self._width - self._gutter - 1))

    def action_fields(self) -> None:
        """Open the dialog for columns."""
        choice = self._choice or FieldChoice()
        self.app.push_screen(FieldsScreen(self.columns, choice), self._fields_chosen)

    def _fields_chosen(self, choice: FieldChoice | None) -> None:
        if choice is None:
            return
        before = self._choice or FieldChoice()
        if choice != before:
            self.can_undo("other columns", partial(self._fields_chosen, before))
        self._choice = choice
        if self._kept is not None:
            self._kept.choose(self.kept_as, choice)
        self._place_columns()
        self._forget_strips()
        self.refresh()

    def action_left(self) -> None:
        """Scroll long texts back."""
        self._shift_to(self.shift - SHIFT)

    def action_right(self) -> None:
        """Scroll long texts to their ends."""
        self._shift_to(self.shift + SHIFT)

    def _shift_to(self, shift: int) -> None:
        shift = max(0, min(shift, 2000))
        if shift != self.shift:
            self.shift = shift
            self._forget_strips()
            self.refresh()

    # Marks

    def toggle_mark(self) -> None:
        """Mark the row under the cursor and step down."""
        key, index = self.cursor_key, self.cursor
        weight = self.marks.weights.get(key, ())

        def toggle_back() -> None:
            assert key is not None
            self.marks.toggle(key, index)
            if weight:
                self.marks.weights[key] = weight

        row = visible(key) if isinstance(key, str) else "a row"
        text = f"took the mark of {row} back" if key in self.marks else f"marked {row}"
        self._undo_marks(text, toggle_back)
        super().toggle_mark()
        if key in self.marks.keys and isinstance(self.source, Arranged):
            self.marks.weights[key] = self.source.weight(index)
        self.post_message(self.Rearranged(self))

    def set_marks(self, *, everything: bool) -> None:
        """Mark all rows, or none."""
        before = self.marks.copy()
        text = "marked all rows" if everything else "took all marks back"
        self._undo_marks(text, partial(self.marks.restore, before))
        self.marks.set_all(everything)
        self._marks_set()

    def _undo_marks(self, text: str, take_back: Callable[[], None]) -> None:
        """Let the user undo a change of marks."""

        def undo() -> None:
            take_back()
            self._marks_set()

        self.can_undo(text, undo)

    def _marks_set(self) -> None:
        self.repaint_different()
        self.post_message(self.Rearranged(self))

    def _why_no_marks(self) -> str:
        if not self.can_mark or not isinstance(self.source, Arranged):
            return "rows of this list cannot be marked"
        return self._may_mark()

    def action_range(self) -> None:
        """Begin a range of marks at the cursor, or end it there."""
        if why := self._why_no_marks():
            self.notify(f"range: {why}", severity="warning", markup=False)
        elif self._anchor is None:
            self._anchor = self.cursor_key
            self.notify("Move, then v again marks up to there.", timeout=3, markup=False)
        else:
            first, self._anchor = self.source.index_of(self._anchor), None
            if first is None:
                self.notify("Where the range began is gone.", severity="warning", markup=False)
                self.repaint_different()
                return
            first, last = sorted((first, self.cursor))
            self.mark_rows_from(first, last + 1)

    def mark_matching(self) -> None:
        """Mark every row that the filter leaves."""
        if why := self._why_no_marks():
            self.notify(f"mark: {why}", severity="warning", markup=False)
        elif not self.filtered:
            self.set_marks(everything=True)
        else:
            self.mark_rows_from(0, self.source.row_count)

    def mark_rows_from(self, first: int, stop: int) -> None:
        """Mark the rows from `first` to `stop` (exclusive)."""
        start(self, partial(self._mark_rows, first, stop), "marks", exclusive=True)

    async def _mark_rows(self, first: int, stop: int) -> None:
        if stop - first > MOST_MARKED:
            text = f"More than {MOST_MARKED:,} rows: sharpen the filter, or clear it and mark all."
            self.notify(text, severity="warning", markup=False)
            return
        asked, source, before = self.asked, self.source, self.marks.copy()
        for begin in range(first, stop, LOADED):
            assert isinstance(source, Arranged)
            try:
                rows = await source.load(begin, stop)
            except Exception as error:
                self.notify(f"Not marked: {error}", severity="error", markup=False)
                return
            if source is not self.source or asked != self.asked:
                return  # The list or the filter has changed.
            for at, row in enumerate(rows, begin):
                self.marks.add(row.key, at, row.weight)
        self._undo_marks(f"marked {stop - first:,} rows", partial(self.marks.restore, before))
        self._marks_set()

    def _look(self, index: int) -> RowLook:
        look = super()._look(index)
        if self._anchor is not None and not look.marked:
            first = self.source.index_of(self._anchor)
            if first is not None and min(first, self.cursor) <= index <= max(first, self.cursor):
                return look._replace(marked=True)
        return look

    def _move(self, index: int) -> None:
        super()._move(index)
        if self._anchor is not None:
            self.refresh(Region(0, 1, self._width, self._visible_rows))

    # Files

    def action_export(self) -> None:
        """Write the list to a file."""
        if why := export_list(self, self.kept_as):
            self.notify(f"export: {why}", severity="warning", markup=False)
