"""A table whose rows the user can filter and sort.

The filter and the order stay when other rows of the same list are shown. `ListTable` adds columns,
ranges of marks and files.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from rowtui.core.base.filter import FilterError, RowFilter, parse_filter, places
from rowtui.core.project.views.views import AS_IS, ListRequest
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.fields import FilterBar
from rowtui.tui.widgets.table.engine_rows import Arranged
from rowtui.tui.widgets.table.rows import RowSource
from rowtui.tui.widgets.table.virtual_table import VirtualTable
from textual.message import Message

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session

NOT_REFUSED = ("", "")
"""The text of the refused filter, and the reason."""


class FilteredTable(VirtualTable):
    """A `VirtualTable` over `Arranged` rows, with a line for a filter."""

    class Rearranged(Message, namespace="list_table"):
        """Posted after another filter, order or other marks, so that titles can be updated."""

        def __init__(self, table: FilteredTable) -> None:
            super().__init__()
            self.table = table

        @property
        def control(self) -> FilteredTable:
            """The table."""
            return self.table

    def __init__(self, *, name: str, can_mark: bool = False) -> None:
        super().__init__(name=name, can_mark=can_mark)
        self.asked = AS_IS
        self._bar: FilterBar | None = None
        self._anchor: Hashable | None = None  # The row at which a range of marks begins.
        self._to_the_top = False
        self._told = ""  # Why a filter was refused.
        self._refused = NOT_REFUSED
        self._kept_filter = ""  # The text of the filter when Enter closed the line.

    @property
    def is_container(self) -> bool:
        """Whether the table contains the line of the filter."""
        return bool(self._nodes)

    # Display

    def _prepare(
        self, source: RowSource, columns: Sequence[TableColumn]
    ) -> tuple[str, bool] | None:
        """Give the rows the user's filter and order."""
        if isinstance(source, Arranged):
            if source.problem:
                if self.asked != source.asked:
                    self._refused = (self.asked.filter, source.problem)
                    self._open_again()
                self.asked = source.asked  # The request was refused; the rows are unchanged.
            elif source.asked != self.asked:
                source.arrange(self.asked, self.cursor_key, _names(columns))
            if self._bar is not None:
                self._say_refusal()
            elif source.problem and source.problem != self._told:
                self.notify(source.problem, severity="warning", markup=False)
            self._told = source.problem
        self._find_places()
        return (self.asked.sort, not self.asked.descending) if self.asked.sort else None

    def rows_changed(self) -> None:
        """Follow the cursor's row; go to the top if a new filter left the row out."""
        settled = not isinstance(self.source, Arranged) or self.source.settled
        if self._to_the_top and settled:
            self._to_the_top = False
            if self.cursor_key is None or self.source.index_of(self.cursor_key) is None:
                self.cursor_key = None
                self.set_reactive(VirtualTable.cursor, 0)
                self.scroll_to(y=0, animate=False)
        super().rows_changed()

    def start_over(self, about: Hashable = None) -> None:
        """Reset filter, order and marks for another list."""
        self.asked = AS_IS
        self._anchor = None
        self.shift = 0
        self.places = None
        self.close_filter()
        super().start_over(about)

    @property
    def filtered(self) -> bool:
        """Whether a filter leaves some rows out."""
        return bool(self.asked.filter)

    @property
    def tally(self) -> str:
        """`12 of 1,000,000` if a filter leaves rows out, otherwise ""."""
        if not self.filtered or not isinstance(self.source, Arranged):
            return ""
        return f"{self.source.row_count:,} of {self.source.of:,}"

    @property
    def filter_named(self) -> str:
        """` · / T<0.9` for the title if a filter leaves rows out, otherwise ""."""
        return f" · / {self.asked.filter}" if self.filtered else ""

    def _find_places(self) -> None:
        try:
            wanted = parse_filter(self.asked.filter)
        except FilterError:
            wanted = RowFilter()
        self.places = partial(places, wanted) if wanted.terms else None

    def can_undo(self, text: str, take_back: Callable[[], object], of: Hashable = None) -> None:
        """Add a step to those that the dashboard can undo; other apps have none."""
        session: Session | None = getattr(self.app, "session", None)
        about = self.about

        def undo() -> object:
            return take_back() if self.about == about else "the list shows other rows now"

        if session is not None:
            session.can_undo(getattr(self.screen, "MODE", ""), text, undo, of=of)

    def ask(self, asked: ListRequest) -> None:
        """Use this filter and order from now on."""
        if asked == self.asked or not isinstance(self.source, Arranged):
            return
        self.can_undo(_what_changed(self.asked, asked), partial(self.ask, self.asked), of=self._bar)
        self.asked = asked
        self._to_the_top = self._placed_by_hand = True
        self._find_places()
        self.source.arrange(asked, self.cursor_key, _names(self.columns))
        self._forget_strips()
        if self.source.settled:  # Rows in memory are arranged already.
            self.show(self.source, self.columns, stale=self.stale)
        self.post_message(self.Rearranged(self))

    # Filter

    def action_filter(self) -> None:
        """Open the line for a filter."""
        if not isinstance(self.source, Arranged):
            self.notify("This list cannot be filtered.", severity="warning", markup=False)
        elif self._bar is None:
            self._bar = FilterBar(self.asked.filter)
            self.mount(self._bar)
            self._room_changed()

    def on_filter_bar_typed(self, event: FilterBar.Typed) -> None:
        """Filter while the user types; Enter keeps a filter that can be used."""
        event.stop()
        if event.bar is not self._bar:
            return
        try:
            parse_filter(event.text)
        except FilterError as error:
            self._refused = (event.text, " ".join(filter(None, (error.message + ".", error.hint))))
        else:
            if not (event.done and self._refused[1] and self._refused[0] == event.text):
                self._refused = NOT_REFUSED
                self.ask(self.asked._replace(filter=event.text))
        self._say_refusal()
        if event.done and not self._refused[1]:
            self._kept_filter = event.text
            self.close_filter()
        self._room_changed()

    def _say_refusal(self) -> None:
        """Show why the text in the line cannot be used, as long as the text is unchanged."""
        if self._bar is not None:
            text, why = self._refused
            self._bar.say(why if text == self._bar.text else "")

    def _open_again(self) -> None:
        """Open the line again, with text and reason, if the engine refused it after Enter."""
        if self._bar is None and self.has_focus and self._kept_filter == self._refused[0] != "":
            self._kept_filter = ""
            self._bar = FilterBar(*self._refused)
            self.mount(self._bar)

    def close_filter(self) -> None:
        """Close the line; the filter stays."""
        if self._bar is not None:
            bar, self._bar = self._bar, None
            self._refused = NOT_REFUSED
            inside = bar.has_focus_within
            bar.remove()
            if inside:
                self.focus()
            self._room_changed()

    def clear_filter(self) -> bool:
        """Show all rows again; return False without a filter. A begun range is ended first."""
        if self._anchor is not None:
            self._anchor = None
            self.repaint_different()
            return True
        self.close_filter()
        if not self.filtered:
            return False
        self.ask(self.asked._replace(filter=""))
        return True

    @property
    def _height(self) -> int:
        hidden = self._bar.lines if self._bar is not None else 0
        return max(1, self.scrollable_content_region.height - hidden)

    def _room_changed(self) -> None:
        if self.source.row_count:
            self._scroll_to_cursor()
        self._want_visible()
        self.refresh()

    # Order

    @property
    def sortable(self) -> list[str]:
        """The columns in the order of the screen."""
        return [placed.column.id for placed in self.placed]

    def action_sort(self) -> None:
        """Sort the other way round, then by the next column; after the last one, restore the
        list's own order.
        """
        if self.asked.sort and not self.asked.descending:
            self.ask(self.asked._replace(descending=True))
            return
        names = self.sortable
        at = names.index(self.asked.sort) + 1 if self.asked.sort in names else 0
        self.sort_by(names[at] if at < len(names) else "")

    def sort_by(self, column: str) -> None:
        """Sort by this column, or reverse the order if the list is sorted by it."""
        if column and column == self.asked.sort:
            self.ask(self.asked._replace(descending=not self.asked.descending))
        else:
            self.ask(self.asked._replace(sort=column, descending=False))

    def on_virtual_table_heading_pressed(self, event: VirtualTable.HeadingPressed) -> None:
        """Sort by the heading that was clicked."""
        if isinstance(self.source, Arranged):
            event.stop()
            self.sort_by(event.column)


def _what_changed(before: ListRequest, after: ListRequest) -> str:
    """Return the change of filter or order, for the list of what can be undone."""
    if before.filter != after.filter:
        return f"filter {after.filter}" if after.filter else "no filter"
    if not after.sort:
        return "the list's own order"
    return f"order by {after.sort} {'▼' if after.descending else '▲'}"


def _names(columns: Sequence[TableColumn]) -> dict[str, str]:
    """Return the names that the user may write for the columns: ids, titles and short titles."""
    names: dict[str, str] = {}
    for column in columns:
        for title in filter(None, (column.short, column.title, column.id)):
            names[title.lower().replace(" ", "_")] = column.id
    return names
