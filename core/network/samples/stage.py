"""The base class of all stages that forward samples: rows made of rows of their sources.

A million samples are a few arrays here; a `Sample` is made on request. Source: Fastr's
documentation, "Sample flow": ForwardsSamples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from rowtui.core.network.samples.columns import Codes, Columns, Rows, codes_on, ranges
from rowtui.core.network.samples.domain import Domain
from rowtui.core.network.samples.mixins import ForwardsSamples, HasSamples, Key
from rowtui.core.network.samples.model import Dimension, Sample, SampleIndex, SampleState
from rowtui.core.network.samples.output import (
    UNKNOWN,
    NodeOutput,
    Opens,
    contains,
    no_opens,
    row_of,
)


class RowOrigin(NamedTuple):
    """The rows of a source in each row: `rows[starts[i]:starts[i + 1]]`.

    `starts` None: one each. `rows` None: the same row.
    """

    rows: Rows | None = None
    starts: Rows | None = None

    def of(self, row: int) -> list[int]:
        """Return the source rows in one row."""
        if self.rows is None:
            return [row]
        if self.starts is None:
            return [int(self.rows[row])]
        return [int(each) for each in self.rows[self.starts[row] : self.starts[row + 1]]]

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

    def reverse(self, row: int) -> list[int]:
        """Return the rows that contain a row of the source."""
        if self.rows is None:
            return [row]
        found = np.flatnonzero(self.rows == row)
        if self.starts is not None:
            found = np.unique(np.searchsorted(self.starts, found, side="right") - 1)
        return [int(each) for each in found]


class Stage(ForwardsSamples):
    """The base class of all stages but the first. `origins[s]` gives the rows of source s."""

    def __init__(
        self,
        sources: Sequence[NodeOutput | Stage],
        table: Columns,
        origins: Sequence[RowOrigin],
        opens: Opens,
    ) -> None:
        self._sources = tuple(sources)
        self.columns = table
        self.origins = tuple(origins)
        self.opens = opens

    @property
    def source(self) -> tuple[HasSamples, ...]:
        """Return the sources of the samples."""
        return self._sources

    @property
    def sources(self) -> tuple[NodeOutput | Stage, ...]:
        """Return the sources of the samples, typed with their columns."""
        return self._sources

    def index_to_source(self, key: Key) -> tuple[tuple[SampleIndex, ...], ...]:
        """Return the samples of each source in a sample. Raises: KeyError."""
        row = row_of(self.columns, key)
        return tuple(
            tuple(source.columns.index(each) for each in origin.of(row))
            for source, origin in zip(self._sources, self.origins, strict=True)
        )

    def index_to_target(self, key: Key, source: int = 0) -> tuple[SampleIndex, ...]:
        """Return the samples that a sample of a source goes into. Raises: KeyError."""
        row = row_of(self._sources[source].columns, key)
        return tuple(map(self.columns.index, self.origins[source].reverse(row)))

    def combine_samples(self, key: Key, samples: Sequence[tuple[Sample, ...]]) -> Sample:
        """Combine samples: values one after another, all jobs, the worst state."""
        every = [sample for those in samples for sample in those]
        data = tuple(value for it in every for value in it.data)
        return self.combined(key, every, data)

    def combined(self, key: Key, every: Iterable[Sample], data: Any) -> Sample:
        """Return a sample with this data, with all jobs and the worst state."""
        every = list(every)
        jobs = frozenset(job for it in every for job in it.jobs)
        state = max((it.state for it in every), default=SampleState.VALID)
        row = row_of(self.columns, key)
        return Sample(self.columns.index(row), self.columns.id(row), data, jobs, state)

    def combine_dimensions(
        self, dimensions: Sequence[tuple[Dimension, ...]]
    ) -> tuple[Dimension, ...]:
        """Return the dimensions of the columns, which were already combined from the sources."""
        return self.columns.dimensions

    def __contains__(self, key: object) -> bool:
        """Whether the sample exists."""
        return contains(self.columns, key)

    def __iter__(self) -> Iterator[SampleIndex]:
        """Yield the indexes, in order."""
        return map(self.columns.index, range(self.columns.count))

    @property
    def cards(self) -> int | Codes:
        """Return the cardinality, of all or of each."""
        source, origin = self._sources[0], self.origins[0]
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
