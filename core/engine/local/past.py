"""What ran when, for a screen: computed in a thread from the records of usage."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from rowtui.core.usage.past import PastRequest, PastView, past_view
from rowtui.core.usage.past_intervals import UnendedJob
from rowtui.core.usage.past_shares import budgets_left
from rowtui.core.usage.table import UsageRow, usage_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.submission.plan.record import JobRecord
    from rowtui.core.usage.store import UsageColumns


class PastWork:
    """The past of one project. The records are read again only after they have changed.

    `running`: returns the jobs that ran at the last poll; `now`: returns epoch seconds.
    """

    def __init__(
        self,
        project: OpenProject,
        running: Callable[[], Sequence[JobRecord]],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._project = project
        self._running = running
        self._store = project.usage.store
        self._now = now
        self._turn = asyncio.Lock()
        self._known: tuple[object, UsageColumns] | None = None

    async def view(self, asked: PastRequest) -> PastView:
        """Return throughput, CPUs in use, waits, failures of nodes and single jobs; bounded.

        Raises: RowtuiError if the records cannot be read.
        """
        running = [_running(job) for job in self._running() if job.as_of is not None]
        async with self._turn:
            return await asyncio.to_thread(self._view, asked, running)

    async def used(self) -> tuple[UsageRow, ...]:
        """Return what the jobs of each action used of what they requested.

        Raises: RowtuiError if the records cannot be read.
        """
        async with self._turn:
            return await asyncio.to_thread(self._used)

    def _view(self, asked: PastRequest, running: Sequence[UnendedJob]) -> PastView:
        past = past_view(self._columns(), asked, self._now(), running)
        clusters = [each.name for each in self._project.configured.clusters]
        budgets = self._project.budgets_on(clusters) if past.intervals else {}
        if not budgets:
            return past
        charges = self._project.charged_hours.dated()
        return past._replace(budgets=budgets_left(budgets, charges, past.ends))

    def _used(self) -> tuple[UsageRow, ...]:
        return tuple(usage_table(self._columns())) if self._store.stamp() else ()

    def _columns(self) -> UsageColumns:
        stamp = self._store.stamp()
        if self._known is None or self._known[0] != stamp:
            self._known = stamp, self._store.columns()
        return self._known[1]


def _running(job: JobRecord) -> UnendedJob:
    started = (job.as_of or 0.0) - (job.seconds or 0.0)
    limit = started + job.limit if job.limit else None
    cpus = job.planned.cpus if job.planned is not None else 1
    return UnendedJob(job.label, job.action, job.nodes, started, limit, cpus)
