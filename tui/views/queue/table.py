"""The list of jobs: only rows of this project can be marked, each with the states of its jobs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from rowtui.core.engine.api.engine import MarkedRow, QueuePage, QueueRow, RowKey
from rowtui.core.project.queue.views import MOST_MARKED, SORTS
from rowtui.tui.widgets.table.engine_rows import LOADED, EngineRows
from rowtui.tui.widgets.table.list_table import ListTable
from rowtui.tui.widgets.table.rows import Marks

# Rows


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
        """Return the position of the row: the engine's last report, or the position in the loaded
        pages.
        """
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


class QueueMarks(Marks):
    """Marks of rows, where a marked array or bundle stands for all of its jobs."""

    def __contains__(self, key: object) -> bool:
        """Whether the row is marked, or the array above it."""
        if key in self.keys:
            return True
        return isinstance(key, RowKey) and key.parent in self.keys


class QueueList(ListTable):
    """The list of jobs; `took` is called with rows that are marked together."""

    def __init__(self, took: Callable[[Sequence[MarkedRow]], None]) -> None:
        super().__init__(name="queue", can_mark=True)
        self.marks = QueueMarks()
        self._took = took

    @property
    def sortable(self) -> list[str]:
        """The orders of the engine, independent of the columns that fit."""
        return list(SORTS[1:])

    def action_mark_matching(self) -> None:
        """Mark all rows of this project that the list has now; later rows are not marked."""
        if why := self._why_no_marks():
            self.notify(f"mark: {why}", severity="warning", markup=False)
        else:
            self.mark_rows_from(0, self.source.row_count)

    async def _mark_rows(self, first: int, stop: int) -> None:
        source, asked = self.source, self.asked
        assert isinstance(source, QueueRows)
        whole = set(self.marks.keys)
        found: list[MarkedRow] = []
        at = first
        while at < stop and len(found) < MOST_MARKED:
            try:
                rows = await source.rows(at, min(stop, at + LOADED))
            except Exception as error:
                self.notify(f"Not marked: {error}", severity="error", markup=False)
                return
            if not rows or source is not self.source or asked != self.asked:
                break
            at += len(rows)
            for row in rows:
                # If its array is marked, the row is marked already.
                if row.ours and row.key.parent not in whole:
                    whole.add(row.key)
                    found.append(row.marked)
        if len(found) >= MOST_MARKED:
            self.notify(f"Only the first {MOST_MARKED:,} rows.", markup=False)
        self._took(found[:MOST_MARKED])
