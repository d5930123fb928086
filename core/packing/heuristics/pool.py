"""The remaining items as sets, so that the best item that fits is found in a microsecond.

A set of classes of items is one big integer; bit n is the class with the n-th lowest worth, so that
the highest bit of any set is the class worth most. For each resource and each size that occurs
there is the set of all classes that need no more. The classes that fit in a room are the AND of one
set for each resource, for any number of classes. A room between two sizes counts as the smaller
size.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rowtui.core.packing.heuristics.bins import Size, Vectors, worthwhile
from rowtui.core.packing.optimal.prices import best_prices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# If a resource has more sizes, they are rounded up to this many sizes.
MOST_SIZES = 400

# A class is at home on a bin if it costs there at most this many times its lowest cost.
AT_HOME = 1.02

# Largest number of bins in which the same class is tried first.
MOST_KINDS = 16

# A free bin gets a millionth of the lowest price, so that few of these bins are used too.
NEXT_TO_NOTHING = 1e-6


# Share of a bin's price that is spread evenly over its resources. Without this share, a resource
# may have no price only because another resource has none.
EVENLY = 0.02


class ItemWorth(NamedTuple):
    """Prices of resources on each kind of `Ground.kinds`, and the worth of each item by them."""

    duals: Floats
    values: Floats


class Ground:
    """Data shared by all packings of some vectors: sizes as arrays, and the useful bins."""

    def __init__(self, vectors: Vectors) -> None:
        self.vectors = vectors
        self.kinds = worthwhile(vectors)
        resources = len(vectors.bins[0].size) if vectors.bins else 0
        self.sizes = [item.size for item in vectors.items]
        self.rooms = [vectors.bins[at].size for at in self.kinds]
        real = [vectors.bins[at].price for at in self.kinds]
        self.free = [price <= 0 for price in real]
        self.prices = self._prices(real)
        self.room = np.array(self.rooms, float).reshape(len(self.rooms), resources)
        self.price = np.array(self.prices)
        place = {at: row for row, at in enumerate(self.kinds)}
        self.own = [None if item.bin is None else place[item.bin] for item in vectors.items]
        self.loads = np.array(self.sizes, float).reshape(len(self.sizes), resources)
        self.owners = np.array([-1 if own is None else own for own in self.own], np.int64)
        try:
            self.exact = np.array(self.sizes, np.int64).reshape(len(self.sizes), resources)
        except OverflowError:
            self.exact = np.array(self.sizes, object).reshape(len(self.sizes), resources)

    def _prices(self, real: list[float]) -> list[float]:
        least = min((price for price in real if price > 0), default=1.0)
        largest = [max(1, *sizes) for sizes in zip(*self.rooms, strict=True)]
        return [
            price
            if price > 0
            else least
            * NEXT_TO_NOTHING
            * (1 + sum(part / most for part, most in zip(room, largest, strict=True)))
            for room, price in zip(self.rooms, real, strict=True)
        ]

    def worth(self, items: Sequence[int], numbers: Sequence[int]) -> ItemWorth:
        """Return the worth of these items, so many of each, if only these items are to be packed.

        `values` has an entry for each item of the vectors, 0 for the others.
        """
        bins = [
            self.vectors.bins[at]._replace(price=price)
            for at, price in zip(self.kinds, self.prices, strict=True)
        ]
        sizes, own = [self.sizes[at] for at in items], [self.own[at] for at in items]
        found = best_prices(bins, sizes, numbers, own, evenly=EVENLY, quick=True)
        values = np.zeros(len(self.sizes))
        values[np.array(items, np.int64)] = found.values
        return ItemWorth(np.array(found.duals).reshape(self.room.shape), values)


class ItemPool:
    """Some classes of items, sorted by worth, and how many of each are `left` (a list by bit).

    `there`: the set of classes with items left.
    """

    def __init__(
        self, ground: Ground, worth: ItemWorth, items: Sequence[int], numbers: Sequence[int]
    ) -> None:
        chosen = np.array(items, np.int64)
        order = np.argsort(worth.values[chosen], kind="stable")
        chosen = chosen[order]
        self.ground = ground
        self.items: list[int] = chosen.tolist()
        self.left = [numbers[at] for at in order.tolist()]
        self.values: list[float] = worth.values[chosen].tolist()
        self.sizes: list[Size] = [ground.sizes[at] for at in self.items]
        self.duals: list[list[float]] = worth.duals.tolist()
        self.there = _set_of(np.array(self.left, object) > 0)
        self._find_sizes(chosen)
        self._find_kinds(worth, chosen)

    def _find_sizes(self, chosen: NDArray[np.int64]) -> None:
        """For each resource, find the sizes that occur, and the sets of classes up to each size."""
        self.steps: list[list[int]] = []
        self.up_to: list[list[int]] = []
        for axis in range(self.ground.exact.shape[1]):
            steps, rank = np.unique(self.ground.exact[chosen, axis], return_inverse=True)
            rank = rank.reshape(-1)
            if len(steps) > MOST_SIZES:
                places = np.linspace(0, len(steps) - 1, MOST_SIZES).astype(np.int64)
                rank = np.searchsorted(places, rank)
                steps = steps[places]
            self.steps.append(steps.tolist())
            self.up_to.append([_set_of(rank <= step) for step in range(len(steps))])

    def _find_kinds(self, worth: ItemWorth, chosen: NDArray[np.int64]) -> None:
        """For each class, find the bins to start with it; for each bin, the classes at home."""
        ground = self.ground
        loads, owners, values = ground.loads[chosen], ground.owners[chosen], worth.values[chosen]
        number, kinds = len(chosen), len(ground.kinds)
        most = min(MOST_KINDS, kinds)
        self.kinds: list[list[int]] = []
        self.promise: list[list[float]] = []
        step = max(1, 4_000_000 // max(1, kinds))
        for start in range(0, number, step):
            part = slice(start, start + step)
            # At best, the rest of the bin is filled with items that are worth the resources they
            # take.
            lost = (loads[part] @ worth.duals.T - values[part, None]) / ground.price
            promise = np.round(1 - lost, 9)
            for axis in range(loads.shape[1]):
                promise[loads[part, axis, None] > ground.room[None, :, axis]] = -np.inf
            bound = owners[part] >= 0
            promise[bound[:, None] & (owners[part, None] != np.arange(kinds))] = -np.inf
            # Of equally good bins the cheaper one comes first, since it is easier to fill.
            promise -= 1e-9 * (ground.price / max(float(ground.price.max()), 1e-300))
            best = np.argsort(-promise, axis=1, kind="stable")[:, :most]
            self.kinds += best.tolist()
            self.promise += np.take_along_axis(promise, best, 1).tolist()
        unbound = owners < 0
        any_bound = not unbound.all()
        self.open: dict[int, int] = {}
        self.at_home: dict[int, int] = {}
        for kind in {kind for row in self.kinds for kind in row}:
            allowed = unbound | (owners == kind) if any_bound else unbound
            cost = loads @ worth.duals[kind]
            self.open[kind] = _set_of(allowed) if any_bound else -1
            self.at_home[kind] = _set_of(allowed & (cost <= values * AT_HOME))

    def fitting(self, room: Sequence[int], among: int) -> int:
        """Return the classes in `among` whose items fit in the room."""
        for there, steps, up_to in zip(room, self.steps, self.up_to, strict=True):
            if there < steps[-1]:
                rank = bisect_right(steps, there)
                if not rank:
                    return 0
                among &= up_to[rank - 1]
        return among

    def take(self, content: dict[int, int], times: int) -> None:
        """Remove so many contents from the pool."""
        for bit, number in content.items():
            self.left[bit] -= number * times
            if not self.left[bit]:
                self.there ^= 1 << bit

    def remaining(self) -> dict[int, int]:
        """Return the remaining items and their numbers."""
        pairs = zip(self.items, self.left, strict=True)
        return {item: number for item, number in pairs if number}


def _set_of(flags: NDArray[np.bool_]) -> int:
    return int.from_bytes(np.packbits(flags.astype(bool), bitorder="little").tobytes(), "little")
