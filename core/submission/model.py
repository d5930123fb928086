"""Plans, and what the journal says of them. Immutable, and byte-stable as JSON."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.clusters.schedulers.base import JobKey, is_in_bundle

if TYPE_CHECKING:
    from rowtui.core.text import Cost


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a job goes. `partition` is "" for a scheduler without partitions."""

    cluster: str
    partition: str = ""

    def __str__(self) -> str:
        """`cluster/partition`."""
        return f"{self.cluster}/{self.partition}" if self.partition else self.cluster


@dataclass(frozen=True, slots=True)
class InBundle:
    """The bundle that a job is sent in, and its place there. All but the last two: of the bundle.

    A bundle is one scheduler job on one node: lanes side by side, in each one job after another,
    in the plan's order. `cpus`, `memory_mb` (None: nobody states it) and `gpus` are what the whole
    bundle asks for; `seconds` is how long it may take. `whole_node`: nobody else is to be there.
    `lane` is the number of the lane from 0; the job may take `own_seconds` in it.
    """

    token: str
    node_type: str
    cpus: int
    memory_mb: int | None
    gpus: int
    seconds: int
    whole_node: bool
    lane: int
    own_seconds: int


@dataclass(frozen=True, slots=True)
class PlannedJob:
    """One scheduler job: everything that would be sent, and why it would go there.

    `token` is unique to this job for ever; `depends_on` holds tokens of the same plan.
    `directories` are names (os.fsdecode form) in the order in which they are processed.
    Jobs with the same `array`, which is that array's token, are sent together as its tasks; those
    in the same bundle stand together, and are sent as one scheduler job.
    `starts_steps`: its command starts processes through the scheduler itself (a launcher).
    `node_type`: the only one that it may be packed on, "" for any.
    `requires`: what it needs of other directories, paths in the workspace.
    """

    token: str
    name: str
    action: str
    action_index: int
    directories: tuple[str, ...]
    destination: Destination
    script: str
    log_path: str
    processes: int
    cpus: int
    gpus: int
    memory_mb: int | None
    walltime_seconds: int
    cost: Cost
    attempt: int = 1
    warnings: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()  # why this destination, and why not the others
    depends_on: tuple[str, ...] = ()
    array: str = ""
    task: int | None = None
    basis: str = ""  # what a later attempt needs to know of this one: `basis.Basis`
    bundle: InBundle | None = None
    starts_steps: bool = False
    node_type: str = ""
    requires: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Packed:
    """What packing did for the jobs that go to one destination.

    Costs are in `unit` (a price's, or "core-hours"): `alone` is what the jobs would cost one
    by one, `cost` what the bundles do, and no packing of them costs less than `bound`.
    """

    destination: Destination
    packer: str
    jobs: int
    bundles: int
    alone: float
    cost: float
    bound: float
    unit: str


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Plan:
    """An ordered list of jobs that the user confirms as a whole. `id` is the hash of the rest."""

    id: str
    created: str  # ISO 8601, UTC
    user: str
    cluster: str
    scheduler: str
    jobs: tuple[PlannedJob, ...]
    cost: Cost
    warnings: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()  # groups left out, a sentence each (submit_whole, ...)
    packed: tuple[Packed, ...] = ()


class Step(enum.Enum):
    """Where one job of a plan stands."""

    PLANNED = "planned"
    SENDING = "sending"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNKNOWN = "unknown"
    ABANDONED = "abandoned"  # never reached the scheduler; fenced off, so it never will run
    ENDED = "ended"


# Seconds by which the clocks of the machines that share a project may differ.
CLOCKS_DIFFER = 60.0

SENT = frozenset({Step.SENDING, Step.UNKNOWN, Step.ACCEPTED})
OPEN = SENT | {Step.PLANNED}


class JournalEntry(NamedTuple):
    """One line of the journal. `at`: epoch seconds. `detail`: the reason, exit code, ...

    `cluster` is "" in journals of older versions. `task`: of an array.
    """

    token: str
    plan_id: str
    step: Step
    at: float
    job_id: int = 0
    detail: str = ""
    cluster: str = ""
    task: int | None = None

    @property
    def key(self) -> JobKey:
        """What the scheduler calls the job."""
        return JobKey(self.job_id, self.task)

    def age(self, now: float) -> float | None:
        """Seconds since it was written; None if a clock was set back since and `at` says nothing.

        Clocks of two machines may differ a little.
        """
        age = now - self.at
        return None if age < -CLOCKS_DIFFER else max(age, 0.0)


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A job of ours: what was planned and what is known of it by now."""

    token: str
    plan_id: str
    cluster: str
    partition: str
    action: str
    directories: tuple[str, ...]
    name: str
    step: Step
    job_id: int
    submitted_at: float
    log_path: str
    user: str = ""
    ended_at: float = 0.0
    exit_code: int | None = None
    end_reason: str = ""  # "" while it runs or when it ended well
    task: int | None = None
    attempt: int = 1
    begun: bool = False  # known of requests of bundles only: their turn came

    @property
    def member(self) -> int | None:
        """The number of a request in its bundle, from 0; None if it is in none."""
        number = self.token.rpartition("~")[2] if is_in_bundle(self.token) else ""
        return int(number) if number.isdecimal() else None

    @property
    def label(self) -> str:
        """What to call it: `12`, a task `12_3`, a request of a bundle `12.3`; as in its log."""
        return str(self.key) if self.member is None else f"{self.job_id}.{self.member}"

    @property
    def key(self) -> JobKey:
        """What the scheduler calls it; the id is 0 as long as it has none."""
        return JobKey(self.job_id, self.task)
