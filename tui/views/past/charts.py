"""The charts of the view Past: order, titles, sentences, and what stands in their place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rowtui.core.base.text import count, hours, plural
from rowtui.core.usage.past import PastRequest, PastView
from rowtui.core.usage.past_intervals import DAY
from rowtui.tui.views.past import job_charts, share_charts
from rowtui.tui.widgets.cells import Line, line, wrapped
from rowtui.tui.widgets.chart import ChartArea

Draw = Callable[[PastView, ChartArea], Sequence[Line]]
Words = Callable[[PastView], str]

LAST_DAY = PastRequest(period=DAY)

_LEAST = 9
"""Lines of a chart that leaves room for its sentences."""


def _nothing(_: PastView) -> str:
    return ""


class PastChart(NamedTuple):
    """One chart. `short`: its title in a line of choices; `below`: figures for its frame; `words`:
    a sentence below it.
    """

    name: str
    title: str
    short: str
    draw: Draw
    below: Words = _nothing
    words: Words = _nothing

    def lines(self, past: PastView, area: ChartArea, draw: Draw | None = None) -> list[Line]:
        """Return the chart, and its sentence where there is room. `draw`: in place of its own."""
        text = self.words(past)
        words = wrapped(line((text, "dim")), area.width) if text else []
        words = words if area.height - len(words) >= _LEAST else []
        chart = list((draw or self.draw)(past, area._replace(height=area.height - len(words))))
        return [*chart, *words]


def _of_ended(past: PastView) -> str:
    completed = sum(each.ended_well for each in past.intervals)
    return f"{count(completed)} completed · {count(past.failed)} failed"


def _of_causes(past: PastView) -> str:
    return f"{count(past.failed)} of {plural(past.job_count, 'job')} failed"


CHARTS = (
    PastChart(
        "ended", "Jobs that ended", "ended",
        job_charts.throughput, _of_ended, job_charts.throughput_words,
    ),
    PastChart(
        "used", "Used of what was asked", "used",
        share_charts.used, share_charts.of_used, share_charts.used_words,
    ),
    PastChart(
        "waits", "Wait from submission to start", "waits",
        share_charts.waits, share_charts.of_waits,
    ),
    PastChart(
        "nodes", "Failures by node", "nodes",
        share_charts.nodes, share_charts.of_nodes, share_charts.node_words,
    ),
    PastChart(
        "budget", "Budget: CPU-hours left", "budget",
        job_charts.budget, job_charts.of_budget, job_charts.budget_words,
    ),
    PastChart(
        "timeline", "When the newest jobs ran", "timeline",
        job_charts.timeline, job_charts.of_timeline,
    ),
    PastChart("causes", "Failures by cause", "causes", share_charts.causes, _of_causes),
    PastChart("cpus", "CPUs in use", "CPUs", job_charts.cpus, job_charts.of_cpus),
)  # fmt: skip
"""All charts, in the order of the view."""


def chart_named(name: str) -> PastChart:
    """Return the chart of this name."""
    return next(chart for chart in CHARTS if chart.name == name)


def by_action(past: PastView, area: ChartArea) -> list[Line]:
    """Return the newest jobs of a network, those of a node of the network together."""
    return job_charts.timeline(past, area, by_action=True)


def headlines(past: PastView, period: str, action: str) -> list[str]:
    """Return the totals of the time that is shown, from long to short. `period`: "" for all."""
    failed = f"{count(past.failed)} failed"
    share = f" ({past.failed / max(1, past.job_count) * 100:.1f} %)"
    since = job_charts.moment(past.first, DAY)
    jobs = f"{plural(past.job_count, 'job')}, {failed}"
    charged = past.cpu_hours
    spent = f"{hours(charged) if charged < 10 else count(round(charged))} CPU-hours"
    of = action or "all actions"
    return [
        f"{period or f'since the first job, {since}'}: {jobs}{share}, {spent} · {of}",
        f"{period or f'since {since}'}: {jobs}{share}, {spent} · {of}",
        f"{period or f'since {since}'}: {jobs}" + (f" · {action}" if action else ""),
    ]


def nothing_lines(past: PastView | None, period: str, action: str, width: int) -> list[Line]:
    """Return why there is no chart, and what will change that. `period`: "" for all the time."""
    if past is None:
        return [line(("reading the records of ended jobs", "dim"))]
    if not past.all_jobs:
        text = (
            "No job has ended yet; 6 shows those that run. Each job of this project that ends is "
            "recorded with its times, its node and its outcome, and this view then shows it. "
            "5 submits jobs."
        )
    else:
        of = f" of {action}" if action else ""
        text = f"No job{of} ended in {period}"
        if not period:
            text = f"When the jobs{of} of the records ended is not known"
        keys = ["] chooses another action"] * bool(action) + ["t chooses longer"] * bool(period)
        text += f"{': ' if keys else ''}{', '.join(keys)}."
    return wrapped(line((text, "dim")), width)
