"""Compute the remaining time from each job to the end of all jobs that depend on it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from rowtui.core.network.graph.job_model import Edges

_FEW = 64  # jobs at a time: below this, plain Python is faster than numpy


def remaining_seconds(edges: Edges, seconds: NDArray[Any]) -> NDArray[np.float64]:
    """Return for each job its own seconds plus those of the longest path through its dependents."""
    if not len(edges.needs):
        return np.array(seconds, np.float64)
    sweep = _Sweep(edges, seconds)
    front = np.flatnonzero(sweep.left == 0)
    while len(front):
        front = sweep.many(front) if len(front) >= _FEW else sweep.few(front.tolist())
    return sweep.remaining


class _Sweep:
    """A sweep from the last jobs back: a job is done when all jobs that need it are done.

    Many jobs at a time are processed with numpy, few (long chains) one after another.
    """

    def __init__(self, edges: Edges, seconds: NDArray[Any]) -> None:
        count = len(seconds)
        self.remaining = np.array(seconds, np.float64)
        # number of dependents that are not done yet
        self.left = np.bincount(edges.needs, minlength=count)
        self._longest = np.zeros(count)  # seconds of the longest path through done dependents
        # The dependencies of each job are `needs[starts[job]:starts[job + 1]]`.
        self._needs = edges.needs[np.argsort(edges.jobs, kind="stable")].astype(np.int64)
        self._starts = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(edges.jobs, minlength=count), out=self._starts[1:])

    def many(self, front: NDArray[np.int64]) -> NDArray[np.int64]:
        """Process these done jobs with numpy; return the jobs that become done."""
        lengths = self._starts[front + 1] - self._starts[front]
        base = self._starts[front] - np.cumsum(lengths) + lengths
        needed = self._needs[np.repeat(base, lengths) + np.arange(int(lengths.sum()))]
        np.maximum.at(self._longest, needed, np.repeat(self.remaining[front], lengths))
        np.subtract.at(self.left, needed, 1)
        done = np.unique(needed[self.left[needed] == 0])
        self.remaining[done] += self._longest[done]
        return done

    def few(self, front: list[int]) -> NDArray[np.int64]:
        """Process these jobs one by one, as long as they are few; return the jobs that
        come next.
        """
        # Memory views yield Python numbers, several times as fast as an array's items.
        needs, left = self._needs.data, self.left.data
        starts = self._starts.data
        longest, remaining = self._longest.data, self.remaining.data
        while front and len(front) < _FEW:
            following: list[int] = []
            for job in front:
                mine = remaining[job]
                for needed in needs[starts[job] : starts[job + 1]]:
                    longest[needed] = max(longest[needed], mine)
                    left[needed] -= 1
                    if not left[needed]:
                        remaining[needed] += longest[needed]
                        following.append(needed)
            front = following
        return np.array(front, np.int64)
