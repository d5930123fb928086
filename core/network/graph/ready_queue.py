"""The queue of ready jobs, in the order of their ranks.

A sorted run holds jobs that became ready many at a time, a heap holds later ones, and a list in
front of both holds jobs that were returned and may not have been submitted. When a job stops being
ready, it stays in the queue until it reaches the front, and is then dropped. A job that becomes
ready costs the logarithm of the number of ready jobs.
"""

from __future__ import annotations

import heapq
from array import array

from rowtui.core.base.lazy import NDArray, np
from rowtui.core.network.graph.job_model import GraphJobState

_ELIGIBLE = int(GraphJobState.ELIGIBLE)
_BITS = 31  # of a job's number; the rank is above these bits
_MASK = (1 << _BITS) - 1
_NEVER = 1 << 63  # larger than every key
_FEW = 256  # jobs that become ready at once: below this, only the heap is used
_MANY = 4096  # from this size on a heap is slow, because its numbers are scattered in memory


class ReadyQueue:
    """The ready jobs of `states`, lowest rank first; equal ranks by number."""

    def __init__(self, states: bytearray) -> None:
        self._states = states
        self._ranks = array("i")
        self._queued = bytearray()  # whether a job is in the heap, the run or the front
        self._heap: list[int] = []
        self._run = array("q")
        self._front: list[int] = []  # keys of jobs returned before, the first one last
        self._at = 0  # the position in the run
        self._most = _MANY  # the size of the heap at which it is merged into the run
        self._last = 0  # the highest rank

    def grow(self, count: int, parents: NDArray[np.int32]) -> None:
        """Add jobs with the ranks of the existing jobs `parents[i]`; -1: the last rank.

        Jobs of a list therefore have the place of the job that made the list, until new ranks are
        set.
        """
        ranks = np.frombuffer(self._ranks, np.int32)
        new = np.full(count, self._last, np.int32)
        has = parents >= 0
        new[has] = ranks[parents[has]]
        del ranks  # a buffer that is viewed cannot grow
        self._ranks.frombytes(new.tobytes())
        self._queued += bytes(count)

    def add(self, job: int) -> None:
        """Add a job that became ready."""
        if not self._queued[job]:
            self._queued[job] = 1
            heapq.heappush(self._heap, self._ranks[job] << _BITS | job)
            if len(self._heap) > self._most:
                self._merge(np.zeros(0, np.int64))

    def add_many(self, jobs: NDArray[np.int32]) -> None:
        """Add jobs that became ready."""
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
        """Set the ranks of the first jobs; later jobs keep their ranks."""
        np.frombuffer(self._ranks, np.int32)[: len(ranks)] = ranks
        mine = np.frombuffer(self._ranks, np.int32)
        self._last = int(mine.max(initial=0))
        ready = np.flatnonzero(np.frombuffer(self._states, np.uint8) == _ELIGIBLE)
        queued = np.frombuffer(self._queued, np.uint8)
        queued[:] = 0
        queued[ready] = 1
        self._heap.clear()
        self._front.clear()
        self._set_run(np.sort(mine[ready].astype(np.int64) << _BITS | ready))

    def first(self, limit: int | None) -> list[int]:
        """Return the ready jobs, or the first `limit` of them, in order; they stay in the queue."""
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
            if states[job] == _ELIGIBLE:
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
        ready = np.frombuffer(self._states, np.uint8)[jobs] == _ELIGIBLE
        np.frombuffer(self._queued, np.uint8)[jobs[~ready]] = 0
        self._heap.clear()
        self._front.clear()
        self._set_run(keys[ready])
        found: list[int] = jobs[ready].tolist()
        return found

    def _merge(self, keys: NDArray[np.int64]) -> None:
        """Merge the heap and these keys into the run."""
        rest = np.frombuffer(self._run, np.int64)[self._at :]
        new = np.sort(np.concatenate((np.array(self._heap, np.int64), keys)))
        self._heap.clear()
        # Two sorted parts: a stable sort only merges them.
        self._set_run(np.sort(np.concatenate((rest, new)), kind="stable"))

    def _set_run(self, keys: NDArray[np.int64]) -> None:
        self._run = array("q")
        self._run.frombytes(keys.astype(np.int64, copy=False).tobytes())
        self._at = 0
        self._most = max(_MANY, len(keys) >> 4)
