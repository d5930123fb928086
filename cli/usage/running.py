"""Details of named jobs for `rowtui usage JOB`: what running jobs use, and the steps of a job."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rowtui.cli.output.output import Output, Row, TextColumn, table_lines
from rowtui.core.base.document import Moment, TextOrNull
from rowtui.core.base.text import memory, plural, visible
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.workflow.duration import format_duration

if TYPE_CHECKING:
    from rowtui.core.clusters.schedulers.measured import MeasuredStep
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
