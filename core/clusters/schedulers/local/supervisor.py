"""The supervisor: start waiting jobs of one local queue when the machine has free resources.

There is one supervisor per machine and user; it is started on demand (local_wake) and ends when no
job is left. Its whole state is in files: if it is killed, jobs continue under their keepers, and
the next supervisor adopts them. It waits in poll on its bell and on the pidfds of the keepers.

Run as `python -m rowtui.core.clusters.schedulers.local.supervisor FOLDER`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import select
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import is_gone
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.clusters.schedulers.local.keeper import keep_job, note_trouble
from rowtui.core.clusters.schedulers.local.machine import Capacity, boot_id, machine_capacity
from rowtui.core.clusters.schedulers.local.planning import plan_jobs
from rowtui.core.clusters.schedulers.local.processes import (
    ProcessIdentity,
    end_job_processes,
    identify_process,
    is_running,
    open_process,
)
from rowtui.core.clusters.schedulers.local.queue import LocalQueue
from rowtui.core.clusters.schedulers.local.records import Claim, End, QueuedJob
from rowtui.core.clusters.schedulers.local.wake import CANCELLED, open_bell, take_lock

_IDLE_SECONDS = 2.0  # long enough for the next submission of a user, or of a loop
_RESCAN_SECONDS = 60.0  # the longest time between two scans of the files
_POLL_SECONDS = 0.2  # between checks of processes on kernels without pidfds
_RETRY_SECONDS = 5.0  # before retrying a job whose keeper could not claim it (full disk)


@dataclass(slots=True)
class _Kept:
    """A running job. `pidfd` is -1 on kernels without pidfds."""

    job: QueuedJob
    keeper: ProcessIdentity
    pidfd: int
    gpus: tuple[str, ...]
    since: float
    child: bool


class Supervisor:
    """The loop of the supervisor. All state is a copy of the files."""

    def __init__(self, queue: LocalQueue, capacity: Capacity) -> None:
        self.queue = queue
        self.capacity = capacity
        self.boot = boot_id()
        self.waiting: dict[int, QueuedJob] = {}
        self.kept: dict[int, _Kept] = {}
        self.ended: dict[int, bool | None] = {}  # whether the job completed; None: not read yet
        self.bad: set[int] = set()  # unreadable records: skipped until the next full scan
        self.noted: set[int] = set()  # unreadable records that are in the log
        self.unwritten: dict[int, tuple[QueuedJob, End]] = {}
        self.not_before: dict[int, float] = {}
        self.poll = select.poll()
        self.bell = -1

    def run(self, lock: int, bell: int) -> None:
        """Work until no job is left. This process owns `lock` and `bell`."""
        self._listen(bell)
        self.lock = lock
        idle_since = None
        message = CANCELLED
        while True:
            self._look(everything=CANCELLED in message)
            if is_gone(self.queue.jobs):
                return  # the queue was removed; running jobs have keepers
            self._start_jobs()
            if self.waiting or self.kept or self.unwritten:
                idle_since = None
            elif idle_since is None:
                idle_since = time.monotonic()
                self._tidy()
            elif time.monotonic() - idle_since >= _IDLE_SECONDS:
                # From now on a submitter finds no reader at the bell and starts another supervisor;
                # a submitter that rang before has committed its job, which the following scan
                # finds.
                self._close_bell()
                self._look(everything=True)
                if not self.waiting and not self.kept:
                    return
                self._listen(open_bell(self.queue.folder))
                idle_since = None
            message = self._sleep(idle_since)

    # -- events -----------------------------------------------------------------------------

    def _listen(self, bell: int) -> None:
        self.bell = bell
        self.poll.register(bell, select.POLLIN)

    def _close_bell(self) -> None:
        self.poll.unregister(self.bell)
        os.close(self.bell)
        self.bell = -1

    def _sleep(self, idle_since: float | None) -> bytes:
        """Wait for a ring, the end of a keeper or the next deadline; return the rings, if any."""
        now = time.monotonic()
        seconds = _RESCAN_SECONDS
        if idle_since is not None:
            seconds = idle_since + _IDLE_SECONDS - now
        elif any(kept.pidfd < 0 for kept in self.kept.values()):
            seconds = _POLL_SECONDS
        if self.unwritten:
            seconds = min(seconds, _RETRY_SECONDS)
        for at in self.not_before.values():
            seconds = min(seconds, at - now)
        events = self.poll.poll(max(seconds, 0.0) * 1000 + 1)
        message = b"" if events else CANCELLED  # the timeout has passed: scan everything
        if any(fd == self.bell for fd, _ in events):
            with contextlib.suppress(BlockingIOError):
                message = os.read(self.bell, 1 << 16)
        return message

    # -- the state of files and processes -----------------------------------------------------

    def _look(self, *, everything: bool) -> None:
        for job, end in [self.unwritten.pop(number) for number in list(self.unwritten)]:
            self._finish(job, end)
        for kept in list(self.kept.values()):
            if not _goes_on(kept):
                self._take_leave(kept)
        if everything:
            for job in list(self.waiting.values()):
                self._sort_in(job)
            self.bad.clear()
        known = self.waiting.keys() | self.kept.keys() | self.ended.keys() | self.bad
        for number in self.queue.ids():
            if number not in known:
                self._read_in(number)
        self._cancel_hopeless()

    def _read_in(self, number: int) -> None:
        if self.queue.has_ended(number):
            self.ended[number] = None
            return
        try:
            job = self.queue.read_job(number)
        except (RowtuiError, OSError):
            self._set_aside(number)
            return
        if job is not None:
            self._sort_in(job)

    def _sort_in(self, job: QueuedJob) -> None:
        """Put a job into the collection that its files determine."""
        self.waiting.pop(job.id, None)
        try:
            self._sort_by_files(job)
        except (RowtuiError, OSError):
            self._set_aside(job.id)

    def _set_aside(self, number: int) -> None:
        # A damaged record is shown as damaged (local.py) and stops no other job.
        if number not in self.noted:
            note_trouble()
        self.noted.add(number)
        self.bad.add(number)

    def _sort_by_files(self, job: QueuedJob) -> None:
        claim = self.queue.read_claim(job.id)
        end = self.queue.read_end(job.id)  # after the claim: an end written in between counts
        if end is None and claim is None:
            self.waiting[job.id] = job
        elif end is not None:
            self._note_end(job, end)
        elif claim is not None and claim.pid == 0:
            self._finish(job, End(JobState.CANCELLED, time.time(), reason=claim.reason))
        elif claim is not None and claim.boot != self.boot:
            reason = "the machine was restarted while the job ran"
            self._finish(job, End(JobState.NODE_FAIL, time.time(), reason=reason))
        elif claim is not None:
            self._adopt(job, claim)

    def _adopt(self, job: QueuedJob, claim: Claim) -> None:
        keeper = ProcessIdentity(claim.pid, claim.start)
        try:
            pidfd = open_process(keeper)
        except OSError:
            pidfd = -1 if is_running(keeper) else None
        if pidfd is None:
            self._settle(job, claim)
        else:
            self._keep(_Kept(job, keeper, pidfd, claim.gpus, claim.since, child=False))

    def _keep(self, kept: _Kept) -> None:
        self.kept[kept.job.id] = kept
        if kept.pidfd >= 0:
            self.poll.register(kept.pidfd, select.POLLIN)

    def _take_leave(self, kept: _Kept) -> None:
        """Update the state of a job whose keeper has ended."""
        del self.kept[kept.job.id]
        if kept.pidfd >= 0:
            self.poll.unregister(kept.pidfd)
            os.close(kept.pidfd)
        if kept.child:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(kept.keeper.pid, 0)
        self._sort_in(kept.job)
        if kept.job.id in self.waiting:  # the keeper failed to claim the job
            self.not_before[kept.job.id] = time.monotonic() + _RETRY_SECONDS

    def _settle(self, job: QueuedJob, claim: Claim) -> None:
        """End the job of a keeper that was killed before it recorded an end."""
        end = self.queue.read_end(job.id)
        if end is not None:
            self._note_end(job, end)
            return
        end_job_processes(job.token, None, job.kill_seconds, self.queue.folder)
        elapsed = max(round(time.monotonic() - claim.since), 0)
        reason = "the process that watched over the job was killed"
        self._finish(job, End(JobState.FAILED, time.time(), elapsed=elapsed, reason=reason))

    def _finish(self, job: QueuedJob, end: End) -> None:
        try:
            self.queue.finish(job, end)
        except OSError:  # a full disk: retry later
            note_trouble()
            self.unwritten[job.id] = (job, end)
        self._note_end(job, end)

    def _note_end(self, job: QueuedJob, end: End) -> None:
        self.ended[job.id] = end.state is JobState.COMPLETED
        self.not_before.pop(job.id, None)

    # -- decisions --------------------------------------------------------------------------

    def _cancel_hopeless(self) -> None:
        """Cancel the jobs whose predecessors did not complete, and the successors of these jobs."""
        for job in sorted(self.waiting.values(), key=lambda job: job.id):
            failed = [number for number in job.after if self._will_never_end_well(number)]
            if failed:
                reason = f"Dependency: job {failed[0]} did not end well"
                with contextlib.suppress(OSError):
                    self.queue.cancel_waiting(job, reason)
                self._sort_in(job)

    def _ended_well(self, number: int) -> bool:
        if number in self.ended and self.ended[number] is None:
            try:
                end = self.queue.read_end(number)
            except (RowtuiError, OSError):
                end = None
            self.ended[number] = end is not None and end.state is JobState.COMPLETED
        return self.ended.get(number) is True

    def _will_never_end_well(self, number: int) -> bool:
        return (
            number not in self.waiting and number not in self.kept and not self._ended_well(number)
        )

    def _start_jobs(self) -> None:
        if sum(kept.job.cpus for kept in self.kept.values()) >= self.capacity.cores:
            return  # every job takes a core, so no job can start
        now = time.monotonic()
        self.not_before = {number: at for number, at in self.not_before.items() if at > now}
        ready = [
            job
            for job in sorted(self.waiting.values(), key=lambda job: job.id)
            if job.id not in self.not_before and all(map(self._ended_well, job.after))
        ]
        if not ready:
            return
        running = [(kept.job, now - kept.since) for kept in self.kept.values()]
        plan = plan_jobs(ready, running, self.capacity)
        for number in plan.start:
            self._start(self.waiting.pop(number))

    def _start(self, job: QueuedJob) -> None:
        taken = {name for kept in self.kept.values() for name in kept.gpus}
        free = [name for name in self.capacity.gpus if name not in taken]
        gpus = tuple(free[: job.gpus])
        pid = os.fork()
        if pid == 0:
            self._become_keeper(job, gpus)
        keeper = identify_process(pid) or ProcessIdentity(pid, 0)
        try:
            pidfd = os.pidfd_open(pid)  # a child that is not reaped: its pid is not reused
        except OSError:
            pidfd = -1
        self._keep(_Kept(job, keeper, pidfd, gpus, time.monotonic(), child=True))

    def _become_keeper(self, job: QueuedJob, gpus: tuple[str, ...]) -> None:
        code = 1
        try:
            # The lock and the bell above all: they must be free when the supervisor dies.
            os.closerange(3, max(self.lock, self.bell, 2, *self._pidfds()) + 8)
            keep_job(self.queue, job, gpus)
            code = 0
        except BaseException:
            note_trouble()
        finally:
            os._exit(code)

    def _pidfds(self) -> list[int]:
        return [kept.pidfd for kept in self.kept.values()]

    def _tidy(self) -> None:
        with contextlib.suppress(OSError, RowtuiError, ValueError, KeyError):
            self.queue.remove_old(time.time())


def _goes_on(kept: _Kept) -> bool:
    if kept.pidfd >= 0:
        watch = select.poll()
        watch.register(kept.pidfd, select.POLLIN)
        return not watch.poll(0)
    return is_running(kept.keeper)


def main(arguments: list[str]) -> None:
    """Supervise the queue in the given folder, unless another process already does."""
    parser = argparse.ArgumentParser(prog="local_supervisor")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--lock", type=int, help="the inherited lock")
    parser.add_argument("--bell", type=int, help="the inherited bell")
    given = parser.parse_args(arguments)
    # The shell ignores SIGINT for commands started with `&`, and jobs would inherit that.
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
    with contextlib.suppress(PermissionError):  # already a session leader
        os.setsid()
    queue = LocalQueue(given.folder)
    queue.prepare()
    lock = given.lock if given.lock is not None else take_lock(given.folder)
    if lock is None:
        return
    bell = given.bell if given.bell is not None else open_bell(given.folder)
    os.set_inheritable(lock, False)
    os.set_inheritable(bell, False)
    Supervisor(queue, machine_capacity()).run(lock, bell)


if __name__ == "__main__":
    main(sys.argv[1:])
