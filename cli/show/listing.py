"""The table of `show directories`, by columns: a million rows take seconds and little memory.

The input is the groups of each action element, cut but not formed; the result is the text in large
pieces. Every status and every distinct value is laid out once; cli/output/output.py defines the
layout.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import repeat
from typing import NamedTuple

from rowtui.cli.output.output import Output, TextColumn, display_width, table_lines
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.groups.form import GroupCut
from rowtui.core.groups.model import ActionStatus, Status
from rowtui.core.groups.status import STATUS_OF, status_codes
from rowtui.core.state.directories import StoredDirectories
from rowtui.core.state.model import Directories, Submitted
from rowtui.core.state.pointer_values import PointerTexts

STYLES = {
    Status.COMPLETED: "green italic",
    Status.SUBMITTED: "yellow italic",
    Status.FAILED: "red italic",
    Status.NOT_REACHED: "yellow italic",
    Status.CANCELLED: "yellow italic",
    Status.ELIGIBLE: "blue italic",
    Status.WAITING: "cyan dim italic",
}
PIECE = 1 << 16  # rows that are laid out at once
# From this share of names on, decoding all names at once is cheaper; the second value is for names
# of one length.
ALL_NAMES_FROM = 1 / 8
ALL_OF_ONE_LENGTH_FROM = 1 / 64


class Element(NamedTuple):
    """One action element: its groups, how many of them are shown, and its records.

    `only`: the common status of all shown directories, if known.
    """

    cut: GroupCut
    shown: int
    row: ActionStatus
    submitted: Mapping[int, Submitted]
    only: Status | None = None

    @property
    def size(self) -> int:
        """Return how many directories are shown."""
        return self.cut.begins[self.shown]

    def names(self, directories: Directories) -> Iterator[list[str]]:
        """Yield the names of the shown directories, many at once."""
        names = _Names(directories, self.size)
        for positions in _positions(self):
            yield names.at(positions)


class DirectoryTable:
    """The table of some elements. `pointers`: a column of values for each."""

    def __init__(
        self,
        directories: Directories,
        elements: Sequence[Element],
        pointers: Sequence[str],
        *,
        with_jobs: bool,
        separate: bool,
    ) -> None:
        self._directories = directories
        self._elements = elements
        self._pointers = pointers
        self._texts = PointerTexts(directories, pointers)
        self._with_jobs = with_jobs
        self._separate = separate
        self._known_codes: dict[int, bytes] = {}

    @cached_property
    def _names(self) -> _Names:
        return _Names(self._directories, sum(element.size for element in self._elements))

    def write(self, out: Output, *, header: bool) -> None:
        """Print the table. Raises: RowtuiError, before any output, for a missing value."""
        columns = [TextColumn("Directory", style="bold"), TextColumn("Status")]
        if self._with_jobs:
            columns.append(TextColumn("Job ID"))
        columns += [
            TextColumn(visible(pointer), right=True, right_header=False)
            for pointer in self._pointers
        ]
        widths = self._widths(columns)
        if header:
            # A row that is thrown away passes the widths to the header.
            out.lines(table_lines(columns, [["x" * width for width in widths]], out)[:1])
        for number, element in enumerate(self._elements):
            last = number == len(self._elements) - 1
            for piece in self._pieces(element, widths, out):
                out.write(piece)
            out.write(self._ending(element, last=last))

    def _ending(self, element: Element, *, last: bool) -> str:
        """Return the separators: an empty line after each group but the last of an element, and
        after each element but the last.

        As in Row, an empty line also follows the last group of a list that -n shortened.
        """
        cut_short = self._separate and 0 < element.shown < len(element.cut)
        return "\n" * (cut_short + (not last))

    def _widths(self, columns: Sequence[TextColumn]) -> list[int]:
        """Return the largest width of each column, over all elements."""
        widths = [display_width(column.header) for column in columns]

        def widen(at: int, texts: Sequence[str]) -> None:
            widths[at] = max(widths[at], _widest(texts))

        widths[0] = max(widths[0], self._names.width)
        for element in self._elements:
            codes = self._codes(element)
            for positions in _positions(element):
                if not self._names.width:
                    widen(0, self._names.at(positions))
                if element.only:
                    widen(1, [element.only.value])
                else:
                    found = set(map(codes.__getitem__, positions))
                    widen(1, [_status_with(code).value for code in found])
                if self._with_jobs and element.submitted:
                    widen(2, _job_ids(element, positions))
                values = self._texts.at(positions)
                self._refuse_missing(values, positions)
                for at, texts in enumerate(values, len(columns) - len(values)):
                    widen(at, _shown(list({text for text in texts if text is not None})))
        return widths

    def _codes(self, element: Element) -> bytes:
        """Return the status of every directory, once for each element, only if statuses differ."""
        if element.only:
            return b""
        codes = self._known_codes.get(id(element))
        if codes is None:
            codes = status_codes(element.row, len(self._directories))
            self._known_codes[id(element)] = codes
        return codes

    def _refuse_missing(
        self, values: Sequence[Sequence[str | None]], positions: Sequence[int]
    ) -> None:
        """Raise an error for the first directory that lacks a value, as in Row."""
        faults = [(texts.index(None), at) for at, texts in enumerate(values) if None in texts]
        if faults:
            row, at = min(faults)
            name = self._directories.name(positions[row])
            raise RowtuiError(
                f"the value of directory '{name}' does not contain the JSON pointer"
                f" '{self._pointers[at]}'",
                "pointers start with / and name keys of value files, as in /temperature",
            )

    def _pieces(self, element: Element, widths: Sequence[int], out: Output) -> Iterator[str]:
        """Yield the lines of one element, many at once."""
        codes = self._codes(element)
        start = 0
        for positions in _positions(element):
            names, *others = self._cells(element, codes, positions, widths, out)
            ending = "\n"
            while others and isinstance(others[-1], str):
                ending = f" {others.pop()}{ending}"
            texts = [repeat(text) if isinstance(text, str) else text for text in others]
            lines = list(map(" ".join, zip(names, *texts))) if texts else list(names)  # noqa: B905
            if self._separate:
                for begin in _begins(element, start, len(lines)):
                    lines[begin - start] = "\n" + lines[begin - start]
            start += len(lines)
            lines.append("")
            yield ending.join(lines)

    def _cells(
        self,
        element: Element,
        codes: bytes,
        positions: Sequence[int],
        widths: Sequence[int],
        out: Output,
    ) -> list[Sequence[str] | str]:
        """Return the columns except the names; a single text for a column of equal rows."""
        count = len(widths)  # the last column is not padded to the right
        names = self._names.at(positions)
        if not self._names.width:
            names = _shown(names)
        if self._names.width != widths[0] or out.color:
            names = _padded(names, widths[0], "bold", out)
        statuses = [
            out.style(status.value, STYLES[status])
            + " " * (count > 2) * (widths[1] - len(status.value))
            for status in map(_status_with, range(1, len(STATUS_OF)))
        ]
        columns: list[Sequence[str] | str] = [names]
        if element.only:
            columns.append(statuses[STATUS_OF.index(element.only) - 1])
        else:
            columns.append([statuses[codes[position] - 1] for position in positions])
        if self._with_jobs and not element.submitted:
            columns.append(" " * widths[2] * (count > 3))
        elif self._with_jobs:
            ids = _shown(_job_ids(element, positions))
            columns.append(_padded(ids, widths[2], "", out) if count > 3 else ids)
        values = self._texts.at(positions)
        for texts, width in zip(values, widths[len(columns) :], strict=True):
            columns.append(_aligned_right(_shown([text or "" for text in texts]), width))
        return columns


class _Names:
    """Names of many directories, all decoded at once if most of them are shown.

    `width`: that of every name, if all are plain and of one length; else 0.
    """

    def __init__(self, directories: Directories, shown: int) -> None:
        self.width = 0
        table = directories.table if isinstance(directories, StoredDirectories) else None
        if table and table.width and shown >= ALL_OF_ONE_LENGTH_FROM * len(directories):
            blob = table.blob
            pieces = (bytes(blob[at : at + PIECE]) for at in range(0, len(blob), PIECE))
            if all(map(_is_plain, pieces)):
                self.width = table.width
                self._text = str(blob, "ascii")
                return
        many = shown >= ALL_NAMES_FROM * len(directories)
        self._get = directories.names().__getitem__ if many else directories.name

    def at(self, positions: Sequence[int]) -> list[str]:
        if width := self.width:
            text = self._text
            return [text[position * width : (position + 1) * width] for position in positions]
        return list(map(self._get, positions))


def _positions(element: Element) -> Iterator[list[int]]:
    for start in range(0, element.size, PIECE):
        yield element.cut.positions[start : min(start + PIECE, element.size)].tolist()


def _begins(element: Element, start: int, length: int) -> Iterator[int]:
    """Yield where groups begin among these rows, except the element's first group."""
    begins = element.cut.begins
    at = max(1, bisect_left(begins, start))
    while at < element.shown and begins[at] < start + length:
        yield begins[at]
        at += 1


def _status_with(code: int) -> Status:
    status = STATUS_OF[code]
    assert status is not None  # the action includes every directory of a group
    return status


def _job_ids(element: Element, positions: Sequence[int]) -> list[str]:
    submitted = element.submitted
    if not submitted:
        return [""] * len(positions)
    jobs = map(submitted.get, positions)
    return [f"{job.cluster}/{job.job_id}" if job and job.job_id else "" for job in jobs]


def _shown(texts: list[str]) -> list[str]:
    """Apply `visible` to many texts."""
    together = "".join(texts)
    if together.isascii() and _is_plain(together.encode()):
        return texts
    return list(map(visible, texts))


def _is_plain(text: bytes) -> bool:
    """Whether the text is printable ASCII; ten times as fast as `isprintable`."""
    return not text.translate(None, _PRINTABLE)


_PRINTABLE = bytes(range(32, 127))


def _widest(texts: Sequence[str]) -> int:
    texts = _shown(list(texts))
    if "".join(texts).isascii():
        return max(map(len, texts), default=0)
    return max(map(display_width, texts), default=0)


def _padded(texts: Sequence[str], width: int, style: str, out: Output) -> list[str]:
    if out.color and style:
        begin, end = out.style("\0", style).split("\0")
        return [f"{begin}{text}{end}{' ' * (width - display_width(text))}" for text in texts]
    if "".join(texts).isascii():
        return list(map(str.ljust, texts, repeat(width)))
    return [text + " " * (width - display_width(text)) for text in texts]


def _aligned_right(texts: Sequence[str], width: int) -> list[str]:
    if "".join(texts).isascii():
        return list(map(str.rjust, texts, repeat(width)))
    return [" " * (width - display_width(text)) + text for text in texts]
