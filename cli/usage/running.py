"""Details of named jobs for `rowtui usage JOB`: what running and ended jobs used, and steps."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from rowtui.cli.output.output import Output, Row, TextColumn, table_lines
from rowtui.core.base.document import Moment, TextOrNull
from rowtui.core.base.text import memory, plural, visible
from rowtui.core.clusters.schedulers.base import NO_ID, JobState, job_label
from rowtui.core.clusters.schedulers.measured import MeasuredBy, MeasuredStep
from rowtui.core.submission.plan.outcome import JobOutcome
from rowtui.core.usage.model import JobUsage
from rowtui.core.workflow.duration import format_duration

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.submission.plan.record import JobRecord
    from rowtui.core.usage.running import UsageNow

MOST_RUNNING = 200  # jobs whose use is printed one after another


class RunningUse(NamedTuple):
    """What a running job has used up to now. `near_limits`: `memory`, `time` from 90 % on.

    `memory_kib`: the most that its scheduler saw, or what its processes have at this moment.
    """

    id: str
    token: str
    action: str
    cluster: str
    measured_at: Moment
    wall_seconds: float | None
    requested_wall_seconds: float | None
    cpu_seconds: float | None
    cpus: int
    memory_kib: int | None
    requested_memory_kib: int | None
    near_limits: tuple[str, ...]
    problem: TextOrNull


class UsedStep(NamedTuple):
    """A step of an ended job, from Slurm's accounts: `batch` is the script, numbers are of srun."""

    job: str | None
    token: str
    step: str
    name: str
    tasks: int | None
    wall_seconds: float | None
    cpu_seconds: float | None
    largest_task_memory_kib: int | None


async def running_jobs(
    project: OpenProject, tokens: Collection[str]
) -> list[tuple[JobRecord, UsageNow | None]]:
    """Return the named jobs that run now, with what they use; a cluster is asked only for them."""
    if not project.has_jobs_to_ask_for():
        return []
    seen = await project.jobs.view()
    views = [view for view in seen.jobs if view.state is JobState.RUNNING and view.token in tokens][
        :MOST_RUNNING
    ]
    known = await project.usage.now(views, by_hand=True)
    return [(view, known.get(view.token)) for view in views]


def running_lines(view: JobRecord, now: UsageNow | None, out: Output) -> Iterator[str]:
    """Yield what a running job uses, in a few lines."""
    where = f"{view.cluster}/{view.partition}" if view.partition else view.cluster
    size = plural(view.size, "directory", "directories")
    yield out.style(f"job {view.label}", "bold") + visible(
        f"  {view.action} on {size}, {where}" + (f", node {view.nodes}" if view.nodes else "")
    )
    if now is None:
        again = "it was asked a moment ago, or gave no answer"
        yield f"  running  {visible(view.cluster)} does not report what it uses: {again}"
        return
    yield f"  running  {visible(now.words)}"
    if now.warning:
        yield "  " + out.style(f"         {now.warning}", "yellow bold")
    if now.problem:
        yield f"           {visible(now.problem)}"


def running_job(view: JobRecord, now: UsageNow) -> RunningUse:
    """Return a running job for `--json`."""
    return RunningUse(
        view.label,
        view.token,
        view.action,
        view.cluster,
        now.at,
        None if now.wall is None else round(now.wall, 2),
        now.walltime,
        None if now.cpu is None else round(now.cpu, 2),
        now.cpus,
        now.memory_kib,
        now.memory_limit_kib,
        now.near,
        now.problem,
    )


def step_lines(steps: Sequence[MeasuredStep], out: Output) -> Iterator[str]:
    """Yield a table of a job's steps; nothing for a job that has only its script."""
    if len(steps) < 2:
        return
    headings = [TextColumn("  Step"), TextColumn("Name")]
    headings += [TextColumn(name, right=True) for name in ("Tasks", "Time", "CPU", "Task memory")]
    rows: list[Row] = [
        [
            f"  {visible(step.id)}",
            visible(step.name)[:40],
            "–" if step.tasks is None else str(step.tasks),
            clock(step.wall),
            clock(step.cpu),
            "–" if step.task_memory is None else memory(step.task_memory / 1024),
        ]
        for step in steps
    ]
    yield from table_lines(headings, rows, out)


def clock(seconds: float | None) -> str:
    """Return a duration, `–` if it is not known."""
    return "–" if seconds is None else format_duration(seconds)


def kib(amount: float | None) -> str:
    """Return an amount of memory, `–` if it is not known."""
    return "–" if amount is None else memory(amount / 1024)


def job_lines(job: JobUsage, out: Output) -> Iterator[str]:
    """Yield what an ended job used, in a few lines."""
    kind, used = job.kind, job.used
    label = job_label(job.job_id, job.token) or NO_ID
    where = f"{kind.cluster}/{kind.partition}" if kind.partition else kind.cluster
    yield out.style(f"job {label}", "bold") + visible(
        f"  {kind.action} on {plural(job.directories, 'directory', 'directories')}, {where}"
        + (f", node {used.node}" if used.node else "")
        + (f", attempt {kind.attempt}" if kind.attempt > 1 else "")
    )
    yield f"  ended    {_when(job.ended_at)}, {visible(job.end.cause) or 'completed'}"
    yield "  " + _line("time", clock(used.wall), _share(used.wall, kind.walltime_seconds),
                       clock(kind.walltime_seconds), used.wall_by)  # fmt: skip
    cpus = plural(kind.cpus, "CPU")
    if used.cpu is None:
        yield "  " + _line("CPU", "", "", cpus, MeasuredBy.UNKNOWN)
    else:
        charged = None if used.wall is None else used.wall * kind.cpus
        yield "  " + _line("CPU", clock(used.cpu), _share(used.cpu, charged),
                           f"{cpus} for {clock(used.wall)}", used.cpu_by)  # fmt: skip
    limit = None if kind.memory_mb is None else kind.memory_mb * 1024
    if limit and _reached(job, limit):
        seen = f"; {kib(used.memory)} were seen ({used.memory_by.words})" if used.memory else ""
        yield f"  memory   reached its limit of {kib(limit)}{seen}"
    elif used.memory is None:
        yield "  " + _line("memory", "", "", kib(limit), MeasuredBy.UNKNOWN)
    else:
        of = kib(limit) if limit else "no stated amount"
        memory_share = _share(used.memory, limit)
        yield "  " + _line("memory", kib(used.memory), memory_share, of, used.memory_by)
    if kind.gpus:
        gpus = plural(kind.gpus, "GPU")
        known = used.gpu is not None or used.gpu_memory is not None
        work = f"{clock(used.gpu)}, {kib(used.gpu_memory)} of memory ({used.gpu_by.words})"
        yield f"  GPU      {work if known else MeasuredBy.UNKNOWN.words}, of {gpus}"


def _reached(job: JobUsage, limit: int) -> bool:
    """Whether a job was killed for its memory: some schedulers only report the signal."""
    if job.end.outcome is JobOutcome.OUT_OF_MEMORY:
        return True
    return job.end.signal == "KILL" and (job.used.memory or 0) >= 0.95 * limit


def _line(name: str, used: str, share: str, of: str, by: MeasuredBy) -> str:
    if by is MeasuredBy.UNKNOWN:
        return f"{name:<8} {by.words}, of {of}"
    return f"{name:<8} {used} of {of}{share}, measured by the {by.words}"


def _share(used: float | None, of: float | None) -> str:
    return "" if used is None or not of else f" ({used / of:.0%})"


def _when(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
