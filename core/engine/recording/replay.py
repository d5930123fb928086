"""A recording as a read-only engine that returns the answers of the played time.

Takes the file of a recording; gives an `Engine`, and a clock with an adjustable speed. A page that
was not shown during the recording raises an error.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import time
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.engine.api.engine import SERVICES, engine_methods
from rowtui.core.engine.recording.codec import NotAValueError, as_it_is, decode, table
from rowtui.core.engine.recording.record import asked
from rowtui.core.engine.recording.tape import TapeLine, key_of, read_tape
from rowtui.core.project.views.views import FASTER, INJECT, PlayedState

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)

CHANGING = frozenset({
    "plans.submit", "plans.export", "jobs.cancel", "jobs.hold", "jobs.release", "queue.act",
    "clusters.connect", "mapping.trust", "mapping.edit_workflow",
    "network.start", "network.stop", "network.retry", "network.cancel",
})  # fmt: skip
"""Methods that would change something."""

NEWS = {
    "refresh": "workspace",
    "jobs.view": "jobs",
    "network.view": "network",
    "queue.page": "jobs",
}
"""The change word of a new answer to each method."""


class ReplayEngine:
    """Plays one file; also the clock and the badge of the dashboard that shows it."""

    stranger = False

    def __init__(self, path: Path, *, steady: Callable[[], float] = time.monotonic) -> None:
        """Read a recording. Raises: RowtuiError."""
        self._head, lines, self.notice = read_tape(path)
        self._steady = steady
        self._speed = 1.0
        self._base, self._since = 0.0, steady()
        self._sped = asyncio.Event()
        self.length = lines[-1].at
        self._answers: dict[tuple[str, str], list[TapeLine]] = {}
        for line in sorted(lines, key=lambda line: line.at):
            self._answers.setdefault((line.call, line.key), []).append(line)
        self._news = [line for line in lines if line.call in NEWS]

    # The clock

    @property
    def position(self) -> float:
        """Return the seconds since the beginning of the recording."""
        return self._base + (self._steady() - self._since) * self._speed

    def now(self) -> float:
        """Return the played time, in epoch seconds."""
        return self._head.at + self.position

    @property
    def badge(self) -> str:
        """Return the text of the header."""
        over = self.position > self.length
        return "REPLAY over" if over else f"REPLAY ×{self._speed:g}"

    @property
    def state(self) -> PlayedState:
        """See `Played`."""
        return PlayedState(self.badge)

    async def control(self, word: str, argument: str = "") -> PlayedState:
        """Double or halve the speed; injected faults are refused."""
        if word == INJECT:
            return self.state._replace(said="This is a recording: nothing can be changed.")
        at = SPEEDS.index(self._speed) + (1 if word == FASTER else -1)
        said = self._go_at(SPEEDS[min(max(at, 0), len(SPEEDS) - 1)])
        return self.state._replace(said=said)

    def _go_at(self, speed: float) -> str:
        self._base, self._since = self.position, self._steady()
        self._speed = speed
        self._sped.set()
        return f"The recording plays at ×{speed:g}."

    # The engine

    def __getattr__(self, name: str) -> Any:
        """Return a service or a method of `Engine`."""
        if name in SERVICES:
            return ReplayedService(self, name)
        return self.replayed(name)

    def replayed(self, name: str) -> Callable[..., Any]:
        """Return a method of `Engine` by its name, such as "queue.page"."""
        method = engine_methods().get(name)
        if method is None:
            raise AttributeError(name)
        if name in CHANGING:
            return self._refuse if inspect.iscoroutinefunction(method) else self._refuse_items
        if name == "clusters.answer":
            return _ignore
        if not inspect.iscoroutinefunction(method):
            return self._nothing

        async def ask(*args: Any, **options: Any) -> Any:
            return self._answer(name, args, options)

        return ask

    def _answer(self, name: str, args: Any, options: Any) -> Any:
        key = key_of(asked(name, args, options, as_it_is))
        found = self._answers.get((name, key))
        if not found:
            raise RowtuiError(
                "this is not in the recording",
                "only what was on the screen while it was recorded can be shown",
            )
        at = bisect_right(found, self.position, key=lambda line: line.at)
        line = found[max(0, at - 1)]
        entry = json.loads(line.data)
        if "error" in entry:
            raise RowtuiError(*_sentences(entry["error"]))
        try:
            return decode(entry.get("answer"), table().methods[name]["return"])
        except (NotAValueError, RecursionError) as error:
            said = str(error) or "too deep"
            raise RowtuiError(f"line {line.number} of the recording is damaged: {said}") from None

    async def _refuse(self, *_args: Any, **_options: Any) -> Any:
        raise RowtuiError("this is a recording: nothing can be changed")

    async def _refuse_items(self, *_args: Any, **_options: Any) -> AsyncIterator[Any]:
        await self._refuse()
        yield

    async def _nothing(self, *_args: Any, **_options: Any) -> AsyncIterator[Any]:
        await asyncio.Event().wait()
        yield

    async def changes(self) -> AsyncIterator[str]:
        """Yield a word whenever there is a newer answer."""
        for line in self._news:
            while (left := line.at - self.position) > 0:
                self._sped.clear()
                try:
                    async with asyncio.timeout(left / self._speed):
                        await self._sped.wait()
                except TimeoutError:
                    pass
            yield NEWS[line.call]
        await asyncio.Event().wait()

    async def close(self) -> None:
        """Do nothing: no resources are held."""


class ReplayedService:
    """One service of a recording."""

    def __init__(self, engine: ReplayEngine, name: str) -> None:
        self._engine = engine
        self._name = name

    def __getattr__(self, name: str) -> Any:
        """Return a method of the service."""
        return self._engine.replayed(f"{self._name}.{name}")


def _ignore(*_args: Any) -> None:
    """Ignore an answer to a login: a recording has no questions."""


def _sentences(said: Any) -> tuple[str, str]:
    if isinstance(said, list) and len(said) == 2 and all(isinstance(it, str) for it in said):
        return visible(said[0]), visible(said[1])
    return "something was wrong then; the recording does not say what", ""
