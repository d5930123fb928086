"""What goes over the socket between the screen and its engine: numbered frames of pickles.

A frame is a number (of a call or stream), a kind, a length and so many bytes. A large value comes
as several pieces, between which others have their turn, and is put together again in a thread that
lets go of the interpreter after each piece: the screen's loop never waits for a whole one. Only
our own two processes speak this, over a descriptor that nobody else has.
"""

from __future__ import annotations

import asyncio
import gc
import pickle
import struct
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

HEAD = struct.Struct("=IBI")  # number, kind, length

PART = 0  # of what the next frame of this number says
CALL = 1  # from the screen: (name, arguments, named arguments)
STREAM = 2  # the same, for several values; the first one is wanted
NEXT = 3  # the next value of a stream is wanted
CLOSE = 4  # nobody waits any more; END answers, whatever it was
TELL = 5  # a call that has no answer
ANSWER = 6  # from the engine: a value
ERROR = 7  # see `errors`
END = 8  # there are no more values
LOST = 9  # never sent: the connection ended

PIECE = 1 << 16
"""Bytes of a piece: 1 ms of unpickling. It is also what pickle itself calls a frame."""

LARGE = 1 << 20
"""From here on a value is kept out of the garbage collector's sight while it is put together."""

LIMIT = 1 << 18  # bytes that are read in advance


class _Writing:
    """A file for the pickler, which writes a piece at a time."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def write(self, data: bytes) -> int:
        if len(data) <= PIECE:
            self.pieces.append(bytes(data))
        else:
            view = memoryview(data)
            self.pieces += [bytes(view[at : at + PIECE]) for at in range(0, len(data), PIECE)]
        return len(data)


class _Reading:
    """A file for the unpickler. That its methods are Python's lets other threads run."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces = iter(pieces)
        self._piece = b""
        self._at = 0

    def read(self, size: int) -> bytes:
        end = self._at + size
        if end <= len(self._piece):
            found = self._piece[self._at : end]
            self._at = end
            return found
        found = self._piece[self._at :]
        gathered, missing = [found], size - len(found)
        while missing > 0:
            self._piece = next(self._pieces, b"")
            if not self._piece:
                break
            self._at = min(missing, len(self._piece))
            gathered.append(self._piece[: self._at])
            missing -= self._at
        return b"".join(gathered)

    def readinto(self, buffer: Any) -> int:
        found = self.read(len(buffer))
        buffer[: len(found)] = found
        return len(found)

    def readline(self) -> bytes:
        line = bytearray()
        while not line.endswith(b"\n") and (byte := self.read(1)):
            line += byte
        return bytes(line)


def encode(value: object) -> list[bytes]:
    """A value as pieces."""
    writing = _Writing()
    pickle.Pickler(writing, pickle.HIGHEST_PROTOCOL).dump(value)
    return writing.pieces


def decode(pieces: Sequence[bytes]) -> Any:
    """The value of these pieces, which our own process sent."""
    size = sum(map(len, pieces))
    if size <= PIECE:
        return pickle.loads(b"".join(pieces))  # noqa: S301
    if size < LARGE or not gc.isenabled():
        return pickle.Unpickler(_Reading(pieces)).load()  # noqa: S301
    # Some hundred thousand new values would each few thousand make the collector go through all
    # of them, which stops every thread. They hold no cycles: it need never look at them.
    gc.disable()
    try:
        value = pickle.Unpickler(_Reading(pieces)).load()  # noqa: S301
        gc.freeze()
    finally:
        gc.enable()
    return value


@cache
def _thread() -> ThreadPoolExecutor:
    """One is enough: two would only take turns, and keep the loop waiting twice."""
    return ThreadPoolExecutor(1, "pickles")


async def encode_apart(value: object) -> list[bytes]:
    """As `encode`, for what may be large."""
    return await asyncio.get_running_loop().run_in_executor(_thread(), encode, value)


async def decode_apart(pieces: Sequence[bytes]) -> Any:
    """As `decode`; what is large, in a thread."""
    if sum(map(len, pieces)) <= PIECE:
        return decode(pieces)
    return await asyncio.get_running_loop().run_in_executor(_thread(), decode, pieces)


def frame(number: int, kind: int, data: bytes = b"") -> bytes:
    """One frame."""
    return HEAD.pack(number, kind, len(data)) + data


class Sender:
    """The writing side; several may send at once, and their pieces take turns."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._draining = asyncio.Lock()

    def at_once(self, number: int, kind: int, data: bytes = b"") -> None:
        """Send something small without waiting."""
        if not self._writer.is_closing():
            self._writer.write(frame(number, kind, data))

    async def send(self, number: int, kind: int, pieces: Sequence[bytes] = (b"",)) -> None:
        """Send a value. Raises: OSError if nobody listens."""
        for piece in pieces[:-1]:
            self.at_once(number, PART, piece)
            async with self._draining:
                await self._writer.drain()
        self.at_once(number, kind, pieces[-1])
        async with self._draining:
            await self._writer.drain()


async def received(reader: asyncio.StreamReader) -> AsyncIterator[tuple[int, int, list[bytes]]]:
    """Number, kind and pieces of all that comes, until the other side is gone."""
    parts: dict[int, list[bytes]] = {}
    try:
        while True:
            number, kind, length = HEAD.unpack(await reader.readexactly(HEAD.size))
            data = await reader.readexactly(length) if length else b""
            if kind == PART:
                parts.setdefault(number, []).append(data)
            else:
                yield number, kind, [*parts.pop(number, ()), data]
    except (asyncio.IncompleteReadError, OSError):
        return
