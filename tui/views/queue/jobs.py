"""Jobs of this project in a few lines, what one of them uses, and a chart of when they run.

The use is asked once the cursor rests on the job, and then seldom.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.submission.plan.model import JobStep
from rowtui.core.submission.plan.record import JobRecord
from rowtui.tui.shell.work import start
from rowtui.tui.widgets.cells import FirstThatFits, Span, fit, line, width_of
from rowtui.tui.widgets.chart import Chart, ChartArea, mark_for
from rowtui.tui.widgets.chrome import set_titles
from rowtui.tui.widgets.columns import GAP, TableColumn, place
from rowtui.tui.widgets.short_text import JOB_MARKS, duration, limit

if TYPE_CHECKING:
    from rowtui.core.project.queue.rows import QueueRow, RowKey
    from rowtui.core.usage.running import UsageNow
    from rowtui.tui.views.view import ScreenView
    from rowtui.tui.widgets.cells import Cell, Line

REST_SECONDS = 0.7
"""How long the cursor rests on a job before its cluster is asked what the job uses."""

AGAIN_SECONDS = 20.0
"""Seconds between two requests for one running job; the engine asks its cluster less often."""

WITH_WORDS = 48
"""Columns from which a job's state has its word beside its mark."""

MOST_KNOWN = 100
"""Jobs whose usage is kept."""


def _first_columns(jobs: Sequence[JobRecord], width: int) -> list[TableColumn]:
    names = max((len(job.action) for job in jobs), default=6)
    words = max((len(JOB_MARKS[job.state].word) for job in jobs), default=7)
    widest = words + 2 if width >= WITH_WORDS else 1
    ids = [job.label for job in jobs]
    return [
        TableColumn("state", "State", widest),
        TableColumn("id", "Job", max(3, *map(len, ids), 0), align="right"),
        TableColumn("action", "Action", min(max(names, 6), 11), min(max(names, 6), 30)),
    ]


def _elapsed_column(jobs: Sequence[JobRecord]) -> TableColumn:
    times = [_times(job.state, job.elapsed, job.limit) for job in jobs]
    short = max((width_of(forms[-1]) for forms in times), default=0)
    full = max((width_of(forms[0]) for forms in times), default=0)
    return TableColumn(
        "elapsed", "Elapsed / limit", max(7, short), full, "right", 1, short="Elapsed"
    )


def jobs_in_brief(jobs: Sequence[JobRecord], width: int, room: int) -> list[Line]:
    """Return at most `room` jobs as lines of `width` columns: running ones, some waiting ones,
    ended ones.

    Waiting jobs are many and alike, so they leave half of the room to the jobs that have ended.
    """
    ordered = in_order(jobs)
    running = sum(1 for job in jobs if job.state is JobState.RUNNING)
    waiting = [job for job in ordered[running:] if job.state.active]
    ended = [job for job in ordered if not job.state.active]
    shown = ordered[: min(running, max(0, room))]
    left = max(0, room - len(shown))
    shown += waiting[: max(left - len(ended), left // 2)]
    shown += ended[: max(0, room - len(shown))]
    columns = (
        *_first_columns(shown, width),
        _elapsed_column(shown),
        TableColumn("reason", "Why", 8, 16, priority=2, grow=1),
    )
    placed = place(columns, max(1, width))
    lines = []
    for job in shown:
        cells = _cells(job)
        spans: list[Span] = []
        for one in placed:
            spans += fit(cells[one.column.id], one.width, one.column.align)
            spans.append(Span(" " * GAP))
        lines.append(tuple(spans[:-1]))
    return lines


def _cells(job: JobRecord) -> dict[str, Cell]:
    mark = JOB_MARKS[job.state]
    return {
        "state": FirstThatFits((mark.spans, line((mark.glyph, mark.style)))),
        "id": line(job.label),
        "action": line(job.action),
        "elapsed": FirstThatFits(_times(job.state, job.elapsed, job.limit)),
        "reason": line((job.why, "failed" if job.state.bad else "dim")),
    }


def _times(state: JobState, elapsed: int | None, most: int | None) -> tuple[Line, ...]:
    """Return the elapsed time in forms from wide to narrow; with the limit of active jobs."""
    passed = duration(None if state.waits else elapsed)
    if most and state.active:
        return line(passed or "–", (f" / {limit(most)}", "dim")), line(passed or "–")
    return (line(passed),)


def in_order(jobs: Sequence[JobRecord]) -> list[JobRecord]:
    """Return the running jobs, the waiting ones, and the ended ones; each part newest first."""
    return sorted(
        jobs, key=lambda job: (job.state is not JobState.RUNNING) + (not job.state.active)
    )


class JobsUsed:
    """The usage of the jobs that the cursor rested on. `show`: called after an answer."""

    def __init__(self, view: ScreenView, show: Callable[[], None]) -> None:
        self.known: dict[RowKey, UsageNow] = {}
        self._view = view
        self._show = show
        self._asked: dict[RowKey, tuple[JobState, float]] = {}
        self._next: RowKey | None = None

    def ask(self, row: QueueRow | None) -> None:
        """Ask for the job of a row, if it is one of this project that runs or has ended."""
        if row is not None and not row.key.folded and row.record is not None:
            self.ask_job(row.key, row.record, row.state)

    def ask_job(self, key: RowKey, record: JobRecord, now: JobState) -> None:
        """Ask for a job of this project, if it runs or has ended. `now`: its state."""
        runs = now is JobState.RUNNING
        state, at = self._asked.get(key, (None, 0.0))
        # The use of an ended job does not change.
        again = runs and self._view.session.clock() - at >= AGAIN_SECONDS
        ended = record.step is JobStep.ENDED
        if (runs or ended) and (state is not now or again) and key != self._next:
            self._next = key
            start(self._view, partial(self._look, key, now), "used", exclusive=True)

    async def _look(self, key: RowKey, state: JobState) -> None:
        session = self._view.session
        try:
            await asyncio.sleep(REST_SECONDS)
            self._asked[key] = (state, session.clock())
            used = await session.engine.queue.used(key)
        except Exception:  # an engine that was lost: there is no answer
            return
        finally:
            if self._next == key:
                self._next = None
        if used is None:
            return
        for kept in (self.known, self._asked):
            while len(kept) >= MOST_KNOWN:
                del kept[next(iter(kept))]
        self.known[key] = used
        self._show()


class JobsTimeline(Chart):
    """When the jobs of the last day ran, and running ones up to their limits.

    The chart asks again after each poll of the queues.
    """

    _seen: object = None

    def look(self, view: ScreenView) -> None:
        """Ask for the jobs, if the queues were polled since the last time."""
        if self.display and view.session.jobs is not self._seen:
            self._seen = view.session.jobs
            start(view, partial(self._read, view), "timeline", exclusive=True)

    async def _read(self, view: ScreenView) -> None:
        from rowtui.tui.views.past.charts import LAST_DAY, chart_named

        chart, mark = chart_named("timeline"), mark_for(view.dashboard.how)
        try:
            past = await view.session.engine.past.view(LAST_DAY)
        except Exception:  # damaged records, or an engine that was lost: view Past reports them
            return
        if self.is_attached:
            self.show_made(lambda width, height: chart.draw(past, ChartArea(width, height, mark)))
            set_titles(self, "When they run", chart.below(past))
