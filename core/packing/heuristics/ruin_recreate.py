"""Make a packing with times cheaper: take some bundles apart and pack their requests again.

Bundles that waste much are divided into requests (or lanes), which are packed again, the longest
first (`recreate.py`). The better of the old and the new bundles is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from rowtui.core.packing.heuristics.recreate import MovedUnit, Open, Recreator
from rowtui.core.packing.model import (
    HOUR,
    Bundle,
    GoOn,
    Lane,
    PackingProblem,
    RequestRun,
    bundle_requests,
    bundle_seconds,
    lane_amounts,
    lane_seconds,
)
from rowtui.core.packing.optimal.bound import PriceBound
from rowtui.core.packing.static import numbers_by_name

# Taken apart together: enough to find other combinations, few enough to be quick.
MOST_BUNDLES, MOST_UNITS = 6, 60

# Relative difference below which costs are equal.
SAME = 1e-9

# The search ends after so many turns in a row without a better packing: at least the first number,
# and the second one for each request. Thousands of requests use all the time that they are given.
LEAST_IDLE_TURNS, IDLE_TURNS_FOR_EACH = 1000, 100


def mend(
    problem: PackingProblem, bundles: tuple[Bundle, ...], value: PriceBound, go_on: GoOn
) -> tuple[Bundle, ...]:
    """Return the same requests in cheaper bundles, or the same bundles.

    The function calls `go_on` in each turn.
    """
    return _Mender(problem, bundles, value).run(go_on) if bundles else bundles


class _Mender:
    """Bundles that change, each with the cost of one copy."""

    def __init__(
        self, problem: PackingProblem, bundles: tuple[Bundle, ...], value: PriceBound
    ) -> None:
        self.problem = problem
        self.random = Random(1)
        self.recreator = Recreator(problem, value, self.random)
        self.by_name = numbers_by_name(problem)
        self.held = list(bundles)
        self.costs = [self._cost(one) for one in bundles]

    def run(self, go_on: GoOn) -> tuple[Bundle, ...]:
        """Improve the bundles, and return them.

        The search ends when `go_on` returns False, or when many turns in a row improved nothing:
        a few requests have few packings, and more time would not find a better one.
        """
        requests = sum(bundle_requests(one) * one.times for one in self.held)
        most_idle = max(LEAST_IDLE_TURNS, IDLE_TURNS_FOR_EACH * requests)
        idle = 0
        while idle < most_idle and go_on():
            idle = 0 if self._turn() else idle + 1
        return tuple(self.held)

    def _turn(self) -> bool:
        """Pack the requests of some bundles again. Return whether the result was better."""
        chosen = self._choose()
        units = self._units(chosen)
        before = sum(self.costs[at] for at in chosen)
        opened = self.recreator.pack(units)
        after = sum(one.cost for one in opened)
        fewer = len(opened) < len(chosen)
        better = after < before - SAME * before or (fewer and after <= before * (1 + SAME))
        if better:
            self._replace(chosen, opened)
        return better

    def _choose(self) -> list[int]:
        """Choose some bundles at random, one copy of each; the first is likely an expensive one."""
        there = range(len(self.held))
        first = max(self.random.sample(there, min(3, len(there))), key=lambda at: self.costs[at])
        chosen, units = [first], bundle_requests(self.held[first])
        for at in self.random.sample(there, min(len(there), 4 * MOST_BUNDLES)):
            more = bundle_requests(self.held[at])
            if at != first and len(chosen) < MOST_BUNDLES and units + more <= MOST_UNITS:
                chosen.append(at)
                units += more
        return chosen

    def _units(self, chosen: Iterable[int]) -> list[MovedUnit]:
        whole = self.random.random() < 0.3
        units: list[MovedUnit] = []
        for at in chosen:
            bundle = self.held[at]
            in_lanes = whole or bundle_requests(bundle) > MOST_UNITS
            for lane in bundle.lanes:
                parts = [lane.runs] if in_lanes else [(run,) for run in lane.runs]
                for runs in parts:
                    copies = lane.times if in_lanes else lane.times * runs[0].times
                    one = runs if in_lanes else (RequestRun(runs[0].demand, 1),)
                    units += [self._unit(one)] * copies
        noise = self.random.choice((0.0, 0.1, 0.5))
        units.sort(key=lambda unit: -unit.seconds * (1 + noise * self.random.random()))
        return units

    def _unit(self, runs: tuple[RequestRun, ...]) -> MovedUnit:
        demands = self.problem.demands
        lane = Lane(runs)
        hint = demands[runs[0].demand].hint
        return MovedUnit(
            runs,
            lane_amounts(lane, demands),
            lane_seconds(lane, demands),
            sum(run.times for run in runs),
            self.by_name[hint] if hint else None,
        )

    def _replace(self, chosen: Iterable[int], opened: Iterable[Open]) -> None:
        for at in sorted(chosen, reverse=True):
            one = self.held[at]
            if one.times > 1:
                self.held[at] = Bundle(one.node_type, one.lanes, one.times - 1)
                continue
            last, cost = self.held.pop(), self.costs.pop()
            if at < len(self.held):  # the last one takes its place
                self.held[at], self.costs[at] = last, cost
        for bundle in opened:
            lanes: dict[tuple[RequestRun, ...], int] = {}
            for unit in bundle.lanes:
                lanes[unit.runs] = lanes.get(unit.runs, 0) + 1
            made = Bundle(bundle.node_type, tuple(Lane(*each) for each in lanes.items()))
            self.held.append(made)
            self.costs.append(self._cost(made))

    def _cost(self, bundle: Bundle) -> float:
        kind = self.problem.node_types[bundle.node_type]
        seconds = bundle_seconds(bundle, self.problem.demands)
        return kind.price * (kind.boot_seconds + seconds) / HOUR
