"""Simulate a policy: the online engine over a stream of arrivals, with boots and failures.

The input is node types, arrivals with their real run times, a policy and failure rates; the output
is the cost, the makespan, the waiting times of jobs and the utilisation of instances. A job that
loses its instance starts again. Instances are paid from their allocation to their release or loss.
The same arguments give the same result; the simulated time does not pass in reality.
"""

from __future__ import annotations

import math
import random
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

from rowtui.core.packing.heuristics.bins import Bin, Item, VectorPacker, Vectors
from rowtui.core.packing.model import HOUR, InstanceType, ResourceAmounts
from rowtui.core.packing.node_types import Catalogue
from rowtui.core.packing.online.engine import Online
from rowtui.core.packing.online.model import (
    Action,
    Allocate,
    Event,
    InstanceLost,
    InstanceReady,
    JobEnds,
    JobsArrive,
    Order,
    Policy,
    Refuse,
    ReleaseInstance,
    Start,
    TimePasses,
)
from rowtui.core.packing.seed import SeedJob, seed_patterns


class Arrival(NamedTuple):
    """A job that will arrive. `at`: seconds from the beginning; `seconds`: its run time."""

    at: float
    amounts: ResourceAmounts
    seconds: float
    hint: str = ""


class Faults(NamedTuple):
    """How often instances fail. `boots`: the share of instances that never boot, from 0 to 1."""

    per_instance_hour: float = 0.0
    boots: float = 0.0
    seed: int = 1


NO_FAULTS = Faults()


class ResourceUse(NamedTuple):
    """The share of the paid resources that jobs used, for each resource; 0 if nothing was paid."""

    cpus: float
    memory: float
    gpus: float
    disk: float


class TypeUse(NamedTuple):
    """The use of a node type: the peak and total number of instances, the hours and the cost."""

    node_type: str
    peak: int
    total: int
    hours: float
    cost: float


@dataclass(frozen=True, slots=True)
class PackingSimulation:
    """The result. Times are in seconds, costs in the unit of the prices.

    `makespan`: from the first arrival to the last end. A job waited while it did not run, or during
    runs that were lost; `mean_wait` and `p95_wait` are over the jobs that ended. `restarts`: of
    jobs, after `lost` instances. `refused`: (reason, jobs). `not_ended`: jobs that neither ended
    nor were refused, since they would run for ever.
    """

    policy: Policy
    jobs: int
    ended: int
    cost: float
    makespan: float
    mean_wait: float
    p95_wait: float
    utilisation: ResourceUse
    types: tuple[TypeUse, ...]
    peak: int
    instances: int
    restarts: int
    lost: int
    refused: tuple[tuple[str, int], ...]
    not_ended: int


def simulate(
    node_types: Sequence[InstanceType],
    arrivals: Iterable[Arrival],
    policy: Policy | None = None,
    faults: Faults = NO_FAULTS,
) -> PackingSimulation:
    """Simulate until no remaining job can run."""
    return _Run(node_types, arrivals, policy or Policy(), faults).result()


def compare(
    node_types: Sequence[InstanceType],
    arrivals: Sequence[Arrival],
    policies: Mapping[str, Policy],
    faults: Faults = NO_FAULTS,
) -> dict[str, PackingSimulation]:
    """Simulate the same arrivals under several policies."""
    return {
        name: simulate(node_types, arrivals, policy, faults) for name, policy in policies.items()
    }


def usual_policies(
    node_types: Sequence[InstanceType], arrivals: Sequence[Arrival], machines: int = 0
) -> dict[str, Policy]:
    """Return the usual policies to compare. `machines`: the number of pilots, 0 for none."""
    boot = max((each.boot_seconds for each in node_types), default=0)
    policies = {
        "seed": Policy(),
        "first come, first served": Policy(order=Order.ARRIVAL),
        "kept while another would boot": Policy(grace_seconds=float(boot)),
        "free to move while booting": Policy(bind_while_booting=False),
    }
    if machines > 0:
        policies[f"{machines:,} pilots"] = pilots(node_types, arrivals, machines)
    return policies


def pilots(
    node_types: Sequence[InstanceType],
    arrivals: Iterable[Arrival],
    machines: int,
    packer: VectorPacker = lambda vectors, _: tuple(seed_patterns(vectors)),
) -> Policy:
    """Return a policy with about so many instances, which are refilled with waiting jobs.

    The policy does not need run times. The limit of each type is its share in a packing of all jobs
    at once, and at least one for each type of this packing. A limit on all types together would not
    suffice: instances with GPUs would be refilled with jobs that need no GPU, and would never be
    released.
    """
    kinds = Counter((arrival.amounts, arrival.hint) for arrival in arrivals)
    usable = [each for each in node_types if each.at_most != 0]
    number_of = {each.name: number for number, each in enumerate(usable)}
    catalogue = Catalogue([(each.amounts, each.price) for each in usable])
    items = []
    for (need, hint), number in kinds.items():
        own = number_of.get(hint) if hint else None
        holding = catalogue.holding(need)
        if holding and (not hint or (own is not None and holding & catalogue.bits[own])):
            items.append(Item(need, number, own))
    bins = tuple(Bin(each.amounts, each.price) for each in usable)
    used: Counter[int] = Counter()
    for pattern in packer(Vectors(bins, tuple(items)), lambda: False):
        used[pattern.bin] += pattern.times
    limits = (
        [(each.name, -(-machines * used[n] // used.total())) for n, each in enumerate(usable)]
        if used
        else []
    )
    return Policy(limits=tuple(limits))


# Events at the same time happen in this order, before the arrivals of this time.
_ENDS, _LOST, _READY = range(3)


class _Use:
    """Counts the instances of one type."""

    __slots__ = ("now", "peak", "seconds", "total")

    def __init__(self) -> None:
        self.now = self.peak = self.total = 0
        self.seconds = 0.0


class _Instance:
    """An instance that is paid. `runs`: since when each job runs there."""

    __slots__ = ("number_of_type", "runs", "since")

    def __init__(self, number_of_type: int, since: float) -> None:
        self.number_of_type, self.since = number_of_type, since
        self.runs: dict[int, float] = {}


class _Run:
    """A running simulation. Jobs are identified by their number in the order of arrival."""

    def __init__(
        self,
        node_types: Sequence[InstanceType],
        arrivals: Iterable[Arrival],
        policy: Policy,
        faults: Faults,
    ) -> None:
        self._node_types, self._policy, self._faults = tuple(node_types), policy, faults
        self._number_of = {each.name: number for number, each in enumerate(node_types)}
        self._arrivals = sorted(arrivals, key=lambda arrival: arrival.at)
        self._engine = Online(node_types, policy)
        self._chance = random.Random(faults.seed)
        # (time, kind of event, number of job or instance, number of the run)
        self._coming: list[tuple[float, int, int, int]] = []
        self._arrived = 0
        self._next_arrival = self._arrivals[0].at if self._arrivals else math.inf
        self._instances: dict[int, _Instance] = {}
        self._runs = array("i", bytes(4 * len(self._arrivals)))  # how often each job was started
        self._where: dict[int, int] = {}  # running job -> instance
        self._uses = [_Use() for _ in node_types]
        self._busy = [0.0, 0.0, 0.0, 0.0]
        self._waits = array("d")
        self._refused: Counter[str] = Counter()
        self._peak = self._lost = self._restarts = 0
        self._last_end = self._arrivals[0].at if self._arrivals else 0.0
        self._run()

    def _run(self) -> None:
        at = 0.0
        while True:
            due = self._next_time()
            if due == math.inf:
                break
            at = max(at, due)
            events = self._due_at(at)
            for action in self._engine.step(at, *events):
                self._carry_out(action, at)
        for number in list(self._instances):  # instances that the policy never releases
            self._pay(number, self._last_end)

    def _next_time(self) -> float:
        coming, instances = self._coming, self._instances
        while coming and coming[0][1] != _ENDS and coming[0][2] not in instances:
            heappop(coming)  # an event of an instance that was released before
        due = coming[0][0] if coming else math.inf
        due = min(due, self._next_arrival)
        release = self._engine.next_release
        return due if release is None or release > due else release

    def _due_at(self, at: float) -> list[Event]:
        coming = self._coming
        events: list[Event] = []
        while coming and coming[0][0] <= at:
            _, what, number, run = heappop(coming)
            if what == _ENDS:
                if self._runs[number] == run and number in self._where:
                    self._end(number, at)
                    events.append(JobEnds(str(number)))
            elif number in self._instances:
                if what == _LOST:
                    self._lose(number, at)
                    events.append(InstanceLost(number))
                else:
                    events.append(InstanceReady(number))
        if self._next_arrival <= at:
            events.append(JobsArrive(tuple(self._arriving(at))))
        return events or [TimePasses()]

    def _arriving(self, at: float) -> Iterator[SeedJob]:
        while self._next_arrival <= at:
            number = self._arrived
            arrival = self._arrivals[number]
            yield SeedJob(str(number), arrival.amounts, arrival.hint)
            self._arrived += 1
            if self._arrived == len(self._arrivals):
                self._next_arrival = math.inf
            else:
                self._next_arrival = self._arrivals[self._arrived].at

    def _carry_out(self, action: Action, at: float) -> None:
        if isinstance(action, Start):
            number = int(action.job)
            self._runs[number] += 1
            self._where[number] = action.instance
            self._instances[action.instance].runs[number] = at
            end = at + self._arrivals[number].seconds
            heappush(self._coming, (end, _ENDS, number, self._runs[number]))
        elif isinstance(action, Allocate):
            self._begin(action.instance, self._number_of[action.node_type], at)
        elif isinstance(action, ReleaseInstance):
            self._pay(action.instance, at)
        elif isinstance(action, Refuse):
            self._refused[action.reason] += 1

    def _begin(self, number: int, node_type: int, at: float) -> None:
        self._instances[number] = _Instance(node_type, at)
        use = self._uses[node_type]
        use.now += 1
        use.total += 1
        use.peak = max(use.peak, use.now)
        self._peak = max(self._peak, len(self._instances))
        ready = at + self._node_types[node_type].boot_seconds
        fails_to_boot = self._faults.boots > 0 and self._chance.random() < self._faults.boots
        heappush(self._coming, (ready, _LOST if fails_to_boot else _READY, number, 0))
        if self._faults.per_instance_hour > 0:
            life = self._chance.expovariate(self._faults.per_instance_hour / HOUR)
            heappush(self._coming, (at + life, _LOST, number, 0))

    def _end(self, number: int, at: float) -> None:
        arrival = self._arrivals[number]
        self._stop(number, self._where.pop(number), at)
        self._waits.append(max(0.0, at - arrival.at - arrival.seconds))
        self._last_end = at

    def _lose(self, number: int, at: float) -> None:
        self._lost += 1
        for job in list(self._instances[number].runs):
            del self._where[job]
            self._stop(job, number, at)
            self._restarts += 1
        self._pay(number, at)

    def _stop(self, number: int, instance: int, at: float) -> None:
        seconds = at - self._instances[instance].runs.pop(number)
        busy = self._busy
        for resource, amount in enumerate(self._arrivals[number].amounts):
            if amount:
                busy[resource] += amount * seconds

    def _pay(self, number: int, at: float) -> None:
        instance = self._instances.pop(number)
        use = self._uses[instance.number_of_type]
        use.now -= 1
        use.seconds += at - instance.since

    def result(self) -> PackingSimulation:
        """Return the result."""
        types = tuple(
            TypeUse(
                each.name, use.peak, use.total, use.seconds / HOUR, use.seconds / HOUR * each.price
            )
            for each, use in zip(self._node_types, self._uses, strict=True)
            if use.total
        )
        waits = sorted(self._waits)
        p95 = waits[math.ceil(0.95 * len(waits)) - 1] if waits else 0.0
        first = self._arrivals[0].at if self._arrivals else 0.0
        return PackingSimulation(
            policy=self._policy,
            jobs=len(self._arrivals),
            ended=len(waits),
            cost=sum(each.cost for each in types),
            makespan=self._last_end - first,
            mean_wait=math.fsum(waits) / len(waits) if waits else 0.0,
            p95_wait=p95,
            utilisation=self._utilisation(),
            types=types,
            peak=self._peak,
            instances=sum(each.total for each in types),
            restarts=self._restarts,
            lost=self._lost,
            refused=tuple(self._refused.most_common()),
            not_ended=len(self._arrivals) - len(waits) - self._refused.total(),
        )

    def _utilisation(self) -> ResourceUse:
        shares = []
        for resource, busy in enumerate(self._busy):
            paid = sum(
                each.amounts[resource] * use.seconds
                for each, use in zip(self._node_types, self._uses, strict=True)
            )
            shares.append(busy / paid if paid > 0 else 0.0)
        return ResourceUse(*shares)
