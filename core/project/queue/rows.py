"""The rows of the list of all jobs: single jobs of any user, and folded arrays and bundles.

`row_of` gives the `QueueRow` of a `JobRecord` that a screen shows. For a further column of the
screen, `QueueRow` gets a field, with its value in `row_of`. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rowtui.core.clusters.schedulers.base import NO_ID, JobState
from rowtui.core.clusters.schedulers.slurm.parse import write_tasks
from rowtui.core.project.views.views import ClusterView
from rowtui.core.submission.plan.record import RANKS, JobRecord

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
    """Return the key of a job."""
    key = record.key
    if record.planned is None:
        return RowKey(record.cluster, key.id, key.task)
    task = record.member if key.task is None else key.task
    return RowKey(record.cluster, 0, task, record.token)


class MarkedRow(NamedTuple):
    """A marked row, and the number of its jobs in each state."""

    key: RowKey
    counts: tuple[tuple[JobState, int], ...]


class QueueRow(NamedTuple):
    """One job, or an array or bundle of jobs.

    Times are in seconds; `start_estimate` and `as_of` (the time of the last poll) are epoch
    seconds. `counts`: the number of jobs in each state. `tasks`: of a folded row, `1-64`. `record`:
    of a job of this project (of a folded row's first job), with some of its directories.
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
    record: JobRecord | None = None
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
        return self.record is not None

    @property
    def left(self) -> int | None:
        """Return the seconds to the job's limit, if the limit is near."""
        if self.state is not JobState.RUNNING or self.elapsed is None or not self.limit:
            return None
        left = self.limit - self.elapsed
        return max(0, left) if left <= min(NEAR_SECONDS, self.limit // 4) else None


class Fold:
    """An array or a bundle as one row, with those of its jobs that are listed.

    `row`: the row for the screen, cached once it was requested.
    """

    __slots__ = ("entries", "key", "row")

    def __init__(self, key: RowKey, entries: list[JobRecord]) -> None:
        self.key = key
        self.entries = entries
        self.row: QueueRow | None = None


Listed = JobRecord | Fold
"""The content of one row of the list."""


def states_of(entries: Iterable[JobRecord]) -> tuple[tuple[JobState, int], ...]:
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
    where, state = cluster.get(one.cluster), one.state
    return QueueRow(
        key_of(one), one.cluster, one.label, state, one.title, ((state, 1),),
        size=one.size, first=first_directory(one), partition=one.partition, nodes=one.nodes,
        elapsed=one.elapsed, limit=one.limit, reason=one.why,
        start_estimate=one.start_estimate, as_of=where.as_of if where else None,
        silent=_silent(where, (state,)), user="" if one.ours else one.user,
        record=_brief(one), inside=inside,
    )  # fmt: skip


def first_directory(record: JobRecord) -> str:
    """Return the name of the job's first directory; "" for a job of another project."""
    return record.directories[0] if record.directories else ""


def _silent(where: ClusterView | None, states: Iterable[JobState]) -> bool:
    """Whether the cluster does not answer and the state of some job may have changed."""
    return bool(where and where.error) and any(
        state.may_change or state is JobState.LOST for state in states
    )


def _folded(fold: Fold, first: JobRecord) -> QueueRow:
    entries = fold.entries
    shown = states_of(entries)
    state = shown[0][0]
    alike = [one for one in entries if one.state is state]
    its = alike[0]
    label, tasks = _label(entries, first)
    nodes = {one.nodes for one in alike if one.nodes}
    starts = [it for one in entries if (it := one.start_estimate) is not None]
    partitions = {one.partition for one in entries}
    elapsed = None
    if its.elapsed is not None:
        elapsed = max(one.elapsed or 0 for one in alike)
    return QueueRow(
        fold.key, first.cluster, label, state, _names(entries), shown, tasks,
        size=sum(one.size for one in entries), first=first_directory(first),
        partition=first.partition if len(partitions) == 1 else "",
        nodes=min(nodes) if len(nodes) == 1 else "",
        elapsed=elapsed, limit=its.limit, reason=its.cause if len(alike) > 1 else its.why,
        start_estimate=min(starts, default=None),
        user="" if first.ours else first.user, record=_brief(its),
    )  # fmt: skip


def _label(entries: Sequence[JobRecord], first: JobRecord) -> tuple[str, str]:
    """Return `4711` and `[0-63,70]`; for a bundle, `4711` and the number of jobs."""
    number = str(first.job_id) if first.job_id else NO_ID
    if first.member is not None:
        return number, f"×{len(entries)}"
    tasks = write_tasks(one.task or 0 for one in entries)
    if len(tasks) > WIDEST_TASKS:
        tasks = tasks[: WIDEST_TASKS - 1].rpartition(",")[0] + ",…"
    return number, f"[{tasks}]"


def _names(entries: Sequence[JobRecord]) -> str:
    names = dict.fromkeys(one.title for one in entries)
    shown = list(names)[:3]
    return ", ".join(shown) + (", …" if len(names) > len(shown) else "")


def _brief(record: JobRecord) -> JobRecord | None:
    return record.in_brief(SHOWN_DIRECTORIES) if record.ours else None
