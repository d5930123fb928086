"""What a screen may ask of a project, and the small values that it gets back.

The dashboard and the command line see a project only through `Engine`. Answers are snapshots
with a generation number: a screen that holds an older generation asks again. Pages are bounded,
so that an answer about a million directories is as small as one about ten.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from rowtui.core.project.lists import AS_IS, ListAsked
from rowtui.core.project.log_views import ROW
from rowtui.core.text import Cost

if TYPE_CHECKING:
    from rowtui.core.clusters.command_log import RanCommand
    from rowtui.core.clusters.schedulers.base import JobAnswer
    from rowtui.core.errors import Problem
    from rowtui.core.grouping.model import Status
    from rowtui.core.network.job_model import JobState
    from rowtui.core.project.change import Change
    from rowtui.core.project.cluster_views import ClusterDetail, ClusterNodes, ClustersView
    from rowtui.core.project.edit_views import Edit, EditAsked
    from rowtui.core.project.log_views import LogHit, LogPage, LogState
    from rowtui.core.project.needs import FailureCause, MappingReview, UntrustedFile
    from rowtui.core.project.pack_views import PackChoice, PackedPlan
    from rowtui.core.project.questions import Question, Withdrawn
    from rowtui.core.project.queue_needs import QueueNeed
    from rowtui.core.project.queue_views import (
        Acted,
        ChosenJobs,
        JobDetail,
        MarkedRow,
        QueueAsked,
        QueuePage,
        QueueRow,
        RowKey,
    )
    from rowtui.core.project.review_views import (
        Budget,
        Check,
        CheckState,
        Exported,
        Finding,
        ScriptAsked,
        ScriptBefore,
    )
    from rowtui.core.project.views import (
        ClusterView,
        EndedJob,
        Explanation,
        FailedJob,
        JobsView,
        JobView,
        LogTail,
        TransferView,
        WhatIfAsked,
    )
    from rowtui.core.runs.limits import Limits
    from rowtui.core.runs.views import NetworkView, RedoView, SamplesPage, Waits
    from rowtui.core.submission.carry_out import Progress
    from rowtui.core.submission.model import Plan

    SubmitProgress = Progress  # one step of carrying out a plan

__all__ = [
    "AS_IS",
    "ENGINE_BACK",
    "ENGINE_LOST",
    "Acted",
    "ActionSummary",
    "Budget",
    "Change",
    "Check",
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
    "Explanation",
    "Exported",
    "FailedJob",
    "FailureCause",
    "Finding",
    "GroupSummary",
    "GroupsPage",
    "JobDetail",
    "JobState",
    "JobView",
    "JobsView",
    "Limits",
    "ListAsked",
    "LogHit",
    "LogPage",
    "LogState",
    "LogTail",
    "MappingReview",
    "MarkedRow",
    "NetworkView",
    "PackChoice",
    "PackedPlan",
    "Question",
    "QueueAsked",
    "QueueNeed",
    "QueuePage",
    "QueueRow",
    "RanCommand",
    "RedoView",
    "RowKey",
    "SamplesPage",
    "ScriptAsked",
    "ScriptBefore",
    "Snapshot",
    "SubmitProgress",
    "TransferView",
    "UntrustedFile",
    "Waits",
    "WhatIfAsked",
    "Withdrawn",
]

_HOMES = {
    "clusters.command_log": "RanCommand",
    "clusters.schedulers.base": "JobAnswer",
    "errors": "Problem",
    "grouping.model": "Status",
    "network.job_model": "JobState",
    "project.change": "Change",
    "project.cluster_views": "ClusterDetail ClusterNodes ClustersView",
    "project.edit_views": "Edit EditAsked",
    "project.log_views": "LogHit LogPage LogState",
    "project.needs": "FailureCause MappingReview UntrustedFile",
    "project.pack_views": "PackChoice PackedPlan",
    "project.questions": "Question Withdrawn",
    "project.queue_needs": "QueueNeed",
    "project.queue_views": (
        "Acted ChosenJobs JobDetail MarkedRow QueueAsked QueuePage QueueRow RowKey"
    ),
    "project.review_views": "Budget Check CheckState Exported Finding ScriptAsked ScriptBefore",
    "project.views": (
        "ClusterView EndedJob Explanation FailedJob JobsView JobView LogTail TransferView "
        "WhatIfAsked"
    ),
    "runs.limits": "Limits",
    "runs.views": "NetworkView RedoView SamplesPage Waits",
    "submission.carry_out": "Progress SubmitProgress",
    "submission.model": "Plan",
}
"""Where the values are that are imported above; loaded when somebody asks for them here, because
all of them together would take half of the time that a screen needs to start."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """A value that is defined elsewhere."""
        for home, names in _HOMES.items():
            if name in names.split():
                module = import_module(f"rowtui.core.{home}")
                value = getattr(module, "Progress" if name == "SubmitProgress" else name)
                globals()[name] = value
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@dataclass(frozen=True, slots=True)
class ActionSummary:
    """One row of the status screen. Counts are directories.

    `failed`, `not_reached` and `cancelled` are part of `eligible`: how the last job ended there.
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
        """How many directories the action includes."""
        return self.completed + self.submitted + self.eligible + self.waiting


@dataclass(frozen=True, slots=True)
class Snapshot:
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
    warning: str = ""  # what costs more than it needs to there


@dataclass(frozen=True, slots=True)
class GroupsPage:
    """Groups `start`.. of an action, of `total`; for the statuses that were asked for.

    `total`, `directories` and `cost` are of what the filter leaves, `of` is all; `found`: where
    the group that was looked for stands.
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
    detail: str = ""  # why it failed, ...
    fields: tuple[str, ...] = ()  # at the page's `pointers`


@dataclass(frozen=True, slots=True)
class DirectoriesPage:
    """Directories `start`.. of one group, or of all of an action, of `total`.

    `of`: without the filter; `pointers`: the columns of values; `found`: where the directory that
    was looked for stands.
    """

    generation: int
    total: int
    start: int
    rows: tuple[DirectoryRow, ...]
    of: int = 0
    pointers: tuple[str, ...] = ()
    found: int | None = None


ENGINE_LOST = "engine lost"  # words of `changes`; the first one is followed by ": " and why
ENGINE_BACK = "engine back"


class Engine(Protocol):
    """A project, seen from a screen. Nothing here blocks the event loop."""

    async def refresh(self, *, full: bool = False) -> Snapshot:
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
        """A page of the groups formed from an action's directories with these statuses.

        `asked`: some of them, or in another order; they keep their numbers. `find`: the first
        directory of a group to look for. Raises: RowtuiError for a filter that cannot be used, or
        if a newer question about another list of groups came meanwhile.
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
        """A page of the directories of group `group` (from 0), or of all groups in order."""
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
        """A page of all directories of an action with these statuses, by name.

        `asked` and `find` (a name) as for `groups`.
        """
        ...

    async def explain(
        self,
        action_index: int,
        statuses: Sequence[Status],
        group: int,
        what_if: WhatIfAsked | None = None,
    ) -> Explanation:
        """Where the job of group `group` (from 0) of these statuses would go, and why."""
        ...

    async def edit_workflow(self, asked: EditAsked) -> Edit:
        """A what-if as a change of workflow.toml, or one taken back: shown, or written.

        Why it cannot be is in the answer. Raises: RowtuiError if what was confirmed is not
        written.
        """
        ...

    async def mapping_file(self, place: str) -> MappingReview:
        """A mapping file as a person reads it before trusting it. Raises: RowtuiError."""
        ...

    async def trust(self, place: str, digest: str) -> None:
        """Let the code of that content run as this user. Raises: RowtuiError if it changed."""
        ...

    async def plan(
        self,
        action_index: int | None,
        groups: Sequence[int] | None,
        limit: int | None,
        *,
        directories: Sequence[str] | None = None,
    ) -> Plan:
        """What would be submitted: one action or all; these eligible groups (from 0) or all.

        `directories`: groups are formed of these alone.
        """
        ...

    async def pack(
        self,
        action_index: int | None,
        groups: Sequence[int] | None,
        limit: int | None,
        choice: PackChoice,
    ) -> PackedPlan:
        """As `plan`, in bundles: on how many nodes of which types, what that costs and saves."""
        ...

    async def transfers(self, plan: Plan) -> tuple[TransferView, ...]:
        """What a plan would copy to clusters that do not see the project's folder."""
        ...

    async def failed_jobs(
        self, action_index: int, groups: Sequence[int] | None
    ) -> tuple[FailedJob, ...]:
        """The jobs at which these groups (from 0) of failed directories failed; None: all."""
        ...

    async def plan_again(self, tokens: Sequence[str], change: Change) -> Plan:
        """What would be submitted to try the failed directories of these jobs again."""
        ...

    def review(self, plan: Plan) -> AsyncIterator[Check]:
        """The checks of a plan: all as pending at once, then each again when it is done."""
        ...

    async def script_before(self, asked: ScriptAsked) -> ScriptBefore | None:
        """The script last submitted for the same action on the same cluster, or one like it."""
        ...

    async def without(self, plan: Plan, tokens: Sequence[str]) -> Plan:
        """A plan without these jobs and those that depend on them, with its own id.

        Raises: RowtuiError if nothing is left.
        """
        ...

    async def export_plan(self, plan: Plan, folder: str, *, overwrite: bool = False) -> Exported:
        """Write all scripts and plan.json to a folder (from the project's on, or `~`).

        Nothing is written where files are in the way, unless `overwrite`. Raises: RowtuiError.
        """
        ...

    def submit(self, plan: Plan) -> AsyncIterator[SubmitProgress]:
        """Carry out a plan that a person confirmed."""
        ...

    async def jobs(self, *, now: bool = False) -> JobsView:
        """The newest jobs of the project, counts of all, and the clusters.

        Queues are asked where that is due, or `now`.
        """
        ...

    async def queue(self, asked: QueueAsked, start: int, length: int) -> QueuePage:
        """A page of the jobs of all clusters, arrays and bundles folded, as of the last `jobs`."""
        ...

    async def queue_all(self, asked: QueueAsked, which: str) -> tuple[MarkedRow, ...]:
        """The rows of this project with jobs that are `active` or `failed`; bounded."""
        ...

    async def queue_marked(self, keys: Sequence[RowKey]) -> tuple[MarkedRow, ...]:
        """Rows as they are now; those that are gone are not among them."""
        ...

    async def queue_chosen(self, keys: Sequence[RowKey], verb: str) -> ChosenJobs:
        """What `cancel`, `hold`, `release` or `resubmit` would be done to: all jobs of a fold."""
        ...

    async def queue_act(self, keys: Sequence[RowKey], verb: str) -> Acted:
        """Cancel, hold or release the jobs of these rows, each whatever becomes of the others."""
        ...

    async def job_detail(self, key: RowKey, *, estimate: bool = False) -> JobDetail:
        """What its scheduler says of a job, at most a minute ago; `estimate`: also when it starts.

        What a scheduler does not offer is said so in the answer.
        """
        ...

    async def find_job(self, action: str, directory: str) -> JobView | None:
        """The newest job of an action that has this directory; None if there is none."""
        ...

    async def job_named(self, label: str) -> JobView | None:
        """The newest job of the project that is called that, `4711_3`; None if there is none."""
        ...

    async def cancel(self, tokens: Sequence[str]) -> tuple[JobAnswer, ...]:
        """Cancel these jobs."""
        ...

    async def hold(self, tokens: Sequence[str]) -> tuple[JobAnswer, ...]:
        """Keep these jobs from starting."""
        ...

    async def release(self, tokens: Sequence[str]) -> tuple[JobAnswer, ...]:
        """Let these jobs start."""
        ...

    async def clusters(self) -> ClustersView:
        """The clusters themselves, as they are known now: it waits for none of them."""
        ...

    async def cluster_nodes(self, cluster: str) -> ClusterNodes:
        """The nodes of a cluster, which is asked at most once a minute. Raises: RowtuiError."""
        ...

    async def commands_ran(self, after: int) -> tuple[RanCommand, ...]:
        """What the engine ran on clusters and here, with numbers above `after`; bounded."""
        ...

    async def connect(self, cluster: str) -> None:
        """Log in to a cluster; what it asks comes from `questions`. Raises: RowtuiError."""
        ...

    def questions(self) -> AsyncIterator[Question | Withdrawn]:
        """What logins ask of the person before the screen."""
        ...

    def answer(self, number: int, answers: Sequence[str] | None) -> None:
        """Answer a question; None: the person gives up."""
        ...

    async def log_look(self, token: str, *, earlier: bool = False, width: int = ROW) -> LogState:
        """What is known of a job's log now; its `error` says why it cannot be read.

        It begins with the end; with `earlier` the rows before the first known one are read too.
        `width`: bytes after which a line goes on in the next row.
        """
        ...

    async def log_page(self, token: str, start: int, length: int, *, width: int = ROW) -> LogPage:
        """Rows of a log that was looked at with that width. Raises: RowtuiError."""
        ...

    async def log_find(
        self, token: str, text: str, start: int, *, backwards: bool = False, width: int = ROW
    ) -> LogHit:
        """The next row after (before) `start` with this text, among those that are known.

        `~` and a regular expression; "!" for what looks like an error. Raises: RowtuiError.
        """
        ...

    async def log_tail(self, token: str, lines: int) -> LogTail:
        """The last lines of a job's log."""
        ...

    def changes(self) -> AsyncIterator[str]:
        """A word whenever something on disk changes, and "watching ..." once it would be noticed.

        The words: "completed", "workspace", "workflow", "jobs", "products", "network". One in a
        process of its own also says "engine lost: why" and "engine back".
        """
        ...

    # The network

    async def network(self, *, frozen: bool = True) -> NetworkView | None:
        """The network and its newest run; None without a network.toml. Raises: RowtuiError.

        `frozen` False: as network.toml is now, whatever a run was made from.
        """
        ...

    async def network_samples(
        self,
        node: str,
        states: Sequence[JobState],
        start: int,
        length: int,
        *,
        frozen: bool = True,
        asked: ListAsked = AS_IS,
        find: str = "",
    ) -> SamplesPage:
        """A page of the samples of a source or node in these states (all). Raises: RowtuiError.

        `frozen`: as in `network`; `asked`: as for `groups`; `find`: a job's number, or the
        directory of a source's sample.
        """
        ...

    async def network_waits(self, job: int) -> Waits:
        """What a job of the graph waits for, or was lost for. Raises: RowtuiError."""
        ...

    async def network_redo_view(self, jobs: Sequence[int]) -> RedoView:
        """What would run again if these complete jobs did; none: all stale ones.

        Raises: RowtuiError.
        """
        ...

    async def network_redo(self, jobs: Sequence[int], expected: int) -> tuple[int, tuple[str, ...]]:
        """Have them run again with what was made from their results; products go to the trash.

        How many, and what a person should know of it. Raises: RowtuiError, also if it would not
        be the `expected` number of jobs.
        """
        ...

    async def network_dependents(self, jobs: Sequence[int]) -> int:
        """How many further jobs, that may still run, depend on these jobs of the newest run."""
        ...

    async def network_start(self, limits: Limits, *, anew: bool = False) -> None:
        """Drive the newest run that is not over, or a new one, within limits that were confirmed.

        It goes on by itself; `changes` says "network" whenever it did something.
        Raises: RowtuiError.
        """
        ...

    async def network_stop(self) -> None:
        """Stop driving. Jobs that were sent go on."""
        ...

    async def network_plan(self) -> tuple[Plan | None, tuple[str, ...]]:
        """What the run would submit next, to be confirmed; and why something cannot be.

        Raises: RowtuiError.
        """
        ...

    async def network_retry(self, jobs: Sequence[int]) -> None:
        """Try failed jobs of the graph again. Raises: RowtuiError."""
        ...

    async def network_cancel(self, jobs: Sequence[int]) -> None:
        """Give jobs of the graph up, with what depends on them. Raises: RowtuiError."""
        ...

    async def close(self) -> None:
        """Stop watching and let go of everything."""
        ...
