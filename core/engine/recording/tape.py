"""The file of a recording: gzip-compressed lines of JSON; the first line identifies the format.

Takes and gives entries, independent of their content. Every reading is bounded, because a file from
another user may be truncated, damaged, or expand to gigabytes. Format: docs/formats.md.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from rowtui.core import __version__
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible

VERSION = 2
MAGIC = "rowtui recording"
LARGEST_FILE = 64 << 20  # bytes, compressed
LARGEST = 256 << 20  # bytes, unpacked: the limit of a recorder and of a player
LONGEST_LINE = 32 << 20
FLUSH_BYTES = 64 << 10  # at most this much is lost if the process is killed


class Head(NamedTuple):
    """When the recording began, in epoch seconds, and the version of rowtui that made it."""

    at: float
    made_by: str


class TapeLine(NamedTuple):
    """One answer: seconds since the beginning, the call, the line itself and its number."""

    at: float
    call: str
    key: str
    data: bytes
    number: int


class Tape:
    """A file being written. Raises: RowtuiError if the file exists already or cannot be made."""

    def __init__(self, path: Path, at: float) -> None:
        shown = visible(str(path))
        try:
            number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise RowtuiError(f"{shown} exists already", "name a new file to record to") from None
        except OSError as error:
            raise RowtuiError(f"{shown} cannot be made: {error.strerror}") from None
        self._raw: IO[bytes] = os.fdopen(number, "wb")
        self._file = gzip.GzipFile(filename="", mode="wb", fileobj=self._raw, mtime=0)
        self._written = self._unflushed = 0
        self.full = False
        self._write({MAGIC: VERSION, "rowtui": __version__, "at": round(at, 3)})
        self._flush()

    def add(self, entry: dict[str, Any]) -> None:
        """Write one entry, unless the file is full. Raises: OSError."""
        if not self.full:
            self._write(entry)

    def _write(self, entry: dict[str, Any]) -> None:
        data = json.dumps(entry, separators=(",", ":")).encode() + b"\n"
        if self._written + len(data) > LARGEST or self._raw.tell() > LARGEST_FILE - (1 << 20):
            self.full = True
            return
        if len(data) > LONGEST_LINE:
            return
        self._file.write(data)
        self._written += len(data)
        self._unflushed += len(data)
        if self._unflushed > FLUSH_BYTES:
            self._flush()

    def _flush(self) -> None:
        self._unflushed = 0
        self._file.flush(zlib.Z_SYNC_FLUSH)
        self._raw.flush()

    def close(self) -> None:
        """Finish the file."""
        self._file.close()
        self._raw.close()


def read_tape(path: Path) -> tuple[Head, list[TapeLine], str]:
    """Return the content of a recording, and a notice if it is truncated. Raises: RowtuiError."""
    shown = visible(str(path))
    lines: list[TapeLine] = []
    head: Head | None = None
    notice = ""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise RowtuiError(f"{shown} is too large for a recording")
        with path.open("rb") as raw, gzip.GzipFile(fileobj=raw) as file:
            for number, data in enumerate(_lines(file, shown), 1):
                entry = _entry(data, number, shown)
                if head is None:
                    head = _head(entry, shown)
                else:
                    lines.append(_line(entry, data, number, shown))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        if head is None:
            raise RowtuiError(f"{shown} is not a recording of rowtui") from error
        notice = "the recording ends in the middle: what came before is shown"
    except OSError as error:
        raise RowtuiError(f"{shown} cannot be read: {error.strerror or error}") from None
    if head is None or not lines:
        raise RowtuiError(f"{shown} holds nothing: no answer was recorded")
    return head, lines, notice


def _lines(file: gzip.GzipFile, shown: str) -> Iterator[bytes]:
    size = 0
    while data := file.readline(LONGEST_LINE + 1):
        size += len(data)
        if len(data) > LONGEST_LINE or size > LARGEST:
            raise RowtuiError(f"{shown} unpacks to more than any recording holds")
        if not data.endswith(b"\n"):
            raise EOFError
        yield data


def _entry(data: bytes, number: int, shown: str) -> dict[str, Any]:
    try:
        entry = json.loads(data)
    except (ValueError, RecursionError):
        entry = None
    if isinstance(entry, dict):
        return entry
    if number == 1:
        raise RowtuiError(f"{shown} is not a recording of rowtui")
    raise RowtuiError(f"{shown}, line {number}: this is not what a recording holds")


def _head(entry: dict[str, Any], shown: str) -> Head:
    version, at = entry.get(MAGIC), entry.get("at")
    if not isinstance(version, int):
        raise RowtuiError(f"{shown} is not a recording of rowtui")
    if version != VERSION:
        raise RowtuiError(
            f"{shown} is a recording of version {version}; this rowtui reads version {VERSION}",
            "play it with the rowtui that made it, or a newer one",
        )
    if not _is_time(at):
        raise RowtuiError(f"{shown} does not say when it was made")
    return Head(float(at), visible(str(entry.get("rowtui", ""))[:40]))  # type: ignore[arg-type]


def _is_time(at: object) -> bool:
    return isinstance(at, int | float) and not isinstance(at, bool) and 0 <= at < 1e11


def _line(entry: dict[str, Any], data: bytes, number: int, shown: str) -> TapeLine:
    at, call = entry.get("t"), entry.get("call")
    if not _is_time(at) or not isinstance(call, str):
        raise RowtuiError(f"{shown}, line {number}: this is not what a recording holds")
    return TapeLine(float(at), call, key_of(entry.get("with")), data, number)  # type: ignore[arg-type]


def key_of(asked: Any) -> str:
    """Return a lookup key for a request."""
    text = json.dumps(asked, sort_keys=True)
    return text if len(text) < 200 else hashlib.sha256(text.encode()).hexdigest()
