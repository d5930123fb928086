"""What every scheduler can do, and the words for what it answers.

A scheduler never decides whether to try again: it says what is known about one attempt
(`Accepted`, `Rejected`, `OutcomeUnknown`), and submission/ draws the conclusions.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol


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
    LOST = "lost"  # the scheduler had it and knows nothing of it any more
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
        JobState.LOST,
    }
)


class JobKey(NamedTuple):
    """What a scheduler calls one job: an id, and the number of the task of an array."""

    id: int
    task: int | None = None

    def __str__(self) -> str:
        """`12`, `12_3`."""
        return str(self.id) if self.task is None else f"{self.id}_{self.task}"


def task_token(token: str, task: int) -> str:
    """The token of one task of the array that has this token."""
    return f"{token}.{task}"


def array_of(token: str, task: int | None) -> str:
    """The token of the array that a task belongs to; of any other job, its own."""
    return token if task is None else token.removesuffix(f".{task}")


def member_token(bundle: str, number: int) -> str:
    """The token of one request of the bundle that has this token."""
    return f"{bundle}~{number}"


def is_in_bundle(token: str) -> bool:
    """Whether this is the token of a request of a bundle."""
    return "~" in token


def token_in_queue(token: str) -> str:
    """The token that a scheduler knows a request by: its own, or that of the bundle it is in."""
    return token.partition("~")[0]


@dataclass(frozen=True, slots=True)
class Job:
    """What a scheduler knows of one job. Times: epoch seconds; durations: seconds.

    A task of an array has the array's id and its own token (`task_token`).
    """

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
    task: int | None = None

    @property
    def key(self) -> JobKey:
        """What the scheduler calls it."""
        return JobKey(self.id, self.task)


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
    local scheduler has no other way to know); `log_path` may hold `%j` for the job id. With `held`
    it waits for `Scheduler.release`. With `tasks` it is an array of tasks with these numbers, each
    of which starts when the task with its number of the array `after_each` has ended well.
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
    held: bool = False
    tasks: tuple[int, ...] = ()
    after_tasks: tuple[JobKey, ...] = ()  # and only when these tasks of arrays have
    after_each: int = 0


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


@dataclass(frozen=True, slots=True)
class Unreachable:
    """Nothing was submitted, since the cluster cannot be reached: it may be tried again."""

    reason: str


SubmitResult = Accepted | Rejected | OutcomeUnknown | Unreachable


class Verdict(enum.Enum):
    """What a scheduler thinks of a job that it was only asked about."""

    TAKES = "takes it"
    REFUSES = "refuses it"
    NOT_TOLD = "not told"  # it cannot be asked that, or gave no clear answer


@dataclass(frozen=True, slots=True)
class DryAnswer:
    """What came of a dry check. `reason`: why it refuses the job, or why nothing was told.

    `start`: when the job might begin, epoch seconds, None if that was not told; `detail`: where.
    """

    verdict: Verdict
    reason: str = ""
    start: float | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class JobAnswer:
    """What became of a request about one job; `error` is empty if it was taken.

    `member`: the number in its bundle of a job that shares `job` with others, if it is about that.
    """

    job: JobKey
    error: str = ""
    member: int | None = None

    @property
    def label(self) -> str:
        """What a person calls it: `12`, `12_3`, of a bundle `12.3`."""
        return str(self.job) if self.member is None else f"{self.job.id}.{self.member}"


class Scheduler(Protocol):
    """One cluster's scheduler. Every wait is bounded; nothing raises for a failing cluster."""

    @property
    def cluster(self) -> str:
        """The cluster's name."""
        ...

    @property
    def kind(self) -> str:
        """What clusters.toml calls this scheduler: `slurm`, `local`, ..."""
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

    @property
    def holds(self) -> bool:
        """Jobs can be submitted held, so that their ids are written down before they start."""
        ...

    @property
    def forgets(self) -> bool:
        """A crash may lose jobs that it has accepted: those that are gone may be sent again."""
        ...

    @property
    def at_once(self) -> int:
        """How many submissions may be under way at the same time."""
        ...

    async def submit(self, job: JobSpec) -> SubmitResult:
        """Hand one job over."""
        ...

    async def test_only(self, job: JobSpec) -> DryAnswer:
        """Whether it would take this job, as far as it can say without taking it."""
        ...

    async def find(self, tokens: Collection[str]) -> Mapping[str, tuple[Job, ...]] | None:
        """The jobs with these tokens, ended ones too, oldest first. A token without is not in it.

        None if that could not be asked, or not with certainty.
        """
        ...

    async def queue(self, job_ids: Sequence[int] | None = None) -> QueueSnapshot:
        """All jobs of this user, or these only: active ones and the recently ended."""
        ...

    async def folders(self, job_ids: Sequence[int]) -> Mapping[int, str] | None:
        """The folders that these jobs were submitted from, of those that are in the queue.

        None if that could not be asked.
        """
        ...

    async def cancel(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        """Ask for each job to be stopped."""
        ...

    async def hold(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        """Keep waiting jobs from starting."""
        ...

    async def release(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        """Let held jobs start. Doing it again is harmless."""
        ...
