"""Lanes: requests that run one after another, so that the lanes of a bundle end together.

A bundle is paid until its longest lane ends, so the lanes of a bundle should have similar lengths.
There are two ways: a lane for each request, with requests of similar times in a bundle; or lanes
that are filled up to a common length with similar requests. `chain` makes the lanes, and `storeys`
sorts the lanes by length into parts that are packed as if time did not count. Source: Fastr's rule
for a list of jobs on one host (most of each resource, sum of the times).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rowtui.core.packing.model import (
    FOR_EVER,
    Bundle,
    Demand,
    InstanceType,
    Lane,
    PackingProblem,
    RequestRun,
    ResourceAmounts,
    bundle_amounts,
    bundle_requests,
    bundle_seconds,
)
from rowtui.core.packing.static import numbers_by_name

Whole = NDArray[np.int64]


# Put shorter lanes in the free room of longer bundles, at no cost.
#
# A bundle is paid until its longest lane ends, regardless of the other lanes on its node. The input
# is bundles and the lanes that are still to be packed, all of them shorter; the output is the
# bundles with these riders, and `left` counts the lanes that remain. The lanes that are worth most
# come first.


# Numbers compared for all bundles of one packing: about half a second.
MOST_WORK = 40_000_000


class Riders:
    """Lanes that are still to be packed, the longest first, and how many of each."""

    def __init__(
        self, lanes: Sequence[LaneKind], worth: Sequence[float], problem: PackingProblem
    ) -> None:
        """`worth`: of one lane each, in any unit."""
        self.left = np.array([lane.number for lane in lanes], np.int64)
        self._lanes = lanes
        self._problem = problem
        self._worth = np.array(worth, float)
        self._sizes = np.array([(*lane.amounts, lane.requests) for lane in lanes], np.int64)
        self._home = np.array(
            [-1 if lane.node_type is None else lane.node_type for lane in lanes], np.int64
        )
        self._work = MOST_WORK

    def board(self, bundles: Sequence[Bundle], begin: int) -> list[Bundle]:
        """Return the bundles with riders from the lanes from `begin` on.

        A rider is a lane in the free room of a bundle, and is never longer than its bundle.
        """
        if begin >= len(self._lanes):
            return list(bundles)
        boarded: list[Bundle] = []
        least = self._sizes[begin:].min(axis=0)
        for bundle in bundles:
            room = self._room(bundle)
            if (least <= room).all() and self._work > 0:
                boarded.extend(self._fill(bundle, room, begin))
            else:
                boarded.append(bundle)
        return boarded

    def _room(self, bundle: Bundle) -> Whole:
        problem = self._problem
        there = problem.node_types[bundle.node_type].amounts
        amounts = there.plus(bundle_amounts(bundle, problem.demands), -1)
        most = problem.largest_bundle
        places = 2**62 if most is None else most - bundle_requests(bundle)
        return np.array((*amounts, places), np.int64)

    def _fill(self, bundle: Bundle, room: Whole, begin: int) -> list[Bundle]:
        """Fill one kind of bundle with all riders that fit; split it if there are too few riders.

        Some of the bundles then have no copy of the rider.
        """
        seconds = bundle_seconds(bundle, self._problem.demands)
        lanes = list(bundle.lanes)
        fits = (self._sizes[begin:] <= room).all(axis=1) & (self.left[begin:] > 0)
        fits &= (self._home[begin:] < 0) | (self._home[begin:] == bundle.node_type)
        among = np.flatnonzero(fits) + begin
        self._work -= len(fits)
        times = bundle.times
        filled: list[Bundle] = []
        while len(among):
            at = int(among[self._worth[among].argmax()])
            lane = self._lanes[at]
            if lane.seconds > seconds:
                among = among[among != at]
                continue
            size = self._sizes[at]
            number = int((room[size > 0] // size[size > 0]).min())
            if self.left[at] < times:  # only some of the bundles can have this lane
                some = int(self.left[at])
                filled.append(Bundle(bundle.node_type, tuple(lanes), times - some))
                times = some
            number = min(number, int(self.left[at]) // times)
            lanes.append(Lane(lane.runs, number))
            self.left[at] -= number * times
            room = room - number * size
            among = among[(self._sizes[among] <= room).all(axis=1) & (self.left[among] > 0)]
            self._work -= len(among)
        filled.append(Bundle(bundle.node_type, tuple(lanes), times))
        return filled


class LaneKind(NamedTuple):
    """`number` lanes of the same content. `node_type`: where they have to run, or None."""

    runs: tuple[RequestRun, ...]
    amounts: ResourceAmounts
    seconds: int
    number: int
    node_type: int | None

    @property
    def requests(self) -> int:
        """The number of requests in one such lane."""
        return sum(run.times for run in self.runs)


def single(problem: PackingProblem) -> list[LaneKind]:
    """Return a lane for each request."""
    by_name = numbers_by_name(problem)
    return [
        LaneKind(
            (RequestRun(number, 1),),
            demand.amounts,
            demand.seconds,
            there,
            by_name[demand.hint] if demand.hint else None,
        )
        for number, (demand, there) in enumerate(zip(problem.demands, problem.counts, strict=True))
    ]


def chain(
    problem: PackingProblem, length: int, alike: float, *, even: bool = False
) -> list[LaneKind]:
    """Return lanes of similar requests, as long as `length` or a little shorter if possible.

    `alike`: the least memory of a request in a lane is at least this share of the most memory.
    `even`: similar requests are distributed over at most as many lanes, so that the lanes have
    similar lengths.
    """
    by_name = numbers_by_name(problem)
    order = sorted(range(len(problem.demands)), key=lambda at: _likeness(problem.demands[at]))
    made: list[LaneKind] = []
    for key, members in groupby(order, key=lambda at: _likeness(problem.demands[at])[0]):
        node_type = by_name[key[0]] if key[0] else None
        for window in _windows(list(members), problem.demands, alike):
            lanes = list(_lanes_of(problem, window, length, node_type))
            if even:
                number = sum(lane.number for lane in lanes)
                total = sum(lane.number * lane.seconds for lane in lanes)
                evenly = list(_lanes_of(problem, window, -(-total // number), node_type))
                if sum(lane.number for lane in evenly) <= number:
                    lanes = evenly
            made.extend(lanes)
    return made


Likeness = tuple[tuple[str, int, int, int], int, int, int]


def _likeness(demand: Demand) -> Likeness:
    """Return a sort key by which requests with the same first part may share a lane."""
    amounts = demand.amounts
    disk = amounts.disk_mb.bit_length()
    return (
        (demand.hint, amounts.gpus, amounts.cpus, disk),
        -amounts.memory_mb,
        -amounts.disk_mb,
        -demand.seconds,
    )


def _windows(members: list[int], demands: Sequence[Demand], alike: float) -> Iterator[list[int]]:
    """Split the members into runs with similar memory; `members` start with the most memory."""
    begin = 0
    for at, number in enumerate(members):
        most = demands[members[begin]].amounts.memory_mb
        if demands[number].amounts.memory_mb < alike * most:
            yield members[begin:at]
            begin = at
    yield members[begin:]


def _lanes_of(
    problem: PackingProblem, window: list[int], length: int, node_type: int | None
) -> Iterator[LaneKind]:
    """Distribute the requests of a window over lanes: repeatedly add the longest request that fits.

    The same lane is made as often as the requests allow at a time, so that the work depends on the
    number of classes and not on the number of requests.
    """
    demands = problem.demands
    amounts = ResourceAmounts()
    for number in window:
        amounts = amounts.most(demands[number].amounts)
    limit = min(length, _longest(problem.node_types, amounts, node_type))
    by_time = sorted(window, key=lambda at: (demands[at].seconds, at))
    times = [demands[at].seconds for at in by_time]
    left = [problem.counts[at] for at in by_time]
    most = problem.largest_bundle or FOR_EVER
    while by_time:
        runs: list[tuple[int, int]] = []  # position in `by_time`, number of requests
        room, places, before = limit, most, len(by_time)
        while places:
            at = min(bisect_right(times, room), before) - 1
            if at < 0:
                break
            fit = min(left[at], places, room // times[at] if times[at] else left[at])
            runs.append((at, fit))
            room -= fit * times[at]
            places -= fit
            before = at
        # a request longer than the limit of the whole window fits somewhere on its own
        if not runs:
            runs = [(len(by_time) - 1, 1)]
        number = min(left[at] // fit for at, fit in runs)
        yield _lane(demands, [RequestRun(by_time[at], fit) for at, fit in runs], number, node_type)
        for at, fit in runs:  # from the last to the first, so that the positions stay valid
            left[at] -= number * fit
            if not left[at]:
                del by_time[at], times[at], left[at]


def _lane(
    demands: Sequence[Demand], runs: list[RequestRun], number: int, node_type: int | None
) -> LaneKind:
    amounts = ResourceAmounts()
    for run in runs:
        amounts = amounts.most(demands[run.demand].amounts)
    seconds = sum(run.times * demands[run.demand].seconds for run in runs)
    return LaneKind(tuple(runs), amounts, seconds, number, node_type)


def _longest(
    node_types: Sequence[InstanceType], amounts: ResourceAmounts, node_type: int | None
) -> int:
    """Return the longest time that these amounts may run on any type; seconds."""
    if node_type is not None:
        node_types = (node_types[node_type],)
    return max(
        (
            kind.most_seconds
            for kind in node_types
            if kind.at_most != 0 and amounts.fits(kind.amounts)
        ),
        default=0,
    )


# -- by length -----------------------------------------------------------------------------------


def storeys(
    lanes: Sequence[LaneKind], limits: Sequence[int], factor: float
) -> list[list[LaneKind]]:
    """Sort lanes by length, longest first, into parts in which lengths differ at most by `factor`.

    `limits`: the longest bundles that the node types allow; all lanes of a part fit the same types.
    """
    steps = sorted(set(limits))
    made: list[list[LaneKind]] = []
    shortest, step = 0.0, -1
    for lane in sorted(lanes, key=lambda lane: (-lane.seconds, lane.runs)):
        at = bisect_right(steps, lane.seconds - 1)
        if not made or lane.seconds < shortest or at != step:
            made.append([])
            shortest, step = lane.seconds / factor, at
        made[-1].append(lane)
    return made
