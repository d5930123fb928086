"""The samples of sources outside network.toml: rows of tables, files, directories.

Takes the content read by `core/runs/directories/source_files.py`; gives `SourceRows`. Two samples
that are equal in all dimensions are an error that names both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final, overload

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import count, visible
from rowtui.core.base.values import MISSING, compact, resolve
from rowtui.core.network.definition.load_tables import dimension_fault
from rowtui.core.network.definition.spec import JSON, NODE_KEY, Existing, SourceRows, TableSource
from rowtui.core.network.samples.names import CUT, GREATEST_INTEGER, LEAST_INTEGER, escaped
from rowtui.core.network.samples.sources import (
    SourceError,
    coded,
    first_repeat,
    said_value,
    value_key,
)
from rowtui.core.workflow.toml_file import did_you_mean

# The type of the cells of a CSV column: numbers, true and false, or texts; one type per column.
#
# A column is numeric only if every cell of it is a number, so that one odd cell cannot make samples
# of both 1 and "1". Numbers are those of JSON, and `+1`, `.5` and `1.`; a cell with leading zeros
# (`007`) is text. An empty cell is null in every column.

_INTEGER: Final = re.compile(r"[+-]?(0|[1-9][0-9]*)")
_NUMBER: Final = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_BOOLS: Final = {"true": True, "false": False}


def typed_column(cells: Sequence[str]) -> list[JSON]:
    """Return the typed values of one column's cells."""
    bare = [cell.strip() for cell in cells]
    filled = [cell for cell in bare if cell]
    read = _numbers(filled)
    if read is None and all(cell.lower() in _BOOLS for cell in filled):
        read = [_BOOLS[cell.lower()] for cell in filled]
    if read is None:
        return [cell if cell.strip() else None for cell in cells]
    following = iter(read)
    return [next(following) if cell else None for cell in bare]


def _numbers(cells: Sequence[str]) -> list[JSON] | None:
    """Return all cells as integers, else all as doubles; None if some are neither."""
    if all(map(_INTEGER.fullmatch, cells)):
        # A number with more digits than an integer can have is an identifier, which no double
        # keeps.
        if any(len(cell) > 21 for cell in cells):
            return None
        integers = [int(cell) for cell in cells]
        return integers if all(map(_fits, integers)) else None
    if all(map(_NUMBER.fullmatch, cells)):
        doubles = [float(cell) for cell in cells]
        return doubles if all(map(math.isfinite, doubles)) else None
    return None


def _fits(integer: int) -> bool:
    return LEAST_INTEGER <= integer <= GREATEST_INTEGER


MOST_NOTICES: Final = 20
MISSING_COLUMN: Final = "missing"

# Tables


class MoreOfRows(Sequence[Mapping[str, JSON]]):
    """The further keys of each row, made from columns on request."""

    __slots__ = ("_columns", "_count")

    def __init__(self, columns: Mapping[str, Sequence[Any]], rows: int) -> None:
        """Store columns. A `MISSING` value means that the row does not have the key."""
        self._columns = dict(columns)
        self._count = rows

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Mapping[str, JSON]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Mapping[str, JSON]]: ...
    def __getitem__(self, index: int | slice) -> Mapping[str, JSON] | Sequence[Mapping[str, JSON]]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(self._count))]
        at = range(self._count)[index]
        return {
            name: cells[at] for name, cells in self._columns.items() if cells[at] is not MISSING
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


def rows_from_table(
    source: str,
    data: TableSource,
    header: Sequence[str],
    rows: Sequence[Sequence[Any]],
    lines: Sequence[int],
    *,
    digest: str = "",
) -> SourceRows:
    """Return the samples of a table: `rows` of as many cells as the `header` has names.

    Cells are texts for CSV (typed here, column by column), and for JSON values, or `MISSING` for a
    key that an object does not have. `lines` are the places of the rows for messages: line numbers
    of the CSV, or numbers of the objects in the list. A further column `missing` marks samples
    whose data is known to be absent. All other columns are keys of the samples' value files.
    Raises: SourceError.
    """
    _refuse_header(source, data, header)
    dimensions = data.dimensions or tuple(header[:1])
    if not dimensions:
        raise SourceError(
            source,
            f"{visible(data.path)} is empty, so that its dimensions cannot be derived",
            "name them: `dimensions = [...]`",
        )
    cells = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in header]
    if data.kind == "csv":
        cells = [typed_column(column) for column in cells]
    columns: dict[str, list[Any]] = dict(zip(header, cells, strict=True))

    def place(row: int) -> str:
        at = f":{lines[row]}" if data.kind == "csv" else f": entry {lines[row]}"
        return visible(data.path) + at

    distinct = []
    codes = []
    for name in dimensions:
        column = columns.pop(name, [])
        if MISSING in column:
            raise SourceError(source, f"{place(column.index(MISSING))} has no `{visible(name)}`")
        values, code = coded(column, name, source, place)
        distinct.append(values)
        codes.append(code)
    repeat = first_repeat(codes)
    if repeat is not None:
        names = visible(" and ".join(dimensions))
        raise SourceError(
            source,
            f"{place(repeat[1])} has the same {names} as {_place(data, lines[repeat[0]])}",
            _more_dimensions(dimensions, columns),
        )
    absent = _absent(source, columns.pop(MISSING_COLUMN, ()), place)
    more = MoreOfRows(columns, len(rows)) if columns else ()
    return SourceRows(
        source, dimensions, tuple(distinct), tuple(codes), more, missing=absent, digest=digest
    )


def _place(data: TableSource, line: int) -> str:
    return f"line {line}" if data.kind == "csv" else f"entry {line}"


def _refuse_header(source: str, data: TableSource, header: Sequence[str]) -> None:
    path = visible(data.path)
    what = "column" if data.kind == "csv" else "key"
    seen: set[str] = set()
    for at, name in enumerate(header, start=1):
        fault = dimension_fault(name)
        if fault:
            raise SourceError(source, f"{path}: {what} {at} ('{visible(name)}') {fault}")
        if name in seen:
            raise SourceError(source, f"{path} has two columns '{visible(name)}'")
        seen.add(name)
    for name in data.dimensions:
        if header and name not in seen:
            raise SourceError(
                source,
                f"{path} has no {what} '{visible(name)}'; it has {visible(', '.join(header))}",
                did_you_mean(name, header),
            )


def _more_dimensions(dimensions: Sequence[str], others: Collection[str]) -> str:
    """Return the hint for rows that are equal in their dimensions."""
    further = [name for name in others if name != MISSING_COLUMN][:1]
    if not further:
        return "leave one of them out"
    text = ", ".join(compact(name) for name in (*dimensions, *further))
    return (
        f"if further columns distinguish the samples, name them: `dimensions = [{visible(text)}]`"
    )


def _absent(source: str, cells: Sequence[Any], place: Callable[[int], str]) -> frozenset[int]:
    for row, cell in enumerate(cells):
        if not (cell is None or cell is MISSING or isinstance(cell, bool)):
            raise SourceError(
                source,
                f"{place(row)}: `{MISSING_COLUMN}` is {said_value(cell)}, but can only be true"
                " or false",
                "a dimension of that name has to be listed in `dimensions`",
            )
    return frozenset(row for row, cell in enumerate(cells) if cell is True)


# Files and directories


def rows_from_files(
    source: str, paths: Sequence[str], dimension: str, *, digest: str = ""
) -> SourceRows:
    """Return a sample for each path; the paths are distinct."""
    return SourceRows(source, (dimension,), (tuple(paths),), digest=digest)


def rows_from_directories(
    source: str,
    data: Existing,
    names: Iterable[str],
    values: Iterable[JSON],
) -> tuple[SourceRows, tuple[str, ...]]:
    """Return a sample for each included directory that no network made, and notices.

    `values` are those of the value files, None without one. Directories that lack a dimension are
    left out with a notice. Raises: SourceError: two directories with the same values in all
    dimensions.
    """
    pointers = ["/" + name for name in data.dimensions]
    aside = LeftOutNotices()
    dimensions = data.dimensions or (source,)
    taken: list[str] = []
    columns: list[list[JSON]] = [[] for _ in dimensions]
    for name, value in zip(names, values, strict=True):
        if not is_included(name, data.include) or made_by_network(name, value):
            continue
        try:
            name.encode()
            row = [name] if not pointers else [_dimension(value, it) for it in pointers]
        except UnicodeEncodeError:
            aside.add(f"directory {visible(name)} has a name that is not UTF-8")
        except RowtuiError as error:
            aside.add(f"directory {visible(name)} is set aside: {error.message}")
        else:
            taken.append(name)
            for column, found in zip(columns, row, strict=True):
                column.append(found)
    both = [coded(c, d, source) for c, d in zip(columns, dimensions, strict=True)]
    codes = tuple(codes for _, codes in both)
    repeat = first_repeat(codes)
    if repeat is not None:
        raise SourceError(
            source,
            f"directories {visible(taken[repeat[0]])} and {visible(taken[repeat[1]])} have the same"
            f" {visible(' and '.join(dimensions))}",
            "name more of their keys in `dimensions`, or leave some directories out by `include`",
        )
    distinct = tuple(values for values, _ in both)
    return SourceRows(source, dimensions, distinct, codes, names=tuple(taken)), aside.notices()


def is_included(name: str, include: Sequence[str]) -> bool:
    """Whether one of the patterns matches the name; without patterns, all names match."""
    return not include or any(fnmatchcase(name, pattern) for pattern in include)


def made_by_network(name: str, value: JSON) -> bool:
    """Whether a network made a directory, by its value and its name."""
    home = value.get(NODE_KEY) if isinstance(value, dict) else None
    if not isinstance(home, str):
        return False
    start = escaped(home)
    kept, cut, _ = name.partition(CUT)
    return kept.startswith(start + ",") or (start.startswith(kept) if cut else name == start)


class LeftOutNotices:
    """Notices about entries that were left out: the first few as texts, the others counted."""

    def __init__(self) -> None:
        """Start with no notices."""
        self._said: dict[str, None] = {}
        self._more = 0

    def add(self, notice: str) -> None:
        """Add a notice."""
        if len(self._said) < MOST_NOTICES:
            self._said[notice] = None
        elif notice not in self._said:
            self._more += 1

    def notices(self) -> tuple[str, ...]:
        """Return the notices, with the number of further ones."""
        rest = (f"{count(self._more)} more are set aside",) if self._more else ()
        return (*self._said, *rest)


def _dimension(value: JSON, pointer: str) -> JSON:
    found = resolve(value, pointer)
    if found is MISSING:
        raise RowtuiError(f"its value has no {visible(pointer)}")
    value_key(found)
    return found
