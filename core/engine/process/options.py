"""The options of the engine's process at its start, and its message once the project is open."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable
from typing import NamedTuple

from rowtui.core.base.errors import Problem

# Limit the memory that the allocator of an engine's process keeps.
#
# Filters and sorts of a million rows take tens of megabytes for milliseconds, in one thread after
# another. glibc has an arena for each thread, raises the threshold for direct kernel allocations
# whenever such a block is freed, and never returns holes: after a minute the holes are larger than
# the memory in use. Without glibc, this module does nothing.


M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8  # malloc.h
ARENAS = 2  # two cores rarely wait for each other's arena
# larger blocks are allocated from the kernel and returned to it; sets of directories are smaller
LARGE = 1 << 20
KEPT = 4 << 20
TRIM_SECONDS = 15.0


def keep_little(every: float = TRIM_SECONDS) -> None:
    """Return freed memory to the system every few seconds. Call this before threads are started."""
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        mallopt, trim = libc.mallopt, libc.malloc_trim
        for option, value in (
            (M_ARENA_MAX, ARENAS),
            (M_MMAP_THRESHOLD, LARGE),
            (M_TRIM_THRESHOLD, KEPT),
        ):
            mallopt(option, value)
        threading.Thread(target=_trim, args=(trim, every), name="trim", daemon=True).start()


def _trim(trim: Callable[[int], int], every: float) -> None:
    waiting = threading.Event()
    while not waiting.wait(every):
        trim(0)


class Demo(NamedTuple):
    """A demo project, made in an empty folder or continued, instead of an existing project."""

    scenario: str
    directories: int
    seed: int = 1


class EngineOptions(NamedTuple):
    """The project and its options.

    `start`: the project's folder or one below; `generation`: the last one that the screen has seen.
    """

    start: str
    cluster: str | None = None
    io_threads: int | None = None
    generation: int = 0
    demo: Demo | None = None


class ProjectOpened(NamedTuple):
    """The message that the project is open, with its problems and notices."""

    problems: tuple[Problem, ...]
    notices: tuple[str, ...]
