"""Measure submission over one connection: `python -m bench.submission [--jobs N] [--save NAME]`.

On a real Slurm behind a real sshd on this machine: jobs one by one, each held, its id recorded,
seen in the queue, and released, with everything that must be on the disk synced to it; then the
same number, or more, as one array. Nothing is left out: planning, reserving and the journal are in
the figures, the login is not. The first plan of each project warms up nothing but imports.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from pathlib import Path

from rowtui.core.clusters.schedulers.base import Accepted, JobSpec
from rowtui.core.project.project import Project

from bench.__main__ import machine
from bench.remote import NAME, RemoteProjects, remote_projects

HEAD = (
    "| what | jobs | plan s | submit s | jobs/s | CPU s | first answer s |\n"
    "|---|--:|--:|--:|--:|--:|--:|"
)


async def submit(project: Project, jobs: int) -> tuple[float, float, float, float]:
    """Plan and submit: seconds for planning, for submitting, of CPU, until the first answer."""
    began = time.perf_counter()
    plan = await asyncio.to_thread(project.plan, project.workflow.actions, limit=jobs)
    planned = time.perf_counter()
    used = time.process_time()
    first = 0.0
    done = 0
    async for step in project.jobs.submit(plan):
        if step.error:
            raise SystemExit(step.error)
        if step.done and not first:
            first = time.perf_counter() - planned
        done = step.done
    ended = time.perf_counter()
    released = sum(
        entry.detail == "released" for entry in project.jobs.journal.latest(plan.id).values()
    )
    if not done == released == jobs:
        raise SystemExit(f"{jobs} jobs were planned, {done} answered, {released} released")
    return planned - began, ended - planned, time.process_time() - used, first


async def measured(here: RemoteProjects, name: str, jobs: int, *, arrays: bool) -> str:
    """One line of the table: the best of three."""
    best = None
    for turn in range(3):
        project = here.open(here.make(f"{name}-{turn}", jobs, arrays=arrays))
        project.synchronise()
        await project.reach.connect(NAME)
        found = await submit(project, jobs)
        best = found if best is None or found[1] < best[1] else best
        await project.let_go()
        here.cluster.run(f"scancel -u {here.cluster.user}", check=False)
    assert best is not None
    planning, seconds, cpu, first = best
    what = f"one array of {jobs:,}" if arrays else "one by one"
    figures = f"{planning:.2f} | {seconds:.2f} | {jobs / seconds:.0f} | {cpu:.2f} | {first:.2f}"
    return f"| {what} | {jobs:,} | {figures} |"


async def floors(here: RemoteProjects, jobs: int) -> list[str]:
    """What the same jobs cost without us: sbatch over the connection, and sbatch alone."""
    project = here.open(here.make("floors", 1))
    project.synchronise()
    await project.reach.connect(NAME)
    cluster, scheduler = project.reach.known(NAME), project.reach.scheduler(NAME)
    assert cluster is not None
    assert scheduler is not None
    (job,) = project.plan(project.workflow.actions).jobs
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
    await project.reach.transport(cluster).run(
        ["sh", "-c", f"{words} x script"], timeout=600, cwd=project.root
    )
    alone = time.perf_counter() - began
    await project.let_go()
    return [
        f"| sbatch over the connection, {scheduler.at_once} at once, nothing recorded | {jobs:,} | "
        f"| {over:.2f} | {jobs / over:.0f} | | |",
        f"| sbatch in one remote command, {scheduler.at_once} at once | {jobs:,} | "
        f"| {alone:.2f} | {jobs / alone:.0f} | | |",
    ]


async def measure(here: RemoteProjects, jobs: int, tasks: int) -> list[str]:
    """The whole table."""
    return [
        HEAD,
        await measured(here, "jobs", jobs, arrays=False),
        *await floors(here, jobs),
        await measured(here, "array", tasks, arrays=True),
    ]


def main() -> None:
    """Print it, and keep it if that is wanted."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--save", help="the name of a file in bench/results")
    given = parser.parse_args()
    lines = [f"# {machine()}", ""]
    # Nothing starts meanwhile: what jobs take of the two cores is not what is measured.
    with remote_projects(SchedulerParameters="sched_interval=3600,batch_sched_delay=60") as here:
        lines += asyncio.run(measure(here, given.jobs, given.tasks))
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    lines += ["", f"Load after: {load}.", ""]
    print("\n".join(lines))
    if given.save:
        (Path(__file__).parent / "results" / given.save).write_text("\n".join(lines))


if __name__ == "__main__":
    main()
