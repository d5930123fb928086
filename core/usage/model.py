"""One job's usage: what it was, what it requested, what it used, and by which measurement."""

from __future__ import annotations

from typing import NamedTuple

from rowtui.core.clusters.schedulers.measured import Used
from rowtui.core.submission.plan.outcome import JobResult

NO_USAGE = Used()


class UsageKind(NamedTuple):
    """What many jobs of one plan share. `memory_mb`: requested in MB, None if nothing was.

    `cpus`, `gpus`, `memory_mb` and `walltime_seconds` are those of a whole job.
    """

    action: str
    cluster: str
    partition: str
    user: str
    attempt: int
    cpus: int
    gpus: int
    memory_mb: int | None
    walltime_seconds: int


class JobUsage(NamedTuple):
    """One job that ended, and how. Times: epoch seconds, 0 for unknown.

    `directories`: how many. `submitted_at`: when a scheduler took the job. `complete`: whether the
    scheduler's accounts are included, or never will be.
    """

    token: str
    kind: UsageKind
    job_id: int
    directories: int
    end: JobResult
    submitted_at: float
    used: Used = NO_USAGE
    complete: bool = False

    @property
    def ended_at(self) -> float:
        """When the job ended; 0 if that is unknown."""
        return self.end.ended_at

    @property
    def started_at(self) -> float:
        """When the job began; 0 if that is unknown."""
        if not self.ended_at or self.used.wall is None:
            return 0.0
        # Times of ends are whole seconds, so a short job could begin before it was submitted.
        return max(self.ended_at - self.used.wall, self.submitted_at)
