"""Completion rates of actions, from the jobs that ended: a count of directories for each hour.

The module is pure. Directories that the user completed by hand are not counted. The predicted end
assumes that the remaining directories complete at the same rate.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rowtui.core.submission.plan.record import JobRecord


HOURS = 24
"""Number of past hours that are counted."""


RATE_HOURS = 6
"""Number of latest hours over which the rate is averaged.

The window is short, so that a pause at night soon leaves the average.
"""


LEAST_HOURS = 1 / 60
"""Shortest time over which a rate per hour is computed; a job that has just begun gives no rate."""


AHEAD_SECONDS = 3600
"""Seconds by which the clock that recorded a job's end may be ahead of this machine's clock."""


class ActionThroughput(NamedTuple):
    """Directories that an action's jobs completed in each of the last `HOURS`, oldest first.

    `begun`: hours since the first of those jobs was submitted. `failed`: the directories of jobs
    that failed, in the same hours.
    """

    action: str = ""
    hours: tuple[int, ...] = (0,) * HOURS
    begun: float = float(HOURS)
    failed: tuple[int, ...] = (0,) * HOURS

    @property
    def lately(self) -> tuple[int, float]:
        """Return the directories of the latest `RATE_HOURS`, and the hours since the first one."""
        latest = self.hours[-RATE_HOURS:]
        first = next((at for at, count in enumerate(latest) if count), None)
        if first is None:
            return 0, 0.0
        return sum(latest), max(LEAST_HOURS, min(len(latest) - first, self.begun))

    @property
    def quiet_hours(self) -> int:
        """The latest hours in which no directory completed."""
        return next((at for at, many in enumerate(reversed(self.hours)) if many), HOURS)

    def hours_left(self, directories: int) -> float | None:
        """Return the hours for this many directories at the rate of `lately`; None for rate 0."""
        done, hours = self.lately
        return directories * hours / done if done else None


def paces(records: Iterable[JobRecord], now: float) -> tuple[ActionThroughput, ...]:
    """Return the pace of each action with a job that completed or failed within `HOURS`.

    `now`: epoch seconds.
    """
    counts: dict[str, list[int]] = {}
    failed: dict[str, list[int]] = {}
    begun: dict[str, float] = {}
    for record in records:
        end = record.end
        if end is None or not (end.outcome.good or end.outcome.failed):
            continue
        if record.ended_at - now > AHEAD_SECONDS:
            continue
        ago = max(0, int((now - record.ended_at) // 3600))
        if ago < HOURS:
            for table in (counts, failed):
                table.setdefault(record.action, [0] * HOURS)
            table = counts if end.outcome.good else failed
            table[record.action][HOURS - 1 - ago] += len(record.directories)
            if end.outcome.good:
                since = (now - record.submitted_at) / 3600
                begun[record.action] = max(since, begun.get(record.action, 0.0))
    return tuple(
        ActionThroughput(
            action, tuple(hours), begun.get(action, float(HOURS)), tuple(failed[action])
        )
        for action, hours in counts.items()
    )
