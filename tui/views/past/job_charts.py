"""Charts of jobs over time: ended, CPUs in use, budgets, and the newest jobs. Pure.

Each function takes a `PastView` and a `ChartArea`, and returns lines; a chart without data is a
sentence that names what is missing. The view Status shows some of them, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from rowtui.core.base.text import count, in_words, plural
from rowtui.core.project.queue.throughput import HOURS, ActionThroughput
from rowtui.core.usage.past import PastJob, PastView
from rowtui.core.usage.past_intervals import DAY, HOUR, WEEK, UnendedJob
from rowtui.tui.widgets.bar_charts import BarRow, spans_chart
from rowtui.tui.widgets.cells import Line, fit, line
from rowtui.tui.widgets.chart import ChartArea, ChartPart, sentence
from rowtui.tui.widgets.chart_axes import COUNTS, NUMBERS, AxisTime
from rowtui.tui.widgets.chart_cells import GAP
from rowtui.tui.widgets.column_charts import area_chart, columns_chart

COMPLETED = ChartPart("completed")
FAILED = ChartPart("failed", (), "failed", "▒", "x")
CANCELLED = ChartPart("cancelled", (), "waiting", "░", "-")
RUNNING = ChartPart("running", (), "submitted", "▓", "=")
UP_TO_LIMIT = ChartPart("up to its limit", (), "faint", "░", ".")

_SHOWN = (COMPLETED, FAILED, CANCELLED, RUNNING, UP_TO_LIMIT)
_STATES = ("completed", "failed", "cancelled")

_LIST = 24  # columns of the list of actions beside a chart
_LIST_FROM = 64  # columns of a chart that has such a list


def interval_words(seconds: int) -> str:
    """Return `hour`, `5 minutes`, `week`: the length of an interval."""
    for unit, name in ((WEEK, "week"), (DAY, "day"), (HOUR, "hour"), (60, "minute")):
        if seconds >= unit:
            return name if seconds == unit else plural(seconds // unit, name)
    return plural(seconds, "second")


def period_of(past: PastView) -> AxisTime:
    """Return the time of all intervals; it ends now if the last one contains the present."""
    first = past.intervals[0].start
    last = first + len(past.intervals) * past.seconds_each
    return AxisTime(first, last, now=past.now < last)


def throughput(past: PastView, area: ChartArea) -> list[Line]:
    """Return the jobs that ended in each interval. Failures lie on the axis, where few are seen."""
    each = past.intervals
    parts = [
        FAILED._replace(values=[one.failed for one in each]),
        CANCELLED._replace(values=[one.cancelled for one in each]),
        COMPLETED._replace(values=[one.ended_well for one in each]),
    ]
    shown = [part for part in parts if any(part.values)] or parts[2:]
    unit = f"jobs per {interval_words(past.seconds_each)}"
    return columns_chart(shown, period_of(past), unit, area, COUNTS)


def completed_by_hour(
    throughputs: Sequence[ActionThroughput], now: float, area: ChartArea
) -> list[Line]:
    """Return the directories of the last 24 hours: completed, and in jobs that failed; beside them
    the actions, where there is room. `now`: epoch seconds.
    """
    done = [sum(each) for each in zip(*(one.hours for one in throughputs), strict=True)]
    failed = [sum(each) for each in zip(*(one.failed for one in throughputs), strict=True)]
    if not any(done) and not any(failed):
        return sentence("no directory completed in the last 24 hours", area)
    parts = [FAILED._replace(values=failed), COMPLETED._replace(values=done)]
    listed = _LIST if area.width >= _LIST_FROM and area.height > len(throughputs) + 4 else 0
    chart = columns_chart(
        parts if any(failed) else parts[1:],
        AxisTime(now - HOURS * HOUR, now, now=True),
        "directories per hour",
        area._replace(width=area.width - listed),
        COUNTS,
    )
    if not listed:
        return chart
    rows = [
        (one.action, count(sum(one.hours)) if any(one.hours) else "–", "") for one in throughputs
    ]
    rows += [("all", count(sum(done)), "title")]
    if any(failed):
        rows += [("", "", ""), ("failed", count(sum(failed)), "failed")]
    beside = [line((f"{number:>8}", style)) for _, number, style in rows]
    names = [fit(line((name, style)), listed - 10) for name, _, style in rows]
    table = [(), *((*name, *number) for name, number in zip(names, beside, strict=True))]
    return [
        (*fit(spans, area.width - listed + 2), *(table[at] if at < len(table) else ()))
        for at, spans in enumerate(chart)
    ]


def of_completed(throughputs: Sequence[ActionThroughput]) -> str:
    """Return the sum of `completed_by_hour`."""
    return plural(sum(sum(one.hours) for one in throughputs), "directory", "directories")


def cpus(past: PastView, area: ChartArea) -> list[Line]:
    """Return the CPUs in use over time."""
    part = ChartPart("jobs of this project", (), "submitted")
    values = [one.cpus_in_use for one in past.intervals]
    if not any(values):
        return sentence("no running times are known yet", area)
    return area_chart(values, period_of(past), "CPUs", area, part)


def of_cpus(past: PastView) -> str:
    """Return the CPUs that running jobs have, and the highest mean of an interval."""
    most = max((one.cpus_in_use for one in past.intervals), default=0.0)
    now = f"{count(sum(job.cpus for job in past.running))} now · " if past.running else ""
    return f"{now}peak {most:,.0f}"


def budget(past: PastView, area: ChartArea) -> list[Line]:
    """Return what was left of the budget with the smallest share left."""
    if not past.budgets:
        return sentence("no cluster has a budget: `budget` in clusters.toml sets one", area)
    one = past.budgets[0]
    part = ChartPart("left", [max(0.0, left) for left in one.left], "submitted")
    return columns_chart([part], period_of(past), "CPU-hours", area, NUMBERS)


def of_budget(past: PastView) -> str:
    """Return what is left of the first budget."""
    if not past.budgets:
        return ""
    one = past.budgets[0]
    return f"{one.cluster}: {max(0.0, one.left[-1]):,.0f} of {one.cpu_hours:,.0f}"


def budget_words(past: PastView) -> str:
    """Return how long the first budget lasts at the rate of the time that is shown."""
    if not past.budgets:
        return ""
    one = past.budgets[0]
    left, spent = one.left[-1], one.left[0] - one.left[-1]
    days = (past.ends[-1] - past.ends[0]) / DAY
    if left <= 0:
        return f"The budget of {one.cluster} is used up."
    if spent <= 0 or days <= 0:
        return ""
    rate = spent / days
    return f"At {rate:,.0f} CPU-hours a day the rest lasts {in_words(left / rate * 24)}."


def timeline(past: PastView, area: ChartArea, *, by_action: bool = False) -> list[Line]:
    """Return the newest jobs from start to end, and running ones up to their limits; with
    `by_action` those of an action together.
    """
    most = max(1, area.height - 3)
    running = past.running[-max(1, most // 2) :]
    room = most - len(running)
    ended = sorted(past.jobs, key=lambda job: job.ended_at)[-room:] if room else []
    jobs: list[PastJob | UnendedJob] = [*ended, *running]
    if not jobs:
        return sentence("no start times are known yet", area)
    jobs.sort(key=lambda job: (job.started_at, job.id or ""))
    first = jobs[0].started_at
    if by_action:
        order = {job.action: place for place, job in reversed([*enumerate(jobs)])}
        jobs.sort(key=lambda job: order[job.action])
    last = max((job.ended_at for job in ended), default=past.now)
    if running:  # The time to come takes at most half of the axis.
        limit = max(job.limit_at or past.now for job in running)
        last = max(last, past.now, min(limit, 2 * past.now - first))
    rows = []
    for job in jobs:
        name = f"{job.action} {job.id}" if by_action else f"{job.id} {job.action}".strip()
        lengths = [job.started_at - first, *[0.0] * len(_SHOWN)]
        if isinstance(job, PastJob):
            lengths[1 + _STATES.index(job.state)] = job.ended_at - job.started_at
        else:
            lengths[-2:] = past.now - job.started_at, max(0.0, (job.limit_at or 0.0) - past.now)
        rows.append(BarRow(name, lengths))
    period = AxisTime(first, last, now=last == past.now)
    return spans_chart(rows, (GAP, *_SHOWN), area, period)


def of_timeline(past: PastView) -> str:
    """Return how many jobs there are."""
    more = f", {count(len(past.running))} running" if past.running else ""
    return f"of {plural(past.job_count, 'job')}{more}"


def throughput_words(past: PastView) -> str:
    """Return when most jobs failed, if any did."""
    worst = max(past.intervals, key=lambda one: one.failed)
    if not worst.failed:
        return ""
    return (
        f"Most failures: {worst.failed:,} of {plural(worst.jobs, 'job')}, from "
        f"{moment(worst.start, past.seconds_each)} on."
    )


def moment(at: float, seconds: float) -> str:
    """Return a day, `18 November`; with the time where intervals are shorter than a day."""
    local = datetime.fromtimestamp(at, UTC).astimezone()
    clock = f", {local:%H:%M}" if seconds < DAY else ""
    return f"{local.day} {local:%B}{clock}"
