"""Fill one bin after another, as well as possible, and start with the items that are hard to place.

Several kinds of bins are filled for the hardest item that remains, and the bin whose content is
worth most for its price is kept. The worth follows from the prices that the assignment LP gives to
resources. The next item of a bin is chosen by looking two items ahead, and a content is repeated
while its items last. Prices are computed again as the pool empties. If there are many classes, only
a window of them is considered, and the items of the window that are hard to place go on to the next
window.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import NamedTuple

from rowtui.core.packing.heuristics.bins import Pattern, Patterns, Vectors, patterns_cost
from rowtui.core.packing.heuristics.pool import Ground, ItemPool
from rowtui.core.packing.model import GoOn

# Number of classes in a window; with more classes the sets are slower and the result is no better.
WINDOW = 6_000

# Share of its worth that a window leaves for the next window.
CARRIED = 0.2

# A bin whose content is worth this share of its price is not compared with other bins.
GOOD_ENOUGH = 0.999

# The best of at most this many kinds of bins is found by looking ahead.
MOST_COMPARED = 4

# The look ahead starts when the room is worth less than this many of the next item.
NEAR = 8

# Number of bins between two calls of `go_on`.
BINS_BETWEEN_QUESTIONS = 32

# Up to this many classes, the first way takes a second at most, and is never hurried.
QUICK = 1_500

# Up to this many classes, a further way takes a second or two.
NOT_MANY = 3_000

# With so few classes, prices change little when some items are packed.
SETTLED = 100

# Up to this many classes, a hurried first way still looks ahead, a little less far: some seconds.
UNHURRIED = 25_000


class FillMethod(NamedTuple):
    """How to pack: the order of first items, the depth of the search, the number of parts.

    `order`: "value", "dominant" (share of the largest bin) or "shuffled"; `width`: the number of
    items that are tried for a place in a bin by looking ahead, 0 to take only the item that is
    worth most; `parts`: how often prices are computed; `hurried`: the width after `go_on` returned
    False, -1 to abandon the way then.
    """

    order: str
    width: int
    parts: int
    seed: int = 1
    hurried: int = 0


FIRST = FillMethod("value", 8, 4)
LARGE = FillMethod("value", 4, 4)

# Ways tried after the first one, each with the largest number of classes for which it is tried.
OTHERS = (
    (12_000, FillMethod("shuffled", 8, 4)),
    (12_000, FillMethod("dominant", 8, 4)),
    (NOT_MANY, FillMethod("value", 16, 1)),
    (NOT_MANY, FillMethod("value", 24, 4)),
    (NOT_MANY, FillMethod("shuffled", 8, 4, 2)),
    (NOT_MANY, FillMethod("shuffled", 16, 2, 3)),
)
FEW = 50_000  # more classes than this number take the way for large problems

Content = dict[int, int]


class _TooLateError(Exception):
    """There is no time to complete this way."""


class _Sight(NamedTuple):
    """What a look ahead depends on: the worth of the room, the width, and the bin's content."""

    worth: float
    width: int
    content: Content


def fill(vectors: Vectors, go_on: GoOn) -> Patterns:
    """Pack all items in bins, and return the best of several ways.

    If `go_on` returns False, only the first, quicker way is used.
    """
    numbers = {
        at: item.number for at, item in enumerate(vectors.items) if item.number and any(item.size)
    }
    best: Patterns = ()
    if numbers:
        ground = Ground(vectors)
        best = pack(ground, numbers, *_first_way(len(numbers), go_on))
        for most_classes, way in OTHERS:
            if len(numbers) > most_classes or not go_on():
                break
            try:
                other = pack(ground, numbers, way._replace(hurried=-1), go_on)
            except _TooLateError:
                break
            best = min(best, other, key=lambda patterns: patterns_cost(patterns, vectors))
    return with_weightless(best, vectors)


def fill_once(vectors: Vectors, go_on: GoOn) -> Patterns:
    """Pack all items in bins in one way, for parts of a problem; hurry when `go_on` returns False.

    Prices are computed once if classes are few or `go_on` returns False, since computing them takes
    time.
    """
    numbers = {
        at: item.number for at, item in enumerate(vectors.items) if item.number and any(item.size)
    }
    parts = 1 if len(numbers) <= SETTLED or not go_on() else FIRST.parts
    made = pack(Ground(vectors), numbers, FIRST._replace(parts=parts), go_on) if numbers else ()
    return with_weightless(made, vectors)


def _first_way(classes: int, go_on: GoOn) -> tuple[FillMethod, GoOn]:
    """Return the way that is always completed, and the `go_on` that decides whether to hurry."""
    if classes <= QUICK:
        return FIRST, _always
    if classes <= UNHURRIED:
        return FIRST._replace(hurried=LARGE.width), go_on
    return (FIRST if classes <= FEW else LARGE), go_on


def _always() -> bool:
    return True


def pack(ground: Ground, numbers: dict[int, int], way: FillMethod, go_on: GoOn) -> Patterns:
    """Pack so many of these items (by number, each of some size) in bins, in one way."""
    random = Random(way.seed)
    waiting = list(numbers)
    if len(waiting) > WINDOW:
        random.shuffle(waiting)
    made: list[Pattern] = []
    left: dict[int, int] = {}
    parts = way.parts
    while waiting or left:
        new = max(0, WINDOW - len(left))
        left.update((at, numbers[at]) for at in waiting[:new])
        waiting = waiting[new:]
        items, counts = list(left), list(left.values())
        worth = ground.worth(items, counts)
        keep = CARRIED if waiting else (parts - 1) / parts
        total = sum(float(worth.values[at]) * number for at, number in left.items())
        pool = ItemPool(ground, worth, items, counts)
        made += pack_pool(pool, way, total * (1 - keep) if keep else None, random, go_on)
        left = pool.remaining()
        if not waiting:
            parts = max(1, parts - 1)
    return tuple(made)


def pack_pool(
    pool: ItemPool, way: FillMethod, until: float | None, random: Random, go_on: GoOn = _always
) -> list[Pattern]:
    """Fill bins with the items of the pool: all of them, or until the worth `until` is packed.

    When `go_on` returns False, the look ahead uses the width `way.hurried`.
    """
    made: list[Pattern] = []
    packed = 0.0
    left, width = pool.left, way.width
    for first in in_order(pool, way.order, random):
        while left[first]:
            if width > way.hurried and len(made) % BINS_BETWEEN_QUESTIONS == 0 and not go_on():
                width = way.hurried
                if width < 0:
                    raise _TooLateError
            kind, content, value = _best_bin(pool, first, width)
            times = min(left[bit] // number for bit, number in content.items())
            pool.take(content, times)
            inside = tuple((pool.items[bit], number) for bit, number in content.items())
            made.append(Pattern(pool.ground.kinds[kind], inside, times))
            packed += value * times
            if until is not None and packed >= until:
                return made
    return made


def in_order(pool: ItemPool, order: str, random: Random) -> Iterable[int]:
    """Return the classes of the pool in the order in which they start new bins."""
    bits = list(range(len(pool.items)))
    if order == "shuffled":
        random.shuffle(bits)
        return bits
    if order == "dominant":
        largest = pool.ground.room.max(axis=0).clip(1)
        shares = (pool.ground.loads[pool.items] / largest).max(axis=1).tolist()
        bits.sort(key=lambda bit: -shares[bit])
        return bits
    return reversed(bits)


def _best_bin(pool: ItemPool, first: int, width: int) -> tuple[int, Content, float]:
    kinds = list(zip(pool.kinds[first], pool.promise[first], strict=True))
    if width and len(kinds) > MOST_COMPARED:
        # A quick look at all kinds chooses the kinds that are filled carefully.
        quick = _scored(pool, first, kinds, 0)
        quick.sort(key=lambda one: -one[0])
        chosen = {kind for _, kind, _, _ in quick[:MOST_COMPARED]}
        kinds = [one for one in kinds if one[0] in chosen]
    found = _scored(pool, first, kinds, width) if kinds else ()
    return max(found, key=lambda one: one[0])[1:] if found else _alone(pool, first)


def _scored(
    pool: ItemPool, first: int, kinds: Sequence[tuple[int, float]], width: int
) -> list[tuple[float, int, Content, float]]:
    """Fill bins of these kinds, and return the score, kind, content and worth of each.

    The score is the worth divided by the price. `kinds` are in descending order of the score that
    they can reach, and the loop ends when no later kind can be better.
    """
    ground = pool.ground
    made: list[tuple[float, int, Content, float]] = []
    best_score = -1.0
    only_free = ground.free[kinds[0][0]]
    for kind, promise in kinds:
        if promise <= best_score:
            break
        if only_free and not ground.free[kind]:
            continue
        found = fill_bin(pool, first, kind, width)
        if found is None:
            continue
        score = found[1] / ground.prices[kind]
        made.append((score, kind, *found))
        best_score = max(best_score, score)
        if score >= GOOD_ENOUGH:
            break
    return made


def _alone(pool: ItemPool, first: int) -> tuple[int, Content, float]:
    """Return the cheapest bin that holds the item, for sizes that floats cannot distinguish."""
    ground, item = pool.ground, pool.items[first]
    kind = min(
        (
            kind
            for kind, room in enumerate(ground.rooms)
            if ground.own[item] in (None, kind) and all(map(int.__le__, ground.sizes[item], room))
        ),
        key=lambda kind: ground.prices[kind],
    )
    return kind, {first: 1}, pool.values[first]


def fill_bin(pool: ItemPool, first: int, kind: int, width: int) -> tuple[Content, float] | None:
    """Fill one bin of this kind with one item of the first class and with suitable other items.

    The result is the content (by bit) and its worth; None if the first item does not fit.
    """
    sizes, values, left, duals = pool.sizes, pool.values, pool.left, pool.duals[kind]
    room = [there - part for there, part in zip(pool.ground.rooms[kind], sizes[first], strict=True)]
    if min(room) < 0:
        return None
    content = {first: 1}
    value = values[first]
    among = pool.there & pool.open[kind]
    home = pool.at_home[kind]
    if left[first] == 1:
        among &= ~(1 << first)
    while among := pool.fitting(room, among):
        near = among & home
        bit = (near or among).bit_length() - 1
        if width:
            worth = 0.0
            for dual, there in zip(duals, room, strict=True):
                worth += dual * there
            if values[bit] * NEAR > worth:
                bit = _look_ahead(pool, room, among, near, _Sight(worth, width, content))
        fits = left[bit] - content.get(bit, 0)
        for there, part in zip(room, sizes[bit], strict=True):
            if part and fits * part > there:
                fits = there // part
        fits = (fits + 1) // 2
        content[bit] = content.get(bit, 0) + fits
        if content[bit] == left[bit]:
            among ^= 1 << bit
        value += fits * values[bit]
        room = [there - fits * part for there, part in zip(room, sizes[bit], strict=True)]
    return content, value


def _look_ahead(pool: ItemPool, room: list[int], among: int, near: int, sight: _Sight) -> int:
    """Return the item that makes most of the room, together with the two best items after it."""
    worth, width, content = sight
    sizes, values, left, fitting = pool.sizes, pool.values, pool.left, pool.fitting
    enough = worth * GOOD_ENOUGH
    best, best_value = 0, -1.0
    for some, number in ((near, width), (among & ~near, width // 2 if near else width)):
        candidates = some
        for _ in range(number):
            if not candidates:
                break
            bit = candidates.bit_length() - 1
            candidates ^= 1 << bit
            value = values[bit]
            rest = [there - part for there, part in zip(room, sizes[bit], strict=True)]
            others = among if left[bit] > content.get(bit, 0) + 1 else among ^ (1 << bit)
            others = fitting(rest, others)
            if others:
                second = others.bit_length() - 1
                value += values[second]
                rest = [there - part for there, part in zip(rest, sizes[second], strict=True)]
                if left[second] - content.get(second, 0) - (second == bit) < 2:
                    others ^= 1 << second
                others = fitting(rest, others)
                if others:
                    value += values[others.bit_length() - 1]
            if value > best_value:
                best, best_value = bit, value
                if value >= enough:
                    return best
    return best


# -- items without any size ------------------------------------------------------------------------


def with_weightless(patterns: Patterns, vectors: Vectors) -> Patterns:
    """Return the patterns with all items that need no resource, each in the first possible bin."""
    made = list(patterns)
    for at, item in enumerate(vectors.items):
        if not item.number or any(item.size):
            continue
        for place, pattern in enumerate(made):
            if item.bin is None or item.bin == pattern.bin:
                if pattern.times > 1:
                    made.append(pattern._replace(times=pattern.times - 1))
                made[place] = Pattern(pattern.bin, (*pattern.content, (at, item.number)))
                break
        else:
            kind = item.bin
            if kind is None:
                kind = min(range(len(vectors.bins)), key=lambda kind: vectors.bins[kind].price)
            made.append(Pattern(kind, ((at, item.number),)))
    return tuple(made)
