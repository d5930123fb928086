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

from rowtui.core.packing.heuristics.downsize import FOR_EVER
from rowtui.core.packing.model import Amounts, Demand, NodeType, Problem, Run
from rowtui.core.packing.static import numbers_by_name


class LaneKind(NamedTuple):
    """`number` lanes of the same content. `node_type`: where they have to run, or None."""

    runs: tuple[Run, ...]
    amounts: Amounts
    seconds: int
    number: int
    node_type: int | None

    @property
    def requests(self) -> int:
        """The number of requests in one such lane."""
        return sum(run.times for run in self.runs)


def single(problem: Problem) -> list[LaneKind]:
    """Return a lane for each request."""
    by_name = numbers_by_name(problem)
    return [
        LaneKind(
            (Run(number, 1),),
            demand.amounts,
            demand.seconds,
            there,
            by_name[demand.hint] if demand.hint else None,
        )
        for number, (demand, there) in enumerate(zip(problem.demands, problem.counts, strict=True))
    ]


def chain(problem: Problem, length: int, alike: float, *, even: bool = False) -> list[LaneKind]:
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
    problem: Problem, window: list[int], length: int, node_type: int | None
) -> Iterator[LaneKind]:
    """Distribute the requests of a window over lanes: repeatedly add the longest request that fits.

    The same lane is made as often as the requests allow at a time, so that the work depends on the
    number of classes and not on the number of requests.
    """
    demands = problem.demands
    amounts = Amounts()
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
        yield _lane(demands, [Run(by_time[at], fit) for at, fit in runs], number, node_type)
        for at, fit in runs:  # from the last to the first, so that the positions stay valid
            left[at] -= number * fit
            if not left[at]:
                del by_time[at], times[at], left[at]


def _lane(
    demands: Sequence[Demand], runs: list[Run], number: int, node_type: int | None
) -> LaneKind:
    amounts = Amounts()
    for run in runs:
        amounts = amounts.most(demands[run.demand].amounts)
    seconds = sum(run.times * demands[run.demand].seconds for run in runs)
    return LaneKind(tuple(runs), amounts, seconds, number, node_type)


def _longest(node_types: Sequence[NodeType], amounts: Amounts, node_type: int | None) -> int:
    """Return the longest time that these amounts may run on any type; seconds."""
    if node_type is not None:
        node_types = (node_types[node_type],)
    return max(
        (
            FOR_EVER if kind.longest_seconds is None else kind.longest_seconds
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
