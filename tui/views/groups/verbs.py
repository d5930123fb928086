"""Operations of the view Groups on its marked rows: submit, pack, retry.

The engine is asked for the current positions of the marked rows first, because a refresh may have
moved them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import NamedTuple

from rowtui.core.base.text import plural
from rowtui.core.engine.api.groups import DirectoriesPage, DirectoryRow
from rowtui.core.engine.engine import Engine
from rowtui.core.groups.model import Status
from rowtui.tui.shell.recall import Place, StartState
from rowtui.tui.shell.work import start
from rowtui.tui.views.submit.plan import PlanRequest
from rowtui.tui.views.view import ScreenView
from rowtui.tui.widgets.table.list_table import MOST_MARKED
from rowtui.tui.widgets.table.rows import Marks

LOOK_UP = 1000
"""The number of rows in one request for the marked rows."""


class MarkedGroups(NamedTuple):
    """Group numbers from 0, their first directories, and the number of marks without a group."""

    numbers: list[int]
    firsts: set[str]
    gone: int


async def marked_groups(
    engine: Engine, marks: Marks, action: int, statuses: tuple[Status, ...]
) -> MarkedGroups:
    """Return the current positions of the marked groups. Raises: every error of the engine."""
    numbers: list[int] = []
    firsts: set[str] = set()
    start = 0
    while True:
        page = await engine.groups.page(action, statuses, start, LOOK_UP)
        for group in page.groups:
            if group.first in marks:
                numbers.append(group.number - 1)
                firsts.add(group.first)
        start += LOOK_UP
        enough = not marks.everything and len(numbers) >= len(marks.keys)
        if start >= page.total or enough:
            break
    return MarkedGroups(numbers, firsts, 0 if marks.everything else len(marks.keys) - len(numbers))


async def directory_rows(
    ask: Callable[[int, int], Awaitable[DirectoriesPage]],
) -> AsyncIterator[DirectoryRow]:
    """Yield all rows of a list; `ask` takes a start and a length."""
    start = 0
    while True:
        page = await ask(start, LOOK_UP)
        for row in page.rows:
            yield row
        start += LOOK_UP
        if start >= page.total:
            return


class MarkedRows(NamedTuple):
    """The objects of a verb. `long`: directories instead of groups; `marked` is the number of
    marks.

    `group` is the number, from 0, of the group under the cursor; `key` is the name under the
    cursor, None if that directory cannot be submitted.
    """

    action: int | None
    long: bool
    marks: Marks
    marked: int
    group: int | None
    key: str | None

    @property
    def all(self) -> bool:
        """Whether everything is marked, without exception."""
        return self.marks.everything and not self.marks.keys

    @property
    def some(self) -> bool:
        """Whether some rows are marked, but not all."""
        return bool(self.marked) and not self.all


class GroupVerbs(ScreenView):
    """The part of the view Groups that acts on its marked rows."""

    @property
    def marked_rows(self) -> MarkedRows:
        """The objects of the verbs."""
        raise NotImplementedError

    async def on_mount(self) -> None:
        """List directories if the last dashboard did, or the command line names one."""
        if self.dashboard.recall.directories:
            self.add_class("-long")
            self.query_one("#all").focus()

    def place(self) -> Place:
        """The group or directory under the cursor, with the filter of its list."""
        session, chosen, table = self.session, self.marked_rows, self.list_at_hand
        place = Place("groups", session.action.name if session.action else "", session.filter.word)
        if chosen.long or table.kept_as == "directories-of-group":
            asked = table.asked.filter if chosen.long else ""
            return place._replace(directory=self.copyable(), filter=asked)
        group = 0 if chosen.group is None else chosen.group + 1
        return place._replace(group=group, filter=table.asked.filter)

    def directory_here(self) -> str:
        """The directory under the cursor, or the first one of the group."""
        return self.copyable()

    async def command_open(self) -> None:
        """Go from a group to its directories, and from a directory to its files."""
        if self.marked_rows.long or self.list_at_hand.kept_as == "directories-of-group":
            await self.dashboard.action_command("app.files")
        else:
            self.query_one("#directories").focus()

    def recall_to(self, recall: StartState) -> None:
        """Store whether directories are listed."""
        recall.directories = self.marked_rows.long

    def command_submit_all(self) -> None:
        """Plan all eligible groups of all actions."""
        self.dashboard.verbs.prepare(None, None)

    def command_submit(self) -> None:
        """Plan the marked rows; without marks, the group or directory under the cursor."""
        chosen = self.marked_rows
        prepare, action = self.dashboard.verbs.prepare, chosen.action
        if action is None or chosen.key is None:
            self.dashboard.warn("There is nothing to submit.")
        elif chosen.all:
            prepare(action, None)
        elif chosen.long and not chosen.some:
            prepare(action, None, directories=[chosen.key])
        elif chosen.long or self.session.filter.word == "all":
            work = partial(self._plan_directories, action, chosen)
            start(self, work, "marks", exclusive=True)
        elif chosen.some:
            start(self, partial(self._plan_groups, action, chosen.marks), "marks", exclusive=True)
        elif chosen.group is not None:
            prepare(action, [chosen.group], {chosen.key})

    async def _plan_groups(self, action: int, marks: Marks) -> None:
        wanted, firsts = await self._still_there(action, marks)
        if wanted:
            self.dashboard.verbs.prepare(action, wanted, firsts)

    async def _plan_directories(self, action: int, chosen: MarkedRows) -> None:
        """Plan the eligible directories among the marked ones, or in the chosen groups."""
        groups, statuses = self.session.engine.groups, self.session.filter.statuses
        names: list[str] = []
        try:
            if chosen.long:
                lists = [partial(groups.directories, action, statuses)]
            elif chosen.some:
                numbers, _ = await self._still_there(action, chosen.marks)
                lists = [partial(groups.members, action, statuses, one) for one in numbers]
            else:
                lists = [partial(groups.members, action, statuses, chosen.group or 0)]
            for ask in lists:
                names += [
                    row.name
                    async for row in directory_rows(ask)
                    if row.status.eligible and (not chosen.long or row.name in chosen.marks)
                ]
                if len(names) > MOST_MARKED:
                    break
        except Exception as error:
            self.dashboard.report("the marked directories cannot be found", error)
            return
        if len(names) > MOST_MARKED:
            self.dashboard.warn("Too many to name one by one: mark all of them, or groups.")
        elif names:
            self.dashboard.verbs.prepare(action, None, directories=names)
        else:
            self.dashboard.warn("No directory there is eligible.")

    def show_packed(self) -> None:
        """Pack the jobs of the marked groups; without marks, those of all eligible groups."""
        chosen, eligible = self.marked_rows, self.session.filter.word == "eligible"
        if chosen.action is None or chosen.long or not chosen.some or not eligible:
            self.pack_action()
        else:
            work = partial(self._pack, chosen.action, chosen.marks)
            start(self, work, "marks", exclusive=True)

    async def _pack(self, action: int, marks: Marks) -> None:
        wanted, firsts = await self._still_there(action, marks)
        if wanted and self.app.screen is self:
            packing = self.session.packing
            packing.want(PlanRequest(action, tuple(wanted), frozenset(firsts)))
            self.dashboard.go("pack")

    def command_retry(self) -> None:
        """Ask for changes, then plan the jobs of the marked groups, or of this group, again."""
        chosen = self.marked_rows
        if chosen.long:
            self.dashboard.warn(
                "Failed directories are retried job by job: press d, then R on a group."
            )
        elif chosen.action is None or chosen.group is None:
            self.dashboard.warn("There is no group to retry.")
        else:
            start(self, partial(self._ask_again, chosen), "marks", exclusive=True)

    async def _ask_again(self, chosen: MarkedRows) -> None:
        assert chosen.action is not None
        groups: list[int] | None = None
        if chosen.some:
            groups, _ = await self._still_there(chosen.action, chosen.marks)
        elif not chosen.all:
            groups = [chosen.group or 0]
        try:
            jobs = await self.session.engine.plans.failed_jobs(chosen.action, groups)
        except Exception as error:
            self.dashboard.report("the failed jobs cannot be found", error)
            return
        if jobs and self.app.screen is self:
            self.dashboard.verbs.ask_again(jobs)

    async def _still_there(self, action: int, marks: Marks) -> tuple[list[int], set[str]]:
        """Return the current positions of the marked groups, and their names."""
        session = self.session
        try:
            found = await marked_groups(session.engine, marks, action, session.filter.statuses)
        except Exception as error:
            self.dashboard.report("the marked groups cannot be found", error)
            return [], set()
        if found.gone:
            gone = plural(found.gone, "marked group")
            self.dashboard.warn(f"{gone} changed meanwhile and will not be planned.")
        return found.numbers, found.firsts
