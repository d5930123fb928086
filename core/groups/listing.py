"""Filter and sort the rows of a very long list, on whole columns.

The input is columns (a few different values and a code for each row), names as one blob and the
pointers of values; the output is the matching rows, as an array, in the requested order. A term is
evaluated once for each different value, and names are searched in their blob, so that no object is
made for each row. The result agrees with `filter.row_matches` for each row.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.filter import CONTAINS, EQUALS, PATTERN, FilterError, RowFilter, Term, holds
from rowtui.core.base.lazy import np, orjson
from rowtui.core.base.values import MISSING, JsonKind, kind_of, resolve
from rowtui.core.state.columns import RankColumn, rank_values
from rowtui.core.state.directories import StoredDirectories
from rowtui.core.state.model import Directories, DirectorySet
from rowtui.core.state.names import NameTable

NAME: Final = "name"  # the column that is searched in the blob
SLICE: Final = 20_000  # values processed between two calls of `go_on`
FEW: Final = 2_000  # so few names are read one by one


class Superseded(RowtuiError):
    """A newer filter or sort replaced this one."""

    def __init__(self) -> None:
        super().__init__("a newer question was asked")


class Coded(NamedTuple):
    """A column of few different values: `codes[row]` is an index into `values`.

    `said`: terms without a field search it too. `ranked`: the codes ascend as the values do.
    """

    codes: Any  # numpy integers
    values: Sequence[Any]
    said: bool = False
    ranked: bool = False


class Rows(NamedTuple):
    """The rows of a list, in its own order.

    `positions`: the directory of each row, which gives its name and value; `name`: the name of the
    column of names. `go_on`: False ends the work with `Superseded`.
    """

    directories: Directories
    positions: Any  # numpy, unsigned
    columns: Mapping[str, Coded]
    name: str = NAME
    go_on: Callable[[], bool] = lambda: True

    def check(self) -> None:
        """Check whether to continue. Raises: Superseded."""
        if not self.go_on():
            raise Superseded


def chosen_rows(rows: Rows, wanted: RowFilter) -> Any:
    """Return the indices of the matching rows, ascending. Raises: FilterError, Superseded."""
    chosen = np.ones(len(rows.positions), dtype=np.bool_)
    for term in wanted.terms:
        rows.check()
        chosen &= _fits(rows, term) != term.negated
    return np.flatnonzero(chosen).astype(np.uint32)


def sorted_rows(rows: Rows, chosen: Any, column: str, descending: bool) -> Any:
    """Return the chosen rows sorted by a column or pointer.

    Equal rows keep their order, and rows without a value come last. Raises: FilterError,
    Superseded.
    """
    if column == rows.name:
        keys, last = rows.positions[chosen].astype(np.int64), -1
    elif column in rows.columns:
        keys, last = _ranks(rows.columns[column])[rows.columns[column].codes[chosen]], -1
    elif column.startswith("/"):
        ranked = pointer_column(rows, column)
        keys, last = (
            numbers_of(ranked.codes)[rows.positions[chosen]].astype(np.int64),
            ranked.missing,
        )
    else:
        raise FilterError(f"this list cannot be sorted by '{column}'")
    if descending:
        absent = keys == last
        keys = -keys
        keys[absent] = 1
    return chosen[np.argsort(keys, kind="stable")]


def _ranks(column: Coded) -> Any:
    """Return for each code the rank of its value among the values."""
    ranks = np.arange(len(column.values))
    if not column.ranked:
        order = sorted(range(len(ranks)), key=lambda code: _sort_key(column.values[code]))
        ranks[order] = np.arange(len(ranks))
    return ranks


def _sort_key(value: Any) -> tuple[int, Any]:
    kind = kind_of(value)
    if kind is JsonKind.STRING:
        return kind, value.lower()
    return kind, value if kind is JsonKind.NUMBER else str(value)


def pointer_column(rows: Rows, pointer: str) -> RankColumn:
    """Return a pointer's column: stored, or read from all values.

    Raises: FilterError, Superseded.
    """
    directories = rows.directories
    if not isinstance(directories, StoredDirectories):
        return directories.column(pointer)
    known = directories.known_column(pointer)
    if known is None:
        found = []
        for at, raw in enumerate(directories.raw_values()):
            if not at % SLICE:
                rows.check()
            found.append(MISSING if raw is None else resolve(orjson.loads(raw), pointer))
        known = directories.keep_column(rank_values(pointer, found))
    if not known.distinct:
        raise FilterError(f"no directory has a value at '{pointer}'")
    return known


def codes_of_pointer(rows: Rows, pointer: str) -> tuple[Any, int]:
    """Return the rank of each row's value at a pointer, and the number of ranks."""
    column = pointer_column(rows, pointer)
    return numbers_of(column.codes)[rows.positions].astype(np.int64), column.missing + 1


def members_of(members: DirectorySet) -> Any:
    """Return the positions in a set, ascending."""
    cells = members.to_bytes((members.bit_length() + 7) >> 3, "little")
    bits = np.unpackbits(np.frombuffer(cells, dtype=np.uint8), bitorder="little")
    return np.flatnonzero(bits).astype(np.uint32)


def first_of(listed: Any, begins: Sequence[int], position: int) -> int | None:
    """Return the index of the group that begins with a position, or None."""
    found = np.flatnonzero(numbers_of(listed)[numbers_of(begins)[:-1]] == position)
    return int(found[0]) if len(found) else None


def numbers_of(numbers: Sequence[int]) -> Any:
    """Return packed numbers as an array without copying them."""
    if isinstance(numbers, array):
        return np.frombuffer(numbers, dtype=f"u{numbers.itemsize}")
    return np.asarray(numbers)


# Terms


def _fits(rows: Rows, term: Term) -> Any:
    """Return a flag for each row, without applying the negation."""
    if not term.field:
        found = _names_that_fit(rows, term)
        for column in rows.columns.values():
            if column.said:
                found |= _coded(column, term)
        return found
    if term.field == rows.name:
        return _names_that_fit(rows, term)
    if term.field in rows.columns:
        return _coded(rows.columns[term.field], term)
    ranked = pointer_column(rows, term.field)
    verdicts = _verdicts(ranked, term, rows)
    return verdicts[numbers_of(ranked.codes)[rows.positions]]


def _coded(column: Coded, term: Term) -> Any:
    verdicts = np.fromiter(
        (holds(term, value) for value in column.values), np.bool_, len(column.values)
    )
    return verdicts[column.codes]


def _verdicts(column: RankColumn, term: Term, rows: Rows) -> Any:
    """Return whether the term holds for each code of a ranked column, the missing one last."""
    distinct = column.distinct
    found = np.zeros(len(distinct) + 1, dtype=np.bool_)
    found[-1] = holds(term, MISSING)
    first = bisect_left(distinct, JsonKind.NUMBER, key=kind_of)
    end = bisect_right(distinct, JsonKind.NUMBER, key=kind_of)
    by_number = term.number is not None and term.operator not in (CONTAINS, PATTERN)
    one_by_one = list(range(first)) + list(range(end, len(distinct)))
    if by_number:
        assert term.number is not None
        low = bisect_left(distinct, term.number, first, end)
        high = bisect_right(distinct, term.number, low, end)
        begin, stop = {
            "<": (first, low), "<=": (first, high), EQUALS: (low, high),
            ">=": (low, end), ">": (high, end),
        }[term.operator]  # fmt: skip
        found[begin:stop] = True
    elif term.operator != EQUALS:  # a number never equals this text
        one_by_one += range(first, end)
    for count, code in enumerate(one_by_one):
        if not count % SLICE:
            rows.check()
        found[code] = holds(term, distinct[code])
    return found


# Names


def _names_that_fit(rows: Rows, term: Term) -> Any:
    positions = rows.positions
    table = getattr(rows.directories, "table", None)
    plain = term.operator in (CONTAINS, EQUALS) and term.text.isascii()
    if plain and len(positions) > FEW and isinstance(table, NameTable):
        blob = bytes(table.blob)
        if blob.isascii():
            return _in_blob(table, blob, term)[positions]
    found = np.zeros(len(positions), dtype=np.bool_)
    for begin, names in _slices(rows, table):
        found[begin : begin + len(names)] = [holds(term, name) for name in names]
    return found


def _slices(rows: Rows, table: NameTable | None) -> Iterator[tuple[int, list[str]]]:
    name = rows.directories.name
    for begin in range(0, len(rows.positions), SLICE):
        rows.check()
        part = rows.positions[begin : begin + SLICE].tolist()
        if table is None:
            yield begin, [name(position) for position in part]
        else:
            yield begin, [os.fsdecode(table[position]) for position in part]


def _in_blob(table: NameTable, blob: bytes, term: Term) -> Any:
    """Return for each directory whether its name contains, or equals, the text of the term."""
    count = len(table)
    word = term.text.encode()
    if term.folds:
        blob = blob.lower()
    cells = np.frombuffer(blob, dtype=np.uint8)
    offsets = np.asarray(table.offsets).astype(np.int64)
    if not word:
        every = np.ones(count, dtype=np.bool_)
        return every if term.operator == CONTAINS else offsets[1:] == offsets[:-1]
    found = np.zeros(count, dtype=np.bool_)
    room = len(cells) - len(word) + 1
    if room <= 0:
        return found
    at = np.flatnonzero(cells[:room] == word[0])
    for step, cell in enumerate(word[1:], 1):
        at = at[cells[at + step] == cell]
    if table.width:
        owner = at // table.width
    else:
        owner = np.searchsorted(offsets, at, side="right") - 1
    inside = at + len(word) <= offsets[owner + 1]
    if term.operator == EQUALS:
        inside &= (at == offsets[owner]) & (at + len(word) == offsets[owner + 1])
    found[owner[inside]] = True
    return found
