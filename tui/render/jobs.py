"""Jobs as rows and as a page of detail: those of this project, and a person's others."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from rowtui.core.clusters.schedulers.base import Job, JobState, token_in_queue
from rowtui.core.engine import JobsView, JobView
from rowtui.core.submission.model import JobRecord
from rowtui.core.text import plural
from rowtui.tui.render.cells import (
    Cell,
    Choice,
    Line,
    Number,
    Span,
    dimmed,
    fit,
    line,
    width_of,
    wrapped,
)
from rowtui.tui.render.columns import GAP, Column, place
from rowtui.tui.render.marks import JOB_MARKS
from rowtui.tui.render.numbers import duration

SORTS = ("active", "state", "id", "action", "elapsed")
"""Orders of the job list. The first: what runs, what waits, what ended; each newest first."""


MOST_MEASURED = 100
"""Jobs that are not ours whose look decides how wide columns are: there may be thousands."""


class Other(NamedTuple):
    """A job of this user that is not of this project. `job` is as its scheduler has it."""

    cluster: str
    job: Job


def other_jobs(view: JobsView) -> list[Other]:
    """The jobs on the clusters of which this project has no record, newest first."""
    ours = {(job.record.cluster, *job.record.key) for job in view.jobs}
    tokens = {token_in_queue(job.record.token) for job in view.jobs}
    found = [
        Other(cluster.name, job)
        for cluster in view.clusters
        for job in cluster.jobs
        if (cluster.name, job.id, job.task) not in ours and job.token not in tokens
    ]
    found.sort(key=_number, reverse=True)
    return found


def _number(other: Other) -> tuple[int, int]:
    return (other.job.id, other.job.task or 0)


def job_columns(jobs: Sequence[JobView], others: Sequence[Other] = ()) -> tuple[Column, ...]:
    """The columns of the job list; of others, as many as anybody looks at decide."""
    others = others[:MOST_MEASURED]
    first = max((len(name) for job in jobs for name in job.record.directories[:1]), default=0)
    columns = _first_columns(jobs, others)
    clusters = {job.record.cluster for job in jobs} | {other.cluster for other in others}
    if len(clusters) > 1:
        wide = min(max(7, *map(len, clusters)), 16)
        columns.insert(1, Column("cluster", "Cluster", min(wide, 8), wide, priority=1))
    columns += [
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
        _elapsed_column(jobs, others),
    ]
    partitions = [job.record.partition for job in jobs] + [one.job.partition for one in others]
    if widest := max(map(len, partitions), default=0):
        wide = min(max(widest, 5), 12)
        columns.append(Column("partition", "Partition", wide, wide, priority=3, short="Part."))
    nodes = [job.nodes for job in jobs] + [one.job.nodes for one in others]
    if widest := max(map(len, nodes), default=0):
        columns.append(Column("nodes", "Nodes", min(max(widest, 5), 12), priority=5))
    reasons = [why(job) for job in jobs] + [one.job.reason for one in others]
    longest = max(map(len, reasons), default=0)
    columns.append(
        Column("reason", "Reason", max(6, min(longest, 14)), min(longest, 50), priority=2, grow=2)
    )
    return tuple(columns)


def _first_columns(jobs: Sequence[JobView], others: Sequence[Other] = ()) -> list[Column]:
    actions = [job.record.action for job in jobs] + [one.job.name for one in others]
    names = max(map(len, actions), default=6)
    states = {job.state for job in jobs} | {one.job.state for one in others}
    widest = max((len(JOB_MARKS[state].word) for state in states), default=7) + 2
    ids = [job_id(job.record) for job in jobs] + [str(one.job.key) for one in others]
    return [
        Column("state", "State", 11, max(11, widest)),
        Column("id", "Job", max(3, *map(len, ids), 0), align="right"),
        Column("action", "Action", min(max(names, 6), 12), min(max(names, 6), 30)),
    ]


def _elapsed_column(jobs: Sequence[JobView], others: Sequence[Other] = ()) -> Column:
    times = [_times(job.state, job.elapsed, job.limit) for job in jobs]
    times += [_times(one.job.state, one.job.elapsed, one.job.limit) for one in others]
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


def job_cells(job: JobView, silent: Collection[str] = ()) -> dict[str, Cell]:
    """One row of the job list; dim if its cluster is a `silent` one, which does not answer."""
    record = job.record
    cells: dict[str, Cell] = {
        "state": JOB_MARKS[job.state].spans,
        "cluster": line((record.cluster, "dim")),
        "id": line(job_id(record)),
        "action": line(record.action),
        "size": Number(len(record.directories)),
        "first": line((record.directories[0] if record.directories else "", "dim")),
        "elapsed": Choice(_times(job.state, job.elapsed, job.limit)),
        "partition": line((record.partition, "dim")),
        "nodes": line((job.nodes, "dim")),
        "reason": line((why(job), "failed" if job.state.bad else "dim")),
    }
    return dimmed(cells) if record.cluster in silent else cells


def other_cells(other: Other) -> dict[str, Cell]:
    """One row of a job that is not this project's: all of it dim."""
    job = other.job
    return dimmed(
        {
            "state": JOB_MARKS[job.state].spans,
            "cluster": line(other.cluster),
            "id": line(str(job.key)),
            "action": line(job.name),
            "elapsed": Choice(_times(job.state, job.elapsed, job.limit)),
            "partition": line(job.partition),
            "nodes": line(job.nodes),
            "reason": line(job.reason),
        }
    )


def job_id(record: JobRecord) -> str:
    """`4711`, `4711_3` for a task of an array, `–` as long as it has none."""
    return record.label if record.job_id else "–"


def _times(state: JobState, elapsed: int | None, most: int | None) -> tuple[Line, ...]:
    """How long it runs, from wide to narrow; with its limit while it counts."""
    passed = duration(elapsed)
    limit = duration(most)
    if limit and state.active:
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
        "id": lambda job: (job.record.job_id, job.record.task or 0),
        "action": lambda job: job.record.action,
        "elapsed": lambda job: job.elapsed or 0,
    }
    ordered = list(jobs)
    ordered.sort(key=keys[by])
    if reverse:
        ordered.reverse()
    return ordered


def sort_others(others: Sequence[Other], by: str, reverse: bool) -> list[Other]:
    """The jobs that are not ours in one of the `SORTS`; equal ones stay newest first."""
    order = {state: at for at, state in enumerate(JOB_MARKS)}
    keys = {
        "active": lambda one: (one.job.state is not JobState.RUNNING) + (not one.job.state.active),
        "state": lambda one: order[one.job.state],
        "id": _number,
        "action": lambda one: one.job.name,
        "elapsed": lambda one: one.job.elapsed or 0,
    }
    ordered = sorted(others, key=keys[by])
    if reverse:
        ordered.reverse()
    return ordered


def other_detail(other: Other, now: float, width: int) -> list[Line]:
    """What is known of a job that is not this project's, in lines of `width` columns."""
    job = other.job
    place = other.cluster + (f"/{job.partition}" if job.partition else "")
    return [
        *_explained(job, now, width),
        _field("name", job.name),
        _field("at", place + (f" on {job.nodes}" if job.nodes else "")),
        line(("Not of this project: it is only shown here.", "dim")),
    ]


def job_detail(job: JobView, now: float, width: int) -> list[Line]:
    """Everything that is known of a job, the most useful lines first. `now`: epoch seconds."""
    record = job.record
    shown = ", ".join(record.directories[:4])
    if len(record.directories) > 4:
        shown += f" and {len(record.directories) - 4:,} more"
    noun = plural(len(record.directories), "directory", "directories")
    place = record.cluster + (f"/{record.partition}" if record.partition else "")
    return [
        *_explained(_as_the_scheduler_has_it(job), now, width),
        _field(noun if len(noun) < 16 else "directories", shown),
        _field("at", place + (f" on {job.nodes}" if job.nodes else "")),
        _field("log", record.log_path),
        _field("name", record.name),
    ]


def _as_the_scheduler_has_it(job: JobView) -> Job:
    record = job.record
    return Job(
        record.job_id,
        job.state,
        reason=why(job),
        elapsed=job.elapsed,
        limit=job.limit,
        nodes=job.nodes,
        start_estimate=job.start_estimate,
        exit_code=record.exit_code,
    )


def _explained(job: Job, now: float, width: int) -> list[Line]:
    """State and sentence, how long, the scheduler's own word; below, what to do."""
    from rowtui.core.clusters.schedulers.reasons import explain  # tables: not before the first row

    mark = JOB_MARKS[job.state]
    told = explain(job, now)
    about: list[str | tuple[str, str]] = [(f"{mark.glyph} {mark.word}", mark.style)]
    about.append((f"  {told.sentence}", "warning" if told.needs_person else ""))
    if job.elapsed is not None:
        about.append((f"  {'for' if job.state.active else 'after'} {duration(job.elapsed)}", "dim"))
    if job.reason and job.reason.lower() not in told.sentence.lower():
        with_word = line(*about, (f"  {job.reason}", "dim"))
        if width_of(with_word) <= width:  # it is in the list as well
            about.append((f"  {job.reason}", "dim"))
    lines = wrapped(line(*about), width, 2)
    if told.hint:
        lines += wrapped(line(f"  {told.hint}"), width, 2)
    return lines


def _field(name: str, text: str) -> Line:
    return line((f"{name:<16}", "dim"), text)
