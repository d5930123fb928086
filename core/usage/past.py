"""What ran when: throughput, CPUs in use, waits, failures, use of limits, and the jobs. Pure.

The input is `UsageColumns` and a time; the result is a `PastView`, whose size does not depend on
the number of jobs. The records have the jobs that have ended; a caller that has polled the queues
adds those that run. `past_intervals` has the intervals, `past_nodes` the test by which a node
stands out, `past_shares` what jobs used of their limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from rowtui.core.base.document import Moment, TextOrNull
from rowtui.core.base.lazy import np
from rowtui.core.clusters.schedulers.base import job_label
from rowtui.core.usage.past_intervals import (
    DAY,
    HOUR,
    LEAST_INTERVALS,
    MOST_INTERVALS,
    WEEK,
    JobTimes,
    PastInterval,
    UnendedJob,
    interval_edges,
    intervals_of,
)
from rowtui.core.usage.past_nodes import MOST_NODES, NodeFailures, node_failures
from rowtui.core.usage.past_shares import (
    BudgetPast,
    CauseCount,
    UsedShare,
    cause_counts,
    past_shares,
)
from rowtui.core.usage.store import UsageColumns
from rowtui.core.usage.table import chosen_usage, groups_of

BY = {"auto": 0, "hour": HOUR, "day": DAY, "week": WEEK}
"""The lengths that a user may choose, in seconds; 0: as short as the number of intervals allows."""

MOST_PARTITIONS = 50
MOST_JOBS = 500


class PartitionWait(NamedTuple):
    """Seconds from submission to start; 90 % of the jobs waited at most `most_of_seconds`."""

    partition: str
    jobs: int
    median_seconds: float
    most_of_seconds: float
    longest_seconds: float


class PastJob(NamedTuple):
    """One job. `state`: `completed`, `failed` or `cancelled`; `reason`: null if it ended well."""

    id: TextOrNull
    action: str
    node: TextOrNull
    started_at: Moment
    ended_at: Moment
    state: str
    reason: TextOrNull


Order = Literal["newest", "longest", "first"]


class PastRequest(NamedTuple):
    """What to look at. `since`: jobs that ended at this time (epoch seconds) or later, 0 for all.

    `actions`: patterns of names, `clusters`: names; empty for all. `by`: a key of `BY`.
    `intervals`: how many there may be; `jobs`: how many single jobs, and `order` which of them.
    `period`: only jobs that ended in the last so many seconds, 0 for all.
    """

    since: float = 0.0
    actions: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    by: str = "auto"
    intervals: int = 60
    jobs: int = 100
    order: Order = "newest"
    period: float = 0.0


class PastView(NamedTuple):
    """`history`. `..._left_out`: how many rows a list is short of; `jobs`: the newest ones.

    `actions`: all with jobs in the records, also those that were not chosen; `all_jobs`: jobs in
    the records, of which `job_count` were chosen. `now`: the time of this answer. `running`: jobs
    that have not ended, `budgets`: what was left at the ends of the intervals; both are empty where
    the queues were not polled. `..._on_others`: of the nodes that are left out.
    """

    first: Moment
    last: Moment
    seconds_each: int
    intervals: tuple[PastInterval, ...]
    older_intervals_left_out: bool
    waits: tuple[PartitionWait, ...]
    partitions_left_out: int
    nodes: tuple[NodeFailures, ...]
    nodes_left_out: int
    jobs: tuple[PastJob, ...]
    jobs_left_out: int
    job_count: int
    damaged_records: int
    actions: tuple[str, ...]
    all_jobs: int
    now: Moment
    used: tuple[UsedShare, ...] = ()
    causes: tuple[CauseCount, ...] = ()
    running: tuple[UnendedJob, ...] = ()
    budgets: tuple[BudgetPast, ...] = ()
    jobs_on_others: int = 0
    failed_on_others: int = 0

    @property
    def failed(self) -> int:
        """The chosen jobs that failed."""
        return sum(each.failed for each in self.intervals)

    @property
    def cpu_hours(self) -> float:
        """The hours charged to the chosen jobs."""
        return sum(each.cpu_hours for each in self.intervals)

    @property
    def ends(self) -> tuple[float, ...]:
        """The ends of the intervals, the newest no later than `last`."""
        return (*(each.start for each in self.intervals[1:]), self.last)[: len(self.intervals)]


def past_view(
    columns: UsageColumns, asked: PastRequest, now: float, running: Iterable[UnendedJob] = ()
) -> PastView:
    """Return the past of the chosen jobs. `now`: epoch seconds; `running`: of all actions."""
    actions = tuple(sorted({columns.kind(line).action for line in columns.lines("kind")} - {""}))
    since = max(asked.since, now - asked.period if asked.period else 0.0)
    chosen = columns
    if asked.actions or asked.clusters or since:
        chosen = chosen_usage(columns, actions=asked.actions, clusters=asked.clusters, since=since)
    times = JobTimes.of(chosen, now)
    if not times.known.all():
        chosen, times = chosen.chosen(times.known), times.where(times.known)
    if not len(chosen):
        return PastView(
            since or now, now, 0, (), False, (), 0, (), 0, (), 0, 0, columns.damaged, actions,
            len(columns), now,
        )  # fmt: skip
    running = _of_actions(running, asked.actions)
    first = since or float(times.started.min())
    last = max(first + 1.0, now if since or running else float(times.ended.max()))
    edges, seconds, cut = interval_edges(
        first, last, BY.get(asked.by, 0), min(max(asked.intervals, LEAST_INTERVALS), MOST_INTERVALS)
    )
    waits = _waits(chosen, times)
    nodes = node_failures(chosen)
    others = nodes[MOST_NODES:]
    jobs = _jobs(chosen, times, max(0, min(asked.jobs, MOST_JOBS)), asked.order)
    return PastView(
        max(first, edges[0]),
        last,
        seconds,
        intervals_of(chosen, times, edges, last, running),
        cut,
        tuple(waits[:MOST_PARTITIONS]),
        max(0, len(waits) - MOST_PARTITIONS),
        tuple(nodes[:MOST_NODES]),
        len(others),
        jobs,
        len(chosen) - len(jobs),
        len(chosen),
        columns.damaged,
        actions,
        len(columns),
        now,
        past_shares(chosen),
        cause_counts(chosen),
        running[:MOST_JOBS],
        jobs_on_others=sum(node.jobs for node in others),
        failed_on_others=sum(node.failed for node in others),
    )


def _of_actions(jobs: Iterable[UnendedJob], patterns: Sequence[str]) -> tuple[UnendedJob, ...]:
    """Return the jobs of these actions in the order of their starts."""
    found = (
        job for job in jobs if not patterns or any(fnmatchcase(job.action, it) for it in patterns)
    )
    return tuple(sorted(found, key=lambda job: (job.started_at, job.id or "")))


def _waits(columns: UsageColumns, times: JobTimes) -> list[PartitionWait]:
    """Return a row for each partition, the one with the most jobs first."""
    known = times.measured & (times.submitted > 0)
    names, groups = groups_of(columns, "partition")
    waits, groups = (times.started - times.submitted)[known], groups[known]
    order = np.argsort(groups, kind="stable")
    bounds = np.flatnonzero(np.diff(groups[order], prepend=-1))
    rows = []
    for part in np.split(order, bounds[1:]) if len(order) else ():
        median, most_of, longest = np.quantile(waits[part], (0.5, 0.9, 1.0)).tolist()
        rows.append(PartitionWait(names[int(groups[part[0]])], len(part), median, most_of, longest))
    return sorted(rows, key=lambda row: (-row.jobs, row.partition))


def _jobs(columns: UsageColumns, times: JobTimes, most: int, order: Order) -> tuple[PastJob, ...]:
    """Return at most so many jobs with a known start: the newest, the longest or the first ones,
    in the order of their starts.
    """
    key = {
        "newest": -times.ended,
        "longest": times.started - times.ended,
        "first": times.started,
    }[order]
    key = np.where(times.measured, key, np.inf)
    most = min(most, int(times.measured.sum()))
    if not most:
        return ()
    mask = np.zeros(len(columns), bool)
    mask[np.argpartition(key, most - 1)[:most]] = True
    shown = columns.chosen(mask)
    starts = times.started[mask].tolist()
    rows = [
        PastJob(
            job_label(job.job_id, job.token) or "",
            job.kind.action,
            job.used.node,
            start,
            job.ended_at,
            job.end.outcome.state.value,
            job.end.cause,
        )
        for job, start in zip(shown.jobs(), starts, strict=True)
    ]
    return tuple(sorted(rows, key=lambda row: (row.started_at, row.ended_at, len(row.id), row.id)))
