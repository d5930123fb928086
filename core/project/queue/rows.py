"""The list of all jobs, and its rows: single jobs of any user, and folded arrays and bundles.

The input is the scheduler's or the project's own view of a job. `QueueEntry` has the list's columns
as attributes, for sorting and filtering; `row_of` gives the `QueueRow` that a screen shows. For a
further column of the screen, `QueueRow` gets a field, with its value in `row_of`. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from rowtui.core.clusters.schedulers.base import (
    Job,
    JobState,
    is_in_bundle,
)
from rowtui.core.clusters.schedulers.slurm.parse import write_tasks
from rowtui.core.project.views.views import ClusterView, JobView
from rowtui.core.submission.plan.model import NO_ID, JobRecord

SHOWN_DIRECTORIES = 4
"""Number of a job's directories that a row contains."""

WIDEST_TASKS = 40
"""Most characters of the numbers of an array's tasks."""

NEAR_SECONDS = 15 * 60
"""A job is near its limit with this many seconds or a quarter of its limit left."""


class RowKey(NamedTuple):
    """Identity of a row, independent of its index: the token, else cluster and id; and the task.

    `folded`: the row stands for all jobs of an array or a bundle; `task` is None then.
    """

    cluster: str
    id: int
    task: int | None = None
    token: str = ""
    folded: bool = False

    @property
    def parent(self) -> RowKey | None:
        """Return the key of the array or bundle that contains this job, None for any other job."""
        if self.task is None:
            return None
        token = self.token.partition("~")[0].removesuffix(f".{self.task}") if self.token else ""
        return RowKey(self.cluster, self.id, None, token, folded=True)


def key_of(record: JobRecord) -> RowKey:
    """Return the key of a job of this project."""
    task = record.task
    if task is None and is_in_bundle(record.token):
        task = record.member
    return RowKey(record.cluster, 0, task, record.token)


class MarkedRow(NamedTuple):
    """A marked row, and the number of its jobs in each state."""

    key: RowKey
    counts: tuple[tuple[JobState, int], ...]


class QueueRow(NamedTuple):
    """One job, or an array or bundle of jobs.

    Times are in seconds; `start_estimate` and `as_of` (the time of the last poll) are epoch
    seconds. `counts`: the number of jobs in each state. `tasks`: of a folded row, `1-64`. `view`:
    the view of a job of this project (of a folded row's first job), with some of its directories.
    `open`: the number of its directories that are not complete, -1 if unknown. `inside`: the row is
    a job of the array or bundle above. `silent`: the cluster did not answer the last poll, and the
    job has not ended.
    """

    key: RowKey
    cluster: str
    label: str
    state: JobState
    name: str
    counts: tuple[tuple[JobState, int], ...] = ()
    tasks: str = ""
    size: int = 0
    first: str = ""
    partition: str = ""
    nodes: str = ""
    elapsed: int | None = None
    limit: int | None = None
    reason: str = ""
    start_estimate: int | None = None
    as_of: float | None = None
    silent: bool = False
    user: str = ""
    view: JobView | None = None
    open: int = -1
    inside: bool = False

    @property
    def jobs(self) -> int:
        """Return the number of jobs that the row stands for."""
        return sum(number for _, number in self.counts)

    @property
    def marked(self) -> MarkedRow:
        """Return the row's key and the states of its jobs."""
        return MarkedRow(self.key, self.counts)

    @property
    def ours(self) -> bool:
        """Whether the job belongs to this project."""
        return self.view is not None

    @property
    def left(self) -> int | None:
        """Return the seconds to the job's limit, if the limit is near."""
        if self.state is not JobState.RUNNING or self.elapsed is None or not self.limit:
            return None
        left = self.limit - self.elapsed
        return max(0, left) if left <= min(NEAR_SECONDS, self.limit // 4) else None


class Foreign(NamedTuple):
    """A job of another user on a cluster."""

    cluster: str
    user: str
    job: Job


class QueueEntry:
    """One job of the list. `whose`: 0 this project's, 1 this user's, 2 another user's."""

    __slots__ = ("_words", "cluster", "job", "key", "seen", "state", "user", "view", "whose")

    def __init__(
        self,
        key: RowKey,
        whose: int,
        *,
        job: Job | None = None,
        view: JobView | None = None,
        user: str = "",
    ) -> None:
        self.key = key
        self.cluster = key.cluster
        self.whose = whose
        self.job = job
        self.view = view
        self.user = user
        seen = view if view is not None else job
        assert seen is not None
        self.seen: Job | JobView = seen  # the source of state, reason, times and nodes
        self.state = seen.state
        self._words = ""

    @property
    def word(self) -> str:
        """Return the word for the job's state."""
        return self.state.value

    @property
    def id(self) -> int:
        """Return the scheduler's job id."""
        return self.view.record.job_id if self.view is not None else self.key.id

    @property
    def number(self) -> int:
        """Return the number of the array task, or in the bundle; 0 for other jobs."""
        return self.key.task or 0

    @property
    def label(self) -> str:
        """Return `4711`, `4711_3` or `4711.3`; `–` as long as the job has no id."""
        if self.view is not None:
            return self.view.record.label
        assert self.job is not None
        return str(self.job.key)

    @property
    def name(self) -> str:
        """Return the action; for jobs of other projects, the job name."""
        if self.view is not None:
            return self.view.record.action
        assert self.job is not None
        return self.job.name

    @property
    def partition(self) -> str:
        """Return the job's partition."""
        if self.view is not None:
            return self.view.record.partition
        assert self.job is not None
        return self.job.partition

    @property
    def nodes(self) -> str:
        """Return the nodes on which the job runs."""
        return self.seen.nodes

    @property
    def reason(self) -> str:
        """Return why the job waits, or how it ended."""
        return self.view.why if self.view is not None else self.seen.reason

    @property
    def first(self) -> str:
        """Return the job's first directory."""
        names = self.view.record.directories if self.view is not None else ()
        return names[0] if names else ""

    @property
    def size(self) -> int:
        """Return the job's number of directories."""
        return self.view.size if self.view is not None else 0

    @property
    def elapsed(self) -> int:
        """Return how many seconds the job has run."""
        return self.seen.elapsed or 0

    @property
    def limit(self) -> int:
        """Return the job's time limit in seconds; 0 if unknown."""
        return self.seen.limit or 0

    @property
    def left(self) -> int:
        """Return the seconds to the limit of a running job; a large number for other jobs."""
        seen = self.seen
        if seen.state is not JobState.RUNNING or seen.limit is None:
            return 1 << 40
        return seen.limit - (seen.elapsed or 0)

    @property
    def words(self) -> str:
        """Return all shown text of the job in lower case; built on first use."""
        if not self._words:
            job, word = self.job, self.state.value
            if self.view is None and job is not None:  # most jobs of a long queue
                number = job.id if job.task is None else f"{job.id}_{job.task}"
                said = f"{job.name}\n{job.partition}\n{job.nodes}\n{job.reason}\n{self.user}"
                self._words = f"{self.cluster}\n{number}\n{word}\n{said}".lower()
            else:
                said = f"{self.name}\n{self.first}\n{self.partition}\n{self.nodes}\n{self.reason}"
                self._words = f"{self.cluster}\n{self.label}\n{word}\n{said}".lower()
        return self._words


class Fold:
    """An array or a bundle as one row, with those of its jobs that are listed.

    `row`: the row for the screen, cached once it was requested.
    """

    __slots__ = ("entries", "key", "row")

    def __init__(self, key: RowKey, entries: list[QueueEntry]) -> None:
        self.key = key
        self.entries = entries
        self.row: QueueRow | None = None

    @property
    def whose(self) -> int:
        """Return whose jobs they are; see `QueueEntry`."""
        return self.entries[0].whose


Listed = QueueEntry | Fold
"""The content of one row of the list."""


RANKS = {
    state: at
    for at, state in enumerate(
        (
            JobState.RUNNING,
            JobState.COMPLETING,
            JobState.SUSPENDED,
            JobState.PENDING,
            JobState.HELD,
            JobState.RESERVED,
            JobState.UNKNOWN,
            JobState.FAILED,
            JobState.TIMEOUT,
            JobState.OUT_OF_MEMORY,
            JobState.NODE_FAIL,
            JobState.PREEMPTED,
            JobState.LOST,
            JobState.REFUSED,
            JobState.NOT_REACHED,
            JobState.NEVER_SENT,
            JobState.CANCELLED,
            JobState.COMPLETED,
        )
    )
}
"""The state of a folded row is the first state of its jobs in this order."""


def states_of(entries: Iterable[QueueEntry]) -> tuple[tuple[JobState, int], ...]:
    """Return how many jobs are in each state, the most active state first."""
    return in_order(Counter(one.state for one in entries))


def in_order(counts: Mapping[JobState, int]) -> tuple[tuple[JobState, int], ...]:
    """Return counts by state, the most active state first."""
    return tuple(sorted(counts.items(), key=lambda it: RANKS[it[0]]))


def row_of(one: Listed, *, inside: bool, cluster: Mapping[str, ClusterView]) -> QueueRow:
    """Return the row. `cluster`: the known clusters, by name."""
    if isinstance(one, Fold):
        if one.row is None:
            one.row = _folded(one, one.entries[0])
        there = cluster.get(one.key.cluster)
        silent = _silent(there, (state for state, _ in one.row.counts))
        return one.row._replace(as_of=there.as_of if there else None, silent=silent)
    where = cluster.get(one.cluster)
    seen = one.seen
    return QueueRow(
        one.key, one.cluster, one.label, one.state, one.name, ((one.state, 1),),
        size=one.size, first=one.first, partition=one.partition, nodes=one.nodes,
        elapsed=seen.elapsed, limit=seen.limit, reason=one.reason,
        start_estimate=seen.start_estimate, as_of=where.as_of if where else None,
        silent=_silent(where, (one.state,)), user=one.user, view=_brief(one.view), inside=inside,
    )  # fmt: skip


def _silent(where: ClusterView | None, states: Iterable[JobState]) -> bool:
    """Whether the cluster does not answer and the state of some job may have changed."""
    return bool(where and where.error) and any(
        state.may_change or state is JobState.LOST for state in states
    )


def _folded(fold: Fold, first: QueueEntry) -> QueueRow:
    entries = fold.entries
    shown = states_of(entries)
    state = shown[0][0]
    alike = [one for one in entries if one.state is state]
    its = alike[0]
    label, tasks = _label(entries, first)
    nodes = {one.nodes for one in alike if one.nodes}
    starts = [one.seen.start_estimate for one in entries if one.seen.start_estimate is not None]
    partitions = {one.partition for one in entries}
    elapsed = None
    if its.seen.elapsed is not None:
        elapsed = max(one.seen.elapsed or 0 for one in alike)
    reason = its.view.cause if len(alike) > 1 and its.view is not None else its.reason
    return QueueRow(
        fold.key, first.cluster, label, state, _names(entries), shown, tasks,
        size=sum(one.size for one in entries), first=first.first,
        partition=first.partition if len(partitions) == 1 else "",
        nodes=min(nodes) if len(nodes) == 1 else "",
        elapsed=elapsed, limit=its.seen.limit, reason=reason,
        start_estimate=min(starts, default=None),
        user=first.user, view=_brief(its.view),
    )  # fmt: skip


def _label(entries: Sequence[QueueEntry], first: QueueEntry) -> tuple[str, str]:
    """Return `4711` and `[0-63,70]`; for a bundle, `4711` and the number of jobs."""
    number = str(first.id) if first.id else NO_ID
    if first.view is not None and first.view.record.member is not None:
        return number, f"×{len(entries)}"
    tasks = write_tasks(one.number for one in entries)
    if len(tasks) > WIDEST_TASKS:
        tasks = tasks[: WIDEST_TASKS - 1].rpartition(",")[0] + ",…"
    return number, f"[{tasks}]"


def _names(entries: Sequence[QueueEntry]) -> str:
    names = dict.fromkeys(one.name for one in entries)
    shown = list(names)[:3]
    return ", ".join(shown) + (", …" if len(names) > len(shown) else "")


def _brief(view: JobView | None) -> JobView | None:
    """Return a job with the first of its directories."""
    if view is None or len(view.record.directories) <= SHOWN_DIRECTORIES:
        return view
    names = view.record.directories[:SHOWN_DIRECTORIES]
    return view._replace(record=replace(view.record, directories=names), directories=view.size)
