"""An engine that records its answers, for reports of defects and for tests.

Takes any `Engine` and a file; gives an `Engine` with the same answers. Names are masked
(`masks.py`); the user's answers to a login are never written. The file is written in a thread of
its own, and a full disk ends the recording, not the dashboard.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from functools import cache
from pathlib import Path
from typing import Any, cast

from rowtui.core.base.errors import RowtuiError
from rowtui.core.engine.api.engine import Engine
from rowtui.core.engine.recording.codec import Field, Masked, encode
from rowtui.core.engine.recording.masks import Masks, words_of_this_person
from rowtui.core.engine.recording.tape import Tape
from rowtui.core.project.queue.views import QueueAsked

UNWRITTEN = frozenset({"answer", "questions", "changes", "close"})
"""Not recorded: the user's answers, and announcements of changes."""

PASSING = frozenset({"now", "full", "clear", "find"})
"""Arguments that do not change the request: where the cursor should go, and how urgent it is."""


class RecordingEngine:
    """A recorder in front of another `Engine`. Use `recording` to get one with the right type."""

    def __init__(
        self,
        engine: Engine,
        path: Path,
        *,
        masks: Masked | None = None,
        hash_actions: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Create a recorder. Raises: RowtuiError if the file exists already or cannot be made."""
        self._engine = engine
        self._mask = masks or Masks(hash_actions=hash_actions, secret_words=words_of_this_person())
        self._clock = clock
        self._began = clock()
        self._tape = Tape(path, self._began)
        self._pen = ThreadPoolExecutor(1, "recording")
        self.trouble = ""  # why the recording ended early

    def __getattr__(self, name: str) -> Any:
        """Return a method of the engine that records its answers."""
        method = getattr(self._engine, name)
        if name in UNWRITTEN or not hasattr(Engine, name):
            return method
        if inspect.iscoroutinefunction(getattr(Engine, name)):
            return self._answering(name, method)
        return self._yielding(name, method)

    def _answering(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        async def ask(*args: Any, **options: Any) -> Any:
            try:
                answer = await method(*args, **options)
            except RowtuiError as error:
                self._note(name, args, options, error=error)
                raise
            self._note(name, args, options, answer=answer)
            return answer

        return ask

    def _yielding(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        async def ask(*args: Any, **options: Any) -> AsyncIterator[Any]:
            async with aclosing(method(*args, **options)) as items:
                async for item in items:
                    self._note(name, args, options, answer=item)
                    yield item

        return ask

    def _note(self, name: str, args: Any, options: Any, **outcome: Any) -> None:
        self._pen.submit(self._write, self._clock() - self._began, name, args, options, outcome)

    def _write(
        self, at: float, name: str, args: Any, options: Any, outcome: dict[str, Any]
    ) -> None:
        if self.trouble:
            return
        try:
            entry: dict[str, Any] = {"t": round(max(0.0, at), 3), "call": name}
            entry["with"] = asked(name, args, options, self._mask)
            if "error" in outcome:
                error = outcome["error"]
                field = Field("RowtuiError", "message")
                entry["error"] = [self._mask(part, field) for part in (error.message, error.hint)]
            else:
                entry["answer"] = encode(outcome["answer"], self._mask, Field(name, "answer"))
            self._tape.add(entry)
            if self._tape.full:
                self.trouble = "the recording is full: what came later is not in it"
        except OSError as error:
            self.trouble = f"the recording ended early: {error.strerror or error}"
        except Exception as error:  # a defect of the recorder must not affect the dashboard
            self.trouble = f"the recording ended early: {type(error).__name__}: {error}"

    async def close(self) -> None:
        """Close the engine, then the file."""
        import asyncio
        import contextlib

        try:
            await self._engine.close()
        finally:
            await asyncio.to_thread(self._pen.shutdown)
            with contextlib.suppress(OSError):
                self._tape.close()


def recording(engine: Engine, path: Path, **options: Any) -> Engine:
    """Return the engine with a recorder in front. Raises: RowtuiError."""
    return cast(Engine, RecordingEngine(engine, path, **options))


def asked(name: str, args: Any, options: Any, mask: Masked) -> dict[str, Any]:
    """Return the arguments of a call by the names of parameters, without defaults."""
    bound = _signature(name).bind(None, *args, **options)
    defaults = _signature(name).parameters
    return {
        parameter: encode(_plain(value), mask, Field(name, parameter))
        for parameter, value in bound.arguments.items()
        if parameter not in ("self", *PASSING) and value != defaults[parameter].default
    }


def _plain(value: Any) -> Any:
    """Return equal requests in the same form: any sequence as a tuple, and no cursor."""
    if isinstance(value, QueueAsked):
        return value._replace(follow=None)
    return tuple(value) if isinstance(value, list | range | set | frozenset) else value


@cache
def _signature(name: str) -> inspect.Signature:
    return inspect.signature(getattr(Engine, name))
