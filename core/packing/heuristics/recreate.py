"""Put requests or lanes into bundles one by one, each where it increases the cost least.

A place is behind a lane, beside the lanes, on a larger node, or in a bundle of its own. The weight
of free room in this decision is drawn at random, so that large nodes are tried as well as small
ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import NamedTuple

from rowtui.core.packing.cheapest_type import FOR_EVER, CheapestType
from rowtui.core.packing.model import HOUR, PackingProblem, RequestRun, ResourceAmounts
from rowtui.core.packing.optimal.bound import PriceBound

# Lanes of a bundle behind which a request is tried, and types that a new bundle is tried on.
MOST_LANES, MOST_TYPES = 12, 10

# The probability of skipping a bundle.
BLINK = 0.05


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
        self._limits = [
            FOR_EVER if kind.longest_seconds is None else kind.longest_seconds
            for kind in problem.node_types
        ]
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
        cost = kind.price * (kind.boot_seconds + seconds) / HOUR
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
