"""The log of a job on any machine: its size and parts of it.

A log may grow, be cut, be replaced by a new file (a requeued job) or not exist yet. The amount that
is read is bounded. The caller that shows a log escapes its control characters. Over a connection,
each read is one command.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath
from typing import NamedTuple, Protocol

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import asyncio
from rowtui.core.base.text import visible
from rowtui.core.clusters.commands import Transport
from rowtui.core.project.views.views import LogTail

TAIL_BYTES = 1 << 18  # bytes read at a log's end: enough for a screen of very long lines
PIECE_BYTES = 1 << 20  # bytes read at once of a log that is followed
LINES_BYTES = 8 << 20  # bytes of a log's end in which its last lines are searched
_FIRST_BYTES = 1 << 16  # the same for the first try: a screen of lines is seldom longer
_SECONDS = 30.0
_NO_FILE = "it is no file"


class LogPiece(NamedTuple):
    """A part of a log, from `start` on.

    `size` is the size of the whole log, and `file` identifies the file.
    """

    data: bytes
    start: int
    size: int
    file: str

    @property
    def stop(self) -> int:
        """Return where the next part begins."""
        return self.start + len(self.data)


class Log(Protocol):
    """A log that may grow."""

    @property
    def name(self) -> str:
        """Return the log's location, as text for the user."""
        ...

    async def end(self, most: int = TAIL_BYTES) -> LogPiece | None:
        """Return the last bytes; None if nothing has been written. Raises: RowtuiError."""
        ...

    async def after(self, start: int, most: int = PIECE_BYTES) -> LogPiece | None:
        """Return the bytes from `start` on; None if the log does not exist. Raises: RowtuiError."""
        ...


async def read_log_end(log: Log, lines: int) -> LogTail:
    """Return the last lines of a log; for 0, all lines that were read. Raises: RowtuiError."""
    shown = visible(log.name)
    piece = await log.end()
    if piece is None:
        return LogTail(shown, 0, (), "nothing has been written yet")
    text = piece.data.decode("utf-8", "replace").split("\n")
    if text and not text[-1]:
        text.pop()
    if piece.start and len(text) > 1:
        text = text[1:]  # the first line is incomplete
    return LogTail(shown, piece.size, tuple(text[-lines:] if lines else text))


async def last_lines(log: Log, lines: int) -> LogPiece | None:
    """Return the last lines, at most `LINES_BYTES` of them; None if the log does not exist.

    Raises: RowtuiError.
    """
    most = _FIRST_BYTES
    while True:
        piece = await log.end(most)
        if piece is None:
            return None
        skipped = _start_of_last_lines(piece.data, lines)
        if skipped is not None or not piece.start or most >= LINES_BYTES:
            skipped = skipped or 0
            return piece._replace(data=piece.data[skipped:], start=piece.start + skipped)
        most = min(most * 8, LINES_BYTES)


async def news(log: Log, last: LogPiece, most: int = PIECE_BYTES) -> LogPiece | None:
    """Return what was written since this part, or the beginning of a new log in its place.

    Returns None if the log does not exist at this moment. A log that was cut and has since grown
    beyond its old size cannot be distinguished from a log that only grew. Raises: RowtuiError.
    """
    piece = await log.after(last.stop, most)
    if piece is not None and (piece.file != last.file or piece.size < last.stop):
        return await log.after(0, most)
    return piece


async def latest(log: Log, last: LogPiece | None, most: int, lines: int) -> LogPiece | None:
    """Return what was written since `last`, or the end if `most` bytes or `lines` are too few.

    The end begins with a whole line, or within a line that is longer than `most`. Returns None if
    the log does not exist. Raises: RowtuiError.
    """
    piece = await (log.after(0, most) if last is None else news(log, last, most))
    cut = 0
    if piece is not None and piece.stop < piece.size:
        piece = await log.end(most)
        cut = piece.data.find(b"\n", 0, -1) + 1 if piece is not None and piece.start else 0
    if piece is None:
        return None
    cut = max(cut, _start_of_last_lines(piece.data, lines) or 0)
    return piece._replace(data=piece.data[cut:], start=piece.start + cut)


def _start_of_last_lines(data: bytes, lines: int) -> int | None:
    """Return the offset of the last `lines` lines; None if there are fewer lines."""
    at = len(data) - data.endswith(b"\n")  # the last line's own newline
    for _ in range(lines):
        at = data.rfind(b"\n", 0, at)
        if at < 0:
            return None
    return at + 1


class LocalLog:
    """A log on a file system that this machine can read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def name(self) -> str:
        """See `Log`."""
        return str(self._path)

    async def end(self, most: int = TAIL_BYTES) -> LogPiece | None:
        """See `Log`."""
        return await asyncio.to_thread(self._read, None, most)

    async def after(self, start: int, most: int = PIECE_BYTES) -> LogPiece | None:
        """See `Log`."""
        return await asyncio.to_thread(self._read, start, most)

    def _read(self, start: int | None, most: int) -> LogPiece | None:
        """Read from `start` on; for None, read the end."""
        try:
            with open(self._path, "rb", buffering=0, opener=_opened) as log:
                facts = os.fstat(log.fileno())
                if not stat.S_ISREG(facts.st_mode):
                    raise _unreadable(self.name, _NO_FILE)
                size = facts.st_size
                if start is None:
                    start = max(0, size - most)
                log.seek(start)
                # Read no more than the size found by `stat`, as over a connection.
                data = log.read(min(most, max(0, size - start)))
                return LogPiece(data, start, size, f"{facts.st_dev}:{facts.st_ino}")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unreadable(self.name, error.strerror or str(error)) from None


def _opened(path: str, flags: int) -> int:
    """Open the file without blocking, so that opening a named pipe does not wait for a writer."""
    return os.open(path, flags | os.O_NONBLOCK)


# The first line holds size, inode, birth time and the offset of the first byte; the bytes follow.
# `tail` seeks in a file. A new file may get the inode of a removed file, but has a later birth
# time.
_READ = """\
[ -f "$1" ] || { [ -e "$1" ] && exit 45; exit 44; }
exec <"$1" || exit 3
facts=$(stat -L -c '%s %i:%W' -) || exit 3
size=${facts%% *} start=$2
[ -n "$start" ] || start=$((size > $3 ? size - $3 : 0))
left=$((size > start ? size - start : 0))
echo "$facts $start"
tail -c "+$((start + 1))" | head -c "$((left < $3 ? left : $3))"
"""


class RemoteLog:
    """A log on a cluster that shares no file system with this machine."""

    def __init__(self, transport: Transport, path: PurePosixPath, cluster: str) -> None:
        self._transport = transport
        self._path = path
        self._cluster = cluster

    @property
    def name(self) -> str:
        """See `Log`."""
        return f"{self._cluster}:{self._path}"

    async def end(self, most: int = TAIL_BYTES) -> LogPiece | None:
        """See `Log`."""
        return await self._read("", most)

    async def after(self, start: int, most: int = PIECE_BYTES) -> LogPiece | None:
        """See `Log`."""
        return await self._read(str(start), most)

    async def _read(self, start: str, most: int) -> LogPiece | None:
        result = await self._transport.run(
            ["sh", "-c", _READ, "sh", str(self._path), start, str(most)], timeout=_SECONDS
        )
        if result.exit_status == 44:
            return None
        if result.exit_status == 45:
            raise _unreadable(self.name, _NO_FILE)
        if result.exit_status != 0:
            raise _unreadable(self.name, visible(result.complaint))
        head, _, data = result.stdout.partition(b"\n")
        words = head.decode("ascii", "replace").split(" ")
        if len(words) != 3 or not (words[0].isdecimal() and words[2].isdecimal()):
            raise _unreadable(self.name, "an answer without a size")
        return LogPiece(data, int(words[2]), int(words[0]), words[1])


def _unreadable(name: str, why: str) -> RowtuiError:
    return RowtuiError(f"{visible(name)} cannot be read: {why}")
