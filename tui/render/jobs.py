"""Jobs of this project as rows and as a page of detail."""

from __future__ import annotations

from collections.abc import Sequence

from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.engine import JobView
from rowtui.core.text import plural
from rowtui.tui.render.cells import Cell, Choice, Line, Number, Span, fit, line, width_of
from rowtui.tui.render.columns import GAP, Column, place
from rowtui.tui.render.marks import JOB_MARKS
from rowtui.tui.render.numbers import duration

SORTS = ("active", "state", "id", "action", "elapsed")
"""Orders of the job list. The first: what runs, what waits, what ended; each newest first."""


def job_columns(jobs: Sequence[JobView]) -> tuple[Column, ...]:
    """The columns of the job list."""
    first = max((len(name) for job in jobs for name in job.record.directories[:1]), default=0)
    columns = [
        *_first_columns(jobs),
        Column("size", "Dirs", 4, 6, "right", 1),
        Column(
            "first",
            "First directory",
            min(max(first, 5), 20),
            15,
            priority=4,
            grow=1,
            short="First",
        ),
        _elapsed_column(jobs),
    ]
    if any(job.record.partition for job in jobs):
        columns.append(Column("partition", "Partition", 6, 12, priority=3))
    if any(job.nodes for job in jobs):
        columns.append(Column("nodes", "Nodes", 6, 12, priority=5))
    longest = max((len(why(job)) for job in jobs), default=0)
    columns.append(
        Column("reason", "Reason", max(6, min(longest, 14)), min(longest, 50), priority=2, grow=2)
    )
    return tuple(columns)


def _first_columns(jobs: Sequence[JobView]) -> tuple[Column, ...]:
    names = max((len(job.record.action) for job in jobs), default=6)
    widest = max((len(JOB_MARKS[job.state].word) for job in jobs), default=7) + 2
    ids = max((len(_id(job)) for job in jobs), default=0)
    return (
        Column("state", "State", 11, max(11, widest)),
        Column("id", "Job", max(3, ids), align="right"),
        Column("action", "Action", min(max(names, 6), 12), min(max(names, 6), 30)),
    )


def _elapsed_column(jobs: Sequence[JobView]) -> Column:
    times = [_times(job) for job in jobs]
    short = max((width_of(forms[-1]) for forms in times), default=0)
    full = max((width_of(forms[0]) for forms in times), default=0)
    return Column("elapsed", "Elapsed / limit", max(7, short), full, "right", 1, short="Elapsed")


def jobs_in_brief(jobs: Sequence[JobView], width: int, room: int) -> list[Line]:
    """At most `room` jobs as lines of `width` columns: what runs, some that wait, what ended.

    Those that wait are many and alike, so they leave a half of the room to those that ended.
    """
    ordered = sort_jobs(jobs, SORTS[0], False)
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
        Column("reason", "Reason", 12, 16, priority=2, grow=1),
    )
    placed = place(columns, max(1, width))
    lines = []
    for job in shown:
        cells = job_cells(job)
        spans: list[Span] = []
        for one in placed:
            spans += fit(cells[one.column.id], one.width, one.column.align)
            spans.append(Span(" " * GAP))
        lines.append(tuple(spans[:-1]))
    return lines


def job_cells(job: JobView) -> dict[str, Cell]:
    """One row of the job list."""
    record = job.record
    return {
        "state": JOB_MARKS[job.state].spans,
        "id": line(_id(job)),
        "action": line(record.action),
        "size": Number(len(record.directories)),
        "first": line((record.directories[0] if record.directories else "", "dim")),
        "elapsed": Choice(_times(job)),
        "partition": line((record.partition, "dim")),
        "nodes": line((job.nodes, "dim")),
        "reason": line((why(job), "failed" if job.state.bad else "dim")),
    }


def _id(job: JobView) -> str:
    return str(job.record.job_id) if job.record.job_id else "–"


def _times(job: JobView) -> tuple[Line, ...]:
    """How long it runs, from wide to narrow; with its limit while it counts."""
    passed = duration(job.elapsed)
    limit = duration(job.limit)
    if limit and job.state.active:
        return line(passed or "–", (f" / {limit}", "dim")), line(passed or "–")
    return (line(passed),)


def why(job: JobView) -> str:
    """Why the job waits, or how it ended."""
    return job.record.end_reason or job.reason


def sort_jobs(jobs: Sequence[JobView], by: str, reverse: bool) -> list[JobView]:
    """The jobs in one of the `SORTS`; equal ones stay newest first."""
    keys = {
        "active": lambda job: (job.state is not JobState.RUNNING) + (not job.state.active),
        "state": lambda job: list(JOB_MARKS).index(job.state),
        "id": lambda job: job.record.job_id,
        "action": lambda job: job.record.action,
        "elapsed": lambda job: job.elapsed or 0,
    }
    ordered = list(jobs)
    ordered.sort(key=keys[by])
    if reverse:
        ordered.reverse()
    return ordered


def job_detail(job: JobView) -> list[Line]:
    """Everything that is known of a job, the most useful lines first."""
    record = job.record
    mark = JOB_MARKS[job.state]
    lines = [line((f"{mark.glyph} {mark.word}", mark.style), *_because(job))]
    shown = ", ".join(record.directories[:4])
    if len(record.directories) > 4:
        shown += f" and {len(record.directories) - 4:,} more"
    noun = plural(len(record.directories), "directory", "directories")
    place = record.cluster + (f"/{record.partition}" if record.partition else "")
    lines.append(_field(noun if len(noun) < 16 else "directories", shown))
    lines.append(_field("at", place + (f" on {job.nodes}" if job.nodes else "")))
    lines.append(_field("log", record.log_path))
    lines.append(_field("name", record.name))
    return lines


def _because(job: JobView) -> list[str | tuple[str, str]]:
    parts: list[str | tuple[str, str]] = []
    if why(job):
        parts.append(f": {why(job)}")
    if job.record.exit_code is not None and "exit code" not in why(job):
        parts.append((f"  exit code {job.record.exit_code}", "dim"))
    if job.elapsed is not None:
        parts.append((f"  after {duration(job.elapsed)}", "dim"))
    return parts


def _field(name: str, text: str) -> Line:
    return line((f"{name:<16}", "dim"), text)
