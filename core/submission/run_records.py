"""What is written down and said while a plan is carried out: steps, ids, answers, and who has what.

One `RunRecords` belongs to whoever carries out a plan, and to those that let its jobs go: they
share the ids of what was accepted, and the lock under which the project's records are changed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rowtui.core.clusters.schedulers.base import JobKey
from rowtui.core.submission.journal import Journal
from rowtui.core.submission.model import JournalEntry, Plan, PlannedJob, Step
from rowtui.core.submission.reservations import Release, Reservations
from rowtui.core.submission.sending import LOOKUP_PAUSE, PATIENCE
from rowtui.core.submission.site import Access


@dataclass(frozen=True, slots=True)
class Progress:
    """One step. `done` of `total` jobs have an answer; `error` says what went wrong, else "".

    `became`: how the job with this token stands now; None: on its way, or not about one job.
    """

    done: int
    total: int
    token: str
    message: str
    error: str = ""
    became: Step | None = None


@dataclass(frozen=True, slots=True)
class Tools:
    """What carrying out a plan works with. `root` is the project's folder; `access` is by cluster.

    `search` looks for unknown jobs of the project where records were lost. `stop` is asked
    between two jobs: when it says yes, no more are sent.
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
    """The records of one run of a plan. `keys`: of what was accepted, by token."""

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
        """Write a step of these jobs down, with the ids that they have by now."""
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
        """What to tell of a job; so many more have an answer now."""
        self.done += done
        return Progress(self.done, len(self.plan.jobs), job.token, message, error, became)

    def progress(self, message: str, error: str = "") -> Progress:
        """Something to say that is not about one job."""
        return Progress(self.done, len(self.plan.jobs), "", message, error)
