"""Make a packing with times cheaper: take some bundles apart and pack their requests again.

Bundles that waste much are divided into requests (or lanes), which are put into bundles one by one,
the longest first, each where it increases the cost least: behind a lane, beside the lanes, on a
larger node, or in a bundle of its own. The weight of free room in this decision is drawn at random,
so that large nodes are tried as well as small ones. The better of the old and the new bundles is
kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import NamedTuple

from rowtui.core.packing.cheapest_type import CheapestType
from rowtui.core.packing.model import (
    FOR_EVER,
    HOUR,
    Bundle,
    GoOn,
    Lane,
    PackingProblem,
    RequestRun,
    ResourceAmounts,
    bundle_cost,
    bundle_requests,
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

# Lanes of a bundle behind which a request is tried, and types that a new bundle is tried on.
MOST_LANES, MOST_TYPES = 12, 10

# The probability of skipping a bundle.
BLINK = 0.05


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
        self.costs = [bundle_cost(one, problem) for one in bundles]

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
            self.costs.append(bundle_cost(made, self.problem))


class MovedUnit(NamedTuple):
    """A request or a lane, which is moved as a whole."""

    runs: tuple[RequestRun, ...]
    amounts: ResourceAmounts
    seconds: int
    requests: int
    node_type: int | None


class Open:
    """A bundle that is being filled."""

    __slots__ = ("bound", "cost", "lanes", "load", "node_type", "requests", "room_worth", "seconds")

    def __init__(self) -> None:
        self.lanes: list[MovedUnit] = []
        self.load = ResourceAmounts()
        self.seconds = 0
        self.requests = 0
        self.node_type = -1
        self.cost = 0.0
        self.room_worth = 0.0
        self.bound: int | None = None  # the only type that the bundle may be on, or None


class _Place(NamedTuple):
    """Where a unit may go, and the state of the bundle then; `lane` is -1 beside the lanes."""

    score: float
    bundle: Open
    lane: int
    load: ResourceAmounts
    seconds: int
    node_type: int
    cost: float
    room_worth: float


class Recreator:
    """Packs units of one problem into new bundles."""

    def __init__(self, problem: PackingProblem, value: PriceBound, random: Random) -> None:
        self._problem = problem
        self._random = random
        self._finder = CheapestType(problem, timed=True)
        self._usable = [at for at, kind in enumerate(problem.node_types) if kind.at_most != 0]
        self._duals = dict(zip(self._usable, value.duals, strict=True))
        self._limits = [kind.most_seconds for kind in problem.node_types]
        self._largest = problem.largest_bundle or FOR_EVER
        self._patience = 0.0

    def pack(self, units: Sequence[MovedUnit]) -> list[Open]:
        """Return bundles with all units, which are packed in their order."""
        self._patience = self._random.random()
        opened: list[Open] = []
        for unit in units:
            places = list(self._alone(unit))
            for bundle in opened:
                if self._random.random() >= BLINK:
                    places.extend(self._places(unit, bundle))
            best = min(places, key=lambda place: place.score)
            bundle = best.bundle
            if not bundle.lanes:
                opened.append(bundle)
                bundle.bound = unit.node_type
            if best.lane < 0:
                bundle.lanes.append(unit)
            else:
                bundle.lanes[best.lane] = _behind(bundle.lanes[best.lane], unit)
            bundle.load, bundle.seconds = best.load, best.seconds
            bundle.node_type, bundle.cost = best.node_type, best.cost
            bundle.room_worth = best.room_worth
            bundle.requests += unit.requests
            if unit.node_type is not None:
                bundle.bound = unit.node_type
        return opened

    def _alone(self, unit: MovedUnit) -> Iterable[_Place]:
        """Return places in a new bundle, on the cheapest type and on some others."""
        numbers: list[int] = self._usable
        if unit.node_type is not None:
            numbers = [unit.node_type]
        elif len(numbers) > MOST_TYPES:
            numbers = self._random.sample(numbers, MOST_TYPES)
        bundle = Open()
        cheapest = self._type_for(unit.amounts, unit.seconds, unit.node_type)
        for number in {cheapest, *numbers}:
            kind = self._problem.node_types[number]
            if unit.amounts.fits(kind.amounts) and unit.seconds <= self._limits[number]:
                yield self._place(bundle, -1, unit.amounts, unit.seconds, number)

    def _places(self, unit: MovedUnit, bundle: Open) -> Iterable[_Place]:
        """Return the places in a bundle: beside its lanes, or behind one of them."""
        if bundle.requests + unit.requests > self._largest:
            return
        bound = bundle.bound if unit.node_type is None else unit.node_type
        if bundle.bound not in {None, bound}:
            return  # the unit and the bundle have to be on different types
        loads = [(-1, bundle.load.plus(unit.amounts), max(bundle.seconds, unit.seconds))]
        for at, lane in enumerate(bundle.lanes[:MOST_LANES]):
            grown = lane.amounts.most(unit.amounts)
            load = bundle.load.plus(lane.amounts, -1).plus(grown)
            loads.append((at, load, max(bundle.seconds, lane.seconds + unit.seconds)))
        for at, load, seconds in loads:
            now = bundle.node_type if bound is None else bound
            kind = self._problem.node_types[now]
            if not load.fits(kind.amounts) or seconds > self._limits[now]:
                now = -1 if bound is not None else self._type_for(load, seconds, None)
            if now >= 0:
                yield self._place(bundle, at, load, seconds, now)

    def _type_for(self, load: ResourceAmounts, seconds: int, bound: int | None) -> int:
        return bound if bound is not None else self._finder.for_load((*load, seconds), -1)

    def _place(
        self, bundle: Open, lane: int, load: ResourceAmounts, seconds: int, number: int
    ) -> _Place:
        kind = self._problem.node_types[number]
        cost = self._finder.cost(number, seconds)
        room = zip(self._duals[number], kind.amounts, load, strict=False)
        room_worth = sum(dual * (there - taken) for dual, there, taken in room) * seconds / HOUR
        change = cost - bundle.cost - self._patience * (room_worth - bundle.room_worth)
        return _Place(change, bundle, lane, load, seconds, number, cost, room_worth)


def _behind(lane: MovedUnit, unit: MovedUnit) -> MovedUnit:
    """Return the lane with the unit at its end."""
    runs: dict[int, int] = {}
    for run in (*lane.runs, *unit.runs):
        runs[run.demand] = runs.get(run.demand, 0) + run.times
    return MovedUnit(
        tuple(RequestRun(*each) for each in runs.items()),
        lane.amounts.most(unit.amounts),
        lane.seconds + unit.seconds,
        lane.requests + unit.requests,
        lane.node_type if unit.node_type is None else unit.node_type,
    )
