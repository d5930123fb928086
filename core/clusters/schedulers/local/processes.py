"""Identify processes without confusion by reused ids, and find all processes of one job.

A process is identified by its id and start time, because ids are reused. The processes of a job are
those in the session or process group of its bash, the descendants of its bash, and all other
processes of this user whose environment has the job's ROWTUI_TOKEN (these made a session of their
own) and, for jobs of the local queue, its folder: the same token in another queue is another job.
The module reads /proc, so it works on Linux only.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple


class ProcessIdentity(NamedTuple):
    """A unique process. `start`: clock ticks after boot (/proc/<pid>/stat, field 22)."""

    pid: int
    start: int


class _Seen(NamedTuple):
    identity: ProcessIdentity
    parent: int
    group: int
    session: int


def identify_process(pid: int) -> ProcessIdentity | None:
    """Return the identity of a process, or None if no such process is running."""
    seen = _look(pid)
    return seen.identity if seen else None


def is_running(identity: ProcessIdentity) -> bool:
    """Whether exactly this process is running. A zombie is not."""
    return identify_process(identity.pid) == identity


def open_process(identity: ProcessIdentity) -> int | None:
    """Return a pidfd of exactly this process, or None if it has ended.

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
    """Send a signal to exactly this process; False if it has ended or belongs to another user."""
    try:
        fd = open_process(identity)
    except OSError:  # an old kernel: the best possible check is the one just before
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
    """Whether a process has a handler for a signal, so that the signal does not simply kill it."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            for line in file:
                if line.startswith(b"SigCgt:"):
                    return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    except OSError:
        pass
    return False


_EXEC_SECONDS = 1.0  # a loaded machine may take long to load a program
_EMPTY_LOOKS = 6


def queue_variable(folder: Path) -> tuple[bytes, bytes]:
    """Return the variable that names a job's queue; its value is the folder's real path."""
    return b"ROWTUI_LOCAL_QUEUE", os.path.realpath(os.fsencode(folder))


def processes_of_job(
    token: str, leader: int | None, queue: Path | None = None
) -> list[ProcessIdentity]:
    """Return all running processes of a job except this one.

    `leader` is the job's bash, if it is still a child of this process. `queue`: the folder of the
    local queue that the job belongs to.
    """
    seen = [process for process in map(_look, _all_ids()) if process]
    members = _kin(seen, leader) if leader is not None else set()
    marks = {b"ROWTUI_TOKEN=" + token.encode("utf-8", "surrogateescape")}
    if queue is not None:
        marks.add(b"=".join(queue_variable(queue)))
    # The leader may have ended and wait to be reaped.
    fields = [] if leader is None else _fields(leader)
    oldest = int(fields[19]) if len(fields) >= 20 else 0
    for process in seen:
        pid, start = process.identity
        # All processes of a job began after its bash: the environments of others are not read.
        if start >= oldest and pid not in members and _environment_holds(pid, marks):
            members.add(pid)
    own = os.getpid()
    return [process.identity for process in seen if process.identity.pid in members - {own}]


def end_job_processes(
    token: str, leader: int | None, patience: float, queue: Path | None = None
) -> None:
    """Send SIGTERM to all processes of a job, and SIGKILL to those left after `patience` seconds.

    Return when no process is left, or ten seconds after `patience` (a process may hang in the
    kernel).
    """
    parts: set[ProcessIdentity] = set()
    start = time.monotonic()
    pause = 0.002
    while left := processes_of_job(token, leader, queue):
        waited = time.monotonic() - start
        if waited > patience + 10:
            return
        for process in left:
            if waited >= patience:
                signal_process(process, signal.SIGKILL)
            elif process not in parts:
                parts.add(process)
                signal_process(process, signal.SIGTERM)
                signal_process(process, signal.SIGCONT)  # a stopped process ends only then
        time.sleep(pause)
        pause = min(pause * 2, 0.1)


def used_by(processes: Iterable[ProcessIdentity]) -> tuple[float, int] | None:
    """Return the CPU seconds of these processes and of their ended children, and their memory now.

    The memory is their resident size in KiB; pages that processes share count for each of them.
    None if all processes have ended.
    """
    ticks, memory, seen = 0, 0, False
    for process in processes:
        fields = _fields(process.pid)
        if len(fields) < 22 or int(fields[19]) != process.start:
            continue
        seen = True
        ticks += sum(int(part) for part in fields[11:15])
        memory += int(fields[21]) * _PAGE_KIB
    return (ticks / os.sysconf("SC_CLK_TCK"), memory) if seen else None


_PAGE_KIB = os.sysconf("SC_PAGE_SIZE") // 1024


def _all_ids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def _look(pid: int) -> _Seen | None:
    fields = _fields(pid)
    if len(fields) < 20 or fields[0] in (b"Z", b"X"):
        return None
    identity = ProcessIdentity(pid, int(fields[19]))
    return _Seen(identity, int(fields[1]), int(fields[2]), int(fields[3]))


def _fields(pid: int) -> list[bytes]:
    """Return the fields of /proc/<pid>/stat from the state (field 3) on; none if it is gone."""
    text = _read(pid, "stat")
    # The name is in parentheses and may contain any character, also spaces and parentheses.
    return text[text.rfind(b")") + 2 :].split()


def _kin(seen: list[_Seen], leader: int) -> set[int]:
    """Return the ids in the leader's session and group, and of its descendants."""
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
    """Whether these variables are in the environment of a process.

    In the middle of an exec the kernel shows nothing or half of it: what is read counts when it was
    read twice, and nothing only when it was read several times.
    """
    before, same = None, 0
    start = time.monotonic()
    while time.monotonic() < start + _EXEC_SECONDS:
        environment = _read(pid, "environ")
        if marks.issubset(environment.split(b"\0")):
            return True
        if not environment and not _has_memory(pid):
            return False
        same = same + 1 if environment == before else 1
        if same >= (2 if environment else _EMPTY_LOOKS) and _read(pid, "cmdline"):
            return False
        before = environment
        if not environment:
            time.sleep(0.0005)
    return False


def _has_memory(pid: int) -> bool:
    """Whether a process is there, and neither a thread of the kernel nor another user's."""
    size = _read(pid, "statm").split(b" ")[0]
    return size not in (b"", b"0") and os.access(f"/proc/{pid}/environ", os.R_OK)


def _read(pid: int, name: str) -> bytes:
    """Return a file of a process; nothing if it is gone, or of another user."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
