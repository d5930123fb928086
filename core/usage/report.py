"""What a project's jobs did, as one value for a report: totals, times, waits and failures. Pure.

The input is `UsageColumns`; the result is a `UsageReport`, whose size does not depend on the number
of jobs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.usage.store import UsageColumns
from rowtui.core.usage.table import UsageRow, ended_well, groups_of, total_row, usage_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

BINS = 60
MOST_ROWS = 50  # nodes or reasons in a report


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


class UsageReport(NamedTuple):
    """All numbers of a report. `total`: None without jobs; `intervals` have equal lengths.

    `nodes` and `reasons` have at most 50 rows; `unmeasured`: jobs of which no time is known.
    """

    total: UsageRow | None
    first: float
    last: float
    seconds_each: float
    intervals: tuple[Interval, ...]
    actions: tuple[UsageRow, ...]
    reasons: tuple[UsageRow, ...]
    nodes: tuple[UsageRow, ...]
    waits: tuple[QueueWait, ...]
    unmeasured: int


def usage_report(columns: UsageColumns) -> UsageReport:
    """Return the report of these jobs."""
    import numpy as np

    if not len(columns):
        return UsageReport(None, 0.0, 0.0, 0.0, (), (), (), (), (), 0)
    ended = columns.column("ended_at").astype(np.float64)
    wall = np.nan_to_num(columns.column("wall").astype(np.float64))
    first, last = float((ended - wall).min()), float(ended.max())
    each = max((last - first) / BINS, 1.0)
    places = np.minimum(((ended - first) / each).astype(np.int64), BINS - 1)
    good = ended_well(columns)
    well, bad = (np.bincount(places[mask], minlength=BINS) for mask in (good, ~good))
    failed = columns.chosen(~good)
    nodes = sorted(usage_table(columns, "node"), key=lambda it: (it.ended_well - it.jobs, it.name))
    return UsageReport(
        total_row(columns),
        first,
        last,
        each,
        tuple(
            Interval(first + place * each, int(well[place]), int(bad[place]))
            for place in range(BINS)
        ),
        tuple(usage_table(columns)),
        tuple(sorted(usage_table(failed, "reason"), key=lambda it: -it.jobs)[:MOST_ROWS]),
        tuple(nodes[:MOST_ROWS]),
        tuple(_waits(columns, ended - wall)),
        int(np.isnan(columns.column("wall")).sum()),
    )


def _waits(columns: UsageColumns, began: NDArray[Any]) -> list[QueueWait]:
    import numpy as np

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
