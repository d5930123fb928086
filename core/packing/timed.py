"""Packing where time counts: lanes of about the same length, packed as if it did not.

Takes a problem with times and a packer of vectors; gives bundles. Several ways to make lanes are
tried (`lanes.py`), each is packed part by part from the longest lanes to the shortest, and what
is shorter may ride in the room that is left in longer bundles, which are paid anyway. The
cheapest way wins; of those that cost nearly the same, the one with the fewest nodes.
Source: fastr_packing B2.5 and goal G8; the issue's "as few, as cheap machines as possible".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rowtui.core.packing.lanes import LaneKind, chain, single, storeys
from rowtui.core.packing.model import (
    HOUR,
    Bundle,
    GoOn,
    Lane,
    NodeType,
    Problem,
)
from rowtui.core.packing.shrink import FOR_EVER, cost_of, shrink
from rowtui.core.packing.static import Form, Kind, Row, form
from rowtui.core.packing.vectors import Patterns, Size, VectorPacker

# For this share of the cost fewer nodes are worth it: less to boot, to watch and to go wrong.
FEWER_NODES = 0.005
LONGEST_LANE = 24 * 3600  # seconds, where no limit is: nobody waits for ever to save a little
BOOTS = 50  # lanes that long make the boot cheap: 2 %
FACTORS = (1.1, 1.25, 1.5, 2.0)
ALIKE = (0.9, 0.7)


class Way(NamedTuple):
    """How lanes are made: as long as `length` (0: a request in each), `factor` within a bundle."""

    length: int
    factor: float
    alike: float = 0.0


def ways(problem: Problem) -> Iterator[Way]:
    """What is tried, the most promising first."""
    for factor in FACTORS:
        yield Way(0, factor)
    for length in _lengths(problem):
        for alike in ALIKE:
            yield Way(length, 1.1, alike)
            yield Way(length, 1.5, alike)


def _lengths(problem: Problem) -> list[int]:
    """Lengths of lanes: every limit, and some between the longest request and the last limit."""
    longest = max(demand.seconds for demand in problem.demands)
    boot = max(kind.boot_seconds for kind in problem.node_types)
    without = max(longest, LONGEST_LANE, BOOTS * boot)
    all_of_it = sum(
        demand.seconds * there
        for demand, there in zip(problem.demands, problem.counts, strict=True)
    )
    limits = {
        without if kind.longest_seconds is None else kind.longest_seconds
        for kind in problem.node_types
    }
    last = min(max(limits), all_of_it)
    lengths = {min(limit, all_of_it) for limit in limits if limit >= longest} | {longest, last}
    length = 2 * longest
    while 0 < length < last:
        lengths.add(length)
        length *= 2
    return sorted(lengths, reverse=True)[:8]


def pack_timed(problem: Problem, packer: VectorPacker, go_on: GoOn) -> tuple[Bundle, ...]:
    """The best of several ways of making lanes; all of them packed by `packer`."""
    found: list[tuple[float, int, tuple[Bundle, ...]]] = []
    for way in ways(problem):
        bundles = pack_way(problem, way, packer, go_on)
        found.append((cost_of(bundles, problem), sum(one.times for one in bundles), bundles))
        if not go_on() and len(found) >= len(FACTORS):
            break
    return cheapest_with_few_nodes(found)


def cheapest_with_few_nodes(
    found: Sequence[tuple[float, int, tuple[Bundle, ...]]],
) -> tuple[Bundle, ...]:
    """Of (cost, nodes, bundles) that cost nearly least, those of the fewest nodes."""
    least = min(cost for cost, _, _ in found)
    near = [one for one in found if one[0] <= least * (1 + FEWER_NODES)]
    return min(near, key=lambda one: (one[1], one[0]))[2]


def pack_way(problem: Problem, way: Way, packer: VectorPacker, go_on: GoOn) -> tuple[Bundle, ...]:
    """All requests in lanes made in one way, bundled and each bundle on its cheapest type."""
    lanes = chain(problem, way.length, way.alike) if way.length else single(problem)
    limits = [_limit(kind) for kind in problem.node_types]
    bundles: list[Bundle] = []
    for part in storeys(lanes, limits, way.factor):
        seconds = part[0].seconds
        kinds = [
            Kind(number, kind.amounts, kind.price * (kind.boot_seconds + seconds) / HOUR)
            for number, kind in enumerate(problem.node_types)
            if kind.at_most != 0 and limits[number] >= seconds
        ]
        bundles.extend(_pack_part(problem, part, kinds, packer, go_on))
    return shrink(tuple(bundles), problem)


def _pack_part(
    problem: Problem,
    part: Sequence[LaneKind],
    kinds: Sequence[Kind],
    packer: VectorPacker,
    go_on: GoOn,
) -> Iterator[Bundle]:
    """Lanes of about one length, packed as vectors. Those that take the same are one item."""
    alike: dict[tuple[Size, int | None, int], list[LaneKind]] = {}
    for lane in sorted(part, key=lambda lane: (-lane.seconds, lane.runs)):
        slots = lane.requests if problem.largest_bundle is not None else 1
        alike.setdefault((lane.amounts, lane.node_type, slots), []).append(lane)
    rows = [
        Row(size, sum(lane.number for lane in lanes), node_type, slots)
        for (size, node_type, slots), lanes in alike.items()
    ]
    made = form(kinds, rows, problem.largest_bundle)
    return hand_out(packer(made.vectors, go_on), made, list(alike.values()))


def hand_out(
    patterns: Patterns, made: Form, lanes: Sequence[Sequence[LaneKind]]
) -> Iterator[Bundle]:
    """The packed bins as bundles; `lanes[n]`: those that item n stands for, in the order to take.

    Bins with the same content become as many bundles as their lanes differ.
    """
    queues = [LaneQueue(those) for those in lanes]
    for pattern in patterns:
        left = pattern.times
        while left:
            # As many bundles at once as the lanes at the heads of the queues allow.
            times = min(left, *(queues[item].equal_takes(there) for item, there in pattern.content))
            taken = tuple(
                Lane(lane.runs, number)
                for item, there in pattern.content
                for lane, number in queues[item].take(there, times)
            )
            yield Bundle(made.node_types[pattern.bin], taken, times)
            left -= times


def pack_seed(problem: Problem, packer: VectorPacker, go_on: GoOn) -> tuple[Bundle, ...]:
    """The seed's packing of a problem with times: it does not look at them.

    Every request is a lane, each instance is paid until its last request ends. Requests that take
    the same come to the instances in the order of their classes. Only where a request may not
    run that long, it does not go.
    """
    lanes = single(problem)
    axes = _limits_that_matter(problem)
    everything = sum(problem.counts)
    alike: dict[tuple[Size, int | None], list[LaneKind]] = {}
    for lane in lanes:
        size = (*lane.amounts, *(int(lane.seconds > limit) for limit in axes))
        alike.setdefault((size, lane.node_type), []).append(lane)
    rows = [
        Row(size, sum(lane.number for lane in those), node_type)
        for (size, node_type), those in alike.items()
    ]
    kinds = [
        Kind(
            number,
            (*kind.amounts, *(0 if _limit(kind) <= limit else everything for limit in axes)),
            kind.price,
        )
        for number, kind in enumerate(problem.node_types)
        if kind.at_most != 0
    ]
    made = form(kinds, rows, problem.largest_bundle, whole=True)
    return tuple(hand_out(packer(made.vectors, go_on), made, list(alike.values())))


def _limits_that_matter(problem: Problem) -> list[int]:
    """The limits of node types that some requests keep and others don't."""
    longest = max(demand.seconds for demand in problem.demands)
    return sorted({_limit(kind) for kind in problem.node_types if _limit(kind) < longest})


def _limit(kind: NodeType) -> int:
    return FOR_EVER if kind.longest_seconds is None else kind.longest_seconds


class LaneQueue:
    """Lanes that take the same, handed out one after another."""

    def __init__(self, lanes: Sequence[LaneKind]) -> None:
        self._lanes = lanes
        self._at = 0
        self._left = self._lanes[0].number if self._lanes else 0

    def equal_takes(self, number: int) -> int:
        """How many times `number` lanes can be taken that are all of one content; at least 1."""
        return max(1, self._left // number)

    def take(self, number: int, times: int) -> list[tuple[LaneKind, int]]:
        """`number` lanes for each of `times` bundles: what, and how many in each bundle."""
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
