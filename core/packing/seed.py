"""CAVATICA's published algorithm: once as it is written, and once for a million jobs in classes.

`schedule` is the loop of the text, word by word: jobs that are not scheduled and instances in,
instances out. `seed_packing` gives the same packing of classes of identical items that arrive one
class after another, from an empty start. Where the text is silent, this is what we do:

- most expensive first: jobs are ordered by the price of the cheapest node type that each may have,
  the dearest first (the other way round costs a tenth to a quarter more), then by arrival; of
  classes, all of the class that came first, while the loop takes jobs that alternate in turn;
- fewer available resources first: GPUs are compared first, then CPUs, memory, disk, and of
  instances with as much room the older comes first; it is looked at anew for each job;
- of equally cheap node types the first of the catalogue is taken; how many there may be of a type
  does not matter (it does to `online`);
- empty instances are released when all is scheduled, as new ones are empty when allocated.

Source: CAVATICA's documentation, "Multi-instance scheduling algorithm".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rowtui.core.errors import RowtuiError
from rowtui.core.packing.model import Amounts, GoOn, NodeType, Unplaced
from rowtui.core.packing.suitable import Catalogue, cheapest, why_nowhere
from rowtui.core.packing.vectors import Item, Pattern, Patterns, Size, Vectors
from rowtui.core.packing.within import Within
from rowtui.core.text import plural, visible


class Job(NamedTuple):
    """A job with what it needs. `hint`: the name of the node type it must run on, "" for any."""

    id: str
    amounts: Amounts
    hint: str = ""


class Instance(NamedTuple):
    """A machine that is there, with its jobs. `number`: the older, the smaller."""

    number: int
    node_type: NodeType
    jobs: tuple[Job, ...] = ()

    @property
    def room(self) -> Amounts:
        """What remains of it at this time."""
        room = self.node_type.amounts
        for job in self.jobs:
            room = room.plus(job.amounts, -1)
        return room


class NowhereError(RowtuiError):
    """Jobs fit on no node type, or not on the one that they must run on."""

    def __init__(self, unplaced: Sequence[tuple[Job, Unplaced]]) -> None:
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
    instances: Iterable[Instance], jobs: Iterable[Job], node_types: Sequence[NodeType]
) -> tuple[Instance, ...]:
    """The instances after all jobs have their place on one, without those that are empty.

    Called again whenever jobs arrived or ended. Raises: `NowhereError`, before anything is
    allocated.
    """
    there = list(instances)
    unscheduled = prioritise(jobs, node_types)
    while unscheduled:
        unscheduled = fit(there, unscheduled)
        there += allocate(there, unscheduled, node_types)
    return release_empty(there)


def prioritise(jobs: Iterable[Job], node_types: Sequence[NodeType]) -> list[Job]:
    """The jobs, those first that need the most expensive instance."""
    prices: dict[tuple[Amounts, str], float] = {}
    unplaced: list[tuple[Job, Unplaced]] = []
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


def fit(instances: list[Instance], jobs: Iterable[Job]) -> list[Job]:
    """Puts each job on the first suitable instance, if there is one. Gives the other jobs."""
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


def suits(job: Job, instance: Instance) -> bool:
    """Whether there is room for the job, and no other node type is specified for it."""
    return job.hint in {"", instance.node_type.name} and job.amounts.fits(instance.room)


def least_room_first(room: Amounts) -> tuple[int, int, int, int]:
    """The order of instances, from those with fewer to those with more available resources."""
    return (room.gpus, room.cpus, room.memory_mb, room.disk_mb)


def allocate(
    instances: Sequence[Instance], jobs: Sequence[Job], node_types: Sequence[NodeType]
) -> list[Instance]:
    """A single new instance, for the first of the jobs: the cheapest, or the hinted one."""
    if not jobs:
        return []
    node_type = cheapest(jobs[0].amounts, jobs[0].hint, node_types)
    if node_type is None:
        raise NowhereError(
            [(jobs[0], why_nowhere(jobs[0].amounts, jobs[0].hint, node_types))],
        )
    return [Instance(max((each.number for each in instances), default=-1) + 1, node_type)]


def release_empty(instances: Iterable[Instance]) -> tuple[Instance, ...]:
    """The instances that have jobs."""
    return tuple(instance for instance in instances if instance.jobs)


# -- the same for classes ------------------------------------------------------------------------


def seed_packing(vectors: Vectors, _go_on: GoOn) -> Patterns:
    """The packing that `schedule` makes: see `seed_patterns`."""
    return tuple(seed_patterns(vectors))


def seed_patterns(vectors: Vectors) -> Iterator[Pattern]:
    """The packing that `schedule` makes of these items from an empty start; ties: as they stand.

    When an instance is allocated, all older ones have refused every job that is left, and their
    room never grows: only the new one can take any. So one turn of the loop fills one bin, class
    by class, and as long as there is enough of each class the next turn fills one just like it.
    There is nothing to break off or to improve, so nobody is asked to go on.
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
    """The numbers of the items, most expensive first, and the bin that is opened for each."""
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
    """Fills one bin with items in their order, finding the next that fits by sets of bits."""

    def __init__(self, items: Sequence[Item], vectors: Vectors) -> None:
        self.within = Within([item.size for item in items])
        self._bins = vectors.bins
        self._free = 0  # the set of items that may go in any bin
        self._bound: dict[int, int] = {}  # bin -> the set of items that may go nowhere else
        for at, item in enumerate(reversed(items)):
            if item.bin is None:
                self._free |= 1 << at
            else:
                self._bound[item.bin] = self._bound.get(item.bin, 0) | 1 << at

    def fill(
        self, bin_number: int, alive: int, sizes: Sequence[Size], left: Sequence[int]
    ) -> list[tuple[int, int]]:
        """(place in the order, how many) of what goes in an empty bin."""
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
            if fitting.bit_length() > highest:  # all of it is placed, or the set held too much
                fitting ^= 1 << highest
        return filled
