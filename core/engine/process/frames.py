"""The protocol on the socket between the screen and its engine: numbered frames of pickles.

A frame is a number (of a call or stream), a kind, a length and that many bytes. A large value is
sent as several pieces, so that other frames can go in between. It is unpickled in a thread that
releases the interpreter lock after each piece, so that the screen's event loop is not blocked. Only
rowtui's own two processes use the protocol, over a descriptor that no other process has.
"""

from __future__ import annotations

import asyncio
import gc
import pickle
import struct
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple
from weakref import WeakValueDictionary, finalize

from rowtui.core.engine.process.errors import UnknownPlan
from rowtui.core.submission.plan.model import Plan

# Plans known to both sides: 10,000 jobs with scripts are 30 MB, but a plan's id is 64 bytes.


KEPT = 4
"""Plans that are kept, also of answers that did not reach the screen."""

GONE = "plan is gone"
"""The request with which the screen reports that it dropped a plan; the argument is its id."""


class PlanReference(NamedTuple):
    """A reference to a plan that the engine made."""

    plan_id: str


class Lifetime:
    """An object that ends with the plan that holds it."""


class SeenPlans:
    """The engine's plans that still exist on the screen's side.

    `gone` is called with the id of each plan that no longer does, in any thread.
    """

    def __init__(self, gone: Callable[[str], None]) -> None:
        self._lifetimes: WeakValueDictionary[str, Lifetime] = WeakValueDictionary()
        self._gone = gone

    def remember(self, value: object) -> None:
        """Record the plans of an answer."""
        for plan in _plans_in(value):
            plan.lifetime = self._lifetimes[plan.id] = lifetime = Lifetime()
            finalize(lifetime, self._ended, plan.id).atexit = False

    def _ended(self, plan_id: str) -> None:
        if plan_id not in self._lifetimes:  # otherwise an equal plan came later
            self._gone(plan_id)

    def forget(self) -> None:
        """Clear the record after the engine was lost."""
        self._lifetimes.clear()

    def named(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Return arguments in which the engine's own plans are replaced by references."""
        return tuple(
            PlanReference(one.id)
            if isinstance(one, Plan) and self._lifetimes.get(one.id, 0) is one.lifetime
            else one
            for one in arguments
        )


class MadePlans:
    """The last plans that the engine made, on its own side, until the screen's side drops them."""

    def __init__(self) -> None:
        self._plans: OrderedDict[str, Plan] = OrderedDict()

    def remember(self, value: object) -> None:
        """Keep the plans of an answer."""
        for plan in _plans_in(value):
            self._plans[plan.id] = plan
            self._plans.move_to_end(plan.id)
            while len(self._plans) > KEPT:
                self._plans.popitem(last=False)

    def gone(self, plan_id: str) -> None:
        """Drop a plan: nothing on the screen's side refers to it any more."""
        self._plans.pop(plan_id, None)

    def whole(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Return the arguments with whole plans. Raises: UnknownPlan."""
        return tuple(
            self._find(one) if isinstance(one, PlanReference) else one for one in arguments
        )

    def _find(self, known: PlanReference) -> Plan:
        plan = self._plans.get(known.plan_id)
        if plan is None:
            raise UnknownPlan(f"plan {known.plan_id} is not known here")
        return plan


def _plans_in(value: object) -> Iterator[Plan]:
    if isinstance(value, Plan):
        yield value
        return
    for part in (getattr(value, "plan", None), *(value if isinstance(value, tuple) else ())):
        if isinstance(part, Plan):
            yield part


HEAD = struct.Struct("=IBI")  # number, kind, length

PART = 0  # a part of the content of the next frame of this number
CALL = 1  # from the screen: (name, arguments, named arguments)
STREAM = 2  # the same, for several values; requests the first one
NEXT = 3  # requests the next value of a stream
CLOSE = 4  # the caller has stopped waiting; the answer is always END
TELL = 5  # a call without an answer
ANSWER = 6  # from the engine: a value
ERROR = 7  # see `errors`
END = 8  # there are no more values
LOST = 9  # never sent: the connection ended

PIECE = 1 << 16
"""Bytes of a piece: 1 ms of unpickling. It is also the size of pickle's own frames."""

LARGE = 1 << 20
"""From this size on, a value is hidden from the garbage collector while it is unpickled."""

LIMIT = 1 << 18  # bytes that are read in advance


class _Writing:
    """A file for the pickler that stores the data in pieces."""

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
    """A file for the unpickler. Its methods are Python code, so other threads can run."""

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
    """Return a value as pieces."""
    writing = _Writing()
    pickle.Pickler(writing, pickle.HIGHEST_PROTOCOL).dump(value)
    return writing.pieces


def decode(pieces: Sequence[bytes]) -> Any:
    """Return the value of these pieces, which rowtui's own process sent."""
    size = sum(map(len, pieces))
    if size <= PIECE:
        return pickle.loads(b"".join(pieces))  # noqa: S301
    if size < LARGE or not gc.isenabled():
        return pickle.Unpickler(_Reading(pieces)).load()  # noqa: S301
    # With some hundred thousand new values, the collector would scan all of them every few
    # thousand, which stops every thread. The values hold no cycles, so they never need to be
    # scanned.
    gc.disable()
    try:
        value = pickle.Unpickler(_Reading(pieces)).load()  # noqa: S301
        gc.freeze()
    finally:
        gc.enable()
    return value


@cache
def _thread() -> ThreadPoolExecutor:
    """Return the executor. It has one thread: two would block the loop twice as long."""
    return ThreadPoolExecutor(1, "pickles")


async def encode_apart(value: object) -> list[bytes]:
    """Encode a value that may be large, in a thread."""
    return await asyncio.get_running_loop().run_in_executor(_thread(), encode, value)


async def decode_apart(pieces: Sequence[bytes]) -> Any:
    """Decode pieces; a large value in a thread."""
    if sum(map(len, pieces)) <= PIECE:
        return decode(pieces)
    return await asyncio.get_running_loop().run_in_executor(_thread(), decode, pieces)


def frame(number: int, kind: int, data: bytes = b"") -> bytes:
    """Return one frame."""
    return HEAD.pack(number, kind, len(data)) + data


class Sender:
    """The writing side; several values may be sent at once, with interleaved pieces."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._draining = asyncio.Lock()

    def at_once(self, number: int, kind: int, data: bytes = b"") -> None:
        """Send a small frame without waiting."""
        if not self._writer.is_closing():
            self._writer.write(frame(number, kind, data))

    async def send(self, number: int, kind: int, pieces: Sequence[bytes] = (b"",)) -> None:
        """Send a value. Raises: OSError if the connection is closed."""
        for piece in pieces[:-1]:
            self.at_once(number, PART, piece)
            async with self._draining:
                await self._writer.drain()
        self.at_once(number, kind, pieces[-1])
        async with self._draining:
            await self._writer.drain()


async def received(reader: asyncio.StreamReader) -> AsyncIterator[tuple[int, int, list[bytes]]]:
    """Yield number, kind and pieces of each message, until the connection is closed."""
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
