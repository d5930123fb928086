"""What ran when, for a screen: computed in a thread from the records of usage."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from rowtui.core.usage.past import PastRequest, PastView, past_view
from rowtui.core.usage.table import UsageRow, usage_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.usage.store import UsageColumns


class PastWork:
    """The past of one project. The records are read again only after they have changed.

    `now`: returns epoch seconds.
    """

    def __init__(self, project: OpenProject, now: Callable[[], float] = time.time) -> None:
        self._store = project.usage.store
        self._now = now
        self._turn = asyncio.Lock()
        self._known: tuple[object, UsageColumns] | None = None

    async def view(self, asked: PastRequest) -> PastView:
        """Return what ran when. Raises: RowtuiError."""
        async with self._turn:
            return await asyncio.to_thread(self._view, asked)

    async def used(self) -> tuple[UsageRow, ...]:
        """Return what the jobs of each action used. Raises: RowtuiError."""
        async with self._turn:
            return await asyncio.to_thread(self._used)

    def _view(self, asked: PastRequest) -> PastView:
        return past_view(self._columns(), asked, self._now())

    def _used(self) -> tuple[UsageRow, ...]:
        return tuple(usage_table(self._columns())) if self._store.stamp() else ()

    def _columns(self) -> UsageColumns:
        stamp = self._store.stamp()
        if self._known is None or self._known[0] != stamp:
            self._known = stamp, self._store.columns()
        return self._known[1]
