"""Cache of a table's drawn rows, valid as long as they look the same.

A row is drawn again only if its look has changed. `table_lines.py` draws a row, and the table
decides its look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rowtui.tui.widgets.table.table_lines import Look
    from textual.strip import Strip

KEPT_ROWS = 600
"""The number of cached rows: some screens up and down."""


class DrawnRows:
    """Drawn rows by index. The cache ignores properties that all rows share: after a change of such
    a property, call `forget`.
    """

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Look, Strip]] = {}
        self._next: dict[int, Look] = {}  # The new looks of rows that are drawn next.
        self.drawn = 0  # The number of rows drawn so far; tests and benchmarks read it.

    def forget(self) -> None:
        """Drop all rows, because their looks have changed."""
        self._kept.clear()

    def expect(self, looks: dict[int, Look]) -> None:
        """Store the new looks of rows that will be drawn next."""
        self._next = looks

    def expect_not(self, index: int) -> None:
        """Drop the expected look of a row, which may have changed again."""
        self._next.pop(index, None)

    def same(self, index: int, look: Look) -> bool:
        """Whether the row was drawn with this look."""
        kept = self._kept.get(index)
        return kept is not None and kept[0] == look

    def expected(self, index: int) -> Look | None:
        """Return and remove the expected look of a row that has changed, or None if it is
        unknown.
        """
        return self._next.pop(index, None)

    def kept(self, index: int, look: Look) -> Strip | None:
        """Return the drawn row, if it was drawn with this look."""
        kept = self._kept.get(index)
        return kept[1] if kept is not None and kept[0] == look else None

    def keep(self, index: int, look: Look, strip: Strip) -> None:
        """Store the drawn row with its look."""
        self.drawn += 1
        if len(self._kept) >= KEPT_ROWS and index not in self._kept:
            del self._kept[next(iter(self._kept))]  # The oldest entry.
        self._kept[index] = (look, strip)
