"""The columns of a table that are shown at a width, and the width of each one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

GAP = 2
"""The number of blank columns between two columns of a table."""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """One column. A column with `priority` 0 is never dropped; the highest number is dropped first.

    A column needs `minimum` columns; `ideal` columns are enough (0 means the minimum). The
    remaining columns go to those with `grow`, in proportion. `short` replaces a title that does not
    fit. All columns of one `family` get their ideal width, or none of them does, so that their
    titles have the same form.
    """

    id: str
    title: str
    minimum: int
    ideal: int = 0
    align: str = "left"
    priority: int = 0
    grow: int = 0
    short: str = ""
    family: str = ""


@dataclass(frozen=True, slots=True)
class PlacedColumn:
    """A column that is shown, and its width."""

    column: TableColumn
    width: int
    in_short: bool = False

    @property
    def title(self) -> str:
        """The title, or its short form if the title does not fit, or one of its family does not."""
        fits = len(self.column.title) <= self.width and not self.in_short
        return self.column.title if fits else self.column.short or self.column.title


def place(columns: Sequence[TableColumn], width: int) -> tuple[PlacedColumn, ...]:
    """Return the columns that fit into `width`, in order, with their widths."""
    kept = list(columns)
    while len(kept) > 1 and _needed(kept) > width:
        last = max(kept, key=lambda column: column.priority)
        if last.priority == 0:
            break
        kept.remove(last)
    if not kept:
        return ()
    widths = {column.id: column.minimum for column in kept}
    spare = width - _needed(kept)
    settled: set[str] = set()
    narrow: set[str] = set()  # Families that do not get their ideal widths.
    for column in sorted(kept, key=lambda column: column.priority):
        if column.family in settled:
            continue
        if column.family:
            settled.add(column.family)
            alike = [one for one in kept if one.family == column.family]
            if sum(_wish(one) for one in alike) > spare:
                narrow.add(column.family)
                continue
        else:
            alike = [column]
        for one in alike:
            more = min(max(0, spare), _wish(one))
            widths[one.id] += more
            spare -= more
    growing = [column for column in kept if column.grow]
    weights = sum(column.grow for column in growing)
    left = max(0, spare)
    for column in growing:
        more = min(left, -(-max(0, spare) * column.grow // weights))
        widths[column.id] += more
        left -= more
    if spare < 0:  # The columns that are never dropped are still too wide: reduce the widest ones.
        for _ in range(-spare):
            widest = max(widths, key=lambda name: widths[name])
            widths[widest] = max(1, widths[widest] - 1)
    return tuple(PlacedColumn(one, widths[one.id], one.family in narrow) for one in kept)


def _wish(column: TableColumn) -> int:
    return max(0, column.ideal - column.minimum)


def _needed(columns: Sequence[TableColumn]) -> int:
    return sum(column.minimum for column in columns) + GAP * (len(columns) - 1)
