"""The last known state of one queue, in a file shared by all rowtui processes of a user.

The module determines the file's name, writes the file by rename (readers see the complete old or
new file) and provides the lock that a process holds while it queries the scheduler; the lock ends
with its process. The state is a `KnownQueue`. A file that cannot be read is no error: the queue is
queried again. The files are not fsynced, because losing them does no harm.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import read_bounded, write_all
from rowtui.core.base.lazy import hashlib, orjson, platformdirs
from rowtui.core.clusters.model import Cluster
from rowtui.core.clusters.polling.policy import PollHistory
from rowtui.core.clusters.schedulers.base import Job, JobState, QueueSnapshot

VERSION = 1
LARGEST_FILE = 256 << 20  # bytes; 10,300 jobs take about 1.5 MB
OLD_SECONDS = 30 * 86_400.0  # files of queues that were not polled for this time are removed

# Variables that select the cluster that a scheduler's commands on this machine talk to.
_POINTERS = ("SLURM_CONF", "SGE_ROOT", "SGE_CELL", "SGE_CLUSTER_NAME", "SGE_QMASTER_PORT")


class KnownQueue(NamedTuple):
    """The known state of one queue.

    `snapshot`: the last good answer, None before the first; `as_of`: when the poll for it began
    (jobs submitted later may be missing from it); `error`: why the last poll failed, else "".
    """

    history: PollHistory = PollHistory()
    snapshot: QueueSnapshot | None = None
    as_of: float = 0.0
    error: str = ""


def queues_folder() -> Path:
    """Return the folder of this user's queues, in the user's cache folder."""
    return platformdirs.user_cache_path("rowtui") / "queues"


def cache_name(cluster: Cluster, environ: Mapping[str, str]) -> str:
    """Return a file name for a cluster and the way in which this user reaches it from here."""
    remote = cluster.remote
    how: tuple[object, ...] = (
        tuple(environ.get(name, "") for name in _POINTERS)
        if remote is None
        else (remote.host, remote.user, remote.port, remote.config)
    )
    parts = (os.uname().nodename, os.geteuid(), cluster.scheduler, cluster.name, how)
    digest = hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()
    safe = re.sub(r"[^A-Za-z0-9_-]+", "_", cluster.name)[:40].strip("-_")
    return f"{safe or 'cluster'}-{digest[:16]}"


class PollCache:
    """The files of one queue: `<name>.json`, `.lock`, `.submitted`, `.measured`."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self._answer = folder / f"{name}.json"
        self._lock = folder / f"{name}.lock"
        self._submitted = folder / f"{name}.submitted"
        self._measured = folder / f"{name}.measured"
        self._seen: tuple[int, int, int] | None = None

    def has_changed(self) -> bool:
        """Whether the file changed since this object read or wrote it."""
        try:
            return _identity(os.stat(self._answer)) != self._seen
        except OSError:
            return False

    def read(self) -> KnownQueue | None:
        """Read the state that any process wrote last; None if there is none or it is unreadable."""
        try:
            seen = _identity(os.stat(self._answer))
            known = decoded(read_bounded(self._answer, LARGEST_FILE))
        except (OSError, RowtuiError):
            return None
        self._seen = seen
        return known

    def write(self, known: KnownQueue) -> bool:
        """Write the state for all processes. Return False if it cannot be written.

        The caller holds the lock.
        """
        temporary = self.folder / f".{self._answer.name}.tmp"
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
            fd = os.open(temporary, flags, 0o600)
            try:
                write_all(fd, encoded(known))
                seen = _identity(os.fstat(fd))
            finally:
                os.close(fd)
            os.replace(temporary, self._answer)
        except OSError:
            return False
        self._seen = seen
        return True

    @property
    def submitted(self) -> float:
        """When a process last submitted jobs, 0.0 if unknown."""
        try:
            at = float(read_bounded(self._submitted, 64))
        except (OSError, RowtuiError, ValueError):
            return 0.0
        return at if math.isfinite(at) and at > 0.0 else 0.0

    @submitted.setter
    def submitted(self, at: float) -> None:
        with contextlib.suppress(OSError):
            self._make_folder()
            fd = os.open(self._submitted, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.pwrite(fd, f"{at!r:<31}\n".encode(), 0)  # fixed length, replaces older text
            finally:
                os.close(fd)

    def take_turn(self, now: float, seconds: float) -> bool:
        """Whether no process asked what running jobs use within `seconds`. If so, note it.

        Two processes at the same moment may both have their turn.
        """
        try:
            age = now - os.stat(self._measured).st_mtime
        except OSError:
            age = math.inf
        if 0.0 <= age < seconds:
            return False
        with contextlib.suppress(OSError):
            self._make_folder()
            self._measured.touch(mode=0o600)
            os.utime(self._measured, (now, now))
        return True

    def try_lock(self) -> CacheLock | None:
        """Take the lock for querying the scheduler; None while another process holds it.

        If no lock can be made at all (a folder that cannot be written, a file system without
        locks), every process gets it.
        """
        while True:
            try:
                self._make_folder()
                fd = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError:
                return CacheLock(None)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(fd)
                return None
            except OSError:
                os.close(fd)
                return CacheLock(None)
            if _is_at(fd, self._lock):
                return CacheLock(fd)
            os.close(fd)  # the file was removed as old between the two calls

    def forget_old(self, now: float) -> None:
        """Remove the files of queues that were not polled for `OLD_SECONDS`."""
        with contextlib.suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    if entry.stat(follow_symlinks=False).st_mtime < now - OLD_SECONDS:
                        os.unlink(entry)

    def _make_folder(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)


class CacheLock:
    """The lock for querying the scheduler. It ends with `release`, or with the process."""

    def __init__(self, fd: int | None) -> None:
        self._fd = fd

    def release(self) -> None:
        """Release the lock. Further calls have no effect."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def encoded(known: KnownQueue) -> bytes:
    """Encode a state: a header line, a line of facts, and a line for each field of the jobs.

    The header names the JSON library. Every column is a separate line of JSON, so that no step
    blocks other threads for long.
    """
    snapshot = known.snapshot
    jobs = snapshot.jobs if snapshot is not None else ()
    facts: dict[str, object] = {
        "history": [getattr(known.history, name) for name in _STORED],
        "as_of": known.as_of,
        "error": known.error,
        "snapshot": snapshot and [snapshot.cluster, snapshot.at, len(jobs)],
        "fields": list(_TYPES),
    }
    columns = [list(map(attrgetter(name), jobs)) for name in _TYPES] if jobs else []
    for column in columns:
        if type(column[0]) is JobState:
            column[:] = [state.value for state in column]
    try:
        way, lines = b"orjson", [orjson.dumps(part) for part in (facts, *columns)]
    except TypeError:
        # Non-UTF-8 bytes (lone surrogates) or a number of more than 64 bits.
        way, lines = b"json", [json.dumps(part).encode() for part in (facts, *columns)]
    return b"\n".join((b"%s %s" % (_MAGIC, way), *lines))


def decoded(data: bytes) -> KnownQueue | None:
    """Decode a state; None for any other data: another version, a truncated file, other fields."""
    header, *lines = data.split(b"\n")
    loads: Callable[[bytes], Any]
    if header == _MAGIC + b" orjson":
        loads = orjson.loads
    elif header == _MAGIC + b" json":
        loads = json.loads
    else:
        return None
    try:
        return _known(loads(lines[0]), map(loads, lines[1:]))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return None


_MAGIC = b"rowtui-queue %d" % VERSION
# The fields of a history that are written with the answer; `submitted` has a file of its own.
_STORED = ("began", "ended", "seconds", "errors", "hurried", "chance")
# Field of a job -> the types that its column may have in JSON.
_TYPES: Mapping[str, frozenset[type]] = {
    name: {
        "int": frozenset({int}),
        "int | None": frozenset({int, type(None)}),
        "str": frozenset({str}),
        "JobState": frozenset({str}),
    }[str(getattr(kind, "__forward_arg__", kind))]
    for name, kind in Job.__annotations__.items()
}
_STATES = {state.value: state for state in JobState}


def _known(facts: Any, columns: Iterable[Any]) -> KnownQueue:
    """Build the state. Raises: ValueError, TypeError and others for data of another form."""
    numbers = facts["history"]
    for number in (*numbers, facts["as_of"]):
        # With a NaN or an infinite number, the queue would never be due again.
        if type(number) not in (int, float) or not 0 <= number < math.inf:
            raise TypeError("history")
    history = PollHistory(**dict(zip(_STORED, numbers, strict=True)))
    if history.chance > 1 or facts["fields"] != list(_TYPES):
        raise ValueError("not of this version")
    if type(facts["error"]) is not str:
        raise TypeError("error")
    snapshot = None
    if facts["snapshot"] is not None:
        cluster, at, length = facts["snapshot"]
        if type(cluster) is not str or type(at) not in (int, float) or type(length) is not int:
            raise TypeError("snapshot")
        snapshot = QueueSnapshot(cluster, at, _jobs(columns, length) if length else ())
    return KnownQueue(history, snapshot, facts["as_of"], facts["error"])


def _jobs(columns: Iterable[Any], length: int) -> tuple[Job, ...]:
    checked = []
    for (name, types), column in zip(_TYPES.items(), columns, strict=True):
        if type(column) is not list or len(column) != length:
            raise TypeError(name)
        if not types.issuperset(map(type, column)):
            raise TypeError(name)
        checked.append([_STATES[word] for word in column] if name == "state" else column)
    return tuple(map(Job._make, zip(*checked, strict=True)))


def _identity(status: os.stat_result) -> tuple[int, int, int]:
    return (status.st_mtime_ns, status.st_size, status.st_ino)


def _is_at(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except OSError:
        return False
