"""The clusters of a screen: polls of their queues, live answers while they are shown, and logins.

Each query is a task of its own, and callers wait a little for its answer: a cluster that is slow,
or that waits for a login, delays no other.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.project.context.clusters import (
    ClusterNodes,
    ClustersView,
    live_node_types,
    look_at_clusters,
)
from rowtui.core.project.context.questions import LoginQuestion, OpenQuestions, Withdrawn

if TYPE_CHECKING:
    from rowtui.core.clusters.command_log import RanCommand
    from rowtui.core.project.open_project import OpenProject


PATIENCE_SECONDS = 1.0  # for clusters; after that, the known state is shown
START_SECONDS = 2.0  # after a submission: most jobs that need not wait have started by then

LOAD_SECONDS = 60.0  # between two queries of a cluster's load
NODES_SECONDS = 60.0  # the answer about nodes is cached for this long
WAIT_SECONDS = 0.3  # for the loads; later answers are in the next view

Briefly = Callable[[str, Callable[[], Coroutine[Any, Any, None]], float], Awaitable[None]]


class ClusterPolls:
    """The queries of one engine's clusters.

    `turn`: the lock of the project's records. `say` announces that an answer has arrived late.
    """

    def __init__(
        self, project: OpenProject, turn: asyncio.Lock, say: Callable[[str], None]
    ) -> None:
        self._project = project
        self._turn = turn
        self._say = say
        self._asking: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)  # by cluster
        self.under_way: dict[str, asyncio.Task[None]] = {}

    async def briefly(
        self,
        name: str,
        work: Callable[[], Coroutine[Any, Any, None]],
        seconds: float = PATIENCE_SECONDS,
    ) -> None:
        """Start work for clusters and wait a little: a cluster may be slow, or may need a login.

        Work that is running is neither started nor waited for again.
        """
        if (task := self.begin(name, work)) is not None:
            await self.wait_for([task], seconds, "workflow")

    def begin(
        self, name: str, work: Callable[[], Coroutine[Any, Any, None]]
    ) -> asyncio.Task[None] | None:
        """Start work; return None while work of this name is running.

        Raises: the error of the previous work of this name, if that work ended after the wait for
        it.
        """
        task = self.under_way.pop(name, None)
        if task is not None and not task.done():
            self.under_way[name] = task
            return None
        if task is not None:
            task.result()
        self.under_way[name] = asyncio.create_task(work(), name=name)
        return self.under_way[name]

    async def wait_for(
        self, tasks: Collection[asyncio.Task[None]], seconds: float, word: str
    ) -> None:
        """Wait a little for tasks; `word` is announced when one ends later."""
        done, late = await asyncio.wait(tasks, timeout=seconds)
        for task in late:
            task.add_done_callback(lambda _: self._say(word))
        for task in done:
            if self.under_way.get(task.get_name()) is task:  # unless a newer task has replaced it
                del self.under_way[task.get_name()]
        for task in done:
            task.result()

    async def ask_for_jobs(
        self, *, now: bool = False, everywhere: bool = False, may_send: bool = False
    ) -> None:
        """Poll the queues that are due, and wait a little for the answers.

        Each cluster is polled and its answer recorded separately: a cluster that is slow or waits
        for a login delays no other, neither now nor at the next poll.
        """
        queues = self._project.jobs.queues
        if not (everywhere or self._project.has_jobs_to_ask_for()):
            return
        names = queues.names(everywhere=everywhere)
        sure = queues.looks.all_names()
        ask = partial(self.ask_cluster, now=now, may_send=may_send)
        mark = " now" * now + " and send on" * may_send
        begun = [self.begin(f"queue of {one}{mark}", partial(ask, one)) for one in names & sure]
        here = partial(self._ask_here, names - sure, ask)
        begun.append(self.begin(f"queue here{mark}", here))
        tasks = [task for task in begun if task is not None]
        if tasks:
            await self.wait_for(tasks, PATIENCE_SECONDS, "jobs")

    async def _ask_here(
        self, names: Collection[str], ask: Callable[[str], Coroutine[Any, Any, None]]
    ) -> None:
        """Poll the cluster of this machine, and others that can be found only from here."""
        looks = self._project.jobs.queues.looks
        here = await asyncio.to_thread(self._project.here)
        known = looks.all_names()
        rest = {*names, *([here.name] if here is not None else [])} - known
        await asyncio.gather(*(ask(name) for name in rest))

    async def ask_cluster(self, name: str, *, now: bool, may_send: bool = False) -> None:
        """Poll one cluster, and record its answer; the records are free during the poll."""
        jobs = self._project.jobs
        async with self._asking[name]:
            answers = await jobs.queues.ask_cluster(name, now=now, may_send=may_send)
            answers = await jobs.fetched(answers)
            async with self._turn:
                await asyncio.to_thread(jobs.enter, answers)
        if why := jobs.queues.unanswered.get(name):
            self._project.notice(f"{name} could not be asked: {why}")

    async def ask_for_new(self, name: str) -> None:
        """Poll one cluster soon after the user submitted jobs there; no other cluster is polled."""
        await asyncio.sleep(START_SECONDS)
        with contextlib.suppress(RowtuiError, OSError):  # the next poll reports the error
            await self.ask_cluster(name, now=True)
        self._say("jobs")

    async def close(self) -> None:
        """Cancel all queries."""
        tasks = [*self.under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class ClustersWork:
    """The clusters of one engine. `briefly`: starts a task and waits a little."""

    def __init__(self, project: OpenProject, turn: asyncio.Lock, briefly: Briefly) -> None:
        self._project = project
        self._turn = turn
        self._briefly = briefly
        self._nodes: dict[str, ClusterNodes] = {}
        self._asked: dict[str, asyncio.Future[ClusterNodes]] = {}
        self._questions = OpenQuestions()
        project.person = self._questions.asker

    async def view(self) -> ClustersView:
        """Return the clusters as they are known now, without waiting for any of them."""
        await self._briefly("loads", self._ask_loads, WAIT_SECONDS)
        async with self._turn:
            return await asyncio.to_thread(look_at_clusters, self._project)

    async def _ask_loads(self) -> None:
        with contextlib.suppress(RowtuiError, OSError):  # the known part is shown anyway
            await self._project.mapping.ask_loads(LOAD_SECONDS)

    async def nodes(self, cluster: str) -> ClusterNodes:
        """Return a cluster's nodes, queried at most once a minute. Raises: RowtuiError."""
        known = self._nodes.get(cluster)
        if known is not None and 0 <= time.time() - known.at < NODES_SECONDS:
            return known
        asked = self._asked.get(cluster)
        if asked is None or asked.done():
            asked = self._asked[cluster] = asyncio.ensure_future(self._ask_nodes(cluster))
        return await asyncio.shield(asked)

    async def _ask_nodes(self, name: str) -> ClusterNodes:
        project = self._project
        cluster = project.connections.known(name)
        if cluster is None:
            raise RowtuiError(f"{visible(name)} cannot be asked from here")
        found = await live_node_types(project.connections, cluster, project.environment)
        self._nodes[name] = ClusterNodes(name, time.time(), found.kinds, found.notices)
        return self._nodes[name]

    async def commands_ran(self, after: int) -> tuple[RanCommand, ...]:
        """Return the commands run on clusters and here, with numbers above `after`; bounded."""
        return self._project.log.after(after)

    async def connect(self, cluster: str) -> None:
        """Log in to a cluster; its prompts come from `questions`. Raises: RowtuiError."""
        await self._project.connections.connect(cluster)
        await self._project.connections.prepare()

    def questions(self) -> AsyncIterator[LoginQuestion | Withdrawn]:
        """Yield the questions of logins to the user."""
        return self._questions.stream()

    def answer(self, number: int, answers: Sequence[str] | None) -> None:
        """Answer a question; None: the user cancels the login."""
        self._questions.answer(number, answers)

    def close(self) -> None:
        """Cancel all queries."""
        for asked in self._asked.values():
            asked.cancel()
