"""The directories of a workspace from the cache: names, values, stamps, reasons and columns.

The input is a `dirs.<...>.rtc` container and the value files that it names; the result implements
the `Directories` protocol. Files are opened on first use: the status of a million directories needs
only their number. Source: docs/background/state.md; formats in docs/formats.md.
"""

from __future__ import annotations

import json
import mmap
import os
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal, NamedTuple

from rowtui.core.base.lazy import orjson
from rowtui.core.base.values import MISSING, resolve
from rowtui.core.state.columns import RankColumn, rank_values
from rowtui.core.state.container import Container, CorruptCacheError
from rowtui.core.state.model import DirectorySet, bit_set, positions
from rowtui.core.state.names import NameTable, flags
from rowtui.core.state.row.postcard import is_utf8

NO_VALUE = 0xFFFFFFFF  # in value_size: a bad directory, or no value file
Stamp = tuple[int, int]  # (mtime_ns, size) of a value file; (0, 0) if there is none


class Segment(NamedTuple):
    """A file of concatenated raw values; it is never changed once it is written."""

    file: str
    size: int


def as_segments(stored: Iterable[Sequence[Any]]) -> tuple[Segment, ...]:
    """Return segments from JSON."""
    return tuple(Segment(str(file), int(size)) for file, size in stored)


class StoredDirectories:
    """A `Directories` (see model.py) over an immutable cache file.

    `file` names the cache file; `pointers` are the pointers whose columns are stored.
    """

    def __init__(
        self,
        file: str,
        count: int,
        bad_set: DirectorySet,
        pointers: Sequence[str],
        *,
        folder: Path | None = None,
        packed: bytes = b"",
        unwritten: Mapping[str, bytes] | None = None,
        nameless_set: DirectorySet | None = None,
        segments: Sequence[Segment] | None = None,
    ) -> None:
        """Set up the directories. Files are in `folder`, except `packed` and segments in memory.

        `packed` is the cache file's content. `nameless_set` and `segments` make it unnecessary to
        open the cache file for these values.
        """
        self.file = file
        self.bad_set = bad_set
        self.pointers = tuple(pointers)
        self.folder = folder
        self.packed = packed
        self.unwritten = dict(unwritten or {})
        self._count = count
        self._container: Container | None = None
        self._names: NameTable | None = None
        self._all: list[str] | None = None
        self._nameless = nameless_set
        self._known_segments = None if segments is None else tuple(segments)
        self._segments: dict[str, memoryview] = {}
        self._layout: tuple[tuple[Segment, ...], list[int]] | None = None
        self._columns: dict[str, RankColumn] = {}
        self._views: dict[str, memoryview] = {}

    def __len__(self) -> int:
        """Return the number of directories, including bad ones."""
        return self._count

    def __repr__(self) -> str:
        """Return a short text without the names, because there may be a million."""
        return f"<StoredDirectories {self.file}: {self._count}>"

    @property
    def bad(self) -> Mapping[int, str]:
        """Return the directories that are set aside, with the reasons."""
        return _Bad(self)

    @property
    def table(self) -> NameTable:
        """Return the sorted names as bytes."""
        if self._names is None:
            container = self.container
            offsets = container.section("offsets").cast("I")
            blob = container.section("names")
            if len(offsets) != self._count + 1 or offsets[-1] != len(blob):
                raise self._corrupt("its names do not add up")
            self._names = NameTable(blob, offsets, int(container.meta["width"]))
        return self._names

    def name(self, position: int) -> str:
        """Return the name in the form of os.fsdecode."""
        if self._all is not None:
            return self._all[position]
        return os.fsdecode(self.table[range(self._count)[position]])

    def names(self) -> Sequence[str]:
        """Return all names in order."""
        if self._all is None:
            self._all = self.table.texts()
        return self._all

    def position(self, name: str) -> int | None:
        """Return the position of a name, or None."""
        try:
            return self.table.position(os.fsencode(name))
        # a surrogate that stands for no byte: no directory has this name
        except UnicodeEncodeError:
            return None

    def value(self, position: int) -> Any:
        """Return the directory's JSON value; None without a value file, and for a bad directory."""
        raw = self.raw_value(position)
        if raw is None:
            return None
        return orjson.loads(raw)

    def raw_value(self, position: int) -> bytes | None:
        """Return the value as compact JSON; None without a value file, and for a bad directory."""
        size = self.value_sizes[position]
        return None if size == NO_VALUE else self.raw_at(self.value_starts[position], size)

    def json_at(self, positions: Iterable[int]) -> list[bytes | memoryview]:
        """Return the values of some directories as compact JSON; `null` for `raw_value` None."""
        return [b"null" if raw is None else raw for raw in self._cells_at(positions)]

    def _cells_at(self, positions: Iterable[int]) -> Iterator[bytes | memoryview | None]:
        starts, sizes, segments = self.value_starts, self.value_sizes, self.segments
        if len(segments) != 1:
            yield from map(self.raw_value, positions)
            return
        data, end = self._segment(segments[0]), segments[0].size
        for position in positions:
            start, size = starts[position], sizes[position]
            if size == NO_VALUE:
                yield None
            elif start + size > end:
                raise self._corrupt("a value lies outside its files")
            else:
                yield data[start : start + size]

    def cells_with(
        self, fresh: bytes, starts: Sequence[int], sizes: Sequence[int]
    ) -> list[memoryview]:
        """Return the values at these offsets of all segments followed by `fresh`."""
        whole = memoryview(b"".join([*map(self._segment, self.segments), fresh]))
        cells = [
            whole[start : start + size]
            for start, size in zip(starts, sizes, strict=True)
            if size != NO_VALUE
        ]
        if sum(map(len, cells)) != sum(size for size in sizes if size != NO_VALUE):
            raise self._corrupt("a value lies outside its files")
        return cells

    def raw_values(self) -> Iterator[bytes | None]:
        """Yield `raw_value` of every directory in order."""
        return (cell if cell is None else bytes(cell) for cell in self._cells_at(range(len(self))))

    @property
    def files(self) -> frozenset[str]:
        """Return the names of the files that hold this data, none if it is empty. Opens no file."""
        if not self.file:
            return frozenset()
        return frozenset((self.file, *(segment.file for segment in self.segments)))

    def raw_at(self, start: int, size: int) -> bytes:
        """Return bytes of the segments, at the offsets of `value_starts`."""
        if self._layout is None:
            segments = self.segments
            self._layout = (segments, list(accumulate(segment.size for segment in segments)))
        segments, ends = self._layout
        at = bisect_right(ends, start)
        if at >= len(segments):
            raise self._corrupt("a value lies outside its files")
        begin = start - (ends[at] - segments[at].size)
        return bytes(self._segment(segments[at])[begin : begin + size])

    def stamp(self, position: int) -> Stamp:
        """Return (mtime_ns, size) of the value file at its reading; (0, 0) without a file."""
        return self.stamp_times[position], self.stamp_sizes[position]

    def column(self, pointer: str) -> RankColumn:
        """Return the column of a JSON pointer; it is computed and cached if it is not stored."""
        column = self.known_column(pointer)
        if column is not None:
            return column
        found = [
            MISSING if bad else resolve(value, pointer)
            for bad, value in zip(flags(self.bad_set, len(self)), self._parsed(), strict=True)
        ]
        return self.keep_column(rank_values(pointer, found))

    def known_column(self, pointer: str) -> RankColumn | None:
        """Return the column of a JSON pointer if it is stored or cached, without reading values."""
        column = self._columns.get(pointer)
        if column is None and pointer in self.pointers:
            data = self.container.section(f"column{self.pointers.index(pointer)}")
            try:
                column = RankColumn.from_bytes(bytes(data))
            except ValueError as error:
                raise self._corrupt(str(error)) from None
            self._columns[pointer] = column
        return column

    def keep_column(self, column: RankColumn) -> RankColumn:
        """Cache a column that was computed from these values."""
        self._columns[column.pointer] = column
        return column

    @property
    def value_file(self) -> str | None:
        """Return the name of the value file that the values were read from."""
        name = self.container.meta["value_file"]
        return None if name is None else str(name)

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Return the files that hold the values, in the order of `value_starts`."""
        if self._known_segments is None:
            self._known_segments = as_segments(self.container.meta["values"])
        return self._known_segments

    @property
    def value_starts(self) -> memoryview:
        """Return where each value begins in all segments together."""
        return self._numbers("value_start", "Q")

    @property
    def value_sizes(self) -> memoryview:
        """Return the number of bytes of each value, or NO_VALUE."""
        return self._numbers("value_size", "I")

    @property
    def stamp_times(self) -> memoryview:
        """Return the mtime_ns of each value file."""
        return self._numbers("stamp_time", "q")

    @property
    def stamp_sizes(self) -> memoryview:
        """Return the size of each value file."""
        return self._numbers("stamp_size", "q")

    def _numbers(self, section: str, kind: Literal["Q", "q", "I"]) -> memoryview:
        numbers = self._views.get(section)
        if numbers is None:
            numbers = self._views[section] = self.container.section(section).cast(kind)
        return numbers

    @property
    def nameless_set(self) -> DirectorySet:
        """Return the directories whose names are not UTF-8, which Row's files cannot hold."""
        if self._nameless is None:
            ascii_only = bytes(self.table.blob).isascii()
            self._nameless = (
                0
                if ascii_only
                else bit_set(at for at, name in enumerate(self.table.all()) if not is_utf8(name))
            )
        return self._nameless

    @property
    def reasons(self) -> Mapping[int, str]:
        """Return why directories are bad, by position."""
        stored = json.loads(bytes(self.container.section("reasons")))
        texts = stored["texts"]
        return dict(zip(positions(self.bad_set), map(texts.__getitem__, stored["of"]), strict=True))

    def verify(self) -> None:
        """Read and check all data that will be needed later.

        Raises: CorruptCacheError.
        """
        self.container.verify()
        assert self.table is not None
        for segment in self.segments:
            self._segment(segment)

    @property
    def container(self) -> Container:
        """Return the cache file, opened at first use.

        Raises: CorruptCacheError, also if the file is missing; NewerCacheError.
        """
        if self._container is None:
            try:
                if self.packed or self.folder is None:
                    container = Container(self.packed, self.file)
                else:
                    container = Container.map(self.folder / self.file)
            except OSError as error:
                raise self._corrupt(error.strerror or str(error)) from None
            if container.meta.get("order") != sys.byteorder:
                raise self._corrupt("it comes from a machine with another byte order")
            if container.meta.get("count") != self._count:
                raise self._corrupt("it has another number of directories than it should")
            self._container = container
        return self._container

    def _segment(self, segment: Segment) -> memoryview:
        data = self._segments.get(segment.file)
        if data is None:
            data = self._segments[segment.file] = self._load(segment)
        return data

    def _load(self, segment: Segment) -> memoryview:
        if segment.file in self.unwritten:
            return memoryview(self.unwritten[segment.file])
        if not segment.size:
            return memoryview(b"")
        if self.folder is None:
            raise self._corrupt(f"{segment.file} is missing")
        try:
            fd = os.open(self.folder / segment.file, os.O_RDONLY | os.O_CLOEXEC)
            try:
                if os.fstat(fd).st_size != segment.size:
                    raise self._corrupt(f"{segment.file} has another size than it should")
                return memoryview(mmap.mmap(fd, segment.size, access=mmap.ACCESS_READ))
            finally:
                os.close(fd)
        except OSError as error:
            raise self._corrupt(f"{segment.file}: {error.strerror}") from None

    def _parsed(self) -> Iterator[Any]:
        loads = orjson.loads
        for raw in self.raw_values():
            yield None if raw is None else loads(raw)

    def _corrupt(self, what: str) -> CorruptCacheError:
        return CorruptCacheError(f"the cache file {self.file} is damaged: {what}")


class _Bad(Mapping[int, str]):
    """The bad directories: positions are in memory, reasons are read on access."""

    def __init__(self, directories: StoredDirectories) -> None:
        self._directories = directories
        self._reasons: Mapping[int, str] | None = None

    def __len__(self) -> int:
        return self._directories.bad_set.bit_count()

    def __iter__(self) -> Iterator[int]:
        return iter(positions(self._directories.bad_set))

    def __contains__(self, position: object) -> bool:
        return (
            isinstance(position, int)
            and position >= 0
            and bool(self._directories.bad_set >> position & 1)
        )

    def __getitem__(self, position: int) -> str:
        if position not in self:
            raise KeyError(position)
        if self._reasons is None:
            self._reasons = self._directories.reasons
        return self._reasons[position]
