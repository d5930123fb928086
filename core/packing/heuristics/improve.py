"""Make a packing cheaper for as long as there is time: empty some bins and pack their items again.

First, every content is moved to the cheapest bin that holds it. Then the following step is
repeated: some bins, more often those whose content is worth little for their price, are emptied;
their items are packed again in a randomly chosen way; and the better of the two packings is kept.
Of a pattern with many copies only some are taken. If all chosen patterns have many copies, the same
change is made to a multiple of them.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from rowtui.core.packing.heuristics.bins import BinFinder, Pattern, Patterns, Vectors, patterns_cost
from rowtui.core.packing.heuristics.fill import FillMethod, pack_pool, with_weightless
from rowtui.core.packing.heuristics.pool import Ground, ItemPool, ItemWorth
from rowtui.core.packing.model import GoOn

# Bins that are emptied together: enough to find other combinations, few enough to be quick.
FEWEST, MOST = 3, 24

# Largest number of items in these bins: a way takes about a millisecond for four items.
MOST_ITEMS = 150

# Each bin to empty is the most wasteful of this many bins drawn at random.
DRAWN = 4

# Of the copies that can be changed alike, all are changed, or half, or a smaller power of a half.
HALVINGS = (0, 0, 1, 3, 6)

# Largest random change of the items' worth, so that the same packing is not tried again.
NOISE = 0.05


class _Kept(NamedTuple):
    """A pattern without its times, and the share of its price that it wastes."""

    kind: int
    content: tuple[tuple[int, int], ...]
    waste: float


def improve(vectors: Vectors, patterns: Patterns, go_on: GoOn) -> Patterns:
    """Return the same items in cheaper bins, or the same patterns.

    The patterns are improved while `go_on` returns True.
    """
    ground = Ground(vectors)
    sized = [
        pattern._replace(
            content=tuple((at, number) for at, number in pattern.content if any(ground.sizes[at]))
        )
        for pattern in patterns
    ]
    finder = finder_of(ground)
    smaller = tuple(shrunk(pattern, ground, finder) for pattern in sized if pattern.content)
    if smaller and go_on():
        smaller = _Improver(ground, smaller).run(go_on)
    complete = with_weightless(smaller, vectors)
    return min(patterns, complete, key=lambda some: patterns_cost(some, vectors))


class _Improver:
    """A packing that changes: a list of different patterns, and the number of copies of each."""

    def __init__(self, ground: Ground, patterns: Patterns) -> None:
        self.ground = ground
        self.random = Random(1)
        numbers: dict[int, int] = {}
        for pattern in patterns:
            for at, number in pattern.content:
                numbers[at] = numbers.get(at, 0) + number * pattern.times
        self.worth = ground.worth(list(numbers), list(numbers.values()))
        self.values: list[float] = self.worth.values.tolist()
        self.finder = finder_of(ground)
        self.kept: list[_Kept] = []
        self.times: list[int] = []
        self.place: dict[tuple[int, tuple[tuple[int, int], ...]], int] = {}
        for pattern in patterns:
            self._add(pattern)

    def run(self, go_on: GoOn) -> Patterns:
        """Improve the packing until `go_on` returns False, and return it."""
        while go_on():
            self._once()
        return tuple(
            Pattern(kept.kind, kept.content, times)
            for kept, times in zip(self.kept, self.times, strict=True)
        )

    def _once(self) -> None:
        """Empty some bins and pack their items again; keep the result if it costs no more."""
        ruined, multiple = self._choose()
        bins = self.ground.vectors.bins
        price = sum(bins[pattern.bin].price * pattern.times for pattern in ruined)
        numbers: dict[int, int] = {}
        for pattern in ruined:
            for at, number in pattern.content:
                numbers[at] = numbers.get(at, 0) + number * pattern.times
        better = self._repack(numbers)
        if sum(bins[pattern.bin].price * pattern.times for pattern in better) <= price:
            for pattern in ruined:
                self._remove(pattern, multiple)
            for pattern in better:
                self._add(pattern._replace(times=pattern.times * multiple))

    def _choose(self) -> tuple[list[Pattern], int]:
        """Choose some copies of some patterns, and how often the same change can be made."""
        random, kept, times = self.random, self.kept, self.times
        wanted = random.randint(FEWEST, MOST)
        chosen: dict[int, int] = {}
        items = 0
        for _ in range(wanted):
            at = max(random.choices(range(len(kept)), k=DRAWN), key=lambda at: kept[at].waste)
            if chosen.get(at, 0) < times[at]:
                chosen[at] = chosen.get(at, 0) + 1
                items += sum(number for _, number in kept[at].content)
                if items > MOST_ITEMS:
                    break
        most = min(times[at] // copies for at, copies in chosen.items())
        multiple = max(1, most >> random.choice(HALVINGS))
        return [
            Pattern(kept[at].kind, kept[at].content, copies) for at, copies in chosen.items()
        ], multiple

    def _repack(self, numbers: dict[int, int]) -> list[Pattern]:
        random = self.random
        items = sorted(numbers)
        values = self.worth.values.copy()
        for at in items:
            values[at] *= 1 + NOISE * random.random()
        worth = ItemWorth(self.worth.duals, values)
        way = FillMethod(
            random.choice(("value", "dominant", "shuffled")), random.choice((2, 4, 8)), 1
        )
        pool = ItemPool(self.ground, worth, items, [numbers[at] for at in items])
        packed = pack_pool(pool, way, None, random)
        return [shrunk(pattern, self.ground, self.finder) for pattern in packed]

    def _add(self, pattern: Pattern) -> None:
        content = tuple(sorted(pattern.content))
        at = self.place.setdefault((pattern.bin, content), len(self.kept))
        if at < len(self.kept):
            self.times[at] += pattern.times
            return
        price = self.ground.vectors.bins[pattern.bin].price
        value = sum(self.values[item] * number for item, number in content)
        self.kept.append(_Kept(pattern.bin, content, 1 - value / price if price > 0 else 0.0))
        self.times.append(pattern.times)

    def _remove(self, pattern: Pattern, multiple: int) -> None:
        at = self.place[pattern.bin, pattern.content]
        self.times[at] -= pattern.times * multiple
        if not self.times[at]:
            del self.place[pattern.bin, pattern.content]
            last, times = self.kept.pop(), self.times.pop()
            if at < len(self.kept):
                self.kept[at], self.times[at] = last, times
                self.place[last.kind, last.content] = at


# -- smaller bins that suffice ---------------------------------------------------------------------


def finder_of(ground: Ground) -> BinFinder:
    """Return a finder of the cheapest bin among the bins worth considering."""
    return BinFinder(ground.vectors.bins, ground.kinds)


def shrunk(pattern: Pattern, ground: Ground, finder: BinFinder) -> Pattern:
    """Return the same content in the cheapest bin that holds it."""
    load = [0] * len(ground.vectors.bins[pattern.bin].size)
    for at, number in pattern.content:
        if ground.own[at] is not None:
            return pattern
        load = [there + number * part for there, part in zip(load, ground.sizes[at], strict=True)]
    kind = finder.cheapest(tuple(load))
    bins = ground.vectors.bins
    if kind is None or bins[kind].price >= bins[pattern.bin].price:
        return pattern
    return pattern._replace(bin=kind)
