"""What is packed, on what, and what comes out. Immutable, and in classes of identical requests.

A million requests of a workflow are a few dozen classes with a count each, and a packing of them is
a few dozen kinds of bundles with a count each: nothing here has a million objects. Which request is
in which bundle is worked out from that by `members.py`. Source: CAVATICA's documentation,
"Multi-instance scheduling algorithm".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

# Asked by whoever improves a result as long as it may: engines have no clock of their own.
GoOn = Callable[[], bool]

HOUR = 3600.0  # seconds


class Amounts(NamedTuple):
    """What a request needs, a lane takes or a node has. Memory and disk in MB."""

    cpus: int = 0
    memory_mb: int = 0
    gpus: int = 0
    disk_mb: int = 0

    def fits(self, room: Amounts) -> bool:
        """Whether all of this is in `room`."""
        return (
            self.cpus <= room.cpus
            and self.memory_mb <= room.memory_mb
            and self.gpus <= room.gpus
            and self.disk_mb <= room.disk_mb
        )

    def plus(self, other: Amounts, times: int = 1) -> Amounts:
        """The sum, with `times` of the other (negative: the difference)."""
        return Amounts(
            self.cpus + times * other.cpus,
            self.memory_mb + times * other.memory_mb,
            self.gpus + times * other.gpus,
            self.disk_mb + times * other.disk_mb,
        )

    def most(self, other: Amounts) -> Amounts:
        """The larger of each."""
        return Amounts(*map(max, self, other))


class NodeType(NamedTuple):
    """Machines of one kind. `amounts`: of a whole one, as far as jobs may use it.

    `price`: for an hour, in whatever unit the catalogue has. `at_most`: how many there may be at
    a time, None for as many as wanted. `boot_seconds`: paid before a job begins.
    `longest_seconds`: how long a bundle on it may take, None without a limit.
    """

    name: str
    amounts: Amounts
    price: float
    at_most: int | None = None
    boot_seconds: int = 0
    longest_seconds: int | None = None


class Demand(NamedTuple):
    """A class of identical requests. `seconds` 0: how long they take does not count.

    `hint`: the name of the node type that they must run on, "" for any.
    """

    amounts: Amounts
    seconds: int = 0
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is to be packed: `counts[n]` requests of class `demands[n]`, which are all different.

    Either every demand has seconds or none has. `largest_bundle`: requests in one bundle at most.
    """

    node_types: tuple[NodeType, ...]
    demands: tuple[Demand, ...]
    counts: tuple[int, ...]
    largest_bundle: int | None = None

    @property
    def timed(self) -> bool:
        """Whether time counts: bundles are paid by their length, and requests may share a lane."""
        return bool(self.demands) and self.demands[0].seconds > 0


class Run(NamedTuple):
    """`times` requests of one class (its number), one after another."""

    demand: int
    times: int


class Lane(NamedTuple):
    """Requests that run one after another, and how many lanes of a bundle are just like that.

    It takes the most of each resource that one of them needs, and the sum of their times
    (Fastr's rule for a list of jobs on one host).
    """

    runs: tuple[Run, ...]
    times: int = 1


@dataclass(frozen=True, slots=True)
class Bundle:
    """One scheduler job on one node: lanes side by side. `times`: how many bundles are like that.

    `node_type` is a number in the problem's list.
    """

    node_type: int
    lanes: tuple[Lane, ...]
    times: int = 1


class Unplaced(NamedTuple):
    """So many requests of one class that fit nowhere: the nearest type, and what is missing there.

    `nearest` is "" where there is no node type at all, or not the one that is hinted.
    """

    demand: int
    requests: int
    nearest: str
    missing: tuple[str, ...]

    def __str__(self) -> str:
        """One line for a person."""
        what = "; ".join(self.missing)
        return f"{self.nearest}: {what}" if self.nearest else what


@dataclass(frozen=True, slots=True)
class PackResult:
    """A packing. `packer`: who made it. No packing of the same requests costs less than `bound`.

    Costs are in the unit of the node types' prices; `proven`: it is the best possible.
    """

    problem: Problem
    packer: str
    bundles: tuple[Bundle, ...]
    cost: float
    bound: float
    unplaced: tuple[Unplaced, ...] = ()
    proven: bool = False

    @property
    def gap(self) -> float | None:
        """How far above the bound it is at most (0.014: within 1.4 %); None if all is free."""
        if self.bound > 0:
            return max(0.0, self.cost / self.bound - 1)
        return None if self.cost > 0 else 0.0

    @property
    def nodes(self) -> int:
        """How many bundles there are."""
        return sum(bundle.times for bundle in self.bundles)


class Packer(Protocol):
    """Puts requests into bundles. Every request of the problem fits on some node type."""

    name: str
    summary: str  # one line for a person

    def pack(self, problem: Problem, go_on: GoOn) -> tuple[Bundle, ...]:
        """All requests, each once. Better results while `go_on` says yes, a good one anyway."""
        ...


# -- what follows from these ---------------------------------------------------------------------


def lane_amounts(lane: Lane, demands: tuple[Demand, ...]) -> Amounts:
    """What one such lane takes: the most of each resource."""
    amounts = Amounts()
    for run in lane.runs:
        amounts = amounts.most(demands[run.demand].amounts)
    return amounts


def lane_seconds(lane: Lane, demands: tuple[Demand, ...]) -> int:
    """How long one such lane takes."""
    return sum(run.times * demands[run.demand].seconds for run in lane.runs)


def bundle_amounts(bundle: Bundle, demands: tuple[Demand, ...]) -> Amounts:
    """What all lanes of one such bundle take together."""
    amounts = Amounts()
    for lane in bundle.lanes:
        amounts = amounts.plus(lane_amounts(lane, demands), lane.times)
    return amounts


def bundle_seconds(bundle: Bundle, demands: tuple[Demand, ...]) -> int:
    """How long one such bundle takes: as its longest lane."""
    return max((lane_seconds(lane, demands) for lane in bundle.lanes), default=0)


def bundle_requests(bundle: Bundle) -> int:
    """How many requests are in one such bundle."""
    return sum(lane.times * sum(run.times for run in lane.runs) for lane in bundle.lanes)


def bundle_cost(bundle: Bundle, problem: Problem) -> float:
    """What one such bundle costs: its time and the boot; where no time counts, an hour."""
    node_type = problem.node_types[bundle.node_type]
    if not problem.timed:
        return node_type.price
    seconds = node_type.boot_seconds + bundle_seconds(bundle, problem.demands)
    return node_type.price * seconds / HOUR


def total_cost(bundles: tuple[Bundle, ...], problem: Problem) -> float:
    """What all of these cost."""
    return sum(bundle.times * bundle_cost(bundle, problem) for bundle in bundles)
