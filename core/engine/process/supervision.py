"""Keep one engine's process running: restart it when it is lost.

The first restart is immediate, later ones follow after longer and longer pauses. Calls wait during
a restart; between two restarts they raise the reason why there is no engine. Snapshots of a new
process continue from the last generation that was seen.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from rowtui.core.base.errors import RowtuiError
from rowtui.core.engine.process import frames
from rowtui.core.engine.process.errors import EngineLost, UnknownPlan, from_value, how_it_ended
from rowtui.core.engine.process.frames import SeenPlans
from rowtui.core.engine.process.start import EngineProcess

# One life of the engine's process: calls and streams over its socket, until it is lost.
#
# Calls that wait for an answer when the process ends, and later calls, raise `EngineLost`.


Request = tuple[str, tuple[Any, ...], Mapping[str, Any]]


class Life:
    """A serving process, from the view of the screen's event loop."""

    def __init__(self, started: EngineProcess, on_lost: Callable[[Life], None]) -> None:
        self.started = started
        self.lost: EngineLost | None = None
        self._on_lost = on_lost
        self._numbers = 0
        self._ending = False
        self._waiting: dict[int, asyncio.Queue[tuple[int, list[bytes]]]] = {}

    async def begin(self) -> None:
        """Open the connection and start to listen. Raises: OSError."""
        self._loop = asyncio.get_running_loop()
        self.began = self._loop.time()
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
        """Return the answer to a call; pass a cancellation on. Raises: RowtuiError, OSError."""
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
        """Yield the values of a stream, each on request; closing this closes it in the engine."""
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

    def plan_gone(self, plan_id: str) -> None:
        """Let the engine drop a plan; any thread may call this."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self.tell, (frames.GONE, (plan_id,), {}))

    async def _send(self, number: int, kind: int, request: Request) -> None:
        # All requests but whole plans are pickled quickly.
        is_small = not any(hasattr(one, "jobs") for one in request[1])
        pieces = frames.encode(request) if is_small else None
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
            assert self.lost is not None
            raise EngineLost(self.lost.message, self.lost.hint)
        if kind == frames.END:
            raise EngineLost("the engine gave this up", "try again")
        value = await frames.decode_apart(pieces)
        if kind == frames.ERROR:
            raise await asyncio.to_thread(from_value, value)  # may import its class
        return value

    async def end(self) -> None:
        """Close the connection, so that the process ends; kill it if it does not."""
        self._ending, self._on_lost = True, lambda _: None
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()
        await asyncio.wait({self._listening})


PAUSES = (0.0, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Seconds before a restart; the last pause repeats."""

WELL_AFTER = 60.0
"""A process that lived longer than this did not end because of how it was started."""

CLOSE_SECONDS = 5.0
"""For Row's files; then the process is ended."""


class Supervised:
    """A process that is restarted soon after it was lost."""

    def __init__(self, started: EngineProcess) -> None:
        self.lives = 1
        self._started = started
        self._life: Life | None = None
        self._begun = False
        self._failures = 0
        self._generation = 0
        self._plans = SeenPlans(self._plan_gone)
        self.closed = False
        self._lost: EngineLost | None = None  # why there is none, between two starts
        self._restarting: asyncio.Task[None] | None = None
        self._news = asyncio.Event()

    # Calls

    async def ask(self, name: str, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        """Call a method of the engine. Raises: RowtuiError, OSError."""
        life = await self._living()
        try:
            value = await life.call((name, self._plans.named(arguments), named))
        except UnknownPlan:
            value = await life.call((name, arguments, named))
        self._remember(value)
        return value

    async def stream(
        self, name: str, arguments: tuple[Any, ...], named: Mapping[str, Any]
    ) -> AsyncGenerator[Any, None]:
        """Yield the values of a method of the engine. Raises: RowtuiError, OSError."""
        life = await self._living()
        for tried in (self._plans.named(arguments), arguments):
            try:
                async with aclosing(life.stream((name, tried, named))) as values:
                    async for value in values:
                        yield value
                return
            except UnknownPlan:
                if tried is arguments:
                    raise

    def tell(self, name: str, arguments: tuple[Any, ...]) -> None:
        """Call a method of the engine that has no answer, if there is a process."""
        if self._life is not None:
            self._life.tell((name, arguments, {}))

    def _plan_gone(self, plan_id: str) -> None:
        if (life := self._life) is not None:
            life.plan_gone(plan_id)

    def _remember(self, value: Any) -> None:
        self._plans.remember(value)
        generation = getattr(value, "generation", 0)
        if isinstance(generation, int):
            self._generation = max(self._generation, generation)

    # The state of the process

    async def back(self) -> bool:
        """Wait until there is a process again; return False once this object was closed."""
        while self._life is None and not self.closed:
            await self._news.wait()
        return not self.closed

    async def _living(self) -> Life:
        if not self._begun:
            self._begun = True
            await self._begin(self._started)
        while self._life is None:
            if self.closed:
                raise EngineLost("the engine was closed")
            if self._lost is not None:
                raise EngineLost(self._lost.message, self._lost.hint)
            await self._news.wait()
        return self._life

    async def _begin(self, started: EngineProcess) -> None:
        life = Life(started, self._on_lost)
        await life.begin()
        self._life, self._lost = life, None
        self._tell_news()

    def _tell_news(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    def _on_lost(self, life: Life) -> None:
        self._life = None
        self._plans.forget()
        if asyncio.get_running_loop().time() - life.began > WELL_AFTER:
            self._failures = 0
        self._restarting = asyncio.create_task(self._start_again(life.lost))

    def _why_now(self, why: EngineLost | None) -> EngineLost:
        if why is None or self._failures:
            hint = f"it is tried again; the details are in {self._started.log}"
            return EngineLost("the engine ended again and again", hint)
        return why

    async def _start_again(self, why: EngineLost | None) -> None:
        while not self.closed:
            pause = PAUSES[min(self._failures, len(PAUSES) - 1)]
            if pause:
                self._lost = self._lost or self._why_now(why)
                self._tell_news()
                await asyncio.sleep(pause)
                self._lost = None  # from now on calls wait
            self._failures += 1
            try:
                options = self._started.options._replace(generation=self._generation)
                self._started = EngineProcess(options, self._started.program)
                await asyncio.to_thread(self._started.opened)
                self.lives += 1
                await self._begin(self._started)
            except (RowtuiError, OSError) as error:
                hint = getattr(error, "hint", "") or f"the log is {self._started.log}"
                text = getattr(error, "message", str(error))
                self._lost = EngineLost(f"the engine cannot be started again: {text}", hint)
                self._tell_news()
            else:
                return

    async def end(self) -> None:
        """Close the engine, wait a little, and ensure that its process ends."""
        if self.closed:
            return
        life, self.closed = self._life, True
        if not self._begun:  # the engine was never called
            self._begun = True
        elif life is not None:
            with contextlib.suppress(RowtuiError, OSError, TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await life.call(("close", (), {}))
        self._life = None
        self._tell_news()
        if self._restarting is not None and not self._restarting.done():
            self._started.process.kill()
            self._restarting.cancel()
            await asyncio.wait({self._restarting})
        if life is not None:
            await life.end()
        await asyncio.to_thread(self._started.end)
