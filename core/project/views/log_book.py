"""A log as rows that can be paged, searched and followed, however large it is.

The input is a `Log` (local or over a connection), the result is rows by number. Reading starts at
the log's end and goes back towards the beginning only on request. Memory holds a row count for
every block of the file, and a few blocks, so a gigabyte costs as much as a megabyte. A line that is
longer than a row continues in the next row. A block of NUL bytes alone, as in a sparse file, is one
row that counts them. The line index follows that of the tool toolong.
"""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_right
from collections import OrderedDict
from dataclasses import dataclass

from rowtui.core.project.views.logs import Log, LogPiece
from rowtui.core.project.views.views import ROW, LogHit, LogPage, LogRow, LogState

BLOCK = 1 << 16
"""Bytes whose rows are counted together."""

START = 1 << 18
"""Bytes that are read first, at the end of the log."""

STEP = 1 << 22
"""Bytes that one step backwards or one poll reads of a log on this machine."""

FAR_STEP = 1 << 18
"""As `STEP`, over a connection; small, so that a log does not fill a slow connection."""

KEPT_BLOCKS = 256
"""Number of blocks in memory."""

MOST_ROWS = 500
"""Most rows of one page."""

COUNTED = 1 << 26
"""Bytes in which lines that look like errors are counted."""

BUCKETS = 60
"""Number of parts of the log for which these counts are reported."""

TROUBLE = rb"(?i)\b(?:error|exception|traceback|fatal|failed|killed|segmentation fault)\b"
"""Pattern of lines that look like errors."""

_TROUBLE = re.compile(TROUBLE)


@dataclass(slots=True)
class _Block:
    offset: int
    carry: int  # bytes of the row that began in the block before
    rows: int  # that begin in this block
    trouble: int = 0


class LogBook:
    """One log. `width`: bytes of a row. Concurrent callers wait for each other."""

    def __init__(self, log: Log, *, far: bool = False, width: int = ROW) -> None:
        self._log = log
        self._far = far
        self._width = max(20, width)
        self._step = FAR_STEP if far else STEP
        self._turn = asyncio.Lock()
        self._generation = 0
        self._added = 0
        self._size = 0
        self._error = ""
        self._start_over()

    def _start_over(self) -> None:
        self._blocks: list[_Block] = []
        self._firsts: list[int] = []  # the number of each block's first row
        self._data: OrderedDict[int, bytes] = OrderedDict()
        self._last: LogPiece | None = (
            None  # the part that was read last: reading continues after it
        )
        self._stop = 0
        self._carry = 0  # bytes of the last row, at the end of the known part
        self._generation += 1
        self._added = 0

    @property
    def state(self) -> LogState:
        """Return the known state without reading."""
        first = self._blocks[0].offset if self._blocks else 0
        return LogState(
            self._log.name, self._size, self._rows, first, self._generation, self._added,
            self._buckets(), self._error, self._far,
        )  # fmt: skip

    @property
    def _rows(self) -> int:
        return self._firsts[-1] + self._blocks[-1].rows if self._blocks else 0

    def _buckets(self) -> tuple[int, ...]:
        counts = [block.trouble for block in self._blocks]
        if not any(counts):
            return ()
        number = min(BUCKETS, len(counts))
        found = [0] * number
        for at, count in enumerate(counts):
            found[at * number // len(counts)] += count
        return tuple(found)

    # Reading

    async def look(self) -> LogState:
        """Read what was written since the last call. Raises: RowtuiError."""
        async with self._turn:
            piece = await self._news()
            if piece is None:
                if self._last is None:
                    self._error = "nothing has been written yet"
                return self.state
            self._error = ""
            self._size = piece.size
            self._last = piece
            await asyncio.to_thread(self._append, piece)
            return self.state

    async def _news(self) -> LogPiece | None:
        """Return the next part of the file; the end of a new file, or of one that grew too fast."""
        if self._last is None:
            return await self._end()
        piece = await self._log.after(self._stop, self._step)
        if piece is None:
            return None
        other = piece.file != self._last.file or piece.size < self._stop
        if other or piece.size - piece.stop > self._step:
            self._start_over()
            return await self._end()
        return piece

    async def _end(self) -> LogPiece | None:
        piece = await self._log.end(START)
        if piece is None or not piece.start:
            return piece
        cut = piece.data.find(b"\n", 0, -1) + 1  # 0 if the end of one line is all that was read
        return piece._replace(data=piece.data[cut:], start=piece.start + cut)

    def _append(self, piece: LogPiece) -> None:
        """Count the rows of the new part; a block that was not full is counted again."""
        data, start = piece.data, piece.start
        if self._blocks and self._stop < self._blocks[-1].offset + BLOCK and self._stop == start:
            last = self._blocks.pop()
            self._firsts.pop()
            data = self._data.pop(last.offset, b"") + data
            start, self._carry = last.offset, last.carry
            if len(data) != piece.stop - start:  # the block is no longer in memory
                raise AssertionError("the last block is always kept")
        elif not self._blocks:
            self._carry = 0
        for at in range(0, len(data), BLOCK):
            part = data[at : at + BLOCK]
            starts, carry = row_starts(part, self._carry, self._width)
            block = _Block(start + at, self._carry, len(starts), self._trouble_in(part))
            self._firsts.append(self._rows)
            self._blocks.append(block)
            self._keep(block.offset, part)
            self._carry = carry
        self._stop = start + len(data)

    def _trouble_in(self, data: bytes) -> int:
        if len(self._blocks) * BLOCK > COUNTED or _is_empty(data):
            return 0
        return sum(1 for _ in _TROUBLE.finditer(data))

    def _keep(self, offset: int, data: bytes) -> None:
        self._data[offset] = data
        self._data.move_to_end(offset)
        last = self._blocks[-1].offset if self._blocks else offset
        while len(self._data) > KEPT_BLOCKS:
            oldest = next(iter(self._data))
            if oldest == last:
                self._data.move_to_end(oldest)
                continue
            del self._data[oldest]

    async def earlier(self) -> LogState:
        """Also read some megabytes of rows before the first known row. Raises: RowtuiError."""
        async with self._turn:
            if not self._blocks or not self._blocks[0].offset:
                return self.state
            until = self._blocks[0].offset
            start = max(0, until - self._step)
            piece = await self._log.after(start, until - start)
            if piece is None or self._last is None or piece.file != self._last.file:
                return self.state
            await asyncio.to_thread(self._prepend, piece.data, start, until)
            return self.state

    def _prepend(self, data: bytes, start: int, until: int) -> None:
        data = data[: until - start]
        if start:
            cut = data.find(b"\n") + 1
            if 0 < cut < len(data):
                data, start = data[cut:], start + cut
        blocks: list[_Block] = []
        carry = 0
        for at in range(0, len(data), BLOCK):
            part = data[at : at + BLOCK]
            starts, after = row_starts(part, carry, self._width)
            trouble = self._trouble_in(part) if len(blocks) * BLOCK < COUNTED else 0
            blocks.append(_Block(start + at, carry, len(starts), trouble))
            carry = after
        self._blocks[:0] = blocks
        self._firsts, rows = [], 0
        for block in self._blocks:
            self._firsts.append(rows)
            rows += block.rows
        self._added = sum(block.rows for block in blocks)
        self._generation += 1

    # Rows

    async def page(self, start: int, length: int) -> LogPage:
        """Return the rows from `start` on, at most `MOST_ROWS`. Raises: RowtuiError."""
        async with self._turn:
            start = max(0, start)
            stop = min(self._rows, start + min(length, MOST_ROWS))
            rows: list[LogRow] = []
            at = max(0, bisect_right(self._firsts, start) - 1)
            while len(rows) < stop - start and at < len(self._blocks):
                skip = max(0, start + len(rows) - self._firsts[at])
                rows += (await self._rows_of(at))[skip : skip + stop - start - len(rows)]
                at += 1
            return LogPage(self._generation, start, tuple(rows))

    async def _rows_of(self, at: int) -> list[LogRow]:
        """Return the rows that begin in a block; the last row may end in the next block."""
        block = self._blocks[at]
        data = await self._block(at)
        starts, _ = row_starts(data, block.carry, self._width)
        ends = [*starts[1:], len(data)]
        tail = b""
        if starts and at + 1 < len(self._blocks) and self._blocks[at + 1].carry:
            after = await self._block(at + 1)
            following, _ = row_starts(after, self._blocks[at + 1].carry, self._width)
            tail = after[: following[0] if following else self._width]
        rows = []
        for number, (begin, end) in enumerate(zip(starts, ends, strict=True)):
            raw = data[begin:end] + (tail if number == len(starts) - 1 else b"")
            before = data[begin - 1 : begin] if begin else b""
            goes_on = before not in (b"\n", b"") or (not begin and await self._cut_before(at))
            text = raw.removesuffix(b"\n").decode("utf-8", "replace")
            if _is_empty(data):
                text = f"{len(data):,} NUL bytes"
            rows.append(LogRow(block.offset + begin, text, goes_on))
        return rows

    async def _cut_before(self, at: int) -> bool:
        """Whether a block begins in the middle of a line."""
        return at > 0 and not (await self._block(at - 1)).endswith(b"\n")

    async def _block(self, at: int) -> bytes:
        block = self._blocks[at]
        data = self._data.get(block.offset)
        if data is None:
            last = at + 1 == len(self._blocks)
            size = (self._stop if last else self._blocks[at + 1].offset) - block.offset
            piece = await self._log.after(block.offset, size)
            data = piece.data if piece is not None else b""
            # the log was cut since the last poll; the next poll notices that
            data = data.ljust(size, b"?")[:size]
            self._keep(block.offset, data)
        else:
            self._data.move_to_end(block.offset)
        return data

    # Searching

    async def find(
        self, pattern: re.Pattern[bytes], start: int, *, backwards: bool, quick: bool = True
    ) -> LogHit:
        """Return the next row after (or before) row `start` that matches; wraps around.

        Only the known part is searched. Nothing is found if the known part changes during the
        search. `quick`: whole blocks may be searched first, so the pattern must match in bounded
        time on blocks too. Raises: RowtuiError.
        """
        generation, number = self._generation, len(self._blocks)
        first = max(0, bisect_right(self._firsts, start) - 1)
        for turn in range(number + 1 if number else 0):
            async with self._turn:  # other callers may read between two blocks
                if generation != self._generation:
                    break
                at = (first + (-turn if backwards else turn)) % number
                hits = await self._hits(at, pattern, quick)
            beyond = [hit for hit in hits if (hit < start if backwards else hit > start)]
            if turn == 0:
                hits = beyond
            elif turn == number:
                hits = [hit for hit in hits if hit not in beyond]
            if hits:
                row = hits[-1] if backwards else hits[0]
                return LogHit(generation, row, row not in beyond)
        return LogHit(self._generation, None)

    async def _hits(self, at: int, pattern: re.Pattern[bytes], quick: bool) -> list[int]:
        data = await self._block(at)
        if quick and not await asyncio.to_thread(pattern.search, data):  # most blocks have no match
            if not self._blocks[at].rows:
                return []
            last = (await self._rows_of(at))[-1:]
            rows = list(zip([self._blocks[at].rows - 1], last, strict=True))
        else:
            rows = list(enumerate(await self._rows_of(at)))
        return [
            self._firsts[at] + number
            for number, row in rows
            if pattern.search(row.text.encode("utf-8", "replace"))
        ]


def _is_empty(data: bytes) -> bool:
    """Whether data that is longer than a row consists of NUL bytes, as a hole in a file."""
    return len(data) > ROW and data[0] == data[-1] == 0 and not data.strip(b"\0")


def row_starts(data: bytes, carry: int, width: int) -> tuple[list[int], int]:
    """Return where rows begin in `data`, and how many bytes of the last row `data` holds.

    `carry`: number of bytes of a row that stand before `data`; 0 if a row begins with `data`. A row
    ends after a newline, or after `width` bytes, or up to three bytes earlier so as not to cut a
    character. NUL bytes alone are one row.
    """
    if _is_empty(data):
        return [0], 0
    starts: list[int] = []
    size = len(data)
    at = -carry  # start of the current row
    while at < size:
        if at >= 0:
            starts.append(at)
        newline = data.find(b"\n", max(0, at), at + width + 1)
        if newline >= 0:
            at = newline + 1
            continue
        end = at + width
        if end >= size:
            return starts, size - at
        for less in range(3):
            if end - less > max(0, at) and data[end - less] & 0xC0 != 0x80:
                end -= less
                break
        at = end
    return starts, 0
