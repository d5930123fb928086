"""The base class of all stages that forward samples: rows made of rows of their sources.

A million samples are a few arrays. Source: Fastr's documentation, "Sample flow": ForwardsSamples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rowtui.core.base.lazy import np
from rowtui.core.network.samples.columns import Codes, Columns, Rows, codes_on, ranges
from rowtui.core.network.samples.domain import Domain
from rowtui.core.network.samples.output import (
    UNKNOWN,
    NodeOutput,
    Opens,
    no_opens,
)


class RowOrigin(NamedTuple):
    """The rows of a source in each row: `rows[starts[i]:starts[i + 1]]`.

    `starts` None: one each. `rows` None: the same row.
    """

    rows: Rows | None = None
    starts: Rows | None = None

    def spread(self, rows: Rows) -> tuple[Rows | None, Rows, Rows]:
        """Return the source rows in many rows, as three columns.

        The columns are the place in `rows` that each belongs to (None: one each), the place among
        all members, and the source's row.
        """
        if self.starts is None:
            return None, rows, rows if self.rows is None else self.rows[rows]
        assert self.rows is not None
        begin = self.starts[rows]
        numbers = self.starts[rows + 1] - begin
        places = ranges(begin, numbers)
        whose = np.repeat(np.arange(len(rows), dtype=np.int64), numbers)
        return whose, places, self.rows[places]


class Stage:
    """The base class of all stages but the first. `origins[s]` gives the rows of source s."""

    def __init__(
        self,
        sources: Sequence[NodeOutput | Stage],
        table: Columns,
        origins: Sequence[RowOrigin],
        opens: Opens,
    ) -> None:
        self.sources: tuple[NodeOutput | Stage, ...] = tuple(sources)
        self.columns = table
        self.origins = tuple(origins)
        self.opens = opens

    @property
    def cards(self) -> int | Codes:
        """Return the cardinality, of all or of each."""
        source, origin = self.sources[0], self.origins[0]
        cards = source.cards
        if isinstance(cards, int) or origin.rows is None:
            return cards
        assert origin.starts is None
        return cards[origin.rows]


def origins_of(rows: Sequence[Rows], sources: Sequence[Stage]) -> list[RowOrigin]:
    """Return one row of each source for each row; the identity takes no memory."""
    return [
        RowOrigin(None if _is_all(each, source.columns.count) else each)
        for each, source in zip(rows, sources, strict=True)
    ]


def _is_all(rows: Rows, count: int) -> bool:
    return len(rows) == count and bool(np.array_equal(rows, np.arange(count)))


def opens_of(table: Columns, sources: Sequence[Stage], *, by_position: bool = False) -> Opens:
    """Return the open samples of the sources on the dimensions here; UNKNOWN where not known.

    `by_position`: samples were combined independent of their values, so no value is known.
    """
    every = [source for source in sources if source.opens.number]
    if not every:
        return no_opens(table)
    codes = []
    for axis in table.axes:
        parts = []
        for source in every:
            names = source.columns.names
            if by_position or names.count(axis.name) != 1 or table.names.count(axis.name) != 1:
                parts.append(np.full(source.opens.number, UNKNOWN, dtype=np.int32))
            else:
                at = names.index(axis.name)
                parts.append(_opens_on(axis, source.columns.axes[at], source.opens.codes[at]))
        codes.append(np.concatenate(parts))
    return Opens(
        tuple(codes),
        np.concatenate([source.opens.owners for source in every]),
        np.concatenate([source.opens.rows for source in every]),
    )


def _opens_on(axis: Domain, domain: Domain, codes: Codes) -> Codes:
    moved, _ = codes_on(axis, domain, np.maximum(codes, 0))
    return np.where(codes == UNKNOWN, UNKNOWN, moved).astype(np.int32)
