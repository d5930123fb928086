"""Plans, and the entries of the journal. Immutable, and byte-stable as JSON."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.document import TextOrNull
from rowtui.core.base.text import Cost, plural, priced, visible
from rowtui.core.clusters.schedulers.base import JobKey
from rowtui.core.submission.plan.basis import read_basis
from rowtui.core.submission.plan.outcome import JobResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowtui.core.clusters.model import Cluster, Partition, PartitionChoice
    from rowtui.core.submission.scripts.script import Recipe


CPU_HOURS, GPU_HOURS = "CPU-hours", "GPU-hours"
"""Units of amounts; the first is also the unit of a packing whose nodes have no prices."""


class PlannedDestination(NamedTuple):
    """A cluster, and a partition of it; none for a scheduler without partitions."""

    cluster: str
    partition: TextOrNull = ""

    def __str__(self) -> str:
        """Return `cluster/partition`."""
        return f"{self.cluster}/{self.partition}" if self.partition else self.cluster


class InBundle(NamedTuple):
    """The bundle that a job is sent in, and its place there. The last two fields are the job's.

    A bundle is one scheduler job on one node: parallel lanes, and in each lane one job after
    another, in the plan's order. `cpus`, `memory_mb` (None: not stated) and `gpus` are what the
    whole bundle asks for; `seconds` is its time limit. `whole_node`: the bundle asks for the node
    exclusively. `lane` is the number of the lane from 0; the job may take `own_seconds` in it.
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


class PlannedJob(NamedTuple):
    """One scheduler job: everything that would be sent, and the reasons for its destination.

    `token` is unique to this job for ever; `depends_on` holds tokens of the same plan.
    `directories` are names (os.fsdecode form) in the order in which they are processed. Jobs with
    the same `array`, which is the array's token, are sent together as its tasks; jobs in the same
    bundle stand together, and are sent as one scheduler job. `starts_steps`: the job's command
    starts processes through the scheduler itself (a launcher). `node_type`: the only node type that
    the job may be packed on, "" for any. `requires`: inputs from other directories, as paths in the
    workspace. `named`: the user named the directories, so that they are processed even if their
    products exist.
    """

    token: str
    name: str
    action: str
    action_index: int
    directories: tuple[str, ...]
    destination: PlannedDestination
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
    basis: str = ""  # data for a later attempt: `basis.Basis`
    bundle: InBundle | None = None
    starts_steps: bool = False
    node_type: str = ""
    requires: tuple[str, ...] = ()
    named: bool = False

    @property
    def own_seconds(self) -> int:
        """Return for how long the job may run: in a bundle its own time, not the bundle's."""
        return self.walltime_seconds if self.bundle is None else self.bundle.own_seconds

    @property
    def continues(self) -> int:
        """Return how many jobs this one continues, without a failure between them."""
        return read_basis(self.basis).continues if '"continues"' in self.basis else 0

    @property
    def is_retry(self) -> bool:
        """Whether it is an attempt after the first, and does not continue one."""
        return self.attempt > 1 and not self.continues


class RefusedAt(enum.Enum):
    """The step of planning that left jobs out."""

    ACTION = "action"
    GROUP = "group"
    MAPPING = "mapping"
    MACHINE = "machine"
    PARTITION = "partition"
    SCRIPT = "script"
    LIMIT = "limit"
    BUDGET = "budget"


class LaunchMethod(NamedTuple):
    """How a job is run and where it goes. `partition` is None where the cluster has none.

    The last fields are those of the planned job.
    """

    recipe: Recipe
    cluster: Cluster
    partition: Partition | None
    choice: PartitionChoice
    destination: PlannedDestination
    log_path: str
    memory_mb: int | None
    reasons: tuple[str, ...]
    starts_steps: bool


class PlanRefusal(NamedTuple):
    """Why a job of some size cannot run at its destination."""

    stage: RefusedAt
    reason: str
    hint: str = ""


class RefusedWork(NamedTuple):
    """Jobs of one action that a plan leaves out for one reason.

    `jobs`: the directories (os.fsdecode form) of each. `hint`: what the user can do, or "". `text`:
    the sentence of the step that refused the jobs; "" to build one from jobs and reason.
    """

    stage: RefusedAt
    action: str
    jobs: tuple[tuple[str, ...], ...]
    reason: str
    hint: str = ""
    text: str = ""

    @property
    def sentence(self) -> str:
        """Return the jobs and the reason in one line."""
        if self.text:
            return self.text
        first = visible(self.jobs[0][0])
        why = self.reason + (f"; {self.hint}" if self.hint else "")
        jobs = plural(len(self.jobs), "job")
        return f"{visible(self.action)}: {jobs} left out, from {first} on: {why}"


class Packed(NamedTuple):
    """The result of packing for the jobs that go to one destination.

    Costs are in `unit` (a currency, or `CPU_HOURS`): `alone` is the cost of the jobs sent one by
    one, `cost` that of the bundles, and no packing of the jobs costs less than `bound`.
    """

    destination: PlannedDestination
    packer: str
    jobs: int
    bundles: int
    alone: float
    cost: float
    bound: float
    unit: str

    @property
    def saving(self) -> str:
        """Return `96.00 EUR instead of 400.00 EUR for one node per job: 76 % less`."""
        cost, alone = priced(self.cost, self.unit), priced(self.alone, self.unit)
        less = round(100 * (1 - self.cost / self.alone)) if self.alone > 0 else 0
        change = f": {abs(less):,} % {'less' if less > 0 else 'more'}" if less else ""
        how = "the jobs one by one" if self.unit == CPU_HOURS else "one node per job"
        return f"{cost} instead of {alone} for {how}{change}"

    @property
    def gap(self) -> float | None:
        """Return how far the cost is above the least possible one at most (0.014: 1.4 %).

        The result is 0 if all is free, and None if the bound is unknown.
        """
        if self.bound > 0:
            return max(0.0, self.cost / self.bound - 1)
        return None if self.cost > 0 else 0.0

    def quality(self, *, proven: bool = False) -> str:
        """Return how far the cost is above the least possible one, as far as that is known."""
        if proven or not self.cost:
            return "the least possible cost, proven"
        if self.bound <= 0:
            return "the least possible cost is unknown"
        least = priced(self.bound, self.unit)
        return f"at most {above(self.cost, self.bound)} above the least possible cost ({least})"


def above(cost: float, bound: float) -> str:
    """Return how far a cost is above the least possible one, rounded up: `1.4 %`."""
    tenths = -int(-1000 * max(0.0, cost / bound - 1) // 1)
    return f"{tenths / 10:,.1f} %"


class _PlanFields(NamedTuple):
    id: str
    created: str  # ISO 8601, UTC
    user: str
    cluster: str
    scheduler: str
    jobs: tuple[PlannedJob, ...]
    cost: Cost
    warnings: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()  # what was left out, a sentence each
    packed: tuple[Packed, ...] = ()
    refused: tuple[RefusedWork, ...] = ()  # not part of a plan's file, nor of its id


class Plan(_PlanFields):
    """An ordered list of jobs that the user confirms as a whole. `id` is the hash of the rest.

    `lifetime` is no part of it: an object for weak references, which a tuple does not take.
    """

    lifetime: object = None


class PackedJobs(NamedTuple):
    """The jobs of a plan in bundles, the packing results, and warnings for the user."""

    jobs: tuple[PlannedJob, ...]
    packed: tuple[Packed, ...] = ()
    warnings: tuple[str, ...] = ()


class JobCounts(NamedTuple):
    """Counts of a plan's jobs: all jobs, shared bundles, and jobs outside bundles (`alone`)."""

    jobs: int
    bundles: int
    alone: int

    def __str__(self) -> str:
        """Return `8 jobs`, `9 jobs in 1 bundle` or `40 jobs in 3 bundles (2 alone)`."""
        text = plural(self.jobs, "job")
        if self.bundles:
            text += f" in {plural(self.bundles, 'bundle')}"
            text += f" ({self.alone:,} alone)" if self.alone else ""
        return text


def count_jobs(jobs: Sequence[PlannedJob]) -> JobCounts:
    """Return the counts of a plan's jobs, the same in all commands and views."""
    bundles = {job.bundle.token for job in jobs if job.bundle is not None}
    alone = sum(job.bundle is None for job in jobs)
    return JobCounts(len(jobs), len(bundles), alone)


class JobStep(enum.Enum):
    """The state of one job of a plan."""

    PLANNED = "planned"
    SENDING = "sending"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNKNOWN = "unknown"
    # never reached the scheduler; its fence is closed, so that it never runs
    ABANDONED = "abandoned"
    ENDED = "ended"
    # a note beside the states above: the user asked to cancel the job, or took that back
    CANCELLING = "cancelling"
    NOT_CANCELLED = "not cancelled"
    # a note, too: the user changed the waiting job; `detail` has what its scheduler reports now
    CHANGED = "changed"


# Seconds by which the clocks of the machines that share a project may differ.
CLOCKS_DIFFER = 60.0

SENT = frozenset({JobStep.SENDING, JobStep.UNKNOWN, JobStep.ACCEPTED})
OPEN = SENT | {JobStep.PLANNED}


class JournalEntry(NamedTuple):
    """One line of the journal. `at`: epoch seconds. `detail`: the reason, exit code, ...

    `cluster` is "" in journals of older versions. `task`: the number in an array. `end`: how a job
    ended that is over.
    """

    token: str
    plan_id: str
    step: JobStep
    at: float
    job_id: int = 0
    detail: str = ""
    cluster: str = ""
    task: int | None = None
    end: JobResult | None = None

    @property
    def key(self) -> JobKey:
        """Return the scheduler's id of the job."""
        return JobKey(self.job_id, self.task)

    def age(self, now: float) -> float | None:
        """Return the seconds since the entry was written; None if a clock was set back since.

        A small difference between the clocks of two machines is tolerated.
        """
        age = now - self.at
        return None if age < -CLOCKS_DIFFER else max(age, 0.0)
