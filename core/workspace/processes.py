"""Worker processes that work through chunks of names, and end with their parent.

The parent writes the numbers of all chunks into one pipe, from which the processes take them; each
process sends its results through a pipe of its own.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import marshal
import os
import resource
import select
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from rowtui.core.base.errors import RowtuiError

_NUMBER = struct.Struct("=I")
_LENGTH = struct.Struct("=Q")

# The version of marshal's format that does not search for repeated objects.
_PLAIN = 2


class ProcessWork(NamedTuple):
    """The job description for every worker process. `size`: names per chunk.

    `directories_per_wait`: a thread that slept more often than once in this many directories waits
    for the file system, and more threads then help.
    """

    prepare: Callable[..., ChunkTask]
    arguments: tuple[Any, ...]
    names: Sequence[bytes]
    threads: int
    size: int
    directories_per_wait: int


def waits() -> int:
    """Return how often this thread slept until now, instead of working."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


def in_processes(work: ProcessWork, processes: int, *, fork: bool) -> Iterator[tuple[int, Any]]:
    """Yield (position of the chunk's first name, result) for all chunks. See `in_chunks`."""
    names, size = work.names, work.size
    chunks = -(-len(names) // size)
    queue, filling = os.pipe()
    os.write(filling, b"".join(_NUMBER.pack(number) for number in range(chunks)))
    os.close(filling)
    children = _Children()
    try:
        try:
            with _no_interrupt():
                if fork and not _other_threads():
                    children.fork(queue, work, processes)
                else:
                    children.spawn(queue, work, processes)
        finally:
            os.close(queue)
        for number, result in children.results():
            chunks -= 1
            yield number * size, result
        children.join()
        if chunks:
            raise RowtuiError(
                "not all directories were read: a reading process ended before its work was done",
                "run the command again",
            )
    finally:
        children.kill()


class _Children:
    """The worker processes of one run; only this object starts, reads and ends them."""

    def __init__(self) -> None:
        self._pids: list[int] = []
        self._pipes: list[int] = []

    def fork(self, queue: int, work: ProcessWork, processes: int) -> None:
        for _ in range(processes):
            reading, writing = _result_pipe()
            self._pipes.append(reading)
            pid = os.fork()
            if pid == 0:
                try:
                    for pipe in self._pipes:
                        os.close(pipe)
                    _serve(queue, writing, work)
                finally:
                    # Never return into the caller's code: its buffers and files belong to the
                    # parent.
                    os._exit(1)
            self._pids.append(pid)
            # Before the next fork, so that only this child holds the writing end: its death is then
            # an end of file, independent of the others.
            os.close(writing)

    def spawn(self, queue: int, work: ProcessWork, processes: int) -> None:

        place = work.prepare.__module__, work.prepare.__qualname__
        path = marshal.dumps([folder for folder in sys.path if folder])  # "" is the current folder
        job = marshal.dumps((place, work.arguments, list(work.names), *work[3:]))
        started = []
        for _ in range(processes):
            reading, writing = _result_pipe()
            self._pipes.append(reading)
            # -P: a file of the current folder must not be imported as a rowtui module.
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", _SPAWNED, str(queue), str(writing)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(queue, writing),
            )
            self._pids.append(process.pid)
            process.returncode = 0  # this object waits for the process itself
            os.close(writing)
            started.append(process)
        for process in started:
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError), process.stdin:
                process.stdin.write(path + job)

    def results(self) -> Iterator[tuple[int, Any]]:
        """Yield (chunk number, result) until every process has closed its pipe."""
        poll = select.poll()
        buffers = {pipe: bytearray() for pipe in self._pipes}
        for pipe in self._pipes:
            poll.register(pipe, select.POLLIN)
        head = _LENGTH.size
        while buffers:
            for pipe, _ in poll.poll():
                data = os.read(pipe, 1 << 20)
                buffer = buffers[pipe]
                if not data:
                    poll.unregister(pipe)
                    del buffers[pipe]
                    continue
                buffer += data
                while len(buffer) >= head:
                    (length,) = _LENGTH.unpack_from(buffer)
                    if len(buffer) < head + length:
                        break
                    with memoryview(buffer)[head : head + length] as message:
                        number, result = marshal.loads(message)  # noqa: S302 (our own child)
                    del buffer[: head + length]
                    if number < 0:
                        raise RowtuiError(*result)
                    yield number, result

    def join(self) -> None:
        """Wait for all processes, which have closed their pipes.

        Raises: RowtuiError if one was ended by a signal or failed.
        """
        bad = [status for status in map(self._wait, list(self._pids)) if status]
        if bad:
            code = os.waitstatus_to_exitcode(bad[0])
            how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            raise RowtuiError(
                f"a process that read the workspace was ended {how}",
                "signal 9 often means that memory ran out; --io-threads 1 reads in one process",
            )

    def kill(self) -> None:
        """End the processes that still run (they only read) and close all pipes."""
        for pid in self._pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in list(self._pids):
            self._wait(pid)
        for pipe in self._pipes:
            os.close(pipe)
        self._pipes.clear()

    def _wait(self, pid: int) -> int:
        self._pids.remove(pid)
        try:
            return os.waitpid(pid, 0)[1]
        except ChildProcessError:  # the caller's process reaps all children (SIGCHLD ignored)
            return 0


@contextlib.contextmanager
def _no_interrupt() -> Iterator[None]:
    """Block Ctrl-C while processes are started, because a started process may not be recorded yet.

    (With other threads the interpreter may still receive the signal; such a child finds its stdin
    closed and ends.)
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _result_pipe() -> tuple[int, int]:

    reading, writing = os.pipe()
    with contextlib.suppress(OSError):  # more capacity, fewer wake-ups; not permitted to every user
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 1 << 20)
    return reading, writing


def _other_threads() -> bool:
    """Whether this process has threads beside this one (including numpy's and event loops')."""
    try:
        return len(os.listdir("/proc/self/task")) > 1
    except OSError:
        threading = sys.modules.get("threading")
        return threading is not None and threading.active_count() > 1


# --- in the worker process ------------------------------------------------------------------

# The import path comes first, so that this module is found where the parent found it.
_SPAWNED = (
    "import marshal, sys; sys.path[:] = marshal.load(sys.stdin.buffer); "
    "from rowtui.core.workspace.processes import serve_spawned; serve_spawned()"
)


def serve_spawned() -> None:
    """Work as a spawned process: the job comes on stdin, the arguments name the pipes."""
    queue, writing = map(int, sys.argv[1:3])
    (module, name), *others = marshal.loads(  # noqa: S302 (from our parent)
        sys.stdin.buffer.read()
    )
    prepare = getattr(importlib.import_module(module), name)
    _serve(queue, writing, ProcessWork(prepare, *others))


def _serve(queue: int, writing: int, work: ProcessWork) -> None:
    """Take chunks from `queue` until it is empty, write results to `writing`; never returns."""
    # Ctrl-C reaches the whole process group: the parent ends this process. The inherited handlers
    # must not run here.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # the parent has ended: end as well
    gc.disable()
    sending = threading.Lock()
    size = work.size

    def send(number: int, result: Any) -> None:
        data = marshal.dumps((number, result), _PLAIN)
        message = memoryview(_LENGTH.pack(len(data)) + data)
        with sending:
            while message:
                message = message[os.write(writing, message) :]

    def take_chunks(may_call_others: bool) -> None:
        while taken := os.read(queue, _NUMBER.size):
            (number,) = _NUMBER.unpack(taken)
            before = waits()
            result = task(work.names[number * size : (number + 1) * size])
            if may_call_others and (waits() - before) * work.directories_per_wait > size:
                may_call_others = False
                for _ in range(work.threads - 1):
                    others.append(threading.Thread(target=guarded, daemon=True))
                    others[-1].start()
            send(number, result)

    def guarded(may_call_others: bool = False) -> None:
        try:
            take_chunks(may_call_others)
        except RowtuiError as error:
            send(-1, (error.message, error.hint))
        except BaseException as error:
            text = f"reading the workspace failed: {type(error).__name__}: {error}"
            send(-1, (text, "this is an error in rowtui; please report it"))

    others: list[threading.Thread] = []
    try:
        task = work.prepare(*work.arguments)
    except RowtuiError as error:
        send(-1, (error.message, error.hint))
        os._exit(0)
    guarded(work.threads > 1)
    for thread in others:
        thread.join()
    os._exit(0)


class ChunkTask(Protocol):
    """Processes a chunk of names. `marshal` must be able to write the result."""

    def __call__(self, names: Sequence[bytes]) -> Any:
        """Return the result for these names."""
        ...

    def close(self) -> None:
        """Close descriptors."""
        ...
