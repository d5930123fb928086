"""Requests about jobs: their records, the queue of all clusters, and logs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from rowtui.core.project.views.views import ROW

if TYPE_CHECKING:
    from rowtui.core.clusters.schedulers.base import JobAnswer
    from rowtui.core.project.queue.rows import MarkedRow, RowKey
    from rowtui.core.project.queue.views import (
        Acted,
        ChosenJobs,
        JobDetail,
        QueuePage,
        QueueRequest,
    )
    from rowtui.core.project.views.views import JobsView, LogHit, LogPage, LogState, LogTail
    from rowtui.core.submission.plan.record import JobRecord
    from rowtui.core.usage.running import UsageNow


class JobsService(Protocol):
    """The jobs of this project, and verbs on them by token."""

    async def view(self, *, now: bool = False) -> JobsView:
        """Return the newest jobs of the project, counts of all jobs, and the clusters.

        Queues are polled where due, or all of them with `now`.
        """

    async def find(self, action: str, directory: str) -> JobRecord | None:
        """Return the newest job of an action with this directory; None if there is none."""

    async def named(self, label: str) -> JobRecord | None:
        """Return the newest job of the project with this label, `4711_3`; None if there is none."""

    async def cancel(self, tokens: Sequence[str]) -> tuple[JobAnswer, ...]:
        """Cancel these jobs."""

    async def hold(self, tokens: Sequence[str]) -> tuple[JobAnswer, ...]:
        """Hold these jobs."""

    async def release(self, tokens: Sequence[str]) -> tuple[JobAnswer, ...]:
        """Release these jobs."""


class QueueService(Protocol):
    """The jobs of all clusters in one list, and verbs on its rows."""

    async def page(self, asked: QueueRequest, start: int, length: int) -> QueuePage:
        """Return a page of the jobs of all clusters, arrays and bundles folded, as last polled."""

    async def all_of(self, asked: QueueRequest, which: str) -> tuple[MarkedRow, ...]:
        """Return the rows of this project with jobs that are `active` or `failed`; bounded."""

    async def marked(self, keys: Sequence[RowKey]) -> tuple[MarkedRow, ...]:
        """Return rows in their present state, without rows that no longer exist."""

    async def chosen(self, keys: Sequence[RowKey], verb: str) -> ChosenJobs:
        """Return the jobs to which `cancel`, `hold`, `release` or `retry` would apply."""

    async def act(self, keys: Sequence[RowKey], verb: str) -> Acted:
        """Cancel, hold or release the jobs of these rows; a refusal does not stop the others."""

    async def detail(self, key: RowKey, *, estimate: bool = False) -> JobDetail:
        """Return what its scheduler reports about a job, at most a minute ago.

        `estimate`: also when the job starts. The answer states what a scheduler does not offer.
        """

    async def used(self, key: RowKey) -> UsageNow | None:
        """Return what a job of this project uses now, or used if it has ended.

        A cluster is asked at most once in each polling interval: None if it was asked by now, or
        if nothing is known.
        """


class LogsService(Protocol):
    """The logs of jobs, of any size, on any machine."""

    async def look(self, token: str, *, earlier: bool = False, width: int = ROW) -> LogState:
        """Return what is known of a job's log now; its `error` gives the reason if it is
        unreadable.

        Reading begins at the end; with `earlier`, rows before the first known one are read too.
        `width`: bytes after which a line continues in the next row.
        """

    async def page(self, token: str, start: int, length: int, *, width: int = ROW) -> LogPage:
        """Return rows of a log, at the width of an earlier `log_look`. Raises: RowtuiError."""

    async def find(
        self, token: str, text: str, start: int, *, backwards: bool = False, width: int = ROW
    ) -> LogHit:
        """Return the next row after (before) `start` with this text, among the known rows.

        The text may be `~` and a regular expression, or "!" for likely errors. Raises: RowtuiError.
        """

    async def tail(self, token: str, lines: int) -> LogTail:
        """Return the last lines of a job's log."""
