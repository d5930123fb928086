"""CAVATICA's published algorithm, for a million jobs in classes.

The text describes a loop over unscheduled jobs and instances. `seed_patterns` gives the same
packing for classes of identical items that arrive one class after another, from an empty start. The
text leaves the following points open, and this module decides them:

- Most expensive first: jobs are ordered by the price of the cheapest node type that each may have,
  the most expensive first (the opposite order costs a tenth to a quarter more), then by arrival. Of
  classes, all items of the first class come first, while the loop takes alternating jobs in turn.
- Fewer available resources first: GPUs are compared first, then CPUs, memory and disk. Of instances
  with equal room the older comes first. The order is computed again for each job.
- Of equally cheap node types the first of the catalogue is taken. Limits on the number of instances
  of a type are ignored.
- Empty instances are released when all jobs are scheduled, since new instances are empty when they
  are allocated.

Source: CAVATICA's documentation, "Multi-instance scheduling algorithm".
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from rowtui.core.packing.heuristics.bins import BinFinder, Item, Pattern, Size, Vectors

# Memory for the sets of one resource, in bytes. For 20,000 different sizes, this suffices for a set
# of every third limit; the surplus sizes of a set are then removed one by one.
_MOST_BYTES = 24_000_000


def seed_patterns(vectors: Vectors) -> Iterator[Pattern]:
    """Yield the packing that the loop makes of these items from an empty start.

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
    finder = BinFinder(vectors.bins, first=True)
    chosen = []
    for number, item in enumerate(vectors.items):
        if item.number > 0:
            opened = finder.cheapest(item.size, item.bin)
            assert opened is not None, "an item that no bin holds"
            chosen.append((number, opened))
    chosen.sort(key=lambda each: -vectors.bins[each[1]].price)
    return [number for number, _ in chosen], [opened for _, opened in chosen]


class _Fill:
    """Fills one bin with items in order; sets of bits give the next item that fits."""

    def __init__(self, items: Sequence[Item], vectors: Vectors) -> None:
        self.within = _Within([item.size for item in items])
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


class _Within:
    """For each resource and limit, the set of sizes that do not exceed the limit, as bits.

    The caller chooses the order of the sizes; the first size is the highest bit, so that the first
    size of a set follows from its `bit_length`, and sets become shorter as the first sizes are used
    up.

    `all`: the set of all sizes.
    """

    def __init__(self, sizes: Sequence[Sequence[int]]) -> None:
        self.all = (1 << len(sizes)) - 1
        self._lowest: list[list[int]] = []
        self._sets: list[list[int]] = []
        most = max(16, _MOST_BYTES // (len(sizes) // 8 + 40))
        for resource in range(len(sizes[0]) if sizes else 0):
            values = [size[resource] for size in sizes]
            lowest = sorted(set(values))
            if len(lowest) > most:
                lowest = lowest[:: -(-len(lowest) // most)]
            self._lowest.append(lowest)
            self._sets.append(_running_sets(values, lowest))

    def below(self, resource: int, limit: int) -> int:
        """Return the sizes with at most this much of a resource, and a few more of many sizes."""
        at = bisect_right(self._lowest[resource], limit)
        return self._sets[resource][at]


def _running_sets(values: Sequence[int], lowest: list[int]) -> list[int]:
    """Return running sets: set n has the values of the first n steps, which begin at `lowest`."""
    members: list[list[int]] = [[] for _ in lowest]
    highest = len(values) - 1
    for at, value in enumerate(values):
        members[bisect_right(lowest, value) - 1].append(highest - at)
    sets, bits = [0], 0
    for step in members:
        if len(step) == 1:
            bits |= 1 << step[0]
        else:
            marks = bytearray(max(step, default=0) // 8 + 1)
            for bit in step:
                marks[bit >> 3] |= 1 << (bit & 7)
            bits |= int.from_bytes(marks, "little")
        sets.append(bits)
    return sets
