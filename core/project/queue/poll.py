"""Polls of the queues of clusters, each independent and all at the same time.

The input is names of clusters. The result is the last known state of each queue (`Polled`), and
`ClusterView`s for screens. `Poll` decides when a shared queue is really asked, and by which of the
user's processes. This module needs no project; `queues.py` relates a project's jobs to the answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.config.builtin import LOCAL
from rowtui.core.clusters.model import Cluster
from rowtui.core.clusters.polling.policy import Pace, pace_of
from rowtui.core.clusters.polling.poll import Poll, Polled
from rowtui.core.clusters.schedulers.base import Job, Scheduler
from rowtui.core.project.views.views import ClusterView

if TYPE_CHECKING:
    from rowtui.core.project.context.cluster_context import Surroundings

# Seconds between two polls of queues, in place of the configured interval.
POLL_VARIABLE = "ROWTUI_POLL"

T = TypeVar("T")
Others = Callable[[Polled], Awaitable[tuple[Job, ...]]]


@dataclass
class Looks:
    """The queues as of their last polls. `latest`: by cluster name, the queues polled so far."""

    around: Surroundings
    latest: dict[str, Polled] = field(default_factory=dict)
    _polls: dict[str, Poll] = field(default_factory=dict)

    def all_names(self) -> set[str]:
        """Return the names of this machine's own queue and of all SSH clusters."""
        return {LOCAL.name, *(cluster.name for cluster in self.around.reach.remote())}

    async def everywhere(
        self, ask: Callable[[str], Coroutine[Any, Any, T]], names: Collection[str], *, here: bool
    ) -> list[T]:
        """Poll these clusters at the same time; with `here`, also the cluster of this machine.

        SSH clusters are polled at once, without waiting for the local cluster to be identified.
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
        """Return the known queue; None if there is no queue, or it cannot be polled from here.

        `others`: finds jobs that are added to each new answer.
        """
        try:
            scheduler = self.around.reach.scheduler(name)
        except RowtuiError as error:  # the configured cluster cannot be used
            self.latest[name] = Polled(name, error=error.message)
            return self.latest[name]
        if scheduler is None or scheduler.immediate:
            return None
        polled = await self._poll(name, scheduler).look(now=now)
        before = self.latest.get(name)
        if before is not None and before.as_of == polled.as_of and before.snapshot is not None:
            # The answer is unchanged: the jobs that `others` found for it still hold.
            polled = replace(polled, snapshot=before.snapshot)
        elif polled.snapshot is not None and others is not None:
            more = await others(polled)
            if more:
                jobs = (*polled.snapshot.jobs, *more)
                polled = replace(polled, snapshot=replace(polled.snapshot, jobs=jobs))
        self.latest[name] = polled
        return polled

    def submitted(self, cluster: str) -> None:
        """Poll this cluster soon, because jobs were sent to it."""
        scheduler = self.around.reach.scheduler(cluster)
        if scheduler is not None and not scheduler.immediate:
            self._poll(cluster, scheduler).submitted()

    def views(self) -> tuple[ClusterView, ...]:
        """Return the clusters as of their last polls, ordered by name."""
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
    """Return the cluster with the polling interval from the environment variable, if it is set."""
    try:
        return cluster._replace(poll_seconds=max(0.0, float(environment[POLL_VARIABLE])))
    except (KeyError, ValueError):
        return cluster
