"""How fast an action's directories complete, from the jobs that ended: a count for each hour.

Pure: takes job records and the time, gives a `Pace` for each action. Directories that somebody
completed by hand are not in it; what it says of the end is what this rate would make of the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.submission.model import Step

if TYPE_CHECKING:
    from rowtui.core.submission.model import JobRecord

HOURS = 24
"""Of the past that are counted."""

RATE_HOURS = 6
"""The latest hours, of which the rate is the mean: a night's standstill is soon forgotten."""


LEAST_HOURS = 1 / 60
"""What began a moment ago has no rate yet that one could tell by the hour."""

AHEAD_SECONDS = 3600
"""By so much the clock that a job's end was written with may be ahead of ours."""


class Pace(NamedTuple):
    """Directories that an action's jobs completed in each of the last `HOURS`, the oldest first.

    `begun`: hours since the first of those jobs was submitted.
    """

    action: str = ""
    hours: tuple[int, ...] = (0,) * HOURS
    begun: float = float(HOURS)

    @property
    def lately(self) -> tuple[int, float]:
        """Directories in the latest `RATE_HOURS`, and the hours since the first of them."""
        latest = self.hours[-RATE_HOURS:]
        first = next((at for at, count in enumerate(latest) if count), None)
        if first is None:
            return 0, 0.0
        return sum(latest), max(LEAST_HOURS, min(len(latest) - first, self.begun))

    def hours_left(self, directories: int) -> float | None:
        """Hours until so many more are done as fast as `lately`; None where nothing was done."""
        done, hours = self.lately
        return directories * hours / done if done else None


def paces(records: Iterable[JobRecord], now: float) -> tuple[Pace, ...]:
    """The pace of each action of which a job ended well within `HOURS`. `now`: epoch seconds."""
    counts: dict[str, list[int]] = {}
    begun: dict[str, float] = {}
    for record in records:
        if record.step is not Step.ENDED or record.end_reason or record.exit_code:
            continue
        if record.ended_at - now > AHEAD_SECONDS:
            continue
        ago = max(0, int((now - record.ended_at) // 3600))
        if ago < HOURS:
            hours = counts.setdefault(record.action, [0] * HOURS)
            hours[HOURS - 1 - ago] += len(record.directories)
            since = (now - record.submitted_at) / 3600
            begun[record.action] = max(since, begun.get(record.action, 0.0))
    return tuple(Pace(action, tuple(hours), begun[action]) for action, hours in counts.items())
