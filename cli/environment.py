"""Settings of a command, and the event loop in which it runs.

A setting comes from the command line, else from `ROWTUI_<NAME>`, else from Row's `ROW_<NAME>`.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import asyncio

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


# One event loop for one command: connections to clusters live in it until the command ends.


T = TypeVar("T")

_runner: asyncio.Runner | None = None
_endings: list[Callable[[], Awaitable[None]]] = []


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, in the loop of this command.

    While the loop runs, another thread of the command, such as one that plans, may call this, too.
    """
    global _runner  # noqa: PLW0603
    if _runner is None:
        _runner = asyncio.Runner()
    loop = _runner.get_loop()
    if loop.is_running():
        try:
            asyncio.get_running_loop()
        except RuntimeError:  # in another thread
            return asyncio.run_coroutine_threadsafe(work, loop).result()
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


IO_THREADS = 8  # Row's default

TRUE_WORDS = frozenset({"1", "true", "yes", "on"})
FALSE_WORDS = frozenset({"", "0", "false", "no", "off"})


def _environment(name: str) -> str | None:
    """Return `ROWTUI_<name>`, else Row's `ROW_<name>`."""
    return os.environ.get(f"ROWTUI_{name}", os.environ.get(f"ROW_{name}"))


def environment_flag(name: str) -> bool:
    """Return a yes/no variable. Raises: RowtuiError for any other word."""
    word = (_environment(name) or "").lower()
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise RowtuiError(f"ROW_{name} is '{word}'", "use true or false")


def environment_number(name: str, default: int) -> int:
    """Return a number from the environment. Raises: RowtuiError if the text is no number."""
    text = _environment(name)
    if not text:
        return default
    if not text.isdecimal():
        raise RowtuiError(f"ROW_{name} is '{text}', not a number")
    return int(text)


def environment_word(name: str, default: str | None) -> str | None:
    """Return a word from the environment."""
    return _environment(name) or default


def cluster_name(args: argparse.Namespace) -> str | None:
    """Return `--cluster`, else the environment's cluster."""
    return getattr(args, "cluster", None) or environment_word("CLUSTER", None)


def io_threads(args: argparse.Namespace) -> int:
    """Return `--io-threads`, else the environment's value."""
    return getattr(args, "io_threads", None) or environment_number("IO_THREADS", IO_THREADS)


def refuse_empty_cluster(names: Sequence[str]) -> None:
    """Refuse an empty `--cluster` or variable, as Row does, because it is probably a mistake.

    `names`: the values of the option; without any, the environment is checked. Raises: RowtuiError.
    """
    if "" in (names or (_environment("CLUSTER"),)):
        where = "--cluster" if names else "ROW_CLUSTER"
        raise RowtuiError(
            f"{where} is empty",
            "leave it out to detect the cluster; 'rowtui show cluster --all --short' lists names",
        )
