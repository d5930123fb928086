"""Find the contents of bins that matter, the worth of each item, and a lower bound of the cost.

This is the linear program of column generation: contents are columns, and each is used a fractional
number of times. The duals of the program are the worth of the items. A knapsack of each bin looks
for contents that are worth more than they cost, until there are none. Item values that are lowered
until no bin can hold more than it costs give a valid bound at any time. The knapsacks therefore use
values near the best such values and not the last duals, which change abruptly. Source: Gilmore and
Gomory; Farley's bound; Wentges' smoothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rowtui.core.packing.heuristics.bins import (
    BinFinder,
    Vectors,
    price_step,
    stepped_up,
    worthwhile,
)
from rowtui.core.packing.model import GoOn
from rowtui.core.packing.optimal.contents import (
    BETTER,
    COARSE_CELLS,
    FINE_CELLS,
    Content,
    ContentSearch,
    list_contents,
)
from rowtui.core.packing.optimal.knapsack import KnapsackContent
from rowtui.core.packing.optimal.prices import best_prices
from rowtui.core.packing.optimal.solver import Cover

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

# Relative distances to the bound at which the program is done: later rounds accept larger ones.
CLOSE_ENOUGH = ((50, 1e-3), (20, 4e-4), (0, 1e-7))

# The smoothed values are used while they raise the bound by this relative amount.
PROGRESS = 1e-5

# Columns are searched with a mean of the best values so far, with this weight, and the last duals.
OLD_PART = 0.6

# Rows of the program are scaled to about this size, for any number of items.
SCALE = 10_000.0

# Up to this many items, all contents become columns if there are not too many contents.
FEW_ITEMS = 60
MOST_CONTENTS = 60_000


class BinContent(NamedTuple):
    """A content in the cheapest bin that holds it."""

    bin: int
    price: float
    content: Content


class Fractional:
    """The columns found so far, and the program over them. Every item is there at least once.

    `bound`: no packing costs less. `worth`: the item values that the bound comes from. `duals` and
    `times`: of the last program solved. `complete`: no other columns are possible.
    """

    def __init__(self, vectors: Vectors) -> None:
        """Start without any columns."""
        self.vectors = vectors
        self.columns: list[BinContent] = []
        self.places: dict[Content, int] = {}
        self.bound = 0.0
        self.worth: Numbers = np.zeros(len(vectors.items))
        self.duals: Numbers = self.worth
        self.times: list[float] = []
        self.complete = False
        # The step between possible costs; 0 if costs have no common step.
        self.step = price_step(kind.price for kind in vectors.bins)
        self._finder = BinFinder(vectors.bins, worthwhile(vectors))
        self._numbers = np.array([float(item.number) for item in vectors.items])
        self._scale = max(1.0, float(self._numbers.max()) / SCALE)
        self._cover = Cover((self._numbers / self._scale).tolist())
        self._cost = 0.0
        self._contents = ContentSearch(vectors)
        self._round = 0

    @property
    def least(self) -> float:
        """The bound, rounded up to a possible cost."""
        return stepped_up(self.bound, self.step)

    def add(self, content: Content) -> int:
        """Return the number of the column with this content; a new content is added."""
        place = self.places.get(content)
        if place is None:
            home = self.home(content)
            price = self.vectors.bins[home].price
            place = self.places[content] = len(self.columns)
            self.columns.append(BinContent(home, price, content))
            self._cover.add(price, content)
        return place

    def home(self, content: Content) -> int:
        """Return the cheapest bin that holds a content."""
        load = [0] * len(self.vectors.bins[0].size)
        own = None
        for place, there in content:
            item = self.vectors.items[place]
            own = item.bin if item.bin is not None else own
            load = [used + there * part for used, part in zip(load, item.size, strict=True)]
        home = self._finder.cheapest(tuple(load), own)
        assert home is not None, "a content that no bin holds"
        return home

    def solve(self, go_on: GoOn) -> bool:
        """Add columns until the fractional cost no longer decreases.

        Each item has to be in a column already. The result is False if no program was solved.
        """
        self._begin_with_prices_of_resources()
        self._add_all_of_few(go_on)
        while self._solve_program(go_on):
            if self.complete:
                self._raise_bound(
                    self.duals, ((c.bin, c.price, self._value(c.content)) for c in self.columns)
                )
                break
            if self._is_near() or not go_on():
                break
            if not self._add_columns(go_on):
                break
        return bool(self.times)

    def _begin_with_prices_of_resources(self) -> None:
        items = self.vectors.items
        prices = best_prices(
            self.vectors.bins,
            [item.size for item in items],
            [item.number for item in items],
            [item.bin for item in items],
        )
        self.worth = np.array(prices.values)
        self.bound = max(0.0, prices.bound * (1 - 1e-9))

    def _add_all_of_few(self, go_on: GoOn) -> None:
        if self._numbers.sum() > FEW_ITEMS:
            return
        contents = list_contents(self.vectors, go_on, MOST_CONTENTS)
        for content in contents or ():
            self.add(content)
        self.complete = contents is not None

    def _solve_program(self, go_on: GoOn) -> bool:
        solved = self._cover.solve(go_on)
        if solved is None:
            return False
        self.duals = np.maximum(0.0, np.array(solved.duals))
        self.times = [times * self._scale for times in solved.times]
        self._cost = solved.cost * self._scale
        return True

    def _is_near(self) -> bool:
        near = next(part for first, part in CLOSE_ENOUGH if self._round >= first)
        return self._cost <= self.bound * (1 + near)

    def _value(self, content: Content) -> float:
        return sum(there * float(self.duals[place]) for place, there in content)

    def _add_columns(self, go_on: GoOn) -> bool:
        """Add columns that make the program cheaper; return False if there are none, or no time."""
        self._round += 1
        part = OLD_PART
        while True:
            values = part * self.worth + (1 - part) * self.duals
            if self._search(values, COARSE_CELLS, go_on):
                return True
            if self._search(values, FINE_CELLS, go_on):
                return True
            before = self.bound
            if self._search_surely(values, go_on):
                return True
            if not go_on() or part == 0:
                return False
            if self._is_near():
                return False
            # No column is missing at these values: they are now the best values, or the duals are
            # better.
            part = part if self.bound > before * (1 + PROGRESS) else 0.0

    def _search(self, values: Numbers, cells: int, go_on: GoOn) -> bool:
        """Add the most valuable contents for each bin and each item; return whether any helps."""
        helped = False
        for price, filled in self._contents.most_valuable(values, cells, self._round, go_on):
            helped |= self._add_if_better(filled, price)
        return helped

    def _search_surely(self, values: Numbers, go_on: GoOn) -> bool:
        """Search each bin without overlooking a content, and raise the bound with the result."""
        helped = False
        ceilings: list[tuple[int, float, float]] = []
        for at in self._contents.useful:
            if not go_on():
                return helped
            price = self.vectors.bins[at].price
            filled = self._contents.alone(at).surely(values, price * (1 + BETTER), go_on)
            helped |= self._add_if_better(filled, price)
            ceilings.append((at, price, filled.most))
        self._raise_bound(values, ceilings)
        return helped

    def _add_if_better(self, filled: KnapsackContent, price: float) -> bool:
        if self._value(filled.content) <= price * (1 + BETTER):
            return False
        before = len(self.columns)
        return self.add(filled.content) == before

    def _raise_bound(self, values: Numbers, ceilings: Iterable[tuple[int, float, float]]) -> None:
        """Lower the values until no bin can hold more than it costs; their sum is then a bound.

        `ceilings`: for each bin its price and an upper bound of the worth of its contents. Only the
        values of items that fit in such a bin are lowered.
        """
        parts = np.ones(len(values))
        for at, price, most in ceilings:
            if most > price:
                inside = self._contents.alone(at).items
                parts[inside] = np.minimum(parts[inside], price / most)
        bound = float((parts * values) @ self._numbers) * (1 - 1e-9)
        if bound > self.bound:
            self.bound = bound
            self.worth = parts * values
