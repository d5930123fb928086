"""The input and output of packing: immutable values in classes of identical requests.

A million requests of a workflow are a few dozen classes with a count each, and a packing of them is
a few dozen kinds of bundles with a count each, so the model never has a million objects.
`assign` derives the requests of each bundle. Source: CAVATICA's documentation, "Multi-instance
scheduling algorithm".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import NamedTuple, Protocol

from rowtui.core.base.lazy import np

# Called by code that improves a result until the call returns False: engines have no clock of their
# own.
GoOn = Callable[[], bool]

HOUR = 3600.0  # seconds
FOR_EVER = 2**62  # seconds, if there is no limit


class ResourceAmounts(NamedTuple):
    """The amounts that a request needs, a lane takes or a node has. Memory and disk are in MB."""

    cpus: int = 0
    memory_mb: int = 0
    gpus: int = 0
    disk_mb: int = 0

    def fits(self, room: ResourceAmounts) -> bool:
        """Whether all of these amounts fit in `room`."""
        return (
            self.cpus <= room.cpus
            and self.memory_mb <= room.memory_mb
            and self.gpus <= room.gpus
            and self.disk_mb <= room.disk_mb
        )

    def plus(self, other: ResourceAmounts, times: int = 1) -> ResourceAmounts:
        """Return the sum, with `times` of the other amounts (the difference if negative)."""
        return ResourceAmounts(
            self.cpus + times * other.cpus,
            self.memory_mb + times * other.memory_mb,
            self.gpus + times * other.gpus,
            self.disk_mb + times * other.disk_mb,
        )

    def most(self, other: ResourceAmounts) -> ResourceAmounts:
        """Return the larger amount of each resource."""
        return ResourceAmounts(*map(max, self, other))


class InstanceType(NamedTuple):
    """Machines of one kind. `amounts`: the part of a whole machine that jobs may use.

    `price`: for an hour, in the unit of the catalogue. `at_most`: how many there may be at a time,
    None for any number. `boot_seconds`: time that is paid before a job begins. `longest_seconds`:
    the longest time of a bundle on this type, None without a limit.
    """

    name: str
    amounts: ResourceAmounts
    price: float
    at_most: int | None = None
    boot_seconds: int = 0
    longest_seconds: int | None = None

    @property
    def most_seconds(self) -> int:
        """The longest time of a bundle, `FOR_EVER` without a limit."""
        return FOR_EVER if self.longest_seconds is None else self.longest_seconds


class Demand(NamedTuple):
    """A class of identical requests. `seconds` is 0 if their time does not count.

    `hint`: the name of the node type that they must run on, "" for any type.
    """

    amounts: ResourceAmounts
    seconds: int = 0
    hint: str = ""


@dataclass(frozen=True, slots=True)
class PackingProblem:
    """The requests to pack: `counts[n]` requests of class `demands[n]`; the classes all differ.

    Either every demand has seconds or none has. `largest_bundle`: the largest number of requests in
    one bundle, or None.
    """

    node_types: tuple[InstanceType, ...]
    demands: tuple[Demand, ...]
    counts: tuple[int, ...]
    largest_bundle: int | None = None

    @property
    def timed(self) -> bool:
        """Whether time counts: bundles are paid by their length, and requests may share a lane."""
        return bool(self.demands) and self.demands[0].seconds > 0


class RequestRun(NamedTuple):
    """`times` requests of one class (its number), one after another."""

    demand: int
    times: int


class Lane(NamedTuple):
    """Requests that run one after another, and the number of identical lanes of a bundle.

    A lane takes the largest amount of each resource that one of its requests needs, and the sum of
    their times (Fastr's rule for a list of jobs on one host).
    """

    runs: tuple[RequestRun, ...]
    times: int = 1


@dataclass(frozen=True, slots=True)
class Bundle:
    """One scheduler job on one node: lanes side by side. `times`: the number of identical bundles.

    `node_type` is a number in the problem's list.
    """

    node_type: int
    lanes: tuple[Lane, ...]
    times: int = 1


class UnplacedRequests(NamedTuple):
    """Requests of one class that fit on no type, with the nearest type and the missing resources.

    `nearest` is "" if there is no node type at all, or no type with the hinted name.
    """

    demand: int
    requests: int
    nearest: str
    missing: tuple[str, ...]

    def __str__(self) -> str:
        """Return one line for the user."""
        what = "; ".join(self.missing)
        return f"{self.nearest}: {what}" if self.nearest else what


@dataclass(frozen=True, slots=True)
class PackResult:
    """A packing. `packer`: its packer. No packing of the same requests costs less than `bound`.

    Costs are in the unit of the node types' prices; `proven`: the packing is the best possible.
    """

    problem: PackingProblem
    packer: str
    bundles: tuple[Bundle, ...]
    cost: float
    bound: float
    unplaced: tuple[UnplacedRequests, ...] = ()
    proven: bool = False

    @property
    def nodes(self) -> int:
        """The number of bundles."""
        return sum(bundle.times for bundle in self.bundles)


class Packer(Protocol):
    """Puts requests into bundles. Every request of the problem fits on some node type."""

    name: str
    summary: str  # one line for the user

    def pack(self, problem: PackingProblem, go_on: GoOn) -> tuple[Bundle, ...]:
        """Return bundles with each request exactly once.

        The packer improves the result while `go_on` returns True; the result is good in any case.
        """


# -- derived values ------------------------------------------------------------------------------


def fits(demand: Demand, node_type: InstanceType) -> bool:
    """Whether one request of the class can run on a node of the type, regardless of hints."""
    in_time = demand.seconds <= node_type.most_seconds
    return in_time and node_type.at_most != 0 and demand.amounts.fits(node_type.amounts)


def lane_amounts(lane: Lane, demands: tuple[Demand, ...]) -> ResourceAmounts:
    """Return the amounts of one such lane: the largest of each resource."""
    amounts = ResourceAmounts()
    for run in lane.runs:
        amounts = amounts.most(demands[run.demand].amounts)
    return amounts


def lane_seconds(lane: Lane, demands: tuple[Demand, ...]) -> int:
    """Return the time of one such lane."""
    return sum(run.times * demands[run.demand].seconds for run in lane.runs)


def bundle_amounts(bundle: Bundle, demands: tuple[Demand, ...]) -> ResourceAmounts:
    """Return the amounts that all lanes of one such bundle take together."""
    amounts = ResourceAmounts()
    for lane in bundle.lanes:
        amounts = amounts.plus(lane_amounts(lane, demands), lane.times)
    return amounts


def bundle_seconds(bundle: Bundle, demands: tuple[Demand, ...]) -> int:
    """Return the time of one such bundle, which is the time of its longest lane."""
    return max((lane_seconds(lane, demands) for lane in bundle.lanes), default=0)


def bundle_requests(bundle: Bundle) -> int:
    """Return the number of requests in one such bundle."""
    return sum(lane.times * sum(run.times for run in lane.runs) for lane in bundle.lanes)


def bundle_cost(bundle: Bundle, problem: PackingProblem) -> float:
    """Return the cost of one such bundle: its time and the boot, or an hour without time."""
    node_type = problem.node_types[bundle.node_type]
    if not problem.timed:
        return node_type.price
    seconds = node_type.boot_seconds + bundle_seconds(bundle, problem.demands)
    return node_type.price * seconds / HOUR


class Members(NamedTuple):
    """A single bundle (its `times` is ignored), and the requests of each of its lanes in order."""

    bundle: Bundle
    lanes: list[list[int]]


@dataclass(frozen=True, slots=True)
class PlacedRequests:
    """The place of each request. `by_class`: the requests of each class, placed requests first.

    `unplaced`: the requests of each class (by its number) that are in no bundle.
    """

    result: PackResult
    by_class: tuple[list[int], ...]
    unplaced: dict[int, list[int]]

    @property
    def bundles(self) -> Iterator[Members]:
        """Every single bundle, in order; each placed request is in one of them."""
        nexts = [0] * len(self.by_class)
        for bundle in self.result.bundles:
            for _ in range(bundle.times):
                yield Members(bundle, self._hand_out(bundle, nexts))

    def _hand_out(self, bundle: Bundle, nexts: list[int]) -> list[list[int]]:
        """Return the lanes of one bundle, with the next requests of each class."""
        lanes: list[list[int]] = []
        for runs, times in bundle.lanes:
            # every lane looks like this if time does not count
            if len(runs) == 1 and runs[0].times == 1:
                number = runs[0].demand
                at = nexts[number]
                nexts[number] = at + times
                lanes += [[one] for one in self.by_class[number][at : at + times]]
                continue
            for _ in range(times):
                lane: list[int] = []
                for number, there in runs:
                    at = nexts[number]
                    nexts[number] = at + there
                    lane += self.by_class[number][at : at + there]
                lanes.append(lane)
        return lanes


def assign(result: PackResult, classes: Sequence[int]) -> PlacedRequests:
    """Return the place of each request. `classes[i]`: the number of the class of request i.

    Raises: ValueError if the classes do not match the numbers of requests in the problem.
    """
    counts = result.problem.counts
    by_class = _by_class(classes, len(counts))
    if tuple(len(those) for those in by_class) != counts:
        raise ValueError("these are not the requests that were packed")
    unplaced = {}
    for one in result.unplaced:
        those = by_class[one.demand]
        unplaced[one.demand] = those[len(those) - one.requests :]
    return PlacedRequests(result, by_class, unplaced)


def _by_class(classes: Sequence[int], number: int) -> tuple[list[int], ...]:
    """Return the requests of each class, in their order."""
    column = np.asarray(classes, dtype=np.int64)
    if len(column) and not (column.min() >= 0 and column.max() < number):
        raise ValueError("a request is of a class that is not in the problem")
    order = np.argsort(column, kind="stable")
    ends = np.cumsum(np.bincount(column, minlength=number)).tolist()
    requests: list[int] = order.tolist()
    return tuple(requests[begin:end] for begin, end in zip([0, *ends], ends, strict=False))


def has_solver() -> bool:
    """Whether HiGHS is installed (the extra `exact`), which column generation needs."""
    return find_spec("highspy") is not None
