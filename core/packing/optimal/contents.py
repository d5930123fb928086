"""Find the contents of bins that may be columns: all of them, or those that are worth most.

A content is a number of each item that one bin holds together. A few items have so few contents
that `list_contents` lists them all. For more items, `ContentSearch` solves a knapsack of each bin
for given values of the items.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from rowtui.core.packing.heuristics.bins import BinFinder, Item, Size, Vectors, worthwhile
from rowtui.core.packing.model import GoOn
from rowtui.core.packing.optimal.knapsack import Knapsack, KnapsackContent, ValueTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

# (index of the item, number), without the items that are not in the bin.
Content = tuple[tuple[int, int], ...]

# Number of contents between two calls of `go_on`.
BETWEEN_QUESTIONS = 100

# Cells of the tables that find most columns in a millisecond, and of those tables that find nearly
# all others.
COARSE_CELLS, FINE_CELLS = 4_000, 70_000

# A column has to be worth more than its price by this relative amount.
BETTER = 1e-7

# A bin whose best content is worth less than such a part of its price is skipped for so many
# rounds: values change little from one round to the next.
REST = ((0.95, 6), (0.98, 3), (0.995, 1))

# For each item, the best content with this item is a column too, if it is worth this part of its
# price.
PROMISING = 0.99

# A bin shares the rounded table of a bin that is at most this many times larger.
SMALLEST_SHARE = 3


def list_contents(vectors: Vectors, go_on: GoOn, most: int) -> list[Content] | None:
    """List what can be in one bin together.

    A content is left out if one more item would cost no more. The result is None if there are more
    than `most` contents, or if `go_on` returns False. Every item has to be there at least once.
    """
    prices = _prices_of_all(vectors, go_on, most)
    if prices is None:
        return None
    units = _units(vectors.items)
    kept: list[Content] = []
    for code, (counts, price) in prices.items():
        larger = (
            prices.get(code + unit)
            for item, unit, there in zip(vectors.items, units, counts, strict=True)
            if there < item.number
        )
        if code and not any(other is not None and other[1] <= price for other in larger):
            kept.append(tuple((place, there) for place, there in enumerate(counts) if there))
    return kept


def _prices_of_all(
    vectors: Vectors, go_on: GoOn, most: int
) -> dict[int, tuple[tuple[int, ...], float]] | None:
    """Return the numbers of each item and the price of the cheapest bin, by code."""
    bins, finder = vectors.bins, BinFinder(vectors.bins, worthwhile(vectors))
    nothing = tuple(0 for _ in bins[0].size) if bins else ()
    # For each content so far: its code, how many of each item it has, its load, and the bin that it
    # is bound to.
    grown: list[tuple[int, tuple[int, ...], Size, int | None]] = [(0, (), nothing, None)]
    for item, unit in zip(vectors.items, _units(vectors.items), strict=True):
        further = []
        for number, (code, counts, load, own) in enumerate(grown):
            if number % BETWEEN_QUESTIONS == BETWEEN_QUESTIONS - 1 and not go_on():
                return None
            further.append((code, (*counts, 0), load, own))
            if own is not None and item.bin is not None and own != item.bin:
                continue
            bound = item.bin if own is None else own
            more = load
            for times in range(1, item.number + 1):
                more = tuple(a + b for a, b in zip(more, item.size, strict=True))
                if finder.cheapest(more, bound) is None:
                    break
                further.append((code + times * unit, (*counts, times), more, bound))
            if len(further) > most:
                return None
        if not go_on():
            return None
        grown = further
    prices = {}
    for code, counts, load, own in grown:
        home = finder.cheapest(load, own)
        if home is not None:
            prices[code] = (counts, bins[home].price)
    return prices


def _units(items: tuple[Item, ...]) -> list[int]:
    """Return the code of one of each item, which is a field of bits."""
    width = max(item.number for item in items).bit_length()
    return [1 << (place * width) for place in range(len(items))]


class ContentSearch:
    """Contents of single bins that are worth more than the bin costs, for given item values.

    `useful`: the bins that matter.
    """

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self.useful = worthwhile(vectors)
        self._knapsacks: dict[int, Knapsack] = {}
        self._grouped: dict[int, list[tuple[Knapsack, list[int]]]] = {}
        self._look_again: dict[int, int] = {}

    def most_valuable(
        self, values: Numbers, cells: int, turn: int, go_on: GoOn
    ) -> Iterator[tuple[float, KnapsackContent]]:
        """Yield good contents for each bin and each item, each with the price of the bin.

        `cells`: the size of a table; larger tables overlook fewer contents. `turn`: the number of
        the call's round, since bins whose contents were worth little are skipped for some rounds.
        """
        # For each item, the value of its best content so far as a part of the price; others must
        # exceed it.
        parts = np.full(len(values), PROMISING)
        for shared, members in self._groups(cells):
            table: ValueTable | None = None
            for at in members:
                if self._look_again.get(at, 0) > turn:
                    continue
                if not go_on():
                    return
                kind = self._vectors.bins[at]
                value = self.alone(at).limits(values, kind.price).most
                if value > kind.price * (1 + BETTER):
                    table = table or shared.table(values)
                    found = shared.several(values, table, parts * kind.price, kind.size)
                    value = found[0].value
                    for filled in found:
                        for place, _ in filled.content:
                            worth = filled.value / kind.price if kind.price else np.inf
                            parts[place] = max(parts[place], worth)
                        yield kind.price, filled
                rest = next((rounds for part, rounds in REST if value < part * kind.price), 0)
                self._look_again[at] = turn + rest

    def _groups(self, cells: int) -> list[tuple[Knapsack, list[int]]]:
        """Group the bins that share a table.

        A bin shares the table of the first bin of its group if it is not much smaller, or if this
        table is exact.
        """
        if cells in self._grouped:
            return self._grouped[cells]
        bins = self._vectors.bins
        bound = {item.bin for item in self._vectors.items}
        groups: list[tuple[int, list[int]]] = []
        for at in sorted(self.useful, key=lambda at: (bins[at].size, at), reverse=True):
            for first, members in groups:
                if not bound & {at, first} and self._share(at, first):
                    members.append(at)
                    break
            else:
                groups.append((at, [at]))
        self._grouped[cells] = [
            (Knapsack(self._vectors, first, cells, [bins[at].size for at in members]), members)
            for first, members in groups
        ]
        return self._grouped[cells]

    def alone(self, at: int) -> Knapsack:
        """Return the knapsack of one bin."""
        if at not in self._knapsacks:
            self._knapsacks[at] = Knapsack(self._vectors, at, FINE_CELLS)
        return self._knapsacks[at]

    def _share(self, at: int, first: int) -> bool:
        smaller, larger = self._vectors.bins[at].size, self._vectors.bins[first].size
        if not all(map(int.__le__, smaller, larger)):
            return False
        if self.alone(first).exact:
            return True
        return not self.alone(at).exact and all(
            part * SMALLEST_SHARE >= whole for part, whole in zip(smaller, larger, strict=True)
        )
