"""The engine of the large demo: the real one, on simulated clusters, in the engine's process.

Submitted jobs become work of the simulation; completions are staged as real jobs stage them, so
that all further steps are those of a real project. After a loss, the engine continues from the
project's files and from the clusters' state in `Kept`.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from rowtui.core.base.errors import RowtuiError
from rowtui.core.demo.past import LEFT, know, make_past, spent
from rowtui.core.demo.project import PLACES, DemoProject, make_project, opened_again
from rowtui.core.demo.simulation import KILL, FastClock, inject, known_faults, played_state
from rowtui.core.engine.api.engine import ProjectSnapshot, SendingProgress
from rowtui.core.engine.local import InProcessEngine
from rowtui.core.engine.process.options import EngineOptions, ProjectOpened
from rowtui.core.project.views.views import FASTER, INJECT, SLOWER, PlayedState
from rowtui.core.submission.plan.model import Plan

STEP_SECONDS = 1.0
"""The real time between two steps of the simulation."""

MOST_JOBS, DIRECTORIES_OF_ONE = 40, 2_500
"""Of each action, submitted before the demo is shown; in a small demo fewer."""

NEARLY_SPENT = "anvil"


class DemoEngine(InProcessEngine):
    """The demo's engine, its clock and its faults.

    `moving`: whether the simulation runs by itself.
    """

    stranger = True
    more_methods = ("control",)

    def __init__(self, project: DemoProject, generation: int = 0, *, moving: bool = True) -> None:
        super().__init__(project, generation)
        self._demo = project
        self._stepping: asyncio.Task[None] | None = None
        self._moving = moving

    # The engine

    async def refresh(self, *, full: bool = False) -> ProjectSnapshot:
        """See `Engine`. A full refresh has nothing more to read."""
        if self._stepping is None and self._moving:
            self._stepping = asyncio.create_task(self._step())
        return await super().refresh()

    async def submit(self, plan: Plan) -> AsyncIterator[SendingProgress]:
        """See `Engine`."""
        know(self._demo, plan)
        network = self._network  # as in the base class
        noting = contextlib.nullcontext() if network is None else network.submitting(plan)
        async with noting, contextlib.aclosing(self._demo.jobs.submit(plan)) as steps:
            async for step in steps:
                yield step

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
            said = f"The demo's clock runs at ×{now.speed}."
        elif word == INJECT:
            said = self._inject(argument)
        else:
            raise RowtuiError("a demo cannot do that")
        await asyncio.to_thread(self._demo.save)
        return self._state(said)

    def _inject(self, fault: str) -> str:
        what, _, name = fault.partition(" ")
        there = self._demo.simulation.clusters.get(name)
        said = inject(there, what) if there is not None else ""
        if fault == KILL:
            said = "This engine has no process of its own that could be killed."
        return said or known_faults(self.state.faults)


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
    asyncio.run(make_past(project, jobs, clock()))
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
    own = {one: its for one, _, _, its, _ in PLACES}[name]
    at_least = max(100, -int(-hours // 100) * 100)
    text = path.read_text().replace(f"cpu_hours = {own} ", f"cpu_hours = {at_least} ")
    path.write_text(text)
