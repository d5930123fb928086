"""Keep one engine's process running: restart it when it is lost.

The first restart is immediate, later ones follow after longer and longer pauses. Calls wait during
a restart; between two restarts they raise the reason why there is no engine. Snapshots of a new
process continue from the last generation that was seen.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from rowtui.core.base.errors import RowtuiError
from rowtui.core.engine.process.errors import EngineLost, UnknownPlan
from rowtui.core.engine.process.life import Life
from rowtui.core.engine.process.plans import SeenPlans
from rowtui.core.engine.process.start import Started

PAUSES = (0.0, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Seconds before a restart; the last pause repeats."""

WELL_AFTER = 60.0
"""A process that lived longer than this did not end because of how it was started."""

CLOSE_SECONDS = 5.0
"""For Row's files; then the process is ended."""


class Supervised:
    """A process that is restarted soon after it was lost."""

    def __init__(self, started: Started) -> None:
        self.lives = 1
        self._started = started
        self._life: Life | None = None
        self._begun = False
        self._failures = 0
        self._generation = 0
        self._plans = SeenPlans()
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

    async def _begin(self, started: Started) -> None:
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
                self._started = Started(options, self._started.program)
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
