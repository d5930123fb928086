"""Wait for a condition with a deadline; fail with the last value seen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

Seen = TypeVar("Seen")

# Seconds. Below the time limit of a test (pyproject.toml), so that this failure is the one printed.
WITHIN = 45.0
EVERY = 0.01


def eventually(
    look: Callable[[], Seen],
    holds: Callable[[Seen], object] = bool,
    *,
    within: float = WITHIN,
    every: float = EVERY,
    what: object = "",
) -> Seen:
    """Call `look` until what it returns `holds`, and return that value.

    An AssertionError of `look` counts as a value that does not hold. `within`, `every`: seconds.
    Raises: AssertionError after `within`, with `what` and the last value or error.
    """
    end = time.monotonic() + within
    while True:
        late = time.monotonic() > end
        try:
            seen = look()
        except AssertionError:
            if late:
                raise
        else:
            if holds(seen):
                return seen
            if late:
                raise AssertionError(_message(what or look, within, seen))
        time.sleep(every)


async def eventually_async(
    look: Callable[[], Awaitable[Seen] | Seen],
    holds: Callable[[Seen], object] = bool,
    *,
    within: float = WITHIN,
    every: float = EVERY,
    what: object = "",
) -> Seen:
    """As `eventually`, without blocking the event loop; `look` may be a coroutine function.

    A single `look` that does not return in time fails as well.
    """
    end = time.monotonic() + within
    seen: object = "nothing: the first look did not return"
    while True:
        late = time.monotonic() > end
        try:
            value = look()
            if isinstance(value, Awaitable):
                try:
                    async with asyncio.timeout_at(_loop_time(end)):
                        value = await value
                except TimeoutError:
                    if time.monotonic() <= end:
                        raise
                    raise AssertionError(_message(what or look, within, seen)) from None
        except AssertionError:
            if late or time.monotonic() > end:
                raise
        else:
            seen = value
            if holds(value):
                return value
            if late:
                raise AssertionError(_message(what or look, within, seen))
        await asyncio.sleep(every)


def _loop_time(end: float) -> float:
    """The event loop's time at which the monotonic clock shows `end`, a second later at most."""
    return asyncio.get_running_loop().time() + max(0.0, end - time.monotonic()) + 1


def _message(what: object, within: float, seen: object) -> str:
    if callable(what):
        what = getattr(what, "__qualname__", repr(what))
    return f"not within {within:g} s: {what}; last seen: {seen!r}"
