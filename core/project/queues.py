"""Asking the schedulers of a project's jobs, as seldom as their administrators would like.

Takes the records of submitted jobs; gives `Answers`, which `jobs.py` enters into the records. When
a queue that many people share is really asked, and by which of the user's processes, `Poll`
decides; what it last said is given meanwhile. Nothing here changes the records, so that nobody
waits for the records while a cluster is slow. Source: slurm_rig §8.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rowtui.core.clusters.model import Cluster
from rowtui.core.clusters.polling import Poll, Polled
from rowtui.core.clusters.schedulers.base import Job, JobKey, JobState, QueueSnapshot, Scheduler
from rowtui.core.errors import RowtuiError
from rowtui.core.project.views import ClusterView
from rowtui.core.state.model import Submitted
from rowtui.core.submission.journal import Journal
from rowtui.core.submission.settle import settle
from rowtui.core.submission.settled import Settled

if TYPE_CHECKING:
    from rowtui.core.project.project import Project

# How long a cluster that did not answer when it was to be recognised is left alone.
REST_SECONDS = 15.0
# Between two looks at queues for which the configuration says nothing.
POLL_VARIABLE = "ROWTUI_POLL"


@dataclass(frozen=True, slots=True)
class Answers:
    """What is known of the jobs now: the queues by cluster, what was settled, whose jobs are gone.

    `gone`: snapshots with the ids that Row submitted, of which nothing else is known.
    """

    queues: Mapping[str, Polled]
    settled: tuple[Settled, ...] = ()
    gone: tuple[tuple[QueueSnapshot, tuple[int, ...]], ...] = ()

    @property
    def any_ended(self) -> bool:
        """Whether the records of some jobs must be given back."""
        return bool(self.gone) or any(answer.release for answer in self.settled)


@dataclass
class Queues:
    """The queues that a project's jobs are in. `unanswered`: which did not answer, and why."""

    project: Project
    journal: Journal
    clock: Callable[[], float] = time.monotonic
    unanswered: dict[str, str] = field(default_factory=dict)
    failure: str = ""  # why it cannot be told which cluster this is
    _failed_at: float = 0.0
    _polls: dict[str, Poll] = field(default_factory=dict)
    _latest: dict[str, Polled] = field(default_factory=dict)
    _settled_at: dict[str, tuple[float | None, object]] = field(default_factory=dict)

    def here(self) -> Cluster | None:
        """The cluster that jobs go to; None where that cannot be told now.

        What is known of a project can be shown also while its cluster does not answer.
        """
        if self.failure and self.clock() - self._failed_at < REST_SECONDS:
            return None
        try:
            cluster = self.project.cluster
        except RowtuiError as error:
            self.failure, self._failed_at = error.message, self.clock()
            return None
        self.failure = ""
        return cluster

    async def ask(self, *, now: bool = False, everywhere: bool = False) -> Answers:
        """Ask where it is due; `now`: since a person wants to know.

        `everywhere`: also clusters that have no jobs of this project.
        """
        project = self.project
        self.unanswered = {}
        settled: list[Settled] = []
        gone: list[tuple[QueueSnapshot, tuple[int, ...]]] = []
        here = self.here()
        names = project.submitted_clusters() | ({here.name} if here else set())
        if everywhere:
            names |= {cluster.name for cluster in project.reach.remote()} | {"local"}
        for name in sorted(names):
            scheduler = project.reach.scheduler(name)
            if scheduler is None:
                if self.failure:
                    self.unanswered[name] = self.failure
                continue
            polled = await self._look(name, scheduler, now)
            if polled is not None and polled.error:
                self.unanswered[name] = polled.error
            settled += await self._settle(name, polled)
            snapshot = polled.snapshot if polled is not None else None
            strangers = tuple(
                sorted({job.job_id for job in self._sent_to(name) if job.job_id and not job.token})
            )
            if snapshot is not None and not snapshot.error and strangers:
                gone.append((snapshot, strangers))
        return Answers(dict(self._latest), tuple(settled), tuple(gone))

    def submitted(self, cluster: str) -> None:
        """Jobs were sent to this cluster: look soon."""
        if cluster in self._polls:
            self._polls[cluster].submitted()

    def views(self) -> tuple[ClusterView, ...]:
        """The clusters as they were last seen, in the order of their names."""
        return tuple(self._view(name) for name in sorted(self._latest))

    def _view(self, name: str) -> ClusterView:
        reach, polled = self.project.reach, self._latest[name]
        cluster = reach.known(name)
        remote = cluster is not None and reach.is_remote(cluster)
        snapshot = polled.snapshot
        return ClusterView(
            name=name,
            scheduler=cluster.scheduler if cluster is not None else "",
            where=reach.where(name) if remote else "here",
            connected=reach.connected(name) if remote else None,
            login=reach.login_needed(name) if remote else "",
            as_of=polled.as_of,
            next_at=polled.next_at,
            error=polled.error,
            jobs=snapshot.jobs if snapshot is not None else (),
        )

    def _poll(self, name: str, scheduler: Scheduler) -> Poll:
        if name not in self._polls:
            cluster = self.project.reach.known(name)
            assert cluster is not None
            self._polls[name] = Poll(scheduler, _with_interval(cluster, self.project.environment))
        return self._polls[name]

    async def _look(self, name: str, scheduler: Scheduler, now: bool) -> Polled | None:
        """The queue as it is known; None: there is none."""
        if scheduler.immediate:
            return None
        polled = await self._poll(name, scheduler).look(now=now)
        before = self._latest.get(name)
        if before is not None and before.as_of == polled.as_of and before.snapshot is not None:
            # The same answer again: what was found out beside it still holds.
            polled = replace(polled, snapshot=before.snapshot)
        elif polled.snapshot is not None:
            more = await self._others(name, scheduler, polled.snapshot)
            if more:
                jobs = (*polled.snapshot.jobs, *more)
                polled = replace(polled, snapshot=replace(polled.snapshot, jobs=jobs))
        self._latest[name] = polled
        return polled

    async def _others(
        self, name: str, scheduler: Scheduler, snapshot: QueueSnapshot
    ) -> tuple[Job, ...]:
        """Jobs on record that are not among this user's: of other users, or out of the queue."""
        there = {job.id for job in snapshot.jobs}
        ids = {job.job_id for job in self._sent_to(name) if job.job_id} - there
        if not ids:
            return ()
        more = await scheduler.queue(sorted(ids))
        if more.error:
            return tuple(Job(it, JobState.UNKNOWN, reason=more.error) for it in sorted(ids))
        return more.jobs

    async def _settle(self, name: str, polled: Polled | None) -> tuple[Settled, ...]:
        """Settle once for each new answer, and whenever the journals have changed."""
        journals = self.journal.stamp()
        seen = (polled.as_of if polled is not None else None, journals)
        if polled is not None and self._settled_at.get(name) == seen:
            return ()
        try:
            access = await self.project.reach.access(name)
        except RowtuiError as error:
            self.unanswered[name] = error.message
            return ()
        if access is None:
            return ()
        snapshot = None
        if polled is not None:
            snapshot = polled.snapshot
            if snapshot is None or polled.error:
                snapshot = QueueSnapshot(name, 0.0, error=polled.error or "not asked yet")
            elif polled.as_of is not None:
                snapshot = replace(snapshot, at=polled.as_of)
        settled = await settle(self.journal, access, self.project.root, snapshot=snapshot)
        if not settled:
            self._settled_at[name] = seen
        return settled

    def job(self, cluster: str, key: JobKey) -> Job | None:
        """A job as it was last seen."""
        polled = self._latest.get(cluster)
        if polled is None or polled.snapshot is None:
            return None
        return next((job for job in polled.snapshot.jobs if job.key == key), None)

    def _sent_to(self, cluster: str) -> set[Submitted]:
        return {
            job
            for jobs in self.project.state.submitted.values()
            for job in jobs.values()
            if job.cluster == cluster
        }


def _with_interval(cluster: Cluster, environment: Mapping[str, str]) -> Cluster:
    """The cluster with the interval that the environment asks for, if it asks for one."""
    try:
        return cluster._replace(poll_seconds=max(0.0, float(environment[POLL_VARIABLE])))
    except (KeyError, ValueError):
        return cluster
