"""The network's part of the engine in this process: looking at it, and driving its run.

A run is driven by a task of this process's loop; it takes turns with everything else that uses the
project's records.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from rowtui.core.errors import RowtuiError
from rowtui.core.network.job_model import JobState
from rowtui.core.runs.autopilot import Kind
from rowtui.core.runs.limits import Limits
from rowtui.core.runs.networks import Networks
from rowtui.core.runs.views import NetworkView, SamplesPage

if TYPE_CHECKING:
    from rowtui.core.project.project import Project
    from rowtui.core.runs.store import Run
    from rowtui.core.submission.model import Plan


class NetworkWork:
    """`turn`, `ask_queues`: as in `Autopilot`. `say` announces that something has changed."""

    def __init__(
        self,
        project: Project,
        turn: asyncio.Lock,
        ask_queues: Callable[[], Awaitable[None]],
        say: Callable[[str], None],
    ) -> None:
        self._project = project
        self._networks = Networks(project)
        self._turn = turn
        self._ask_queues = ask_queues
        self._say = say
        self._driver: asyncio.Task[None] | None = None
        self._planned: tuple[Run, Plan] | None = None

    async def view(self, *, frozen: bool) -> NetworkView | None:
        """See `Engine.network`."""
        if not self._networks.exists:
            return None
        async with self._turn:
            return await asyncio.to_thread(self._networks.view, frozen=frozen)

    async def samples(
        self, node: str, states: Sequence[JobState], start: int, length: int
    ) -> SamplesPage:
        """See `Engine.network_samples`."""
        async with self._turn:
            return await asyncio.to_thread(self._networks.samples, node, states, start, length)

    async def start(self, limits: Limits, *, anew: bool) -> None:
        """See `Engine.network_start`."""
        if self._driver is not None and not self._driver.done():
            raise RowtuiError("the run is driven already", "stop it first")
        async with self._turn:
            run = await asyncio.to_thread(self._networks.begin, limits, anew=anew)
        if (holder := run.holder()) is not None:
            raise RowtuiError(f"run {run.id} is driven by {holder}", "stop it there first")
        self._driver = asyncio.create_task(self._drive(run))

    async def _drive(self, run: Run) -> None:
        driving = self._networks.drive(run, turn=self._turn, ask_queues=self._ask_queues)
        try:
            async with contextlib.aclosing(driving) as telling:
                async for told in telling:
                    if told.kind is Kind.PROBLEM or not told.success:
                        self._project.notice(f"network: {told.sentence}")
                    self._say("network")
        except RowtuiError as error:
            self._project.notice(f"the run {run.id} stopped: {error}")
        finally:
            self._say("network")

    async def stop(self) -> None:
        """See `Engine.network_stop`."""
        driver, self._driver = self._driver, None
        if driver is not None and not driver.done():
            if self._networks.driving is not None:
                self._networks.driving.stop("stopped from the dashboard")
            driver.cancel()
            await asyncio.gather(driver, return_exceptions=True)

    async def plan(self) -> tuple[Plan | None, tuple[str, ...]]:
        """See `Engine.network_plan`."""
        if self._networks.driving is not None:
            raise RowtuiError("the run is driven already", "stop it to go on step by step")
        async with self._turn:
            run = await asyncio.to_thread(self._networks.begin)
            plan, blocked = await asyncio.to_thread(self._networks.next_plan, run)
        self._planned = None if plan is None else (run, plan)
        return plan, blocked

    async def about_to_submit(self, plan: Plan) -> None:
        """A plan is about to be carried out: if it is a run's, that is written down first."""
        if self._planned is not None and self._planned[1].id == plan.id:
            run, _ = self._planned
            self._planned = None
            await asyncio.to_thread(self._networks.note_submitted, run, plan)

    async def retry(self, jobs: Sequence[int]) -> None:
        """See `Engine.network_retry`."""
        async with self._turn:
            await asyncio.to_thread(self._networks.retry, jobs)
        self._say("network")

    async def cancel(self, jobs: Sequence[int]) -> None:
        """See `Engine.network_cancel`."""
        async with self._turn:
            await asyncio.to_thread(self._networks.give_up, jobs, "given up by a person")
        self._say("network")
