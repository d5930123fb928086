"""What the online engine is told, what it asks for, and how it stands. All of it immutable.

Source: CAVATICA's documentation, "Multi-instance scheduling algorithm".
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rowtui.core.packing.model import NodeType, Unplaced
from rowtui.core.packing.seed import Job

# -- events: what happened -----------------------------------------------------------------------


class JobsArrive(NamedTuple):
    """Jobs that want to run, in the order of their arrival."""

    jobs: tuple[Job, ...]


class JobEnds(NamedTuple):
    """A job is over, however it ended: it ran, or nobody wants it any more."""

    job: str


class InstanceReady(NamedTuple):
    """An instance has booted."""

    instance: int


class InstanceLost(NamedTuple):
    """An instance failed, or never booted. What ran there did not end."""

    instance: int


class TimePasses(NamedTuple):
    """Nothing else happened."""


Event = JobsArrive | JobEnds | InstanceReady | InstanceLost | TimePasses

# -- actions: what is to be done -----------------------------------------------------------------


class Allocate(NamedTuple):
    """Get an instance of this type; it is called by this number from now on."""

    instance: int
    node_type: str


class Start(NamedTuple):
    """Start a job on an instance, which is ready."""

    job: str
    instance: int


class Release(NamedTuple):
    """Give an instance back: nothing runs there."""

    instance: int


class Refuse(NamedTuple):
    """A job that will not run. `unplaced`: what is missing where, if it fits nowhere."""

    job: str
    reason: str
    unplaced: Unplaced | None = None


class Ignored(NamedTuple):
    """Something was told that cannot be, or is over: nothing was changed."""

    event: str
    reason: str


Action = Allocate | Start | Release | Refuse | Ignored

# -- policy --------------------------------------------------------------------------------------


class Order(enum.Enum):
    """Which job is first. Of jobs that are alike in this: who came first."""

    DEAREST_FIRST = "dearest first"  # the seed's: by the price of the instance that it requires
    ARRIVAL = "first come, first served"


@dataclass(frozen=True, slots=True)
class Policy:
    """How the engine decides. As it stands: as the seed does.

    `grace_seconds`: how long an empty instance is kept. `bind_while_booting`: a job that came to
    an instance which boots stays there; if not, it starts on any instance where there is room
    before. `most_instances`: of all types together. `limits`: (node type, how many there may be),
    where the catalogue allows more.
    `most_restarts`: a job that lost its instance more often is refused, as it, or what offers
    instances, seems to be broken, and each attempt is paid. Raises: `ValueError` for no instances.
    """

    grace_seconds: float = 0.0
    order: Order = Order.DEAREST_FIRST
    bind_while_booting: bool = True
    most_instances: int | None = None
    most_restarts: int = 20
    limits: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        """Without instances nothing would ever run."""
        if self.most_instances is not None and self.most_instances < 1:
            raise ValueError("there has to be one instance at least")

    def limited(self, node_types: Sequence[NodeType]) -> tuple[NodeType, ...]:
        """The catalogue with the limits of this policy."""
        limits = dict(self.limits)
        return tuple(
            each
            if (limit := limits.get(each.name)) is None
            else each._replace(at_most=limit if each.at_most is None else min(each.at_most, limit))
            for each in node_types
        )


# -- state ---------------------------------------------------------------------------------------


class InstanceState(NamedTuple):
    """An instance. `jobs`: those that are on it, also if they only start when it is ready."""

    number: int
    node_type: str
    ready: bool
    allocated_at: float
    empty_since: float | None
    jobs: tuple[str, ...]


class JobState(NamedTuple):
    """A job that has not ended. `waits`: why it has no instance; "" if it has one."""

    job: Job
    arrival: int
    restarts: int
    instance: int | None
    waits: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """How everything stands at a time: an engine that begins with it goes on just the same."""

    at: float = 0.0
    instances: tuple[InstanceState, ...] = ()
    jobs: tuple[JobState, ...] = ()
    next_instance: int = 0
    next_arrival: int = 0

    @property
    def waiting(self) -> tuple[JobState, ...]:
        """The jobs without an instance, in the order of their arrival."""
        return tuple(job for job in self.jobs if job.instance is None)
