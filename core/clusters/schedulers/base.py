"""What every scheduler can do, and the words for what it answers.

A scheduler never decides whether to try again: it says what is known about one attempt
(`Accepted`, `Rejected`, `OutcomeUnknown`), and submission/ draws the conclusions.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class JobState(enum.Enum):
    """The state of a scheduler job, in the scheduler-neutral words that screens show."""

    HELD = "held"
    PENDING = "pending"
    RUNNING = "running"
    SUSPENDED = "suspended"
    COMPLETING = "completing"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    OUT_OF_MEMORY = "out of memory"
    NODE_FAIL = "node failed"
    UNKNOWN = "unknown"

    @property
    def active(self) -> bool:
        """The job may still run or is running."""
        return self in _ACTIVE

    @property
    def bad(self) -> bool:
        """The job ended without success."""
        return self in _BAD


_ACTIVE = frozenset(
    {
        JobState.HELD,
        JobState.PENDING,
        JobState.RUNNING,
        JobState.SUSPENDED,
        JobState.COMPLETING,
    }
)
_BAD = frozenset(
    {
        JobState.FAILED,
        JobState.TIMEOUT,
        JobState.CANCELLED,
        JobState.OUT_OF_MEMORY,
        JobState.NODE_FAIL,
    }
)


@dataclass(frozen=True, slots=True)
class Job:
    """What a scheduler knows of one job id. Times: epoch seconds; durations: seconds."""

    id: int
    state: JobState
    name: str = ""
    token: str = ""  # ours, or "" for a job that is not
    reason: str = ""
    partition: str = ""
    elapsed: int | None = None
    limit: int | None = None
    nodes: str = ""
    start_estimate: int | None = None
    exit_code: int | None = None
    exit_signal: int | None = None
    log_path: str = ""


@dataclass(frozen=True, slots=True)
class QueueSnapshot:
    """The jobs of one cluster at one time. With `error` set, `jobs` says nothing at all.

    A poll that failed must never read as an empty queue (slurm_rig, surprise 2).
    """

    cluster: str
    at: float
    jobs: tuple[Job, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class JobSpec:
    """One job to submit. The script is complete, with its header; `token` is unique to it.

    `cpus`, `memory_mb`, `gpus`, `walltime_seconds` are the totals that the script asks for (the
    local scheduler has no other way to know); `log_path` may hold `%j` for the job id.
    """

    token: str
    name: str
    script: str
    workdir: Path
    log_path: str
    cpus: int = 1
    gpus: int = 0
    memory_mb: int | None = None
    walltime_seconds: int | None = None
    after: tuple[int, ...] = ()  # start only when these ids have ended well


@dataclass(frozen=True, slots=True)
class Accepted:
    """The scheduler has the job, under this id."""

    job_id: int


@dataclass(frozen=True, slots=True)
class Rejected:
    """The scheduler certainly does not have the job; `reason` is its own word."""

    reason: str


@dataclass(frozen=True, slots=True)
class OutcomeUnknown:
    """The job may or may not exist: look the token up before anything else."""

    reason: str


SubmitResult = Accepted | Rejected | OutcomeUnknown


@dataclass(frozen=True, slots=True)
class CancelResult:
    """What became of one cancellation; `error` is empty if it was taken."""

    job_id: int
    error: str = ""


class Scheduler(Protocol):
    """One cluster's scheduler. Every wait is bounded; nothing raises for a failing cluster."""

    @property
    def cluster(self) -> str:
        """The cluster's name."""
        ...

    @property
    def immediate(self) -> bool:
        """Jobs run inside `submit` and are over when it returns (bash)."""
        ...

    @property
    def place(self) -> str:
        """Where jobs are known, `machine` or `machine:queue`; "": wherever the cluster is."""
        ...

    @property
    def shared(self) -> bool:
        """Many people's jobs are in its queue, so that it must not be asked often."""
        ...

    async def submit(self, job: JobSpec) -> SubmitResult:
        """Hand one job over."""
        ...

    async def find(self, token: str) -> tuple[Job, ...] | None:
        """The jobs with this token, finished ones too; None if it could not be asked."""
        ...

    async def queue(self, job_ids: Sequence[int] | None = None) -> QueueSnapshot:
        """All jobs of this user, or these only: active ones and the recently ended."""
        ...

    async def cancel(self, job_ids: Sequence[int]) -> tuple[CancelResult, ...]:
        """Ask for each job to be stopped."""
        ...
