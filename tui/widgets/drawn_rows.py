"""The rows of a table as they were drawn last, for as long as they look the same.

A row is drawn again only when it looks different. How it is drawn is `table_lines.py`'s, and how it
looks its table's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rowtui.tui.widgets.table_lines import Look
    from textual.strip import Strip

KEPT_ROWS = 600
"""Drawn rows that are kept: some screens up and down."""


class DrawnRows:
    """By index. What is the same for all rows is not looked at: where that changes, forget all."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Look, Strip]] = {}
        self._next: dict[int, Look] = {}  # of rows that look different, and are drawn next
        self.drawn = 0  # rows drawn anew so far; the tests and bench count with it

    def forget(self) -> None:
        """All rows look different now."""
        self._kept.clear()

    def expect(self, looks: dict[int, Look]) -> None:
        """These look different from how they were drawn, and are asked for next."""
        self._next = looks

    def expect_not(self, index: int) -> None:
        """A row of these may look different again when it is asked for."""
        self._next.pop(index, None)

    def same(self, index: int, look: Look) -> bool:
        """Whether it was drawn like that."""
        kept = self._kept.get(index)
        return kept is not None and kept[0] == look

    def expected(self, index: int) -> Look | None:
        """How a row looks that looks different from how it was drawn, where that is known."""
        return self._next.pop(index, None)

    def kept(self, index: int, look: Look) -> Strip | None:
        """The row, if it was drawn like that."""
        kept = self._kept.get(index)
        return kept[1] if kept is not None and kept[0] == look else None

    def keep(self, index: int, look: Look, strip: Strip) -> None:
        """It is drawn, and looks like that."""
        self.drawn += 1
        if len(self._kept) >= KEPT_ROWS and index not in self._kept:
            del self._kept[next(iter(self._kept))]  # the one that was kept first
        self._kept[index] = (look, strip)
