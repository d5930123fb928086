"""What any packing of a problem has to cost at least.

Where time counts, a request is as many small pieces as it has seconds, and an hour of a node type
is a bin: no bundle holds more than that for as long as it runs. The boot is part of it as far as no
bundle can be long enough to make it nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rowtui.core.packing.bins import BinFinder
from rowtui.core.packing.model import HOUR, Bundle, GoOn, NodeType, Problem, bundle_cost
from rowtui.core.packing.shrink import cost_of
from rowtui.core.packing.static import numbers_by_name
from rowtui.core.packing.vectors import Bin, Size

ROUNDING = 1e-10  # relative: what sums of floats may be off by


class Worth(NamedTuple):
    """What follows from prices of resources: the bound, and what lanes are worth for an hour.

    `duals` and `rooms` of each node type: of cpus, memory, gpus, disk (and requests).
    """

    bound: float
    duals: tuple[tuple[float, ...], ...]
    rooms: tuple[Size, ...]

    def of(self, sizes: Sequence[Size]) -> list[float]:
        """What each of these is worth for an hour: the least that it costs where it fits."""
        import numpy as np

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
        """Duals and rooms without those that others make needless: as cheap and as large."""
        largest: dict[tuple[float, ...], list[Size]] = {}
        for room, duals in sorted(zip(self.rooms, self.duals, strict=True), reverse=True):
            rooms = largest.setdefault(duals, [])
            if not any(all(map(int.__le__, room, other)) for other in rooms):
                rooms.append(room)
        return [(duals, room) for duals, rooms in largest.items() for room in rooms]

    def on(self, kinds: Sequence[int]) -> Worth:
        """The same for some of the node types."""
        duals = tuple(self.duals[at] for at in kinds)
        return Worth(self.bound, duals, tuple(self.rooms[at] for at in kinds))


def lower_bound(problem: Problem, go_on: GoOn = lambda: True) -> float:
    """No packing of these requests costs less. Every request has to fit somewhere."""
    return worth(problem, go_on).bound


def if_cheaper(
    bundles: Iterable[Bundle], problem: Problem, value: Worth, than: tuple[Bundle, ...]
) -> tuple[Bundle, ...] | None:
    """These bundles if they cost less than those, else None: as soon as that is certain.

    Whatever is not yet in one of them costs at least its worth.
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


def worth(problem: Problem, go_on: GoOn = lambda: True) -> Worth:
    """The bound by the assignment of crumbs of requests to fractions of nodes, with its prices.

    Without time the prices are less exact, and the bound is a little lower.
    """
    from rowtui.core.packing.prices import best_prices

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
    # What nobody asks for keeps no type from being bettered by another.
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
    return Worth(bound, tuple(map(tuple, duals)), tuple(rooms))


def _with_boot(kind: NodeType, longest: int, timed: bool) -> float:
    """How much dearer the boot makes an hour, on a bundle that is as long as it can be."""
    if not timed:
        return 1.0
    limit = longest if kind.longest_seconds is None else min(longest, kind.longest_seconds)
    return 1 + kind.boot_seconds / max(1, limit)


def _longest_bundle(problem: Problem) -> int:
    """No bundle takes longer than so many of the longest requests one after another."""
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


def _dearest(problem: Problem, kinds: Sequence[NodeType], place: dict[int, int]) -> float:
    """What the request that needs the dearest bundle costs alone, or a little less."""
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
