"""Finding, waking and starting the one supervisor of a machine and user.

The supervisor holds a lock (flock) and reads a FIFO, the bell. Whoever wants it rings; a bell that
nobody hears means that there is none, and then the ringer takes the lock, opens the bell's other
end, and hands both to a new process. So there is never a moment in which two would start, nor one
in which a ring is lost. Both end with the process, however it dies.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import time
from pathlib import Path

from rowtui.core.secrets.variables import is_secret

_SETTLE_SECONDS = 2.0  # a supervisor that is about to leave has the lock for milliseconds
_LOG_LIMIT = 1 << 20
# None of these may be inherited: the supervisor would pass for a process of the job that is asking.
_JOB_VARIABLES = ("ROWTUI_TOKEN", "ROWTUI_JOB_ID", "ROWTUI_LOCAL_CPUS", "ROWTUI_LOCAL_QUEUE")

NEW_JOB = b"n"
CANCELLED = b"c"


def open_bell(folder: Path) -> int:
    """The hearing end of the bell, made if it is missing. Raises: OSError."""
    path = folder / "bell"
    with contextlib.suppress(FileExistsError):
        os.mkfifo(path, 0o600)
    # Also for writing, else poll would report a hang-up whenever a ringer has left.
    return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)


def take_lock(folder: Path) -> int | None:
    """The supervisor's lock, held as long as the descriptor; None if another has it."""
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


def ring(folder: Path, message: bytes) -> bool:
    """Wake the supervisor; False if there is none."""
    try:
        fd = os.open(folder / "bell", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # ENXIO: nobody hears; ENOENT: nobody ever did
        return False
    try:
        if message:
            os.write(fd, message)
    except BlockingIOError:  # full of rings already
        return True
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def ensure_supervisor(folder: Path, message: bytes = b"") -> None:
    """Wake the supervisor, or start one. Raises: OSError when none can be started."""
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
    import subprocess  # here, because it is slow to import and seldom needed

    bell = open_bell(folder)
    log = _open_log(folder)
    try:
        environment = {
            k: v
            for k, v in os.environb.items()
            if k.decode("latin-1") not in _JOB_VARIABLES and not is_secret(k)
        }
        command = (
            *(sys.executable, "-P", "-m", "rowtui.core.clusters.schedulers.local_supervisor"),
            *(str(folder), "--lock", str(lock), "--bell", str(bell)),
        )
        # The shell leaves at once and its child belongs to init: no zombie stays with the caller.
        # It also is safe to do beside other threads, which a fork of this process is not.
        subprocess.run(
            ["/bin/sh", "-c", '"$@" &', "sh", *command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(lock, bell),
            start_new_session=True,
            cwd="/",
            env=environment,
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
