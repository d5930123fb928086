"""The interface between screens and a project, with the small values that it returns.

The dashboard and the command line access a project only through `Engine`. Answers are snapshots
with a generation number: a screen with an older generation requests them again. Pages are bounded,
so that an answer about a million directories is as small as one about ten.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from rowtui.core.base.text import Cost
from rowtui.core.engine.api.jobs import JobRequests
from rowtui.core.engine.api.network import NetworkRequests
from rowtui.core.engine.api.plans import PlanRequests
from rowtui.core.project.views.views import AS_IS, ListRequest

if TYPE_CHECKING:
    from rowtui.core.base.errors import Problem
    from rowtui.core.clusters.command_log import RanCommand
    from rowtui.core.groups.model import Status
    from rowtui.core.project.context.clusters import ClusterNodes, ClustersView
    from rowtui.core.project.context.questions import LoginQuestion, Withdrawn
    from rowtui.core.project.views.mapping_trust import UntrustedFile
    from rowtui.core.project.views.needs import FailureCause


@dataclass(frozen=True, slots=True)
class ActionSummary:
    """One row of the status screen. Counts are directories.

    `failed`, `not_reached` and `cancelled` are part of `eligible`: how the last job there ended.
    """

    index: int
    name: str
    command: str
    completed: int
    submitted: int
    eligible: int
    waiting: int
    failed: int
    remaining_cost: Cost
    products: tuple[str, ...]
    previous_actions: tuple[str, ...]
    resources: str  # "4 processes, 2 threads each, 01:00:00 per directory"
    grouping: str  # "sort by /T, split, at most 100"
    problem: str = ""
    not_reached: int = 0
    cancelled: int = 0

    @property
    def total(self) -> int:
        """Return how many directories the action includes."""
        return self.completed + self.submitted + self.eligible + self.waiting


@dataclass(frozen=True, slots=True)
class ProjectSnapshot:
    """The project as a whole at one generation. `at`: epoch seconds of the synchronisation."""

    generation: int
    at: float
    root: str
    cluster: str
    cluster_because: str
    scheduler: str
    directories: int
    bad: tuple[tuple[str, str], ...]  # (name, reason), the first few
    bad_count: int
    actions: tuple[ActionSummary, ...]
    problems: tuple[Problem, ...] = ()
    notices: tuple[str, ...] = ()
    failures: tuple[FailureCause, ...] = ()
    untrusted: tuple[UntrustedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """One row of the groups screen."""

    number: int  # from 1
    size: int
    first: str
    sort_key: str  # compact JSON of the key, "" without sort_by
    processes: int
    cpus: int
    gpus: int
    walltime_seconds: int
    cost: Cost
    problem: str = ""  # why it cannot be submitted, "" if it can
    warning: str = ""  # what would be wasted at its destination
    whole: bool = True  # False: `problem` says why submit_whole keeps it from being submitted


@dataclass(frozen=True, slots=True)
class GroupsPage:
    """Groups from `start` on of an action, of `total`, for the requested statuses.

    `total`, `directories` and `cost` are counted after the filter, `of` is the number without it;
    `found`: the place of the group that was searched for.
    """

    generation: int
    action_index: int
    total: int
    directories: int
    start: int
    groups: tuple[GroupSummary, ...]
    problem: str = ""
    of: int = 0
    cost: Cost = Cost()
    found: int | None = None


@dataclass(frozen=True, slots=True)
class DirectoryRow:
    """One row of the directories list. `value`: compact JSON, cut to a bounded length."""

    name: str
    status: Status
    value: str
    job: str = ""  # "cluster/id"
    detail: str = ""  # why it failed, and the like
    fields: tuple[str, ...] = ()  # at the page's `pointers`


@dataclass(frozen=True, slots=True)
class DirectoriesPage:
    """Directories from `start` on of one group, or of all of an action, of `total`.

    `of`: the number without the filter; `pointers`: the columns of values; `found`: the place of
    the directory that was searched for.
    """

    generation: int
    total: int
    start: int
    rows: tuple[DirectoryRow, ...]
    of: int = 0
    pointers: tuple[str, ...] = ()
    found: int | None = None


ENGINE_LOST = "engine lost"  # words of `changes`; the first one is followed by ": " and the reason
ENGINE_BACK = "engine back"


class Engine(PlanRequests, JobRequests, NetworkRequests, Protocol):
    """A project from the view of a screen. No method blocks the event loop."""

    async def refresh(self, *, full: bool = False) -> ProjectSnapshot:
        """Synchronise with the disk and the scheduler; `full` also re-reads every directory."""
        ...

    async def groups(
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
        ...

    async def group_directories(
        self,
        action_index: int,
        statuses: Sequence[Status],
        group: int | None,
        start: int,
        length: int,
        *,
        asked: ListRequest = AS_IS,
    ) -> DirectoriesPage:
        """Return a page of the directories of group `group` (from 0), or of all groups in order."""
        ...

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

        `asked` and `find` (a name) as for `groups`.
        """
        ...

    async def clusters(self) -> ClustersView:
        """Return the clusters as they are known now, without waiting for any of them."""
        ...

    async def cluster_nodes(self, cluster: str) -> ClusterNodes:
        """Return the nodes of a cluster, which is queried at most once a minute.

        Raises: RowtuiError.
        """
        ...

    async def commands_ran(self, after: int) -> tuple[RanCommand, ...]:
        """Return the commands run on clusters and here, with numbers above `after`; bounded."""
        ...

    async def connect(self, cluster: str) -> None:
        """Log in to a cluster; its prompts come from `questions`. Raises: RowtuiError."""
        ...

    def questions(self) -> AsyncIterator[LoginQuestion | Withdrawn]:
        """Yield the questions of logins to the user."""
        ...

    def answer(self, number: int, answers: Sequence[str] | None) -> None:
        """Answer a question; None: the user cancels the login."""
        ...

    def changes(self) -> AsyncIterator[str]:
        """Yield a word whenever something on disk changes, and "watching ..." once changes are
        noticed.

        The words: "completed", "workspace", "workflow", "jobs", "products", "network". An engine in
        a process of its own also yields "engine lost: why" and "engine back".
        """
        ...

    async def close(self) -> None:
        """Stop watching and release all resources."""
        ...


def engine_methods() -> dict[str, Callable[..., Any]]:
    """Return every request of an `Engine` by its name."""
    return {
        name: method
        for part in reversed(Engine.__mro__)
        for name, method in vars(part).items()
        if not name.startswith("_") and callable(method)
    }
