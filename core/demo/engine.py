"""The engine of the large demo: the real one, on simulated clusters, with a week of past jobs.

Submitted jobs become work of the simulation; completions are staged as real jobs stage them, so
that all further steps are those of a real project. After a loss, the engine continues from the
project's files and from the clusters' state in `Kept`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import time
from collections.abc import AsyncIterator, Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.demo.project import DemoProject, make_project, opened_again
from rowtui.core.demo.simulation import (
    FAILURES,
    KILL,
    DemoWork,
    FastClock,
    SimulatedJob,
    inject,
    known_faults,
    played_state,
)
from rowtui.core.demo.study import PLACES
from rowtui.core.engine.api.snapshot import ProjectSnapshot
from rowtui.core.engine.local import InProcessEngine
from rowtui.core.engine.local.plans import PlansWork
from rowtui.core.engine.process.start import EngineOptions, ProjectOpened
from rowtui.core.project.planning.plan_submission import plan_submission
from rowtui.core.project.views.views import FASTER, INJECT, SLOWER, PlayedState
from rowtui.core.submission.plan.charges import ChargedHours
from rowtui.core.submission.plan.model import Plan
from rowtui.core.submission.sending.release_held import SendingProgress

if TYPE_CHECKING:
    from rowtui.core.submission.sending.journal import Journal


# The past of the large demo: a week of jobs, made by the real engine.
#
# Jobs are planned and submitted as usual, the simulation skips through the days, and at the end the
# journals get the simulated times.


HOUR = 3600.0
WAITED = 77 * HOUR
"""How long some jobs have been waiting at the end."""

LASTED = 7 * 24 * HOUR
"""The period of the other jobs: a week, which the charts of the past show."""

STAYS = 24 * HOUR
"""How much longer the waiting jobs stay in the queue."""

RUSH, EVENLY = HOUR / 2, 0.6
"""All jobs but this share are submitted in the last half hour."""

APART = 11.0
"""Seconds between jobs that were submitted one after another."""

STEP = 600.0
FAILS = 7
"""One job in this many fails, with alternating causes."""

STUCK = "QOSMaxCpuPerUserLimit"
LEFT = 2_000.0
"""CPU-hours left on the most used cluster: enough for some of the eligible jobs, not for all."""


async def make_past(project: DemoProject, jobs: int) -> None:
    """Make waiting, running, ended and failed jobs."""
    simulation, now = project.simulation, project.now
    project.synchronise()
    for name in simulation.clusters:  # otherwise the order of job numbers would vary
        vars(project.connections.scheduler(name))["at_once"] = 1
    equilibrate, sample, analyze, render, _ = project.workflow.actions
    stuck = await _sent(project, plan_submission(project, [sample], limit=max(1, jobs // 10)))
    begin = now()
    for at, job in enumerate(stuck):
        job.sent = begin + LASTED - WAITED + at * APART
        job.reason, job.not_before = STUCK, LASTED + STAYS
    for action in (equilibrate, sample, analyze, render):
        sent = await _sent(project, plan_submission(project, [action], limit=jobs))
        for at, job in enumerate(sent):
            job.sent = begin + _when(at / len(sent)) + action.index * APART
            if at % FAILS == FAILS - 1:
                job.ends_as, _, job.exit_code = FAILURES[at // FAILS % len(FAILURES)]
    completed: dict[str, list[str]] = {}
    until = now() + LASTED
    while now() < until:
        now.skip(STEP)
        for name, names in simulation.advance(now()).items():
            completed.setdefault(name, []).extend(names)
    project.stage(completed)
    await project.jobs.ask()
    project.take_notices()
    _tell_when(project)


def _when(share: float) -> float:
    """Return when this share of the jobs is submitted, in seconds; many at the end wait or run."""
    days, rest = min(1.0, share / EVENLY), max(0.0, share - EVENLY) / (1.0 - EVENLY)
    # More from day to day, and more by day than by night.
    days = math.cbrt(days)
    days += 0.015 * math.sin(14 * math.pi * days)
    return (LASTED - RUSH) * days + RUSH * rest


async def _sent(project: DemoProject, plan: Plan) -> list[SimulatedJob]:
    know(project, plan)
    async for _ in project.jobs.submit(plan):
        pass
    tokens = {job.token: at for at, job in enumerate(plan.jobs)}
    clusters = project.simulation.clusters.values()
    found = [job for there in clusters for job in there.jobs if job.token in tokens]
    return sorted(found, key=lambda job: tokens[job.token])


def know(project: DemoProject, plan: Plan) -> None:
    """Register the work of a plan's jobs; a bundle is one job that does the work of all."""
    work = project.simulation.work
    for job in plan.jobs:
        work[job.token] = DemoWork(job.action, job.directories)
        if job.bundle is not None:
            before = work.get(job.bundle.token, DemoWork(job.action, ()))
            work[job.bundle.token] = DemoWork(job.action, before.directories + job.directories)


def _tell_when(project: DemoProject) -> None:
    """Write the times of the simulation into the journals."""
    begin = project.clock() - project.now()
    jobs = {job.token: job for there in project.simulation.clusters.values() for job in there.jobs}
    journal: Journal = project.jobs.journal
    for path in (*journal.folder.glob("*.jsonl"), *journal.folder.glob("done/*.jsonl")):
        lines, last = [], 0.0
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            job = jobs.get(entry["token"])
            if job is not None:
                at = job.ended if entry["step"] == "ended" else max(0.0, job.sent)
                entry["at"] = round(begin + at, 3)
                last = max(last, entry["at"])
                if "ended_at" in entry.get("end", {}):
                    entry["end"]["ended_at"] = entry["at"]
            lines.append(json.dumps(entry, separators=(",", ":")) + "\n")
        path.write_text("".join(lines))
        os.utime(path, (last, last))


def spent(project: DemoProject, cluster: str) -> float:
    """Return the CPU-hours that jobs of the past asked for."""
    jobs = project.jobs
    return ChargedHours(jobs.journal, jobs.table.plan).on([cluster])[cluster].cpu_hours


STEP_SECONDS = 1.0
"""The real time between two steps of the simulation."""

MOST_JOBS, DIRECTORIES_OF_ONE = 60, 1_600
"""Of each action, submitted before the demo is shown; in a small demo fewer."""

NEARLY_SPENT = "anvil"


class DemoPlans(PlansWork):
    """The plans of the demo, whose clusters are polled by the simulation."""

    async def submit(self, plan: Plan) -> AsyncIterator[SendingProgress]:
        """See `PlansWork`."""
        assert isinstance(self._project, DemoProject)
        know(self._project, plan)
        sending = contextlib.aclosing(self._project.jobs.submit(plan))
        async with self._planned.submitting(plan), sending as steps:
            async for step in steps:
                yield step


class DemoEngine(InProcessEngine):
    """The demo's engine, its clock and its faults.

    `moving`: whether the simulation runs by itself.
    """

    def __init__(self, project: DemoProject, generation: int = 0, *, moving: bool = True) -> None:
        super().__init__(project, generation)
        self._demo = project
        self._stepping: asyncio.Task[None] | None = None
        self._moving = moving

    def results(self) -> tuple[str, ...]:
        """See `Played`."""
        return ()

    # The engine

    async def refresh(self, *, full: bool = False) -> ProjectSnapshot:
        """See `Engine`. A full refresh has nothing more to read."""
        if self._stepping is None and self._moving:
            self._stepping = asyncio.create_task(self._step())
        return await super().refresh()

    @cached_property
    def plans(self) -> PlansWork:
        """Plans and their submission to the simulated clusters."""
        return DemoPlans(self._demo, self._turn, self._pages, self._polls, self._planned)

    async def _step(self) -> None:
        while True:
            await asyncio.sleep(STEP_SECONDS)
            await asyncio.to_thread(self.advance)

    def advance(self) -> None:
        """Make one step of the simulation: files appear like those of real jobs."""
        project = self._demo
        with project.kept.lock:
            completed = project.simulation.advance(project.now())
        project.stage(completed)
        project.save()

    async def close(self) -> None:
        """See `Engine`."""
        if self._stepping is not None:
            self._stepping.cancel()
        await super().close()

    # The state and controls of a demo for the dashboard

    @property
    def state(self) -> PlayedState:
        """See `Played`."""
        return self._state()

    def _state(self, said: str = "") -> PlayedState:
        return played_state(self._demo.simulation.clusters, self._demo.now.speed, said)

    async def control(self, word: str, argument: str = "") -> PlayedState:
        """See `Played`. Raises: RowtuiError."""
        now = self._demo.now
        if word in (FASTER, SLOWER):
            (now.faster if word == FASTER else now.slower)()
            text = f"The demo's clock runs at ×{now.speed}."
        elif word == INJECT:
            text = self._inject(argument)
        else:
            raise RowtuiError("a demo cannot do that")
        await asyncio.to_thread(self._demo.save)
        return self._state(text)

    def _inject(self, fault: str) -> str:
        what, _, name = fault.partition(" ")
        there = self._demo.simulation.clusters.get(name)
        found = inject(there, what) if there is not None else ""
        if fault == KILL:
            found = "This engine has no process of its own that could be killed."
        return found or known_faults(self.state.faults)


def made_demo(
    root: Path,
    directories: int,
    seed: int = 1,
    jobs: int | None = None,
    *,
    clock: Callable[[], float] = time.time,
    steady: Callable[[], float] = time.monotonic,
) -> DemoProject:
    """Make the large demo in a folder that is empty or does not exist. Raises: RowtuiError."""
    project = make_project(root, directories, seed, FastClock(steady=steady))
    project.simulation.at_their_best()
    speed, project.now.speed = project.now.speed, 1
    if jobs is None:
        jobs = min(MOST_JOBS, max(1, directories // DIRECTORIES_OF_ONE))
    project.clock = clock
    asyncio.run(make_past(project, jobs))
    _set_budget(project, NEARLY_SPENT, spent(project, NEARLY_SPENT) + LEFT)
    project.simulation.as_they_are()
    project.now.speed = speed
    project.save()
    return opened_again(project.root, steady)


def open_demo(options: EngineOptions) -> tuple[ProjectOpened, Callable[[], DemoEngine]]:
    """Make a demo, or continue one whose engine was lost; see `open_engine` of the process.

    Raises: RowtuiError, OSError.
    """
    root, demo = Path(options.start), options.demo
    if demo is None or demo.scenario != "large":
        raise RowtuiError("there is no such demo")
    if options.generation and (root / ".demo").exists():
        project = opened_again(root)
    else:
        project = made_demo(root, demo.directories, demo.seed)

    def make() -> DemoEngine:
        return DemoEngine(project, options.generation)

    return ProjectOpened(tuple(project.workflow.problems), project.take_notices()), make


def _set_budget(project: DemoProject, name: str, hours: float) -> None:
    """Set the budget of a cluster to about `hours` CPU-hours, in round numbers."""
    path = project.root / ".config" / "rowtui" / "clusters.toml"
    own = {one: its for one, *_, its, _ in PLACES}[name]
    at_least = max(100, -int(-hours // 100) * 100)
    text = path.read_text().replace(f"cpu_hours = {own} ", f"cpu_hours = {at_least} ")
    path.write_text(text)
