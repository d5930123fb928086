"""The engine of the large demo: the real one in this process, on simulated clusters.

Jobs that are submitted become work of the simulation; what it completes is staged as real jobs
stage it, so that everything after that is what happens to anybody's project.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from rowtui.core.demo.clock import FastClock
from rowtui.core.demo.project import DemoProject, make_project, opened_again
from rowtui.core.demo.simulation import Work
from rowtui.core.engine import Snapshot, SubmitProgress
from rowtui.core.in_process import InProcessEngine
from rowtui.core.state.staging import stage_completions
from rowtui.core.submission.model import Plan

STEP_SECONDS = 1.0
"""Between two steps of the simulation, by our own clock."""

DOWN = "Connection refused"
SLOW_SECONDS = 8.0


class DemoEngine(InProcessEngine):
    """The demo's engine, its clock, its badge and its faults."""

    stranger = True

    def __init__(self, project: DemoProject) -> None:
        super().__init__(project)
        self._demo = project
        self._stepping: asyncio.Task[None] | None = None

    # The engine

    async def refresh(self, *, full: bool = False) -> Snapshot:
        """See `Engine`. There is nothing more to be read again."""
        if self._stepping is None:
            self._stepping = asyncio.create_task(self._step())
        return await super().refresh()

    async def submit(self, plan: Plan) -> AsyncIterator[SubmitProgress]:
        """See `Engine`."""
        self._know(plan)
        network = self._network  # as the engine's own does it
        noting = contextlib.nullcontext() if network is None else network.submitting(plan)
        async with noting, contextlib.aclosing(self._demo.jobs.submit(plan)) as steps:
            async for step in steps:
                yield step

    def _know(self, plan: Plan) -> None:
        """What its jobs will do. A bundle is one job that does the work of all of them."""
        work = self._demo.simulation.work
        for job in plan.jobs:
            work[job.token] = Work(job.action, job.directories)
            if job.bundle is not None:
                before = work.get(job.bundle.token, Work(job.action, ()))
                work[job.bundle.token] = Work(job.action, before.directories + job.directories)

    async def _step(self) -> None:
        while True:
            await asyncio.sleep(STEP_SECONDS)
            await asyncio.to_thread(self._advance)

    def _advance(self) -> None:
        """One step: files appear as those of real jobs do."""
        project = self._demo
        completed = project.simulation.advance(project.now())
        for path, text in project.simulation.take_logs().items():
            with (project.root / path).open("a") as log:
                log.write(text)
        if completed:
            stage_completions(project.root, completed)

    async def close(self) -> None:
        """See `Engine`."""
        if self._stepping is not None:
            self._stepping.cancel()
        await super().close()

    async def begin(self, jobs: int) -> None:
        """Let some jobs be under way, have ended and have failed before anybody looks."""
        project = self._demo
        speed, project.now.speed = project.now.speed, 1
        for cluster in project.simulation.clusters.values():
            cluster.slow, cluster.logged_in = 0.0, True
        project.synchronise()
        for action in project.workflow.actions[:3]:
            plan = project.plan([action], limit=jobs)
            async for _ in self.submit(plan):
                pass
        for _ in range(20):
            project.now.skip(180)
            self._advance()
        await project.jobs.ask()
        project.take_notices()
        for cluster in project.simulation.clusters.values():
            cluster.slow = cluster.machine.latency
            cluster.logged_in = not cluster.machine.expired
        project.now.speed = speed

    # What the dashboard shows and offers of a demo

    @property
    def badge(self) -> str:
        """What the header says."""
        return f"DEMO ×{self._demo.now.speed}"

    def faster(self) -> str:
        """The next speed; what was done."""
        self._demo.now.faster()
        return f"The demo's clock runs at ×{self._demo.now.speed}."

    def slower(self) -> str:
        """The speed before; what was done."""
        self._demo.now.slower()
        return f"The demo's clock runs at ×{self._demo.now.speed}."

    @property
    def faults(self) -> tuple[tuple[str, str], ...]:
        """Faults that can be injected, and what each does."""
        found = []
        for name in self._demo.simulation.clusters:
            found += [
                (f"fail {name}", f"{name} refuses every connection, or answers again"),
                (f"slow {name}", f"{name} takes {SLOW_SECONDS:g} s to answer, or is quick again"),
                (f"logout {name}", f"the login to {name} expires"),
            ]
        return tuple(found)

    def inject(self, fault: str) -> str:
        """Make something go wrong; what was done."""
        what, _, name = fault.partition(" ")
        there = self._demo.simulation.clusters.get(name)
        if there is None or what not in ("fail", "slow", "logout"):
            return "There are: " + ", ".join(known for known, _ in self.faults)
        if what == "fail":
            there.down = "" if there.down else DOWN
            return f"{name} does not answer now." if there.down else f"{name} answers again."
        if what == "logout":
            there.logged_in = False
            return f"The login to {name} has expired."
        quick = there.slow >= SLOW_SECONDS
        there.slow = there.machine.latency if quick else SLOW_SECONDS
        return f"{name} is quick again." if quick else f"{name} is slow now."


def demo_engine(
    root: Path, directories: int = 100_000, seed: int = 1, jobs: int = 40
) -> DemoEngine:
    """The large demo in a folder that is empty or not there. Raises: RowtuiError."""
    project = make_project(root, directories, seed, FastClock())
    asyncio.run(DemoEngine(project).begin(jobs))
    return DemoEngine(opened_again(project))
