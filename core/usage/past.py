"""What ran when: throughput, CPUs in use, waits, failures of nodes, and the jobs themselves. Pure.

The input is `UsageColumns` and a time; the result is a `PastView`, whose size does not depend on
the number of jobs. Only jobs that have ended are in the records: CPUs of jobs that still run are
not counted. `past_nodes` has the test by which a node stands out.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rowtui.core.base.document import Moment, TextOrNull
from rowtui.core.base.lazy import np
from rowtui.core.clusters.schedulers.base import job_label
from rowtui.core.usage.past_nodes import NodeFailures, node_failures
from rowtui.core.usage.requested import of_kind
from rowtui.core.usage.store import UsageColumns
from rowtui.core.usage.table import (
    chosen_usage,
    ended_well,
    groups_of,
    has_failed,
    was_cancelled,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

HOUR, DAY, WEEK = 3600, 86_400, 7 * 86_400
LENGTHS = (
    60, 300, 900, 1800, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, WEEK, 4 * WEEK, 16 * WEEK,
)  # fmt: skip
"""The lengths that an interval may have, in seconds."""

BY = {"auto": 0, "hour": HOUR, "day": DAY, "week": WEEK}
"""The lengths that a user may choose, in seconds; 0: as short as the number of intervals allows."""

LEAST_INTERVALS, MOST_INTERVALS = 4, 1000
MOST_PARTITIONS = 50
MOST_JOBS = 500

_SKEW = DAY  # Ends further in the future than this are damage, not another clock.


class PastInterval(NamedTuple):
    """The jobs that ended from `start` on, up to the next interval.

    `cpu_hours`: charged to these jobs; `cpus_in_use`: the mean during the interval, of all jobs
    that have ended since.
    """

    start: Moment
    jobs: int
    ended_well: int
    failed: int
    cancelled: int
    cpu_hours: float
    cpus_in_use: float


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
    the records, of which `job_count` were chosen.
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


def past_view(columns: UsageColumns, asked: PastRequest, now: float) -> PastView:
    """Return the past of the chosen jobs. `now`: epoch seconds."""
    actions = tuple(sorted({columns.kind(line).action for line in columns.lines("kind")} - {""}))
    since = max(asked.since, now - asked.period if asked.period else 0.0)
    chosen = columns
    if asked.actions or asked.clusters or since:
        chosen = chosen_usage(columns, actions=asked.actions, clusters=asked.clusters, since=since)
    times = _Times.of(chosen, now)
    if not times.known.all():
        chosen, times = chosen.chosen(times.known), times.where(times.known)
    if not len(chosen):
        return PastView(
            since or now, now, 0, (), False, (), 0, (), 0, (), 0, 0, columns.damaged, actions,
            len(columns),
        )  # fmt: skip
    first = since or float(times.started.min())
    last = max(first + 1.0, now if since else float(times.ended.max()))
    edges, seconds, cut = interval_edges(
        first, last, BY.get(asked.by, 0), min(max(asked.intervals, LEAST_INTERVALS), MOST_INTERVALS)
    )
    waits = _waits(chosen, times)
    nodes, nodes_left_out = node_failures(chosen)
    jobs = _jobs(chosen, times, max(0, min(asked.jobs, MOST_JOBS)), asked.order)
    return PastView(
        max(first, edges[0]),
        last,
        seconds,
        _intervals(chosen, times, edges, last),
        cut,
        tuple(waits[:MOST_PARTITIONS]),
        max(0, len(waits) - MOST_PARTITIONS),
        nodes,
        nodes_left_out,
        jobs,
        len(chosen) - len(jobs),
        len(chosen),
        columns.damaged,
        actions,
        len(columns),
    )


class _Times(NamedTuple):
    """Epoch seconds of each job, and which of them are usable. Without a known wall time a job
    begins at its end.
    """

    started: NDArray[Any]
    ended: NDArray[Any]
    submitted: NDArray[Any]
    measured: NDArray[Any]
    known: NDArray[Any]

    @classmethod
    def of(cls, columns: UsageColumns, now: float) -> _Times:
        ended = columns.column("ended_at").astype(np.float64)
        submitted = columns.column("submitted_at").astype(np.float64)
        wall = columns.column("wall").astype(np.float64)
        measured = np.isfinite(wall) & (wall >= 0)
        started = ended - np.where(measured, wall, 0.0)
        # Ends are whole seconds: a short job could begin before it was submitted.
        started = np.minimum(np.maximum(started, submitted), ended)
        known = (ended > 0) & (ended <= now + _SKEW)
        return cls(started, ended, submitted, measured, known)

    def where(self, mask: NDArray[Any]) -> _Times:
        """Return the times of the jobs where this is true."""
        return _Times(*(column[mask] for column in self))


# Intervals


def interval_edges(
    first: float, last: float, seconds: int, most: int
) -> tuple[list[float], int, bool]:
    """Return the edges of intervals of a round length that cover the time, in epoch seconds.

    They lie at full minutes, hours or days (weeks: Mondays) of local time. The length is `seconds`,
    or the shortest for which at most `most` intervals are needed if `seconds` is 0. Then the
    length, and whether the oldest intervals are missing because even `MOST_INTERVALS` of a given
    length do not reach back to `first`.
    """
    chosen = seconds or next(
        (each for each in LENGTHS if (last - first) / each + 2 <= most), LENGTHS[-1]
    )
    limit = MOST_INTERVALS if seconds else most
    cut = (last - first) / chosen + 2 > limit
    if cut:
        first = last - (limit - 2) * chosen
    start = _floor(first, chosen)
    edges = [start.timestamp()]
    while edges[-1] <= last:
        start = _next(start, chosen)
        edges.append(start.timestamp())
    return edges, chosen, cut


def _floor(at: float, seconds: int) -> datetime:
    """Return the last round local time up to this one, as a naive local time or in UTC."""
    local = datetime.fromtimestamp(at, UTC).astimezone()
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    if seconds >= WEEK:
        return midnight - timedelta(days=midnight.weekday())
    if seconds == DAY:
        return midnight
    if seconds > HOUR:
        return midnight + timedelta(hours=local.hour // (seconds // HOUR) * (seconds // HOUR))
    # Up to an hour: equal lengths also where clocks change, from a round time of today's clock.
    offset = local.utcoffset() or timedelta()
    shifted = at + offset.total_seconds()
    return datetime.fromtimestamp(shifted // seconds * seconds - offset.total_seconds(), UTC)


def _next(start: datetime, seconds: int) -> datetime:
    return start + timedelta(seconds=seconds)  # of a naive time: by the clock on the wall


def _intervals(
    columns: UsageColumns, times: _Times, edges: list[float], last: float
) -> tuple[PastInterval, ...]:
    bounds = np.array(edges)
    count = len(edges) - 1
    cpus = of_kind(columns, lambda kind: kind.cpus)
    place = np.searchsorted(bounds, times.ended, "right") - 1
    inside = (place >= 0) & (place < count)
    charged = np.where(times.measured, columns.column("wall"), 0.0) * cpus / HOUR

    def counted(mask: NDArray[Any]) -> list[int]:
        found: list[int] = np.bincount(place[mask & inside], minlength=count).tolist()
        return found

    hours = np.bincount(place[inside], charged[inside], minlength=count)
    used = _cpu_seconds(times, cpus, np.append(bounds[:-1], max(last, edges[-2] + 1.0)))
    lengths = np.diff(np.append(bounds[:-1], max(last, edges[-2] + 1.0)))
    good, bad, cancelled = map(
        counted, (ended_well(columns), has_failed(columns), was_cancelled(columns))
    )
    return tuple(
        map(
            PastInterval,
            edges[:-1],
            map(sum, zip(good, bad, cancelled, strict=True)),
            good,
            bad,
            cancelled,
            hours.tolist(),
            np.maximum(0.0, used / lengths).tolist(),
        )
    )


def _cpu_seconds(times: _Times, cpus: NDArray[Any], bounds: NDArray[Any]) -> NDArray[Any]:
    """Return the CPU seconds in use between each two bounds."""

    def up_to(at: NDArray[Any]) -> NDArray[Any]:
        """Return, for each bound, the CPU seconds since these times if no job ended."""
        place = np.searchsorted(bounds, at, "left")  # the first bound that the time is before
        weights = np.bincount(place, cpus, minlength=len(bounds) + 1)[: len(bounds)]
        # Relative to the first bound, so that the sums keep their precision.
        moments = np.bincount(place, cpus * (at - bounds[0]), minlength=len(bounds) + 1)
        moments = moments[: len(bounds)]
        total: NDArray[Any] = np.cumsum(weights) * (bounds - bounds[0]) - np.cumsum(moments)
        return total

    lasting = times.measured & (times.ended > times.started)
    times, cpus = times.where(lasting), cpus[lasting]
    difference: NDArray[Any] = np.diff(up_to(times.started) - up_to(times.ended))
    return difference


# Waits


def _waits(columns: UsageColumns, times: _Times) -> list[PartitionWait]:
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


# Single jobs


def _jobs(columns: UsageColumns, times: _Times, most: int, order: Order) -> tuple[PastJob, ...]:
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
    return tuple(sorted(rows, key=lambda row: (row.started_at, row.ended_at, row.id)))
