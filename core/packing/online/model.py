"""Events, actions, policy and state of the online engine; all values are immutable.

Source: CAVATICA's documentation, "Multi-instance scheduling algorithm".
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rowtui.core.base.text import plural, visible
from rowtui.core.packing.model import InstanceType, UnplacedRequests
from rowtui.core.packing.node_types import Catalogue
from rowtui.core.packing.seed import SeedJob

# Count instances against the limits of each type and of all types.
#
# Sets of node types are bits of a `Catalogue`.


_NAMED = 3  # number of node types that a reason names


class Quotas:
    """Counts the instances in use against the limits.

    `usable`: the types whose limit is not 0; `open`: the types that allow one more instance.
    `reopened`: whether a type has become open that was not open before; the engine resets this flag
    when no waiting job can use an open type.
    """

    def __init__(self, node_types: Sequence[InstanceType], catalogue: Catalogue, most: int | None):
        """`most`: the limit of instances of all types together, or None."""
        self._node_types, self._catalogue, self._most = node_types, catalogue, most
        self._in_use = [0] * len(node_types)
        self._all_in_use = 0
        self.usable = 0
        for each, bit in zip(node_types, catalogue.bits, strict=True):
            if each.at_most is None or each.at_most > 0:
                self.usable |= bit
        self._not_used_up = self.usable
        self.open = self.usable
        self.reopened = False

    @property
    def all_in_use(self) -> bool:
        """Whether no further instance of any type is allowed."""
        return self._most is not None and self._all_in_use >= self._most

    def take(self, node_type: int) -> None:
        """Count one more instance."""
        self._in_use[node_type] += 1
        self._all_in_use += 1
        at_most = self._node_types[node_type].at_most
        if at_most is not None and self._in_use[node_type] >= at_most:
            self._not_used_up &= ~self._catalogue.bits[node_type]
        self.open = 0 if self.all_in_use else self._not_used_up

    def give_back(self, node_type: int) -> None:
        """Count one instance less."""
        self._in_use[node_type] -= 1
        self._all_in_use -= 1
        at_most = self._node_types[node_type].at_most
        if at_most is not None and self._in_use[node_type] < at_most:
            self._not_used_up |= self._catalogue.bits[node_type]
        before = self.open
        self.open = 0 if self.all_in_use else self._not_used_up
        self.reopened = self.reopened or self.open != before

    def why_none(self, types: int) -> str:
        """Return why no further instance of these types is allowed."""
        if self._most is not None and self.all_in_use:
            return f"all {plural(self._most, 'instance')} that there may be are in use"
        named: list[str] = []
        more = 0
        while types:
            number = self._catalogue.cheapest(types)
            types &= ~self._catalogue.bits[number]
            if len(named) < _NAMED:
                named.append(f"{self._in_use[number]:,} {visible(self._node_types[number].name)}")
            else:
                more += 1
        if more:
            named.append(f"those of {plural(more, 'other type')}")
        return f"all that there may be are in use: {', '.join(named)}"


# -- events --------------------------------------------------------------------------------------


class JobsArrive(NamedTuple):
    """Jobs that are to run, in the order of their arrival."""

    jobs: tuple[SeedJob, ...]


class JobEnds(NamedTuple):
    """A job ended: it ran, or the user cancelled it."""

    job: str


class InstanceReady(NamedTuple):
    """An instance has booted."""

    instance: int


class InstanceLost(NamedTuple):
    """An instance failed, or never booted. Its jobs did not end."""

    instance: int


class TimePasses(NamedTuple):
    """No event except that time has passed."""


Event = JobsArrive | JobEnds | InstanceReady | InstanceLost | TimePasses

# -- actions -------------------------------------------------------------------------------------


class Allocate(NamedTuple):
    """Allocate an instance of this type; this number identifies the instance from now on."""

    instance: int
    node_type: str


class Start(NamedTuple):
    """Start a job on an instance, which is ready."""

    job: str
    instance: int


class ReleaseInstance(NamedTuple):
    """Release an instance, which has no jobs."""

    instance: int


class Refuse(NamedTuple):
    """A job that will not run. `unplaced`: what is missing on which type, if it fits nowhere."""

    job: str
    reason: str
    unplaced: UnplacedRequests | None = None


class Ignored(NamedTuple):
    """An event that is impossible or outdated and changed nothing."""

    event: str
    reason: str


Action = Allocate | Start | ReleaseInstance | Refuse | Ignored

# -- policy --------------------------------------------------------------------------------------


class Order(enum.Enum):
    """Which job is first. Jobs that are equal by this rule are ordered by arrival."""

    # CAVATICA's order: by the price of the instance that the job requires
    DEAREST_FIRST = "dearest first"
    ARRIVAL = "first come, first served"


@dataclass(frozen=True, slots=True)
class Policy:
    """How the engine decides. The defaults are those of the seed algorithm.

    `grace_seconds`: how long an empty instance is kept. `bind_while_booting`: whether a job that
    was assigned to a booting instance stays there; otherwise the job starts earlier on any instance
    with enough room. `most_instances`: the limit of all types together. `limits`: (node type,
    largest number), where the catalogue allows more.

    `most_restarts`: a job that lost its instance more often is refused, since the job or the
    provider of instances seems to be broken, and each attempt is paid. Raises: `ValueError` for no
    instances.
    """

    grace_seconds: float = 0.0
    order: Order = Order.DEAREST_FIRST
    bind_while_booting: bool = True
    most_instances: int | None = None
    most_restarts: int = 20
    limits: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        """Check the limits: no job could run without instances."""
        if self.most_instances is not None and self.most_instances < 1:
            raise ValueError("there has to be one instance at least")

    def limited(self, node_types: Sequence[InstanceType]) -> tuple[InstanceType, ...]:
        """Return the catalogue with the limits of this policy."""
        limits = dict(self.limits)
        return tuple(
            each
            if (limit := limits.get(each.name)) is None
            else each._replace(at_most=limit if each.at_most is None else min(each.at_most, limit))
            for each in node_types
        )


# -- state ---------------------------------------------------------------------------------------


class InstanceState(NamedTuple):
    """An instance. `jobs`: its jobs, including jobs that start when the instance is ready."""

    number: int
    node_type: str
    ready: bool
    allocated_at: float
    empty_since: float | None
    jobs: tuple[str, ...]


class OnlineJob(NamedTuple):
    """A job that has not ended. `waits`: why it has no instance; "" if it has one."""

    job: SeedJob
    arrival: int
    restarts: int
    instance: int | None
    waits: str = ""


@dataclass(frozen=True, slots=True)
class OnlineState:
    """The state at a time: an engine that starts with this state continues in the same way."""

    at: float = 0.0
    instances: tuple[InstanceState, ...] = ()
    jobs: tuple[OnlineJob, ...] = ()
    next_instance: int = 0
    next_arrival: int = 0

    @property
    def waiting(self) -> tuple[OnlineJob, ...]:
        """The jobs without an instance, in the order of their arrival."""
        return tuple(job for job in self.jobs if job.instance is None)
