"""Compute a lower bound of the cost of any packing of a problem, and prices of items that prove it.

If time counts, a request is split into one small piece for each of its seconds, and an hour of a
node type is a bin, because at any time a bundle takes no more than its node has. The boot time is
included at its smallest share, which is its share of the longest possible bundle.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from rowtui.core.packing.cheapest_type import cost_of
from rowtui.core.packing.heuristics.bins import Bin, BinFinder, Size
from rowtui.core.packing.model import HOUR, Bundle, GoOn, InstanceType, PackingProblem, bundle_cost
from rowtui.core.packing.optimal.prices import best_prices
from rowtui.core.packing.static import numbers_by_name

ROUNDING = 1e-10  # relative error of sums of floats


class PriceBound(NamedTuple):
    """The bound that follows from prices of resources, and the values of lanes per hour.

    `duals` and `rooms` have one row for each node type, with an entry for CPUs, memory, GPUs and
    disk (and for requests if bundles have a largest number of requests).
    """

    bound: float
    duals: tuple[tuple[float, ...], ...]
    rooms: tuple[Size, ...]

    def of(self, sizes: Sequence[Size]) -> list[float]:
        """Return the value of each of these sizes for an hour: the lowest cost where it fits."""
        rows = np.array(sizes, float)
        least = np.full(len(rows), np.inf)
        for duals, room in self._different():
            part = rows[:, : len(room)]
            costs = part @ np.array(duals)
            costs[(part > np.array(room, float)).any(axis=1)] = np.inf
            np.minimum(least, costs, out=least)
        worth: list[float] = np.where(np.isfinite(least), least, 0.0).tolist()
        return worth

    def _different(self) -> list[tuple[tuple[float, ...], Size]]:
        """Return the duals and rooms, except where a type with the same prices has more room."""
        largest: dict[tuple[float, ...], list[Size]] = {}
        for room, duals in sorted(zip(self.rooms, self.duals, strict=True), reverse=True):
            rooms = largest.setdefault(duals, [])
            if not any(all(map(int.__le__, room, other)) for other in rooms):
                rooms.append(room)
        return [(duals, room) for duals, rooms in largest.items() for room in rooms]

    def on(self, kinds: Sequence[int]) -> PriceBound:
        """Return the same values for some of the node types."""
        duals = tuple(self.duals[at] for at in kinds)
        return PriceBound(self.bound, duals, tuple(self.rooms[at] for at in kinds))


def lower_bound(problem: PackingProblem, go_on: GoOn = lambda: True) -> float:
    """Return a cost that no packing is below. Every request has to fit on some node type."""
    return worth(problem, go_on).bound


def if_cheaper(
    bundles: Iterable[Bundle], problem: PackingProblem, value: PriceBound, than: tuple[Bundle, ...]
) -> tuple[Bundle, ...] | None:
    """Return these bundles if they cost less than the bundles `than`, else None.

    The iteration stops as soon as the answer is certain: each request that is not yet in a bundle
    costs at least its worth.
    """
    hourly = value.of([(*demand.amounts, 1) for demand in problem.demands])
    timed, most = problem.timed, cost_of(than, problem)
    each = [
        worth * (demand.seconds / HOUR if timed else 1.0) * (1 - ROUNDING)
        for worth, demand in zip(hourly, problem.demands, strict=True)
    ]
    most *= 1 - ROUNDING
    least = sum(worth * there for worth, there in zip(each, problem.counts, strict=True))
    taken: list[Bundle] = []
    for bundle in bundles:
        inside = sum(
            lane.times * run.times * each[run.demand] for lane in bundle.lanes for run in lane.runs
        )
        least += bundle.times * (bundle_cost(bundle, problem) - inside)
        if least >= most:
            return None
        taken.append(bundle)
    return tuple(taken)


def worth(problem: PackingProblem, go_on: GoOn = lambda: True) -> PriceBound:
    """Return the bound of the linear program that assigns parts of requests to parts of nodes.

    The result contains the prices of this program. When `go_on` returns False, the prices are less
    exact and the bound is a little lower.
    """
    by_name = numbers_by_name(problem)
    weights: dict[tuple[Size, int | None], float] = {}
    longest, timed = _longest_bundle(problem), problem.timed
    slots = (1,) if problem.largest_bundle is not None else ()
    for demand, there in zip(problem.demands, problem.counts, strict=True):
        key = ((*demand.amounts, *slots), by_name[demand.hint] if demand.hint else None)
        hours = demand.seconds / HOUR if timed else 1.0
        weights[key] = weights.get(key, 0.0) + there * hours
    kinds = [number for number, kind in enumerate(problem.node_types) if kind.at_most != 0]
    room = () if problem.largest_bundle is None else (problem.largest_bundle,)
    rooms = [(*problem.node_types[number].amounts, *room) for number in kinds]
    # A resource that no request uses does not prevent one type from dominating another.
    used = [axis for axis in range(len(rooms[0])) if any(size[axis] for size, _ in weights)]
    bins = [
        Bin(tuple(size[axis] for axis in used), kind.price * _with_boot(kind, longest, timed))
        for size, kind in zip(rooms, (problem.node_types[at] for at in kinds), strict=True)
    ]
    place = {number: at for at, number in enumerate(kinds)}
    prices = best_prices(
        bins,
        [tuple(size[axis] for axis in used) for size, _ in weights],
        list(weights.values()),
        [None if own is None else place[own] for _, own in weights],
        go_on=go_on,
    )
    duals = [[0.0] * len(size) for size in rooms]
    for row, some in zip(duals, prices.duals, strict=True):
        for axis, dual in zip(used, some, strict=True):
            row[axis] = dual
    dearest = _dearest(problem, [problem.node_types[number] for number in kinds], place)
    bound = max(prices.bound, dearest)
    return PriceBound(bound, tuple(map(tuple, duals)), tuple(rooms))


def _with_boot(kind: InstanceType, longest: int, timed: bool) -> float:
    """Return the factor by which the boot raises the price of the longest possible bundle."""
    if not timed:
        return 1.0
    limit = longest if kind.longest_seconds is None else min(longest, kind.longest_seconds)
    return 1 + kind.boot_seconds / max(1, limit)


def _longest_bundle(problem: PackingProblem) -> int:
    """Return the seconds that no bundle exceeds.

    The longest allowed number of requests run one after another for this time.
    """
    everything = zip(problem.demands, problem.counts, strict=True)
    left = sum(problem.counts) if problem.largest_bundle is None else problem.largest_bundle
    total = 0
    for demand, there in sorted(everything, key=lambda each: -each[0].seconds):
        fit = min(left, there)
        total += fit * demand.seconds
        left -= fit
        if not left:
            break
    return total


def _dearest(
    problem: PackingProblem, kinds: Sequence[InstanceType], place: dict[int, int]
) -> float:
    """Return the cost of the request that needs the most expensive bundle, or a little less."""
    by_name = numbers_by_name(problem)
    longest: dict[tuple[Size, int | None], int] = {}
    for demand in problem.demands:
        key = (tuple(demand.amounts), place[by_name[demand.hint]] if demand.hint else None)
        longest[key] = max(longest.get(key, 0), demand.seconds)
    finder = BinFinder(tuple(Bin(tuple(kind.amounts), kind.price) for kind in kinds))
    boot = min(kind.boot_seconds for kind in kinds)
    timed = problem.timed
    most = 0.0
    for (size, own), seconds in longest.items():
        home = finder.cheapest(size, own)
        if home is not None:
            hours = (boot + seconds) / HOUR if timed else 1.0
            most = max(most, kinds[home].price * hours)
    return most
