"""Polls of the schedulers for a project's jobs, as seldom as the site administrators would like.

The input is the records of submitted jobs. The result is `Answers`, which `jobs.py` enters into the
records. `QueuePolls` polls all clusters at the same time, and a failing cluster does not affect the
others. This module does not change the records, so no one holds the lock on the records while a
cluster is slow.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import asyncio
from rowtui.core.clusters.config.builtin import LOCAL
from rowtui.core.clusters.model import Cluster
from rowtui.core.clusters.polling.policy import PollPace, pace_of
from rowtui.core.clusters.polling.poll import Poll, Polled
from rowtui.core.clusters.schedulers.base import Job, JobKey, JobState, QueueSnapshot, Scheduler
from rowtui.core.clusters.schedulers.measured import Measured
from rowtui.core.project.context.configured import REST_SECONDS
from rowtui.core.project.views.views import ClusterView
from rowtui.core.state.model import Submitted
from rowtui.core.submission.sending.journal import RELEASED, Journal, is_later_note
from rowtui.core.submission.sending.reservations import StoredReservations

if TYPE_CHECKING:
    from rowtui.core.project.context.cluster_context import ClusterContext
    from rowtui.core.project.project import Project
    from rowtui.core.submission.reconcile.reconcile_state import ReconciledJob


# Polls of the queues of clusters, each independent and all at the same time.
#
# The input is names of clusters. The result is the last known state of each queue (`Polled`), and
# `ClusterView`s for screens. `Poll` decides when a shared queue is really asked, and by which of
# the user's processes. This module needs no project; `queues.py` relates a project's jobs to the
# answers.


# Seconds between two polls of queues, in place of the configured interval.
POLL_VARIABLE = "ROWTUI_POLL"

T = TypeVar("T")
Others = Callable[[Polled], Awaitable[tuple[Job, ...]]]


class QueuePolls:
    """The queues as of their last polls. `latest`: by cluster name, the queues polled so far."""

    def __init__(self, around: ClusterContext) -> None:
        self.around = around
        self.latest: dict[str, Polled] = {}
        self._polls: dict[str, Poll] = {}

    def all_names(self) -> set[str]:
        """Return the names of this machine's own queue and of all SSH clusters."""
        return {LOCAL.name, *(cluster.name for cluster in self.around.connections.remote())}

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
            scheduler = self.around.connections.scheduler(name)
        except RowtuiError as error:  # the configured cluster cannot be used
            self.latest[name] = Polled(name, error=error.message)
            return self.latest[name]
        if scheduler is None or scheduler.immediate:
            return None
        polled = await self._poll(name, scheduler).look(now=now)
        before = self.latest.get(name)
        if before is not None and before.as_of == polled.as_of and before.snapshot is not None:
            # The answer is unchanged: the jobs that `others` found for it still hold.
            polled = polled._replace(snapshot=before.snapshot)
        elif polled.snapshot is not None and others is not None:
            more = await others(polled)
            if more:
                jobs = (*polled.snapshot.jobs, *more)
                polled = polled._replace(snapshot=polled.snapshot._replace(jobs=jobs))
        self.latest[name] = polled
        return polled

    async def measured_now(
        self, name: str, jobs: Mapping[JobKey, str], *, by_hand: bool = False
    ) -> Mapping[JobKey, Measured] | None:
        """Return what running jobs of a cluster have used; None if it is not asked now.

        See `Poll.measured_now`.
        """
        connections = self.around.connections
        if connections.known(name) is None or connections.login_needed(name):
            return None
        scheduler = connections.scheduler(name)
        if scheduler is None or scheduler.immediate:
            return None
        return await self._poll(name, scheduler).measured_now(jobs, by_hand=by_hand)

    def submitted(self, cluster: str) -> None:
        """Poll this cluster soon, because jobs were sent to it."""
        scheduler = self.around.connections.scheduler(cluster)  # jobs were sent, so it can be used
        if scheduler is not None and not scheduler.immediate:
            self._poll(cluster, scheduler).submitted()

    def views(self) -> tuple[ClusterView, ...]:
        """Return the clusters as of their last polls, ordered by name."""
        return tuple(self._view(name) for name in sorted(self.latest))

    def _view(self, name: str) -> ClusterView:
        connections, polled = self.around.connections, self.latest[name]
        cluster = connections.known(name)
        remote = cluster is not None and connections.is_remote(cluster)
        snapshot = polled.snapshot
        return ClusterView(
            name=name,
            scheduler=cluster.scheduler if cluster is not None else "",
            where=connections.where(name) if remote else "here",
            connected=connections.connected(name, polled) if remote else None,
            login=connections.login_needed(name) if remote else "",
            login_command=connections.login_command(name) if remote else "",
            as_of=polled.as_of,
            next_at=polled.next_at,
            error=polled.error,
            jobs=snapshot.jobs if snapshot is not None else (),
            slow=cluster is not None
            and pace_of(polled.latency, polled.failures, cluster.poll_seconds) is PollPace.SLOWED,
        )

    def _poll(self, name: str, scheduler: Scheduler) -> Poll:
        if name not in self._polls:
            cluster = self.around.connections.known(name)
            assert cluster is not None
            connected = None
            if self.around.connections.is_remote(cluster):
                connected = partial(self.around.connections.connected, name)
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


class Answers(NamedTuple):
    """The current knowledge of the jobs: queues by cluster, settled jobs, vanished jobs.

    `gone`: snapshots with the ids of jobs that Row submitted, for which no other information
    exists.
    """

    queues: Mapping[str, Polled]
    settled: tuple[ReconciledJob, ...] = ()
    gone: tuple[tuple[QueueSnapshot, tuple[int, ...]], ...] = ()

    @property
    def any_ended(self) -> bool:
        """Whether the records of some jobs must be released."""
        return bool(self.gone) or any(answer.is_over for answer in self.settled)


class Queues:
    """The queues that a project's jobs are in.

    `unanswered`: the clusters without an answer, and why.
    """

    clock: Callable[[], float] = staticmethod(time.monotonic)

    def __init__(
        self, project: Project, journal: Journal, on_poll: Callable[[str, Polled | None], None]
    ) -> None:
        """Start without any known queue."""
        self.project, self.journal, self.on_poll = project, journal, on_poll
        self.unanswered: dict[str, str] = {}
        self.failure = ""  # why the cluster of this machine cannot be determined
        self._failed_at = 0.0
        self.looks = QueuePolls(project)
        self._settling = asyncio.Lock()
        self._settled_at: dict[str, tuple[float | None, object]] = {}

    def here(self) -> Cluster | None:
        """Return the default cluster of jobs, with its partitions; None if it is unknown now.

        With None, screens can show the known data of a project while its cluster does not answer.
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

    async def ask(
        self,
        *,
        now: bool = False,
        among: Collection[str] = (),
        everywhere: bool = False,
        may_send: bool = False,
    ) -> Answers:
        """Poll the clusters that are due. `now`: poll at once, on the user's request.

        `everywhere`: also clusters that have no jobs of this project; `among`: these clusters
        alone. `may_send`: jobs of unfinished submissions are sent again; commands that only show
        must not do that.
        """
        parts = await self.looks.everywhere(
            lambda name: self.ask_cluster(name, now=now, may_send=may_send),
            among or self.names(everywhere=everywhere),
            here=not among,
        )
        settled = tuple(chain.from_iterable(part.settled for part in parts))
        gone = tuple(chain.from_iterable(part.gone for part in parts))
        return Answers(dict(self.looks.latest), settled, gone)

    def names(self, *, everywhere: bool = False) -> set[str]:
        """Return the clusters with jobs of this project; with `everywhere`, also all others."""
        names = self.project.submitted_clusters()
        return names | self.looks.all_names() if everywhere else names

    async def ask_cluster(self, name: str, *, now: bool = False, may_send: bool = False) -> Answers:
        """Poll one cluster, and derive the state of the project's jobs there."""
        answers = await self._ask_cluster(name, now=now, may_send=may_send)
        self.on_poll(name, self.looks.latest.get(name))
        return answers

    async def _ask_cluster(self, name: str, *, now: bool, may_send: bool) -> Answers:
        self.unanswered.pop(name, None)
        try:
            scheduler = self.project.connections.scheduler(name)
        except RowtuiError as error:  # its plug-in cannot be used
            self.unanswered[name] = error.message
            return Answers({})
        if scheduler is None:
            if self.project.failure:
                self.unanswered[name] = self.project.failure
            return Answers({})
        try:
            polled = await self.looks.look(
                name, now=now, others=lambda polled: self._others(name, scheduler, polled)
            )
            if polled is not None and polled.error:
                self.unanswered[name] = polled.error
            settled = await self._settle(name, polled, may_send)
            if any(it.detail == RELEASED for it in settled):
                self.looks.submitted(name)  # the last poll still shows just released jobs as held
        except (RowtuiError, OSError) as error:
            self.unanswered[name] = str(error) or "no answer"
            return Answers({})
        snapshot = polled.snapshot if polled is not None else None
        sent = await asyncio.to_thread(self._sent_to, name)
        strangers = tuple(sorted({job.job_id for job in sent if job.job_id and not job.token}))
        if snapshot is None or snapshot.error or not strangers:
            return Answers({}, settled)
        return Answers({}, settled, ((snapshot, strangers),))

    async def _others(self, name: str, scheduler: Scheduler, polled: Polled) -> tuple[Job, ...]:
        """Return recorded jobs that are not in this user's queue: other users' jobs, or ended jobs.

        Jobs that were sent after the poll are left to the next poll.
        """
        assert polled.snapshot is not None
        there = {job.id for job in polled.snapshot.jobs}
        sent = await asyncio.to_thread(self._sent_to, name)
        ids = {job.job_id for job in sent if job.job_id} - there
        if ids and polled.as_of is not None:
            ids -= await asyncio.to_thread(self._sent_since, name, polled.as_of)
        if not ids:
            return ()
        more = await scheduler.queue(sorted(ids))
        if more.error:
            return tuple(Job(it, JobState.UNKNOWN, reason=more.error) for it in sorted(ids))
        return more.jobs

    def _sent_since(self, name: str, at: float) -> set[int]:
        """Return the ids of jobs that a cluster was given after this time."""
        now = time.time()
        return {
            entry.job_id
            for plan_id in self.journal.open_plan_ids()
            for entry in self.journal.entries(plan_id)
            if entry.cluster == name
            and entry.at > at
            and entry.age(now) is not None
            and not is_later_note(entry)
        }

    async def _settle(
        self, name: str, polled: Polled | None, may_send: bool
    ) -> tuple[ReconciledJob, ...]:
        """Settle once for each new answer, and whenever the journals have changed."""
        journals = await asyncio.to_thread(self.journal.stamp)
        seen = (polled.as_of if polled is not None else None, journals)
        if polled is not None and not may_send and self._settled_at.get(name) == seen:
            return ()
        if not await asyncio.to_thread(self._may_have_jobs, name):
            return ()
        snapshot = polled.snapshot if polled is not None else None
        if not (journals or self.project.submitted_clusters() or (snapshot and snapshot.jobs)):
            return ()
        from rowtui.core.submission.reconcile.reconcile import settle  # a project has jobs

        try:
            access = await self.project.connections.access(name)
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
                snapshot = snapshot._replace(at=polled.as_of)
        # a plan may have jobs on several clusters, but it has one journal
        async with self._settling:
            settled = await settle(
                self.journal,
                access,
                self.project.root,
                snapshot=snapshot,
                reservations=StoredReservations(self.project.store),
                may_send=may_send,
            )
        if not settled:
            self._settled_at[name] = seen
        return settled

    def _may_have_jobs(self, name: str) -> bool:
        """Whether a cluster may have jobs of this project. No copy is created there to find out."""
        project = self.project
        cluster = project.connections.known(name)
        if cluster is None or not project.connections.is_copied(cluster):
            return True
        if name in project.submitted_clusters():
            return True
        open_plans = self.journal.open_plan_ids()
        entries = (it for plan in open_plans for it in self.journal.entries(plan))
        return any(entry.cluster == name for entry in entries)

    def _sent_to(self, cluster: str) -> set[Submitted]:
        """Return the jobs recorded on a cluster.

        Do not call this on the event loop: half a million jobs take a quarter of a second.
        """
        return {
            job
            for jobs in self.project.state.submitted.values()
            for job in jobs.values()
            if job.cluster == cluster
        }
