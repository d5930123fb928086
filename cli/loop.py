"""One event loop for one command: connections to clusters live in it until the command ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

_runner: asyncio.Runner | None = None
_endings: list[Callable[[], Awaitable[None]]] = []


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, in the loop of this command."""
    global _runner  # noqa: PLW0603
    if _runner is None:
        import asyncio

        _runner = asyncio.Runner()
    return _runner.run(work)


def at_end(ending: Callable[[], Awaitable[None]]) -> None:
    """Call this in the loop before it is closed, if there was a loop."""
    _endings.append(ending)


def finish() -> None:
    """Close the loop and everything in it."""
    global _runner
    runner, _runner = _runner, None
    endings = _endings[:]
    _endings.clear()
    if runner is not None:
        with runner:
            for ending in endings:
                runner.run(_done(ending))


async def _done(ending: Callable[[], Awaitable[None]]) -> None:
    await ending()
