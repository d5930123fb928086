"""Poll a cluster's queue once for all screens and all processes.

For each request of the queue's state, the scheduler is queried or the last answer is returned:
`policy.py` decides when, `cache.py` shares the answer with the user's other rowtui processes on
this machine, and only one of these processes queries at a time. After a failed poll the last good
queue is still returned, with its age and the error.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import asyncio
from rowtui.core.clusters.model import Cluster
from rowtui.core.clusters.polling.cache import (
    CacheLock,
    KnownQueue,
    PollCache,
    cache_name,
    queues_folder,
)
from rowtui.core.clusters.polling.policy import (
    BY_HAND_SECONDS,
    PollHistory,
    after_answer,
    after_error,
    is_due,
    next_look,
)
from rowtui.core.clusters.schedulers.base import JobKey, QueueSnapshot, Scheduler
from rowtui.core.clusters.schedulers.measured import Measured

WAIT_SECONDS = 5.0  # longest wait for the answer of another process
_TRY_SECONDS = 0.05  # between two attempts to take the lock

_Answer = TypeVar("_Answer")


class Polled(NamedTuple):
    """The known state of a cluster's queue. Times: epoch seconds.

    `snapshot`: the last good answer, with all jobs of this user; None before the first. `as_of`:
    when the poll for it began: a job submitted later may be missing from it. `age`: seconds since
    then. `error`: why the last poll failed, else "". `asked_at`: when the last poll by any process
    began; None before the first. `next_at`: when the next poll is due; 0.0: at once. `latency`:
    seconds that the last answer took; `failures`: consecutive failed polls.
    """

    cluster: str
    snapshot: QueueSnapshot | None = None
    error: str = ""
    asked_at: float | None = None
    next_at: float = 0.0
    as_of: float | None = None
    age: float | None = None
    latency: float = 0.0
    failures: int = 0

    def is_fresh(self, now: float) -> bool:
        """Whether some process of this user had an answer that is not much older than a poll.

        A cluster that answered another process is connected, too. `now`: epoch seconds.
        """
        if self.error or self.as_of is None or not self.next_at:
            return False
        return now < self.next_at + (self.next_at - self.as_of)


class Poll:
    """The queue of one cluster. Several may exist for the same one, in several processes.

    `clock`: epoch seconds; `steady`: a clock that measures how long an answer took; `chance`: a
    random number in [0, 1). `folder`: where answers are shared, by default the user's cache folder.
    A scheduler that is not shared (this machine's own queue) is queried each time, and nothing is
    cached; the same holds if `poll_seconds` is 0. `connected`: returns False if this process has no
    connection to the cluster: a poll that fails then is not written for other processes.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        cluster: Cluster,
        *,
        folder: Path | None = None,
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] | None = None,
        wait_seconds: float = WAIT_SECONDS,
        connected: Callable[[], bool | None] | None = None,
    ) -> None:
        self.scheduler = scheduler
        self.cluster = cluster
        self._folder = folder
        self._clock = clock
        self._steady = steady
        self._chance = chance or _drawn
        self._wait_seconds = wait_seconds
        self._connected = connected
        self._known = KnownQueue()
        self._submitted = 0.0

    async def look(self, *, now: bool = False) -> Polled:
        """Return the queue, polled first if that is due; `now`: the user requested it.

        While another process polls, its answer is waited for, for a limited time; then the last
        known state is returned. A cancelled poll leaves no trace in the history.
        """
        if not self._is_kept:
            await self._ask()
            return self._polled()
        await self._learn()
        if not self._is_due(now):
            return self._polled()
        lock = await self._turn()
        if lock is None:
            await self._learn()
            return self._polled(waiting=True)
        try:
            await self._learn()
            if self._is_due(now):
                await self._ask()
                if self._known.error and self._connected and self._connected() is False:
                    return self._polled()  # other processes may have a connection
                # The writing task now owns the lock, and continues if this task is cancelled.
                keep, lock = self._keeping(lock), None
                await _in_thread(keep)
        finally:
            if lock is not None:
                lock.release()
        return self._polled()

    async def measured_now(
        self, jobs: Mapping[JobKey, str], *, by_hand: bool = False
    ) -> Mapping[JobKey, Measured] | None:
        """Return what running jobs have used. `jobs`: with their tokens in the queue.

        None if the scheduler did not answer, or if it was asked less than the polling interval ago
        by any process of this user (`by_hand`: the user requested it, so a few seconds ago). Empty
        for a scheduler of another package that has no such method.
        """
        measured_now = getattr(self.scheduler, "measured_now", None)
        if measured_now is None:
            return {}
        if self._is_kept:
            seconds = BY_HAND_SECONDS if by_hand else self.cluster.poll_seconds
            if not await _in_thread(partial(self._files.take_turn, self._clock(), seconds)):
                return None
        try:
            found: Mapping[JobKey, Measured] | None = await measured_now(jobs)
        except (RowtuiError, OSError):
            return None
        return found

    def submitted(self) -> None:
        """Record that jobs were submitted, so that the queue is polled soon by any process."""
        at = self._clock()
        self._submitted = at
        if self._is_kept:
            self._files.submitted = at

    @property
    def _is_kept(self) -> bool:
        """Whether answers are shared and cached; false for this machine's own queue."""
        return self.scheduler.shared and self.cluster.poll_seconds > 0

    @cached_property
    def _files(self) -> PollCache:
        folder = queues_folder() if self._folder is None else self._folder
        return PollCache(folder, cache_name(self.cluster, os.environ))

    async def _learn(self) -> None:
        """Read the state that another process has written."""
        files = self._files
        if files.has_changed() and (known := await _in_thread(files.read)) is not None:
            self._known = known
        self._submitted = max(self._submitted, files.submitted)

    async def _turn(self) -> CacheLock | None:
        """Take the lock for polling; None if it is not free in time."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._wait_seconds
        while (lock := self._files.try_lock()) is None:
            if clock() >= deadline:
                return None
            await asyncio.sleep(_TRY_SECONDS)
        return lock

    async def _ask(self) -> None:
        """Query the scheduler, and keep its answer."""
        known, history = self._known, self._history
        began, start = self._clock(), self._steady()
        try:
            snapshot = await self.scheduler.queue(None)
        except (RowtuiError, OSError) as error:
            snapshot = QueueSnapshot(self.cluster.name, began, error=str(error) or "no answer")
        seconds, ended = self._steady() - start, self._clock()
        interval, chance = self.cluster.poll_seconds, self._chance()
        if snapshot.error:
            history = after_error(history, interval, began=began, ended=ended, chance=chance)
            self._known = known._replace(history=history, error=snapshot.error)
        else:
            history = after_answer(
                history, interval, began=began, ended=ended, seconds=seconds, chance=chance
            )
            self._known = KnownQueue(history, snapshot, began)

    def _keeping(self, lock: CacheLock) -> Callable[[], None]:
        files, known, now = self._files, self._known, self._clock()

        def keep() -> None:
            try:
                # If it cannot be written, this process uses its own memory.
                files.write(known)
                files.forget_old(now)
            finally:
                lock.release()

        return keep

    @property
    def _history(self) -> PollHistory:
        return self._known.history._replace(submitted=self._submitted)

    def _is_due(self, now: bool) -> bool:
        return is_due(self._history, self.cluster.poll_seconds, self._clock(), by_hand=now)

    def _polled(self, *, waiting: bool = False) -> Polled:
        history, snapshot, as_of, error = self._known
        if waiting and snapshot is None and not error:
            error = f"another process of yours is asking {self.cluster.name}: no answer yet"
        good = snapshot is not None
        return Polled(
            self.cluster.name,
            snapshot,
            error,
            history.began or None,
            next_look(self._history, self.cluster.poll_seconds) if self._is_kept else 0.0,
            as_of if good else None,
            max(0.0, self._clock() - as_of) if good else None,
            history.seconds,
            history.errors,
        )


def _drawn() -> float:
    return random.random()


async def _in_thread(work: Callable[[], _Answer]) -> _Answer:
    """Run in a thread: reading or writing 10,300 jobs takes some ten milliseconds."""
    return await asyncio.get_running_loop().run_in_executor(None, work)
