"""View 2: the groups of one action and the directories of one group; or all its directories."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, partialmethod
from math import inf
from time import monotonic
from typing import ClassVar

from rowtui.core.engine.api.groups import GroupsPage, GroupSummary
from rowtui.tui.commands.groups import may_mark
from rowtui.tui.commands.registry import bindings_for
from rowtui.tui.shell.session import FILTERS, Filter
from rowtui.tui.shell.work import start
from rowtui.tui.views.groups.groups import (
    DirectoryRows,
    RowContext,
    Wiring,
    group_columns,
    group_title,
    listed_directories,
    marked_summary,
    nothing_listed,
    rows_of_groups,
    sums_of,
    why_lines,
)
from rowtui.tui.views.groups.values import directory_lines, states_of
from rowtui.tui.views.groups.verbs import GroupVerbs, MarkedRows
from rowtui.tui.widgets.cells import line
from rowtui.tui.widgets.chrome import FRAME, OneLine, Panel, choices, set_titles
from rowtui.tui.widgets.table.engine_rows import EngineRows
from rowtui.tui.widgets.table.list_table import ListTable
from rowtui.tui.widgets.table.virtual_table import VirtualTable
from textual.app import ComposeResult
from textual.containers import Container
from textual.timer import Timer

SETTLE_SECONDS = 0.05
"""Seconds for which the cursor stays on a group before its directories are loaded, if the move
before was no longer ago: a key that is held down loads those of the last group alone.
"""


class GroupsView(GroupVerbs):
    """The view of groups. Marks are stored by the first directory of a group, or by name, and
    survive a refresh.

    A group is identified by its number, which no filter and no order changes; never by its row.
    """

    MODE = "groups"
    BINDINGS = bindings_for("groups")
    AUTO_FOCUS: ClassVar[str | None] = "#groups"

    def __init__(self) -> None:
        super().__init__()
        self._shown: tuple[int, Filter] | None = None  # Action index and filter on the screen.
        self._generation = -1
        self._page: GroupsPage | None = None
        self._whole: tuple[float, ...] = ()  # Directories, CPU-hours and GPU-hours of all groups.
        self._groups: EngineRows[GroupSummary] | None = None
        self._directories: DirectoryRows | None = None  # The directories of the group.
        self._all: DirectoryRows | None = None
        self._settle: Timer | None = None
        self._moved = -inf  # The time of the last move of the cursor.

    def body(self) -> ComposeResult:
        """Compose the groups, or all directories; one group; below, details under the cursor."""
        yield OneLine(name="states")
        with Container(id="top"):
            yield ListTable(name="groups", can_mark=True, may_mark=self._may_mark)
            yield ListTable(
                name="all", can_mark=True, kept_as="directories", may_mark=self._may_mark
            )
            yield Panel("Group", name="why")
        with Container(id="below"):
            yield ListTable(name="directories", kept_as="directories-of-group")
            yield Panel("Directory", name="value")

    def _may_mark(self) -> str:
        return may_mark(self.session)

    @property
    def table(self) -> ListTable:
        """The groups."""
        return self.query_one("#groups", ListTable)

    @property
    def every(self) -> ListTable:
        """All directories of the action."""
        return self.query_one("#all", ListTable)

    @property
    def inner(self) -> ListTable:
        """The directories of the group under the cursor."""
        return self.query_one("#directories", ListTable)

    @property
    def long(self) -> bool:
        """Whether all directories of the action are on the screen instead of its groups."""
        return self.has_class("-long")

    @property
    def main(self) -> ListTable:
        """The list whose rows are marked and submitted."""
        return self.every if self.long else self.table

    @property
    def _group(self) -> GroupSummary | None:
        """The group under the cursor, if its page is loaded."""
        groups = self._groups
        return groups.item(self.table.cursor) if groups and groups.row_count else None

    def show_body(self) -> None:
        """Load the pages that are missing; show the others."""
        self._share_height()
        session = self.session
        action = session.action
        if action is None or session.snapshot is None:
            self.table.empty = line(("There is no action yet.", "dim"))
            self.table.show_nothing()
            self._titles()
            return
        wanted = (action.index, session.filter)
        if wanted != self._shown:
            self._shown = wanted
            self._open(action.index, session.filter)
        elif self._generation != session.snapshot.generation:
            for rows, table in (
                (self._groups, self.table), (self._all, self.every), (self._directories, self.inner)
            ):  # fmt: skip
                if rows is not None:
                    rows.reload_near(table.cursor_key)
        self._generation = session.snapshot.generation
        self.table.stale = self.every.stale = session.stale
        if self._group is not None:
            session.choose_group(self._group.number - 1)
        self._titles()
        self._show_below()

    def _open(self, index: int, chosen: Filter) -> None:
        def took(page: GroupsPage) -> None:
            if self._shown == (index, chosen):
                self._page = page
                if page.total == page.of:
                    cost = page.cost
                    self._whole = (page.directories, cost.cpu_hours, cost.gpu_hours)

        self._page = None
        self._whole = ()
        self._directories = self._all = None
        for table in (self.table, self.every):
            table.start_over((index, chosen))
            table.empty = line(("Reading the list…", "dim"))
        rows = rows_of_groups(
            self._about, took, self._wiring(lambda: self._groups_arrived(rows), "groups")
        )
        self._groups = rows
        self.table.show(rows, group_columns((), 0))
        self.inner.show_nothing()
        self.every.show_nothing()
        if self.long:
            self._open_all()

    @property
    def _about(self) -> RowContext:
        assert self._shown is not None
        index, chosen = self._shown
        return RowContext(self.session.engine, index, chosen.statuses)

    def _wiring(self, arrived: Callable[[], None], what: str) -> Wiring:
        report = self.dashboard.report
        spawn = partial(start, self, group="pages")
        return Wiring(spawn, arrived, lambda error: report(f"the {what} cannot be listed", error))

    def _groups_arrived(self, rows: EngineRows[GroupSummary]) -> None:
        if rows is not self._groups or not self.ready:
            return
        self.table.empty = nothing_listed(self.session.filter.word, self.table.filtered)
        if self._page is not None and self._page.problem:
            self.table.empty = line(("▲ ", "warning"), (self._page.problem, "warning"))
        sort_by = self._page.sort_by if self._page is not None else ()
        columns = group_columns(rows.loaded_items(), rows.of, sort_by)
        self.table.show(rows, columns, stale=self.session.stale)
        page = self._page
        self.table.sum_up(sums_of(page) if page is not None and page.total > 1 else None)
        self._share_height()
        if not rows.row_count:
            self.inner.show_nothing()
            self._directories = None
        self._show_below()
        self._titles()
        self.show_bottom()

    def _share_height(self) -> None:
        """Make the list of groups as high as its rows, where another pane is beside it."""
        top = self.query_one("#top")
        beside = self.side_by_side and not self.long
        top.styles.height = self.table.virtual_size.height + FRAME if beside else None

    def _titles(self) -> None:
        action = self.session.action
        name = action.name if action else "no action"
        chosen = self.session.filter.word
        self.query_one("#states", OneLine).show(*choices(states_of(self.session), chosen))
        page = self._page
        below = ""
        if page is not None and self._groups is not None:
            marks = self.table.marks
            marked = marks.count(page.of)
            sums = marks.sums(self._whole)
            below = marked_summary(marked, page.directories, page.of, sums, self.table.tally)
        set_titles(self.table, f"Groups of {name}{self.table.filter_named}", below)
        below = ""
        if self._all is not None:
            marked = self.every.marks.count(self._all.of)
            below = listed_directories(marked, self._all.of, self.every.tally)
        set_titles(self.every, f"Directories of {name}{self.every.filter_named}", below)
        group = self._group
        if self._directories is not None and group is not None:
            below = listed_directories(0, self._directories.of, self.inner.tally)
            name = f" of group {group.number:,}{self.inner.filter_named}"
            set_titles(self.inner, f"Directories{name}", below)
        else:
            set_titles(self.inner, "Directories")

    def on_one_line_pressed(self, event: OneLine.Pressed) -> None:
        """Show the groups of directories in the state that was pressed."""
        chosen = next(one for one in FILTERS if one.word == event.value)
        self.session.choose_filter(self.MODE, chosen)
        self.show()

    def on_list_table_rearranged(self, event: ListTable.Rearranged) -> None:
        """Update the frames after another filter or other marks."""
        self._titles()
        self._show_below()

    def on_virtual_table_cursor_moved(self, event: VirtualTable.CursorMoved) -> None:
        """Load the directories of the group under the cursor, after the cursor has stopped."""
        self._show_below()
        group = self._group
        if event.table is not self.table or event.key is None:
            return
        if self._shown is not None and group is not None:
            self.session.chosen_group = (*self._shown, group.number - 1)
        if self._settle is not None:
            self._settle.stop()
        before, self._moved = self._moved, monotonic()
        if self._moved - before > SETTLE_SECONDS:
            self._open_directories()
        else:
            self._settle = self.set_timer(SETTLE_SECONDS, self._open_directories)

    def _open_directories(self) -> None:
        group = self._group
        if self._shown is None or group is None or not self.ready:
            return
        self._directories = self._directory_rows(group.number - 1, self.inner)
        self.inner.start_over()
        self._directories.want(0, max(1, self.inner.size.height))
        self._titles()

    def _open_all(self) -> None:
        self._all = self._directory_rows(None, self.every)
        self._all.want(0, max(1, self.every.size.height))

    def _directory_rows(self, group: int | None, table: ListTable) -> DirectoryRows:
        """Return rows of directories for that table."""

        def arrived() -> None:
            if rows not in (self._directories, self._all) or not self.ready:
                return
            table.empty = nothing_listed(self.session.filter.word, table.filtered)
            table.show(rows, rows.columns, stale=self.session.stale)
            self._show_below()
            self._titles()

        rows = DirectoryRows(self._about, group, self._wiring(arrived, "directories"))
        return rows

    def _show_below(self) -> None:
        """Show the details of the directory under the cursor, and the problem of its group."""
        if not self.ready:
            return
        panel, why = self.query_one("#value", Panel), self.query_one("#why", Panel)
        rows, table = (self._all, self.every) if self.long else (self._directories, self.inner)
        row = rows.item(table.cursor) if rows else None
        group = None if self.long else self._group
        self.set_class(group is not None and bool(group.problem or group.warning), "-troubled")
        lines = directory_lines(row, self.session, panel.size) if row is not None else []
        panel.show(lines, stale=self.session.stale)
        set_titles(panel, row.name if row else "Directory", "y copy" if row else "")
        why.show(why_lines(group, why.size.width) if group is not None else [])
        set_titles(why, group_title(group) if group is not None else "Group")

    async def on_virtual_table_row_pressed(self, event: VirtualTable.RowPressed) -> None:
        """Mark the row with a second click; open a directory of the group."""
        command = "groups.mark" if event.table is self.main else "groups.open"
        await self.dashboard.action_command(command)

    def copyable(self) -> str:
        """The directory under the cursor, or the first one of the group."""
        table = self.inner if self.inner.has_focus else self.main
        return str(table.cursor_key or "")

    def back(self) -> bool:
        """Drop the filter; go from the directories to the groups; then drop the marks."""
        here = self.inner if self.inner.has_focus_within else self.main
        if here.clear_filter():
            return True
        if here is self.inner:
            self.main.focus()
            return True
        if self._marked(here):
            here.set_marks(everything=False)
            return True
        if self.long:
            self.command_directories()
            return True
        return False

    def _marked(self, table: ListTable) -> int:
        rows = self._all if table is self.every else self._groups
        return table.marks.count(rows.of) if rows is not None else 0

    def command_directories(self) -> None:
        """Show all directories of the action as one list, or its groups again."""
        self.set_class(not self.long, "-long")
        self._share_height()
        if self.long and self._all is None and self._shown is not None:
            self._open_all()
        self.main.focus()
        self._titles()
        self._show_below()

    def command_mark(self) -> None:
        """Mark the row under the cursor."""
        self.main.toggle_mark()
        self._titles()

    def command_mark_all(self) -> None:
        """Mark all listed rows, or remove all marks."""
        marks = self.main.marks
        if self.main.filtered and not self._marked(self.main):
            self.main.mark_matching()
            return
        everything = not self.main.filtered and not (marks.everything and not marks.keys)
        self.main.set_marks(everything=everything)

    def _step_filter(self, step: int) -> None:
        self.session.next_filter(self.MODE, step)
        self.show()

    command_filter = partialmethod(_step_filter, 1)
    command_filter_before = partialmethod(_step_filter, -1)

    def command_explain(self) -> None:
        """Show where the job of the group under the cursor would go."""
        if self.long:
            self.dashboard.warn("Groups have jobs, directories do not: press d, then w on a group.")
            return
        if self._group is not None:
            self.session.choose_group(self._group.number - 1)
        self.dashboard.go("explain")

    def _step_action(self, step: int) -> None:
        self.session.step_action(step)
        self.show()

    command_next_action = partialmethod(_step_action, 1)
    command_previous_action = partialmethod(_step_action, -1)

    def command_pane(self) -> None:
        """Move to the other table."""
        inside = self.inner.has_focus or self.long
        (self.main if inside else self.inner).focus()

    @property
    def marked_rows(self) -> MarkedRows:
        """The objects of the verbs."""
        action, group = self.session.action, self._group
        row = self._all.item(self.every.cursor) if self.long and self._all else None
        may = row is None or row.status.eligible
        return MarkedRows(
            action.index if action else None,
            self.long,
            self.main.marks,
            self._marked(self.main),
            None if group is None else group.number - 1,
            str(self.main.cursor_key) if may and self.main.cursor_key is not None else None,
        )

    def forget_marks(self) -> None:
        """Remove the marks after the marked rows were submitted."""
        for table in (self.table, self.every):
            table.marks.set_all(False)
            table.repaint_different()
        self._titles()
