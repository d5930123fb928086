"""Start the engine's process first, so that it opens the project while Textual is imported.

Takes `EngineOptions`, gives the running process with one end of a socket pair; the process reaches
the screen only through the other end. It has a session of its own (so it does not get the
terminal's Ctrl-C and hang-up), no standard input, and a log that only the user can read. Nothing
heavy is imported here. The first process is forked, so that it opens no file of Python again: on a
network file system each costs a round trip. Descriptors are passed explicitly to one that is
started inside a running Textual app, whose threads a fork would not have.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from rowtui.core.base.errors import Problem
from rowtui.core.base.lazy import platformdirs
from rowtui.core.engine.process.errors import EngineLost, from_value, how_it_ended

# The options of the engine's process at its start, and its message once the project is open.


# Limit the memory that the allocator of an engine's process keeps.
#
# Filters and sorts of a million rows take tens of megabytes for milliseconds, in one thread after
# another. glibc has an arena for each thread, raises the threshold for direct kernel allocations
# whenever such a block is freed, and never returns holes: after a minute the holes are larger than
# the memory in use. Without glibc, this module does nothing.


M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8  # malloc.h
ARENAS = 2  # two cores rarely wait for each other's arena
# larger blocks are allocated from the kernel and returned to it; sets of directories are smaller
LARGE = 1 << 20
KEPT = 4 << 20
TRIM_SECONDS = 15.0


def keep_little(every: float = TRIM_SECONDS) -> None:
    """Return freed memory to the system every few seconds. Call this before threads are started."""
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        mallopt, trim = libc.mallopt, libc.malloc_trim
        for option, value in (
            (M_ARENA_MAX, ARENAS),
            (M_MMAP_THRESHOLD, LARGE),
            (M_TRIM_THRESHOLD, KEPT),
        ):
            mallopt(option, value)
        threading.Thread(target=_trim, args=(trim, every), name="trim", daemon=True).start()


def _trim(trim: Callable[[int], int], every: float) -> None:
    waiting = threading.Event()
    while not waiting.wait(every):
        trim(0)


class Demo(NamedTuple):
    """A demo project, made in an empty folder or continued, instead of an existing project."""

    scenario: str
    directories: int
    seed: int = 1


class EngineOptions(NamedTuple):
    """The project and its options.

    `start`: the project's folder or one below; `generation`: the last one that the screen has seen.
    """

    start: str
    cluster: str | None = None
    io_threads: int | None = None
    generation: int = 0
    demo: Demo | None = None


class ProjectOpened(NamedTuple):
    """The message that the project is open, with its problems and notices."""

    problems: tuple[Problem, ...]
    notices: tuple[str, ...]


LARGEST_LOG = 1 << 20
"""Bytes; a longer log is truncated."""

END_SECONDS = 2.0
"""How long a process may take to end before it is killed."""

# -P: a file of the project's folder must not replace one of rowtui's modules. The code starts
# faster than `-m`, which imports runpy and pkgutil first.
PROGRAM = "from rowtui.core.engine.process.serve import main; main()"


class ForkedProcess:
    """A copy of this process that only calls a function, waited for and ended as a `Popen`."""

    def __init__(self, call: Callable[[], None]) -> None:
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            try:  # never return into the caller's code: its buffers and files belong to the parent
                call()
                os._exit(0)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)

    def poll(self) -> int | None:
        """Return the exit code, None while the process runs."""
        if self.returncode is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # SIGCHLD is ignored
                pid, status = self.pid, 0
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, seconds: float) -> int:
        """Return the exit code. Raises: TimeoutExpired."""
        end = time.monotonic() + seconds
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("engine", seconds)
            time.sleep(0.005)
        return code

    def terminate(self, number: int = signal.SIGTERM) -> None:
        """Ask it to end."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End it."""
        self.terminate(signal.SIGKILL)


class EngineProcess:
    """An engine's process, from its start to its end.

    `forked`: what a copy of this process, which must have no other thread, calls; None: start
    `program` in a new interpreter.
    """

    def __init__(
        self,
        options: EngineOptions,
        program: str = PROGRAM,
        *,
        forked: Callable[[], None] | None = None,
    ) -> None:
        """Start the process. Raises: OSError."""
        self.options = options
        self.program = program
        self.log = log_path()
        self.socket, inner = socket.socketpair()
        log = _open_log(self.log)
        self.process: subprocess.Popen[bytes] | ForkedProcess
        try:
            if forked is not None:
                self.process = ForkedProcess(lambda: self._become(forked, inner, log))
            else:
                self.process = subprocess.Popen(
                    [sys.executable, "-P", "-c", program, str(inner.fileno()), str(self.log)],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=(inner.fileno(),),
                    start_new_session=True,
                )
        except BaseException:
            self.socket.close()
            raise
        finally:
            inner.close()
            os.close(log)
        with contextlib.suppress(OSError):  # it may have ended: `opened` reports this
            self.socket.sendall(as_line(options))

    def _become(self, serve: Callable[[], None], inner: socket.socket, log: int) -> None:
        """Make this forked process what the start of a program makes, and serve."""
        os.setsid()
        self.socket.close()
        for standard, descriptor in enumerate((os.open(os.devnull, os.O_RDONLY), log, log)):
            os.dup2(descriptor, standard)
        if not sys.flags.safe_path and sys.path[0] in ("", os.getcwd()):
            del sys.path[0]  # as -P
        sys.argv = ["-c", str(inner.detach()), str(self.log)]
        serve()

    def opened(self) -> ProjectOpened:
        """Wait until the project is open. Raises: the errors of opening it; EngineLost."""
        try:
            error, value = read_line(self.socket)
        except (EOFError, OSError):
            how = how_it_ended(self.wait())
            raise EngineLost(
                f"the engine did not start: {how}", f"the details are in {self.log}"
            ) from None
        if error is not None:
            self.wait()
            raise from_value(error)
        opened: ProjectOpened = value
        return opened

    def wait(self, seconds: float = END_SECONDS) -> int | None:
        """Return its exit code; a process that takes longer is ended."""
        for end in (self.process.terminate, self.process.kill):
            try:
                return self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                end()
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.process.wait(seconds)
        return None

    def end(self) -> None:
        """Close the connection, so that the process ends; kill it if it does not."""
        if self.process.returncode is None:
            self.socket.close()
            self.wait()


def as_line(value: object) -> bytes:
    """Return a small pickled value with its length, for the time before there are event loops."""
    data = pickle.dumps(value)
    return len(data).to_bytes(8, "big") + data


def read_line(connection: socket.socket) -> Any:
    """Read a value written by `as_line`. Raises: EOFError, OSError."""
    size = int.from_bytes(_read(connection, 8), "big")
    return pickle.loads(_read(connection, size))  # noqa: S301 (our own process)


def _read(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        more = connection.recv(min(1 << 16, size - len(data)))
        if not more:
            raise EOFError
        data += more
    return bytes(data)


def log_path() -> Path:
    """Return the path of the engine's log, which is needed only after an error."""
    return Path(platformdirs.user_log_dir("rowtui")) / "engine.log"


def _open_log(path: Path) -> int:
    """Return a descriptor of the log, or of /dev/null if the log cannot be written."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        log = os.open(path, flags, 0o600)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    with contextlib.suppress(OSError):
        os.fchmod(log, 0o600)
        if os.fstat(log).st_size > LARGEST_LOG:
            os.ftruncate(log, 0)
    return log
