"""Asking the schedulers of a project's jobs, as seldom as their administrators would like.

Takes the records of submitted jobs; gives `Answers`, which `jobs.py` enters into the records. A
queue that many people share is not asked again within `patience`, whatever happens on disk: what
it last said is given again. Our own queue on this machine is always asked. Nothing here changes
the records, so that nobody waits for the records while a cluster is slow. Source: slurm_rig §8.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rowtui.core.clusters.model import Cluster
from rowtui.core.clusters.schedulers.base import QueueSnapshot, Scheduler
from rowtui.core.errors import RowtuiError
from rowtui.core.state.model import Submitted
from rowtui.core.submission.journal import Journal
from rowtui.core.submission.settle import Settled, settle

if TYPE_CHECKING:
    from rowtui.core.project.project import Project

# How long a scheduler is waited for: it is asked again soon, and people wait for the answer.
QUERY_SECONDS = 20.0
# How long a cluster that did not answer when it was to be recognised is left alone.
REST_SECONDS = 15.0
# After a submission the queue is looked at once before `patience` is over.
AFTER_SUBMISSION_SECONDS = 10.0


def scheduler_of(cluster: Cluster) -> Scheduler:
    """The scheduler of a cluster, loaded only now."""
    if cluster.scheduler == "bash":
        from rowtui.core.clusters.schedulers.bash import BashScheduler

        return BashScheduler(cluster.name)
    if cluster.scheduler == "slurm":
        from rowtui.core.clusters.schedulers.slurm import SlurmScheduler

        return SlurmScheduler(cluster.name, query_timeout=QUERY_SECONDS)
    from rowtui.core.clusters.schedulers.local import LocalScheduler

    return LocalScheduler(cluster.name)


@dataclass(frozen=True, slots=True)
class Look:
    """One look at a queue. `asked`: the ids that it was for; `at`: seconds of a steady clock."""

    snapshot: QueueSnapshot
    asked: frozenset[int]
    at: float


@dataclass(frozen=True, slots=True)
class Answers:
    """What is known of the jobs now: the looks by cluster, what was settled, whose jobs are gone.

    `gone`: snapshots with the ids that Row submitted, of which nothing else is known.
    """

    looks: Mapping[str, Look]
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
    patience: float = 0.0  # seconds; 0 for a command, which asks once
    clock: Callable[[], float] = time.monotonic
    unanswered: dict[str, str] = field(default_factory=dict)
    failure: str = ""  # why it cannot be told which cluster this is
    _failed_at: float = 0.0
    _schedulers: dict[str, Scheduler] = field(default_factory=dict)
    _looks: dict[str, Look] = field(default_factory=dict)

    def scheduler(self, name: str) -> Scheduler | None:
        """The scheduler of a cluster that jobs were sent to, if it can be asked from here.

        Only the cluster that this is, and this machine's own queue.
        """
        if name not in self._schedulers:
            cluster = self.here()
            if cluster is None or name != cluster.name:
                from rowtui.core.clusters.builtin import LOCAL

                if name != LOCAL.name:
                    return None
                cluster = LOCAL
            self._schedulers[name] = scheduler_of(cluster)
        return self._schedulers[name]

    def here(self) -> Cluster | None:
        """The cluster that this is; None where that cannot be told now.

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

    async def ask(self, *, now: bool = False) -> Answers:
        """Ask where it is due, or everywhere `now`."""
        project = self.project
        self.unanswered = {}
        settled: list[Settled] = []
        gone: list[tuple[QueueSnapshot, tuple[int, ...]]] = []
        here = self.here()
        for name in sorted(project.submitted_clusters() | ({here.name} if here else set())):
            scheduler = self.scheduler(name)
            if scheduler is None:
                if self.failure:
                    self.unanswered[name] = self.failure
                continue
            if not now and self._is_recent(scheduler):
                self._note(name)
                continue
            snapshot = await self._look(scheduler)
            settled += await settle(self.journal, scheduler, project.root, snapshot=snapshot)
            strangers = tuple(
                sorted({job.job_id for job in self._sent_to(name) if job.job_id and not job.token})
            )
            if snapshot is not None and not snapshot.error and strangers:
                gone.append((snapshot, strangers))
        return Answers(dict(self._looks), tuple(settled), tuple(gone))

    def submitted(self, cluster: str) -> None:
        """Jobs were sent to this cluster: look soon."""
        look = self._looks.get(cluster)
        if look is not None:
            due = self.clock() - self.patience + AFTER_SUBMISSION_SECONDS
            self._looks[cluster] = Look(look.snapshot, look.asked, min(look.at, due))

    def _is_recent(self, scheduler: Scheduler) -> bool:
        look = self._looks.get(scheduler.cluster)
        return scheduler.shared and look is not None and self.clock() - look.at < self.patience

    async def _look(self, scheduler: Scheduler) -> QueueSnapshot | None:
        """One look at the queue for all jobs on record; None: there is none to ask for."""
        ids = frozenset(job.job_id for job in self._sent_to(scheduler.cluster) if job.job_id)
        if scheduler.immediate or not ids:
            return None
        snapshot = await scheduler.queue(sorted(ids))
        self._looks[scheduler.cluster] = Look(snapshot, ids, self.clock())
        self._note(scheduler.cluster)
        return snapshot

    def _note(self, cluster: str) -> None:
        error = self._looks[cluster].snapshot.error
        if error:
            self.unanswered[cluster] = error

    def _sent_to(self, cluster: str) -> set[Submitted]:
        return {
            job
            for jobs in self.project.state.submitted.values()
            for job in jobs.values()
            if job.cluster == cluster
        }
