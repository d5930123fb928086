"""What the shown job uses: asked once the cursor rests on the job, and then seldom."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.submission.plan.model import JobStep
from rowtui.core.submission.plan.record import JobRecord
from rowtui.tui.shell.work import start

if TYPE_CHECKING:
    from rowtui.core.project.queue.rows import QueueRow, RowKey
    from rowtui.core.usage.running import UsageNow
    from rowtui.tui.views.view import ScreenView

REST_SECONDS = 0.7
"""How long the cursor rests on a job before its cluster is asked what the job uses."""

AGAIN_SECONDS = 20.0
"""Seconds between two requests for one running job; the engine asks its cluster less often."""

MOST_KNOWN = 100
"""Jobs whose usage is kept."""


class JobsUsed:
    """The usage of the jobs that the cursor rested on. `show`: called after an answer."""

    def __init__(self, view: ScreenView, show: Callable[[], None]) -> None:
        self.known: dict[RowKey, UsageNow] = {}
        self._view = view
        self._show = show
        self._asked: dict[RowKey, tuple[JobState, float]] = {}
        self._next: RowKey | None = None

    def ask(self, row: QueueRow | None) -> None:
        """Ask for the job of a row, if it is one of this project that runs or has ended."""
        if row is not None and not row.key.folded and row.record is not None:
            self.ask_job(row.key, row.record, row.state)

    def ask_job(self, key: RowKey, record: JobRecord, now: JobState) -> None:
        """Ask for a job of this project, if it runs or has ended. `now`: its state."""
        runs = now is JobState.RUNNING
        state, at = self._asked.get(key, (None, 0.0))
        # The use of an ended job does not change.
        again = runs and self._view.session.clock() - at >= AGAIN_SECONDS
        ended = record.step is JobStep.ENDED
        if (runs or ended) and (state is not now or again) and key != self._next:
            self._next = key
            start(self._view, partial(self._look, key, now), "used", exclusive=True)

    async def _look(self, key: RowKey, state: JobState) -> None:
        session = self._view.session
        try:
            await asyncio.sleep(REST_SECONDS)
            self._asked[key] = (state, session.clock())
            used = await session.engine.queue.used(key)
        except Exception:  # an engine that was lost: there is no answer
            return
        finally:
            if self._next == key:
                self._next = None
        if used is None:
            return
        for kept in (self.known, self._asked):
            while len(kept) >= MOST_KNOWN:
                del kept[next(iter(kept))]
        self.known[key] = used
        self._show()
