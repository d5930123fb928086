"""Packing of few classes of any size, by column generation, with the bound that belongs to it.

`fractional.py` says how often each content would be used if bins could be cut. Whole bins are
taken of that, and the rest, some items of each class, is packed with the same contents as an
integer program. Time depends on the classes, not on how many items there are.
Source: Gilmore and Gomory; fastr_packing B2.3 (column generation).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rowtui.core.errors import RowtuiError
from rowtui.core.packing import solver
from rowtui.core.packing.model import GoOn
from rowtui.core.packing.solver import Effort, cover_whole
from rowtui.core.packing.vectors import Pattern, Patterns, Vectors, patterns_cost

if TYPE_CHECKING:
    from rowtui.core.packing.fractional import Content, Fractional

# Costs that differ by less than this part of themselves are the same.
SAME = 1e-6

# So near to the bound, the rest of a packing is not worth an integer program.
GOOD = 2e-4

# So many bins or fewer are chosen anew altogether.
FEW_BINS = 200

# The integer program of the rest: its columns, and what HiGHS may do (some seconds).
MOST_COLUMNS = 2_000
EFFORT = Effort(nodes=300, asks=100)


@dataclass(frozen=True, slots=True)
class Generated:
    """A packing, what every packing costs at least, and whether this one is the best."""

    patterns: Patterns
    bound: float
    proven: bool


def available() -> bool:
    """Whether the solver that this needs is installed (the extra `exact`)."""
    return solver.available()


def generate(vectors: Vectors, go_on: GoOn) -> Generated:
    """A packing of all items, and the bound. Best for up to about 150 different items.

    Raises:
        RowtuiError: HiGHS is not installed.
    """
    if not available():
        raise RowtuiError(
            "column generation needs HiGHS, which is not installed here",
            "pip install 'rowtui[exact]', or choose another packer",
        )
    there = [number for number, item in enumerate(vectors.items) if item.number > 0]
    if not there:
        return Generated((), 0.0, proven=True)
    items = tuple(vectors.items[number] for number in there)
    packed = _Whole(Vectors(vectors.bins, items)).run(go_on)
    patterns = tuple(
        pattern._replace(content=tuple((there[place], n) for place, n in pattern.content))
        for pattern in packed.patterns
    )
    return Generated(patterns, packed.bound, packed.proven)


class _Whole:
    """Whole bins out of the fractional program."""

    def __init__(self, vectors: Vectors) -> None:
        from rowtui.core.packing.fractional import Fractional

        self._vectors = vectors
        self._items = vectors.items
        self._bins = vectors.bins
        self._program: Fractional = Fractional(vectors)

    def run(self, go_on: GoOn) -> Generated:
        numbers = [item.number for item in self._items]
        patterns = self._greedy(numbers, self._rough_worth())
        for pattern in patterns:
            self._program.add(pattern.content)
        if go_on() and self._program.solve(go_on):
            patterns = self._solve_whole(patterns, go_on)
        cost = self._cost(patterns)
        bound = min(self._program.least, cost)
        return Generated(patterns, bound, proven=cost - bound <= SAME * cost)

    # -- whole bins ------------------------------------------------------------------------------

    def _solve_whole(self, first: Patterns, go_on: GoOn) -> Patterns:
        """The best packing that whole numbers of columns, and what fills the rest, give."""
        worth = [max(1e-12, float(dual)) for dual in self._program.duals]
        times = [int(each + 1e-6) for each in self._program.times]
        best = min(first, self._rounded(times, worth), key=self._cost)
        everything = [item.number for item in self._items]
        if not go_on() or self._is_within(SAME, best):
            return best
        if sum(times) <= FEW_BINS:
            return min(best, self._by_program(everything, best, go_on), key=self._cost)
        if self._is_within(GOOD, best):
            return best
        # One of each column more for the program to choose again.
        left = everything
        whole = self._take([max(0, each - 1) for each in times], left)
        rest = self._by_program(left, self._greedy(left, worth), go_on)
        return min(best, whole + rest, key=self._cost)

    def _rounded(self, times: list[int], worth: list[float]) -> Patterns:
        left = [item.number for item in self._items]
        whole = self._take(times, left)
        return whole + self._greedy(left, worth)

    def _cost(self, patterns: Patterns) -> float:
        return patterns_cost(patterns, self._vectors)

    def _is_within(self, part: float, patterns: Patterns) -> bool:
        """Whether no packing is cheaper by more than that part."""
        cost = self._cost(patterns)
        return cost - self._program.least <= part * cost

    def _take(self, times: Sequence[int], left: list[int]) -> Patterns:
        """So many of each column as far as items are `left`, which they are taken from."""
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
        """The rest as an integer program over the columns that waste least; `rest` is a start."""
        for pattern in rest:
            self._program.add(pattern.content)
        rows = {place: row for row, place in enumerate(p for p, n in enumerate(left) if n)}
        chosen = self._least_wasteful(
            left, {self._program.places[pattern.content] for pattern in rest}
        )
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
            effort=EFFORT,
            gap=max(self._program.step * 0.99, SAME * self._cost(rest)),
            go_on=go_on,
        )
        everything = [item.number for item in self._items]
        if (
            self._program.complete
            and left == everything
            and len(chosen) == len(self._program.columns)
        ):
            self._program.bound = max(self._program.bound, found.bound * (1 - 1e-9))
        times = [0] * len(self._program.columns)
        for number, often in zip(chosen, found.times, strict=True):
            times[number] = often
        remaining = list(left)
        patterns = self._take(times, remaining)
        return rest if any(remaining) else patterns

    def _least_wasteful(self, left: list[int], needed: set[int]) -> list[int]:
        """The numbers of the columns that are worth nearly what they cost, and of those needed."""
        worth = self._program.worth

        def waste(number: int) -> tuple[bool, float]:
            _, price, content = self._program.columns[number]
            if worth is not None:
                price -= sum(min(n, left[place]) * float(worth[place]) for place, n in content)
            return number not in needed, price

        useful = [
            number
            for number, (_, _, content) in enumerate(self._program.columns)
            if any(left[place] for place, _ in content)
        ]
        return sorted(useful, key=waste)[:MOST_COLUMNS]

    # -- at once ---------------------------------------------------------------------------------

    def _rough_worth(self) -> list[float]:
        """What the largest share of a bin costs that an item takes, where that is least."""
        worth = []
        for item in self._items:
            lowest = math.inf
            for at in self._program.useful:
                kind = self._bins[at]
                if item.bin in {None, at} and all(map(int.__le__, item.size, kind.size)):
                    share = max(
                        (p / w for p, w in zip(item.size, kind.size, strict=True) if p), default=0.0
                    )
                    lowest = min(lowest, share * kind.price)
            worth.append(max(1e-12, lowest))
        return worth

    def _greedy(self, numbers: Sequence[int], worth: Sequence[float]) -> Patterns:
        """Bin after bin around the item that is worth most, each worth much for its price."""
        left = list(numbers)
        orders = {at: self._densest(at, worth) for at in self._program.useful}
        patterns: list[Pattern] = []
        for hardest in sorted(range(len(left)), key=lambda place: (-worth[place], place)):
            while left[hardest]:
                fills = (self._fill(at, hardest, left, orders[at]) for at in self._program.useful)
                content = max(
                    (fill for fill in fills if fill),
                    key=lambda fill: self._value_for_price(fill, worth),
                )
                times = min(left[place] // n for place, n in content)
                for place, n in content:
                    left[place] -= times * n
                patterns.append(Pattern(self._program.home(content), content, times))
        return tuple(patterns)

    def _densest(self, at: int, worth: Sequence[float]) -> list[int]:
        """The items that fit in a bin, those worth most for their shares of it first."""
        room = self._bins[at].size
        fitting = {}
        for place, item in enumerate(self._items):
            if item.bin in {None, at} and all(map(int.__le__, item.size, room)):
                share = sum(p / whole for p, whole in zip(item.size, room, strict=True) if p)
                fitting[place] = worth[place] / max(share, 1e-12)
        return sorted(fitting, key=lambda place: (-fitting[place], place))

    def _fill(self, at: int, first: int, left: list[int], order: list[int]) -> Content:
        """One of the first, and as many of each as fit in that order; empty if it does not fit."""
        if self._items[first].bin not in {None, at}:
            return ()
        free = list(self._bins[at].size)
        inside: dict[int, int] = {}
        for place in (first, *order):
            there = 1 if place == first and not inside else left[place] - inside.get(place, 0)
            size = self._items[place].size
            for room, part in zip(free, size, strict=True):
                if part:
                    there = min(there, room // part)
            if there > 0:
                inside[place] = inside.get(place, 0) + there
                free = [room - there * part for room, part in zip(free, size, strict=True)]
            elif not inside:
                return ()
        return tuple(sorted(inside.items()))

    def _value_for_price(self, content: Content, worth: Sequence[float]) -> float:
        price = self._bins[self._program.home(content)].price
        value = sum(there * worth[place] for place, there in content)
        return value / price if price > 0 else math.inf
