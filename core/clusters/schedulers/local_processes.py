"""Processes that are never mistaken for others, and all the processes of one job.

A process is its id and its start time together, because ids are used again. The processes of a
job are those in the session or the process group of its bash, its bash's descendants, and all
others of this user whose environment holds the job's ROWTUI_TOKEN (they made their own session)
and, for jobs of the local queue, its folder: the same token elsewhere is another job. Takes
/proc, so Linux only.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import NamedTuple


class ProcessIdentity(NamedTuple):
    """One process for ever. `start`: clock ticks after boot (/proc/<pid>/stat, field 22)."""

    pid: int
    start: int


class _Seen(NamedTuple):
    identity: ProcessIdentity
    parent: int
    group: int
    session: int


def identify_process(pid: int) -> ProcessIdentity | None:
    """The identity of a process, or None when there is none that still runs."""
    seen = _look(pid)
    return seen.identity if seen else None


def is_running(identity: ProcessIdentity) -> bool:
    """Whether this very process still runs. A zombie does not."""
    return identify_process(identity.pid) == identity


def open_process(identity: ProcessIdentity) -> int | None:
    """A pidfd of this very process, or None when it has ended.

    Raises: OSError (ENOSYS) on kernels without pidfds (before Linux 5.3).
    """
    try:
        fd = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return None
    if is_running(identity):
        return fd
    os.close(fd)
    return None


def signal_process(identity: ProcessIdentity, number: int) -> bool:
    """Send a signal to this very process; False when it has ended or is not ours."""
    try:
        fd = open_process(identity)
    except OSError:  # an old kernel: the identity was checked an instant ago, no better is known
        if not is_running(identity):
            return False
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(identity.pid, number)
            return True
        return False
    if fd is None:
        return False
    try:
        signal.pidfd_send_signal(fd, number)
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        os.close(fd)
    return True


def catches_signal(pid: int, number: int) -> bool:
    """Whether a process has a handler for a signal, so that the signal will not just kill it."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            for line in file:
                if line.startswith(b"SigCgt:"):
                    return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    except OSError:
        pass
    return False


def queue_variable(folder: Path) -> tuple[bytes, bytes]:
    """What says in a job's environment whose it is: however the folder is spelt, the same."""
    return b"ROWTUI_LOCAL_QUEUE", os.path.realpath(os.fsencode(folder))


def processes_of_job(
    token: str, leader: int | None, queue: Path | None = None
) -> list[ProcessIdentity]:
    """All running processes of a job but this one; `leader` is its bash, if that is ours still.

    `queue`: the folder of the local queue whose job it is.
    """
    seen = [process for process in map(_look, _all_ids()) if process]
    members = _kin(seen, leader) if leader is not None else set()
    marks = {b"ROWTUI_TOKEN=" + token.encode("utf-8", "surrogateescape")}
    if queue is not None:
        marks.add(b"=".join(queue_variable(queue)))
    for process in seen:
        pid = process.identity.pid
        if pid not in members and _environment_holds(pid, marks):
            members.add(pid)
    own = os.getpid()
    return [process.identity for process in seen if process.identity.pid in members - {own}]


def end_job_processes(
    token: str, leader: int | None, patience: float, queue: Path | None = None
) -> None:
    """SIGTERM to all processes of a job, and SIGKILL to those that are left after `patience`.

    Returns when none is left, or after ten seconds more (a process can be stuck in the kernel).
    """
    told: set[ProcessIdentity] = set()
    start = time.monotonic()
    pause = 0.002
    while left := processes_of_job(token, leader, queue):
        waited = time.monotonic() - start
        if waited > patience + 10:
            return
        for process in left:
            if waited >= patience:
                signal_process(process, signal.SIGKILL)
            elif process not in told:
                told.add(process)
                signal_process(process, signal.SIGTERM)
                signal_process(process, signal.SIGCONT)  # a stopped process dies only then
        time.sleep(pause)
        pause = min(pause * 2, 0.1)


def _all_ids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def _look(pid: int) -> _Seen | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    # The name is in parentheses and may hold anything, also spaces and parentheses.
    fields = text[text.rfind(b")") + 2 :].split()
    if len(fields) < 20 or fields[0] in (b"Z", b"X"):
        return None
    identity = ProcessIdentity(pid, int(fields[19]))
    return _Seen(identity, int(fields[1]), int(fields[2]), int(fields[3]))


def _kin(seen: list[_Seen], leader: int) -> set[int]:
    """The ids in the leader's session and group, and of its descendants."""
    own = os.getpid()
    kin = {leader}
    for process in seen:
        if leader in (process.session, process.group):
            kin.add(process.identity.pid)
    kin.discard(own)
    grown = True
    while grown:
        grown = False
        for process in seen:
            pid = process.identity.pid
            if process.parent in kin and pid not in kin and pid != own:
                kin.add(pid)
                grown = True
    return kin


def _environment_holds(pid: int, marks: set[bytes]) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return marks.issubset(file.read().split(b"\0"))
    except OSError:
        return False
