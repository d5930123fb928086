"""Where a run stands by its journal: its status, what was confirmed, what was spent.

Takes the events one by one, oldest first, so that nobody goes through a long journal twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rowtui.core.runs.limits import Limits, Spent
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
    """What the events so far come to. `why`: of the last pause. `at`: when the last one was.

    `limits`: None if the journal has none. `submitted`: jobs of plans; `failed`: jobs; `failures`
    those since limits were confirmed last. `money` by currency.
    """

    status: RunStatus = RunStatus.NEW
    limits: Limits | None = None
    why: str = ""
    at: float | None = None
    submitted: int = 0
    failed: int = 0
    failures: int = 0
    core_hours: float = 0.0
    gpu_hours: float = 0.0
    money: dict[str, float] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        """One more event."""
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
        """What was spent since the run began, and failures since limits were confirmed last.

        How many jobs are in the queue, and how many failed in a row, the caller knows.
        """
        return Spent(
            self.core_hours,
            self.gpu_hours,
            dict(self.money),
            jobs_in_queue,
            self.failures,
            failures_in_a_row,
        )

    def copy(self) -> Standing:
        """One that goes on by itself."""
        return replace(self, money=dict(self.money))

    def _spend(self, event: PlanSubmitted | NotSent, sign: int) -> None:
        self.submitted += sign * len(event.jobs)
        self.core_hours += sign * event.core_hours
        self.gpu_hours += sign * event.gpu_hours
        if event.money or event.currency:
            known = self.money.get(event.currency, 0.0)
            self.money[event.currency] = known + sign * event.money
