"""The list of jobs: only rows of this project can be marked, each with the states of its jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from rowtui.core.engine.api.engine import MarkedRow
from rowtui.core.project.queue.views import MOST_MARKED, SORTS
from rowtui.tui.shell.work import start
from rowtui.tui.views.queue.rows import QueueMarks, QueueRows
from rowtui.tui.widgets.table.asked_rows import LOADED
from rowtui.tui.widgets.table.list_table import ListTable


class QueueTable(ListTable):
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
            work = partial(self._mark_rows, 0, self.source.row_count)
            start(self, work, "marks", exclusive=True)

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
