"""One look at a cluster's queue for everything, shared by all screens and all processes.

Decides, for each wish to know the queue, whether the scheduler is asked or the last answer is given
again: `poll_policy` says when, `poll_cache` shares the answer with the user's other rowtui
processes on this machine, and of those only one asks at a time. A look that failed never empties
anything: the last good queue stays, with its age and the error.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from rowtui.core.clusters.model import Cluster
from rowtui.core.clusters.poll_cache import CacheLock, Known, PollCache, cache_name, queues_folder
from rowtui.core.clusters.poll_policy import (
    PollHistory,
    after_answer,
    after_error,
    is_due,
    next_look,
)
from rowtui.core.clusters.schedulers.base import QueueSnapshot, Scheduler
from rowtui.core.errors import RowtuiError

WAIT_SECONDS = 5.0  # how long the answer of another process is waited for
_TRY_SECONDS = 0.05  # between two tries to be the one who asks

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class Polled:
    """What is known of a cluster's queue. Times: epoch seconds.

    `snapshot`: the last good answer, with all jobs of this user; None before the first. `as_of`:
    when the look for it began: a job that was submitted later may be missing from it. `age`:
    seconds since then. `error`: why the last look failed, else "". `asked_at`: when the last look
    began, whoever looked; None if nobody did. `next_at`: when the next is due; 0.0: at once.
    `latency`: seconds that the last answer took; `failures`: looks in a row that failed.
    """

    cluster: str
    snapshot: QueueSnapshot | None = None
    error: str = ""
    asked_at: float | None = None
    next_at: float = 0.0
    as_of: float | None = None
    age: float | None = None
    latency: float = field(default=0.0, compare=False)
    failures: int = field(default=0, compare=False)

    @property
    def answer(self) -> QueueSnapshot | None:
        """What the last look said by itself: the snapshot, or its error and no jobs."""
        if self.error:
            return QueueSnapshot(self.cluster, self.asked_at or 0.0, error=self.error)
        return self.snapshot


class Poll:
    """The queue of one cluster. Several may exist for the same one, in several processes.

    `clock`: epoch seconds; `steady`: measures how long an answer took; `chance`: in [0, 1).
    `folder`: where answers are shared, else the user's cache folder. A scheduler that is not
    shared (this machine's own queue) is always asked, and nothing is kept; so is any whose
    `poll_seconds` is 0. `connected`: False where this process has no connection to the cluster:
    a look that fails then is no news for others.
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
        self._known = Known()
        self._submitted = 0.0

    async def look(self, *, now: bool = False) -> Polled:
        """The queue, asked for if that is due; `now`: since a person wants it.

        While another process asks, its answer is waited for, but not for long: then what was
        last known is given. A look that is cancelled has not taken place.
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
                    return self._polled()  # others may have a connection
                # The lock goes with the writing, which goes on when this is cancelled.
                keep, lock = self._keeping(lock), None
                await _in_thread(keep)
        finally:
            if lock is not None:
                lock.release()
        return self._polled()

    async def last(self) -> Polled:
        """What is known, without asking the scheduler."""
        if self._is_kept:
            await self._learn()
        return self._polled()

    def submitted(self) -> None:
        """Jobs were submitted: whoever looks at this queue looks soon."""
        at = self._clock()
        self._submitted = at
        if self._is_kept:
            self._files.submitted = at

    @property
    def _is_kept(self) -> bool:
        """Whether answers are shared and kept for a while: not those of a queue of our own."""
        return self.scheduler.shared and self.cluster.poll_seconds > 0

    @cached_property
    def _files(self) -> PollCache:
        folder = queues_folder() if self._folder is None else self._folder
        return PollCache(folder, cache_name(self.cluster, os.environ))

    async def _learn(self) -> None:
        """Take over what another process has learnt."""
        files = self._files
        if files.has_changed() and (known := await _in_thread(files.read)) is not None:
            self._known = known
        self._submitted = max(self._submitted, files.submitted)

    async def _turn(self) -> CacheLock | None:
        """The right to ask, or to see that it is not necessary any more; None: not in time."""
        import asyncio

        clock = asyncio.get_running_loop().time
        deadline = clock() + self._wait_seconds
        while (lock := self._files.try_lock()) is None:
            if clock() >= deadline:
                return None
            await asyncio.sleep(_TRY_SECONDS)
        return lock

    async def _ask(self) -> None:
        """Ask the scheduler, and remember what it said."""
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
            self._known = Known(history, snapshot, began)

    def _keeping(self, lock: CacheLock) -> Callable[[], None]:
        files, known, now = self._files, self._known, self._clock()

        def keep() -> None:
            try:
                # If it cannot be kept, this process goes by its own memory.
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
    import random

    return random.random()


async def _in_thread(work: Callable[[], _Answer]) -> _Answer:
    """Off the event loop: 10,300 jobs take some ten milliseconds to read or to write."""
    import asyncio

    return await asyncio.get_running_loop().run_in_executor(None, work)
