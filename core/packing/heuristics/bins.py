"""Packing without time: vectors, the cheapest bin for a load, and the step between costs.

The packers that ignore time share this form (`seed`, `fill`, `columns`). `timed.py` and
`slots.py` reduce timed problems to this form: the items are then slots of similar length. Callers
look up a bin for every content that they consider, so the lookup is fast: for each resource and
amount, the set of bins that hold at least this amount is a big integer with one bit for each bin,
cheapest bin first. The bins that hold a load are the AND of one such set for each resource, and the
cheapest of them is the lowest bit. The cost of a lookup hardly depends on the number of bins.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from rowtui.core.packing.model import GoOn

Size = tuple[int, ...]


class Bin(NamedTuple):
    """Bins of one kind, in any number."""

    size: Size
    price: float


class Item(NamedTuple):
    """`number` identical items; `bin`: the index of the only kind that they may be in, or None."""

    size: Size
    number: int
    bin: int | None = None


@dataclass(frozen=True, slots=True)
class Vectors:
    """The items and bins. All sizes have the same length and no negative number; items differ.

    Every item fits in some bin (in its own bin, if it has one).
    """

    bins: tuple[Bin, ...]
    items: tuple[Item, ...]


class Pattern(NamedTuple):
    """`times` bins of kind `bin` with the same content: (index of the item, number)."""

    bin: int
    content: tuple[tuple[int, int], ...]
    times: int = 1


Patterns = tuple[Pattern, ...]
VectorPacker = Callable[[Vectors, GoOn], Patterns]


def patterns_cost(patterns: Patterns, vectors: Vectors) -> float:
    """Return the cost of all of these bins."""
    return sum(pattern.times * vectors.bins[pattern.bin].price for pattern in patterns)


# Prices are amounts of money or simple ratios. Prices with a larger common denominator than this
# number are treated as neither.
LONGEST_PERIOD = 10**7

# A cost of more steps than this number is not rounded up: floats and solvers cannot distinguish
# such small steps.
MOST_STEPS = 10**6


class BinFinder:
    """Find the cheapest bin for a load; of equally cheap bins the largest, then the first."""

    def __init__(
        self, bins: tuple[Bin, ...], among: Iterable[int] | None = None, *, first: bool = False
    ) -> None:
        """Consider the bins with the numbers in `among`, or all bins if `among` is None.

        `first`: of equally cheap bins the first is found, even if another one is larger.
        """
        numbers = range(len(bins)) if among is None else among
        self._order = sorted(
            numbers,
            key=lambda at: (
                bins[at].price,
                () if first else tuple(-part for part in bins[at].size),
                at,
            ),
        )
        self._bit = {at: 1 << rank for rank, at in enumerate(self._order)}
        # for each resource, the different amounts that bins have, ascending
        self._sizes: list[list[int]] = []
        # for each of these amounts, the set of bins that have at least this amount
        self._at_least: list[list[int]] = []
        for axis in range(len(bins[0].size) if bins else 0):
            by_size: dict[int, int] = {}
            for at, bit in self._bit.items():
                size = bins[at].size[axis]
                by_size[size] = by_size.get(size, 0) | bit
            sizes = sorted(by_size)
            sets = [0] * (len(sizes) + 1)
            for rank in reversed(range(len(sizes))):
                sets[rank] = sets[rank + 1] | by_size[sizes[rank]]
            self._sizes.append(sizes)
            self._at_least.append(sets)

    def cheapest(self, load: Size, own: int | None = None) -> int | None:
        """Return the number of the cheapest bin that holds the load, or None if no bin does.

        `own`: the only bin allowed, or None for any bin.
        """
        left = -1 if own is None else self._bit.get(own, 0)
        if not load:
            left &= (1 << len(self._order)) - 1
        for part, sizes, sets in zip(load, self._sizes, self._at_least, strict=True):
            left &= sets[bisect_left(sizes, part)]
        return self._order[(left & -left).bit_length() - 1] if left else None


def worthwhile(vectors: Vectors) -> list[int]:
    """Return the bins that no other bin dominates.

    A bin dominates another one if it is as cheap and as large for all items together. A bin that
    items are bound to is always returned.
    """
    total = [
        sum(item.number * item.size[axis] for item in vectors.items)
        for axis in range(len(vectors.bins[0].size) if vectors.bins else 0)
    ]
    needed = [
        Bin(tuple(map(min, kind.size, total)), kind.price) for kind in vectors.bins
    ]  # room beyond the sum of all items has no use
    finder = BinFinder(tuple(needed))
    bound = {item.bin for item in vectors.items if item.number}
    return [at for at, kind in enumerate(needed) if at in bound or finder.cheapest(kind.size) == at]


def price_step(prices: Iterable[float]) -> float:
    """Return the largest amount that all prices are whole multiples of.

    The result is 0.0 if there is no sensible amount. Every packing costs a whole number of such
    steps.
    """
    amounts = [Fraction(repr(price)) for price in prices if price > 0 and math.isfinite(price)]
    period = math.lcm(*(amount.denominator for amount in amounts))
    if not amounts or period > LONGEST_PERIOD:
        return 0.0
    return float(Fraction(math.gcd(*(int(amount * period) for amount in amounts)), period))


def stepped_up(bound: float, step: float) -> float:
    """Return the lowest possible cost, given that no packing costs less than `bound`."""
    if step <= 0 or bound > step * MOST_STEPS:
        return bound
    return max(bound, math.ceil(bound / step - 1e-6) * step * (1 - 1e-12))
