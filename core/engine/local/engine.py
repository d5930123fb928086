"""The engine in this process: a project's work in threads, one piece at a time.

It is used by the command line, by tests and by the first version of the dashboard. An engine in a
process of its own implements the same protocol (`core/engine/api/engine.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from rowtui.core.base.errors import InvalidFileError, RowtuiError
from rowtui.core.clusters.schedulers.base import JobAnswer
from rowtui.core.engine.api.engine import DirectoriesPage, GroupsPage, ProjectSnapshot
from rowtui.core.engine.api.network import NetworkRequests
from rowtui.core.engine.api.plans import PlanRequests
from rowtui.core.engine.local.arrivals import Arrivals, SavedTurn
from rowtui.core.engine.local.clusters import ClustersWork
from rowtui.core.engine.local.logs import Logs
from rowtui.core.engine.local.pages import ListPages
from rowtui.core.engine.local.polling import ClusterPolls
from rowtui.core.engine.local.queue import QueueWork
from rowtui.core.engine.local.snapshot import Snapshots
from rowtui.core.groups.model import Status
from rowtui.core.project.queue.verbs import cancel_jobs, hold_jobs, release_jobs
from rowtui.core.project.review.views import PlanCheck
from rowtui.core.project.views.follow import Changes, look_at_touched
from rowtui.core.project.views.needs import ProjectNeeds
from rowtui.core.project.views.views import (
    AS_IS,
    Edit,
    EditRequest,
    JobsView,
    ListRequest,
    LogTail,
    TransferView,
)
from rowtui.core.runs.execution.advance import follow_network
from rowtui.core.runs.views import NetworkView
from rowtui.core.submission.plan.model import Plan
from rowtui.core.submission.sending.release_held import SendingProgress
from rowtui.core.workflow.find import has_network

if TYPE_CHECKING:
    from rowtui.core.engine.local.network import NetworkWork
    from rowtui.core.engine.local.plans import PlanWork
    from rowtui.core.project.project import Project


P = ParamSpec("P")
T = TypeVar("T")


def part_request(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]], part: str
) -> Callable[Concatenate[InProcessEngine, P], Coroutine[Any, Any, T]]:
    """Make a method that calls the method of the same name of a part of the engine."""

    @wraps(method)
    async def ask(self: InProcessEngine, /, *arguments: P.args, **named: P.kwargs) -> T:
        answer: T = await getattr(getattr(self, part), method.__name__)(*arguments, **named)
        return answer

    return ask


class InProcessEngine:
    """An `Engine` over one `Project`. Open one for each dashboard.

    `generation`: the last generation of an earlier engine; snapshots continue from it.
    """

    def __init__(self, project: Project, generation: int = 0) -> None:
        self._project = project
        self._records = asyncio.Lock()
        self._changes = Changes(project)
        say = partial(self._changes.say, "completed")
        self._arrivals = Arrivals(project, self._records, say, self._tidy)
        self._turn = SavedTurn(self._records, self._arrivals)  # the lock for decisions
        self._polls = ClusterPolls(project, self._turn, self._changes.say)
        self._pages = ListPages(project)
        self._pages.generation = generation
        self._queue = QueueWork(project)
        self._clusters = ClustersWork(project, self._turn, self._polls.briefly)
        self._snapshots = Snapshots(project, ProjectNeeds(project))
        self._logs = Logs(project)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._network: NetworkWork | None = None
        self._planning: PlanWork | None = None
        # Requests that one part answers without any other.
        self.queue = self._queue.page
        self.queue_all = self._queue.all_of
        self.queue_marked = self._queue.marked
        self.queue_chosen = self._queue.chosen
        self.queue_act = self._queue.act
        self.job_detail = self._queue.detail
        self.find_job = self._queue.find
        self.job_named = self._queue.named
        self.clusters = self._clusters.view
        self.cluster_nodes = self._clusters.nodes
        self.commands_ran = self._clusters.commands_ran
        self.connect = self._clusters.connect
        self.questions = self._clusters.questions
        self.answer = self._clusters.answer
        self.log_look = self._logs.look
        self.log_page = self._logs.page
        self.log_find = self._logs.find
        follow_network(project)
        project.wait = self._wait

    # Requests to parts that are loaded at their first request.
    explain = part_request(PlanRequests.explain, "_plans")
    mapping_file = part_request(PlanRequests.mapping_file, "_plans")
    plan = part_request(PlanRequests.plan, "_plans")
    pack = part_request(PlanRequests.pack, "_plans")
    failed_jobs = part_request(PlanRequests.failed_jobs, "_plans")
    plan_again = part_request(PlanRequests.plan_again, "_plans")
    script_before = part_request(PlanRequests.script_before, "_plans")
    export_plan = part_request(PlanRequests.export_plan, "_plans")
    network_samples = part_request(NetworkRequests.network_samples, "_networks")
    network_waits = part_request(NetworkRequests.network_waits, "_networks")
    network_redo_view = part_request(NetworkRequests.network_redo_view, "_networks")
    network_redo = part_request(NetworkRequests.network_redo, "_networks")
    network_dependents = part_request(NetworkRequests.network_dependents, "_networks")
    network_start = part_request(NetworkRequests.network_start, "_networks")
    network_stop = part_request(NetworkRequests.network_stop, "_networks")
    network_plan = part_request(NetworkRequests.network_plan, "_networks")
    network_retry = part_request(NetworkRequests.network_retry, "_networks")
    network_cancel = part_request(NetworkRequests.network_cancel, "_networks")

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
        self._arrivals.save()
        return snapshot

    async def _prepare(self) -> None:
        """Determine the cluster that jobs go to, and query its partitions."""
        project = self._project
        with contextlib.suppress(RowtuiError):  # the snapshot reports what is missing
            await asyncio.to_thread(lambda: project.recognised)
            await project.connections.prepare()

    async def groups(
        self,
        action_index: int,
        statuses: Sequence[Status],
        start: int,
        length: int,
        *,
        asked: ListRequest = AS_IS,
        find: str = "",
    ) -> GroupsPage:
        """Return a page of groups; with a `problem` if there are no groups. Raises: RowtuiError."""
        which = self._pages.which("groups", action_index, tuple(statuses), asked)
        async with self._records:
            kept = self._pages.kept_groups_page(which, start, length, find)
            if kept is not None:  # no thread is needed
                return kept
            page = partial(self._pages.groups_page, which, start, length, find)
            return await asyncio.to_thread(page)

    async def group_directories(
        self,
        action_index: int,
        statuses: Sequence[Status],
        group: int | None,
        start: int,
        length: int,
        *,
        asked: ListRequest = AS_IS,
    ) -> DirectoriesPage:
        """Return a page of a group's directories, or of all groups' in order.

        Raises: RowtuiError.
        """
        which = self._pages.which("group", action_index, tuple(statuses), asked)
        async with self._records:
            page = partial(self._pages.group_directories_page, which, group, start, length)
            return await asyncio.to_thread(page)

    async def directories(
        self,
        action_index: int,
        statuses: Sequence[Status],
        start: int,
        length: int,
        *,
        asked: ListRequest = AS_IS,
        find: str = "",
    ) -> DirectoriesPage:
        """Return a page of all directories of an action. Raises: RowtuiError."""
        which = self._pages.which("directories", action_index, tuple(statuses), asked)
        async with self._records:
            page = partial(self._pages.directories_page, which, start, length, find)
            return await asyncio.to_thread(page)

    async def edit_workflow(self, asked: EditRequest) -> Edit:
        """Return a change of workflow.toml, as a preview or written. Raises: RowtuiError."""
        return await self._plans.edit_workflow(asked, partial(self._synchronise, False, ()))

    @property
    def _plans(self) -> PlanWork:
        """Create the object at the first request, so that the first snapshot loads less."""
        if self._planning is None:
            from rowtui.core.engine.local.plans import PlanWork

            self._planning = PlanWork(self._project, self._turn, self._pages, self._polls)
        return self._planning

    async def trust(self, place: str, digest: str) -> None:
        """Allow the code of this content to run as this user. Raises: RowtuiError if it changed."""
        await self._plans.trust(place, digest)
        self._changes.say("mapping")

    async def transfers(self, plan: Plan) -> tuple[TransferView, ...]:
        """Return what a plan would copy to clusters without access to the project's folder."""
        return await self._project.copies.preview(plan)

    def review(self, plan: Plan) -> AsyncIterator[PlanCheck]:
        """Yield the checks of a plan."""
        return self._plans.checks(plan)

    async def without(self, plan: Plan, tokens: Sequence[str]) -> Plan:
        """Return the plan without these jobs. Raises: RowtuiError if no job is left."""
        left = await self._plans.without(plan, tokens)
        if self._network is not None:
            self._network.planned_less(plan, left)
        return left

    async def submit(self, plan: Plan) -> AsyncIterator[SendingProgress]:
        """Submit a plan. Closing the iterator stops between two jobs."""
        # The user has confirmed sending, so unfinished earlier submissions may be completed.
        await self._polls.ask_for_jobs(may_send=True)
        network = self._network
        noting = contextlib.nullcontext() if network is None else network.submitting(plan)
        try:
            async with noting, contextlib.aclosing(self._project.jobs.submit(plan)) as steps:
                async for step in steps:
                    yield step
        finally:
            for name in {job.destination.cluster for job in plan.jobs}:
                ask = partial(self._polls.ask_for_new, name)
                self._polls.begin(f"queue of {name} with new jobs", ask)

    async def jobs(self, *, now: bool = False) -> JobsView:
        """Return the project's newest jobs, counts of all jobs, and all clusters."""
        await self._polls.ask_for_jobs(now=now, everywhere=True)
        async with self._turn:
            jobs = self._project.jobs
            view = await asyncio.to_thread(jobs.show, jobs.queues.looks.latest)
        return await self._queue.take(view)

    async def cancel(self, tokens: Sequence[str]) -> tuple[JobAnswer, ...]:
        """Cancel these jobs."""
        return await cancel_jobs(self._project, tokens)

    async def hold(self, tokens: Sequence[str]) -> tuple[JobAnswer, ...]:
        """Hold these jobs."""
        return await hold_jobs(self._project, tokens)

    async def release(self, tokens: Sequence[str]) -> tuple[JobAnswer, ...]:
        """Release these jobs."""
        return await release_jobs(self._project, tokens)

    async def log_tail(self, token: str, lines: int) -> LogTail:
        """Return the last lines of a job's log."""
        return await self._project.jobs.log_tail(token, lines)

    async def changes(self) -> AsyncIterator[str]:
        """Yield a word whenever something on disk changes, until the engine is closed."""
        async for word in self._changes.words():
            yield word

    # The network

    @property
    def _networks(self) -> NetworkWork:
        """Create the network's object at the first request: most projects have none, and it needs
        numpy.
        """
        if self._network is None:
            from rowtui.core.engine.local.network import NetworkWork

            ask = partial(self._polls.ask_for_jobs, may_send=True)
            self._network = NetworkWork(self._project, self._turn, ask, self._changes.say)
        return self._network

    async def network(self, *, frozen: bool = True) -> NetworkView | None:
        """Return the network and its newest run; None without a network.toml.

        Raises: RowtuiError.
        """
        if self._network is None and not has_network(self._project.root):
            return None
        return await self._networks.view(frozen=frozen)

    async def settled(self) -> None:
        """Wait until all shown records are saved."""
        await self._arrivals.saved()

    async def close(self) -> None:
        """Stop watching; update Row's files."""
        if self._network is not None:
            await self._network.network_stop()
        await self._queue.close()
        self._changes.close()
        self._clusters.close()
        await self._polls.close()
        await self._arrivals.close()
        async with self._turn:
            await asyncio.to_thread(self._project.close)
        await self._project.let_go()

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
