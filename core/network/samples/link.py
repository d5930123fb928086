"""Links forward samples, and convert dimensions to cardinality and back.

Source: Fastr's documentation, "Sample flow": SubOutput, Link, SubInput.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rowtui.core.base.lazy import np
from rowtui.core.network.samples.columns import (
    Codes,
    Columns,
    Rows,
    columns,
    group,
    ranges,
    refuse_too_many,
)
from rowtui.core.network.samples.domain import Domain
from rowtui.core.network.samples.model import COLLAPSED, DimensionError, dimensions_text
from rowtui.core.network.samples.output import UNKNOWN, Entries, NodeOutput, Opens, counted
from rowtui.core.network.samples.stage import RowOrigin, Stage


class SubOutput(Stage):
    """A selection in the cardinality; the samples are the same."""

    def __init__(self, output: NodeOutput, start: int, stop: int | None) -> None:
        """Select as a slice does."""
        super().__init__([output], output.columns, [RowOrigin()], output.opens)
        self.slice = slice(start, stop)

    @property
    def cards(self) -> int | Codes:
        """Return how many values are selected."""
        cards = self.sources[0].cards
        if isinstance(cards, int):
            return UNKNOWN if cards == UNKNOWN else len(range(cards)[self.slice])
        numbers = self._selected(np.maximum(cards, 0).astype(np.int64))[1]
        return np.where(cards == UNKNOWN, UNKNOWN, numbers).astype(np.int32)

    def entries(self, dimension: str) -> Entries:
        """Return the selected entries of the lists."""
        output = self.sources[0]
        assert isinstance(output, NodeOutput)
        every = output.entries(dimension)
        begin, numbers = self._selected(np.diff(every.starts))
        starts = np.concatenate(([0], np.cumsum(numbers))).astype(np.int64)
        return Entries(
            every.domain, starts, every.codes[ranges(every.starts[:-1] + begin, numbers)]
        )

    def first_places(self) -> Rows:
        """Return the start of the selection in each sample's list; 0 where it is not known yet."""
        output = self.sources[0]
        cards = counted(output.cards, output.columns.count)
        return self._selected(np.maximum(cards, 0).astype(np.int64))[0]

    def _selected(self, lengths: Rows) -> tuple[Rows, Rows]:
        """Return the start and the length of the selection in lists of these lengths."""
        begin = _bound(self.slice.start or 0, lengths)
        end = lengths if self.slice.stop is None else _bound(self.slice.stop, lengths)
        return begin, np.maximum(end - begin, 0)


def _bound(at: int, lengths: Rows) -> Rows:
    return np.minimum(at, lengths) if at >= 0 else np.maximum(lengths + at, 0)


class LinkStage(Stage):
    """Forwards samples, and may convert dimensions to cardinality and cardinality to a dimension.

    First each value of a sample becomes a sample (expand, the new dimension last), then samples
    that are equal in all other dimensions become one (collapse): together, these steps transpose
    samples and cardinality. `places` is the place of each member in its source's cardinality (None:
    all of it).
    """

    def __init__(
        self,
        source: NodeOutput | SubOutput,
        collapse: Sequence[str | int] = (),
        expand: str = "",
        target: str = COLLAPSED,
    ) -> None:
        """Create a link.

        `target`: the receiving node, which names the dimension after everything was collapsed (with
        "" there is no dimension then). Raises: DimensionError.
        """
        dropped = _dropped(source.columns, collapse)
        made = _LinkColumns(source.columns, RowOrigin(), source.opens)
        if expand:
            made = _expanded(source, expand)
        if dropped:
            made = _collapsed(made, dropped, target)
        super().__init__([source], made.columns, [made.origin], made.opens)
        self.places = made.places
        self.collapsed = bool(dropped)
        self.expanded = expand

    @property
    def cards(self) -> int | Codes:
        """Return the sum of the members' cardinalities; samples that were values count one each."""
        origin = self.origins[0]
        if self.places is None and origin.starts is None:
            return super().cards
        if origin.starts is None:
            return 1
        members = np.diff(origin.starts)
        if self.places is not None:
            return members.astype(np.int32)
        assert origin.rows is not None
        of_each = counted(self.sources[0].cards, self.sources[0].columns.count)[origin.rows]
        sums = np.add.reduceat(np.append(of_each, 0), origin.starts[:-1])
        unknown = np.add.reduceat(np.append(of_each == UNKNOWN, False), origin.starts[:-1])
        return np.where(unknown > 0, UNKNOWN, sums).astype(np.int32)


class _LinkColumns(NamedTuple):
    """The samples of a link under construction."""

    columns: Columns
    origin: RowOrigin
    opens: Opens
    places: Rows | None = None


class SubInput(Stage):
    """One of the links into an input, unchanged."""

    def __init__(self, link: LinkStage) -> None:
        super().__init__([link], link.columns, [RowOrigin()], link.opens)


def _dropped(table: Columns, collapse: Sequence[str | int]) -> tuple[int, ...]:
    names = table.names
    found = []
    for wanted in collapse:
        if isinstance(wanted, int) and -len(names) <= wanted < len(names):
            found.append(wanted % len(names))
        elif isinstance(wanted, str) and names.count(wanted) == 1:
            found.append(names.index(wanted))
        else:
            have = dimensions_text(table.dimensions)
            raise DimensionError(f"'{wanted}' cannot be collapsed: the samples are [{have}]")
    return tuple(dict.fromkeys(found))


def _expanded(source: NodeOutput | SubOutput, name: str) -> _LinkColumns:
    table, had = source.columns, source.opens
    if name in table.names:
        raise DimensionError(f"there is a dimension '{name}' already, so nothing can become it")
    if table.axes and table.is_single:  # all samples are those of one list
        table = Columns((), (), table.count, (*table.prefix, table.axes[0].label(0)))
        had = Opens((), had.owners, had.rows)
    cards = counted(source.cards, table.count)
    entries = source.entries(name)
    known = np.where(cards == UNKNOWN, 0, np.diff(entries.starts))
    refuse_too_many(int(known.sum()))
    rows: Rows = np.repeat(np.arange(table.count, dtype=np.int64), known)
    places = ranges(np.zeros(table.count, dtype=np.int64), known)
    codes = [column[rows] for column in table.codes]
    made, moved = columns(
        (*table.axes, entries.domain),
        [*codes, entries.codes[ranges(entries.starts[:-1], known)]],
        prefix=table.prefix,
    )
    if moved is not None:
        rows, places = rows[moved], places[moved]
    new = np.flatnonzero(cards == UNKNOWN)
    owner = source.owner if isinstance(source, NodeOutput) else _output(source).owner
    parts = [
        np.concatenate((before, column[new]))
        for before, column in zip(had.codes, table.codes, strict=True)
    ]
    opens = Opens(
        (*parts, np.full(had.number + len(new), UNKNOWN, dtype=np.int32)),
        np.concatenate((had.owners, np.full(len(new), owner, dtype=np.int64))),
        np.concatenate((had.rows, new)),
    )
    return _LinkColumns(made, RowOrigin(rows), opens, places)


def _output(stage: SubOutput) -> NodeOutput:
    (output,) = stage.sources
    assert isinstance(output, NodeOutput)
    return output


def _collapsed(flow: _LinkColumns, dropped: Sequence[int], target: str) -> _LinkColumns:
    table, origin, opens, places = flow
    kept = [at for at in range(len(table.axes)) if at not in dropped]
    found = group(table, kept)
    axes = [table.axes[at] for at in kept]
    codes = [table.codes[at][found.first] for at in kept]
    count = len(found.first)
    prefix = table.prefix
    left = tuple(opens.codes[at] for at in kept)
    if not kept:
        prefix = ()
        if target:
            axes = [Domain(target, (COLLAPSED,))]
            codes = [np.zeros(count, dtype=np.int32)]
            left = (np.zeros(opens.number, dtype=np.int32),)
    elif places is not None and len(kept) == 1:
        prefix = (COLLAPSED,)  # Fastr's id of a sample that is only a list's position
    made = Columns(tuple(axes), tuple(codes), count, prefix, unnamed=bool(axes) and not kept)
    rows = found.members if origin.rows is None else origin.rows[found.members]
    if places is not None:
        places = places[found.members]
    return _LinkColumns(
        made, RowOrigin(rows, found.starts), Opens(left, opens.owners, opens.rows), places
    )
