"""The rows of the list of jobs: pages of the engine, and the values by which they are filtered."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from rowtui.core.project.queue.rows import QueueRow, RowKey
from rowtui.core.project.queue.views import QueuePage
from rowtui.tui.widgets.table.engine_rows import EngineRows


class QueueRows(EngineRows[QueueRow]):
    """Pages of jobs. The engine reports with each page where the row under the cursor is now."""

    page: QueuePage | None = None  # The latest page.
    # The cells (row, column) that the latest page changes.
    changed: tuple[tuple[Hashable, str], ...] = ()
    _followed: tuple[Hashable, int | None] | None = None

    def take(self, page: QueuePage, followed: RowKey | None) -> None:
        """Store a new page, which also has the position of the row that was asked for."""
        self.page = page
        if followed is not None:
            self._followed = (followed, page.followed)

    def index_of(self, key: Hashable) -> int | None:
        """Return the position of the row by the engine's last report, or in the loaded pages."""
        if self._followed is not None and self._followed[0] == key:
            at = self._followed[1]
            if at is None or self.key(at) in (key, None):
                return at
            parent = key.parent if isinstance(key, RowKey) else None
            # The array or bundle of the row was folded.
            if parent is not None and self.key(at) == parent:
                return at
            # The row was asked for by its token alone.
            if isinstance(key, RowKey) and not key.cluster:
                return at
        return super().index_of(key)

    def _keep(self, number: int, total: int, items: Sequence[QueueRow]) -> None:
        near = (self._pages.get(one, ()) for one in (number - 1, number, number + 1))
        known = {row.key: row for page in near for row in page}
        self.changed = tuple(_changed(known, items))
        super()._keep(number, total, items)

    async def rows(self, start: int, stop: int) -> Sequence[QueueRow]:
        """Return rows, also if their pages are not loaded; fewer rows if the range is long."""
        return await self._items(start, stop)


def _changed(known: dict[RowKey, QueueRow], items: Sequence[QueueRow]) -> list[tuple[RowKey, str]]:
    """Return the cells that differ in rows that were loaded before."""
    found = []
    for row in items:
        was = known.get(row.key)
        if was is None:
            continue
        if (was.state, was.silent) != (row.state, row.silent):
            found.append((row.key, "state"))
        if was.reason != row.reason or (row.key.folded and was.counts != row.counts):
            found.append((row.key, "reason"))
    return found


def queue_values(row: QueueRow) -> dict[str, Any]:
    """Return the columns of a row for a file; times in seconds."""
    return {
        "state": row.state.value, "cluster": row.cluster, "id": row.label + row.tasks,
        "action": row.name, "user": row.user, "size": row.size, "elapsed": row.elapsed,
        "partition": row.partition, "nodes": row.nodes, "first": row.first, "reason": row.reason,
    }  # fmt: skip
