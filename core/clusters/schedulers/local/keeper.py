"""The keeper: the process that accompanies one job from its claim to its end.

The keeper runs the script with bash in a session of its own, warns it before its time limit, ends
it at the limit or on request, ends the processes that the job left behind, and records how the job
ended. It depends on no other process: if the supervisor that forked it dies, the job and its limit
continue.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import is_gone
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.clusters.schedulers.local.machine import boot_id
from rowtui.core.clusters.schedulers.local.processes import (
    ProcessIdentity,
    catches_signal,
    end_job_processes,
    identify_process,
    processes_of_job,
    queue_variable,
    signal_process,
    used_by,
)
from rowtui.core.clusters.schedulers.local.queue import LocalQueue
from rowtui.core.clusters.schedulers.local.records import Claim, End, QueuedJob

_NEWS = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_MEASURE_SECONDS = 0.5  # between looks at what a job uses that does not stop
_RETRY_SECONDS = 1.0
_RETRIES = 3600  # a full disk can be cleared within an hour before an exit code is lost
_MISSED = 5  # checks; a folder that is gone may be one that is just being mounted


def keep_job(queue: LocalQueue, job: QueuedJob, gpus: tuple[str, ...]) -> None:
    """Claim a job and run it to its end. Call it in a new process; it starts a new session."""
    os.setsid()
    # Blocked before the claim publishes this process's id: a cancellation waits until it is read.
    signal.pthread_sigmask(signal.SIG_BLOCK, _NEWS)
    with contextlib.suppress(OSError):
        os.chdir("/")
        with open("/proc/self/comm", "w", encoding="ascii") as name:
            name.write(f"rowtui-job-{job.id}")
    own = identify_process(os.getpid())
    start = own.start if own else 0
    claim = Claim(os.getpid(), start, boot_id(), time.monotonic(), gpus)
    if queue.claim(job.id, claim):
        end = _Run(queue, job, claim).end()
        _insist(lambda: queue.finish(job, end), queue.script_path(job.id).parent)


class _Run:
    """One run of one job."""

    def __init__(self, queue: LocalQueue, job: QueuedJob, claim: Claim) -> None:
        self.queue = queue
        self.job = job
        self.claim = claim
        self.warned = False
        self.stopped_as: JobState | None = None
        limit = job.walltime_seconds
        self.limit_at = None if limit is None else claim.since + limit
        # A short limit gets a short warning: at least three quarters of the limit are left for
        # work.
        self.warn_at = None if limit is None else claim.since + limit - _grace(job)
        self.kill_at: float | None = None
        self.cpu: float | None = None  # of all processes, measured as the job is stopped

    def end(self) -> End:
        """Run the script to its end."""
        try:
            process = self._start()
        except (OSError, ValueError, RowtuiError, subprocess.SubprocessError) as error:
            return self._ended(JobState.FAILED, reason=f"cannot start: {error}")
        finally:
            self.queue.forget_environment(self.job.id)
        self._wait(process.pid)
        # Before the bash is reaped, so that its id cannot be reused for another session.
        kill_at = self.kill_at or time.monotonic() + self.job.kill_seconds
        patience = max(kill_at - time.monotonic(), 0.0)
        end_job_processes(self.job.token, process.pid, patience, self.queue.folder)
        code = process.wait()
        return self._judge(code)

    def _start(self) -> subprocess.Popen[bytes]:
        job = self.job
        environment = self.queue.read_environment(job.id)
        environment[b"ROWTUI_JOB_ID"] = b"%d" % job.id
        environment[b"ROWTUI_TOKEN"] = job.token.encode("utf-8", "surrogateescape")
        name, value = queue_variable(self.queue.folder)
        environment[name] = value
        environment[b"ROWTUI_LOCAL_CPUS"] = b"%d" % job.cpus
        if job.gpus:
            environment[b"CUDA_VISIBLE_DEVICES"] = ",".join(self.claim.gpus).encode()
        os.umask(job.umask)
        log_path = os.fsencode(job.log_path)
        os.makedirs(os.path.dirname(log_path), exist_ok=True)
        log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o666)
        try:
            return subprocess.Popen(
                [b"bash", os.fsencode(self.queue.script_path(job.id))],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=os.fsencode(job.workdir),
                env=environment,
                start_new_session=True,
                # A keeper has one thread, so preexec_fn is safe.
                preexec_fn=lambda: _become_the_job(job),  # noqa: PLW1509
            )
        finally:
            os.close(log)

    def _wait(self, bash: int) -> None:
        """Wait until bash has ended; bash is not reaped."""
        while os.waitid(os.P_PID, bash, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            now = time.monotonic()
            if self.kill_at is not None:
                self._measure(processes_of_job(self.job.token, bash, self.queue.folder))
            if self.kill_at is not None and now >= self.kill_at:
                end_job_processes(self.job.token, bash, 0.0, self.queue.folder)
                self.kill_at = now + 1.0
            elif self.stopped_as is None and self.limit_at is not None and now >= self.limit_at:
                self._stop(bash, JobState.TIMEOUT)
            elif not self.warned and self.warn_at is not None and now >= self.warn_at:
                self._warn(bash)
            news = signal.sigtimedwait(_NEWS, self._patience())
            if news and news.si_signo != signal.SIGCHLD and self.stopped_as is None:
                self._stop(bash, JobState.CANCELLED)

    def _patience(self) -> float:
        times = [self.kill_at and min(self.kill_at, time.monotonic() + _MEASURE_SECONDS)]
        if self.stopped_as is None:
            times.append(self.limit_at)
            if not self.warned:
                times.append(self.warn_at)
        next_at = min((at for at in times if at is not None), default=None)
        return 3600.0 if next_at is None else max(next_at - time.monotonic(), 0.0)

    def _warn(self, bash: int) -> None:
        self.warned = True
        # The signal would kill a script that does not catch it, long before its time limit.
        if catches_signal(bash, signal.SIGUSR1):
            os.kill(bash, signal.SIGUSR1)

    def _stop(self, bash: int, state: JobState) -> None:
        self.stopped_as = state
        self.kill_at = time.monotonic() + self.job.kill_seconds
        processes = processes_of_job(self.job.token, bash, self.queue.folder)
        self._measure(processes)
        for process in processes:
            signal_process(process, signal.SIGTERM)
            signal_process(process, signal.SIGCONT)

    def _measure(self, processes: Sequence[ProcessIdentity]) -> None:
        """Keep the CPU time of these processes: what dies now is lost to its parents."""
        if (used := used_by(processes)) is not None:
            self.cpu = max(used[0], self.cpu or 0.0)

    def _judge(self, code: int) -> End:
        number = -code if code < 0 else None
        if self.stopped_as is JobState.TIMEOUT:
            return self._ended(JobState.TIMEOUT, code, "the time limit was reached")
        if self.stopped_as is JobState.CANCELLED:
            return self._ended(JobState.CANCELLED, code)
        if self.warned and (code == 128 + signal.SIGUSR1 or number == signal.SIGUSR1):
            reason = "the script stopped when it was warned of its time limit"
            return self._ended(JobState.TIMEOUT, code, reason)
        return self._ended(JobState.FAILED if code else JobState.COMPLETED, code)

    def _ended(self, state: JobState, code: int | None = None, reason: str = "") -> End:
        return End(
            state,
            time.time(),
            exit_code=code if code is not None and code >= 0 else None,
            exit_signal=-code if code is not None and code < 0 else None,
            elapsed=round(time.monotonic() - self.claim.since),
            reason=reason,
            cpu=self.cpu,
        )


def _grace(job: QueuedJob) -> float:
    return min(job.grace_seconds, (job.walltime_seconds or 0) / 4)


def _become_the_job(job: QueuedJob) -> None:
    """Reset the signals to defaults and set the submitter's limits, between fork and exec."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for name, soft in job.limits.items():
        with contextlib.suppress(OSError, ValueError, AttributeError):
            number = getattr(resource, name)
            hard = resource.getrlimit(number)[1]
            wanted = hard if soft == resource.RLIM_INFINITY else soft
            allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(number, (allowed, hard))


def note_trouble() -> None:
    """Print the present exception to the log, if the log is writable (the disk may be full)."""
    with contextlib.suppress(OSError, ValueError):
        traceback.print_exc()


def _insist(write: Callable[[], None], folder: Path) -> None:
    """Write a file that must not be lost, with retries while the disk is full.

    The attempts end if `folder` was removed, because no process can then read the file.
    """
    missed = 0
    for _ in range(_RETRIES):
        try:
            return write()
        except OSError:
            note_trouble()
            missed = missed + 1 if is_gone(folder) else 0
            if missed == _MISSED:
                return None
            time.sleep(_RETRY_SECONDS)
    return write()
