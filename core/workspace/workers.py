"""Parallel processing of a long list of names by several processes and threads.

The input is a task (built by `prepare(*arguments)` in each process), names and the number of
workers. Each chunk's result is returned as it is ready, in no order. The chunk numbers wait in a
pipe, from which every thread of every process takes the next one. All workers therefore read
neighbouring directories, and none waits for a slow one. One process with many threads is slower
than one thread (they compete for the interpreter), so each process has few threads; they are
started only if the file system was seen to make a thread wait.
"""

from __future__ import annotations

import contextlib
import os
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from rowtui.core.base.errors import RowtuiError

# Measured on 2 cores (docs/background/state.md): starting processes is worthwhile from about here.
PROCESSES_PAY_FROM = 5_000
DEFAULT_PROCESSES = 4
DEFAULT_THREADS = 8

# The chunk numbers, 4 bytes each, must fit the smallest pipe that Linux gives (one page), so that
# filling it before any reader starts cannot block.
_MOST_CHUNKS = 1024
_SMALLEST_CHUNK = 64
_NUMBER = struct.Struct("=I")
_LENGTH = struct.Struct("=Q")

# The version of marshal's format that does not search for repeated objects.
_PLAIN = 2

# A thread that slept more often than once in this many directories waits for the file system
# instead of the processor: more threads then help.
_DIRECTORIES_PER_WAIT = 4


class Workers(NamedTuple):
    """The number of processes, and the most threads in each.

    `start`: "fork" is fastest; "spawn" is for callers with threads or an event loop. If other
    threads are running already, "fork" is taken as "spawn".
    """

    processes: int = 1
    threads: int = 1
    start: Literal["fork", "spawn"] = "fork"

    @classmethod
    def for_count(
        cls,
        count: int,
        io_threads: int | None = None,
        start: Literal["fork", "spawn"] = "fork",
    ) -> Workers:
        """Return the suitable number of workers for `count` directories.

        `io_threads` limits the concurrent requests over all processes (None: 4 x 8; less than 1 is
        taken as 1). The rule was measured on 10k to 1M directories, warm, cold and with latency.
        """
        in_flight = max(
            1, DEFAULT_PROCESSES * DEFAULT_THREADS if io_threads is None else io_threads
        )
        if count < PROCESSES_PAY_FROM:
            return cls(1, min(in_flight, DEFAULT_THREADS), start)
        processes = min(in_flight, DEFAULT_PROCESSES)
        return cls(processes, in_flight // processes, start)


class ChunkTask(Protocol):
    """Processes a chunk of names. `marshal` must be able to write the result."""

    def __call__(self, names: Sequence[bytes]) -> Any:
        """Return the result for these names."""
        ...

    def close(self) -> None:
        """Close descriptors."""
        ...


class _Work(NamedTuple):
    """The job description for every worker process."""

    prepare: Callable[..., ChunkTask]
    arguments: tuple[Any, ...]
    names: Sequence[bytes]
    threads: int


def chunk_size(count: int) -> int:
    """Return the names per chunk: a multiple of 8, so that chunks of bit sets meet at bytes."""
    size = max(_SMALLEST_CHUNK, -(-count // _MOST_CHUNKS))
    return -(-size // 8) * 8


def in_chunks(
    prepare: Callable[..., ChunkTask],
    arguments: tuple[Any, ...],
    names: Sequence[bytes],
    workers: Workers,
) -> Iterator[tuple[int, Any]]:
    """Yield (position of the chunk's first name, result) for all chunks, in no order.

    `prepare` is a module-level function or class; `marshal` must be able to write `arguments`.
    Raises: RowtuiError from a task, or if a worker process ends before its work is done. Closing
    the iterator, or an exception in its user (Ctrl-C), ends all processes.
    """
    if workers.processes <= 1 or len(names) <= _SMALLEST_CHUNK:
        yield from _in_this_process(prepare, arguments, names, workers.threads)
    else:
        yield from _in_processes(_Work(prepare, arguments, names, workers.threads), workers)


def _in_this_process(
    prepare: Callable[..., ChunkTask],
    arguments: tuple[Any, ...],
    names: Sequence[bytes],
    threads: int,
) -> Iterator[tuple[int, Any]]:
    task = prepare(*arguments)
    size = chunk_size(len(names))
    starts = iter(range(0, len(names), size))
    try:
        for start in starts:
            waits = _waits()
            yield start, task(names[start : start + size])
            if threads > 1 and (_waits() - waits) * _DIRECTORIES_PER_WAIT > size:
                from concurrent.futures import ThreadPoolExecutor, as_completed

                pool = ThreadPoolExecutor(threads)
                try:
                    futures = {pool.submit(task, names[at : at + size]): at for at in starts}
                    for future in as_completed(futures):
                        yield futures[future], future.result()
                finally:
                    pool.shutdown(wait=True, cancel_futures=True)
    finally:
        task.close()


def _waits() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


def _in_processes(work: _Work, workers: Workers) -> Iterator[tuple[int, Any]]:
    names = work.names
    size = chunk_size(len(names))
    chunks = -(-len(names) // size)
    queue, filling = os.pipe()
    os.write(filling, b"".join(_NUMBER.pack(number) for number in range(chunks)))
    os.close(filling)
    children = _Children()
    try:
        try:
            with _no_interrupt():
                if workers.start == "fork" and not _other_threads():
                    children.fork(queue, work, workers.processes)
                else:
                    children.spawn(queue, work, workers.processes)
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

    def fork(self, queue: int, work: _Work, processes: int) -> None:
        import threading  # noqa: F401  (once here, instead of once in every child)

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

    def spawn(self, queue: int, work: _Work, processes: int) -> None:
        import marshal
        import subprocess

        place = work.prepare.__module__, work.prepare.__qualname__
        path = marshal.dumps([folder for folder in sys.path if folder])  # "" is the current folder
        job = marshal.dumps((place, work.arguments, list(work.names), work.threads))
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
        import marshal
        import select

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
        import signal

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
    import signal

    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _result_pipe() -> tuple[int, int]:
    import fcntl

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
    "from rowtui.core.workspace.workers import serve_spawned; serve_spawned()"
)


def serve_spawned() -> None:
    """Work as a spawned process: the job comes on stdin, the arguments name the pipes."""
    import importlib
    import marshal

    queue, writing = map(int, sys.argv[1:3])
    (module, name), arguments, names, threads = marshal.loads(  # noqa: S302 (from our parent)
        sys.stdin.buffer.read()
    )
    prepare = getattr(importlib.import_module(module), name)
    _serve(queue, writing, _Work(prepare, arguments, names, threads))


def _serve(queue: int, writing: int, work: _Work) -> None:
    """Take chunks from `queue` until it is empty, write results to `writing`; never returns."""
    import gc
    import marshal
    import signal
    import threading

    # Ctrl-C reaches the whole process group: the parent ends this process. The inherited handlers
    # must not run here.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # the parent has ended: end as well
    gc.disable()
    sending = threading.Lock()
    size = chunk_size(len(work.names))

    def send(number: int, result: Any) -> None:
        data = marshal.dumps((number, result), _PLAIN)
        message = memoryview(_LENGTH.pack(len(data)) + data)
        with sending:
            while message:
                message = message[os.write(writing, message) :]

    def take_chunks(may_call_others: bool) -> None:
        while taken := os.read(queue, _NUMBER.size):
            (number,) = _NUMBER.unpack(taken)
            waits = _waits()
            result = task(work.names[number * size : (number + 1) * size])
            if may_call_others and (_waits() - waits) * _DIRECTORIES_PER_WAIT > size:
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
