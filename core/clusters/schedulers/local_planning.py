"""Which waiting jobs start now on this machine, and why the others wait.

Jobs start in the order of their ids. The first that does not fit gets a reservation: the earliest
time at which enough of what runs must have ended, by its time limit. A later job may start before
it only if it takes nothing away from that reservation, so a big job never starves. A pure
function; the rule is EASY backfill, strict where no time limit is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rowtui.core.clusters.schedulers.local_machine import Capacity
from rowtui.core.clusters.schedulers.local_records import QueuedJob

RESOURCES = "Resources"
PRIORITY = "Priority"


class Need(NamedTuple):
    """What a job takes, or what there is."""

    cores: int
    memory_mb: int = 0
    gpus: int = 0

    def fits(self, room: Need) -> bool:
        """Whether there is room for it."""
        return (
            self.cores <= room.cores
            and self.gpus <= room.gpus
            # Too little memory is no reason for a job that asked for none.
            and (self.memory_mb <= room.memory_mb or not self.memory_mb)
        )

    def minus(self, other: Need) -> Need:
        """What is left without `other`."""
        return Need(
            self.cores - other.cores, self.memory_mb - other.memory_mb, self.gpus - other.gpus
        )

    def at_most(self, whole: Need) -> Need:
        """As much of it as there is on a machine."""
        return Need(*map(min, self, whole))


class Waiting(NamedTuple):
    """A job that may start. `seconds`: its time limit, infinite without one."""

    id: int
    need: Need
    seconds: float = math.inf


class Running(NamedTuple):
    """A job that runs, and in how many seconds its limit ends it."""

    need: Need
    ends_in: float = math.inf


@dataclass(frozen=True, slots=True)
class StartPlan:
    """The ids to start now, in order, and for each other id why it waits."""

    start: tuple[int, ...]
    reasons: dict[int, str]


def plan_jobs(
    ready: Sequence[QueuedJob], running: Sequence[tuple[QueuedJob, float]], capacity: Capacity
) -> StartPlan:
    """`plan_starts` for jobs of the queue; `running` comes with the seconds that each has run."""
    return plan_starts(
        [Waiting(job.id, _need(job), job.walltime_seconds or math.inf) for job in ready],
        [Running(_need(job), _seconds_left(job, elapsed)) for job, elapsed in running],
        Need(capacity.cores, capacity.memory_mb, len(capacity.gpus)),
    )


def _need(job: QueuedJob) -> Need:
    return Need(job.cpus, job.memory_mb, job.gpus)


def _seconds_left(job: QueuedJob, elapsed: float) -> float:
    if job.walltime_seconds is None:
        return math.inf
    return max(job.walltime_seconds - elapsed, 0.0)


def plan_starts(waiting: Sequence[Waiting], running: Sequence[Running], whole: Need) -> StartPlan:
    """Choose the jobs to start now. `waiting` is in the order of submission.

    A job larger than the machine (it was submitted when the machine was larger) runs alone.
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
            busy.append(Running(need, job.seconds))
            if reserved_in >= 0 and not job.seconds <= reserved_in < math.inf:
                spare = spare.minus(need)
        else:
            reasons[job.id] = PRIORITY
    return StartPlan(tuple(start), reasons)


def _reserve(need: Need, free: Need, busy: Sequence[Running]) -> tuple[float, Need]:
    """In how many seconds `need` will fit, and what is to spare then beside it."""
    ends_in = 0.0
    for job in sorted(busy, key=lambda job: job.ends_in):
        free = Need(*(has + gets for has, gets in zip(free, job.need, strict=True)))
        ends_in = max(ends_in, job.ends_in)
        if need.fits(free):
            # All that end in this instant are free then, but counting them would promise more.
            break
    return ends_in, free.minus(need)
