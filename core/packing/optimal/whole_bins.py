"""Pack few classes of any size by column generation, and give the bound that follows from it.

`fractional.py` computes how often each content would be used if bins could be divided. The whole
bins of this solution are kept; the rest, some items of each class, is packed with the same contents
by an integer program. The time depends on the number of classes and not on the number of items. The
module imports HiGHS. Source: P. C. Gilmore and R. E. Gomory (column generation).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rowtui.core.packing.heuristics.bins import Pattern, Patterns, Vectors, patterns_cost
from rowtui.core.packing.heuristics.fill import fill
from rowtui.core.packing.model import GoOn
from rowtui.core.packing.optimal.fractional import Fractional
from rowtui.core.packing.optimal.solver import Effort, cover_whole

# Relative difference below which two costs are equal.
SAME = 1e-6

# Relative distance to the bound at which the rest of a packing needs no integer program.
GOOD = 1e-3

# A solution with at most this many whole bins is chosen again completely by the integer program.
FEW_BINS = 200

# Limits of the integer program of the rest: its columns, and the effort of HiGHS (some seconds).
MOST_COLUMNS = 2_000
EFFORT = Effort(nodes=300, asks=100)

# Limits where the columns include all contents that matter, so that the program gives a proof.
COLUMNS_OF_PROOF = 5_000
EFFORT_OF_PROOF = Effort(nodes=10_000, asks=1_000)


@dataclass(frozen=True, slots=True)
class Generated:
    """A packing, a lower bound of the cost of any packing, and whether this packing is the best."""

    patterns: Patterns
    bound: float
    proven: bool


def pack_whole(vectors: Vectors, go_on: GoOn) -> Generated:
    """Return a packing of all items, and the bound; best for up to about 150 different items."""
    there = [number for number, item in enumerate(vectors.items) if item.number > 0]
    if not there:
        return Generated((), 0.0, proven=True)
    items = tuple(vectors.items[number] for number in there)
    packed = _WholeBins(Vectors(vectors.bins, items)).run(go_on)
    patterns = tuple(
        pattern._replace(content=tuple((there[place], n) for place, n in pattern.content))
        for pattern in packed.patterns
    )
    return Generated(patterns, packed.bound, packed.proven)


class _WholeBins:
    """Makes whole bins from the solution of the fractional program."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self._items = vectors.items
        self._bins = vectors.bins
        self._program = Fractional(vectors)

    def run(self, go_on: GoOn) -> Generated:
        numbers = [item.number for item in self._items]
        patterns = self._filled(numbers)
        for pattern in patterns:
            self._program.add(pattern.content)
        if go_on() and self._program.solve(go_on):
            patterns = self._solve_whole(patterns, go_on)
        cost = self._cost(patterns)
        bound = min(self._program.least, cost)
        return Generated(patterns, bound, proven=cost - bound <= SAME * cost)

    # -- whole bins ------------------------------------------------------------------------------

    def _solve_whole(self, first: Patterns, go_on: GoOn) -> Patterns:
        """Return the best packing from whole numbers of columns and from packings of the rest."""
        times = [int(each + 1e-6) for each in self._program.times]
        best = min(first, self._rounded(times), key=self._cost)
        everything = [item.number for item in self._items]
        if not go_on() or self._is_within(SAME, best):
            return best
        if sum(times) <= FEW_BINS:
            return min(best, self._by_program(everything, best, go_on), key=self._cost)
        if self._is_within(GOOD, best):
            return best
        # One copy of each column is given back, so that the program can choose these bins again.
        left = everything
        whole = self._take([max(0, each - 1) for each in times], left)
        rest = self._by_program(left, self._filled(left), go_on)
        return min(best, whole + rest, key=self._cost)

    def _rounded(self, times: list[int]) -> Patterns:
        left = [item.number for item in self._items]
        whole = self._take(times, left)
        return whole + self._filled(left)

    def _cost(self, patterns: Patterns) -> float:
        return patterns_cost(patterns, self._vectors)

    def _is_within(self, part: float, patterns: Patterns) -> bool:
        """Whether no packing is cheaper than these patterns by more than `part` of their cost."""
        cost = self._cost(patterns)
        return cost - self._program.least <= part * cost

    def _take(self, times: Sequence[int], left: list[int]) -> Patterns:
        """Use columns up to `times`, as `left` allows, and subtract their items from `left`."""
        taken: list[Pattern] = []
        for (_, _, content), often in zip(self._program.columns, times, strict=False):
            wanted = often
            while wanted > 0:
                inside = tuple((place, min(n, left[place])) for place, n in content if left[place])
                if not inside:
                    break
                fitting = min(wanted, *(left[place] // n for place, n in inside))
                for place, n in inside:
                    left[place] -= fitting * n
                taken.append(Pattern(self._program.home(inside), inside, fitting))
                wanted -= fitting
        return tuple(taken)

    def _by_program(self, left: list[int], rest: Patterns, go_on: GoOn) -> Patterns:
        """Pack the items `left` with an integer program over the columns that waste least.

        `rest` is a packing of these items and the start of the program. The result is `rest` if the
        program leaves items over.
        """
        for pattern in rest:
            self._program.add(pattern.content)
        rows = {place: row for row, place in enumerate(p for p, n in enumerate(left) if n)}
        everything = left == [item.number for item in self._items]
        useful = self._least_wasteful(
            left,
            {self._program.places[pattern.content] for pattern in rest},
            # A packing with a column that wastes more would cost more than `rest`.
            self._cost(rest) - self._program.bound if everything else math.inf,
        )
        provable = everything and self._program.complete and len(useful) <= COLUMNS_OF_PROOF
        chosen = useful if provable else useful[:MOST_COLUMNS]
        start = dict.fromkeys(chosen, 0)
        for pattern in rest:
            start[self._program.places[pattern.content]] += pattern.times
        found = cover_whole(
            [left[place] for place in rows],
            [
                (price, [(rows[place], n) for place, n in content if place in rows])
                for _, price, content in map(self._program.columns.__getitem__, chosen)
            ],
            start=list(start.values()),
            effort=EFFORT_OF_PROOF if provable else EFFORT,
            gap=max(self._program.step * 0.99, SAME * self._cost(rest)),
            go_on=go_on,
        )
        if provable:
            bound = min(found.bound, self._cost(rest)) * (1 - 1e-9)
            self._program.bound = max(self._program.bound, bound)
        times = [0] * len(self._program.columns)
        for number, often in zip(chosen, found.times, strict=True):
            times[number] = often
        remaining = list(left)
        patterns = self._take(times, remaining)
        return rest if any(remaining) else patterns

    def _least_wasteful(self, left: list[int], needed: set[int], most: float) -> list[int]:
        """Return the numbers of the columns in `needed`, then of those with the least waste.

        The waste of a column is its price minus the worth of its items. Columns that waste more
        than `most` are left out.
        """
        worth = self._program.worth
        wasted: dict[int, float] = {}
        for number, (_, price, content) in enumerate(self._program.columns):
            inside = [(place, min(n, left[place])) for place, n in content if left[place]]
            waste = price - sum(n * float(worth[place]) for place, n in inside)
            if number in needed or (inside and waste <= most):
                wasted[number] = waste
        return sorted(wasted, key=lambda number: (number not in needed, wasted[number]))

    # -- without a program -----------------------------------------------------------------------

    def _filled(self, numbers: Sequence[int]) -> Patterns:
        """Return a packing of so many of each item by `fill`, which fills one bin after another."""
        there = [place for place, number in enumerate(numbers) if number]
        items = tuple(self._items[place]._replace(number=numbers[place]) for place in there)
        if not items:
            return ()
        return tuple(
            pattern._replace(content=tuple((there[place], n) for place, n in pattern.content))
            for pattern in fill(Vectors(self._bins, items), _never)
        )


def _never() -> bool:
    return False
