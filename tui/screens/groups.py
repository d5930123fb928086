"""View 2: the groups of one action and the directories of one of them; or all its directories."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, ClassVar

from rowtui.core.engine import DirectoryRow, GroupsPage, GroupSummary, ListAsked
from rowtui.core.text import plural
from rowtui.tui.actions import bindings_for
from rowtui.tui.reasons import may_mark
from rowtui.tui.render.cells import Line, line, wrapped
from rowtui.tui.render.groups import (
    directory_cells,
    directory_columns,
    directory_values,
    group_cells,
    group_columns,
    group_values,
    group_weight,
    marked_summary,
    why_lines,
)
from rowtui.tui.render.marks import STATUS_MARKS
from rowtui.tui.render.plan import Wanted
from rowtui.tui.render.value import pretty
from rowtui.tui.screens.group_marks import marked_directories, marked_groups
from rowtui.tui.screens.view import View, set_titles
from rowtui.tui.session import Filter
from rowtui.tui.widgets.asked_rows import Answer, AskedRows
from rowtui.tui.widgets.chrome import Panel
from rowtui.tui.widgets.list_table import ListTable
from rowtui.tui.widgets.virtual_table import VirtualTable
from rowtui.tui.work import start
from textual.app import ComposeResult
from textual.containers import Container
from textual.timer import Timer

SETTLE_SECONDS = 0.05
"""How long the cursor rests on a group before its directories are asked for."""


class GroupsView(View):
    """Marks are kept by the first directory of a group, or by name: they survive a refresh.

    A group is known by its number, which no filter and no order changes; never by its row.
    """

    MODE = "groups"
    BINDINGS = bindings_for("groups")
    AUTO_FOCUS: ClassVar[str | None] = "#groups"

    def __init__(self) -> None:
        super().__init__()
        self._shown: tuple[int, Filter] | None = None  # (action index, filter) on the screen
        self._generation = -1
        self._page: GroupsPage | None = None
        self._whole: tuple[float, ...] = ()  # directories, CPU- and GPU-hours of all groups
        self._groups: AskedRows[GroupSummary] | None = None
        self._directories: AskedRows[DirectoryRow] | None = None  # of the group
        self._all: AskedRows[DirectoryRow] | None = None
        self._settle: Timer | None = None

    def body(self) -> ComposeResult:
        """The groups, or all directories; one group; and below what is under the cursor."""
        with Container(id="top"):
            yield ListTable(name="groups", can_mark=True, may_mark=self._may_mark)
            yield ListTable(
                name="all", can_mark=True, kept_as="directories", may_mark=self._may_mark
            )
            yield ListTable(name="directories", kept_as="directories-of-group")
        with Container(id="below"):
            yield Panel("Directory", name="value")
            yield Panel("▲ Why", name="why")

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
        """All directories of the action are on the screen, not its groups."""
        return self.has_class("-long")

    @property
    def main(self) -> ListTable:
        """The list whose rows are marked and submitted."""
        return self.every if self.long else self.table

    @property
    def _group(self) -> GroupSummary | None:
        """The group under the cursor, as far as its page is here."""
        groups = self._groups
        return groups.item(self.table.cursor) if groups and groups.row_count else None

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

    def _open(self, index: int, chosen: Filter) -> None:
        async def ask(asked: ListAsked, start: int, length: int, find: str) -> Answer[GroupSummary]:
            page = await self.session.engine.groups(
                index, chosen.statuses, start, length, asked=asked, find=find
            )
            if self._shown == (index, chosen):
                self._page = page
                if page.total == page.of:
                    cost = page.cost
                    self._whole = (page.directories, cost.cpu_hours, cost.gpu_hours)
            return Answer(page.total, page.groups, page.of, page.found)

        self._page = None
        self._whole = ()
        self._directories = self._all = None
        for table in (self.table, self.every):
            table.start_over()
            table.empty = line(("Reading the list…", "dim"))
        rows: AskedRows[GroupSummary] = AskedRows(
            ask,
            lambda group: group.first,
            group_cells,
            group_values,
            weight_of=group_weight,
            spawn=self._spawn,
            arrived=lambda: self._groups_arrived(rows),
            failed=lambda error: self.dashboard.report("the groups cannot be listed", error),
        )
        self._groups = rows
        self.table.show(rows, group_columns((), 0))
        self.inner.show_nothing()
        self.every.show_nothing()
        if self.long:
            self._open_all()

    def _spawn(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        start(self, work, "pages")

    def _nothing(self, table: ListTable) -> Line:
        """Why a list has no rows."""
        if table.filtered:
            return line(("No row fits the filter; Esc shows all.", "dim"))
        word = self.session.filter.word
        text = "Nothing here." if word == "all" else f"No directory is {word}; t shows others."
        return line((text, "dim"))

    def _groups_arrived(self, rows: AskedRows[GroupSummary]) -> None:
        if rows is not self._groups or not self.ready:
            return
        self.table.empty = self._nothing(self.table)
        if self._page is not None and self._page.problem:
            self.table.empty = line(("▲ ", "warning"), (self._page.problem, "warning"))
        columns = group_columns(rows.loaded_items(), rows.of)
        self.table.show(rows, columns, stale=self.session.stale)
        if not rows.row_count:
            self.inner.show_nothing()
            self._directories = None
        self._show_below()
        self._titles()
        self.show_bottom()

    def _titles(self) -> None:
        action = self.session.action
        name = action.name if action else "no action"
        word = self.session.filter.word
        page = self._page
        below = ""
        if page is not None and self._groups is not None:
            marks = self.table.marks
            marked = marks.count(page.of)
            below = marked_summary(marked, page.directories, page.of, marks.sums(self._whole))
            below = " · ".join(filter(None, (self.table.tally, below)))
        set_titles(self.table, f"Groups of {name} · {word}", below)
        below = ""
        if self._all is not None:
            marked = self.every.marks.count(self._all.of)
            noun = plural(self._all.of, "directory", "directories")
            below = f"{marked:,} of {noun} marked" if marked else noun
            below = " · ".join(filter(None, (self.every.tally, below)))
        set_titles(self.every, f"Directories of {name} · {word}", below)
        group = self._group
        if self._directories is not None and group is not None:
            noun = plural(self._directories.of, "directory", "directories")
            set_titles(
                self.inner,
                f"Directories of group {group.number:,}",
                self.inner.tally or noun,
            )
        else:
            set_titles(self.inner, "Directories")

    def on_list_table_rearranged(self, event: ListTable.Rearranged) -> None:
        """Another filter or other marks: other words in the frames."""
        self._titles()
        self._show_below()

    def on_virtual_table_cursor_moved(self, event: VirtualTable.CursorMoved) -> None:
        """Another group: ask for its directories as soon as the cursor rests."""
        self._show_below()
        group = self._group
        if event.table is not self.table or event.key is None:
            return
        if self._shown is not None and group is not None:
            self.session.chosen_group = (*self._shown, group.number - 1)
        if self._settle is not None:
            self._settle.stop()
        self._settle = self.set_timer(SETTLE_SECONDS, self._open_directories)

    def _open_directories(self) -> None:
        group = self._group
        if self._shown is None or group is None or not self.ready:
            return
        index, chosen = self._shown
        pointers: list[tuple[str, ...]] = [()]

        async def ask(asked: ListAsked, start: int, length: int, _: str) -> Answer[DirectoryRow]:
            page = await self.session.engine.group_directories(
                index, chosen.statuses, group.number - 1, start, length, asked=asked
            )
            pointers[0] = page.pointers
            return Answer(page.total, page.rows, page.of, page.found)

        self._directories = self._directory_rows(ask, pointers, self.inner)
        self.inner.start_over()
        self._directories.want(0, max(1, self.inner.size.height))
        self._titles()

    def _open_all(self) -> None:
        assert self._shown is not None
        index, chosen = self._shown
        pointers: list[tuple[str, ...]] = [()]

        async def ask(asked: ListAsked, start: int, length: int, find: str) -> Answer[DirectoryRow]:
            page = await self.session.engine.directories(
                index, chosen.statuses, start, length, asked=asked, find=find
            )
            pointers[0] = page.pointers
            return Answer(page.total, page.rows, page.of, page.found)

        self._all = self._directory_rows(ask, pointers, self.every)
        self._all.want(0, max(1, self.every.size.height))

    def _directory_rows(
        self,
        ask: Callable[[ListAsked, int, int, str], Coroutine[Any, Any, Answer[DirectoryRow]]],
        pointers: list[tuple[str, ...]],
        table: ListTable,
    ) -> AskedRows[DirectoryRow]:
        """Rows of directories in that table; `pointers`: what the newest page has."""

        def arrived() -> None:
            if rows not in (self._directories, self._all) or not self.ready:
                return
            table.empty = self._nothing(table)
            columns = directory_columns(rows.loaded_items(), pointers[0])
            table.show(rows, columns, stale=self.session.stale)
            self._show_below()
            self._titles()

        rows: AskedRows[DirectoryRow] = AskedRows(
            ask,
            lambda row: row.name,
            lambda row: directory_cells(row, pointers[0]),
            lambda row: directory_values(row, pointers[0]),
            spawn=self._spawn,
            arrived=arrived,
            failed=lambda error: self.dashboard.report("the directories cannot be listed", error),
        )
        return rows

    def _show_below(self) -> None:
        """Everything about the directory under the cursor, and what is wrong with its group."""
        if not self.ready:
            return
        panel, why = self.query_one("#value", Panel), self.query_one("#why", Panel)
        rows, table = (self._all, self.every) if self.long else (self._directories, self.inner)
        row = rows.item(table.cursor) if rows else None
        group = None if self.long else self._group
        troubled = group is not None and bool(group.problem or group.warning)
        self.set_class(troubled, "-troubled")
        lines: list[Line] = []
        if row is not None:
            mark = STATUS_MARKS[row.status]
            lines.append((*mark.spans, *line("  " + row.job)))
            if row.detail:
                lines += wrapped(line((row.detail, mark.style)), panel.size.width)
            lines += pretty(row.value, panel.size.width, panel.size.height - len(lines))
        panel.show(lines, stale=self.session.stale)
        set_titles(panel, row.name if row else "Directory", "y copy" if row else "")
        if group is not None and troubled:
            why.show(why_lines(group, why.size.width))
            what = "it cannot be submitted" if group.problem else "the warning"
            set_titles(why, f"▲ Why {what} · group {group.number:,}")

    async def on_virtual_table_row_pressed(self, event: VirtualTable.RowPressed) -> None:
        """A second click marks."""
        if event.table is self.main:
            await self.dashboard.action_command("groups.mark")

    def copyable(self) -> str:
        """The directory under the cursor, or the first one of the group."""
        table = self.inner if self.inner.has_focus else self.main
        return str(table.cursor_key or "")

    def back(self) -> bool:
        """Drop the filter; from the directories to the groups; then drop the marks."""
        here = self.inner if self.inner.has_focus_within else self.main
        if here.clear_filter():
            return True
        if here is self.inner:
            self.main.focus()
            return True
        if self._marked(here):
            here.marks.set_all(False)
            here.marks_changed()
            self._titles()
            return True
        if self.long:
            self.command_directories()
            return True
        return False

    def _marked(self, table: ListTable) -> int:
        rows = self._all if table is self.every else self._groups
        return table.marks.count(rows.of) if rows is not None else 0

    def command_directories(self) -> None:
        """All directories of the action as one list, or its groups again."""
        self.set_class(not self.long, "-long")
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
        """Mark everything that is listed; again: nothing."""
        marks = self.main.marks
        if self.main.filtered and not self._marked(self.main):
            self.main.action_mark_matching()
            return
        marks.set_all(not self.main.filtered and not (marks.everything and not marks.keys))
        self.main.marks_changed()
        self._titles()

    def command_filter(self) -> None:
        """The next status."""
        self.session.next_filter()
        self.show()

    def command_explain(self) -> None:
        """Where the job of the group under the cursor would go."""
        if self.long:
            self._say("Groups have jobs, directories do not: press d, then x on a group.")
            return
        if self._group is not None:
            self.session.choose_group(self._group.number - 1)
        self.dashboard.go("explain")

    def _say(self, text: str) -> None:
        self.app.notify(text, severity="warning", markup=False)

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
        inside = self.inner.has_focus or self.long
        (self.main if inside else self.inner).focus()

    async def command_submit(self) -> None:
        """Plan what is marked; without marks the group, or directory, under the cursor."""
        action, table, key = self.session.action, self.main, self.main.cursor_key
        group, marks = self._group, table.marks
        if action is None or key is None:
            self._say("There is nothing to submit.")
        elif marks.everything and not marks.keys:
            self.dashboard.verbs.prepare(action.index, None)
        elif self._marked(table):
            work = self._plan_directories if self.long else self._plan_marked
            start(self, partial(work, action.index), "marks", exclusive=True)
        elif self.long:
            self.dashboard.verbs.prepare(action.index, None, directories=[str(key)])
        elif group is not None:
            self.dashboard.verbs.prepare(action.index, [group.number - 1], {str(key)})

    async def _plan_marked(self, index: int) -> None:
        wanted, firsts = await self._marked_groups(index)
        if wanted:
            self.dashboard.verbs.prepare(index, wanted, firsts)

    async def _plan_directories(self, index: int) -> None:
        engine, statuses = self.session.engine, self.session.filter.statuses
        try:
            names = await marked_directories(engine, self.every.marks, index, statuses)
        except Exception as error:
            self.dashboard.report("the marked directories cannot be found", error)
            return
        if names is None:
            self._say("Too many to name one by one: mark all of them, or groups.")
        elif names:
            self.dashboard.verbs.prepare(index, None, directories=names)

    def show_packed(self) -> None:
        """Pack the jobs of the marked groups; without marks, those of all eligible groups."""
        action, marks = self.session.action, self.table.marks
        some = self._marked(self.table) and not (marks.everything and not marks.keys)
        if action is None or self.long or not some or self.session.filter.word != "eligible":
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
        action, group = self.session.action, self._group
        if self.long:
            self._say("What failed is tried again job by job: press d, then R on a group.")
        elif action is None or group is None:
            self._say("There is no group to resubmit.")
        else:
            work = partial(self._ask_again, action.index, group.number - 1)
            start(self, work, "marks", exclusive=True)

    async def _ask_again(self, index: int, group: int) -> None:
        marks = self.table.marks
        groups: list[int] | None = [group]
        if marks.everything and not marks.keys:
            groups = None
        elif self._marked(self.table):
            groups, _ = await self._marked_groups(index)
        try:
            jobs = await self.session.engine.failed_jobs(index, groups)
        except Exception as error:
            self.dashboard.report("the failed jobs cannot be found", error)
            return
        if jobs and self.app.screen is self:
            self.dashboard.verbs.ask_again(jobs)

    async def _marked_groups(self, index: int) -> tuple[list[int], set[str]]:
        """Where the marked groups are now, and their names."""
        engine, statuses = self.session.engine, self.session.filter.statuses
        try:
            found = await marked_groups(engine, self.table.marks, index, statuses)
        except Exception as error:
            self.dashboard.report("the marked groups cannot be found", error)
            return [], set()
        if found.gone:
            gone = plural(found.gone, "marked group")
            self._say(f"{gone} changed meanwhile and will not be planned.")
        return found.numbers, found.firsts

    def forget_marks(self) -> None:
        """What was marked was submitted."""
        for table in (self.table, self.every):
            table.marks.set_all(False)
            table.marks_changed()
        self._titles()
