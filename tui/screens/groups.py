"""View 2: the groups of one action, and the directories of the group under the cursor."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, ClassVar

from rowtui.core.engine import DirectoryRow, GroupsPage, GroupSummary
from rowtui.core.text import plural
from rowtui.tui.actions import bindings_for
from rowtui.tui.render.cells import line, wrapped
from rowtui.tui.render.groups import (
    directory_cells,
    directory_columns,
    group_cells,
    group_columns,
    marked_summary,
)
from rowtui.tui.render.marks import STATUS_MARKS
from rowtui.tui.render.plan import Wanted
from rowtui.tui.render.value import pretty
from rowtui.tui.screens.view import View, set_titles
from rowtui.tui.session import Filter
from rowtui.tui.widgets.chrome import Panel
from rowtui.tui.widgets.rows import PagedRows
from rowtui.tui.widgets.virtual_table import VirtualTable
from rowtui.tui.work import start
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.timer import Timer

SETTLE_SECONDS = 0.05
"""How long the cursor rests on a group before its directories are asked for."""

LOOK_UP = 1000
"""Groups asked for at a time when marked ones have moved."""


class GroupsView(View):
    """Marks are kept by the group's first directory, so they survive a refresh."""

    MODE = "groups"
    BINDINGS = bindings_for("groups")
    AUTO_FOCUS: ClassVar[str | None] = "#groups"

    def __init__(self) -> None:
        super().__init__()
        self._shown: tuple[int, Filter] | None = None  # (action index, filter) on the screen
        self._generation = -1
        self._page: GroupsPage | None = None
        self._groups: PagedRows[GroupSummary] | None = None
        self._directories: PagedRows[DirectoryRow] | None = None
        self._settle: Timer | None = None

    def body(self) -> ComposeResult:
        """Groups on the left (or above), one of them and its directory on the right (or below)."""
        yield VirtualTable(name="groups", can_mark=True)
        with Vertical(id="one"):
            yield VirtualTable(name="directories")
            yield Panel("Directory", name="value")

    @property
    def table(self) -> VirtualTable:
        """The groups."""
        return self.query_one("#groups", VirtualTable)

    def show_body(self) -> None:
        """Ask for what is not here yet; show the rest."""
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
        elif self._generation != session.snapshot.generation and self._groups is not None:
            self._groups.reload()
            if self._directories is not None:
                self._directories.reload()
        self._generation = session.snapshot.generation
        self.table.stale = session.stale
        session.choose_group(self.table.cursor)
        self._titles()

    def _open(self, index: int, chosen: Filter) -> None:
        async def fetch(start: int, length: int) -> tuple[int, Sequence[GroupSummary]]:
            page = await self.session.engine.groups(index, chosen.statuses, start, length)
            if self._shown == (index, chosen):
                self._page = page
            return page.total, page.groups

        self._page = None
        self._directories = None
        self.table.start_over()
        self.table.empty = line(("Reading the groups…", "dim"))
        rows: PagedRows[GroupSummary] = PagedRows(
            fetch,
            lambda group: group.first,
            group_cells,
            spawn=self._spawn,
            arrived=lambda: self._groups_arrived(rows),
            failed=lambda error: self.dashboard.report("the groups cannot be listed", error),
        )
        self._groups = rows
        self.table.show(rows, group_columns((), 0))
        self.query_one("#directories", VirtualTable).show_nothing()

    def _spawn(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        start(self, work, "pages")

    def _groups_arrived(self, rows: PagedRows[GroupSummary]) -> None:
        if rows is not self._groups or not self.ready:
            return
        if self._page is not None and self._page.problem:
            self.table.empty = line(("▲ ", "warning"), (self._page.problem, "warning"))
        else:
            word = self.session.filter.word
            text = "No groups." if word == "all" else f"No directory is {word}; f shows others."
            self.table.empty = line((text, "dim"))
        loaded = rows.loaded_items()
        self.table.show(rows, group_columns(loaded, rows.row_count), stale=self.session.stale)
        if not rows.row_count:
            self.query_one("#directories", VirtualTable).show_nothing()
            self._directories = None
            self._show_value()
        self._titles()
        self.show_bottom()

    def _titles(self) -> None:
        action = self.session.action
        name = action.name if action else "no action"
        page = self._page
        below = ""
        if page is not None and self._groups is not None:
            marked = self.table.marks.count(page.total)
            below = marked_summary(marked, page.directories, page.total)
        set_titles(self.table, f"Groups of {name} · {self.session.filter.word}", below)
        table = self.query_one("#directories", VirtualTable)
        if self._directories is not None:
            set_titles(
                table,
                f"Directories of group {self.table.cursor + 1:,}",
                plural(self._directories.row_count, "directory", "directories"),
            )
        else:
            set_titles(table, "Directories")

    def on_virtual_table_cursor_moved(self, event: VirtualTable.CursorMoved) -> None:
        """Another group: ask for its directories as soon as the cursor rests."""
        if event.table.id == "directories":
            self._show_value()
            return
        if event.key is None:
            return
        if self._shown is not None:
            self.session.chosen_group = (*self._shown, event.index)
        if self._settle is not None:
            self._settle.stop()
        self._settle = self.set_timer(SETTLE_SECONDS, self._open_directories)

    def _open_directories(self) -> None:
        if self._shown is None or not self._groups or not self._groups.row_count or not self.ready:
            return
        index, chosen = self._shown
        group = self.table.cursor

        async def fetch(start: int, length: int) -> tuple[int, Sequence[DirectoryRow]]:
            page = await self.session.engine.group_directories(
                index, chosen.statuses, group, start, length
            )
            return page.total, page.rows

        table = self.query_one("#directories", VirtualTable)
        rows: PagedRows[DirectoryRow] = PagedRows(
            fetch,
            lambda row: row.name,
            directory_cells,
            spawn=self._spawn,
            arrived=lambda: self._directories_arrived(rows),
            failed=lambda error: self.dashboard.report("the directories cannot be listed", error),
        )
        self._directories = rows
        table.start_over()
        rows.want(0, max(1, table.size.height))
        self._titles()

    def _directories_arrived(self, rows: PagedRows[DirectoryRow]) -> None:
        if rows is not self._directories or not self.ready:
            return
        table = self.query_one("#directories", VirtualTable)
        table.show(rows, directory_columns(rows.loaded_items()), stale=self.session.stale)
        self._show_value()
        self._titles()

    def _show_value(self) -> None:
        """Everything about the directory under the cursor, and about its group."""
        panel = self.query_one("#value", Panel)
        rows, groups = self._directories, self._groups
        row = rows.item(self.query_one("#directories", VirtualTable).cursor) if rows else None
        group = groups.item(self.table.cursor) if groups else None
        lines = []
        if group is not None and group.problem:
            text = line(("▲ ", "warning"), (group.problem, "warning"))
            lines += wrapped(text, panel.size.width, 2)
        if row is not None:
            mark = STATUS_MARKS[row.status]
            lines.append((*mark.spans, *line("  " + row.job)))
            if row.detail:
                lines += wrapped(line((row.detail, mark.style)), panel.size.width)
            lines += pretty(row.value, panel.size.width, panel.size.height - len(lines))
        panel.show(lines, stale=self.session.stale)
        set_titles(panel, row.name if row else "Directory", "y copy" if row else "")

    async def on_virtual_table_row_pressed(self, event: VirtualTable.RowPressed) -> None:
        """A second click marks."""
        if event.table.id == "groups":
            await self.dashboard.action_command("groups.mark")

    def copyable(self) -> str:
        """The directory under the cursor, or the first one of the group."""
        directories = self.query_one("#directories", VirtualTable)
        table = directories if directories.has_focus else self.table
        return str(table.cursor_key or "")

    def back(self) -> bool:
        """From the directories to the groups; then drop the marks."""
        if not self.table.has_focus:
            self.table.focus()
            return True
        if self._page is not None and self.table.marks.count(self._page.total):
            self.table.marks.set_all(False)
            self.table.marks_changed()
            self._titles()
            return True
        return False

    def command_mark(self) -> None:
        """Mark the group under the cursor."""
        self.table.toggle_mark()
        self._titles()

    def command_mark_all(self) -> None:
        """Mark everything; again: nothing."""
        marks = self.table.marks
        marks.set_all(not (marks.everything and not marks.keys))
        self.table.marks_changed()
        self._titles()

    def command_filter(self) -> None:
        """The next status."""
        self.session.next_filter()
        self.show()

    def command_explain(self) -> None:
        """Where the job of the group under the cursor would go."""
        self.session.choose_group(self.table.cursor)
        self.dashboard.go("explain")

    def command_next_action(self) -> None:
        """The groups of the next action."""
        self._step_action(1)

    def command_previous_action(self) -> None:
        """The groups of the previous action."""
        self._step_action(-1)

    def _step_action(self, step: int) -> None:
        snapshot, action = self.session.snapshot, self.session.action
        if snapshot is None or action is None:
            return
        at = snapshot.actions.index(action)
        self.session.action_index = snapshot.actions[(at + step) % len(snapshot.actions)].index
        self.show()

    def command_pane(self) -> None:
        """The other table."""
        directories = self.query_one("#directories", VirtualTable)
        (self.table if directories.has_focus else directories).focus()

    async def command_submit(self) -> None:
        """Plan the marked groups; without marks the one under the cursor."""
        action, page, rows = self.session.action, self._page, self._groups
        if action is None or page is None or rows is None or not page.total:
            self.app.notify("There is no group to submit.", severity="warning", markup=False)
            return
        marks = self.table.marks
        if marks.everything and not marks.keys:
            self.dashboard.verbs.prepare(action.index, None)
            return
        if not marks.count(page.total):
            key = self.table.cursor_key
            if key is None:
                return
            self.dashboard.verbs.prepare(action.index, [self.table.cursor], {str(key)})
            return
        start(self, partial(self._plan_marked, action.index), "marks", exclusive=True)

    async def _plan_marked(self, index: int) -> None:
        wanted, firsts = await self._marked_groups(index)
        if wanted:
            self.dashboard.verbs.prepare(index, wanted, firsts)

    def show_packed(self) -> None:
        """Pack the jobs of the marked groups; without marks, those of all eligible groups."""
        action, page, marks = self.session.action, self._page, self.table.marks
        some = (
            page is not None
            and marks.count(page.total)
            and not (marks.everything and not marks.keys)
        )
        if action is None or not some or self.session.filter.word != "eligible":
            self.pack_action()
            return
        start(self, partial(self._pack_marked, action.index), "marks", exclusive=True)

    async def _pack_marked(self, index: int) -> None:
        wanted, firsts = await self._marked_groups(index)
        if wanted and self.app.screen is self:
            self.session.packing.want(Wanted(index, tuple(wanted), frozenset(firsts)))
            self.dashboard.go("pack")

    def command_resubmit(self) -> None:
        """Ask how, then plan the jobs of the marked groups again; without marks this group's."""
        action, page = self.session.action, self._page
        if action is None or page is None or not page.total:
            self.app.notify("There is no group to resubmit.", severity="warning", markup=False)
            return
        start(self, partial(self._ask_again, action.index, page.total), "marks", exclusive=True)

    async def _ask_again(self, index: int, total: int) -> None:
        marks = self.table.marks
        groups: list[int] | None = [self.table.cursor]
        if marks.everything and not marks.keys:
            groups = None
        elif marks.count(total):
            groups, _ = await self._marked_groups(index)
        try:
            jobs = await self.session.engine.failed_jobs(index, groups)
        except Exception as error:
            self.dashboard.report("the failed jobs cannot be found", error)
            return
        if jobs and self.app.screen is self:
            self.dashboard.verbs.ask_again(jobs)

    async def _marked_groups(self, index: int) -> tuple[list[int], set[str]]:
        """Where the marked groups are now, and their names: a refresh may have moved them."""
        marks = self.table.marks
        wanted: list[int] = []
        firsts: set[str] = set()
        start = 0
        try:
            while True:
                page = await self.session.engine.groups(
                    index, self.session.filter.statuses, start, LOOK_UP
                )
                for at, group in enumerate(page.groups):
                    if group.first in marks:
                        wanted.append(start + at)
                        firsts.add(group.first)
                start += LOOK_UP
                enough = not marks.everything and len(wanted) >= len(marks.keys)
                if start >= page.total or enough:
                    break
        except Exception as error:
            self.dashboard.report("the marked groups cannot be found", error)
            return [], set()
        if not marks.everything and len(wanted) < len(marks.keys):
            gone = len(marks.keys) - len(wanted)
            self.app.notify(
                f"{plural(gone, 'marked group')} changed meanwhile and will not be planned.",
                severity="warning",
                markup=False,
            )
        return wanted, firsts

    def forget_marks(self) -> None:
        """The marked groups were submitted."""
        self.table.marks.set_all(False)
        self.table.marks_changed()
        self._titles()
