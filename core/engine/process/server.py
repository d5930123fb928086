"""The server in the engine's process: each call and each stream is a task of its own.

Takes an engine and the socket; gives answers, errors and the values of streams, each value on
request. A call or stream without a waiting caller is cancelled or closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import AsyncIterator, Coroutine
from operator import attrgetter
from pathlib import Path
from typing import Any

from rowtui.core.engine.process import frames
from rowtui.core.engine.process.errors import as_value
from rowtui.core.engine.process.frames import MadePlans

ENDING_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


async def serve(connection: socket.socket, engine: Any, log: Path, grace: float) -> None:
    """Serve the screen until it is gone; then close the engine within `grace` seconds."""
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    for number in ENDING_SIGNALS:
        loop.add_signal_handler(number, over.set)
    reader, writer = await asyncio.open_unix_connection(sock=connection, limit=frames.LIMIT)
    server = Server(engine, writer, log)
    listening = asyncio.create_task(server.listen(reader))
    ending = asyncio.create_task(over.wait())
    await asyncio.wait({listening, ending}, return_when=asyncio.FIRST_COMPLETED)
    listening.cancel()
    try:
        async with asyncio.timeout(grace):
            await server.close()
    except Exception as error:
        as_value(error, log)
    writer.close()


class Server:
    """Serves the screen; each call and each stream is a task of its own."""

    def __init__(self, engine: Any, writer: asyncio.StreamWriter, log: Path) -> None:
        self._engine = engine
        self._sender = frames.Sender(writer)
        self._log = log
        self._plans = MadePlans()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._wanted: dict[int, asyncio.Semaphore] = {}  # requested values of streams
        self._closed = False
        # The screen is about to call this; it paints in the meantime.
        self._early: asyncio.Task[Any] | None = asyncio.create_task(engine.refresh())

    async def listen(self, reader: asyncio.StreamReader) -> None:
        """Serve until the other side is gone."""
        async for number, kind, pieces in frames.received(reader):
            if kind == frames.CALL:
                self._start(number, self._call(number, pieces))
            elif kind == frames.STREAM:
                self._wanted[number] = asyncio.Semaphore(0)
                self._start(number, self._stream(number, pieces))
            elif kind == frames.NEXT and number in self._wanted:
                self._wanted[number].release()
            elif kind == frames.CLOSE:
                if number in self._tasks:
                    self._tasks[number].cancel()
                else:
                    self._sender.at_once(number, frames.END)
            elif kind == frames.TELL:
                await self._tell(pieces)

    def _start(self, number: int, work: Coroutine[Any, Any, None]) -> None:
        task = self._tasks[number] = asyncio.create_task(work)
        task.add_done_callback(lambda _: self._done(number))

    def _done(self, number: int) -> None:
        task = self._tasks.pop(number)
        self._wanted.pop(number, None)
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            as_value(error, self._log)
        if task.cancelled():  # before it began, or while its answer was being sent
            self._sender.at_once(number, frames.END)

    async def _method(self, pieces: list[bytes]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        name, arguments, named = await frames.decode_apart(pieces)
        if name == frames.GONE:
            return self._plans.gone, arguments, named
        return attrgetter(name)(self._engine), self._plans.whole(arguments), named

    async def _tell(self, pieces: list[bytes]) -> None:
        try:
            method, arguments, named = await self._method(pieces)
            method(*arguments, **named)
        except Exception as error:
            as_value(error, self._log)

    async def _call(self, number: int, pieces: list[bytes]) -> None:
        try:
            method, arguments, named = await self._method(pieces)
            value = await self._answer(method, arguments, named)
            self._plans.remember(value)
            answer = await frames.encode_apart(value)
        except Exception as error:
            await self._sender.send(number, frames.ERROR, frames.encode(self._told(error)))
        else:
            await self._sender.send(number, frames.ANSWER, answer)

    async def _answer(self, method: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Return the engine's answer; for the first refresh, the result of the early one."""
        early, again = self._early, method == self._engine.refresh
        if again and early is not None:
            self._early = None
            if not any(named.values()):
                return await early
            await asyncio.wait({early})
        if method == self._engine.close:
            self._closed = True
        return await method(*arguments, **named)

    async def _stream(self, number: int, pieces: list[bytes]) -> None:
        try:
            method, arguments, named = await self._method(pieces)
            values: AsyncIterator[Any] = method(*arguments, **named)
            async with contextlib.aclosing(values):  # type: ignore[type-var]
                async for value in values:
                    await self._sender.send(number, frames.ANSWER, frames.encode(value))
                    await self._wanted[number].acquire()
        except Exception as error:
            await self._sender.send(number, frames.ERROR, frames.encode(self._told(error)))
        else:
            await self._sender.send(number, frames.END)

    def _told(self, error: Exception) -> Any:
        return as_value(error, self._log)

    async def close(self) -> None:
        """Cancel running tasks, and close the engine."""
        tasks = [*self._tasks.values(), *filter(None, [self._early])]
        for task in tasks:
            if not task.cancelling():
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if not self._closed:
            self._closed = True
            await self._engine.close()
