"""Parallel processing of a long list of names by several processes and threads.

The input is a task (built by `prepare(*arguments)` in each process), names and the number of
workers. Each chunk's result is returned as it is ready, in no order. The chunk numbers wait in a
pipe, from which every thread of every process takes the next one. All workers therefore read
neighbouring directories, and none waits for a slow one. One process with many threads is slower
than one thread (they compete for the interpreter), so each process has few threads; they are
started only if the file system was seen to make a thread wait.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from rowtui.core.workspace.processes import ChunkTask

# Measured on 2 cores (docs/background/state.md): starting processes is worthwhile from about here.
PROCESSES_PAY_FROM = 5_000
DEFAULT_PROCESSES = 4
DEFAULT_THREADS = 8

# The chunk numbers, 4 bytes each, must fit the smallest pipe that Linux gives (one page), so that
# filling it before any reader starts cannot block.
_MOST_CHUNKS = 1024
_SMALLEST_CHUNK = 64

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
        from rowtui.core.workspace.processes import ProcessWork, in_processes

        work = ProcessWork(
            prepare,
            arguments,
            names,
            workers.threads,
            chunk_size(len(names)),
            _DIRECTORIES_PER_WAIT,
        )
        yield from in_processes(work, workers.processes, fork=workers.start == "fork")


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
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
