"""The table of `show directories` for very many rows: the same text, laid out with numpy.

A line is a row of bytes: the name is copied from the blob of all names, every other cell from the
few distinct texts of its column. Only texts of printable ASCII without colours are handled;
anything else is left to `listing.py`, which also produces the error messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rowtui.cli.output.table import TextColumn
from rowtui.cli.show.listing import PIECE, Element, begins, is_plain, job_ids, status_with
from rowtui.core.base.lean_numpy import np
from rowtui.core.groups.status import STATUS_OF, status_codes
from rowtui.core.state.directories import StoredDirectories
from rowtui.core.state.model import Directories
from rowtui.core.state.pointer_values import PointerTexts

# Above these numbers of values (absolute, and as a share) that are read one by one, numpy is no
# gain.
FEW = 1000
FEW_SHARE = 1 / 16
# Limit for names of different lengths: each byte of a piece's rows temporarily takes eight more.
LONGEST = 80


class _Cells(NamedTuple):
    """A column: the text `texts[codes[position]]` for each directory; without codes the first."""

    texts: list[str]
    codes: Any = None  # numpy integers


class _Names:
    """All names, as rows of bytes."""

    def __init__(self, cells: Any, offsets: Any) -> None:
        """Set up the names.

        `cells`: the bytes of all names; `offsets`: where each begins, and the end.

        If `cells` are rows already, there are no offsets.
        """
        self._cells = cells
        self._begins = None if offsets is None else offsets[:-1]
        self._lengths = None if offsets is None else np.diff(offsets)

    def longest(self, positions: Any) -> int:
        """Return the length of the longest of these names."""
        if self._lengths is None:
            return int(self._cells.shape[1])
        return int(self._lengths[positions].max(initial=0))

    def take(self, positions: Any) -> Any:
        """Return these names, padded with spaces."""
        if self._begins is None or self._lengths is None:
            return self._cells.take(positions, axis=0)
        column = np.arange(self.longest(positions))
        # A name at the end may be shorter than the longest: the bytes read past its end are
        # replaced.
        rows = self._cells.take(self._begins[positions][:, None] + column, mode="clip")
        rows[column >= self._lengths[positions][:, None]] = ord(" ")
        return rows


class WideRows:
    """The rows of some elements. `widths`: the largest of each column, including headers."""

    def __init__(
        self,
        names: _Names,
        elements: Sequence[Element],
        cells: Sequence[Sequence[_Cells]],
        columns: Sequence[TextColumn],
    ) -> None:
        """Set up the rows. `cells`: the other columns by element."""
        self._names = names
        self._elements = elements
        self._cells = cells
        self._right = [column.right for column in columns[1:]]
        self.widths = [len(column.header) for column in columns]
        for element in elements:
            self.widths[0] = max(self.widths[0], names.longest(_positions(element)))
        for of_element in cells:
            for at, column in enumerate(of_element, 1):
                self.widths[at] = max(self.widths[at], *map(len, column.texts))

    def pieces(self, number: int, *, separate: bool) -> Iterator[str]:
        """Yield the lines of one element, many at once; `separate` adds lines between groups."""
        element, cells = self._elements[number], self._cells[number]
        positions = _positions(element)
        tables, lengths = self._tables(cells)
        size = self.widths[0] + sum(1 + table.shape[1] for table in tables) + 1
        room = np.full((min(PIECE, element.size), size), ord(" "), dtype=np.uint8)
        room[:, -1] = ord("\n")
        for start in range(0, element.size, PIECE):
            here = positions[start : start + PIECE]
            lines = room[: len(here)]
            names = self._names.take(here)
            lines[:, : names.shape[1]] = names
            lines[:, names.shape[1] : self.widths[0]] = ord(" ")
            at = self.widths[0] + 1
            for table, column in zip(tables, cells, strict=True):
                end = at + table.shape[1]
                lines[:, at:end] = (
                    table[0] if column.codes is None else table.take(column.codes[here], axis=0)
                )
                at = end + 1
            cuts = [begin - start for begin in begins(element, start, len(here))] * separate
            if lengths is None:
                text, places = lines.tobytes(), [cut * size for cut in cuts]
            else:  # the last column is not padded
                kept = np.ones(lines.shape, dtype=np.bool_)
                first = size - 1 - tables[-1].shape[1]
                ends = lengths[cells[-1].codes[here]]
                kept[:, first:-1] = np.arange(tables[-1].shape[1]) < ends[:, None]
                text = lines[kept].tobytes()
                all_ends = np.cumsum(ends + (first + 1))
                places = [int(all_ends[cut - 1]) if cut else 0 for cut in cuts]
            yield _with_empty_lines(text, places)

    def _tables(self, cells: Sequence[_Cells]) -> tuple[list[Any], Any]:
        """Return each column's texts as aligned bytes, and the last one's lengths if they differ.

        A left-aligned last column is as wide as its texts, because it is not padded.
        """
        tables = []
        widths = self.widths[1:]
        lengths = None
        if not self._right[-1]:
            ends = np.array([len(text) for text in cells[-1].texts])
            widths[-1] = int(ends.max())
            if cells[-1].codes is not None and ends.min() < widths[-1]:
                lengths = ends
        for column, right, width in zip(cells, self._right, widths, strict=True):
            aligned = "".join(
                text.rjust(width) if right else text.ljust(width) for text in column.texts
            )
            table = np.frombuffer(aligned.encode("ascii"), dtype=np.uint8)
            tables.append(table.reshape(len(column.texts), width))
        return tables, lengths


def wide_rows(
    directories: Directories,
    elements: Sequence[Element],
    pointers: Sequence[PointerTexts],
    columns: Sequence[TextColumn],
    *,
    with_jobs: bool,
) -> WideRows | None:
    """Return the rows, or None if they are not simple (a missing value, an unusual name)."""
    names = _plain_names(directories)
    if names is None or not all(column.header.isascii() for column in columns):
        return None
    cells = []
    for element in elements:
        found = _columns(element, len(directories), pointers, with_jobs=with_jobs)
        if found is None or not all(is_plain("".join(it.texts).encode()) for it in found):
            return None
        cells.append(found)
    return WideRows(names, elements, cells, columns)


def _positions(element: Element) -> Any:
    return np.asarray(element.cut.positions)[: element.size]


def _plain_names(directories: Directories) -> _Names | None:
    if not isinstance(directories, StoredDirectories):
        return None
    table = directories.table
    cells = np.frombuffer(table.blob, dtype=np.uint8)
    if not len(cells) or cells.min() < ord(" ") or cells.max() > ord("~"):
        return None
    if table.width:
        return _Names(cells.reshape(-1, table.width), None)
    offsets = np.asarray(table.offsets)
    return _Names(cells, offsets) if np.diff(offsets).max() <= LONGEST else None


def _columns(
    element: Element, count: int, pointers: Sequence[PointerTexts], *, with_jobs: bool
) -> list[_Cells] | None:
    positions = _positions(element)
    cells = [_statuses(element, count, positions)]
    if with_jobs:
        cells.append(_jobs(element, count, positions))
    for pointer in pointers:
        column = _values(pointer, positions)
        if column is None:
            return None
        cells.append(column)
    return cells


def _values(pointer: PointerTexts, positions: Any) -> _Cells | None:
    if pointer.column is None:
        return None
    codes = np.asarray(pointer.column.codes)
    used = np.flatnonzero(np.bincount(codes[positions]))
    texts = pointer.of_codes(used.tolist())
    unsure = [code for code, text in zip(used.tolist(), texts, strict=True) if text is None]
    column = _few([text or "" for text in texts], used, codes)
    if not unsure:
        return column
    asked = positions[np.isin(codes[positions], unsure)]
    if len(asked) > FEW + len(positions) * FEW_SHARE:
        return None
    answers = pointer.at(asked.tolist())
    if None in answers:
        return None
    first = len(column.texts)
    number: dict[str | None, int] = {}
    wider = column.codes.astype(np.uint32)
    wider[asked] = [number.setdefault(text, first + len(number)) for text in answers]
    return _Cells([*column.texts, *(text or "" for text in number)], wider)


def _few(texts: list[str], used: Any, codes: Any) -> _Cells:
    """Return the texts of the used codes, ascending; the new codes are indices into these texts."""
    if len(used) and len(used) == used[-1] + 1:
        return _Cells(texts, codes)
    narrow = np.zeros(int(codes.max(initial=0)) + 1, dtype=codes.dtype)
    narrow[used] = np.arange(len(used), dtype=codes.dtype)
    return _Cells(texts or [""], narrow[codes])


def _statuses(element: Element, count: int, positions: Any) -> _Cells:
    if element.only:
        return _Cells([element.only.value if element.size else ""])
    codes = np.frombuffer(status_codes(element.row, count), dtype=np.uint8)
    used = np.flatnonzero(np.bincount(codes[positions], minlength=len(STATUS_OF)))
    return _few([status_with(code).value for code in used.tolist()], used, codes)


def _jobs(element: Element, count: int, positions: Any) -> _Cells:
    listed = positions.tolist() if element.submitted else []
    number: dict[str, int] = {"": 0}
    found = [number.setdefault(text, len(number)) for text in job_ids(element, listed)]
    if len(number) == 1:
        return _Cells([""])
    codes = np.zeros(count, dtype=np.uint32)
    codes[positions] = found
    return _Cells(list(number), codes)


def _with_empty_lines(lines: bytes, places: Sequence[int]) -> str:
    """Return the lines with an empty one at each of these ascending places."""
    if not places:
        return lines.decode("ascii")
    view = memoryview(lines)
    ends = [*places, len(lines)]
    parts = [view[begin:end] for begin, end in zip([0, *places], ends, strict=True)]
    return b"\n".join(parts).decode("ascii")
