"""Pages of groups and directories, cut from groups that follow the records.

Scrolling costs as much as the page, for any number of directories; an unchanged page is cached. All
methods but `kept_groups_page` run in threads.

Filtered and sorted lists are cached until the project changes; a newer request for the same list
ends an older one (`Superseded`). `list_columns` computes them with numpy, which is loaded for the
first list that needs it.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import Cost, visible
from rowtui.core.base.values import compact, scalar_pointers
from rowtui.core.engine.api.groups import DirectoriesPage, DirectoryRow, GroupsPage
from rowtui.core.engine.local.cuts import Cuts, ListedRows, RequestedList
from rowtui.core.engine.local.group_rows import GroupRows, VerdictOf, end_detail, unknown_cluster
from rowtui.core.groups.form import job_cost
from rowtui.core.groups.model import ENDED, ActionStatus, Status
from rowtui.core.project.failed_jobs import jobs_of_groups
from rowtui.core.project.views.views import AS_IS, FailedJob, ListRequest
from rowtui.core.state.pointer_values import PointerTexts
from rowtui.core.workflow.model import Action

if TYPE_CHECKING:
    from rowtui.core.groups.form import GroupCut
    from rowtui.core.project.open_project import OpenProject

KEPT = 8  # cached lists: 4 MB each at a million rows


class Lists:
    """The cached lists of one project."""

    def __init__(self, project: OpenProject) -> None:
        self._project = project
        self._kept: OrderedDict[Hashable, ListedRows] = OrderedDict()
        self._newest: dict[str, Hashable] = {}

    def forget(self) -> None:
        """Clear the cache after a synchronisation, because lists may be outdated."""
        self._kept.clear()

    def begin(self, kind: str, question: Hashable) -> Callable[[], bool]:
        """Register the newest request for a kind of list; return a check whether it still is."""
        self._newest[kind] = question
        return lambda: self._newest.get(kind) == question

    def _keep(self, key: Hashable, compute: Callable[[], ListedRows]) -> ListedRows:
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = compute()
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return found

    def directories(self, which: RequestedList) -> ListedRows:
        """Return all directories of an action with these statuses, by name unless requested
        otherwise.

        Raises: RowtuiError if the status cannot be determined, FilterError, Superseded.
        """
        from rowtui.core.engine.local.list_columns import list_directories

        return self._keep(
            ("directories", which.key), lambda: list_directories(self._project, which)
        )

    def of_group(self, which: RequestedList, group: int, positions: Sequence[int]) -> ListedRows:
        """Return the directories of group `group`. Raises: as `directories`."""
        from rowtui.core.engine.local.list_columns import list_group

        return self._keep(
            ("group", group, which.key), lambda: list_group(self._project, which, positions)
        )

    def groups(
        self, which: RequestedList, cut: GroupCut, problem_of: Callable[[int], str]
    ) -> ListedRows:
        """Return the groups of a cut, by number unless requested otherwise.

        `problem_of`: the problem text of a group size. Raises: FilterError, Superseded.
        """
        if which.asked == AS_IS:
            return self._keep(
                ("groups", which.key),
                lambda: ListedRows(None, len(cut), sizes=cut.counted_sizes),
            )
        from rowtui.core.engine.local.list_columns import list_groups

        return self._keep(
            ("groups", which.key), lambda: list_groups(self._project, which, cut, problem_of)
        )


VALUE_LENGTH = 200  # characters of a value shown in a row
MOST_POINTERS = 8  # columns of values in a page


class _Shown(NamedTuple):
    """The page of groups returned last, and what it was made from."""

    cut: GroupCut
    verdict_of: VerdictOf
    length: int
    page: GroupsPage


class ListPages:
    """The lists of one project at one generation."""

    def __init__(self, project: OpenProject) -> None:
        self._project = project
        self.generation = 0
        self.lists = Lists(project)
        self._cuts = Cuts(project)
        self._rows = GroupRows(project)
        self._shown: dict[tuple[int, tuple[Status, ...]], _Shown] = {}

    def next_generation(self) -> None:
        """Begin a new generation after a synchronisation, because lists may be outdated."""
        self.lists.forget()
        self._rows.look_again()
        self._shown = {
            key: shown
            for key, shown in self._shown.items()
            if self._rows.verdicts(shown.cut.action) is shown.verdict_of
        }
        self.generation += 1

    def cut(self, action: Action, statuses: tuple[Status, ...]) -> GroupCut:
        """Return the groups of an action's directories with these statuses. Raises: RowtuiError."""
        return self._cuts.cut(action, statuses)

    def action(self, index: int) -> Action:
        """Return the action of that index. Raises: RowtuiError."""
        actions = self._project.workflow.actions
        if not 0 <= index < len(actions):
            raise RowtuiError("the action is no longer in workflow.toml")
        return actions[index]

    def which(
        self, kind: str, index: int, statuses: tuple[Status, ...], asked: ListRequest
    ) -> RequestedList:
        """Return the requested list, registered as the newest of its kind. Raises: RowtuiError."""
        which = RequestedList(self.action(index), statuses, asked)
        # the whole list needs no computation, and must not end the request of a marking
        if asked == AS_IS:
            return which
        return which._replace(go_on=self.lists.begin(kind, which.key))

    def positions(self, names: Sequence[str]) -> list[int]:
        """Return the positions of these directories. Raises: RowtuiError for a missing one."""
        position = self._project.state.directories.position
        found = []
        for name in names:
            at = position(name)
            if at is None:
                raise RowtuiError(f"there is no directory '{visible(name)}' any more")
            found.append(at)
        return found

    def kept_groups_page(
        self, which: RequestedList, start: int, length: int, find: str = ""
    ) -> GroupsPage | None:
        """Return the cached page if it is the requested one and current; otherwise None."""
        shown = self._shown.get((which.action.index, which.statuses))
        if shown is None or which.asked != AS_IS or find:
            return None
        if (shown.page.start, shown.length) != (start, length):
            return None
        if self._cuts.known(which.action, which.statuses) is not shown.cut:
            return None
        return replace(shown.page, generation=self.generation)

    def groups_page(
        self, which: RequestedList, start: int, length: int, find: str = ""
    ) -> GroupsPage:
        """Return a page of groups; with a `problem` if there are no groups."""
        action = which.action
        try:
            cut, every = self.cut(action, which.statuses), None
            if action.group.submit_whole and which.statuses == (Status.ELIGIBLE,):
                every = self.cut(action, tuple(Status))
        except RowtuiError as error:
            return GroupsPage(self.generation, action.index, 0, 0, 0, (), str(error))
        verdict_of = self._rows.verdicts(action)
        listed = self.lists.groups(which, cut, lambda size: verdict_of(size).text)
        page = GroupsPage(
            generation=self.generation,
            action_index=action.index,
            total=listed.total,
            directories=sum(size * count for size, count in listed.sizes),
            start=start,
            groups=self._rows.of(cut, listed.page(start, length), verdict_of, every),
            of=listed.of,
            cost=_total_cost(action, listed),
            found=self._find_group(cut, listed, find) if find else None,
            sort_by=action.group.sort_by,
        )
        lasts = every is None and verdict_of is not unknown_cluster
        if which.asked == AS_IS and not find and lasts:
            shown = _Shown(cut, verdict_of, length, page)
            self._shown[action.index, which.statuses] = shown
        return page

    def _find_group(self, cut: GroupCut, listed: ListedRows, first: str) -> int | None:
        """Return the place of the group that begins with this directory; None if there is none."""
        position = self._project.state.directories.position(first)
        if position is None:
            return None
        at = cut.number_of(position)
        return None if at is None else listed.find(at)

    def group_directories_page(
        self, which: RequestedList, group: int | None, start: int, length: int
    ) -> DirectoriesPage:
        """Return a page of a group's directories, or of all groups' in order."""
        action = which.action
        cut = self.cut(action, which.statuses)
        begin, end = 0, cut.directories
        if group is not None:
            [(begin, size)] = cut.placed((group,)) if 0 <= group < len(cut) else [(0, 0)]
            end = begin + size
        if which.asked == AS_IS:
            first, last = begin + max(0, start), min(end, begin + max(0, start + length))
            positions = cut.span(first, max(first, last)).tolist()
            return self._directories_page(action, ListedRows(None, end - begin), start, positions)
        listed = self.lists.of_group(
            which, -1 if group is None else group, cut.span(begin, end).tolist()
        )
        return self._directories_page(action, listed, start, listed.page(start, length))

    def directories_page(
        self, which: RequestedList, start: int, length: int, find: str = ""
    ) -> DirectoriesPage:
        """Return a page of all directories of an action."""
        listed = self.lists.directories(which)
        page = self._directories_page(
            which.action, listed, start, listed.page(start, length), which.action.group.sort_by
        )
        position = self._project.state.directories.position(find) if find else None
        found = None if position is None else listed.find(position)
        return page if found is None else replace(page, found=found)

    def _directories_page(
        self,
        action: Action,
        listed: ListedRows,
        start: int,
        positions: Sequence[int],
        pointers: tuple[str, ...] = (),
    ) -> DirectoriesPage:
        row = self._project.status_row(action)
        directories = self._project.state.directories
        keys = scalar_pointers(directories.value(0)) if positions else ()
        pointers = tuple(dict.fromkeys((*pointers, *listed.pointers, *keys)))[:MOST_POINTERS]
        texts = PointerTexts(directories, pointers).at(positions)
        rows = tuple(
            self._directory_row(action, row, position, tuple(cell or "" for cell in cells))
            for position, *cells in zip(positions, *texts, strict=True)
        )
        return DirectoriesPage(self.generation, listed.total, start, rows, listed.of, pointers)

    def failed_jobs(self, index: int, groups: Sequence[int] | None) -> tuple[FailedJob, ...]:
        """Return the jobs in which these groups of failed directories failed. Raises: RowtuiError.

        None: all groups.
        """
        action = self.action(index)
        cut = self.cut(action, (Status.FAILED,))
        chosen = cut.page() if groups is None else [cut[at] for at in groups if 0 <= at < len(cut)]
        return jobs_of_groups(self._project, action, chosen)

    def _directory_row(
        self, action: Action, row: ActionStatus, position: int, fields: tuple[str, ...]
    ) -> DirectoryRow:
        state = self._project.state
        status = row.status_of(position) or Status.WAITING
        job = state.submitted.get(action.name, {}).get(position)
        end = state.ends.get(action.name, {}).get(position)
        text = compact(state.directories.value(position))
        detail = ""
        if end is not None and status in ENDED:
            detail = end_detail(end)
        return DirectoryRow(
            name=state.directories.name(position),
            status=status,
            value=_cut(text),
            job=f"{job.cluster}/{job.job_id}" if job is not None and job.job_id else "",
            detail=detail,
            fields=tuple(_cut(text) for text in fields),
        )


class GroupsWork:
    """The pages of one engine. `records`: the lock of the project's records in memory."""

    def __init__(self, pages: ListPages, records: asyncio.Lock) -> None:
        self._pages = pages
        self._records = records

    async def page(
        self,
        action_index: int,
        statuses: Sequence[Status],
        start: int,
        length: int,
        *,
        asked: ListRequest = AS_IS,
        find: str = "",
    ) -> GroupsPage:
        """Return a page of the groups formed from an action's directories with these statuses.

        `asked`: a filter or another order; groups keep their numbers. `find`: the first directory
        of a group to search for. Raises: RowtuiError for an invalid filter, or if a newer request
        for another list of groups arrived in between.
        """
        which = self._pages.which("groups", action_index, tuple(statuses), asked)
        async with self._records:
            kept = self._pages.kept_groups_page(which, start, length, find)
            if kept is not None:  # no thread is needed
                return kept
            page = partial(self._pages.groups_page, which, start, length, find)
            return await asyncio.to_thread(page)

    async def members(
        self,
        action_index: int,
        statuses: Sequence[Status],
        group: int | None,
        start: int,
        length: int,
        *,
        asked: ListRequest = AS_IS,
    ) -> DirectoriesPage:
        """Return a page of the directories of group `group` (from 0), or of all groups in order.

        Raises: RowtuiError.
        """
        which = self._pages.which("group", action_index, tuple(statuses), asked)
        async with self._records:
            page = partial(self._pages.group_directories_page, which, group, start, length)
            return await asyncio.to_thread(page)

    async def directories(
        self,
        action_index: int,
        statuses: Sequence[Status],
        start: int,
        length: int,
        *,
        asked: ListRequest = AS_IS,
        find: str = "",
    ) -> DirectoriesPage:
        """Return a page of all directories of an action with these statuses, by name.

        `asked` and `find` (a name) as for `page`. Raises: RowtuiError.
        """
        which = self._pages.which("directories", action_index, tuple(statuses), asked)
        async with self._records:
            page = partial(self._pages.directories_page, which, start, length, find)
            return await asyncio.to_thread(page)


def _cut(text: str) -> str:
    return text if len(text) <= VALUE_LENGTH else text[: VALUE_LENGTH - 1] + "…"


def _total_cost(action: Action, listed: ListedRows) -> Cost:
    costs = [(job_cost(action.resources, size), count) for size, count in listed.sizes]
    return Cost(
        sum(cost.cpu_hours * count for cost, count in costs),
        sum(cost.gpu_hours * count for cost, count in costs),
    )
