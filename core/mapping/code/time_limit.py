"""A time limit for code from a mapping file.

The code runs in a worker thread. The limit is CPU time of that thread, so that a busy machine does
not change what a mapping file decides; code that waits instead is given up after `PATIENCE` times
as long. A late worker is abandoned: an exception is raised in it repeatedly until its code ends.
Code that does not release the interpreter (10**10**8, sum(range(10**12))) cannot be interrupted;
files are trusted not to have such code. Source: measured on CPython 3.11: handing a call over and
back costs 10 to 30 us.
"""

from __future__ import annotations

import contextvars
import functools
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import ctypes

T = TypeVar("T")

PATIENCE = 15
"""How many times as long code may wait, for a file or for a turn on a busy machine."""

_SHORTEST_WAIT = 0.01  # seconds between two looks at the CPU time of a worker
_MOST_IDLE = 8  # idle workers that are kept; each costs some kB
_TRIES = 400
_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.1  # seconds between tries: 40 s in all


class TimeLimitError(RowtuiError):
    """Code did not end in time. `waited`: it waited for something, and used little CPU time."""

    def __init__(self, seconds: float, *, waited: bool) -> None:
        super().__init__(
            f"the expression did not end within {seconds * PATIENCE:g} seconds"
            if waited
            else f"the expression used more than {seconds:g} seconds of CPU time",
            "it may loop for ever, or wait for something; expressions are run for every job",
        )


class _Stop(BaseException):
    """Raised in a late worker, where `except Exception` does not catch it."""


class TimeLimit:
    """Runs calls that may use some seconds of CPU time, for any number of threads at once."""

    __slots__ = ("seconds",)

    def __init__(self, seconds: float = 2.0) -> None:
        self.seconds = seconds

    def run(self, call: Callable[[], T]) -> T:
        """Return or raise the result of the call. Context variables are those of the caller.

        Raises: TimeLimitError; the call may then go on for a while.
        """
        worker = _idle_worker()
        job = _Job(call)
        start = worker.cpu_seconds()
        worker.job = job
        worker.go.release()
        limit, late = start + self.seconds, time.monotonic() + self.seconds * PATIENCE
        wait = self.seconds
        try:
            while wait > 0 and not worker.done.acquire(timeout=max(wait, _SHORTEST_WAIT)):
                wait = min(limit - worker.cpu_seconds(), late - time.monotonic())
        except BaseException:  # Ctrl-C while waiting
            if job.give_up():
                _abandon(worker, job)
            raise
        if wait <= 0:
            if job.give_up():
                _abandon(worker, job)
                raise TimeLimitError(self.seconds, waited=time.monotonic() >= late)
            worker.done.acquire()  # the call ended at the last moment
        _keep(worker)
        error = job.error
        if error is not None:
            try:
                raise error
            finally:
                del error, job  # otherwise the traceback would refer to itself
        return cast(T, job.result)


class _Job:
    """One call. The worker or the caller empties `open`, the one that finishes first.

    `running`: whether the worker is in the code of the call.
    """

    __slots__ = ("call", "context", "error", "open", "result", "running")

    def __init__(self, call: Callable[[], Any]) -> None:
        self.call = call
        self.context = contextvars.copy_context()
        self.result: Any = None
        self.error: BaseException | None = None
        self.open = [True]
        self.running = True

    def give_up(self) -> bool:
        """Settle the job; return False if the other side has done so."""
        try:
            self.open.pop()
        except IndexError:
            return False
        return True


class _Worker(threading.Thread):
    """Runs one job after the other until one is given up."""

    def __init__(self) -> None:
        # the process does not wait for the thread at exit
        super().__init__(name="rowtui-expression", daemon=True)
        self.go = threading.Lock()
        self.go.acquire()
        self.done = threading.Lock()
        self.done.acquire()
        self.job: _Job | None = None
        self._clock: int | None = None

    def cpu_seconds(self) -> float:
        """Return the CPU time of this thread; on macOS, that of the process."""
        if not hasattr(time, "pthread_getcpuclockid"):
            return time.process_time()
        if self._clock is None:
            self._clock = time.pthread_getcpuclockid(cast(int, self.ident))
        return time.clock_gettime(self._clock)

    def run(self) -> None:
        try:
            while True:
                self.go.acquire()
                job, self.job = self.job, None
                if job is None or not self._ended_in_time(job):
                    return
                del job
        except BaseException:  # _Stop, which may be raised at any point
            return

    def _ended_in_time(self, job: _Job) -> bool:
        try:
            job.result = job.context.run(job.call)
        except BaseException as error:  # passed on to the caller
            job.error = error
        finally:
            job.running = False
        if not job.give_up():
            return False
        self.done.release()
        return True


_idle: list[_Worker] = []
# A forked process does not have the threads of its parent.
os.register_at_fork(after_in_child=_idle.clear)


def _idle_worker() -> _Worker:
    try:
        return _idle.pop()
    except IndexError:
        worker = _Worker()
        worker.start()
        return worker


def _keep(worker: _Worker) -> None:
    if len(_idle) < _MOST_IDLE:
        _idle.append(worker)
    else:
        worker.go.release()  # without a job, the worker ends


def _abandon(worker: _Worker, job: _Job) -> None:
    _ignore_stops()
    reaper = threading.Thread(target=_reap, args=(worker, job), name="rowtui-reaper", daemon=True)
    reaper.start()


def _reap(worker: _Worker, job: _Job) -> None:
    """Raise in a late worker until its code ends, since it may catch the exception a few times."""
    pause = _FIRST_PAUSE
    for _ in range(_TRIES):
        if not (job.running and worker.is_alive()):
            return
        ident = ctypes.c_ulong(cast(int, worker.ident))
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(_Stop))
        time.sleep(pause)
        pause = min(pause * 1.2, _LONGEST_PAUSE)


@functools.cache
def _ignore_stops() -> None:
    """Print nothing where Python cannot raise the exception, such as in a weak reference."""
    report = sys.unraisablehook
    sys.unraisablehook = lambda it: None if it.exc_type is _Stop else report(it)
