"""Looks at the queues of clusters, each on its own and all at the same time.

Takes names of clusters; gives what is known of each queue (`Polled`), and `ClusterView`s to show.
When a queue that many people share is really asked, and by which of the user's processes, `Poll`
decides. It needs no project; what a project's jobs make of the answers is in `queues.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from rowtui.core.clusters.builtin import LOCAL
from rowtui.core.clusters.model import Cluster
from rowtui.core.clusters.poll_policy import Pace, pace_of
from rowtui.core.clusters.polling import Poll, Polled
from rowtui.core.clusters.schedulers.base import Job, Scheduler
from rowtui.core.errors import RowtuiError
from rowtui.core.project.views import ClusterView

if TYPE_CHECKING:
    from rowtui.core.project.surroundings import Surroundings

# Between two looks at queues, in place of what the configuration says.
POLL_VARIABLE = "ROWTUI_POLL"

T = TypeVar("T")
Others = Callable[[Polled], Awaitable[tuple[Job, ...]]]


@dataclass
class Looks:
    """The queues as they were last seen. `latest`: by cluster, those that have been looked at."""

    around: Surroundings
    latest: dict[str, Polled] = field(default_factory=dict)
    _polls: dict[str, Poll] = field(default_factory=dict)

    def all_names(self) -> set[str]:
        """The own queue of this machine, and all clusters that are reached over SSH."""
        return {LOCAL.name, *(cluster.name for cluster in self.around.reach.remote())}

    async def everywhere(
        self, ask: Callable[[str], Coroutine[Any, Any, T]], names: Collection[str], *, here: bool
    ) -> list[T]:
        """Ask these clusters, and with `here` the one that this is, at the same time.

        Who is reached over SSH does not wait until it is known which this is.
        """
        sure = self.all_names()
        rest = set(names) - sure
        async with asyncio.TaskGroup() as tasks:
            asked = {name: tasks.create_task(ask(name)) for name in names if name in sure}
            if here or rest:
                cluster = await asyncio.to_thread(self.around.here)
                if here and cluster is not None:
                    rest.add(cluster.name)
            asked |= {name: tasks.create_task(ask(name)) for name in rest if name not in asked}
        return [asked[name].result() for name in sorted(asked)]

    async def look(
        self, name: str, *, now: bool = False, others: Others | None = None
    ) -> Polled | None:
        """The queue as it is known; None: there is none, or it cannot be asked from here.

        `others`: finds jobs that are to be added to each new answer.
        """
        try:
            scheduler = self.around.reach.scheduler(name)
        except RowtuiError as error:  # what is configured cannot be used
            self.latest[name] = Polled(name, error=error.message)
            return self.latest[name]
        if scheduler is None or scheduler.immediate:
            return None
        polled = await self._poll(name, scheduler).look(now=now)
        before = self.latest.get(name)
        if before is not None and before.as_of == polled.as_of and before.snapshot is not None:
            # The same answer again: what was found out beside it still holds.
            polled = replace(polled, snapshot=before.snapshot)
        elif polled.snapshot is not None and others is not None:
            more = await others(polled)
            if more:
                jobs = (*polled.snapshot.jobs, *more)
                polled = replace(polled, snapshot=replace(polled.snapshot, jobs=jobs))
        self.latest[name] = polled
        return polled

    def submitted(self, cluster: str) -> None:
        """Jobs were sent to this cluster: look soon."""
        scheduler = self.around.reach.scheduler(cluster)
        if scheduler is not None and not scheduler.immediate:
            self._poll(cluster, scheduler).submitted()

    def views(self) -> tuple[ClusterView, ...]:
        """The clusters as they were last seen, in the order of their names."""
        return tuple(self._view(name) for name in sorted(self.latest))

    def _view(self, name: str) -> ClusterView:
        reach, polled = self.around.reach, self.latest[name]
        cluster = reach.known(name)
        remote = cluster is not None and reach.is_remote(cluster)
        snapshot = polled.snapshot
        return ClusterView(
            name=name,
            scheduler=cluster.scheduler if cluster is not None else "",
            where=reach.where(name) if remote else "here",
            connected=reach.connected(name) if remote else None,
            login=reach.login_needed(name) if remote else "",
            login_command=reach.login_command(name) if remote else "",
            as_of=polled.as_of,
            next_at=polled.next_at,
            error=polled.error,
            jobs=snapshot.jobs if snapshot is not None else (),
            slow=cluster is not None
            and pace_of(polled.latency, polled.failures, cluster.poll_seconds) is Pace.SLOWED,
        )

    def _poll(self, name: str, scheduler: Scheduler) -> Poll:
        if name not in self._polls:
            cluster = self.around.reach.known(name)
            assert cluster is not None
            connected = None
            if self.around.reach.is_remote(cluster):
                connected = partial(self.around.reach.connected, name)
            self._polls[name] = Poll(
                scheduler,
                _with_interval(cluster, self.around.environment),
                connected=connected,
            )
        return self._polls[name]


def _with_interval(cluster: Cluster, environment: Mapping[str, str]) -> Cluster:
    """The cluster with the interval that the environment asks for, if it asks for one."""
    try:
        return cluster._replace(poll_seconds=max(0.0, float(environment[POLL_VARIABLE])))
    except (KeyError, ValueError):
        return cluster
