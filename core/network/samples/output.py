"""The output of a node or source: its samples, their lists, and the unknown ones.

Source: Fastr's documentation, "Sample flow".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rowtui.core.base.lazy import np
from rowtui.core.network.samples.columns import Codes, Columns, Rows, ranges
from rowtui.core.network.samples.domain import Domain

UNKNOWN = -1  # a cardinality before the job has run; a code that is not known yet


class Entries(NamedTuple):
    """The entries of an output's lists, where they become samples.

    Row r has the codes `codes[starts[r]:starts[r + 1]]` of the domain, in its list's order.
    """

    domain: Domain
    starts: Rows
    codes: Codes


class Opens(NamedTuple):
    """Samples that are not known yet. `codes[a][i]` is on axis a, UNKNOWN where it is not known.

    `owners[i]` and `rows[i]`: the node and the job whose list will determine the samples.
    """

    codes: tuple[Codes, ...]
    owners: Rows
    rows: Rows

    @property
    def number(self) -> int:
        """Return the number of open samples."""
        return len(self.rows)


class NodeOutput:
    """An output of a node or source: it holds samples."""

    def __init__(
        self,
        table: Columns,
        owner: int,
        *,
        name: str = "",
        cards: int | Codes = 1,
        lists: Mapping[str, Entries] | None = None,
        opens: Opens | None = None,
    ) -> None:
        """Create an output. `owner`: the number of its node; the job of row r is that node's job r.

        `lists` are the entries of its lists, by the name of the dimension that they become; without
        them, entries are their positions.
        """
        self.name = name
        self.owner = owner
        self.columns = table
        self.cards = cards
        self.lists = lists or {}
        self.opens = opens if opens is not None else no_opens(table)

    def entries(self, dimension: str) -> Entries:
        """Return the entries of its lists as values of a dimension."""
        if dimension in self.lists:
            return self.lists[dimension]
        return positions_as_entries(dimension, counted(self.cards, self.columns.count))


def counted(cards: int | Codes, count: int) -> Codes:
    """Return the cardinality of each sample."""
    return np.full(count, cards, dtype=np.int32) if isinstance(cards, int) else cards


def positions_as_entries(dimension: str, cards: Codes) -> Entries:
    """Return entries that are their positions in the lists."""
    known = np.maximum(cards, 0).astype(np.int64)
    starts = np.concatenate(([0], np.cumsum(known))).astype(np.int64)
    codes = ranges(np.zeros(len(known), dtype=np.int64), known).astype(np.int32)
    return Entries(Domain(dimension, range(int(known.max(initial=0)))), starts, codes)


def no_opens(table: Columns) -> Opens:
    """Return an empty set of open samples."""
    nothing = np.zeros(0, dtype=np.int64)
    return Opens(tuple(np.zeros(0, dtype=np.int32) for _ in table.axes), nothing, nothing)
