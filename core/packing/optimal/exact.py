"""Find and prove the best packing of few items, without a solver.

`prove` lists what may be in one bin together (contents, each with its cheapest bin) and keeps the
contents that no larger content matches at the same price. The items that remain to be packed form a
state. From each state the search takes the contents that hold its hardest item, cheapest total
first (A*). The lower bound of the remaining cost comes from item prices that no content exceeds:
the duals of the linear program over all contents, which is small enough here for a simplex tableau
in numpy. Source: P. C. Gilmore and R. E. Gomory's configuration program.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from typing import NamedTuple

from rowtui.core.packing.heuristics.bins import (
    BinFinder,
    Item,
    Pattern,
    Patterns,
    Size,
    Vectors,
    price_step,
    stepped_up,
    worthwhile,
)
from rowtui.core.packing.model import GoOn

# Problems with more items are tried only if the caller passes a larger limit.
MOST_ITEMS = 40

# Limits of about a second of CPU: the contents that are listed, and the steps between states.
# Twelve different items have at most 4,096 contents and 900,000 steps.
MOST_CONTENTS = 60_000
MOST_STEPS = 1_000_000

# Limits of about a tenth of a second: most problems of a dozen items need less.
CHEAP_CONTENTS = 5_000
CHEAP_STEPS = 100_000

# Number of contents or steps between two calls of `go_on`.
BETWEEN_QUESTIONS = 500

# The search looks for packings below these multiples of the bound first.
NEAR_THE_BOUND = (1.003, 1.01, 1.03)

# Relative difference below which two costs are equal.
SAME = 1e-9


class Content(NamedTuple):
    """A number of each item that fit together, with the price and number of the cheapest bin."""

    counts: tuple[int, ...]
    price: float
    bin: int


def prove(
    vectors: Vectors, go_on: GoOn, most_items: int = MOST_ITEMS, *, cheaply: bool = False
) -> Patterns | None:
    """Return the cheapest packing, or None if the problem is too large or `go_on` ends the search.

    Up to twelve items always succeed while `go_on` returns True, within about a second; more items
    succeed if many are the same or few fit together. `cheaply`: stop after about a tenth of a
    second.
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
    """List what can be in one bin together.

    A content is left out if one more item would cost no more. The result is None if there are more
    than `most` contents, or if `go_on` returns False. Every item has to be there at least once.
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
    contents = {}
    for code, counts, load, own in grown:
        at = finder.cheapest(load, own)
        if at is not None:
            contents[code] = Content(counts, bins[at].price, at)
    return contents


def _units(items: tuple[Item, ...]) -> list[int]:
    """Return the code of one of each item, which is a field of bits with a bit to spare."""
    width = max(item.number for item in items).bit_length() + 1
    return [1 << (place * width) for place in range(len(items))]


# -- the search ----------------------------------------------------------------------------------


# For each item, the hardest first: its field of bits in a code, and the contents that hold the
# item.
_Holding = list[tuple[int, list[tuple[int, Content]]]]


@dataclass(slots=True)
class _Step:
    """How a state was reached: the content that was taken in the state before."""

    cost: float
    before: int
    content: Content | None
    done: bool = False


class _Search:
    """The search from all items to none; each step fills one bin.

    A state is the code of the items that remain to be packed.
    """

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
        self._field = (1 << (self._width - 1)) - 1  # all bits of a field except the spare bit
        self._spare = sum(unit << (self._width - 1) for unit in self._units)
        self._start = self._code(tuple(item.number for item in items))
        from rowtui.core.packing.optimal.bound import item_prices

        self._worth = item_prices(contents, [item.number for item in items], go_on)
        self._rests: dict[int, float] = {}
        # The item in the fewest contents is the hardest one and is packed first.
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
        """Return the contents of the cheapest packing, or None without a proof.

        A content may hold more items than remain: `_patterns` removes the surplus.
        """
        known = self._dive()
        limit = sum(content.price for content in known) * (1 - SAME)
        if self._least(0.0, self._start) >= limit:
            return known
        # Few contents can be part of a packing near the bound, and the best packing is usually
        # there.
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
        """Return the cheapest packing below `limit`, and the number of steps so far.

        If the search exceeds the allowed steps or `go_on` returns False, the packing is None.
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
                walked += 3  # storing a state takes about three times as long as rejecting one
                steps[after] = _Step(cost, state, content)
                heapq.heappush(queue, (least, after.bit_count(), after))
        return None, walked

    def _dive(self) -> list[Content]:
        """Return a good packing quickly: always take the content that wastes least of its price."""
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
        """Return the contents that do not waste too much to be in a packing below the limit."""
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
        """Return the state after a content is packed.

        All fields are subtracted at once, and a field that becomes negative is set to zero.
        """
        left = (state | self._spare) - code
        fine = left & self._spare
        return left & (fine - (fine >> (self._width - 1)))

    def _rest(self, state: int) -> float:
        """Return the worth of all items of a state."""
        worth = self._rests.get(state)
        if worth is None:
            worth, left = 0.0, state
            for price in self._worth:
                worth += price * (left & self._field)
                left >>= self._width
            self._rests[state] = worth
        return worth

    def _least(self, cost: float, state: int) -> float:
        """Return a lower bound of the cost of the packings through this state."""
        # Most states have the same bound when it is rounded up to whole steps, so the deepest state
        # is next.
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


# -- the result ----------------------------------------------------------------------------------


def _patterns(way: list[Content], items: tuple[Item, ...], there: list[int]) -> Patterns:
    """Return the contents without surplus items, each in the bin that it was listed with."""
    left = [item.number for item in items]
    times: dict[tuple[int, tuple[tuple[int, int], ...]], int] = {}
    for content in way:
        taken = [min(wanted, have) for wanted, have in zip(content.counts, left, strict=True)]
        left = [have - took for have, took in zip(left, taken, strict=True)]
        inside = tuple((there[place], took) for place, took in enumerate(taken) if took)
        times[content.bin, inside] = times.get((content.bin, inside), 0) + 1
    return tuple(Pattern(at, inside, number) for (at, inside), number in times.items())
