"""The engine's process: opens the project, says so, and does what the screen asks until it ends.

It ends when the other end of its socket is closed (also because that process was killed), when it
is told to, or with the process that started it. However it ends, calls are cancelled, streams
closed (a submission stops between two jobs) and Row's files brought up to date; whatever hangs has
`GRACE_SECONDS` for that.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import gc
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

from rowtui.core.engine_process.errors import as_value
from rowtui.core.engine_process.options import EngineOptions, Opened
from rowtui.core.engine_process.start import as_line, read_line

GRACE_SECONDS = 10.0
ENDING_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
POLLRDHUP = getattr(select, "POLLRDHUP", 0x2000)
PR_SET_PDEATHSIG = 1


def open_engine(options: EngineOptions) -> tuple[Opened, Callable[[], Any]]:
    """What there is to say of the project, and what makes its engine afterwards.

    Raises: RowtuiError, OSError.
    """
    from rowtui.core.project.project import Project

    project = Project.open(
        Path(options.start), cluster=options.cluster, io_threads=options.io_threads
    )
    project.always_ask = True

    def make() -> Any:
        from rowtui.core.in_process import InProcessEngine

        return InProcessEngine(project, generation=options.generation)

    return Opened(tuple(project.workflow.problems), project.take_notices()), make


def main(
    opening: Callable[[EngineOptions], tuple[Opened, Callable[[], Any]]] = open_engine,
) -> None:
    """Serve what the options say that come first. Arguments: descriptor, path of the log."""
    descriptor, log = int(sys.argv[1]), Path(sys.argv[2])
    os.set_inheritable(descriptor, False)
    parent = os.getppid()
    faulthandler.enable()
    connection = socket.socket(fileno=descriptor)
    try:
        options: EngineOptions = read_line(connection)
    except (EOFError, OSError):
        return
    try:
        opened, make = opening(options)
    except Exception as error:
        connection.sendall(as_line((as_value(error, log), None)))
        return
    with contextlib.suppress(OSError):  # nobody is there any more: the loop finds that out
        connection.sendall(as_line((None, opened)))
    threading.Thread(target=_end_surely, args=(os.dup(descriptor),), daemon=True).start()
    _end_with(parent)
    engine = make()
    gc.freeze()  # what was imported is never garbage
    asyncio.run(_serve(connection, engine, log))
    os._exit(0)  # threads that hang would keep it


def _end_with(parent: int) -> None:
    """Be told to end when the starting process ends, in whatever way."""
    with contextlib.suppress(Exception):
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def _end_surely(descriptor: int) -> None:
    """A thread: some time after the other end was closed this process ends, whatever hangs."""
    poll = select.poll()
    poll.register(descriptor, POLLRDHUP)
    poll.poll()
    time.sleep(GRACE_SECONDS)
    os._exit(1)


async def _serve(connection: socket.socket, engine: Any, log: Path) -> None:
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    for number in ENDING_SIGNALS:
        loop.add_signal_handler(number, over.set)
    from rowtui.core.engine_process.frames import LIMIT

    reader, writer = await asyncio.open_unix_connection(sock=connection, limit=LIMIT)
    server = Server(engine, writer, log)
    listening = asyncio.create_task(server.listen(reader))
    ending = asyncio.create_task(over.wait())
    await asyncio.wait({listening, ending}, return_when=asyncio.FIRST_COMPLETED)
    listening.cancel()
    try:
        async with asyncio.timeout(GRACE_SECONDS):
            await server.close()
    except Exception as error:
        as_value(error, log)
    writer.close()


class Server:
    """Does what the screen asks; each call and each stream is a task of its own."""

    def __init__(self, engine: Any, writer: asyncio.StreamWriter, log: Path) -> None:
        from rowtui.core.engine import Engine
        from rowtui.core.engine_process.frames import Sender
        from rowtui.core.engine_process.plans import Plans

        self._engine = engine
        self._sender = Sender(writer)
        self._log = log
        self._plans = Plans()
        self._names = {name for name in vars(Engine) if not name.startswith("_")}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._wanted: dict[int, asyncio.Semaphore] = {}  # values of streams
        self._closed = False
        # The screen is about to ask for this; meanwhile it paints.
        self._early: asyncio.Task[Any] | None = asyncio.create_task(engine.refresh())

    async def listen(self, reader: asyncio.StreamReader) -> None:
        """Until the other side is gone."""
        from rowtui.core.engine_process import frames

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
        if task.cancelled():  # before it began, or while its answer was on the way
            from rowtui.core.engine_process.frames import END

            self._sender.at_once(number, END)

    async def _method(self, pieces: list[bytes]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        from rowtui.core.engine_process.frames import decode_apart

        name, arguments, named = await decode_apart(pieces)
        if name not in self._names:
            raise AttributeError(f"an engine has no {name}")
        return getattr(self._engine, name), self._plans.whole(arguments), named

    async def _tell(self, pieces: list[bytes]) -> None:
        try:
            method, arguments, named = await self._method(pieces)
            method(*arguments, **named)
        except Exception as error:
            as_value(error, self._log)

    async def _call(self, number: int, pieces: list[bytes]) -> None:
        from rowtui.core.engine_process import frames

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
        """What the engine says; to the first refresh what it found by itself."""
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
        from rowtui.core.engine_process import frames

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
        """Give up what is under way, and close the engine."""
        tasks = [*self._tasks.values(), *filter(None, [self._early])]
        for task in tasks:
            if not task.cancelling():
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if not self._closed:
            self._closed = True
            await self._engine.close()


if __name__ == "__main__":
    main()
