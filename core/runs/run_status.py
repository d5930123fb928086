"""The status of a run by its journal, with its confirmed limits and spent amounts.

Takes the events one by one, oldest first, so that a long journal is processed only once.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rowtui.core.runs.limits.limits import Limits, Spent
from rowtui.core.runs.model import (
    Event,
    Finished,
    JobFailed,
    LimitsConfirmed,
    NotSent,
    Paused,
    PlanSubmitted,
    Resumed,
    RunStatus,
    Started,
    Stopped,
)


@dataclass
class Standing:
    """The sum of the events so far.

    `why`: the reason of the last pause. `at`: the time of the last event. `limits`: None if the
    journal has none. `submitted`: submitted jobs; `failed`: failed jobs; `failures`: failed jobs
    since limits were confirmed last. `money` is by currency.
    """

    status: RunStatus = RunStatus.NEW
    limits: Limits | None = None
    why: str = ""
    at: float | None = None
    submitted: int = 0
    failed: int = 0
    failures: int = 0
    cpu_hours: float = 0.0
    gpu_hours: float = 0.0
    money: dict[str, float] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        """Add one event."""
        self.at = event.at
        if isinstance(event, PlanSubmitted | NotSent):
            self._spend(event, 1 if isinstance(event, PlanSubmitted) else -1)
        elif isinstance(event, JobFailed):
            self.failed += 1
            self.failures += 1
        elif isinstance(event, LimitsConfirmed):
            self.limits = event.limits
            self.failures = 0
        elif isinstance(event, Started | Resumed):
            self.status = RunStatus.RUNNING
        elif isinstance(event, Paused):
            self.status, self.why = RunStatus.PAUSED, event.why
        elif isinstance(event, Stopped):
            self.status = RunStatus.STOPPED
        elif isinstance(event, Finished):
            self.status = RunStatus.FINISHED if event.success else RunStatus.FAILED

    def spent(self, jobs_in_queue: int = 0, failures_in_a_row: int = 0) -> Spent:
        """Return what was spent since the run began, and failures since limits were last confirmed.

        The caller provides the number of jobs in the queue and of failures in a row.
        """
        return Spent(
            self.cpu_hours,
            self.gpu_hours,
            dict(self.money),
            jobs_in_queue,
            self.failures,
            failures_in_a_row,
        )

    def copy(self) -> Standing:
        """Return an independent copy."""
        return replace(self, money=dict(self.money))

    def _spend(self, event: PlanSubmitted | NotSent, sign: int) -> None:
        self.submitted += sign * len(event.jobs)
        self.cpu_hours += sign * event.cpu_hours
        self.gpu_hours += sign * event.gpu_hours
        if event.money or event.currency:
            known = self.money.get(event.currency, 0.0)
            self.money[event.currency] = known + sign * event.money
