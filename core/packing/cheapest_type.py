"""The node type on which a load costs least, and the cost of bundles.

The input is a problem and bundles or loads; the output is numbers of node types, costs, and the
bundles on their cheapest types. If time counts, the boot is paid too.
"""

from __future__ import annotations

import math

from rowtui.core.packing.heuristics.bins import Bin, BinFinder
from rowtui.core.packing.model import (
    HOUR,
    Bundle,
    Lane,
    PackingProblem,
    bundle_amounts,
    bundle_cost,
    bundle_seconds,
)


def shrink(bundles: tuple[Bundle, ...], problem: PackingProblem) -> tuple[Bundle, ...]:
    """Return the same bundles, none more expensive than before; equal bundles are merged."""
    timed = problem.timed
    finder = CheapestType(problem, timed)
    times: dict[tuple[int, tuple[Lane, ...]], int] = {}
    for bundle in bundles:
        node_type, lanes = bundle.node_type, bundle.lanes
        if not any(problem.demands[run.demand].hint for lane in lanes for run in lane.runs):
            seconds = bundle_seconds(bundle, problem.demands) if timed else 0
            load = (*bundle_amounts(bundle, problem.demands), seconds)
            node_type = finder.for_load(load, node_type)
        key = (node_type, lanes)
        times[key] = times.get(key, 0) + bundle.times
    return tuple(Bundle(*key, number) for key, number in times.items())


class CheapestType:
    """Find the node type where a load costs least. A load consists of amounts and seconds."""

    def __init__(self, problem: PackingProblem, timed: bool) -> None:
        self._kinds = problem.node_types
        self._timed = timed
        bins = tuple(
            Bin((*kind.amounts, kind.most_seconds), kind.price) for kind in problem.node_types
        )
        # Among types with the same boot time, the lowest hourly price is the lowest cost for any
        # time.
        by_boot: dict[int, list[int]] = {}
        for number, kind in enumerate(problem.node_types):
            if kind.at_most != 0:
                by_boot.setdefault(kind.boot_seconds if timed else 0, []).append(number)
        self._finders = [BinFinder(bins, among) for among in by_boot.values()]

    def for_load(self, load: tuple[int, ...], before: int) -> int:
        """Return the number of the cheapest type, or `before` if no type is cheaper.

        `before` is -1 if there is no type to compare with.
        """
        best, least = before, math.inf if before < 0 else self.cost(before, load[-1])
        for finder in self._finders:
            number = finder.cheapest(load)
            if number is not None and self.cost(number, load[-1]) < least:
                best, least = number, self.cost(number, load[-1])
        return best

    def cost(self, number: int, seconds: int) -> float:
        """Return the cost of so many seconds on a node of the type."""
        kind = self._kinds[number]
        return kind.price * (kind.boot_seconds + seconds) / HOUR if self._timed else kind.price


def cost_of(bundles: tuple[Bundle, ...], problem: PackingProblem) -> float:
    """Return the cost of all of these bundles."""
    return sum(one.times * bundle_cost(one, problem) for one in bundles)
