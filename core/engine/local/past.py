"""What ran when, for a screen: computed in a thread from the records of usage."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

from rowtui.core.usage.past import PastRequest, PastView, past_view

if TYPE_CHECKING:
    from collections.abc import Callable

    from rowtui.core.project.project import Project
    from rowtui.core.usage.store import UsageColumns

Stamp = tuple[tuple[str, int, int], ...]


class PastWork:
    """The past of one project. The records are read again only after they have changed.

    `now`: returns epoch seconds.
    """

    def __init__(self, project: Project, now: Callable[[], float] = time.time) -> None:
        self._store = project.usage.store
        self._now = now
        self._turn = asyncio.Lock()
        self._known: tuple[Stamp, UsageColumns] | None = None

    async def view(self, asked: PastRequest) -> PastView:
        """Return what ran when. Raises: RowtuiError."""
        async with self._turn:
            return await asyncio.to_thread(self._view, asked)

    def _view(self, asked: PastRequest) -> PastView:
        stamp = self._stamp()
        if self._known is None or self._known[0] != stamp:
            self._known = stamp, self._store.columns()
        return past_view(self._known[1], asked, self._now())

    def _stamp(self) -> Stamp:
        """Return the names, sizes and times of the files of the records."""
        found = []
        with contextlib.suppress(OSError):
            for path in sorted(self._store.folder.iterdir()):
                stat = path.stat()
                found.append((path.name, stat.st_size, stat.st_mtime_ns))
        return tuple(found)
