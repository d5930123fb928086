"""The interface of all schedulers, and the types of their answers.

A scheduler never decides whether to retry: it reports the result of one attempt (`Accepted`,
`Rejected`, `OutcomeUnknown`), and submission/ draws the conclusions.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from rowtui.core.clusters.schedulers.measured import Measured


class JobState(enum.Enum):
    """The state of a job, with the words that commands and screens show.

    The order is that of all lists: the most active first, and failures before good ends. RESERVED,
    REFUSED, NOT_REACHED and NEVER_SENT are states of a project's jobs alone; the causes of a
    failure, TIMEOUT to PREEMPTED, are states of a scheduler's jobs alone (`JobRecord.state`).
    """

    RUNNING = "running"
    COMPLETING = "completing"
    SUSPENDED = "suspended"
    PENDING = "pending"
    HELD = "held"
    RESERVED = "reserved"  # the plan reserves its directories, and the job is not submitted yet
    UNKNOWN = "unknown"
    FAILED = "failed"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out of memory"
    NODE_FAIL = "node failed"
    PREEMPTED = "preempted"
    LOST = "lost"  # the scheduler accepted the job, but has no record of it any more
    REFUSED = "refused"  # by the scheduler
    NOT_REACHED = "not reached"  # an earlier job in its bundle or chain ended
    NEVER_SENT = "never sent"
    CANCELLED = "cancelled"
    COMPLETED = "completed"

    @property
    def active(self) -> bool:
        """Whether the job is running or may still run."""
        return self in _ACTIVE

    @property
    def may_change(self) -> bool:
        """Whether the job has not ended, as far as is known."""
        return self in _ACTIVE or self in (JobState.UNKNOWN, JobState.RESERVED)

    @property
    def waits(self) -> bool:
        """A scheduler has the job, and the job has not begun: there is no elapsed time."""
        return self in (JobState.PENDING, JobState.HELD)

    @property
    def bad(self) -> bool:
        """Whether the job ended without success."""
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
        JobState.PREEMPTED,
        JobState.LOST,
        JobState.REFUSED,
        JobState.NOT_REACHED,
        JobState.NEVER_SENT,
    }
)


class JobKey(NamedTuple):
    """A scheduler's identifier of one job: an id, and the task number in an array."""

    id: int
    task: int | None = None

    def __str__(self) -> str:
        """Return the form `12` or `12_3`."""
        return str(self.id) if self.task is None else f"{self.id}_{self.task}"


def task_token(token: str, task: int) -> str:
    """Return the token of one task of the array that has this token."""
    return f"{token}.{task}"


def array_of(token: str, task: int | None) -> str:
    """Return the token of the array that a task belongs to; the job's own if it is no task."""
    return token if task is None else token.removesuffix(f".{task}")


def member_token(bundle: str, number: int) -> str:
    """Return the token of one request of the bundle that has this token."""
    return f"{bundle}~{number}"


def is_in_bundle(token: str) -> bool:
    """Whether this is the token of a request of a bundle."""
    return "~" in token


def token_in_queue(token: str) -> str:
    """Return the token of a request in a scheduler: its own, or that of its bundle."""
    return token.partition("~")[0]


NO_ID: Final = "–"
"""The label of a job without an id."""


def job_label(job_id: int, token: str) -> str | None:
    """`12`, of an array `12_3`, of a bundle `12.3`; None without an id."""
    if not job_id:
        return None
    bundle, _, member = token.partition("~")
    if member:
        return f"{job_id}.{member}"
    task = bundle.partition(".")[2]
    return f"{job_id}_{task}" if task.isdecimal() else str(job_id)


def called(label: str) -> str:
    """`job 12`, by the label of a job."""
    return "job without an id" if label == NO_ID else f"job {label}"


# Slurm stores errors of its own where the status of a process would be: what looks like a signal is
# their lower 7 bits. These are its error 4021, and its mark for lack of memory.
LOG_NOT_OPENED_SIGNAL = 53
OUT_OF_MEMORY_SIGNAL = 125


class Job(NamedTuple):
    """A scheduler's record of one job. Times: epoch seconds; durations: seconds.

    A task of an array has the array's id and its own token (`task_token`).
    """

    id: int
    state: JobState
    name: str = ""
    token: str = ""  # rowtui's token, or "" for a job that rowtui did not submit
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
    def launch_error(self) -> str:
        """Why the scheduler could not start the job, if its number says so; else ""."""
        not_opened = self.exit_signal == LOG_NOT_OPENED_SIGNAL
        return "its log could not be opened" if not_opened else ""

    @property
    def key(self) -> JobKey:
        """The scheduler's identifier of the job."""
        return JobKey(self.id, self.task)


class QueueSnapshot(NamedTuple):
    """The jobs of one cluster at one time. If `error` is set, `jobs` is meaningless.

    A failed poll must never be read as an empty queue.
    """

    cluster: str
    at: float
    jobs: tuple[Job, ...] = ()
    error: str = ""


class JobSpec(NamedTuple):
    """One job to submit. The script is complete, with its header; `token` is unique to the job.

    `cpus`, `memory_mb`, `gpus`, `walltime_seconds` are the totals that the script asks for (the
    local scheduler has no other source for them); `log_path` may contain `%j` for the job id. With
    `held` the job waits for `Scheduler.release`. With `tasks` it is an array of tasks with these
    numbers; each of them starts when the task with the same number in the array `after_each` has
    completed.
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
    after: tuple[int, ...] = ()  # the job starts only when these jobs have completed
    held: bool = False
    tasks: tuple[int, ...] = ()
    after_tasks: tuple[JobKey, ...] = ()  # and only when these tasks of arrays have completed
    after_each: int = 0


def slurm_output(script: str) -> str:
    """Return the path of the log that the last such option of a script names; "" if none does."""
    named: list[str] = re.findall(r"^#SBATCH +(?:--output[= ]|-o[= ]?)(.+)$", script, re.MULTILINE)
    return named[-1].strip(" \"'") if named else ""


class Accepted(NamedTuple):
    """The scheduler has the job, under this id."""

    job_id: int


class Rejected(NamedTuple):
    """The scheduler certainly does not have the job; `reason` is the scheduler's text."""

    reason: str


class OutcomeUnknown(NamedTuple):
    """The job may or may not exist: look the token up before any other step.

    `ended`: the command ended by itself with an error, whose words are not known as a refusal and
    speak of no connection.
    """

    reason: str
    ended: bool = False


class Unreachable(NamedTuple):
    """Nothing was submitted, because the cluster was unreachable: the submission may be retried."""

    reason: str


def speaks_of_connection(said: str) -> bool:
    """Whether a request that failed with these words may have arrived, or may arrive later."""
    words = (
        r"timed? ?out|connect|socket|communicat|message|zero bytes|authentic|credential|protocol"
    )
    return re.search(rf"{words}|temporarily|retry", said, re.IGNORECASE) is not None


SubmitResult = Accepted | Rejected | OutcomeUnknown | Unreachable


class DryVerdict(enum.Enum):
    """A scheduler's answer about a job in a dry check."""

    TAKES = "takes it"
    REFUSES = "refuses it"
    NOT_TOLD = "not reported"  # no dry check is possible, or its answer is unclear


class DryAnswer(NamedTuple):
    """The result of a dry check. `reason`: why the job is refused, or why there is no answer.

    `start`: when the job might start, epoch seconds, None if unknown; `detail`: where.
    """

    verdict: DryVerdict
    reason: str = ""
    start: float | None = None
    detail: str = ""


class JobAnswer(NamedTuple):
    """The result of a request about one job; `error` is empty if the request was accepted.

    `member`: the number, in its bundle, of a job that shares `job` with others; else None.
    """

    job: JobKey
    error: str = ""
    member: int | None = None

    @property
    def label(self) -> str:
        """The name shown to the user: `12`, `12_3`, or `12.3` for a request of a bundle."""
        return str(self.job) if self.member is None else f"{self.job.id}.{self.member}"


class Scheduler(Protocol):
    """One cluster's scheduler. Every wait is bounded; a failing cluster raises no exception."""

    @property
    def cluster(self) -> str:
        """The cluster's name."""

    @property
    def kind(self) -> str:
        """The scheduler's name in clusters.toml: `slurm`, `local`, ..."""

    @property
    def immediate(self) -> bool:
        """Whether jobs run inside `submit` and have ended when it returns (bash)."""

    @property
    def place(self) -> str:
        """The machine where jobs can be queried, `machine` or `machine:queue`; "": any machine."""

    @property
    def shared(self) -> bool:
        """Whether the queue has jobs of many users, so that it must not be polled often."""

    @property
    def holds(self) -> bool:
        """Whether jobs can be submitted held, so that their ids are saved before they start."""

    @property
    def forgets(self) -> bool:
        """Whether a crash may lose accepted jobs, so that missing jobs may be submitted again."""

    @property
    def at_once(self) -> int:
        """How many submissions may run at the same time."""

    async def submit(self, job: JobSpec) -> SubmitResult:
        """Submit one job."""

    async def test_only(self, job: JobSpec) -> DryAnswer:
        """Whether the scheduler would accept this job, as far as it can check that beforehand."""

    async def find(self, tokens: Collection[str]) -> Mapping[str, tuple[Job, ...]] | None:
        """Return the jobs with these tokens, including ended ones, oldest first.

        Tokens without a job are not in the mapping. None if the query failed or its answer is
        uncertain.
        """

    async def queue(self, job_ids: Sequence[int] | None = None) -> QueueSnapshot:
        """Return all jobs of this user, or only `job_ids`: active jobs and recently ended ones."""

    async def folders(self, job_ids: Sequence[int]) -> Mapping[int, str] | None:
        """Return the folders that these jobs were submitted from, for jobs in the queue.

        None if the query failed.
        """

    async def cancel(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        """Ask for each job to be stopped."""

    async def hold(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        """Prevent waiting jobs from starting."""

    async def release(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        """Allow held jobs to start. Repeating the request is harmless."""

    async def measured(self, jobs: Mapping[JobKey, str]) -> Mapping[JobKey, Measured] | None:
        """Return what ended jobs used, as the scheduler's accounts say.

        `jobs`: with their tokens in the queue. Jobs without an account (yet) are missing. None if
        the query failed; an empty answer if the site keeps no accounts.
        """

    async def measured_now(self, jobs: Mapping[JobKey, str]) -> Mapping[JobKey, Measured] | None:
        """Return what running jobs have used up to now.

        `jobs`: with their tokens in the queue. Jobs of which nothing is known are missing. None if
        the query failed; an empty answer if the scheduler does not measure running jobs.
        """
