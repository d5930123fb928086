"""Jobs that could not be sent, or were refused: how long they are left alone before another try.

Takes numbers of jobs and the time; gives those that rest. No clock of its own. Twice as long each
time; what was refused `TRIES` times in a row is for a person to look at. A cluster that does not
answer refuses nothing: its jobs are tried until it does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

FIRST_SECONDS = 1.0
LONGEST_SECONDS = 60.0
TRIES = 5


class _Rest(NamedTuple):
    """`tries`: failed ones in a row; `refusals`: those of them that a cluster answered."""

    tries: int = 0
    refusals: int = 0
    until: float = 0.0


@dataclass
class Resting:
    """The jobs of one run that rest. Times: seconds of any clock that only goes forward."""

    first: float = FIRST_SECONDS
    _jobs: dict[int, _Rest] = field(default_factory=dict)

    def refused(self, jobs: Iterable[int], now: float, *, by_silence: bool = False) -> None:
        """These could not be sent now. `by_silence`: their cluster does not answer."""
        for job in jobs:
            before = self._jobs.get(job, _Rest())
            tries = min(before.tries + 1, TRIES)  # the pause stops growing there
            refusals = before.refusals if by_silence else before.refusals + 1
            pause = min(LONGEST_SECONDS, self.first * 2 ** (tries - 1))
            self._jobs[job] = _Rest(tries, refusals, now + pause)

    def sent(self, jobs: Iterable[int]) -> None:
        """These were accepted."""
        for job in jobs:
            self._jobs.pop(job, None)

    def at(self, now: float) -> frozenset[int]:
        """The jobs that are left alone now; of them some may never be tried again."""
        return frozenset(
            job for job, rest in self._jobs.items() if rest.refusals >= TRIES or now < rest.until
        )

    @property
    def will_be_tried(self) -> bool:
        """Whether some of them will be tried again."""
        return any(rest.refusals < TRIES for rest in self._jobs.values())
