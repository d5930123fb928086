"""The three demos from start to end: each step is compared as a moment of a scenario is."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Iterator
from pathlib import Path
from unittest.mock import patch

from rowtui.cli.demo.command import make_project, make_study
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.demo.engine import DemoEngine, made_demo
from rowtui.core.demo.project import DemoProject

from tests.seams.checker import (
    check,
    compared,
    counts_add_up,
    what_is_eligible_is_planned_or_refused,
)
from tests.seams.folder import FolderProject
from tests.seams.running import Moment, collect
from tests.seams.views import collect_views

SMALL, LARGE = 30, 2_000  # directories
LOGGED_OUT = "gl"  # whose login has expired, in the large demo
HOURS = 3600.0
STEPS = 40  # of the large demo: more are a defect
AT_ONCE = 8  # jobs that the large demo's user submits in a step


def small(folder: Path) -> Iterator[Moment]:
    """`rowtui demo`: submit what is eligible, wait, and again until nothing is."""
    project = FolderProject(folder)
    make_project(project.root, SMALL)
    yield from _real(project, _submit_all(project))


def network(folder: Path) -> Iterator[Moment]:
    """`rowtui demo network`: a run that stops at a limit, and goes on with a higher one."""
    project = FolderProject(folder)
    make_study(project.root)
    yield from _real(project, _run_in_steps(project))


def large(folder: Path) -> Iterator[Moment]:
    """`rowtui demo large`: what the dashboard shows of it, while time goes by and jobs are sent."""
    with patch.dict(os.environ, XDG_CACHE_HOME=str(folder / "cache")):
        project = made_demo(folder / "project", LARGE, jobs=2)
        with asyncio.Runner() as runner:
            steps = _large(project)
            try:
                while (moment := runner.run(anext(steps, None))) is not None:
                    yield moment
            finally:
                runner.run(steps.aclose())


DEMOS: dict[str, Callable[[Path], Iterator[Moment]]] = {
    it.__name__: it for it in (small, network, large)
}


def _real(project: FolderProject, steps: Iterator[str]) -> Iterator[Moment]:
    project.home.mkdir(parents=True)
    try:
        with project.here():
            for name in steps:
                facts = collect(project)
                yield Moment(name, len(facts), compared(facts), tuple(check(facts)))
    finally:
        project.close()


def _submit_all(project: FolderProject) -> Iterator[str]:
    yield "it is made"
    step = 0
    while project.json("plan")["jobs"]:
        step += 1
        project.succeed("submit", "--yes", "--detach")
        project.wait_until_ended()
        yield f"submission {step}"


def _run_in_steps(project: FolderProject) -> Iterator[str]:
    yield "it is made"
    status, step = "", 0
    while status != "finished":
        step += 1
        assert step < STEPS, project.driver_log
        project("network", "run", "--yes", "--max-cpu-hours", str(0.25 * step))
        project.wait_until_ended()
        status = project.json("network", "show")["run"]["status"]
        yield f"within {0.25 * step:g} CPU-hours: {status}"


async def _large(project: DemoProject) -> AsyncGenerator[Moment, None]:
    engine = DemoEngine(project, moving=False)
    try:
        before: dict[JobState, int] = {}
        for step in range(STEPS):
            facts = await collect_views(engine)
            laws = (counts_add_up, what_is_eligible_is_planned_or_refused)
            found = tuple(check(facts, laws=laws))
            yield Moment(f"step {step}", len(facts), compared(facts), found)
            plan = await engine.plans.make(None, None, AT_ONCE)
            counts = (await engine.jobs.view()).states
            there = [job.token for job in plan.jobs if job.destination.cluster != LOGGED_OUT]
            if len(there) < len(plan.jobs):
                gone = {job.token for job in plan.jobs} - set(there)
                plan = await engine.plans.without(plan, tuple(gone)) if there else plan
            if there:
                async for _ in engine.plans.submit(plan):
                    pass
            elif counts == before:  # what is left waits for a login, or has failed
                return
            before = counts
            project.now.skip(6 * HOURS)
            await asyncio.to_thread(engine.advance)
    finally:
        await engine.close()
