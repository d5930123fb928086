"""How long the event loop is ours: CPU time of every callback, by the name of what it did.

The wall clock of a shared machine also counts what others do; a callback's own CPU time does not.
Beside it a heartbeat tells how long the loop really was not free, which is what a person feels.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections import defaultdict
from typing import Any, NamedTuple

BEAT = 0.02
"""Seconds between two looks whether the event loop is free; more often would be work by itself."""


class Spent(NamedTuple):
    """One kind of callback. Milliseconds of CPU: the longest, and all; and how often."""

    name: str
    longest: float
    total: float
    times: int


class Callbacks:
    """Watches one running event loop. `names` are of the message that was being handled last."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = defaultdict(list)
        self.gaps: list[float] = []
        self._now = ""
        self._beating: asyncio.Task[None] | None = None

    def watch(self) -> None:
        """From now on, for the life of this process."""
        from textual.message_pump import MessagePump

        run, dispatch = asyncio.Handle._run, MessagePump._dispatch_message
        watch = self

        def timed(handle: asyncio.Handle) -> None:
            watch._now = ""
            began = time.thread_time()
            run(handle)
            took = time.thread_time() - began
            watch.times[watch._now or _name(handle)].append(took)

        async def named(pump: Any, message: Any) -> None:
            about = type(message).__name__
            callback = getattr(message, "callback", None)
            if callback is not None:
                callback = getattr(callback, "func", callback)
                about += f" {getattr(callback, '__qualname__', callback)}"
            elif hasattr(message, "key"):
                about += f" {message.key}" if isinstance(message.key, str) else ""
            watch._now = f"{type(pump).__name__} {about}"
            await dispatch(pump, message)

        asyncio.Handle._run = timed  # type: ignore[method-assign]
        MessagePump._dispatch_message = named  # type: ignore[method-assign]

    def beat(self) -> None:
        """Begin the heartbeat; call it inside the loop."""
        self.forget()
        self._beating = asyncio.ensure_future(self._beat())

    async def _beat(self) -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(BEAT)
            self.gaps.append(time.perf_counter() - before - BEAT)

    def forget(self) -> None:
        """What was before does not count."""
        self.times.clear()
        self.gaps.clear()

    def longest(self, above: float = 0.0) -> list[Spent]:
        """The kinds of callbacks, the one with the longest callback first; above so many ms."""
        found = [
            Spent(name, 1000 * max(times), 1000 * sum(times), len(times))
            for name, times in self.times.items()
        ]
        found.sort(key=lambda one: -one.longest)
        return [one for one in found if one.longest >= above]

    def figures(self) -> dict[str, Any]:
        """Milliseconds: longest and p95 of the CPU of a callback, and of the gaps of the loop."""
        every = [1000 * took for times in self.times.values() for took in times]
        return {
            "callbacks": len(every),
            "longest": max(every, default=0.0),
            "p95": quantile(every, 0.95),
            "p999": quantile(every, 0.999),
            "gap": 1000 * max(self.gaps, default=0.0),
            "gap_p95": 1000 * quantile(self.gaps, 0.95),
            "named": self.longest()[:12],
        }


def quantile(values: list[float], share: float) -> float:
    """The value that so large a share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def median(values: list[float]) -> float:
    """The middle one."""
    return statistics.median(values) if values else 0.0


def _name(handle: asyncio.Handle) -> str:
    callback: Any = handle._callback
    task = getattr(callback, "__self__", None)
    if isinstance(task, asyncio.Task):
        coroutine: Any = task.get_coro()
        return f"task {getattr(coroutine, '__qualname__', coroutine)}"
    callback = getattr(callback, "func", callback)
    return f"callback {getattr(callback, '__qualname__', callback)}"
