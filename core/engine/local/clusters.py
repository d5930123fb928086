"""The clusters for a screen: what is known at once, live answers while they are shown, and logins.

Each query is a task of its own: a cluster that does not answer delays no other.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
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
    from rowtui.core.project.project import Project

LOAD_SECONDS = 60.0  # between two queries of a cluster's load
NODES_SECONDS = 60.0  # the answer about nodes is cached for this long
WAIT_SECONDS = 0.3  # for the loads; later answers are in the next view

Briefly = Callable[[str, Callable[[], Coroutine[Any, Any, None]], float], Awaitable[None]]


class ClustersWork:
    """The clusters of one engine. `briefly`: starts a task and waits a little."""

    def __init__(self, project: Project, turn: asyncio.Lock, briefly: Briefly) -> None:
        self._project = project
        self._turn = turn
        self._briefly = briefly
        self._nodes: dict[str, ClusterNodes] = {}
        self._asked: dict[str, asyncio.Future[ClusterNodes]] = {}
        self._questions = OpenQuestions()
        project.person = self._questions.asker

    async def view(self) -> ClustersView:
        """Return all clusters as they are known now."""
        await self._briefly("loads", self._ask_loads, WAIT_SECONDS)
        async with self._turn:
            return await asyncio.to_thread(look_at_clusters, self._project)

    async def _ask_loads(self) -> None:
        with contextlib.suppress(RowtuiError, OSError):  # the known part is shown anyway
            await self._project.mapping.ask_loads(LOAD_SECONDS)

    async def nodes(self, cluster: str) -> ClusterNodes:
        """Return the nodes of a cluster, queried at most once a minute. Raises: RowtuiError."""
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
        """Return the commands run here and on clusters since that number."""
        return self._project.log.after(after)

    async def connect(self, cluster: str) -> None:
        """Log in to a cluster, and poll its queue. Raises: RowtuiError."""
        await self._project.connections.connect(cluster)
        await self._project.connections.prepare()

    def questions(self) -> AsyncIterator[LoginQuestion | Withdrawn]:
        """Yield the questions of the logins that were started with `connect`."""
        return self._questions.stream()

    def answer(self, number: int, answers: Sequence[str] | None) -> None:
        """Answer a question of a login."""
        self._questions.answer(number, answers)

    def close(self) -> None:
        """Cancel all queries."""
        for asked in self._asked.values():
            asked.cancel()
