"""The best packing of few items, proven without a solver.

`prove` lists what may be in one bin together (contents, each with its cheapest bin) and keeps those
that no larger content betters at the same price. Whatever is left to pack is a state; from each
state the search takes the contents that hold its hardest item, cheapest total first (A*). What the
rest will cost at least comes from item prices that no content exceeds: the duals of the linear
program over all contents, which is small enough here for a simplex tableau in numpy. Source: P. C.
Gilmore and R. E. Gomory's configuration program.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.packing.bins import BinFinder, price_step, stepped_up, worthwhile
from rowtui.core.packing.model import GoOn
from rowtui.core.packing.vectors import Item, Pattern, Patterns, Size, Vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

# More items than this are only tried if somebody asks for it.
MOST_ITEMS = 40

# What fits into about a second of CPU: contents that are listed, and steps from state to state.
# Twelve different items have at most 4,096 contents and 900,000 steps.
MOST_CONTENTS = 60_000
MOST_STEPS = 1_000_000

# What fits into about a tenth of a second: most problems of a dozen items need less.
CHEAP_CONTENTS = 5_000
CHEAP_STEPS = 100_000

# After so many contents or steps it is asked whether there is time left.
BETWEEN_QUESTIONS = 500

# The search looks for packings below these multiples of the bound first.
NEAR_THE_BOUND = (1.003, 1.01, 1.03)

# Costs that differ by less than this part of themselves are the same.
SAME = 1e-9


class Content(NamedTuple):
    """So many of each item, for the price of the cheapest bin that holds them."""

    counts: tuple[int, ...]
    price: float
    bin: int


def prove(
    vectors: Vectors, go_on: GoOn, most_items: int = MOST_ITEMS, *, cheaply: bool = False
) -> Patterns | None:
    """The cheapest packing there is, or None: too many items or contents, or no time.

    Up to twelve items always succeed if `go_on` lets them, within about a second; more if many
    are the same or few fit together. `cheaply`: about a tenth of a second has to do.
    """
    most_contents = CHEAP_CONTENTS if cheaply else MOST_CONTENTS
    most_steps = CHEAP_STEPS if cheaply else MOST_STEPS
    there = [number for number, item in enumerate(vectors.items) if item.number > 0]
    if sum(vectors.items[number].number for number in there) > most_items:
        return None
    items = tuple(vectors.items[number] for number in there)
    if not items:
        return ()
    contents = list_contents(Vectors(vectors.bins, items), go_on, most_contents)
    if contents is None:
        return None
    step = price_step(kind.price for kind in vectors.bins)
    steps = _Search(items, contents, step, most_steps, go_on).run(go_on)
    if steps is None:
        return None
    return _patterns(steps, items, there)


# -- contents ------------------------------------------------------------------------------------


def list_contents(vectors: Vectors, go_on: GoOn, most: int = MOST_CONTENTS) -> list[Content] | None:
    """What can be in one bin together, without what more of it would cost no more than.

    None if there is too much of it, or `go_on` says no. Every item has to be there at least once.
    """
    finder = BinFinder(vectors.bins, worthwhile(vectors))
    found = _all_contents(vectors, finder, go_on, most)
    if found is None:
        return None
    units = _units(vectors.items)
    kept: list[Content] = []
    for code, content in found.items():
        for item, unit, there in zip(vectors.items, units, content.counts, strict=True):
            if there < item.number:
                larger = found.get(code + unit)
                if larger is not None and larger.price <= content.price:
                    break
        else:
            if code:
                kept.append(content)
    return kept


def _all_contents(
    vectors: Vectors, finder: BinFinder, go_on: GoOn, most: int
) -> dict[int, Content] | None:
    bins = vectors.bins
    nothing = tuple(0 for _ in bins[0].size) if bins else ()
    # By code: how many of each item so far, what they take, the bin they are bound to.
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
    contents = {}
    for code, counts, load, own in grown:
        at = finder.cheapest(load, own)
        if at is not None:
            contents[code] = Content(counts, bins[at].price, at)
    return contents


def _units(items: tuple[Item, ...]) -> list[int]:
    """What one of each item adds to a code: a field of bits for each, with a bit to spare."""
    width = max(item.number for item in items).bit_length() + 1
    return [1 << (place * width) for place in range(len(items))]


# -- the search ----------------------------------------------------------------------------------


# For each item, the hardest first: where it is in a code, and the contents that hold it.
_Holding = list[tuple[int, list[tuple[int, Content]]]]


@dataclass(slots=True)
class _Step:
    """How a state was reached: the content that was taken in the state before."""

    cost: float
    before: int
    content: Content | None
    done: bool = False


class _Search:
    """From all items to none, each step one bin. A state is a code of what is left to pack."""

    def __init__(
        self,
        items: tuple[Item, ...],
        contents: list[Content],
        step: float,
        most_steps: int,
        go_on: GoOn,
    ) -> None:
        self._step = step
        self._most_steps = most_steps
        self._units = _units(items)
        self._width = self._units[1].bit_length() - 1 if len(items) > 1 else 0
        self._width = self._width or items[0].number.bit_length() + 1
        self._field = (1 << (self._width - 1)) - 1  # without the bit to spare
        self._spare = sum(unit << (self._width - 1) for unit in self._units)
        self._start = self._code(tuple(item.number for item in items))
        self._worth = item_prices(contents, [item.number for item in items], go_on)
        self._rests: dict[int, float] = {}
        # The item in the fewest contents is the hardest: it is packed first.
        holding = [
            [content for content in contents if content.counts[place]]
            for place in range(len(items))
        ]
        hardest = sorted(range(len(items)), key=lambda place: (len(holding[place]), place))
        self._holding: _Holding = [
            (
                self._field << (place * self._width),
                [(self._code(content.counts), content) for content in holding[place]],
            )
            for place in hardest
        ]

    def run(self, go_on: GoOn) -> list[Content] | None:
        """The contents of the cheapest packing, clamped to nothing yet; None without a proof."""
        known = self._dive()
        limit = sum(content.price for content in known) * (1 - SAME)
        if self._least(0.0, self._start) >= limit:
            return known
        # Near the bound few contents are worth a look, and most often that is where the best is.
        walked = 0
        for near in (*NEAR_THE_BOUND, math.inf):
            below = min(limit, self._rest(self._start) * near)
            found, walked = self._below(below, walked, go_on)
            if found is not None or walked > self._most_steps:
                return found
            if below == limit:
                return known
        return None

    def _below(self, limit: float, walked: int, go_on: GoOn) -> tuple[list[Content] | None, int]:
        """The cheapest packing if it costs less than `limit`, and the steps that it all took.

        With more steps than allowed, or without time, there is no answer.
        """
        holding = self._worth_a_look(limit)
        steps = {self._start: _Step(0.0, 0, None)}
        queue = [(self._least(0.0, self._start), self._start.bit_count(), self._start)]
        while queue:
            _, _, state = heapq.heappop(queue)
            here = steps[state]
            if not state:
                return self._way(steps), walked
            if here.done:
                continue
            here.done = True
            if walked > self._most_steps or not go_on():
                return None, self._most_steps + 1
            possible = next(contents for field, contents in holding if state & field)
            walked += len(possible)
            for code, content in possible:
                after = self._after(state, code)
                cost = here.cost + content.price
                there = steps.get(after)
                if there is not None and cost >= there.cost:
                    continue
                least = self._least(cost, after)
                if least >= limit:
                    continue
                walked += 3  # that takes more time than to see that it leads nowhere
                steps[after] = _Step(cost, state, content)
                heapq.heappush(queue, (least, after.bit_count(), after))
        return None, walked

    def _dive(self) -> list[Content]:
        """A good packing at once: always the content that wastes least of its price."""
        way: list[Content] = []
        state = self._start
        while state:
            possible = next(contents for field, contents in self._holding if state & field)
            _, _, _, state, content = min(
                (content.price + self._rest(after), after.bit_count(), at, after, content)
                for at, (after, content) in enumerate(
                    (self._after(state, code), content) for code, content in possible
                )
            )
            way.append(content)
        return way

    def _worth_a_look(self, limit: float) -> _Holding:
        """Without contents that are in no packing below the limit: they waste too much."""
        least = self._rest(self._start)
        return [
            (
                field,
                [
                    (code, content)
                    for code, content in contents
                    if (least + content.price - self._rest(code)) * (1 - SAME) < limit
                ],
            )
            for field, contents in self._holding
        ]

    def _after(self, state: int, code: int) -> int:
        """What is left without a content; all fields at once, one that gets negative is zero."""
        left = (state | self._spare) - code
        fine = left & self._spare
        return left & (fine - (fine >> (self._width - 1)))

    def _rest(self, state: int) -> float:
        """What all that is in a state is worth."""
        worth = self._rests.get(state)
        if worth is None:
            worth, left = 0.0, state
            for price in self._worth:
                worth += price * (left & self._field)
                left >>= self._width
            self._rests[state] = worth
        return worth

    def _least(self, cost: float, state: int) -> float:
        """What a packing through this state costs at least."""
        # Rounded up to whole steps, most states of one cost are equal, and the deepest is next.
        return stepped_up((cost + self._rest(state)) * (1 - SAME), self._step)

    def _way(self, steps: dict[int, _Step]) -> list[Content]:
        way: list[Content] = []
        here = steps[0]
        while here.content is not None:
            way.append(here.content)
            here = steps[here.before]
        return way

    def _code(self, counts: tuple[int, ...]) -> int:
        return sum(unit * there for unit, there in zip(self._units, counts, strict=True))


def item_prices(contents: list[Content], numbers: list[int], go_on: GoOn) -> list[float]:
    """What each item is worth, so that no content is worth more than it costs.

    So many items (`numbers`) times their prices is then a bound; these make it nearly the best.
    Every item is in some content. Without time the prices are lower, and the bound with them.
    """
    import numpy as np

    counts = np.array([content.counts for content in contents], np.float64)
    costs = np.array([content.price for content in contents], np.float64)
    worth = np.maximum(0, _simplex(counts, costs, np.array(numbers, np.float64), go_on))
    # Whatever the tableau's rounding did: prices that no content exceeds are a bound.
    values = counts @ worth
    exceeding = values > costs
    if exceeding.any():
        worth *= float((costs[exceeding] / values[exceeding]).min())
    return [float(price) for price in worth]


def _simplex(counts: Numbers, costs: Numbers, numbers: Numbers, go_on: GoOn) -> Numbers:
    """Maximises numbers * x where counts * x <= costs and x >= 0. Zero is where it starts.

    Each step is such an x, so the search may end at any of them.
    """
    import numpy as np

    rows, columns = counts.shape
    table = np.zeros((rows + 1, columns + 1))
    table[:rows, :columns] = counts
    # Equal prices make ties, ties make circles: each price is a little different.
    table[:rows, columns] = costs + (costs.max() or 1.0) * 1e-9 * np.arange(1, rows + 1) / rows
    table[rows, :columns] = -numbers
    basic = list(range(columns, columns + rows))
    free = list(range(columns))
    for _ in range(50 * columns):
        enters = int(table[rows, :columns].argmin())
        if table[rows, enters] > -1e-9 or not go_on():
            break
        column = table[:rows, enters]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(column > 1e-9, table[:rows, columns] / column, np.inf)
        leaves = int(ratios.argmin())
        if not np.isfinite(ratios[leaves]):
            break
        pivot = table[leaves, enters]
        row = table[leaves] / pivot
        column = table[:, enters] / pivot
        table -= np.outer(table[:, enters], row)
        table[leaves] = row
        table[:, enters] = -column
        table[leaves, enters] = 1 / pivot
        basic[leaves], free[enters] = free[enters], basic[leaves]
    worth = np.zeros(columns)
    for row_number, name in enumerate(basic):
        if name < columns:
            worth[name] = table[row_number, columns]
    return worth


# -- the result ----------------------------------------------------------------------------------


def _patterns(way: list[Content], items: tuple[Item, ...], there: list[int]) -> Patterns:
    """The contents without what is there twice, each in the bin it was listed with."""
    left = [item.number for item in items]
    times: dict[tuple[int, tuple[tuple[int, int], ...]], int] = {}
    for content in way:
        taken = [min(wanted, have) for wanted, have in zip(content.counts, left, strict=True)]
        left = [have - took for have, took in zip(left, taken, strict=True)]
        inside = tuple((there[place], took) for place, took in enumerate(taken) if took)
        times[content.bin, inside] = times.get((content.bin, inside), 0) + 1
    return tuple(Pattern(at, inside, number) for (at, inside), number in times.items())
