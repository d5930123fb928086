"""The lock that lets one process at a time drive a run.

The lock is `flock` on a file and ends with its process; the file's content names the holder for the
user. Where a file system has no locks, the content decides: a process of this machine that has
ended holds nothing.
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

from rowtui.core.base.document import KnownMoment, TextOrNull
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import time_text, visible
from rowtui.core.runs.model import VERSION, json_line

# A check of the holder locks the file itself for microseconds. A lock therefore counts as held only
# after this many attempts, this far apart.
_TRIES = 20
_TRY_SECONDS = 0.01


class Holder(NamedTuple):
    """The process that drives a run. `job`: the scheduler's job that it runs in, null for none."""

    host: str
    pid: int
    since: KnownMoment
    job: TextOrNull = ""

    def __str__(self) -> str:
        """Return a text such as `process 123 on host, since Sun 2026-11-22 18:00`."""
        where = f"on {visible(self.host)}, since {time_text(self.since)}"
        return f"{f'job {visible(self.job)}' if self.job else f'process {self.pid}'} {where}"


class DriverCommands(NamedTuple):
    """The commands that show and stop the process that drives a run."""

    watch: str = "rowtui network show"
    stop: str = "rowtui network stop"


NETWORK_DRIVER = DriverCommands()
PROJECT_DRIVER = DriverCommands("rowtui run --status", "rowtui run --stop")


class RunHeldError(RowtuiError):
    """Another process drives the run, or ("") any run of the project.

    `holder` is set if the lock file names that process.
    """

    def __init__(
        self, run_id: str, holder: Holder | None, commands: DriverCommands = NETWORK_DRIVER
    ) -> None:
        what = f"run {run_id}" if run_id else "the project"
        super().__init__(
            f"{what} is driven by {holder or 'another process'}",
            f"watch the run with `{commands.watch}`, or stop it with `{commands.stop}`: "
            "nothing is lost",
        )
        self.holder = holder


@contextlib.contextmanager
def hold(path: Path, run_id: str = "", job: str = "") -> Iterator[Holder]:
    """Hold the lock of this file, which need not exist. `job`: see `Holder`.

    Raises: RunHeldError if another process holds the lock; OSError if the file cannot be written.
    """
    me = Holder(socket.gethostname(), os.getpid(), time.time(), job)
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
    """Return the process that holds the lock now; None if the lock is free."""
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
        except OSError:  # no locks on this file system: use the file's content
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
        except OSError:  # no locks on this file system: held if the named process may be alive
            holder = _holder_in(fd)
            return holder is None or not _may_live(holder)
        else:
            return True
    return False


def _holder_in(fd: int) -> Holder | None:
    try:
        fields = json.loads(os.pread(fd, 4096, 0))
        return Holder(
            str(fields["host"]),
            int(fields["pid"]),
            float(fields["since"]),
            str(fields.get("job", "")),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _may_live(holder: Holder) -> bool:
    """Whether a process may still run. Processes of other machines always count as running."""
    if holder.host != socket.gethostname():
        return True
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
