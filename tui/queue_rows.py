"""The rows of the queue as a table wants them: pages of the engine, and marks that know arrays."""

from __future__ import annotations

from collections.abc import Hashable

from rowtui.core.engine import QueuePage, QueueRow, RowKey
from rowtui.tui.widgets.rows import Marks, PagedRows


class QueueRows(PagedRows[QueueRow]):
    """Pages of jobs. Where the row under the cursor is now, the engine says with each page."""

    page: QueuePage | None = None  # the latest one
    _followed: tuple[Hashable, int | None] | None = None

    def take(self, page: QueuePage, followed: RowKey | None) -> None:
        """A page has come; in it the place of a row that was asked for."""
        self.page = page
        if followed is not None:
            self._followed = (followed, page.followed)

    def index_of(self, key: Hashable) -> int | None:
        """Where the row is: what the engine said last, else as the pages that are here have it."""
        if self._followed is not None and self._followed[0] == key:
            at = self._followed[1]
            if at is None or self.key(at) in (key, None):
                return at
            parent = key.parent if isinstance(key, RowKey) else None
            if parent is not None and self.key(at) == parent:  # it was folded
                return at
            if isinstance(key, RowKey) and not key.cluster:  # asked for by its token alone
                return at
        return super().index_of(key)


class QueueMarks(Marks):
    """An array or a bundle that is marked means all its jobs."""

    def __contains__(self, key: object) -> bool:
        """Whether the row is marked, or the array above it."""
        if key in self.keys:
            return True
        return isinstance(key, RowKey) and key.parent in self.keys
