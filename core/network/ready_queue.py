"""Which jobs are ready, in the order of their ranks.

A sorted run holds what became ready many at a time, a heap what came since, and a list in front
of both what was told to somebody who may not have taken it. Nothing is taken out of them when a
job stops being ready: it is dropped when its turn comes. So a job that becomes ready costs the
logarithm of those that are.
"""

from __future__ import annotations

import heapq
from array import array

import numpy as np
from numpy.typing import NDArray
from rowtui.core.network.job_model import JobState

_READY = int(JobState.READY)
_BITS = 31  # of a job's number; above them is its rank
_MASK = (1 << _BITS) - 1
_NEVER = 1 << 63  # after every key
_FEW = 256  # that become ready at once: below, the heap alone
_MANY = 4096  # from here on a heap is slow: its numbers lie all over the memory


class ReadyQueue:
    """The ready jobs of `states`, lowest rank first, of equals the lowest number."""

    def __init__(self, states: bytearray) -> None:
        self._states = states
        self._ranks = array("i")
        self._queued = bytearray()  # whether a job is in the heap, the run or the front
        self._heap: list[int] = []
        self._run = array("q")
        self._front: list[int] = []  # what was given already, the first one last
        self._at = 0  # what of the run was taken
        self._most = _MANY  # in the heap, until it is merged into the run
        self._last = 0  # the highest rank

    def grow(self, count: int, parents: NDArray[np.int32]) -> None:
        """That many more jobs, with the ranks of jobs `parents[i]` that were there; -1: the last.

        So what a job's list brought forth comes where that job came, until new ranks are set.
        """
        ranks = np.frombuffer(self._ranks, np.int32)
        new = np.full(count, self._last, np.int32)
        has = parents >= 0
        new[has] = ranks[parents[has]]
        del ranks  # what is looked into cannot grow
        self._ranks.frombytes(new.tobytes())
        self._queued += bytes(count)

    def add(self, job: int) -> None:
        """A job became ready."""
        if not self._queued[job]:
            self._queued[job] = 1
            heapq.heappush(self._heap, self._ranks[job] << _BITS | job)
            if len(self._heap) > self._most:
                self._merge(np.zeros(0, np.int64))

    def add_many(self, jobs: NDArray[np.int32]) -> None:
        """Jobs became ready."""
        waiting = len(self._run) - self._at + len(self._heap)
        if len(jobs) < max(_FEW, waiting >> 3):
            for job in jobs.tolist():
                self.add(job)
            return
        queued = np.frombuffer(self._queued, np.uint8)
        new = jobs[queued[jobs] == 0]
        queued[new] = 1
        ranks = np.frombuffer(self._ranks, np.int32)
        keys = ranks[new].astype(np.int64) << _BITS | new
        self._merge(keys)

    def set_ranks(self, ranks: NDArray[np.int32]) -> None:
        """Ranks of the first jobs; those after them keep theirs."""
        np.frombuffer(self._ranks, np.int32)[: len(ranks)] = ranks
        mine = np.frombuffer(self._ranks, np.int32)
        self._last = int(mine.max(initial=0))
        ready = np.flatnonzero(np.frombuffer(self._states, np.uint8) == _READY)
        queued = np.frombuffer(self._queued, np.uint8)
        queued[:] = 0
        queued[ready] = 1
        self._heap.clear()
        self._front.clear()
        self._set_run(np.sort(mine[ready].astype(np.int64) << _BITS | ready))

    def first(self, limit: int | None) -> list[int]:
        """The jobs that are ready, or the first of them, in order; they stay in the queue."""
        if limit is None:
            return self._all()
        found: list[int] = []
        kept: list[int] = []
        front, heap, run, at = self._front, self._heap, self._run, self._at
        states, queued, end = self._states, self._queued, len(self._run)
        while len(found) < limit:
            key = front[-1] if front else _NEVER
            if heap and heap[0] < key:
                key = heap[0]
            if at < end and run[at] < key:
                key = run[at]
                at += 1
            elif front and key == front[-1]:
                front.pop()
            elif heap:
                heapq.heappop(heap)
            else:
                break
            job = key & _MASK
            if states[job] == _READY:
                found.append(job)
                kept.append(key)
            else:
                queued[job] = 0
        self._at = at
        front.extend(reversed(kept))
        return found

    def _all(self) -> list[int]:
        others = np.array(self._heap + self._front, np.int64)
        rest = np.frombuffer(self._run, np.int64)[self._at :]
        keys = np.sort(np.concatenate((others, rest)))
        jobs = keys & _MASK
        ready = np.frombuffer(self._states, np.uint8)[jobs] == _READY
        np.frombuffer(self._queued, np.uint8)[jobs[~ready]] = 0
        self._heap.clear()
        self._front.clear()
        self._set_run(keys[ready])
        found: list[int] = jobs[ready].tolist()
        return found

    def _merge(self, keys: NDArray[np.int64]) -> None:
        """The heap and these keys go into the run."""
        rest = np.frombuffer(self._run, np.int64)[self._at :]
        new = np.sort(np.concatenate((np.array(self._heap, np.int64), keys)))
        self._heap.clear()
        # Two sorted parts: a stable sort just merges them.
        self._set_run(np.sort(np.concatenate((rest, new)), kind="stable"))

    def _set_run(self, keys: NDArray[np.int64]) -> None:
        self._run = array("q")
        self._run.frombytes(keys.astype(np.int64, copy=False).tobytes())
        self._at = 0
        self._most = max(_MANY, len(keys) >> 4)
