"""CAVATICA's published algorithm: as its text describes it, and for a million jobs in classes.

`schedule` is the loop of the text: unscheduled jobs and instances in, instances out.
`seed_patterns` gives the same packing for classes of identical items that arrive one class after
another, from an empty start. The text leaves the following points open, and this module decides
them:

- Most expensive first: jobs are ordered by the price of the cheapest node type that each may have,
  the most expensive first (the opposite order costs a tenth to a quarter more), then by arrival. Of
  classes, all items of the first class come first, while the loop takes alternating jobs in turn.
- Fewer available resources first: GPUs are compared first, then CPUs, memory and disk. Of instances
  with equal room the older comes first. The order is computed again for each job.
- Of equally cheap node types the first of the catalogue is taken. Limits on the number of instances
  of a type are ignored (`online` respects them).
- Empty instances are released when all jobs are scheduled, since new instances are empty when they
  are allocated.

Source: CAVATICA's documentation, "Multi-instance scheduling algorithm".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.packing.heuristics.bins import Item, Pattern, Size, Vectors
from rowtui.core.packing.model import InstanceType, ResourceAmounts, UnplacedRequests
from rowtui.core.packing.node_types import Catalogue, Within, cheapest, why_nowhere


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


# -- the same for classes ------------------------------------------------------------------------


def seed_patterns(vectors: Vectors) -> Iterator[Pattern]:
    """Yield the packing that `schedule` makes of these items from an empty start.

    Items with equal priority keep their order. When an instance is allocated, all older instances
    have refused every remaining job, and their room never grows, so only the new instance can take
    any. One turn of the loop therefore fills one bin, class by class, and while there is enough of
    each class the next turn fills an identical bin.
    """
    if not vectors.items or not vectors.bins:
        return
    order, opened = _ordered(vectors)
    items = [vectors.items[number] for number in order]
    sizes = [item.size for item in items]
    left = [item.number for item in items]
    bins = _Fill(items, vectors)
    alive = bins.within.all
    for at in range(len(items)):
        while left[at]:
            bin_number = opened[at]
            filled = bins.fill(bin_number, alive, sizes, left)
            times = min(left[other] // number for other, number in filled)
            for other, number in filled:
                left[other] -= times * number
                if not left[other]:
                    alive ^= 1 << (len(items) - 1 - other)
            content = tuple((order[other], number) for other, number in filled)
            yield Pattern(bin_number, content, times)


def _ordered(vectors: Vectors) -> tuple[list[int], list[int]]:
    """Return the numbers of the items, most expensive first, and the bin that each opens."""
    catalogue = Catalogue(vectors.bins)
    chosen = []
    for number, item in enumerate(vectors.items):
        if item.number > 0:
            opened = (
                catalogue.cheapest(catalogue.holding(item.size)) if item.bin is None else item.bin
            )
            chosen.append((number, opened))
    chosen.sort(key=lambda each: -vectors.bins[each[1]].price)
    return [number for number, _ in chosen], [opened for _, opened in chosen]


class _Fill:
    """Fills one bin with items in order; sets of bits give the next item that fits."""

    def __init__(self, items: Sequence[Item], vectors: Vectors) -> None:
        self.within = Within([item.size for item in items])
        self._bins = vectors.bins
        self._free = 0  # the set of items that may go in any bin
        self._bound: dict[int, int] = {}  # bin -> the set of items that may only go in this bin
        for at, item in enumerate(reversed(items)):
            if item.bin is None:
                self._free |= 1 << at
            else:
                self._bound[item.bin] = self._bound.get(item.bin, 0) | 1 << at

    def fill(
        self, bin_number: int, alive: int, sizes: Sequence[Size], left: Sequence[int]
    ) -> list[tuple[int, int]]:
        """Return the content of a new bin as (place in the order, number) pairs."""
        below = self.within.below
        room = list(self._bins[bin_number].size)
        fitting = alive & (self._free | self._bound.get(bin_number, 0))
        for resource, there in enumerate(room):
            fitting &= below(resource, there)
        filled = []
        while fitting:
            highest = fitting.bit_length() - 1
            at = len(sizes) - 1 - highest
            number = left[at]
            for there, amount in zip(room, sizes[at], strict=True):
                if amount and there // amount < number:
                    number = there // amount
            if number:
                filled.append((at, number))
                for resource, amount in enumerate(sizes[at]):
                    if amount:
                        room[resource] -= number * amount
                        fitting &= below(resource, room[resource])
            # all of the item is placed, or the set was not exact
            if fitting.bit_length() > highest:
                fitting ^= 1 << highest
        return filled
