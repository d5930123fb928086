"""The loop of CAVATICA's text, literally: unscheduled jobs and instances in, instances out.

It is what `seed_patterns` of `core/packing/seed.py`, which packs classes, has to equal. What the
text leaves open is decided there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.packing.model import (
    Demand,
    InstanceType,
    PackingProblem,
    ResourceAmounts,
    UnplacedRequests,
)
from rowtui.core.packing.unplaced import find_unplaced


class SeedJob(NamedTuple):
    """A job with its needs. `hint`: the name of the node type it must run on, "" for any type."""

    id: str
    amounts: ResourceAmounts
    hint: str = ""


class Instance(NamedTuple):
    """An allocated machine with its jobs. `number`: smaller for older machines."""

    number: int
    node_type: InstanceType
    jobs: tuple[SeedJob, ...] = ()

    @property
    def room(self) -> ResourceAmounts:
        """The resources of this instance that are free at this time."""
        room = self.node_type.amounts
        for job in self.jobs:
            room = room.plus(job.amounts, -1)
        return room


class NowhereError(RowtuiError):
    """Jobs fit on no node type, or not on the type that they must run on."""

    def __init__(self, unplaced: Sequence[tuple[SeedJob, UnplacedRequests]]) -> None:
        self.unplaced = tuple(unplaced)
        job, reason = self.unplaced[0]
        more = len(self.unplaced) - 1
        message = f"job {visible(job.id)} fits nowhere: {reason}"
        if job.hint and reason.nearest:
            message = f"job {visible(job.id)} does not fit where it must run: {reason}"
        if more:
            message += f" (and {plural(more, 'other job')})"
        hint = "ask for less, or add a larger node type"
        if job.hint:
            hint = "name another node type for it, or none"
        super().__init__(message, hint)


# -- the loop of the text ------------------------------------------------------------------------


def schedule(
    instances: Iterable[Instance], jobs: Iterable[SeedJob], node_types: Sequence[InstanceType]
) -> tuple[Instance, ...]:
    """Return the instances after all jobs are placed, without the empty instances.

    The caller repeats the call whenever jobs arrived or ended. Raises: `NowhereError`, before
    anything is allocated.
    """
    there = list(instances)
    unscheduled = prioritise(jobs, node_types)
    while unscheduled:
        unscheduled = fit(there, unscheduled)
        there += allocate(there, unscheduled, node_types)
    return release_empty(there)


def prioritise(jobs: Iterable[SeedJob], node_types: Sequence[InstanceType]) -> list[SeedJob]:
    """Return the jobs; jobs that need the most expensive instance come first."""
    prices: dict[tuple[ResourceAmounts, str], float] = {}
    unplaced: list[tuple[SeedJob, UnplacedRequests]] = []
    jobs = list(jobs)
    for job in jobs:
        need = (job.amounts, job.hint)
        if need in prices:
            continue
        instance = cheapest(job.amounts, job.hint, node_types)
        if instance is not None:
            prices[need] = instance.price
        else:
            unplaced.append((job, why_nowhere(job.amounts, job.hint, node_types)))
    if unplaced:
        raise NowhereError(unplaced)
    return sorted(jobs, key=lambda job: -prices[job.amounts, job.hint])


def fit(instances: list[Instance], jobs: Iterable[SeedJob]) -> list[SeedJob]:
    """Put each job on the first suitable instance, if there is one, and return the other jobs."""
    left = []
    for job in jobs:
        first = min(
            (
                (instance.room, instance.number, at)
                for at, instance in enumerate(instances)
                if suits(job, instance)
            ),
            key=lambda found: (least_room_first(found[0]), found[1]),
            default=None,
        )
        if first is None:
            left.append(job)
        else:
            at = first[2]
            instances[at] = instances[at]._replace(jobs=(*instances[at].jobs, job))
    return left


def suits(job: SeedJob, instance: Instance) -> bool:
    """Whether there is room for the job, and the job has no hint or the hint is this node type."""
    return job.hint in {"", instance.node_type.name} and job.amounts.fits(instance.room)


def least_room_first(room: ResourceAmounts) -> tuple[int, int, int, int]:
    """Return the sort key of instances, from fewer to more available resources."""
    return (room.gpus, room.cpus, room.memory_mb, room.disk_mb)


def allocate(
    instances: Sequence[Instance], jobs: Sequence[SeedJob], node_types: Sequence[InstanceType]
) -> list[Instance]:
    """Return one new instance for the first of the jobs, of the cheapest or the hinted type."""
    if not jobs:
        return []
    node_type = cheapest(jobs[0].amounts, jobs[0].hint, node_types)
    if node_type is None:
        raise NowhereError(
            [(jobs[0], why_nowhere(jobs[0].amounts, jobs[0].hint, node_types))],
        )
    return [Instance(max((each.number for each in instances), default=-1) + 1, node_type)]


def release_empty(instances: Iterable[Instance]) -> tuple[Instance, ...]:
    """Return the instances that have jobs."""
    return tuple(instance for instance in instances if instance.jobs)


# -- node types


def suitable(
    amounts: ResourceAmounts, hint: str, node_types: Sequence[InstanceType]
) -> list[InstanceType]:
    """Return the node types that hold the job and match its hint, if it has one."""
    return [
        each
        for each in node_types
        if amounts.fits(each.amounts) and each.at_most != 0 and hint in {"", each.name}
    ]


def cheapest(
    amounts: ResourceAmounts, hint: str, node_types: Sequence[InstanceType]
) -> InstanceType | None:
    """Return the cheapest suitable node type; of equally cheap types the first of the catalogue."""
    return min(suitable(amounts, hint, node_types), key=lambda each: each.price, default=None)


def why_nowhere(
    amounts: ResourceAmounts, hint: str, node_types: Sequence[InstanceType]
) -> UnplacedRequests:
    """Return why a job has no suitable node type."""
    return find_unplaced(PackingProblem(tuple(node_types), (Demand(amounts, 0, hint),), (1,)))[0]
