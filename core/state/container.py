"""The `.rtc` container: named sections of bytes after a JSON header, in one immutable file.

The module converts sections and a small JSON object into bytes and back, without numpy, one section
at a time. Layout: an eight-byte magic, the version and the header's length and CRC-32 (three u32),
the header (`meta` and the table of sections), then the sections, each at a multiple of 64 bytes
with its own CRC-32. Numbers are little-endian. Source: docs/background/state.md.
"""

from __future__ import annotations

import json
import mmap
import os
import stat
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

from rowtui.core.base.errors import RowtuiError

MAGIC = b"rowtui\r\n"  # the line end reveals a file that was transferred as text
VERSION = 1
ALIGNMENT = 64
# Checking takes 1 ms per MB. Larger sections are only checked on demand (`verify`): they are
# fsynced before another file refers to them, and their size is always checked.
CHECKED_UP_TO = 4 << 20

_PREFIX = struct.Struct("<8sIII")


class CorruptCacheError(RowtuiError):
    """A rowtui cache file is damaged or of an older version; it must be set aside and rebuilt."""


class NewerCacheError(RowtuiError):
    """A rowtui cache file was written by a newer version, whose format this version cannot read."""


class Container:
    """A container that was read: `meta`, and its sections on demand."""

    __slots__ = ("_checked", "_data", "_table", "meta", "path")

    def __init__(self, data: bytes | memoryview, path: str = "") -> None:
        """Read the header of `data`.

        Raises: CorruptCacheError; NewerCacheError.
        """
        self.path = path
        self._data = memoryview(data)
        self._table: dict[str, tuple[int, int, int]] = {}
        self._checked: set[str] = set()
        header = self._read_header()
        try:
            self.meta: dict[str, Any] = dict(header["meta"])
            for name, place in header["sections"].items():
                offset, size, checksum = map(int, place)
                self._table[name] = (offset, size, checksum)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise self._corrupt("its header has a strange form") from None
        for name, (offset, size, _) in self._table.items():
            if offset < 0 or size < 0 or offset + size > len(self._data):
                raise self._corrupt(f"section {name} lies outside the file")

    @classmethod
    def open(cls, path: Path) -> Container:
        """Read a whole container file; for small files.

        Raises: OSError; CorruptCacheError; NewerCacheError.
        """
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            size = _size_of(fd, path)
            chunks = []
            while size > 0 and (chunk := os.read(fd, size)):
                chunks.append(chunk)
                size -= len(chunk)
        finally:
            os.close(fd)
        return cls(chunks[0] if len(chunks) == 1 else b"".join(chunks), str(path))

    @classmethod
    def map(cls, path: Path) -> Container:
        """Map a container file into memory; for large files that stay at their path.

        Raises: OSError; CorruptCacheError; NewerCacheError.
        """
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if _size_of(fd, path) == 0:
                raise CorruptCacheError(f"{path} is empty")
            mapped = mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
        finally:
            os.close(fd)
        return cls(memoryview(mapped), str(path))

    def __contains__(self, name: str) -> bool:
        """Whether there is such a section."""
        return name in self._table

    def names(self) -> tuple[str, ...]:
        """Return the names of the sections, in file order."""
        return tuple(self._table)

    def section(self, name: str, *, verify: bool = False) -> memoryview:
        """Return the bytes of a section; `verify` checks a large one too.

        Raises: CorruptCacheError.
        """
        place = self._table.get(name)
        if place is None:
            raise self._corrupt(f"section {name} is missing")
        offset, size, checksum = place
        data = self._data[offset : offset + size]
        if name not in self._checked and (verify or size <= CHECKED_UP_TO):
            if crc32(data) != checksum:
                raise self._corrupt(f"section {name} does not match its checksum")
            self._checked.add(name)
        return data

    def verify(self) -> None:
        """Check every section of any size.

        Raises: CorruptCacheError.
        """
        for name in self._table:
            self.section(name, verify=True)

    def _read_header(self) -> dict[str, Any]:
        if len(self._data) < _PREFIX.size:
            raise self._corrupt("it is cut short")
        magic, version, size, checksum = _PREFIX.unpack_from(self._data)
        if magic != MAGIC:
            raise self._corrupt("it does not begin like a cache file")
        if version > VERSION:
            raise NewerCacheError(
                f"{self.path} has format version {version}; this rowtui supports {VERSION}",
                "update rowtui; it was written by a newer one",
            )
        if version < VERSION:
            raise self._corrupt(f"it has the old format version {version}")
        raw = self._data[_PREFIX.size : _PREFIX.size + size]
        if len(raw) != size or crc32(raw) != checksum:
            raise self._corrupt("its header does not match its checksum")
        try:
            header = json.loads(bytes(raw))
        except ValueError:
            header = None
        if not isinstance(header, dict):
            raise self._corrupt("its header is not a JSON object")
        return header

    def _corrupt(self, what: str) -> CorruptCacheError:
        return CorruptCacheError(f"the cache file {self.path or '(in memory)'} is damaged: {what}")


def pack(
    meta: Mapping[str, Any],
    sections: Mapping[str, bytes | memoryview],
    checksums: Mapping[str, int] | None = None,
) -> bytes:
    """Return the bytes of a container. The same input gives the same bytes.

    `checksums`: the known checksums of sections.
    """
    sizes = {name: memoryview(data).nbytes for name, data in sections.items()}
    known = checksums or {}
    checksums = {
        name: known[name] if name in known else crc32(data) for name, data in sections.items()
    }
    # The header contains offsets that depend on its length: reserve space for the longest offsets.
    table = {name: (0, size, checksums[name]) for name, size in sizes.items()}
    room = len(_header(meta, table)) + 20 * len(table)
    start = offset = _aligned(_PREFIX.size + room)
    for name, size in sizes.items():
        table[name] = (offset, size, checksums[name])
        offset = _aligned(offset + size)
    header = _header(meta, table)
    out: list[bytes | memoryview] = [
        _PREFIX.pack(MAGIC, VERSION, len(header), crc32(header)),
        header,
    ]
    written = _PREFIX.size + len(header)
    for name, data in sections.items():
        place = table[name][0]
        out += (bytes(place - written), data)
        written = place + sizes[name]
    if not sections:
        out.append(bytes(start - written))
    return b"".join(out)


def _size_of(fd: int, path: Path) -> int:
    """Return the length of an open file. Raises: CorruptCacheError if it is no regular file."""
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        raise CorruptCacheError(f"the cache file {path} is no file")
    return status.st_size


def _header(meta: Mapping[str, Any], table: Mapping[str, tuple[int, int, int]]) -> bytes:
    return json.dumps({"meta": meta, "sections": table}, separators=(",", ":")).encode()


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT
