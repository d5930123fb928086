"""Intervals of the past: round lengths of local time, with the jobs that ended in each. Pure.

Takes the times of jobs; gives the edges of intervals, and for each the jobs that ended, the hours
charged to them and the CPUs in use.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.base.document import Moment, TextOrNull
from rowtui.core.base.lazy import np
from rowtui.core.usage.requested import of_kind
from rowtui.core.usage.store import UsageColumns
from rowtui.core.usage.table import ended_well, has_failed, was_cancelled

if TYPE_CHECKING:
    from numpy.typing import NDArray

HOUR, DAY, WEEK = 3600, 86_400, 7 * 86_400
LENGTHS = (
    60, 300, 900, 1800, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, WEEK, 4 * WEEK, 16 * WEEK,
)  # fmt: skip
"""The lengths that an interval may have, in seconds."""

LEAST_INTERVALS, MOST_INTERVALS = 4, 1000

_SKEW = DAY  # Ends further in the future than this are damage, not another clock.


class PastInterval(NamedTuple):
    """The jobs that ended from `start` on, up to the next interval.

    `cpu_hours`: charged to these jobs; `cpus_in_use`: the mean during the interval, of all jobs
    that have ended since, and of the running ones that are known.
    """

    start: Moment
    jobs: int
    ended_well: int
    failed: int
    cancelled: int
    cpu_hours: float
    cpus_in_use: float


class UnendedJob(NamedTuple):
    """A job that runs. `limit_at`: when it must have ended; null if it has no limit."""

    id: TextOrNull
    action: str
    node: TextOrNull
    started_at: Moment
    limit_at: Moment | None
    cpus: int


class JobTimes(NamedTuple):
    """Epoch seconds of each job, and which of them are usable. Without a known wall time a job
    begins at its end.
    """

    started: NDArray[Any]
    ended: NDArray[Any]
    submitted: NDArray[Any]
    measured: NDArray[Any]
    known: NDArray[Any]

    @classmethod
    def of(cls, columns: UsageColumns, now: float) -> JobTimes:
        ended = columns.column("ended_at").astype(np.float64)
        submitted = columns.column("submitted_at").astype(np.float64)
        wall = columns.column("wall").astype(np.float64)
        measured = np.isfinite(wall) & (wall >= 0)
        started = ended - np.where(measured, wall, 0.0)
        # Ends are whole seconds: a short job could begin before it was submitted.
        started = np.minimum(np.maximum(started, submitted), ended)
        known = (ended > 0) & (ended <= now + _SKEW)
        return cls(started, ended, submitted, measured, known)

    def where(self, mask: NDArray[Any]) -> JobTimes:
        """Return the times of the jobs where this is true."""
        return JobTimes(*(column[mask] for column in self))


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
        start += timedelta(seconds=chosen)  # of a naive time: by the clock on the wall
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


def intervals_of(
    columns: UsageColumns,
    times: JobTimes,
    edges: list[float],
    last: float,
    running: Sequence[UnendedJob] = (),
) -> tuple[PastInterval, ...]:
    """Return the jobs of each interval; the last one ends at `last`, up to which jobs ran that
    still run.
    """
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
    ends = np.append(bounds[:-1], max(last, edges[-2] + 1.0))
    lasting = times.measured & (times.ended > times.started)
    used = _cpu_seconds(times.started[lasting], times.ended[lasting], cpus[lasting], ends)
    starts = np.array([min(job.started_at, ends[-1]) for job in running], np.float64)
    still = np.full(len(running), ends[-1])
    used += _cpu_seconds(starts, still, np.array([job.cpus for job in running]), ends)
    lengths = np.diff(ends)
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


def _cpu_seconds(
    started: NDArray[Any], ended: NDArray[Any], cpus: NDArray[Any], bounds: NDArray[Any]
) -> NDArray[Any]:
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

    difference: NDArray[Any] = np.diff(up_to(started) - up_to(ended))
    return difference
