"""Find, wake and start the one supervisor of a machine and user.

The supervisor holds a lock (flock) and reads a FIFO, the bell. A process that needs the supervisor
rings the bell. If the bell has no reader, there is no supervisor: the process then takes the lock,
opens the reading end of the bell, and passes both to a new process. Two supervisors can therefore
never start, and no ring is lost. Lock and bell end with the process, however it dies.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import time
from pathlib import Path

from rowtui.core.base.lazy import subprocess
from rowtui.core.secrets.model import is_secret

_SETTLE_SECONDS = 2.0  # a supervisor that is ending holds the lock only for milliseconds
_LOG_LIMIT = 1 << 20
# These must not be inherited: the new process would look like one of the submitting job.
_JOB_VARIABLES = ("ROWTUI_TOKEN", "ROWTUI_JOB_ID", "ROWTUI_LOCAL_CPUS", "ROWTUI_LOCAL_QUEUE")

NEW_JOB = b"n"
CANCELLED = b"c"


def open_bell(folder: Path) -> int:
    """Open the reading end of the bell, and make the bell if it is missing. Raises: OSError."""
    path = folder / "bell"
    with contextlib.suppress(FileExistsError):
        os.mkfifo(path, 0o600)
    # Also for writing, because poll would otherwise report a hang-up after every ring.
    return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)


def take_lock(folder: Path) -> int | None:
    """Take the supervisor's lock, held while the descriptor is open; None if it is taken."""
    fd = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    except BaseException:
        os.close(fd)
        raise
    return fd


def inherited_environment() -> dict[bytes, bytes]:
    """Return the variables that jobs and the supervisor get of this process, without secrets."""
    return {
        name: value
        for name, value in os.environb.items()
        if name.decode("latin-1") not in _JOB_VARIABLES and not is_secret(name)
    }


def ring(folder: Path, message: bytes) -> bool:
    """Wake the supervisor; False if there is none."""
    try:
        fd = os.open(folder / "bell", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # ENXIO: the bell has no reader; ENOENT: there is no bell
        return False
    try:
        if message:
            os.write(fd, message)
    except BlockingIOError:  # already full of rings
        return True
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def ensure_supervisor(folder: Path, message: bytes = b"") -> None:
    """Wake the supervisor, or start one. Raises: OSError if none can be started."""
    deadline = time.monotonic() + _SETTLE_SECONDS
    while not ring(folder, message):
        lock = take_lock(folder)
        if lock is not None:
            try:
                _start(folder, lock)
            finally:
                os.close(lock)
            return
        if time.monotonic() > deadline:
            raise BlockingIOError("the supervisor of the local queue neither answers nor ends")
        time.sleep(0.005)


def _start(folder: Path, lock: int) -> None:
    bell = open_bell(folder)
    log = _open_log(folder)
    try:
        command = (
            *(sys.executable, "-P", "-m", "rowtui.core.clusters.schedulers.local.supervisor"),
            *(str(folder), "--lock", str(lock), "--bell", str(bell)),
        )
        # The shell ends at once and its child belongs to init, so the caller gets no zombie. It is
        # also safe in a process with other threads, unlike a fork of this process.
        subprocess.run(
            ["/bin/sh", "-c", '"$@" &', "sh", *command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(lock, bell),
            start_new_session=True,
            cwd="/",
            env=inherited_environment(),
            check=True,
        )
    except subprocess.SubprocessError as error:
        raise ChildProcessError(f"cannot start the supervisor: {error}") from error
    finally:
        os.close(bell)
        os.close(log)


def _open_log(folder: Path) -> int:
    path = folder / "supervisor.log"
    with contextlib.suppress(OSError):
        if path.stat().st_size > _LOG_LIMIT:
            path.unlink()
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
