"""The `local` cluster: an embedded queue that runs jobs on this machine, without any server.

Jobs run detached within the machine's cores, memory and GPUs, in the order of submission with
backfill, and survive the end of rowtui and of the terminal. local_queue defines the files;
local_supervisor is the process that starts jobs, and local_keeper runs each job.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import asyncio, platformdirs
from rowtui.core.clusters.schedulers.base import (
    Accepted,
    DryAnswer,
    DryVerdict,
    Job,
    JobAnswer,
    JobKey,
    JobSpec,
    JobState,
    OutcomeUnknown,
    QueueSnapshot,
    Rejected,
    SubmitResult,
)
from rowtui.core.clusters.schedulers.local.machine import boot_id, host_name, machine_capacity
from rowtui.core.clusters.schedulers.local.planning import plan_jobs
from rowtui.core.clusters.schedulers.local.processes import (
    ProcessIdentity,
    is_running,
    processes_of_job,
    signal_process,
    used_by,
)
from rowtui.core.clusters.schedulers.local.queue import CommitUncertainError, LocalQueue
from rowtui.core.clusters.schedulers.local.records import End, QueuedJob
from rowtui.core.clusters.schedulers.local.wake import CANCELLED, NEW_JOB, ensure_supervisor, ring
from rowtui.core.clusters.schedulers.measured import Measured, MeasuredBy

_Asked = TypeVar("_Asked")
_Answer = TypeVar("_Answer")

DEPENDENCY = "Dependency"
GRACE_SECONDS = 10.0  # the script is warned this long before its limit, to report completed work
KILL_SECONDS = 5.0  # between SIGTERM and SIGKILL


def local_folder() -> Path:
    """Return the folder of this machine's queue, $ROWTUI_LOCAL_DIR or below the state folder."""
    stated = os.environ.get("ROWTUI_LOCAL_DIR")
    if stated:
        return Path(stated) / host_name()
    return platformdirs.user_state_path("rowtui") / "local" / host_name()


class LocalScheduler:
    """Scheduler of the `local` cluster. `folder`: its files, by default `local_folder()`."""

    kind = "local"
    immediate = False  # jobs run detached
    shared = False  # the queue belongs to this user alone
    holds = False  # a job's id is on the disk before the job starts
    forgets = False  # accepted jobs are on the disk
    at_once = 1  # the disk takes one submission after the other

    def __init__(
        self,
        cluster: str = "local",
        folder: Path | None = None,
        *,
        grace_seconds: float = GRACE_SECONDS,
        kill_seconds: float = KILL_SECONDS,
    ) -> None:
        self.cluster = cluster
        self._queue = LocalQueue(folder if folder is not None else local_folder())
        self._grace_seconds = grace_seconds
        self._kill_seconds = kill_seconds
        self._ended: dict[int, Job] = {}  # an end is final, so it never becomes outdated

    @property
    def place(self) -> str:
        """The machine and the folder, because jobs are known only there."""
        return f"{host_name()}:{os.path.abspath(self._queue.folder)}"

    async def submit(self, job: JobSpec) -> SubmitResult:
        """Queue a job and return at once. The same token always returns the same id."""
        return await _aside(self.submit_now, job)

    async def test_only(self, job: JobSpec) -> DryAnswer:
        """Whether this machine can ever run the job."""
        refusal = await _aside(self._refusal, job)
        return DryAnswer(DryVerdict.REFUSES if refusal else DryVerdict.TAKES, refusal)

    async def find(self, tokens: Collection[str]) -> Mapping[str, tuple[Job, ...]] | None:
        """Return the jobs with these tokens, including jobs that ended up to 400 days ago."""
        return await _aside(self.find_now, tokens)

    async def queue(self, job_ids: Sequence[int] | None = None) -> QueueSnapshot:
        """Return all jobs of this user here, also the ones that ended in the last 7 days."""
        return await _aside(self.queue_now, job_ids)

    async def folders(self, job_ids: Sequence[int]) -> Mapping[int, str] | None:
        return await _aside(self._folders, job_ids)

    def _folders(self, job_ids: Sequence[int]) -> dict[int, str] | None:
        try:
            jobs = [self._queue.read_job(number) for number in job_ids]
        except (OSError, RowtuiError):
            return None
        return {job.id: job.workdir for job in jobs if job is not None}

    async def cancel(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        """Stop each job: SIGTERM to all its processes, SIGKILL five seconds later."""
        return await _aside(self.cancel_now, jobs)

    async def hold(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        """Refuse: a waiting job in this queue starts as soon as resources are free."""
        return tuple(JobAnswer(job, "the local queue holds no jobs back") for job in jobs)

    async def release(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        """Do nothing, because no job in this queue is held."""
        return tuple(JobAnswer(job) for job in jobs)

    async def measured(self, jobs: Mapping[JobKey, str]) -> Mapping[JobKey, Measured]:
        """Return the CPU time of jobs that were stopped; their scripts measure all else."""
        return await _aside(self._measured, jobs)

    def _measured(self, jobs: Mapping[JobKey, str]) -> dict[JobKey, Measured]:
        found = {}
        for key, token in jobs.items():
            try:
                ended = self._queue.read_ended(key.id)
            except (OSError, RowtuiError):
                continue
            if ended is not None and ended[0].token == token:
                found[key] = Measured(MeasuredBy.SCHEDULER, cpu=ended[1].cpu)
        return found

    async def measured_now(self, jobs: Mapping[JobKey, str]) -> Mapping[JobKey, Measured]:
        """Return the CPU time of the jobs' processes, and their memory at this moment."""
        return await _aside(self._measured_now, jobs)

    def _measured_now(self, jobs: Mapping[JobKey, str]) -> dict[JobKey, Measured]:
        found = {}
        for key, token in jobs.items():
            try:
                job, claim = self._queue.read_job(key.id), self._queue.read_claim(key.id)
            except (OSError, RowtuiError):
                continue
            if job is None or job.token != token or claim is None or claim.boot != boot_id():
                continue
            processes = processes_of_job(token, None, self._queue.folder)
            if processes and (used := used_by(processes)) is not None:
                cpu, memory = used
                wall = max(0.0, time.monotonic() - claim.since)
                found[key] = Measured(MeasuredBy.SCHEDULER, wall, cpu, memory, node=host_name())
        return found

    # -- the same methods, synchronous: they wait for the disk only ---------------------------

    def submit_now(self, job: JobSpec) -> SubmitResult:
        """Queue a job like `submit`, for callers without an event loop."""
        try:
            known = self._queue.find_token(job.token)
            if known is None:
                reason = self._refusal(job)
                if reason:
                    return Rejected(reason)
            number = self._queue.commit(job, self._grace_seconds, self._kill_seconds)
        except CommitUncertainError as error:
            return OutcomeUnknown(error.message)
        except OSError as error:
            return Rejected(self._explain(error))
        except RowtuiError as error:
            return Rejected(str(error))
        except ValueError as error:
            return Rejected(f"the job cannot be written down: {error}")
        try:
            ensure_supervisor(self._queue.folder, NEW_JOB)
        except OSError:
            pass  # the job is safe in the queue; queue() retries and reports the error
        return Accepted(number)

    def _refusal(self, job: JobSpec) -> str:
        """Return why this machine can never run a job, "" if it can."""
        if refusal := machine_capacity().refusal(job.cpus, job.memory_mb, job.gpus):
            return refusal
        if job.walltime_seconds is not None and job.walltime_seconds <= 0:
            return f"the job's time limit is {job.walltime_seconds} seconds"
        for number in job.after:
            if self._queue.read_job(number) is None:
                return f"the job waits for job {number}, which is unknown here"
        return ""

    def _explain(self, error: OSError) -> str:
        return f"the queue in {self._queue.folder} cannot be used: {error.strerror or error}"

    def find_now(self, tokens: Collection[str]) -> Mapping[str, tuple[Job, ...]] | None:
        """Find jobs like `find`, for callers without an event loop."""
        found: dict[str, tuple[Job, ...]] = {}
        try:
            for token in tokens:
                known = self._queue.find_token(token)
                if known is not None:
                    job, end = known
                    found[token] = (_ended_job(job, end) if end else self._active_job(job),)
        except (OSError, RowtuiError):
            return None
        return found

    def queue_now(self, job_ids: Sequence[int] | None = None) -> QueueSnapshot:
        """Return the queue like `queue`, for callers without an event loop."""
        now = time.time()
        try:
            numbers = self._queue.ids()
        except OSError as error:
            return QueueSnapshot(self.cluster, now, error=self._explain(error))
        jobs: dict[int, Job] = {}
        active: dict[int, QueuedJob] = {}
        for number in numbers:
            if number in self._ended:
                jobs[number] = self._ended[number]
                continue
            try:
                ended = self._queue.read_ended(number)
                if ended:
                    jobs[number] = self._ended[number] = _ended_job(*ended)
                    continue
                job = self._queue.read_job(number)
                if job is not None:
                    jobs[number] = self._active_job(job)
                    active[number] = job
            except RowtuiError as error:
                jobs[number] = Job(number, JobState.UNKNOWN, reason=error.message)
            except OSError as error:
                return QueueSnapshot(self.cluster, now, error=self._explain(error))
        trouble = self._wake_if_needed(jobs)
        _give_reasons(jobs, active, trouble)
        chosen = (
            jobs.keys() if job_ids is None else [i for i in dict.fromkeys(job_ids) if i in jobs]
        )
        return QueueSnapshot(self.cluster, now, tuple(jobs[number] for number in chosen))

    def _wake_if_needed(self, jobs: dict[int, Job]) -> str:
        """Start a supervisor if there are active jobs; return why that failed, or ""."""
        if any(job.state.active for job in jobs.values()):
            try:
                ensure_supervisor(self._queue.folder)
            except OSError as error:
                return f"no job can be started: {error.strerror or error}"
        return ""

    def _active_job(self, job: QueuedJob) -> Job:
        """Return a job without a recorded end, with the state from its claim and its keeper."""
        claim = self._queue.read_claim(job.id)
        if claim is None:
            return _job(job, JobState.PENDING)
        if claim.pid == 0:
            return _job(job, JobState.CANCELLED, reason=claim.reason)
        elapsed = max(round(time.monotonic() - claim.since), 0)
        if claim.boot != boot_id():
            return _job(job, JobState.NODE_FAIL, reason="the machine was restarted")
        if is_running(ProcessIdentity(claim.pid, claim.start)):
            return _job(job, JobState.RUNNING, elapsed=elapsed)
        end = self._queue.read_end(job.id)  # written between the two reads
        return _ended_job(job, end) if end else _job(job, JobState.COMPLETING, elapsed=elapsed)

    def cancel_now(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        """Cancel jobs like `cancel`, for callers without an event loop."""
        results = []
        for job in jobs:
            try:
                error = self._cancel_one(job.id)
            except OSError as problem:
                error = self._explain(problem)
            except RowtuiError as problem:
                error = problem.message
            results.append(JobAnswer(job, error))
        ring(self._queue.folder, CANCELLED)
        return tuple(results)

    def _cancel_one(self, number: int) -> str:
        job = self._queue.read_job(number)
        if job is None:
            return f"job {number} is unknown here"
        # The process that makes the claim decides: with this claim, no process will run the job.
        if self._queue.cancel_waiting(job, "cancelled"):
            return ""
        claim = self._queue.read_claim(number)
        ended = self._queue.has_ended(number) or claim is None or claim.boot != boot_id()
        if claim is not None and not ended:
            keeper = ProcessIdentity(claim.pid, claim.start)
            ended = not signal_process(keeper, signal.SIGTERM)
        return f"job {number} has ended already" if ended else ""


async def _aside(call: Callable[[_Asked], _Answer], asked: _Asked) -> _Answer:
    """Run a call in a thread, because the disk may be slow."""
    return await asyncio.to_thread(call, asked)


def _job(
    job: QueuedJob,
    state: JobState,
    *,
    reason: str = "",
    elapsed: int | None = None,
    exit_code: int | None = None,
    exit_signal: int | None = None,
) -> Job:
    return Job(
        id=job.id,
        state=state,
        name=job.name,
        token=job.token,
        reason=reason,
        elapsed=elapsed,
        limit=job.walltime_seconds,
        nodes="" if state is JobState.PENDING else host_name(),
        exit_code=exit_code,
        exit_signal=exit_signal,
        log_path=job.log_path,
    )


def _ended_job(job: QueuedJob, end: End) -> Job:
    return _job(
        job,
        end.state,
        reason=end.reason,
        elapsed=end.elapsed,
        exit_code=end.exit_code,
        exit_signal=end.exit_signal,
    )


def _give_reasons(jobs: dict[int, Job], active: dict[int, QueuedJob], trouble: str) -> None:
    """Set the reason why each waiting job waits, by the supervisor's own rule."""
    ready = []
    for number, job in active.items():
        if jobs[number].state is not JobState.PENDING:
            continue
        if trouble:
            jobs[number] = jobs[number]._replace(reason=trouble)
        elif all(i in jobs and jobs[i].state is JobState.COMPLETED for i in job.after):
            ready.append(job)
        else:
            jobs[number] = jobs[number]._replace(reason=DEPENDENCY)
    if not ready:
        return
    running = [
        (job, float(jobs[number].elapsed or 0))
        for number, job in active.items()
        if jobs[number].state in (JobState.RUNNING, JobState.COMPLETING)
    ]
    try:
        plan = plan_jobs(ready, running, machine_capacity())
    except RowtuiError:
        return  # a wrong ROWTUI_LOCAL_... here does not affect these jobs
    for number, reason in plan.reasons.items():
        jobs[number] = jobs[number]._replace(reason=reason)
