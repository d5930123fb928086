"""A time limit for code from a mapping file.

The code runs in a worker thread, and the caller waits no longer than the limit. A late worker is
abandoned: an exception is raised in it repeatedly until it ends. Code that does not release the
interpreter (a regular expression that backtracks for ever, 10**10**8, sum(range(10**12))) cannot be
interrupted; `resource_bombs` refuses recognisable code of this kind. Source: measured on CPython
3.11: handing a call over and back costs 10 to 30 us.
"""

from __future__ import annotations

import contextvars
import ctypes
import os
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

from rowtui.core.base.errors import RowtuiError

T = TypeVar("T")

_MOST_IDLE = 8  # idle workers that are kept; each costs some kB
_TRIES = 400
_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.1  # seconds between tries: 40 s in all


class TimeLimitError(RowtuiError):
    """Code did not end in time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"the expression did not end within {seconds:g} seconds",
            "it may loop for ever, or wait for something; expressions are run for every job",
        )
        self.seconds = seconds


class _Stop(BaseException):
    """Raised in a late worker, where `except Exception` does not catch it."""


class TimeLimit:
    """Runs calls that may not take longer than some seconds, for any number of threads at once."""

    __slots__ = ("seconds",)

    def __init__(self, seconds: float = 2.0) -> None:
        self.seconds = seconds

    def run(self, call: Callable[[], T]) -> T:
        """Return or raise the result of the call. Context variables are those of the caller.

        A call within a call that already has a limit runs directly. Raises: TimeLimitError; the
        call may then go on for a while.
        """
        if isinstance(threading.current_thread(), _Worker):
            return call()
        worker = _idle_worker()
        job = _Job(call)
        worker.job = job
        worker.go.release()
        try:
            ended = worker.done.acquire(timeout=self.seconds)
        except BaseException:  # Ctrl-C while waiting
            if job.give_up():
                _abandon(worker)
            raise
        if not ended:
            if job.give_up():
                _abandon(worker)
                raise TimeLimitError(self.seconds)
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
    """One call. The worker or the caller empties `open`, the one that finishes first."""

    __slots__ = ("call", "context", "error", "open", "result")

    def __init__(self, call: Callable[[], Any]) -> None:
        self.call = call
        self.context = contextvars.copy_context()
        self.result: Any = None
        self.error: BaseException | None = None
        self.open = [True]

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


def _abandon(worker: _Worker) -> None:
    reaper = threading.Thread(target=_reap, args=(worker,), name="rowtui-reaper", daemon=True)
    reaper.start()


def _reap(worker: _Worker) -> None:
    """Raise in a late worker until it ends, since code may catch the exception a few times."""
    pause = _FIRST_PAUSE
    for _ in range(_TRIES):
        ident = worker.ident
        if ident is None or not worker.is_alive():
            return
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(_Stop))
        time.sleep(pause)
        pause = min(pause * 1.2, _LONGEST_PAUSE)
