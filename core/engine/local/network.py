"""The network's part of the engine in this process: its views, and driving its run.

A run is driven by a task of this process's loop; it shares the lock of the project's records with
all other users of the records.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.project.views.files import FileContent, read_file
from rowtui.core.project.views.views import AS_IS, ListRequest
from rowtui.core.runs.execution.advance import follow_network
from rowtui.core.runs.execution.driver import MessageKind
from rowtui.core.runs.limits.limits import RunLimits
from rowtui.core.runs.networks import Networks
from rowtui.core.runs.redo import with_what_follows
from rowtui.core.runs.views import NetworkView, RedoView, SamplesPage, StaleResult, WaitPath

if TYPE_CHECKING:
    from rowtui.core.engine.local.planned_run import PlannedRun
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.runs.store import Run
    from rowtui.core.submission.plan.model import Plan

MOST_STALE = 20  # stale results, or products that stay, that are listed one by one
MOST_LINES = 200  # lines, or rows of a table, of a product that the view shows
STOP_SECONDS = 20.0  # for the present step of a driver: one submission, one poll


class NetworkWork:
    """The network of one project. `turn`, `ask_queues`: as in `Autopilot`.

    `say` announces that something has changed.
    """

    def __init__(
        self,
        project: OpenProject,
        turn: asyncio.Lock,
        ask_queues: Callable[[], Awaitable[None]],
        say: Callable[[str], None],
        planned: PlannedRun,
    ) -> None:
        self._project = project
        self._networks = Networks(project)
        follow_network(project, self._networks)
        self._turn = turn
        self._ask_queues = ask_queues
        self._say = say
        self._driver: asyncio.Task[None] | None = None
        self._starting = False
        self._ending = False  # the driver has sent its last message
        self._planned = planned
        self._newest: object = None  # the most recently requested list of samples

    @property
    def _driven(self) -> bool:
        """Whether this process drives a run, or is about to."""
        return self._starting or (self._driver is not None and not self._driver.done())

    async def view(self, *, frozen: bool = True) -> NetworkView | None:
        """Return the network and its newest run; None without a network.toml. Raises: RowtuiError.

        `frozen` False: the present network.toml, independent of the run.
        """
        if not self._networks.can_show(frozen=frozen):
            return None
        async with self._turn:
            return await asyncio.to_thread(self._view, frozen)

    def _view(self, frozen: bool) -> NetworkView:
        view = self._networks.view(frozen=frozen)
        if view.run is not None and view.run.here and self._ending:
            view = view._replace(run=view.run._replace(here=False, holder=""))
        return view

    async def samples(
        self,
        node: str,
        states: Sequence[GraphJobState],
        start: int,
        length: int,
        *,
        frozen: bool = True,
        asked: ListRequest = AS_IS,
        find: str = "",
    ) -> SamplesPage:
        """Return a page of the samples of a source or node in these states (none given: all).

        `frozen`: as in `view`; `asked`: as for groups; `find`: a job's number, or the
        directory of a source's sample. Raises: RowtuiError.
        """
        question = (node, tuple(states), frozen, asked)
        self._newest = question
        async with self._turn:
            return await asyncio.to_thread(
                self._networks.samples,
                node,
                states,
                start,
                length,
                frozen=frozen,
                asked=asked,
                find=find,
                go_on=lambda: self._newest == question,
            )

    async def product(self, action: str, directory: str, name: str) -> FileContent | None:
        """Return the beginning of this product, or with "" of the first one that can be read.

        None if there is none.
        """
        return await asyncio.to_thread(self._product, action, directory, name)

    def _product(self, action: str, directory: str, only: str) -> FileContent | None:
        folder = self._project.workflow.workspace / directory
        for name in (it for one in self._project.workflow.named(action) for it in one.products):
            if only not in ("", name):
                continue
            with contextlib.suppress(RowtuiError):
                read = read_file(folder / name)
                return read._replace(lines=read.lines[:MOST_LINES], rows=read.rows[:MOST_LINES])
        return None

    async def waits(self, job: int) -> WaitPath:
        """Return what a job of the graph waits for, or why it was lost. Raises: RowtuiError."""
        async with self._turn:
            return await asyncio.to_thread(self._networks.waits, job)

    async def redo_view(self, jobs: Sequence[int]) -> RedoView:
        """Return what would run again with these complete jobs; without jobs, with all stale ones.

        Raises: RowtuiError.
        """
        async with self._turn:
            return await asyncio.to_thread(lambda: self._to_redo(jobs)[1])

    def _to_redo(self, jobs: Sequence[int]) -> tuple[list[int], RedoView]:
        running = self._networks.running()
        if running is None:
            raise RowtuiError("there is no run of this network", "S starts one")
        stale = [] if jobs else self._networks.stale()
        roots = list(jobs) or [it.job for it in stale]
        every = with_what_follows(running, roots)
        nodes = Counter(running.growth.where(job).node for job in every)
        first = [StaleResult(it.node, it.directory, it.added, it.gone) for it in stale[:MOST_STALE]]
        return roots, RedoView(len(roots), len(every), tuple(nodes.items()), tuple(first))

    async def redo(self, jobs: Sequence[int], expected: int) -> tuple[int, tuple[str, ...]]:
        """Run these jobs and the jobs that used their results again; move products to the trash.

        Returns the number of jobs and notices for the user. Raises: RowtuiError, also if the number
        would not be `expected`.
        """
        async with self._turn:
            done = await asyncio.to_thread(self._redo, jobs, expected)
        self._say("network")
        return done

    def _redo(self, jobs: Sequence[int], expected: int) -> tuple[int, tuple[str, ...]]:
        roots, view = self._to_redo(jobs)
        if view.jobs != expected:
            raise RowtuiError(
                f"it would be {plural(view.jobs, 'job')} now, not {expected:,}", "look again"
            )
        done = self._networks.redo(roots)
        parts = [f"{visible(it.name)} stays: {it.why}" for it in done.refused[:MOST_STALE]]
        if done.trash:
            parts.append(f"'rowtui network restore {done.trash}' brings back what they had made")
        return len(done.jobs), tuple(parts)

    async def dependents(self, jobs: Sequence[int]) -> int:
        """Return how many further jobs that may still run depend on these of the newest run."""
        async with self._turn:
            return await asyncio.to_thread(self._dependents, jobs)

    def _dependents(self, jobs: Sequence[int]) -> int:
        running = self._networks.running()
        if running is None:
            return 0
        graph, states = running.graph, running.graph.snapshot().states
        seen, todo = set(jobs), list(jobs)
        while todo:
            for other in graph.dependents(todo.pop()):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        over = (GraphJobState.COMPLETED, GraphJobState.CANCELLED, GraphJobState.SKIPPED)
        return sum(1 for job in seen - set(jobs) if states[job] not in over)

    async def start(self, limits: RunLimits, *, anew: bool = False) -> None:
        """Drive the newest open run, or a new one, within limits that were confirmed.

        The run continues in the background; `changes` yields "network" after each of its steps.
        Raises: RowtuiError.
        """
        if self._ending and self._driver is not None:
            await asyncio.wait({self._driver}, timeout=STOP_SECONDS)
        if self._driven:
            raise RowtuiError("the run is driven already", "stop it first")
        self._starting = True
        try:
            with contextlib.ExitStack() as lock:
                lock.enter_context(self._networks.store.hold())
                async with self._turn:
                    run = await asyncio.to_thread(self._begin, limits, anew)
                self._planned.clear()
                self._ending = False
                self._driver = asyncio.create_task(self._drive(run))
                held = lock.pop_all()
                self._driver.add_done_callback(lambda _: held.close())
        finally:
            self._starting = False

    def _begin(self, limits: RunLimits, anew: bool) -> Run:
        """Return the run to drive. Its limits are not changed while another process drives it."""
        latest = None if anew else self._networks.run()
        if latest is not None and not latest.status.is_over and (holder := latest.holder()):
            raise RowtuiError(f"run {latest.id} is driven by {holder}", "stop it there first")
        return self._networks.begin(limits, anew=anew)

    async def _drive(self, run: Run) -> None:
        driving = self._networks.drive(run, turn=self._turn, ask_queues=self._ask_queues)
        try:
            async with contextlib.aclosing(driving) as telling:
                async for message in telling:
                    if message.kind is MessageKind.PROBLEM or not message.success:
                        self._project.notice(f"network: {message.sentence}")
                    self._ending = message.kind in (MessageKind.PAUSED, MessageKind.OVER)
                    self._say("network")
        except Exception as error:  # reported in any case, because the task is not awaited
            self._project.notice(f"the run {run.id} stopped: {error or type(error).__name__}")
        finally:
            self._say("network")

    async def stop(self) -> None:
        """Stop driving. Submitted jobs go on."""
        driver, self._driver = self._driver, None
        if driver is None or driver.done():
            return
        if self._networks.driving is not None:
            self._networks.driving.stop("stopped from the dashboard")
            # Work on the project's records in a thread must not be cut off, because others would
            # then change the records at the same time. Before that, nothing is changed.
            await asyncio.wait({driver}, timeout=STOP_SECONDS)
        driver.cancel()
        await asyncio.gather(driver, return_exceptions=True)
        self._say("network")

    async def plan(self) -> tuple[Plan | None, tuple[str, ...]]:
        """Return what the run would submit next, for confirmation, and why some jobs cannot be
        submitted.

        Raises: RowtuiError.
        """
        if self._driven:
            raise RowtuiError("the run is driven already", "stop it to go on step by step")
        async with self._turn:
            run = await asyncio.to_thread(self._networks.begin)
            plan, blocked = await self._networks.next_plan(run)
        self._planned.clear()
        if plan is not None:
            self._planned.set(self._networks, run, plan)
        self._say("network")
        return plan, blocked

    async def retry(self, jobs: Sequence[int]) -> None:
        """Retry failed jobs of the graph. Raises: RowtuiError."""
        async with self._turn:
            await asyncio.to_thread(self._networks.retry, jobs)
        self._say("network")

    async def cancel(self, jobs: Sequence[int]) -> None:
        """Give up jobs of the graph, with their dependents. Raises: RowtuiError."""
        async with self._turn:
            await asyncio.to_thread(self._networks.give_up, jobs, "cancelled by a person")
        self._say("network")
