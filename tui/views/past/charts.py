"""The five charts of the view Past, as pure functions of the engine's answer and a size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rowtui.core.base.text import count, hours, in_words, plural
from rowtui.core.usage.past import PastJob, PastView
from rowtui.core.usage.past_intervals import HOUR
from rowtui.core.usage.past_nodes import NodeFailures, chance_text
from rowtui.tui.widgets.cells import Line, line, wrapped
from rowtui.tui.widgets.chart import ChartArea, ChartMark, ChartPart
from rowtui.tui.widgets.time_charts import (
    BarRow,
    SpanRow,
    bars_chart,
    columns_chart,
    curve_chart,
    spans_chart,
)

Draw = Callable[[PastView, ChartArea], Sequence[Line]]

WELL = ChartPart("well", ())
FAILED = ChartPart("failed", (), "failed", "▒", "x")
CANCELLED = ChartPart("cancelled", (), "waiting", "░", "-")
STATES = {"completed": 0, "failed": 1, "cancelled": 2}


class PastChart(NamedTuple):
    """One chart. `short`: its title in a line of choices; `below`: what its frame says."""

    name: str
    title: str
    short: str
    draw: Draw
    below: Callable[[PastView], str]


def interval_words(seconds: int) -> str:
    """Return `hour`, `5 minutes`, `week`: the length of an interval."""
    for unit, name in ((7 * 24 * HOUR, "week"), (24 * HOUR, "day"), (HOUR, "hour"), (60, "minute")):
        if seconds >= unit:
            return name if seconds == unit else plural(seconds // unit, name)
    return plural(seconds, "second")


def _times(past: PastView) -> tuple[float, float]:
    first = past.intervals[0].start
    return first, first + len(past.intervals) * past.seconds_each


def throughput(past: PastView, area: ChartArea) -> list[Line]:
    """Return the jobs that ended in each interval."""
    each = past.intervals
    parts = [
        WELL._replace(values=[one.ended_well for one in each]),
        CANCELLED._replace(values=[one.cancelled for one in each]),
        FAILED._replace(values=[one.failed for one in each]),
    ]
    shown = [parts[0], *(part for part in parts[1:] if any(part.values))]
    return columns_chart(shown, _times(past), f"jobs per {interval_words(past.seconds_each)}", area)


def _of_jobs(past: PastView) -> str:
    charged = sum(each.cpu_hours for each in past.intervals)
    return f"{plural(past.job_count, 'job')}, {hours(charged)} CPU-hours"


def cpus(past: PastView, area: ChartArea) -> list[Line]:
    """Return the CPUs in use over time."""
    if area.mark is not ChartMark.ASCII:
        area = area._replace(mark=ChartMark.BRAILLE)
    values = [one.cpus_in_use for one in past.intervals]
    return curve_chart(values, _times(past), "CPUs in use, of jobs that have ended", area)


def waits(past: PastView, area: ChartArea) -> list[Line]:
    """Return how long jobs waited in each partition."""
    rows = []
    for row in past.waits:
        seconds = (row.median_seconds, row.most_of_seconds, row.longest_seconds)
        median, most_of, longest = map(_wait, seconds)
        rows.append(
            BarRow(
                row.partition,
                seconds,
                (
                    f"{median}, 90 % {most_of}, longest {longest}, {plural(row.jobs, 'job')}",
                    f"{median}, 90 % {most_of}, longest {longest}",
                    f"{median}, 90 % {most_of}",
                    median,
                ),
            )
        )
    parts = [
        ChartPart("median", (), "submitted"),
        ChartPart("90 %", (), "eligible", "▒", "="),
        ChartPart("longest", (), "faint", "░", "-"),
    ]
    if not rows:
        return [line(("of no job both the submission and the start are known", "dim"))]
    return bars_chart(rows, parts, "wait", area)


def _of_waits(past: PastView) -> str:
    more = past.partitions_left_out
    return f"{plural(more, 'partition')} left out" if more else ""


def nodes(past: PastView, area: ChartArea) -> list[Line]:
    """Return the share of failed jobs of each node, the worst first."""
    if not past.nodes:
        return [line(("the nodes of these jobs are not known", "dim"))]
    bad = [row for row in past.nodes if row.failed]
    if not bad:
        return [line((f"no job failed on {plural(len(past.nodes), 'node')}", "completed"))]
    return bars_chart(
        [_node_row(row) for row in bad],
        [ChartPart("failed", (), "failed", "█", "x")],
        "share of jobs that failed, of 100 %",
        area,
        whole=1.0,
    )


def _node_row(row: NodeFailures) -> BarRow:
    share = f"{row.failed / row.jobs:4.0%}"
    long = f"{share}, {count(row.failed)} of {count(row.jobs)}"
    if not row.stands_out:
        return BarRow(row.node, (row.failed / row.jobs,), (long, share))
    usual = f"{row.expected:.0f} usual"
    texts = (
        f"{long}: stands out ({usual}, {chance_text(row.chance)})",
        f"{long}: stands out",
        f"{share} stands out",
    )
    return BarRow(row.node, (row.failed / row.jobs,), texts, "title")


def _of_nodes(past: PastView) -> str:
    found = [row.node for row in past.nodes if row.stands_out]
    if found:
        more = f" and {plural(len(found) - 1, 'other')}" if len(found) > 1 else ""
        return f"{found[0]}{more} stands out"
    known = len(past.nodes) + past.nodes_left_out
    return f"no node stands out of {count(known)}" if known > 1 else ""


def newest(past: PastView, area: ChartArea, *, by_action: bool = False) -> list[Line]:
    """Return the newest jobs from start to end; with `by_action` those of an action together."""
    jobs = sorted(past.jobs, key=lambda job: job.ended_at)[-max(1, area.height - 2) :]
    jobs.sort(key=lambda job: (job.started_at, job.id))
    if by_action:
        order = {job.action: place for place, job in reversed([*enumerate(jobs)])}
        jobs.sort(key=lambda job: order[job.action])
    if not jobs:
        return [line(("of no job the start is known", "dim"))]
    rows = [
        SpanRow(_job_name(job, by_action), job.started_at, job.ended_at, STATES[job.state])
        for job in jobs
    ]
    return spans_chart(rows, (WELL, FAILED, CANCELLED), area)


def _of_newest(past: PastView) -> str:
    return f"the newest of {plural(past.job_count, 'job')}"


def _job_name(job: PastJob, by_action: bool) -> str:
    return f"{job.action} {job.id}" if by_action else f"{job.id} {job.action}".strip()


def by_action(past: PastView, area: ChartArea) -> list[Line]:
    """Return the newest jobs of a network, those of a node of the network together."""
    return newest(past, area, by_action=True)


def _wait(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 60 else in_words(seconds / HOUR)


CHARTS = (
    PastChart("throughput", "Jobs that ended", "jobs", throughput, _of_jobs),
    PastChart("cpus", "CPUs in use", "CPUs", cpus, lambda _: ""),
    PastChart("waits", "Waits in queues", "waits", waits, _of_waits),
    PastChart("nodes", "Failures of nodes", "nodes", nodes, _of_nodes),
    PastChart("newest", "Newest jobs", "newest", newest, _of_newest),
)
"""All charts, in the order of the view."""


def nothing_lines(past: PastView | None, period: str, action: str, width: int) -> list[Line]:
    """Return why there is no chart, and what will change that. `period`: "" for all the time."""
    if past is None:
        return [line(("reading the records of ended jobs", "dim"))]
    if not past.all_jobs:
        text = (
            "No job has ended yet. Each job of this project that ends is recorded with its times, "
            "its node and its outcome, and this view then shows it. 5 submits jobs, 6 shows "
            "those that run."
        )
    else:
        of = f" of {action}" if action else ""
        text = f"No job{of} ended in {period}"
        if not period:
            text = f"When the jobs{of} of the records ended is not known"
        keys = ["] chooses another action"] * bool(action) + ["t chooses longer"] * bool(period)
        text += f"{': ' if keys else ''}{', '.join(keys)}."
    return wrapped(line((text, "dim")), width)
