"""Charts of shares and sizes: use of limits, waits, failures by node and by cause. Pure.

As `job_charts`, each function takes a `PastView` and a `ChartArea`, and returns lines.
"""

from __future__ import annotations

from collections.abc import Sequence

from rowtui.core.base.text import count, plural
from rowtui.core.usage.past import PartitionWait, PastView
from rowtui.core.usage.past_nodes import chance_text
from rowtui.core.usage.past_shares import BINS, MEMORY, WALLTIME, UsedShare
from rowtui.tui.widgets.bar_charts import BOX, BarRow, bars_chart, box_lengths
from rowtui.tui.widgets.cells import Line
from rowtui.tui.widgets.chart import ChartArea, ChartPart, sentence
from rowtui.tui.widgets.chart_axes import COUNTS, DURATIONS, SHARES
from rowtui.tui.widgets.column_charts import columns_chart

_USED = {
    WALLTIME: ChartPart("time", (), "completed"),
    MEMORY: ChartPart("memory", (), "submitted", "▒", "x"),
}
_WAITS = (
    ChartPart("half of the jobs", (), "submitted"),
    ChartPart("9 of 10", (), "eligible", "▒", "x"),
    ChartPart("the longest", (), "faint", "░", "-"),
)
_ONE = ChartPart("failed", (), "failed")

_HISTOGRAM, _BOXES = 10, 5  # lines of a histogram and of box plots at least
_LOW = 0.4  # a median share below this is worth a sentence


def _in_all(past: PastView) -> dict[str, UsedShare]:
    return {one.resource: one for one in past.used if not one.action and one.resource in _USED}


def used(past: PastView, area: ChartArea) -> list[Line]:
    """Return the jobs by the share of their limits that they used, and where there is room a box
    plot for each action.
    """
    found = _in_all(past)
    if not found:
        return sentence("of no completed job is it known what it used of its limits", area)
    boxes = [
        BarRow(
            f"{one.action} {_USED[one.resource].name}",
            box_lengths((one.least, one.lower, one.median, one.upper, one.most)),
            (f"half use {one.median:.0%}", f"{one.median:.0%}"),
        )
        for one in sorted(past.used, key=lambda one: one.action)
        if one.action and one.resource in _USED
    ]
    room = area.height - _HISTOGRAM - 1
    size = min(len(boxes) + 3, room) if boxes and room >= _BOXES else 0
    chart = _histogram(list(found.values()), area._replace(height=area.height - size - (size > 0)))
    if not size:
        return chart
    below = bars_chart(boxes, BOX, "", area._replace(height=size), SHARES, most=1.0)
    return [*chart, (), *below]


def _histogram(found: Sequence[UsedShare], area: ChartArea) -> list[Line]:
    """Return columns for each tenth of the limits, those of time and memory side by side."""
    over = any(one.bins[BINS] for one in found)
    bins = BINS + over
    each = len(found) + 1  # and a gap
    parts = []
    for place, one in enumerate(found):
        values = [0.0] * (bins * each - 1)
        values[place::each] = [float(number) for number in one.bins[:bins]]
        parts.append(_USED[one.resource]._replace(values=values))
    limit = BINS / bins
    words = [(0.0, "0 %"), (limit / 2, "50 %"), (limit, "the limit"), (1.0, "more")]
    return columns_chart(
        parts[::-1], words[: 3 + over], "jobs by the share that they used", area, COUNTS
    )


def of_used(past: PastView) -> str:
    """Return the medians of all completed jobs."""
    found = [f"{_USED[what].name} {one.median:.0%}" for what, one in _in_all(past).items()]
    return f"median: {', '.join(found)}".replace("%", " %") if found else ""


def used_words(past: PastView) -> str:
    """Return what to do if most jobs ask for far more than they use."""
    low = [one for one in _in_all(past).values() if one.median < _LOW]
    if not low:
        return ""
    what = min(low, key=lambda one: one.median).resource
    return f"Most jobs ask for too much {_USED[what].name}: e in 3 Explain changes it."


def waits(past: PastView, area: ChartArea) -> list[Line]:
    """Return how long jobs waited in each partition."""
    rows = [
        BarRow(
            row.partition,
            (
                row.median_seconds,
                max(0.0, row.most_of_seconds - row.median_seconds),
                max(0.0, row.longest_seconds - row.most_of_seconds),
            ),
            (f"{_three(row)}   {plural(row.jobs, 'job')}", _three(row), ""),
        )
        for row in past.waits
    ]
    if not rows:
        return sentence("no start times are known yet", area)
    return bars_chart(rows, _WAITS, "", area, DURATIONS)


def _three(row: PartitionWait) -> str:
    """Return the three waits in the unit of the longest: `10 / 37 / 104 min`."""
    seconds = (row.median_seconds, row.most_of_seconds, row.longest_seconds)
    units = ((1, "s"), (60, "min"), (3600, "h"))
    size, unit = next((each for each in units if seconds[2] < 300 * each[0]), units[-1])
    return f"{' / '.join(f'{one / size:,.0f}' for one in seconds)} {unit}"


def of_waits(past: PastView) -> str:
    """Return how many jobs are counted, and what is left out."""
    more = past.partitions_left_out
    left = f", {plural(more, 'partition')} left out" if more else ""
    jobs = sum(row.jobs for row in past.waits)
    return f"{plural(jobs, 'job')}{left}" if jobs else ""


def nodes(past: PastView, area: ChartArea) -> list[Line]:
    """Return the share of failed jobs of each node, the worst first."""
    if not past.nodes:
        return sentence("the nodes of these jobs are not known", area)
    room = max(2, area.height - 3)
    shown = [row for row in past.nodes if row.failed][: room - 1]
    rows = [_node_row(row.node, row.failed, row.jobs, row.stands_out) for row in shown]
    rest = [row for row in past.nodes if row not in shown]
    if more := len(rest) + past.nodes_left_out:
        failed = sum(row.failed for row in rest) + past.failed_on_others
        jobs = sum(row.jobs for row in rest) + past.jobs_on_others
        rows.append(_node_row(f"{count(more)} more" if rows else "all", failed, jobs, False))
    unit = "failed jobs, of all that ended on a node"
    return bars_chart(rows, [_ONE], unit, area, SHARES, most=1.0)


def _node_row(name: str, failed: int, jobs: int, stands_out: bool) -> BarRow:
    share = f"{failed / max(1, jobs) * 100:.1f} %"
    texts = (f"{share}  {count(failed):>3} of {count(jobs):>4}", share, "")
    return BarRow(name, (failed / max(1, jobs),), texts, "title" if stands_out else "")


def of_nodes(past: PastView) -> str:
    """Return which nodes stand out."""
    found = [row.node for row in past.nodes if row.stands_out]
    if found:
        more = f" and {plural(len(found) - 1, 'other')}" if len(found) > 1 else ""
        return f"{found[0]}{more} stands out"
    known = len(past.nodes) + past.nodes_left_out
    return f"no node stands out of {count(known)}" if known > 1 else ""


def node_words(past: PastView) -> str:
    """Return a sentence about the worst node that stands out."""
    row = next((row for row in past.nodes if row.stands_out), None)
    if row is None:
        return "No node fails more often than chance allows." if past.failed and past.nodes else ""
    return (
        f"{row.node} fails more often than chance allows: {row.failed:,} of {row.jobs:,} jobs "
        f"failed, {row.expected:.0f} would be usual ({chance_text(row.chance)})."
    )


def causes(past: PastView, area: ChartArea) -> list[Line]:
    """Return the jobs that failed by their cause."""
    if not past.causes:
        return sentence("no job failed", area)
    rows = [BarRow(one.cause, (one.jobs,), (count(one.jobs),)) for one in past.causes]
    return bars_chart(rows, [_ONE], "failed jobs by cause", area, COUNTS)
