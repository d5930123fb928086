"""The log of a job, wherever it is: its size and a part of it, as often as somebody wants to see.

A log may grow, be replaced by a new one (a requeued job) or not be there yet. What is read is
bounded; control characters are for whoever shows it. Over a connection a look is one command.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path, PurePosixPath
from typing import NamedTuple, Protocol

from rowtui.core.clusters.commands import Transport
from rowtui.core.errors import RowtuiError
from rowtui.core.project.views import LogTail
from rowtui.core.text import visible

TAIL_BYTES = 1 << 18  # what is read of a log's end: enough for a screen of very long lines
PIECE_BYTES = 1 << 20  # what is read at once of one that is followed
_SECONDS = 30.0


class Piece(NamedTuple):
    """A part of a log, from `start` on; `size` is the whole log's, `file` tells files apart."""

    data: bytes
    start: int
    size: int
    file: str


class Log(Protocol):
    """A log that may grow."""

    @property
    def name(self) -> str:
        """Where it is, for people."""
        ...

    async def end(self, most: int = TAIL_BYTES) -> Piece | None:
        """Its last bytes; None if nothing has been written. Raises: RowtuiError."""
        ...

    async def after(self, start: int, most: int = PIECE_BYTES) -> Piece | None:
        """Its bytes from `start` on; None if it is not there. Raises: RowtuiError."""
        ...


async def read_log_end(log: Log, lines: int) -> LogTail:
    """The last lines of a log, all that were read for 0. Raises: RowtuiError."""
    shown = visible(log.name)
    piece = await log.end()
    if piece is None:
        return LogTail(shown, 0, (), "nothing has been written yet")
    text = piece.data.decode("utf-8", "replace").split("\n")
    if piece.start:
        text = text[1:]  # the first line is cut
    if text and not text[-1]:
        text.pop()
    return LogTail(shown, piece.size, tuple(text[-lines:] if lines else text))


class LocalLog:
    """A log on a file system that this machine sees."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def name(self) -> str:
        """See `Log`."""
        return str(self._path)

    async def end(self, most: int = TAIL_BYTES) -> Piece | None:
        """See `Log`."""
        return await asyncio.to_thread(self._read, -most, most)

    async def after(self, start: int, most: int = PIECE_BYTES) -> Piece | None:
        """See `Log`."""
        return await asyncio.to_thread(self._read, start, most)

    def _read(self, start: int, most: int) -> Piece | None:
        """From `start` on, from so far before the end if it is negative."""
        try:
            with self._path.open("rb") as log:
                facts = os.fstat(log.fileno())
                if start < 0:
                    start = max(0, facts.st_size + start)
                log.seek(start)
                return Piece(log.read(most), start, facts.st_size, str(facts.st_ino))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RowtuiError(f"{visible(self.name)} cannot be read: {error.strerror}") from None


# Size and inode on the first line, then the bytes. `tail` seeks in a file.
_READ = """\
[ -e "$1" ] || exit 44
exec <"$1" || exit 3
stat -L -c '%s %i' "$1" || exit 3
tail -c "$2" | head -c "$3"
"""


class RemoteLog:
    """A log on a cluster that this machine shares no file system with."""

    def __init__(self, transport: Transport, path: PurePosixPath, cluster: str) -> None:
        self._transport = transport
        self._path = path
        self._cluster = cluster

    @property
    def name(self) -> str:
        """See `Log`."""
        return f"{self._cluster}:{self._path}"

    async def end(self, most: int = TAIL_BYTES) -> Piece | None:
        """See `Log`."""
        return await self._read(str(most), most, None)

    async def after(self, start: int, most: int = PIECE_BYTES) -> Piece | None:
        """See `Log`."""
        return await self._read(f"+{start + 1}", most, start)

    async def _read(self, first: str, most: int, start: int | None) -> Piece | None:
        result = await self._transport.run(
            ["sh", "-c", _READ, "sh", str(self._path), first, str(most)], timeout=_SECONDS
        )
        if result.exit_status == 44:
            return None
        if result.exit_status != 0:
            raise RowtuiError(f"{visible(self.name)} cannot be read: {visible(result.complaint)}")
        head, _, data = result.stdout.partition(b"\n")
        size, _, inode = head.decode("ascii", "replace").partition(" ")
        if not size.isdigit():
            raise RowtuiError(f"{visible(self.name)} cannot be read: an answer without a size")
        if start is None:
            start = max(0, int(size) - len(data))
        return Piece(data, start, int(size), inode)
