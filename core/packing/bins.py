"""Which bin is the cheapest for a load, which bins deserve a look, by what steps costs grow.

What `exact.py` and `columns.py` both need to know of the bins. A load is asked for as often as
there are contents to look at, so the bins that hold so much of one resource are a big integer with
one bit for each bin, cheapest first: a load's bins are the AND of one such set for each resource,
and the cheapest of them is the lowest bit, for two bins as for ten thousand.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable
from fractions import Fraction

from rowtui.core.packing.vectors import Bin, Size, Vectors

# Prices are amounts of money or simple ratios; what has a longer period than this is neither.
LONGEST_PERIOD = 10**7

# In that many steps or more, a step is below what floats and solvers can tell apart.
MOST_STEPS = 10**6


class BinFinder:
    """Finds the cheapest bin for a load; of equally cheap ones the largest, then the first."""

    def __init__(self, bins: tuple[Bin, ...], among: Iterable[int] | None = None) -> None:
        """Looks among the bins with these numbers, or among all."""
        numbers = range(len(bins)) if among is None else among
        self._bins = bins
        self._order = sorted(
            numbers, key=lambda at: (bins[at].price, tuple(-part for part in bins[at].size), at)
        )
        self._bit = {at: 1 << rank for rank, at in enumerate(self._order)}
        self._sizes: list[list[int]] = []  # for each resource, what bins have of it, ascending
        self._at_least: list[list[int]] = []  # ... and the set of bins that have so much or more
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
        """The number of the cheapest bin that holds the load (`own`: the only one allowed)."""
        left = -1 if own is None else self._bit.get(own, 0)
        if not load:
            left &= (1 << len(self._order)) - 1
        for part, sizes, sets in zip(load, self._sizes, self._at_least, strict=True):
            left &= sets[bisect_left(sizes, part)]
        return self._order[(left & -left).bit_length() - 1] if left else None


def worthwhile(vectors: Vectors) -> list[int]:
    """The bins without those that another one betters: as large for all there is, and as cheap.

    A bin that items are bound to is always among them.
    """
    total = [
        sum(item.number * item.size[axis] for item in vectors.items)
        for axis in range(len(vectors.bins[0].size) if vectors.bins else 0)
    ]
    needed = [
        Bin(tuple(map(min, kind.size, total)), kind.price) for kind in vectors.bins
    ]  # more than all items together is no better than just that
    finder = BinFinder(tuple(needed))
    bound = {item.bin for item in vectors.items if item.number}
    return [at for at, kind in enumerate(needed) if at in bound or finder.cheapest(kind.size) == at]


def price_step(prices: Iterable[float]) -> float:
    """The largest amount that all prices are whole multiples of; 0.0 if there is no sensible one.

    Every packing costs a whole number of such steps.
    """
    amounts = [Fraction(repr(price)) for price in prices if price > 0 and math.isfinite(price)]
    period = math.lcm(*(amount.denominator for amount in amounts))
    if not amounts or period > LONGEST_PERIOD:
        return 0.0
    return float(Fraction(math.gcd(*(int(amount * period) for amount in amounts)), period))


def stepped_up(bound: float, step: float) -> float:
    """The lowest cost that a packing may have, given that none costs less than `bound`."""
    if step <= 0 or bound > step * MOST_STEPS:
        return bound
    return max(bound, math.ceil(bound / step - 1e-6) * step * (1 - 1e-12))
