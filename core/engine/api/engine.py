"""The interface between screens and a project, with the small values that it returns.

The dashboard and the command line access a project only through `Engine`. Answers are snapshots
with a generation number: a screen with an older generation requests them again. Pages are bounded,
so that an answer about a million directories is as small as one about ten.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from rowtui.core.base.text import Cost
from rowtui.core.project.views.views import AS_IS, ROW, ListAsked

if TYPE_CHECKING:
    from rowtui.core.base.errors import Problem
    from rowtui.core.clusters.command_log import RanCommand
    from rowtui.core.clusters.schedulers.base import JobAnswer
    from rowtui.core.groups.model import Status
    from rowtui.core.network.graph.job_model import GraphJobState
    from rowtui.core.project.change import AmountChange
    from rowtui.core.project.context.cluster_views import ClusterDetail, ClusterNodes, ClustersView
    from rowtui.core.project.context.questions import LoginQuestion, Withdrawn
    from rowtui.core.project.planning.pack_views import PackChoice, PackedPlan
    from rowtui.core.project.queue.needs import QueueNeed
    from rowtui.core.project.queue.views import (
        Acted,
        ChosenJobs,
        JobDetail,
        MarkedRow,
        QueueAsked,
        QueuePage,
        QueueRow,
        RowKey,
    )
    from rowtui.core.project.review.views import (
        Budget,
        CheckState,
        ExportedFiles,
        PlanCheck,
        PlanFinding,
        ScriptAsked,
        ScriptBefore,
    )
    from rowtui.core.project.views.needs import FailureCause, MappingReview, UntrustedFile
    from rowtui.core.project.views.views import (
        ClusterView,
        Edit,
        EditAsked,
        EndedJob,
        FailedJob,
        JobsView,
        JobView,
        LogHit,
        LogPage,
        LogState,
        LogTail,
        PlacementExplanation,
        TransferView,
        WhatIfAsked,
    )
    from rowtui.core.runs.limits.limits import RunLimits
    from rowtui.core.runs.views import NetworkView, RedoView, SamplesPage, WaitPath
    from rowtui.core.submission.plan.model import Plan
    from rowtui.core.submission.sending.release_held import SendingProgress


__all__ = [
    "AS_IS",
    "ENGINE_BACK",
    "ENGINE_LOST",
    "Acted",
    "ActionSummary",
    "AmountChange",
    "Budget",
    "CheckState",
    "ChosenJobs",
    "ClusterDetail",
    "ClusterNodes",
    "ClusterView",
    "ClustersView",
    "DirectoriesPage",
    "DirectoryRow",
    "Edit",
    "EditAsked",
    "EndedJob",
    "Engine",
    "ExportedFiles",
    "FailedJob",
    "FailureCause",
    "GraphJobState",
    "GroupSummary",
    "GroupsPage",
    "JobDetail",
    "JobView",
    "JobsView",
    "ListAsked",
    "LogHit",
    "LogPage",
    "LogState",
    "LogTail",
    "LoginQuestion",
    "MappingReview",
    "MarkedRow",
    "NetworkView",
    "PackChoice",
    "PackedPlan",
    "PlacementExplanation",
    "PlanCheck",
    "PlanFinding",
    "ProjectSnapshot",
    "QueueAsked",
    "QueueNeed",
    "QueuePage",
    "QueueRow",
    "RanCommand",
    "RedoView",
    "RowKey",
    "RunLimits",
    "SamplesPage",
    "ScriptAsked",
    "ScriptBefore",
    "SendingProgress",
    "TransferView",
    "UntrustedFile",
    "WaitPath",
    "WhatIfAsked",
    "Withdrawn",
]

_HOMES = {
    "clusters.command_log": "RanCommand",
    "clusters.schedulers.base": "JobAnswer",
    "base.errors": "Problem",
    "groups.model": "Status",
    "network.graph.job_model": "GraphJobState",
    "project.change": "AmountChange",
    "project.context.cluster_views": "ClusterDetail ClusterNodes ClustersView",
    "project.views.needs": "FailureCause MappingReview UntrustedFile",
    "project.planning.pack_views": "PackChoice PackedPlan",
    "project.context.questions": "LoginQuestion Withdrawn",
    "project.queue.needs": "QueueNeed",
    "project.queue.views": (
        "Acted ChosenJobs JobDetail MarkedRow QueueAsked QueuePage QueueRow RowKey"
    ),
    "project.review.views": (
        "Budget PlanCheck CheckState ExportedFiles PlanFinding ScriptAsked ScriptBefore"
    ),
    "project.views.views": (
        "ClusterView Edit EditAsked EndedJob PlacementExplanation FailedJob JobsView JobView "
        "LogHit LogPage LogState LogTail TransferView WhatIfAsked"
    ),
    "runs.limits.limits": "RunLimits",
    "runs.views": "NetworkView RedoView SamplesPage WaitPath",
    "submission.sending.release_held": "SendingProgress",
    "submission.plan.model": "Plan",
}
"""The modules of the values that are imported above for type checking. They are imported at the
first access here, because importing all of them takes half of the time that a screen needs to
start.
"""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import a value that is defined elsewhere."""
        for home, names in _HOMES.items():
            if name in names.split():
                module = import_module(f"rowtui.core.{home}")
                value = getattr(module, name)
                globals()[name] = value
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


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


class Engine(Protocol):
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
        asked: ListAsked = AS_IS,
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
        asked: ListAsked = AS_IS,
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
        asked: ListAsked = AS_IS,
        find: str = "",
    ) -> DirectoriesPage:
        """Return a page of all directories of an action with these statuses, by name.

        `asked` and `find` (a name) as for `groups`.
        """
        ...

    async def explain(
        self,
        action_index: int,
        statuses: Sequence[Status],
        group: int,
        what_if: WhatIfAsked | None = None,
    ) -> PlacementExplanation:
        """Explain where the job of group `group` (from 0) of these statuses would go."""
        ...

    async def edit_workflow(self, asked: EditAsked) -> Edit:
        """Preview or write a what-if as a change of workflow.toml, or undo such a change.

        The answer contains the reason if the change is impossible. Raises: RowtuiError if a
        confirmed change is not written.
        """
        ...

    async def mapping_file(self, place: str) -> MappingReview:
        """Return a mapping file for the user to review before trusting it. Raises: RowtuiError."""
        ...

    async def trust(self, place: str, digest: str) -> None:
        """Allow the code of this content to run as this user. Raises: RowtuiError if it changed."""
        ...

    async def plan(
        self,
        action_index: int | None,
        groups: Sequence[int] | None,
        limit: int | None,
        *,
        directories: Sequence[str] | None = None,
    ) -> Plan:
        """Plan a submission: one action or all; these eligible groups (from 0) or all.

        `directories`: groups are formed only of these.
        """
        ...

    async def pack(
        self,
        action_index: int | None,
        groups: Sequence[int] | None,
        limit: int | None,
        choice: PackChoice,
    ) -> PackedPlan:
        """Plan in bundles: the number of nodes of each type, with costs and savings."""
        ...

    async def transfers(self, plan: Plan) -> tuple[TransferView, ...]:
        """Return what a plan would copy to clusters without access to the project's folder."""
        ...

    async def failed_jobs(
        self, action_index: int, groups: Sequence[int] | None
    ) -> tuple[FailedJob, ...]:
        """Return the jobs in which these groups (from 0) of failed directories failed;
        None: all.
        """
        ...

    async def plan_again(self, tokens: Sequence[str], change: AmountChange) -> Plan:
        """Return a plan that retries the failed directories of these jobs."""
        ...

    def review(self, plan: Plan) -> AsyncIterator[PlanCheck]:
        """Yield the checks of a plan: all as pending at once, then each again when it is done."""
        ...

    async def script_before(self, asked: ScriptAsked) -> ScriptBefore | None:
        """Return the script last submitted for the same action on the same cluster, or a similar
        one.
        """
        ...

    async def without(self, plan: Plan, tokens: Sequence[str]) -> Plan:
        """Return a plan without these jobs and their dependents, with its own id.

        Raises: RowtuiError if no job is left.
        """
        ...

    async def export_plan(
        self, plan: Plan, folder: str, *, overwrite: bool = False
    ) -> ExportedFiles:
        """Write all scripts and plan.json to a folder (relative to the project, or with `~`).

        Nothing is written if files exist there, unless `overwrite`. Raises: RowtuiError.
        """
        ...

    def submit(self, plan: Plan) -> AsyncIterator[SendingProgress]:
        """Submit a plan that the user confirmed."""
        ...

    async def jobs(self, *, now: bool = False) -> JobsView:
        """Return the newest jobs of the project, counts of all jobs, and the clusters.

        Queues are polled where due, or all of them with `now`.
        """
        ...

    async def queue(self, asked: QueueAsked, start: int, length: int) -> QueuePage:
        """Return a page of the jobs of all clusters, arrays and bundles folded, as of the last
        `jobs`.
        """
        ...

    async def queue_all(self, asked: QueueAsked, which: str) -> tuple[MarkedRow, ...]:
        """Return the rows of this project with jobs that are `active` or `failed`; bounded."""
        ...

    async def queue_marked(self, keys: Sequence[RowKey]) -> tuple[MarkedRow, ...]:
        """Return rows in their present state, without rows that no longer exist."""
        ...

    async def queue_chosen(self, keys: Sequence[RowKey], verb: str) -> ChosenJobs:
        """Return the jobs that `cancel`, `hold`, `release` or `retry` would apply to: all of a
        fold.
        """
        ...

    async def queue_act(self, keys: Sequence[RowKey], verb: str) -> Acted:
        """Cancel, hold or release the jobs of these rows; a refusal does not stop the others."""
        ...

    async def job_detail(self, key: RowKey, *, estimate: bool = False) -> JobDetail:
        """Return what its scheduler reports about a job, at most a minute ago.

        `estimate`: also when the job starts. The answer states what a scheduler does not offer.
        """
        ...

    async def find_job(self, action: str, directory: str) -> JobView | None:
        """Return the newest job of an action with this directory; None if there is none."""
        ...

    async def job_named(self, label: str) -> JobView | None:
        """Return the newest job of the project with this label, `4711_3`; None if there is none."""
        ...

    async def cancel(self, tokens: Sequence[str]) -> tuple[JobAnswer, ...]:
        """Cancel these jobs."""
        ...

    async def hold(self, tokens: Sequence[str]) -> tuple[JobAnswer, ...]:
        """Hold these jobs."""
        ...

    async def release(self, tokens: Sequence[str]) -> tuple[JobAnswer, ...]:
        """Release these jobs."""
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

    async def log_look(self, token: str, *, earlier: bool = False, width: int = ROW) -> LogState:
        """Return what is known of a job's log now; its `error` gives the reason if it is
        unreadable.

        Reading begins at the end; with `earlier`, rows before the first known one are read too.
        `width`: bytes after which a line continues in the next row.
        """
        ...

    async def log_page(self, token: str, start: int, length: int, *, width: int = ROW) -> LogPage:
        """Return rows of a log, at the width of an earlier `log_look`. Raises: RowtuiError."""
        ...

    async def log_find(
        self, token: str, text: str, start: int, *, backwards: bool = False, width: int = ROW
    ) -> LogHit:
        """Return the next row after (before) `start` with this text, among the known rows.

        The text may be `~` and a regular expression, or "!" for likely errors. Raises: RowtuiError.
        """
        ...

    async def log_tail(self, token: str, lines: int) -> LogTail:
        """Return the last lines of a job's log."""
        ...

    def changes(self) -> AsyncIterator[str]:
        """Yield a word whenever something on disk changes, and "watching ..." once changes are
        noticed.

        The words: "completed", "workspace", "workflow", "jobs", "products", "network". An engine in
        a process of its own also yields "engine lost: why" and "engine back".
        """
        ...

    # The network

    async def network(self, *, frozen: bool = True) -> NetworkView | None:
        """Return the network and its newest run; None without a network.toml. Raises: RowtuiError.

        `frozen` False: the present network.toml, independent of the run.
        """
        ...

    async def network_samples(
        self,
        node: str,
        states: Sequence[GraphJobState],
        start: int,
        length: int,
        *,
        frozen: bool = True,
        asked: ListAsked = AS_IS,
        find: str = "",
    ) -> SamplesPage:
        """Return a page of the samples of a source or node in these states (none given: all).

        `frozen`: as in `network`; `asked`: as for `groups`; `find`: a job's number, or the
        directory of a source's sample. Raises: RowtuiError.
        """
        ...

    async def network_waits(self, job: int) -> WaitPath:
        """Return what a job of the graph waits for, or why it was lost. Raises: RowtuiError."""
        ...

    async def network_redo_view(self, jobs: Sequence[int]) -> RedoView:
        """Return what would run again with these complete jobs; without jobs, with all stale ones.

        Raises: RowtuiError.
        """
        ...

    async def network_redo(self, jobs: Sequence[int], expected: int) -> tuple[int, tuple[str, ...]]:
        """Run these jobs and the jobs that used their results again; move products to the trash.

        Returns the number of jobs and notices for the user. Raises: RowtuiError, also if the number
        would not be `expected`.
        """
        ...

    async def network_dependents(self, jobs: Sequence[int]) -> int:
        """Return how many further jobs that may still run depend on these jobs of the
        newest run.
        """
        ...

    async def network_start(self, limits: RunLimits, *, anew: bool = False) -> None:
        """Drive the newest open run, or a new one, within limits that were confirmed.

        The run continues in the background; `changes` yields "network" after each of its steps.
        Raises: RowtuiError.
        """
        ...

    async def network_stop(self) -> None:
        """Stop driving. Submitted jobs go on."""
        ...

    async def network_plan(self) -> tuple[Plan | None, tuple[str, ...]]:
        """Return what the run would submit next, for confirmation, and why some jobs cannot be
        submitted.

        Raises: RowtuiError.
        """
        ...

    async def network_retry(self, jobs: Sequence[int]) -> None:
        """Retry failed jobs of the graph. Raises: RowtuiError."""
        ...

    async def network_cancel(self, jobs: Sequence[int]) -> None:
        """Give up jobs of the graph, with their dependents. Raises: RowtuiError."""
        ...

    async def close(self) -> None:
        """Stop watching and release all resources."""
        ...
