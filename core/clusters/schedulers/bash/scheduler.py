"""The `none` cluster: run each script with bash, immediately and in order, inside this process.

The job is in this process's group and writes to its output, so the terminal's Ctrl-C reaches both.
A SIGINT or SIGTERM that only this process receives is sent to all processes of the job, and a
second one kills them. This is as in Row, except that commands read /dev/null instead of the script,
so that no command can consume the rest of the script.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from rowtui.core.base.files import write_all
from rowtui.core.clusters.schedulers.base import (
    Accepted,
    DryAnswer,
    DryVerdict,
    Job,
    JobAnswer,
    JobKey,
    JobSpec,
    QueueSnapshot,
    Rejected,
    SubmitResult,
)
from rowtui.core.clusters.schedulers.local.machine import host_name
from rowtui.core.clusters.schedulers.local.processes import (
    end_job_processes,
    processes_of_job,
    signal_process,
)
from rowtui.core.clusters.schedulers.measured import Measured
from rowtui.core.secrets.model import is_secret

_OVER = "jobs of this cluster are over when they have been submitted"


class BashScheduler:
    """Scheduler of a cluster that runs jobs inside `submit`. Ids count the jobs that it ran."""

    kind = "bash"
    immediate = True  # jobs have ended when `submit` returns
    shared = False  # there is no queue to poll
    holds = False  # a job runs at once
    forgets = False  # jobs are processes of this machine
    at_once = 1  # jobs run one after the other

    def __init__(self, cluster: str = "none") -> None:
        self.cluster = cluster
        self._ran = 0

    @property
    def place(self) -> str:
        """The name of this machine, because only it can check whether a job still runs."""
        return host_name()

    async def submit(self, job: JobSpec) -> SubmitResult:
        """Run the job to its end; reject it, with the way it ended, unless it completed."""
        self._ran += 1
        try:
            script = _script_file(job.script)
        except OSError as error:
            return Rejected(f"cannot write the script down: {error.strerror}")
        signals = _Signals(job.token)
        try:
            # Signals are handled before the job starts, so that none can end this process and leave
            # the job.
            with signals.passed_on():
                code = await self._run(job, script, signals)
        except (OSError, ValueError) as error:
            return Rejected(f"cannot start bash in {job.workdir}: {error}")
        finally:
            os.close(script)
        if code == 0 and not signals.seen:
            return Accepted(self._ran)
        return Rejected(_how_it_ended(code, signals.seen))

    async def _run(self, job: JobSpec, script: int, signals: _Signals) -> int:
        process = await asyncio.create_subprocess_exec(
            "bash",
            f"/dev/fd/{script}",
            stdin=asyncio.subprocess.DEVNULL,
            cwd=job.workdir,
            env={**_without_secrets(), "ROWTUI_TOKEN": job.token},
            pass_fds=(script,),
        )
        try:
            signals.begin(process.pid)
            return await process.wait()
        finally:
            if process.returncode is None:  # this task was cancelled, so end the job too
                await asyncio.to_thread(end_job_processes, job.token, process.pid, 0.5)
                await process.wait()

    async def test_only(self, job: JobSpec) -> DryAnswer:
        """Return that no dry check is possible: only running the job would show the result."""
        return DryAnswer(DryVerdict.NOT_TOLD, "bash runs any job; it checks none before")

    async def find(self, tokens: Collection[str]) -> Mapping[str, tuple[Job, ...]] | None:
        """Return no jobs, because every job has ended."""
        return {}

    async def queue(self, job_ids: Sequence[int] | None = None) -> QueueSnapshot:
        """Return an empty queue."""
        return QueueSnapshot(self.cluster, time.time())

    async def folders(self, job_ids: Sequence[int]) -> Mapping[int, str] | None:
        """Return no folders, because there is no queue."""
        return {}

    async def cancel(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        """Refuse: a process that could cancel a job is waiting for it in `submit`."""
        return tuple(JobAnswer(job, _OVER) for job in jobs)

    async def hold(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        """Refuse: no job waits."""
        return tuple(JobAnswer(job, _OVER) for job in jobs)

    async def release(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        """Refuse: no job waits."""
        return tuple(JobAnswer(job, _OVER) for job in jobs)

    async def measured(self, jobs: Mapping[JobKey, str]) -> Mapping[JobKey, Measured]:
        """Return nothing: the jobs' scripts measure all that can be known."""
        return {}

    async def measured_now(self, jobs: Mapping[JobKey, str]) -> Mapping[JobKey, Measured]:
        """Return nothing: jobs have ended when `submit` returns."""
        return {}


class _Signals:
    """The signals that this process received while a job ran; they are sent to the job too."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.bash: int | None = None
        self.seen: list[signal.Signals] = []

    def begin(self, bash: int) -> None:
        """Register the started job, and send it the signals received before."""
        self.bash = bash
        if self.seen:
            self._tell(self.seen[-1] if len(self.seen) == 1 else signal.SIGKILL)

    @contextlib.contextmanager
    def passed_on(self) -> Iterator[None]:
        """Handle SIGINT and SIGTERM while the block lasts (only possible in the main thread)."""
        loop = asyncio.get_running_loop()
        before: dict[signal.Signals, Any] = {}
        for number in (signal.SIGINT, signal.SIGTERM):
            previous = signal.getsignal(number)
            with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):
                loop.add_signal_handler(number, self._pass_on, number)
                before[number] = previous
        try:
            yield
        finally:
            for number, previous in before.items():
                loop.remove_signal_handler(number)
                signal.signal(number, previous if previous is not None else signal.SIG_DFL)

    def _pass_on(self, number: signal.Signals) -> None:
        self.seen.append(number)
        if len(self.seen) > 1:
            self._tell(signal.SIGKILL)
        elif number is not signal.SIGINT or not _in_foreground():
            # The terminal sent Ctrl-C to the job already; a second signal could disturb its
            # clean-up.
            self._tell(number)

    def _tell(self, number: signal.Signals) -> None:
        if self.bash is not None:
            for process in processes_of_job(self.token, self.bash):
                signal_process(process, number)


def _script_file(script: str) -> int:
    """Write the script to a nameless file in memory, which never changes or needs removal."""
    fd = os.memfd_create("rowtui-script", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        write_all(fd, script.encode("utf-8", "surrogateescape"))
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _in_foreground() -> bool:
    """Whether the keys of the terminal, if there is one, send their signals to this group."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _how_it_ended(code: int, seen: Sequence[signal.Signals]) -> str:
    if code == 0:
        return f"interrupted by {seen[0].name}"
    return f"terminated by signal {-code}" if code < 0 else f"exited with code {code}"


def _without_secrets() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not is_secret(name)}
