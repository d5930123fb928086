"""Pack a problem where time counts: make lanes of similar lengths, and pack them without time.

The input is a problem with times and a packer of vectors; the output is bundles. Several ways to
make lanes are tried (`heuristics/slots.py`). For each way, the parts are packed from the longest
lanes to the shortest, and shorter lanes may use the free room of longer bundles, which are paid
anyway. The cheapest way wins; of ways that cost nearly the same, the one with the fewest nodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rowtui.core.packing.cheapest_type import cost_of, shrink
from rowtui.core.packing.heuristics.bins import Pattern, Patterns, Size, VectorPacker, Vectors
from rowtui.core.packing.heuristics.slots import LaneKind, Riders, chain, single, storeys
from rowtui.core.packing.model import (
    HOUR,
    Bundle,
    GoOn,
    Lane,
    PackingProblem,
    ResourceAmounts,
)
from rowtui.core.packing.optimal.bound import PriceBound
from rowtui.core.packing.seed import seed_patterns
from rowtui.core.packing.static import BinKind, VectorForm, VectorRow, form

# Share of the cost that fewer nodes are worth: fewer nodes have to boot and to be monitored, and
# can fail.
FEWER_NODES = 0.005
LONGEST_LANE = 24 * 3600  # seconds, if no type has a limit
BOOTS = 50  # lanes of this many boot times make the boot cheap: 2 %
MOST_LENGTHS = 5
FEW_NODES = 40
NUMBERS_OF_NODES = 6  # number of node counts that are tried then

# Until this much work is done (a tenth of a second), ways are tried and parts are packed well even
# without time. The packing of a part counts as this many further lanes.
WORK_AT_ONCE = 300
WORK_OF_A_PART = 25

# With more classes, lanes of several requests are tried first, because there are fewer of them.
MANY_CLASSES = 4_000


class LaneMethod(NamedTuple):
    """How lanes are made: `length` (0: one request in each), `factor` of lengths within a bundle.

    `alike`: the least memory in a lane is at least this share of the most memory. `even`: see
    `chain`.
    """

    length: int
    factor: float
    alike: float = 1.0
    even: bool = False


class Tried(NamedTuple):
    """The result of one way."""

    cost: float
    nodes: int
    way: LaneMethod
    bundles: tuple[Bundle, ...]


def pack_timed(
    problem: PackingProblem, value: PriceBound, packer: VectorPacker, go_on: GoOn
) -> tuple[Bundle, ...]:
    """Return the best of several ways of making lanes, all packed by `packer`."""
    tried: list[Tried] = []
    counted = _Counted(packer)
    for way in ways(problem):
        counted.free = counted.work < WORK_AT_ONCE
        if not counted.free and not go_on():
            break
        try:
            tried.append(_try(problem, way, value, counted if tried else counted.pack, go_on))
        except _TooLateError:
            break
    return cheapest_with_few_nodes(tried).bundles


def _always() -> bool:
    return True


class _TooLateError(Exception):
    """There is no time for this way."""


class _Counted:
    """A packer that counts its work, and raises `_TooLateError` when there is no time.

    `free`: the time is ignored.
    """

    def __init__(self, packer: VectorPacker) -> None:
        self.work = 0
        self.free = True
        self._packer = packer

    def pack(self, vectors: Vectors, go_on: GoOn) -> Patterns:
        """Pack the vectors."""
        self.work += len(vectors.items) + WORK_OF_A_PART
        return self._packer(vectors, _always if self.work <= WORK_AT_ONCE else go_on)

    def __call__(self, vectors: Vectors, go_on: GoOn) -> Patterns:
        """Pack the vectors if there is time."""
        if not self.free and not go_on():
            raise _TooLateError
        return self.pack(vectors, go_on)


def _try(
    problem: PackingProblem, way: LaneMethod, value: PriceBound, packer: VectorPacker, go_on: GoOn
) -> Tried:
    bundles = pack_way(problem, way, value, packer, go_on)
    return Tried(cost_of(bundles, problem), sum(one.times for one in bundles), way, bundles)


def cheapest_with_few_nodes(tried: Sequence[Tried]) -> Tried:
    """Return the result with the fewest nodes among the results that cost nearly least."""
    least = min(one.cost for one in tried)
    near = [one for one in tried if one.cost <= least * (1 + FEWER_NODES)]
    return min(near, key=lambda one: (one.nodes, one.cost))


# -- ways ----------------------------------------------------------------------------------------


def ways(problem: PackingProblem) -> list[LaneMethod]:
    """Return the ways to try, the most promising first."""
    lengths = _lengths(problem)
    alone, short = LaneMethod(0, 1.05), LaneMethod(lengths[-1], 1.05, 0.97)
    first = [alone, short, LaneMethod(lengths[0], 1.1, 0.97)]
    if len(problem.demands) > MANY_CLASSES:
        first = [short, LaneMethod(lengths[0], 1.1, 0.97), alone]
    more = [
        LaneMethod(length, 1.1, 0.97, even=True) for length in (*_of_few_nodes(problem), *lengths)
    ]
    more += [LaneMethod(0, 1.25), *(LaneMethod(length, 1.1, 0.97) for length in lengths[1:])]
    return list(dict.fromkeys([*first, *more, LaneMethod(lengths[-1], 1.1, 0.8)]))


def _lengths(problem: PackingProblem) -> list[int]:
    """Return lengths of lanes, longest first: the limits, and shorter ones by factors of four."""
    longest = max(demand.seconds for demand in problem.demands)
    boot = max(kind.boot_seconds for kind in problem.node_types)
    total = sum(
        demand.seconds * there
        for demand, there in zip(problem.demands, problem.counts, strict=True)
    )
    without = max(longest, LONGEST_LANE, BOOTS * boot)
    limits = {min(kind.most_seconds, without) for kind in problem.node_types}
    lengths = {*limits, longest}
    length = max(limits) // 4
    shortest = 2 * total // sum(problem.counts)  # two requests of average length
    while length > shortest:
        lengths.add(length)
        length //= 4
    useful = {min(length, total) for length in lengths if length > 0}
    return sorted(useful, reverse=True)[:MOST_LENGTHS] or [0]


def _of_few_nodes(problem: PackingProblem) -> list[int]:
    """Return the lengths of the smallest numbers of nodes with full and equal lanes.

    With few nodes, the cost depends mainly on whether the lanes have equal lengths.
    """
    longest = max(demand.seconds for demand in problem.demands)
    limit = min(max(kind.most_seconds for kind in problem.node_types), max(longest, LONGEST_LANE))
    node_seconds = 0.0
    for demand, there in zip(problem.demands, problem.counts, strict=True):
        at_once = max(_at_once(demand.amounts, kind.amounts) for kind in problem.node_types)
        node_seconds += there * demand.seconds / max(1, at_once)
        if node_seconds > FEW_NODES * limit:
            return []
    fewest = math.ceil(node_seconds / limit)
    numbers = range(max(1, fewest), fewest + NUMBERS_OF_NODES)
    even = [max(longest, math.ceil(node_seconds / number)) for number in numbers]
    # If requests do not divide evenly, some lanes have one request more.
    return [*even, *(min(limit, length + longest - 1) for length in even)]


def _at_once(amounts: ResourceAmounts, room: ResourceAmounts) -> int:
    """Return how many such requests run on such a node at the same time."""
    return min(
        (there // asked for there, asked in zip(room, amounts, strict=True) if asked), default=1
    )


# -- packing -------------------------------------------------------------------------------------


def pack_way(
    problem: PackingProblem, way: LaneMethod, value: PriceBound, packer: VectorPacker, go_on: GoOn
) -> tuple[Bundle, ...]:
    """Pack all requests in lanes made in one way, with each bundle on its cheapest type."""
    made = chain(problem, way.length, way.alike, even=way.even) if way.length else single(problem)
    parts = storeys(made, [kind.most_seconds for kind in problem.node_types], way.factor)
    lanes = [lane for part in parts for lane in part]
    hourly = value.of([(*lane.amounts, lane.requests) for lane in lanes])
    worth = [each * lane.seconds for each, lane in zip(hourly, lanes, strict=True)]
    riders = Riders(lanes, worth, problem)
    bundles: list[Bundle] = []
    begin = 0
    for part in parts:
        end = begin + len(part)
        left = riders.left[begin:end].tolist()
        begin = end
        there = zip(part, left, strict=True)
        waiting = [lane._replace(number=number) for lane, number in there if number]
        if waiting:
            packed = shrink(tuple(_pack_part(problem, waiting, packer, go_on)), problem)
            bundles.extend(riders.board(packed, end))
    return shrink(tuple(bundles), problem)


def _pack_part(
    problem: PackingProblem, part: Sequence[LaneKind], packer: VectorPacker, go_on: GoOn
) -> Iterator[Bundle]:
    """Pack lanes of similar length as vectors. Lanes with the same amounts are one item."""
    seconds = part[0].seconds
    kinds = [
        BinKind(number, kind.amounts, kind.price * (kind.boot_seconds + seconds) / HOUR)
        for number, kind in enumerate(problem.node_types)
        if kind.at_most != 0 and kind.most_seconds >= seconds
    ]
    alike: dict[tuple[Size, int | None, int], list[LaneKind]] = {}
    for lane in part:
        slots = lane.requests if problem.largest_bundle is not None else 1
        alike.setdefault((lane.amounts, lane.node_type, slots), []).append(lane)
    rows = [
        VectorRow(size, sum(lane.number for lane in lanes), node_type, slots)
        for (size, node_type, slots), lanes in alike.items()
    ]
    made = form(kinds, rows, problem.largest_bundle)
    return hand_out(packer(made.vectors, go_on), made, list(alike.values()))


def hand_out(
    patterns: Iterable[Pattern], made: VectorForm, lanes: Sequence[Sequence[LaneKind]]
) -> Iterator[Bundle]:
    """Yield the packed bins as bundles; `lanes[n]`: the lanes of item n, in the order to take.

    Bins with the same content become several bundles if their lanes differ.
    """
    queues = [LaneQueue(those) for those in lanes]
    for pattern in patterns:
        left = pattern.times
        while left:
            # Make as many equal bundles at once as the first lanes of the queues allow.
            times = min(left, *(queues[item].equal_takes(there) for item, there in pattern.content))
            taken = tuple(
                Lane(lane.runs, number)
                for item, there in pattern.content
                for lane, number in queues[item].take(there, times)
            )
            yield Bundle(made.node_types[pattern.bin], taken, times)
            left -= times


def seed_bundles(problem: PackingProblem) -> Iterator[Bundle]:
    """Yield the packing of the seed algorithm for a problem with times, which ignores the times.

    Every request is a lane, and each instance is paid until its last request ends. Requests with
    the same amounts are assigned in the order of their classes. A request is only kept off a type
    whose time limit is too short for it.
    """
    lanes = single(problem)
    axes = _limits_that_matter(problem)
    everything = sum(problem.counts)
    alike: dict[tuple[Size, int | None], list[LaneKind]] = {}
    for lane in lanes:
        size = (*lane.amounts, *(int(lane.seconds > limit) for limit in axes))
        alike.setdefault((size, lane.node_type), []).append(lane)
    rows = [
        VectorRow(size, sum(lane.number for lane in those), node_type)
        for (size, node_type), those in alike.items()
    ]
    kinds = [
        BinKind(
            number,
            (*kind.amounts, *(0 if kind.most_seconds <= limit else everything for limit in axes)),
            kind.price,
        )
        for number, kind in enumerate(problem.node_types)
        if kind.at_most != 0
    ]
    made = form(kinds, rows, problem.largest_bundle, whole=True)
    yield from hand_out(seed_patterns(made.vectors), made, list(alike.values()))


def _limits_that_matter(problem: PackingProblem) -> list[int]:
    """Return the time limits of node types that only some requests keep."""
    longest = max(demand.seconds for demand in problem.demands)
    return sorted({kind.most_seconds for kind in problem.node_types if kind.most_seconds < longest})


class LaneQueue:
    """Lanes with the same amounts, taken one after another."""

    def __init__(self, lanes: Sequence[LaneKind]) -> None:
        self._lanes = lanes
        self._at = 0
        self._left = self._lanes[0].number if self._lanes else 0

    def equal_takes(self, number: int) -> int:
        """Return how many times `number` lanes of one content can be taken; at least 1."""
        return max(1, self._left // number)

    def take(self, number: int, times: int) -> list[tuple[LaneKind, int]]:
        """Take `number` lanes for each of `times` bundles; return lanes and numbers per bundle."""
        if times > 1 or self._left >= number:
            lane = self._lanes[self._at]
            self._drop(number * times)
            return [(lane, number)]
        taken: list[tuple[LaneKind, int]] = []
        while number:
            lane, fit = self._lanes[self._at], min(number, self._left)
            taken.append((lane, fit))
            self._drop(fit)
            number -= fit
        return taken

    def _drop(self, number: int) -> None:
        self._left -= number
        if not self._left and self._at + 1 < len(self._lanes):
            self._at += 1
            self._left = self._lanes[self._at].number
