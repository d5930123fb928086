"""One process at a time drives a run: a lock that goes with its process, and says who holds it.

The lock is `flock` on a file; what stands in the file is for people. Where a file system has no
locks, what stands there decides: a process of this machine that is gone holds nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rowtui.core.errors import RowtuiError
from rowtui.core.runs.model import VERSION, json_line
from rowtui.core.runs.moments import time_text
from rowtui.core.text import visible

# Whoever asks who holds a run locks it for microseconds itself: so often, and so long apart, is a
# lock tried before it counts as held.
_TRIES = 20
_TRY_SECONDS = 0.01


class Holder(NamedTuple):
    """Who drives a run. `since`: epoch seconds."""

    host: str
    pid: int
    since: float

    def __str__(self) -> str:
        """`process 123 on host, since Sun 2026-11-22 18:00`."""
        return f"process {self.pid} on {visible(self.host)}, since {time_text(self.since)}"


class RunHeldError(RowtuiError):
    """Another process drives the run; `holder` if it said who it is."""

    def __init__(self, run_id: str, holder: Holder | None) -> None:
        super().__init__(
            f"run {run_id} is driven by {holder or 'another process'}",
            "watch it with `rowtui network show`, or end that process first: nothing is lost",
        )
        self.holder = holder


@contextlib.contextmanager
def hold(path: Path, run_id: str) -> Iterator[Holder]:
    """Hold the lock of this file, which need not exist.

    Raises: RunHeldError if somebody else does; OSError if it cannot be written.
    """
    me = Holder(socket.gethostname(), os.getpid(), time.time())
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        if not _locked(fd):
            raise RunHeldError(run_id, _holder_in(fd))
        os.ftruncate(fd, 0)
        os.pwrite(fd, json_line({"v": VERSION, **me._asdict()}) + b"\n", 0)
        try:
            yield me
        finally:
            with contextlib.suppress(OSError):
                os.ftruncate(fd, 0)
    finally:
        os.close(fd)


def holder_of(path: Path) -> Holder | None:
    """Who holds the lock now; None: nobody."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        holder = _holder_in(fd)
        if holder is None:
            return None
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return holder
        except OSError:  # no locks here: what was written has to do
            return holder if _may_live(holder) else None
        return None
    finally:
        os.close(fd)


def _locked(fd: int) -> bool:
    """Whether the lock could be taken."""
    for _ in range(_TRIES):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_TRY_SECONDS)
        except OSError:  # no locks on this file system: whoever wrote its name, and may live
            holder = _holder_in(fd)
            return holder is None or not _may_live(holder)
        else:
            return True
    return False


def _holder_in(fd: int) -> Holder | None:
    try:
        fields = json.loads(os.pread(fd, 4096, 0))
        return Holder(str(fields["host"]), int(fields["pid"]), float(fields["since"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _may_live(holder: Holder) -> bool:
    """Whether a process may still run; of other machines' nobody knows."""
    if holder.host != socket.gethostname():
        return True
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
