"""Messages of a table about the user's actions: the cursor moved, a row or a heading was
clicked.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from rowtui.tui.widgets.table.virtual_table import VirtualTable


class _News(Message):
    def __init__(self, table: VirtualTable) -> None:
        super().__init__()
        self.table = table

    @property
    def control(self) -> VirtualTable:
        """The table."""
        return self.table


class CursorMoved(_News, namespace="virtual_table"):
    """Posted when the cursor is on another row. Only the last message of a burst matters."""

    def __init__(self, table: VirtualTable, index: int, key: Hashable | None) -> None:
        super().__init__(table)
        self.index = index
        self.key = key

    def can_replace(self, message: Message) -> bool:
        """Whether this message replaces an older one: a newer position makes the older one
        irrelevant.
        """
        return isinstance(message, CursorMoved) and message.table is self.table


class RowPressed(_News, namespace="virtual_table"):
    """Posted when the row under the cursor was clicked again, to open it."""


class HeadingPressed(_News, namespace="virtual_table"):
    """Posted when a column's heading was clicked, to sort by it."""

    def __init__(self, table: VirtualTable, column: str) -> None:
        super().__init__(table)
        self.column = column
