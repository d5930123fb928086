"""Read tables: the rows of a CSV or JSON file as samples.

Takes the path of a file; gives `SourceRows`. Two samples that are equal in all dimensions are an
error that names both. A row that cannot be used is an error with its file and line, because a
missing sample would change the result.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple, overload

import orjson
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import read_bounded
from rowtui.core.base.text import plural, visible
from rowtui.core.base.values import MISSING, compact
from rowtui.core.network.definition.load_tables import dimension_fault, path_fault
from rowtui.core.network.definition.spec import JSON, SourceRows, TableSource
from rowtui.core.network.samples.domain import coded, first_repeat, said_value
from rowtui.core.network.samples.model import SourceError
from rowtui.core.network.samples.names import GREATEST_INTEGER, LEAST_INTEGER
from rowtui.core.workflow.toml_file import did_you_mean

LARGEST_TABLE: Final = 100_000_000  # bytes; a million rows of a hundred characters
_BOM: Final = b"\xef\xbb\xbf"  # the start of UTF-8 files that Excel writes
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
MISSING_COLUMN: Final = "missing"


class Cells(NamedTuple):
    """A parsed table: each row has as many cells as the header has names."""

    header: list[str]
    rows: list[list[Any]]
    lines: list[int]


def read_table(root: Path, source: str, data: TableSource) -> SourceRows:
    """Return the samples of a CSV or JSON file.

    Raises: SourceError.
    """
    refuse_path(source, data.path)
    try:
        content = read_bounded(root / data.path, LARGEST_TABLE)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SourceError(source, f"cannot read {visible(data.path)}: {reason}") from None
    except RowtuiError as error:
        raise SourceError(source, visible(error.message)) from None
    text = _decoded(source, data.path, content)
    cells = (
        _csv_cells(source, data.path, text)
        if data.kind == "csv"
        else _objects(source, data.path, text)
    )
    digest = sha256(content).hexdigest()
    return rows_from_table(source, data, cells.header, cells.rows, cells.lines, digest=digest)


def refuse_path(source: str, path: str) -> None:
    """Refuse a path outside of the project. Raises: SourceError."""
    fault = path_fault(path, "the project")
    if fault:
        raise SourceError(source, f"the path '{visible(path)}' {fault}")


def _decoded(source: str, path: str, content: bytes) -> str:
    if content.startswith(_UTF_16):
        raise SourceError(
            source, f"{visible(path)} is UTF-16, but should be UTF-8", "save it as UTF-8"
        )
    try:
        return content.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = f"0x{error.object[error.start]:02x}"
        raise SourceError(
            source, f"{visible(path)}:{line}: byte {byte} is not UTF-8", "save it as UTF-8"
        ) from None


def _csv_cells(source: str, path: str, text: str) -> Cells:
    cells = Cells([], [], [])
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=_delimiter(text),
        skipinitialspace=True,
        strict=True,
    )
    before = 0
    try:
        for row in reader:
            line, before = before + 1, reader.line_num
            if not row or (len(row) == 1 and not row[0].strip()):
                continue
            if not cells.header:
                cells.header.extend(cell.strip() for cell in row)
            elif len(row) == len(cells.header):
                cells.rows.append(row)
                cells.lines.append(line)
            else:
                raise SourceError(
                    source,
                    f"{visible(path)}:{line}: {plural(len(row), 'cell')},"
                    f" but {plural(len(cells.header), 'column')}",
                    "cells that hold the delimiter need double quotes",
                )
    except csv.Error as error:
        raise SourceError(source, f"{visible(path)}:{before + 1}: {error}") from None
    if not cells.header:
        raise SourceError(
            source, f"{visible(path)} is empty", "its first line should name the columns"
        )
    return cells


def _delimiter(text: str) -> str:
    """Return the most frequent delimiter, outside quotes, of the first line that is not blank."""
    first = next((line for line in io.StringIO(text) if line.strip()), "")
    bare = "".join(first.split('"')[::2])
    return max(",\t;", key=bare.count)


def _objects(source: str, path: str, text: str) -> Cells:
    try:
        entries = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise SourceError(
            source, f"{visible(path)}:{error.lineno}:{error.colno}: {error.msg}"
        ) from None
    if not isinstance(entries, list):
        raise SourceError(source, f"{visible(path)} should be a list of objects")
    header: dict[str, None] = {}
    for at, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict):
            raise SourceError(source, f"{visible(path)}: entry {at} is no object")
        header.update(dict.fromkeys(entry))
    rows = [[entry.get(name, MISSING) for name in header] for entry in entries]
    return Cells(list(header), rows, list(range(1, len(rows) + 1)))


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
