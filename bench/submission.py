"""Measure submission over one connection: `python -m bench.submission [--jobs N] [--json FILE]`.

On a real Slurm behind a real sshd on this machine: jobs one by one, each held, its id recorded,
seen in the queue, and released, with everything that must be on the disk synced to it; then as one
array, of 1,000 and of 10,000 tasks if `--tasks` says nothing else. Nothing is left out: planning,
reserving and the journal are in the figures, the login is not. The first plan of each project warms
up nothing but imports.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from rowtui.core.clusters.polling.description_cache import remember_description
from rowtui.core.clusters.schedulers.base import Accepted, JobSpec
from rowtui.core.clusters.schedulers.slurm.describe import describe_over
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning.plan_submission import plan_submission

from bench.machine import machine
from bench.measured import Measured, write
from bench.remote import NAME, RemoteProjects, remote_projects

HEAD = (
    "| what | jobs | plan s | submit s | jobs/s | CPU s | first answer s |\n"
    "|---|--:|--:|--:|--:|--:|--:|"
)
TURNS = 3
ALONE, ARRAY = "submit jobs one by one", "submit jobs as one array"
# Arrays of 10,000, and one more job of each kind; every plan of the bench is in the queue at once.
SETTINGS = {
    # Nothing starts meanwhile: what jobs take of the two cores is not what is measured.
    "SchedulerParameters": "sched_interval=3600,batch_sched_delay=60",
    "MaxArraySize": 10_002,
    "MaxJobCount": 60_000,
}
_PLAN, _SUBMIT, _RATE, _CPU, _FIRST = "plan s", "wall s", "jobs/s", "cpu s", "first answer s"


async def submit(project: OpenProject, jobs: int, arrays: int) -> dict[str, float]:
    """Plan and submit: the figures, by their names."""
    used = time.process_time()
    began = time.perf_counter()
    actions = project.workflow.actions
    plan = await asyncio.to_thread(plan_submission, project, actions, limit=jobs)
    planned = time.perf_counter()
    if len({job.array for job in plan.jobs if job.array}) != arrays:
        raise SystemExit(f"{jobs} jobs are not in {arrays} arrays")
    first = 0.0
    done = 0
    async for step in project.jobs.submit(plan):
        if step.error:
            raise SystemExit(step.error)
        if step.done and not first:
            first = time.perf_counter() - planned
        done = step.done
    seconds = time.perf_counter() - planned
    used = time.process_time() - used
    released = sum(
        entry.detail == "released" for entry in project.jobs.journal.latest(plan.id).values()
    )
    if not done == released == jobs:
        raise SystemExit(f"{jobs} jobs were planned, {done} answered, {released} released")
    return {
        _PLAN: planned - began,
        _SUBMIT: seconds,
        _RATE: jobs / seconds,
        _CPU: used,
        _FIRST: first,
    }


async def measured(here: RemoteProjects, name: str, jobs: int, *, arrays: bool) -> Measured:
    """One row, of some turns; the best has the shortest submission."""
    turns = []
    for turn in range(TURNS):
        project = here.open(here.make(f"{name}-{turn}", jobs, arrays=arrays))
        project.synchronise()
        await project.connections.connect(NAME)
        turns.append(await submit(project, jobs, int(arrays)))
        await project.let_go()
        here.cluster.run(f"scancel -u {here.cluster.user}", check=False)
    best = min(turns, key=lambda turn: turn[_SUBMIT])
    median = {figure: statistics.median(turn[figure] for turn in turns) for figure in best}
    return Measured(ARRAY if arrays else ALONE, jobs, best=best, median=median, runs=TURNS)


def line(row: Measured) -> str:
    """One line of the table."""
    best = row.best
    words = [
        f"{best[name]:.{digits}f}" if name in best else ""
        for name, digits in ((_PLAN, 2), (_SUBMIT, 2), (_RATE, 0), (_CPU, 2), (_FIRST, 2))
    ]
    what = f"{row.what}, {row.variant}" if row.variant else row.what
    return f"| {what} | {row.size:,} | {' | '.join(words)} |"


async def floors(here: RemoteProjects, jobs: int) -> list[Measured]:
    """What the same jobs cost without us: sbatch over the connection, and sbatch alone."""
    project = here.open(here.make("floors", 1))
    project.synchronise()
    await project.connections.connect(NAME)
    cluster, scheduler = project.connections.known(NAME), project.connections.scheduler(NAME)
    assert cluster is not None
    assert scheduler is not None
    (job,) = plan_submission(project, project.workflow.actions).jobs
    few = asyncio.Semaphore(scheduler.at_once)

    async def send(number: int) -> None:
        async with few:
            token = f"{job.token}-{number}"
            spec = JobSpec(token, job.name, job.script, project.root, "", held=True)
            assert isinstance(await scheduler.submit(spec), Accepted)

    began = time.perf_counter()
    await asyncio.gather(*map(send, range(jobs)))
    over = time.perf_counter() - began
    (project.root / "script").write_text(job.script)
    words = f"seq {jobs} | xargs -P {scheduler.at_once} -n 1 sbatch --parsable --hold -J"
    began = time.perf_counter()
    await project.connections.transport(cluster).run(
        ["sh", "-c", f"{words} x script"], timeout=600, cwd=project.root
    )
    alone = time.perf_counter() - began
    await project.let_go()
    at_once = f"{scheduler.at_once} sbatch at once"
    return [
        Measured(
            ALONE, jobs, "floor", {_SUBMIT: over, _RATE: jobs / over}, {},
            f"{at_once} over the connection, nothing recorded",
        ),
        Measured(
            ALONE, jobs, "floor", {_SUBMIT: alone, _RATE: jobs / alone}, {},
            f"{at_once} in one remote command",
        ),
    ]  # fmt: skip


async def learn_limits(here: RemoteProjects) -> None:
    """Ask how long arrays may be: nobody asks a cluster whose partitions are configured."""
    os.environ["XDG_CACHE_HOME"] = str(here.cluster.work / "cache")
    project = here.open(here.make("limits", 1))
    await project.connections.connect(NAME)
    cluster = project.connections.known(NAME)
    assert cluster is not None
    described = await describe_over(project.connections.transport(cluster))
    assert described is not None
    remember_description(cluster, described)
    await project.let_go()


async def measure(here: RemoteProjects, jobs: int, tasks: Sequence[int]) -> list[Measured]:
    """All rows."""
    await learn_limits(here)
    rows = [await measured(here, "jobs", jobs, arrays=False), *await floors(here, jobs)]
    return rows + [await measured(here, f"array-{count}", count, arrays=True) for count in tasks]


def keep(rows: list[Measured], given: argparse.Namespace) -> None:
    """Print the rows, and write them where that is wanted."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    lines = [f"# {machine()}", "", HEAD, *map(line, rows), "", f"Load after: {load}.", ""]
    print("\n".join(lines))
    if given.save:
        (Path(__file__).parent / "results" / given.save).write_text("\n".join(lines))
    if given.json:
        write(given.json, rows)


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--tasks", type=int, nargs="*", default=[1000, 10_000])
    parser.add_argument("--save", help="the name of a file in bench/results")
    parser.add_argument("--json", type=Path, help="a file for the rows")
    given = parser.parse_args()
    with remote_projects(**SETTINGS) as here:
        keep(asyncio.run(measure(here, given.jobs, given.tasks)), given)


if __name__ == "__main__":
    main()
