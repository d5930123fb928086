"""Decide which waiting jobs start now on this machine, and why the others wait.

Jobs start in the order of their ids. The first job that does not fit gets a reservation: the
earliest time at which enough running jobs must have ended, by their time limits. A later job may
start before it only if it takes no resources from the reservation, so a large job never starves.
The function is pure; the rule is EASY backfill, strict for jobs without a time limit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from rowtui.core.clusters.schedulers.local.machine import Capacity
from rowtui.core.clusters.schedulers.local.records import QueuedJob

RESOURCES = "Resources"
PRIORITY = "Priority"


class LocalResources(NamedTuple):
    """The resources that a job needs, or that are available."""

    cores: int
    memory_mb: int = 0
    gpus: int = 0

    def fits(self, room: LocalResources) -> bool:
        """Whether these resources fit into `room`."""
        return (
            self.cores <= room.cores
            and self.gpus <= room.gpus
            # A lack of memory does not matter for a job that asked for none.
            and (self.memory_mb <= room.memory_mb or not self.memory_mb)
        )

    def minus(self, other: LocalResources) -> LocalResources:
        """Return these resources less `other`."""
        return LocalResources(
            self.cores - other.cores, self.memory_mb - other.memory_mb, self.gpus - other.gpus
        )

    def at_most(self, whole: LocalResources) -> LocalResources:
        """Return these resources, limited to those of a whole machine."""
        return LocalResources(*map(min, self, whole))


class WaitingJob(NamedTuple):
    """A job that may start. `seconds`: its time limit, infinite without one."""

    id: int
    need: LocalResources
    seconds: float = math.inf


class RunningJob(NamedTuple):
    """A running job, and the seconds until its time limit."""

    need: LocalResources
    ends_in: float = math.inf


class StartPlan(NamedTuple):
    """The ids to start now, in order, and the reason why each other job waits."""

    start: tuple[int, ...]
    reasons: dict[int, str]


def plan_jobs(
    ready: Sequence[QueuedJob], running: Sequence[tuple[QueuedJob, float]], capacity: Capacity
) -> StartPlan:
    """Apply `plan_starts` to jobs of the queue; `running` has the seconds that each job has run."""
    return plan_starts(
        [WaitingJob(job.id, _need(job), job.walltime_seconds or math.inf) for job in ready],
        [RunningJob(_need(job), _seconds_left(job, elapsed)) for job, elapsed in running],
        LocalResources(capacity.cores, capacity.memory_mb, len(capacity.gpus)),
    )


def _need(job: QueuedJob) -> LocalResources:
    return LocalResources(job.cpus, job.memory_mb, job.gpus)


def _seconds_left(job: QueuedJob, elapsed: float) -> float:
    if job.walltime_seconds is None:
        return math.inf
    return max(job.walltime_seconds - elapsed, 0.0)


def plan_starts(
    waiting: Sequence[WaitingJob], running: Sequence[RunningJob], whole: LocalResources
) -> StartPlan:
    """Choose the jobs to start now. `waiting` is in the order of submission.

    A job larger than the machine (submitted when the machine was larger) runs alone.
    """
    free = whole
    for other in running:
        free = free.minus(other.need)
    busy = list(running)
    start: list[int] = []
    reasons: dict[int, str] = {}
    reserved_in = -1.0  # negative: nothing is reserved yet
    spare = free
    for job in waiting:
        need = job.need.at_most(whole)
        if not need.fits(free):
            reasons[job.id] = RESOURCES
            if reserved_in < 0:
                reserved_in, spare = _reserve(need, free, busy)
        elif reserved_in < 0 or job.seconds <= reserved_in < math.inf or need.fits(spare):
            start.append(job.id)
            free = free.minus(need)
            busy.append(RunningJob(need, job.seconds))
            if reserved_in >= 0 and not job.seconds <= reserved_in < math.inf:
                spare = spare.minus(need)
        else:
            reasons[job.id] = PRIORITY
    return StartPlan(tuple(start), reasons)


def _reserve(
    need: LocalResources, free: LocalResources, busy: Sequence[RunningJob]
) -> tuple[float, LocalResources]:
    """Return the seconds until `need` fits, and the resources that are then left besides it."""
    ends_in = 0.0
    for job in sorted(busy, key=lambda job: job.ends_in):
        free = LocalResources(*(has + gets for has, gets in zip(free, job.need, strict=True)))
        ends_in = max(ends_in, job.ends_in)
        if need.fits(free):
            # Other jobs may end at the same time, but counting them would promise too much.
            break
    return ends_in, free.minus(need)
