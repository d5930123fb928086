"""One life of the engine's process: calls and streams over its socket, until it is lost.

Calls that wait for an answer when the process ends, and later calls, raise `EngineLost`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from rowtui.core.engine.process import frames
from rowtui.core.engine.process.errors import EngineLost, from_value, how_it_ended

if TYPE_CHECKING:
    from rowtui.core.engine.process.start import Started

Request = tuple[str, tuple[Any, ...], Mapping[str, Any]]


class Life:
    """A serving process, from the view of the screen's event loop."""

    def __init__(self, started: Started, on_lost: Callable[[Life], None]) -> None:
        self.started = started
        self.lost: EngineLost | None = None
        self._on_lost = on_lost
        self._numbers = 0
        self._ending = False
        self._waiting: dict[int, asyncio.Queue[tuple[int, list[bytes]]]] = {}

    async def begin(self) -> None:
        """Open the connection and start to listen. Raises: OSError."""
        self.began = asyncio.get_running_loop().time()
        self._reader, self._writer = await asyncio.open_unix_connection(
            sock=self.started.socket, limit=frames.LIMIT
        )
        self._sender = frames.Sender(self._writer)
        self._listening = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        async for number, kind, pieces in frames.received(self._reader):
            if number in self._waiting:  # otherwise the call was given up
                self._waiting[number].put_nowait((kind, pieces))
        code = await asyncio.to_thread(self.started.wait, 0.5)
        self.lost = EngineLost(
            f"the engine ended unexpectedly ({how_it_ended(code)})",
            f"it is started again; the details are in {self.started.log}",
        )
        if self._ending:
            self.lost = EngineLost("the engine was closed")
        self._writer.close()
        for queue in self._waiting.values():
            queue.put_nowait((frames.LOST, []))
        self._on_lost(self)

    async def call(self, request: Request) -> Any:
        """Return the answer to a call; a cancellation is passed on.

        Raises: RowtuiError, OSError.
        """
        with self._queue() as (number, queue):
            over = False
            try:
                await self._send(number, frames.CALL, request)
                kind, pieces = await queue.get()
                over = True
                return await self._value(kind, pieces)
            finally:
                if not over:
                    self._sender.at_once(number, frames.CLOSE)

    async def stream(self, request: Request) -> AsyncGenerator[Any, None]:
        """Yield the values of a stream, each on request; closing it here closes it in the
        engine.
        """
        with self._queue() as (number, queue):
            over = False
            try:
                await self._send(number, frames.STREAM, request)
                while True:
                    kind, pieces = await queue.get()
                    over = kind != frames.ANSWER
                    if kind == frames.END:
                        return
                    yield await self._value(kind, pieces)
                    self._sender.at_once(number, frames.NEXT)
            finally:
                if not over and self.lost is None:
                    self._sender.at_once(number, frames.CLOSE)
                    while (await queue.get())[0] in (frames.ANSWER, frames.ERROR):
                        pass

    def tell(self, request: Request) -> None:
        """Send a small message that has no answer."""
        if self.lost is None:
            self._sender.at_once(0, frames.TELL, b"".join(frames.encode(request)))

    async def _send(self, number: int, kind: int, request: Request) -> None:
        pieces = frames.encode(request) if _is_small(request) else None
        try:
            await self._sender.send(number, kind, pieces or await frames.encode_apart(request))
        except OSError:
            pass  # the listener then reports the loss

    @contextlib.contextmanager
    def _queue(self) -> Any:
        if self.lost is not None:
            raise self.lost
        self._numbers += 1
        number = self._numbers
        queue = self._waiting[number] = asyncio.Queue()
        try:
            yield number, queue
        finally:
            del self._waiting[number]

    async def _value(self, kind: int, pieces: Sequence[bytes]) -> Any:
        if kind == frames.LOST:
            self._raise_lost()
        if kind == frames.END:
            raise EngineLost("the engine gave this up", "try again")
        value = await frames.decode_apart(pieces)
        if kind == frames.ERROR:
            raise await asyncio.to_thread(from_value, value)  # may import its class
        return value

    def _raise_lost(self) -> NoReturn:
        assert self.lost is not None
        raise EngineLost(self.lost.message, self.lost.hint)

    async def end(self) -> None:
        """Close the connection, so that the process ends; kill it if it does not."""
        self._ending, self._on_lost = True, lambda _: None
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()
        await asyncio.wait({self._listening})


def _is_small(request: Request) -> bool:
    """Whether the request is pickled quickly: all requests but whole plans are."""
    return not any(hasattr(one, "jobs") for one in request[1])
