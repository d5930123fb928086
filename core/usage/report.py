"""What a project's jobs did, as one value for a report: totals, times, waits and failures. Pure.

The input is `UsageColumns` and the jobs' costs; the result is a `UsageReport`, whose size does not
depend on the number of jobs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.base.lazy import np
from rowtui.core.usage.costs import JobCosts
from rowtui.core.usage.model import JobUsage
from rowtui.core.usage.past_shares import UsedShare, used_shares
from rowtui.core.usage.store import UsageColumns
from rowtui.core.usage.table import (
    UsageRow,
    ended_well,
    groups_of,
    has_failed,
    total_row,
    usage_table,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

BINS = 60
MOST_ROWS = 50  # actions, clusters, nodes, partitions or reasons in a report
MOST_DAYS = 100  # the newest
MOST_BARS = 200  # jobs that are all drawn one by one
CHOSEN_BARS = 80  # jobs that are drawn one by one if there are more
MOST_DRAWN = 12  # actions that are drawn as density or as distributions
EXAMPLES = 3  # failed jobs that are named for each cause


class Interval(NamedTuple):
    """Jobs that ended within some time. `start`: epoch seconds."""

    start: float
    ended_well: int
    failed: int


class QueueWait(NamedTuple):
    """How long jobs waited in a partition before they began, in seconds."""

    partition: str
    jobs: int
    median: float
    most: float


class JobBar(NamedTuple):
    """The run of one job, in epoch seconds."""

    job: JobUsage
    start: float
    end: float


class Density(NamedTuple):
    """How many jobs of an action ran at a time: the mean in each of the report's intervals."""

    action: str
    running: tuple[float, ...]


class FailedOfCause(NamedTuple):
    """The jobs that failed for one cause, and the newest of them."""

    reason: str
    jobs: int
    newest: tuple[JobUsage, ...]


class UsageReport(NamedTuple):
    """All numbers of a report. `total`: None without jobs; `intervals` have equal lengths.

    Tables have at most 50 rows, `days` the newest 100; `total`, `actions` and `clusters` have
    costs. `bars`: the jobs with a known time in the order of their start; of more than 200, failed
    jobs and the longest ones, and `density` has the actions with the most charged hours. `ran` and
    `unmeasured`: jobs with a known time, and without one.
    """

    total: UsageRow | None = None
    first: float = 0.0
    last: float = 0.0
    seconds_each: float = 0.0
    intervals: tuple[Interval, ...] = ()
    actions: tuple[UsageRow, ...] = ()
    reasons: tuple[UsageRow, ...] = ()
    nodes: tuple[UsageRow, ...] = ()
    days: tuple[UsageRow, ...] = ()
    waits: tuple[QueueWait, ...] = ()
    bars: tuple[JobBar, ...] = ()
    density: tuple[Density, ...] = ()
    shares: tuple[UsedShare, ...] = ()
    failures: tuple[FailedOfCause, ...] = ()
    clusters: tuple[UsageRow, ...] = ()
    ran: int = 0
    unmeasured: int = 0


def usage_report(columns: UsageColumns, costs: JobCosts) -> UsageReport:
    """Return the report of these jobs."""
    if not len(columns):
        return UsageReport()
    ended = columns.column("ended_at").astype(np.float64)
    known = ~np.isnan(columns.column("wall"))
    began = ended - np.nan_to_num(columns.column("wall").astype(np.float64))
    first, last = float(began.min()), float(ended.max())
    each = max((last - first) / BINS, 1.0)
    places = np.minimum(((ended - first) / each).astype(np.int64), BINS - 1)
    good, bad = ended_well(columns), has_failed(columns)
    failed = columns.chosen(bad)
    well, not_well = (np.bincount(places[mask], minlength=BINS) for mask in (good, bad))
    nodes = sorted(usage_table(columns, "node"), key=lambda it: (-it.failed, it.name))
    actions = tuple(usage_table(columns, "action", costs))
    drawn = [row.name for row in actions[:MOST_DRAWN]]
    ran = columns.chosen(known)
    few = len(ran) <= MOST_BARS
    edges = first + each * np.arange(BINS + 1)
    return UsageReport(
        total_row(columns, costs),
        first,
        last,
        each,
        tuple(
            Interval(first + place * each, int(well[place]), int(not_well[place]))
            for place in range(BINS)
        ),
        actions[:MOST_ROWS],
        tuple(sorted(usage_table(failed, "reason"), key=lambda it: -it.jobs)[:MOST_ROWS]),
        tuple(nodes[:MOST_ROWS]),
        tuple(usage_table(columns, "day")[-MOST_DAYS:]),
        tuple(_waits(columns, began)[:MOST_ROWS]),
        run_bars(ran if few else failed_or_longest(ran, CHOSEN_BARS)),
        () if few else running_jobs(ran, drawn, edges),
        used_shares(columns, drawn),
        failure_causes(failed),
        tuple(usage_table(columns, "cluster", costs)[:MOST_ROWS]),
        len(ran),
        int((~known).sum()),
    )


def failed_or_longest(columns: UsageColumns, most: int) -> UsageColumns:
    """Return the failed jobs that took longest, filled up with the other jobs that did."""
    order = np.lexsort((-columns.column("wall"), ~has_failed(columns)))
    mask: NDArray[np.bool_] = np.zeros(len(columns), bool)
    mask[order[:most]] = True
    return columns.chosen(mask)


def run_bars(columns: UsageColumns) -> tuple[JobBar, ...]:
    """Return the runs of these jobs in the order of their start."""
    bars = (JobBar(job, job.started_at, job.ended_at) for job in columns.jobs())
    return tuple(sorted(bars, key=lambda it: (it.start, it.end, it.job.token)))


def running_jobs(
    columns: UsageColumns, actions: list[str], edges: NDArray[Any]
) -> tuple[Density, ...]:
    """Return the mean number of running jobs between each two of the times `edges`."""
    names, group = groups_of(columns, "action")
    wall = columns.column("wall").astype(np.float64)
    began = columns.column("ended_at").astype(np.float64) - wall
    found = []
    for action in actions:
        if action not in names:
            continue
        its = group == names.index(action)
        start, length = began[its], wall[its]
        done = np.array([np.clip(edge - start, 0.0, length).sum() for edge in edges])
        mean = np.diff(done) / np.diff(edges)
        found.append(Density(action, tuple(float(it) for it in mean)))
    return tuple(found)


def failure_causes(failed: UsageColumns) -> tuple[FailedOfCause, ...]:
    """Return the causes of these failures, the most frequent first, with the newest jobs."""
    if not len(failed):
        return ()
    names, group = groups_of(failed, "reason")
    counts = np.bincount(group, minlength=len(names))
    order = np.argsort(failed.column("ended_at"), kind="stable")[::-1]
    found = []
    for index in sorted(range(len(names)), key=lambda it: (-counts[it], names[it]))[:MOST_ROWS]:
        mask: NDArray[np.bool_] = np.zeros(len(failed), bool)
        mask[order[group[order] == index][:EXAMPLES]] = True
        newest = sorted(failed.chosen(mask).jobs(), key=lambda it: -it.ended_at)
        found.append(FailedOfCause(names[index], int(counts[index]), tuple(newest)))
    return tuple(found)


def _waits(columns: UsageColumns, began: NDArray[Any]) -> list[QueueWait]:
    sent = columns.column("submitted_at").astype(np.float64)
    known = (sent > 0) & ~np.isnan(columns.column("wall"))
    waited = np.maximum(began - sent, 0.0)
    partitions, group = groups_of(columns, "partition")
    found = []
    for row in usage_table(columns, "partition"):
        its = waited[known & (group == partitions.index(row.name))]
        if len(its):
            found.append(QueueWait(row.name, len(its), float(np.median(its)), float(its.max())))
    return found
