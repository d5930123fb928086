"""Fills bin after bin, each as well as it can be filled, and begins with what is hard to place.

For the hardest item that is left several kinds of bins are filled, and the one is kept whose
content is worth most for its price, by the prices that the assignment LP gives to resources. What
comes into a bin next is found by looking two items ahead; a content is repeated while its items
last. Prices are set anew as the pool empties. Of many classes only a window is looked at, and what
is hard to place in it goes on to the next.
Source: fastr_packing B2.3 (portfolio of orders, prices of the LP, multiplicity).
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import NamedTuple

from rowtui.core.packing.model import GoOn
from rowtui.core.packing.pool import Ground, Pool
from rowtui.core.packing.vectors import Pattern, Patterns, Vectors, patterns_cost

# So many classes are looked at together; more make the sets slow and the result no better.
WINDOW = 12_000

# A window goes on to the next with what it has left of its worth by then.
CARRIED = 0.15

# A bin whose content is worth so much of its price is not compared with others.
GOOD_ENOUGH = 0.999

# Looking ahead begins when the room is worth so many of the item that would come next.
NEAR = 8


class Way(NamedTuple):
    """How to pack: the order in which bins are begun, how many items to try for each place in a
    bin, and how often prices are set anew.
    """

    order: str
    width: int
    parts: int
    seed: int = 1


Content = dict[int, int]


def fill(vectors: Vectors, go_on: GoOn) -> Patterns:
    """All items in bins, the best of several ways as long as `go_on` says yes."""
    ground = Ground(vectors)
    numbers = {
        at: item.number for at, item in enumerate(vectors.items) if item.number and any(item.size)
    }
    best: Patterns = ()
    if numbers:
        ways = WAYS
        best = pack(ground, numbers, ways[0], go_on)
        for way in ways[1:]:
            if not go_on():
                break
            best = min(
                best,
                pack(ground, numbers, way, go_on),
                key=lambda patterns: patterns_cost(patterns, vectors),
            )
    return with_weightless(best, vectors)


WAYS = (Way("value", 4, 3), Way("dominant", 4, 3), Way("shuffled", 4, 3))


def pack(ground: Ground, numbers: dict[int, int], way: Way, go_on: GoOn) -> Patterns:
    """So many of these items (by number, each of some size) in bins, one way."""
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
        total = float(sum(worth.values[at] * number for at, number in left.items()))
        keep = 0.0
        if waiting:
            keep = CARRIED * total
        elif parts > 1:
            keep = total * (parts - 1) / parts
            parts -= 1
        pool = Pool(ground, worth, items, counts)
        made += pack_pool(pool, way, total - keep if keep else None, random)
        left = pool.remaining()
    return tuple(made)


def pack_pool(pool: Pool, way: Way, until: float | None, random: Random) -> list[Pattern]:
    """Bins with what is in the pool: all of it, or until so much worth is packed."""
    ground = pool.ground
    made: list[Pattern] = []
    packed = 0.0
    left = pool.left
    for first in in_order(pool, way.order, random):
        while left[first]:
            kind, content, value = _best_bin(pool, first, way.width)
            times = min(left[bit] // number for bit, number in content.items())
            pool.take(content, times)
            inside = tuple((pool.items[bit], number) for bit, number in content.items())
            made.append(Pattern(ground.kinds[kind], inside, times))
            packed += value * times
            if until is not None and packed >= until:
                return made
    return made


def in_order(pool: Pool, order: str, random: Random) -> Iterable[int]:
    """The classes of the pool in the order in which bins are begun with them."""
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


def _best_bin(pool: Pool, first: int, width: int) -> tuple[int, Content, float]:
    ground = pool.ground
    best: tuple[int, Content, float] | None = None
    best_score = -1.0
    kinds = pool.kinds[first]
    only_free = ground.free[kinds[0]]
    for kind, promise in zip(kinds, pool.promise[first], strict=True):
        if promise <= best_score:
            break
        if only_free and not ground.free[kind]:
            continue
        found = fill_bin(pool, first, kind, width)
        if found is None:
            continue
        score = found[1] / ground.prices[kind]
        if score > best_score:
            best, best_score = (kind, *found), score
            if score >= GOOD_ENOUGH:
                break
    assert best is not None
    return best


def fill_bin(pool: Pool, first: int, kind: int, width: int) -> tuple[Content, float] | None:
    """One bin of this kind, with one of the first class and whatever goes well with it.

    Its content, by bit, and what that is worth; None if the first has no place in it.
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
                bit = _look_ahead(pool, room, among, near, worth, width, content)
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


def _look_ahead(
    pool: Pool,
    room: list[int],
    among: int,
    near: int,
    worth: float,
    width: int,
    content: Content,
) -> int:
    """Which comes next: the one that makes most of the room, with two more after it."""
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
    """The patterns and, in the first that will do, all items that need nothing at all."""
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
