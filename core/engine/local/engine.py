"""The engine in this process: a project's work in threads, one piece at a time.

It is used by the command line and by tests. An engine in a process of its own implements the same
protocol (`core/engine/engine.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast

from rowtui.core.base.errors import InvalidFileError, RowtuiError
from rowtui.core.engine.api.snapshot import TERMINAL_NOTICE, ProjectSnapshot
from rowtui.core.engine.local.arrivals import Arrivals, SavedTurn
from rowtui.core.engine.local.jobs import JobsWork, QueueWork
from rowtui.core.engine.local.logs import LogsWork
from rowtui.core.engine.local.pages import GroupsWork, ListPages
from rowtui.core.engine.local.planned_run import PlannedRun
from rowtui.core.engine.local.polling import ClusterPolls, ClustersWork
from rowtui.core.engine.local.snapshot import Snapshots
from rowtui.core.project.views.follow import Changes, look_at_touched
from rowtui.core.project.views.needs import ProjectNeeds
from rowtui.core.runs.execution.advance import follow_network
from rowtui.core.workflow.find import has_network

if TYPE_CHECKING:
    from rowtui.core.engine.local.network import NetworkWork
    from rowtui.core.engine.local.past import PastWork
    from rowtui.core.engine.local.plans import MappingWork, PlansWork
    from rowtui.core.project.open_project import OpenProject


class NoNetwork:
    """The service `network` without a network.toml; other requests are for the real service."""

    def __init__(self, load: Callable[[], NetworkWork]) -> None:
        self._load = load

    async def view(self, *, frozen: bool = True) -> None:
        """Return None, without loading what a network needs."""

    def __getattr__(self, name: str) -> Any:
        """Return a method of the real service, which reports what is missing."""
        return getattr(self._load(), name)


class InProcessEngine:
    """An `Engine` over one `OpenProject`. Open one for each dashboard.

    `generation`: the last generation of an earlier engine; snapshots continue from it.
    `messages`: send messages to the user's channels.
    """

    def __init__(
        self, project: OpenProject, generation: int = 0, *, messages: bool = False
    ) -> None:
        self._project = project
        self._messages = messages
        self._records = asyncio.Lock()
        self._changes = Changes(project)
        say = partial(self._changes.say, "completed")
        self._arrivals = Arrivals(project, self._records, say, self._tidy)
        self._turn = SavedTurn(self._records, self._arrivals)  # the lock for decisions
        self._polls = ClusterPolls(project, self._turn, self._changes.say)
        self._pages = ListPages(project)
        self._pages.generation = generation
        self._planned = PlannedRun()
        self._snapshots = Snapshots(project, ProjectNeeds(project))
        self._loop: asyncio.AbstractEventLoop | None = None
        self._network: NetworkWork | None = None
        self.groups = GroupsWork(self._pages, self._records)
        self.queue = QueueWork(project)
        self.jobs = JobsWork(project, self._turn, self._polls, self.queue)
        self.logs = LogsWork(project)
        self.clusters = ClustersWork(project, self._turn, self._polls.briefly)
        follow_network(project)
        project.wait = self._wait

    # Services that are loaded at their first request, so that the first snapshot loads less.

    @cached_property
    def mapping(self) -> MappingWork:
        """Placements and mapping files."""
        from rowtui.core.engine.local.plans import MappingWork

        synchronise = partial(self._synchronise, False, ())
        return MappingWork(
            self._project,
            self._turn,
            self._pages,
            self._polls,
            say=self._changes.say,
            synchronise=synchronise,
        )

    @cached_property
    def plans(self) -> PlansWork:
        """Plans and their submission."""
        from rowtui.core.engine.local.plans import PlansWork

        return PlansWork(self._project, self._turn, self._pages, self._polls, self._planned)

    @cached_property
    def past(self) -> PastWork:
        """What ran when."""
        from rowtui.core.engine.local.past import PastWork

        return PastWork(self._project, self.queue.running)

    @property
    def network(self) -> NetworkWork:
        """The network: most projects have none, and it needs numpy."""
        if self._network is None and not has_network(self._project.root):
            return cast("NetworkWork", NoNetwork(self._load_network))
        return self._load_network()

    def _load_network(self) -> NetworkWork:
        if self._network is None:
            from rowtui.core.engine.local.network import NetworkWork

            ask = partial(self._polls.ask_for_jobs, may_send=True)
            self._network = NetworkWork(
                self._project, self._turn, ask, self._changes.say, self._planned
            )
        return self._network

    def _wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine on the event loop of its connection, for planning threads."""
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def refresh(self, *, full: bool = False) -> ProjectSnapshot:
        """Synchronise with disk and scheduler. Raises: RowtuiError, OSError."""
        self._loop = asyncio.get_running_loop()
        await self._polls.briefly("prepare", self._prepare)
        async with self._records:
            touched = self._changes.take_touched()
            taken = not (full or touched) and await asyncio.to_thread(self._take_arrivals)
        if not taken:
            async with self._turn:
                await asyncio.to_thread(self._synchronise, full, touched)
        self._changes.directories_may_have_changed()
        await self._polls.ask_for_jobs(now=full)
        async with self._records:
            snapshot = await asyncio.to_thread(self._snapshots.take, self._pages.generation)
        if (self._project.root / ".row" / "rowtui" / "runs").exists():
            snapshot = replace(snapshot, run=await asyncio.to_thread(self.plans.run))
        self._arrivals.save()
        if self._messages:  # after the first snapshot, which is not delayed by the imports
            self._messages = False
            self._polls.begin("messages", partial(asyncio.to_thread, self._open_messages))
        return snapshot

    def _open_messages(self) -> None:
        self._project.open_messages(terminal=self._show_in_terminal, dashboard=True)

    def _show_in_terminal(self, sequence: str) -> None:
        """Pass a sequence to the screen, from the thread that sends messages."""
        assert self._loop is not None
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._changes.say, TERMINAL_NOTICE + sequence)

    async def _prepare(self) -> None:
        """Determine the cluster that jobs go to, and query its partitions."""
        project = self._project
        with contextlib.suppress(RowtuiError):  # the snapshot reports what is missing
            await asyncio.to_thread(lambda: project.recognised)
            await project.connections.prepare()

    async def changes(self) -> AsyncIterator[str]:
        """Yield a word whenever something on disk changes, until the engine is closed."""
        async for word in self._changes.words():
            yield word

    async def settled(self) -> None:
        """Wait until all shown records are saved."""
        await self._arrivals.saved()

    async def close(self) -> None:
        """Stop watching; update Row's files."""
        if self._network is not None:
            await self._network.stop()
        await self.queue.close()
        self._changes.close()
        self.clusters.close()
        await self._polls.close()
        await self._arrivals.close()
        async with self._turn:
            await asyncio.to_thread(self._project.close)
        await self._project.let_go()
        if self._project.messages is not None:
            await asyncio.to_thread(self._project.messages.close)

    # Methods that run in threads

    def _take_arrivals(self) -> bool:
        with contextlib.suppress(InvalidFileError):
            self._project.reload_workflow_if_changed()
        if not self._arrivals.take():
            return False
        self._pages.next_generation()
        return True

    def _tidy(self) -> None:
        self._project.synchronise()
        self._pages.lists.forget()

    def _synchronise(self, full: bool, touched: Sequence[str]) -> None:
        project = self._project
        # the snapshot reports what is wrong with the file
        with contextlib.suppress(InvalidFileError):
            project.reload_workflow_if_changed()
        if touched and not full:
            look_at_touched(project, touched)
        project.synchronise(full=full)
        self._pages.next_generation()
