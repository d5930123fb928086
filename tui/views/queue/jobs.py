"""Jobs of this project in a few lines, and the texts about one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rowtui.core.clusters.schedulers.base import JobState
from rowtui.tui.widgets.cells import FirstThatFits, Span, fit, line, width_of
from rowtui.tui.widgets.columns import GAP, TableColumn, place
from rowtui.tui.widgets.short_text import JOB_MARKS, duration

if TYPE_CHECKING:
    from rowtui.core.submission.plan.record import JobRecord
    from rowtui.tui.widgets.cells import Cell, Line


def _first_columns(jobs: Sequence[JobRecord]) -> list[TableColumn]:
    names = max((len(job.action) for job in jobs), default=6)
    widest = max((len(JOB_MARKS[job.state].word) for job in jobs), default=7) + 2
    ids = [job_id(job) for job in jobs]
    return [
        TableColumn("state", "State", 11, max(11, widest)),
        TableColumn("id", "Job", max(3, *map(len, ids), 0), align="right"),
        TableColumn("action", "Action", min(max(names, 6), 10), min(max(names, 6), 30)),
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
        *_first_columns(shown),
        _elapsed_column(shown),
        TableColumn("reason", "Reason", 12, 16, priority=2, grow=1),
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
    return {
        "state": JOB_MARKS[job.state].spans,
        "id": line(job_id(job)),
        "action": line(job.action),
        "elapsed": FirstThatFits(_times(job.state, job.elapsed, job.limit)),
        "reason": line((job.why, "failed" if job.state.bad else "dim")),
    }


def job_id(record: JobRecord) -> str:
    """Return `4711`, `4711_3` for a task of an array, `–` for a job without an id."""
    return record.label


def _times(state: JobState, elapsed: int | None, most: int | None) -> tuple[Line, ...]:
    """Return the elapsed time in forms from wide to narrow; with the limit of active jobs."""
    passed = duration(None if state.waits else elapsed)
    limit = duration(most)
    if limit and state.active:
        return line(passed or "–", (f" / {limit}", "dim")), line(passed or "–")
    return (line(passed),)


def in_order(jobs: Sequence[JobRecord]) -> list[JobRecord]:
    """Return the running jobs, the waiting ones, and the ended ones; each part newest first."""
    return sorted(
        jobs, key=lambda job: (job.state is not JobState.RUNNING) + (not job.state.active)
    )
