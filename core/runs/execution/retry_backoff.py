"""Retry backoff for jobs that could not be submitted or were refused.

Takes numbers of jobs and the time; gives the jobs that rest. This module reads no clock. The pause
doubles with each attempt; after `TRIES` refusals in a row, the user has to act. A cluster that does
not answer refuses nothing: its jobs are tried until it answers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

FIRST_SECONDS = 1.0
LONGEST_SECONDS = 60.0
TRIES = 5


class _Rest(NamedTuple):
    """The attempts of a job: failed ones in a row, and how many of these a cluster refused."""

    tries: int = 0
    refusals: int = 0
    until: float = 0.0


@dataclass
class Resting:
    """The resting jobs of one run. Times are seconds of any monotonic clock."""

    first: float = FIRST_SECONDS
    _jobs: dict[int, _Rest] = field(default_factory=dict)

    def refused(self, jobs: Iterable[int], now: float, *, by_silence: bool = False) -> None:
        """Record that these jobs could not be submitted.

        `by_silence`: their cluster does not answer.
        """
        for job in jobs:
            before = self._jobs.get(job, _Rest())
            tries = min(before.tries + 1, TRIES)  # the pause stops growing there
            refusals = before.refusals if by_silence else before.refusals + 1
            pause = min(LONGEST_SECONDS, self.first * 2 ** (tries - 1))
            self._jobs[job] = _Rest(tries, refusals, now + pause)

    def sent(self, jobs: Iterable[int]) -> None:
        """Record that these jobs were accepted."""
        for job in jobs:
            self._jobs.pop(job, None)

    def at(self, now: float) -> frozenset[int]:
        """Return the jobs that rest now, including jobs that are never tried again."""
        return frozenset(
            job for job, rest in self._jobs.items() if rest.refusals >= TRIES or now < rest.until
        )

    @property
    def will_be_tried(self) -> bool:
        """Whether some of the jobs will be tried again."""
        return any(rest.refusals < TRIES for rest in self._jobs.values())
