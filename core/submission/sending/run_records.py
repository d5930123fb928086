"""Records and messages of a submission in progress: steps, ids, answers and reservations.

One `RunRecords` is shared by the code that carries out a plan and the code that releases its jobs.
Both share the ids of accepted jobs, and the lock under which the project's records are changed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rowtui.core.clusters.schedulers.base import JobKey
from rowtui.core.submission.plan.model import JournalEntry, Plan, PlannedJob, Step
from rowtui.core.submission.sending.journal import Journal
from rowtui.core.submission.sending.reservations import Release, Reservations
from rowtui.core.submission.sending.send import LOOKUP_PAUSE, PATIENCE
from rowtui.core.submission.sending.site import Access


@dataclass(frozen=True, slots=True)
class Progress:
    """One step. `done` of `total` jobs have an answer; `error` states what went wrong, else "".

    `became`: the new state of the job with this token; None while it is on its way, or if the step
    is not about one job.
    """

    done: int
    total: int
    token: str
    message: str
    error: str = ""
    became: Step | None = None


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools of a submission. `root` is the project's folder; `access` is by cluster.

    `search` searches for unknown jobs of the project if records were lost. `stop` is called between
    two jobs; if it returns True, no further job is sent.
    """

    access: Mapping[str, Access]
    journal: Journal
    reservations: Reservations
    root: Path
    clock: Callable[[], float] = time.time
    stop: Callable[[], bool] = lambda: False
    lookup_pause: float = LOOKUP_PAUSE
    patience: float = PATIENCE
    search: Callable[[], Awaitable[None]] | None = None


@dataclass
class RunRecords:
    """The records of one submission of a plan. `keys`: of accepted jobs, by token."""

    plan: Plan
    tools: Tools
    keys: dict[str, JobKey] = field(default_factory=dict)
    done: int = 0
    records: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def release(self, releases: Sequence[Release]) -> None:
        """Give directories back."""
        async with self.records:
            await asyncio.to_thread(self.tools.reservations.release, releases)

    async def note(self, step: Step, jobs: Sequence[PlannedJob], detail: str = "") -> None:
        """Journal a step of these jobs, with the ids that they have so far."""
        if not jobs:
            return
        at = self.tools.clock()
        entries = []
        for job in jobs:
            key = self.keys.get(job.token, JobKey(0))
            cluster = job.destination.cluster
            entries.append(
                JournalEntry(job.token, self.plan.id, step, at, key.id, detail, cluster, key.task)
            )
        await asyncio.to_thread(self.tools.journal.append, entries)

    def say(
        self,
        job: PlannedJob,
        message: str,
        error: str = "",
        done: int = 0,
        became: Step | None = None,
    ) -> Progress:
        """Return progress about a job; `done` more jobs have an answer now."""
        self.done += done
        return Progress(self.done, len(self.plan.jobs), job.token, message, error, became)

    def progress(self, message: str, error: str = "") -> Progress:
        """Return progress that is not about one job."""
        return Progress(self.done, len(self.plan.jobs), "", message, error)
