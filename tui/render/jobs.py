"""Jobs of this project as rows and as a page of detail."""

from __future__ import annotations

from collections.abc import Sequence

from rowtui.core.engine import JobView
from rowtui.core.text import plural
from rowtui.tui.render.cells import Cell, Choice, Line, Number, line
from rowtui.tui.render.columns import Column
from rowtui.tui.render.marks import JOB_MARKS
from rowtui.tui.render.numbers import duration

SORTS = ("submitted", "state", "id", "action", "elapsed")
"""Orders of the job list; the first is the engine's own, newest first."""


def job_columns(jobs: Sequence[JobView]) -> tuple[Column, ...]:
    """The columns of the job list."""
    names = max((len(job.record.action) for job in jobs), default=6)
    widest = max((len(JOB_MARKS[job.state].word) for job in jobs), default=7) + 2
    columns = [
        Column("state", "State", 11, max(11, widest)),
        Column("id", "Job", 6, 9, "right"),
        Column("action", "Action", 8, min(max(names, 8), 30)),
        Column("size", "Dirs", 4, 6, "right", 1),
        Column("first", "First directory", 12, 15, priority=4, grow=1, short="First"),
        Column("elapsed", "Elapsed / limit", 9, 17, "right", 1, short="Elapsed"),
    ]
    if any(job.record.partition for job in jobs):
        columns.append(Column("partition", "Partition", 6, 12, priority=3))
    if any(job.nodes for job in jobs):
        columns.append(Column("nodes", "Nodes", 6, 12, priority=5))
    columns.append(Column("reason", "Reason", 14, 16, priority=2, grow=2))
    return tuple(columns)


def job_cells(job: JobView) -> dict[str, Cell]:
    """One row of the job list."""
    record = job.record
    passed = duration(job.elapsed)
    limit = duration(job.limit)
    times = [line(passed)]
    if limit and job.state.active:
        times.insert(0, line(passed or "–", (f" / {limit}", "dim")))
    return {
        "state": JOB_MARKS[job.state].spans,
        "id": line(str(record.job_id) if record.job_id else "–"),
        "action": line(record.action),
        "size": Number(len(record.directories)),
        "first": line((record.directories[0] if record.directories else "", "dim")),
        "elapsed": Choice(tuple(times)),
        "partition": line((record.partition, "dim")),
        "nodes": line((job.nodes, "dim")),
        "reason": line((why(job), "failed" if job.state.bad else "dim")),
    }


def why(job: JobView) -> str:
    """Why the job waits, or how it ended."""
    return job.record.end_reason or job.reason


def sort_jobs(jobs: Sequence[JobView], by: str, reverse: bool) -> list[JobView]:
    """The jobs in one of the `SORTS`; equal ones stay newest first."""
    keys = {
        "state": lambda job: list(JOB_MARKS).index(job.state),
        "id": lambda job: job.record.job_id,
        "action": lambda job: job.record.action,
        "elapsed": lambda job: job.elapsed or 0,
    }
    ordered = list(jobs)
    if by in keys:
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
