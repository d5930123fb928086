"""Run a function on many files, in several threads where the file system is slow."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

# Several threads are used where the file system blocks a thread more often than once in this many
# files (network file systems and syncs). Elsewhere several threads are four times slower than one.
_FILES_PER_WAIT = 4
_THREADS = 8
_PROBE = 64


def for_each(act: Callable[[int], None], count: int) -> None:
    """Call `act` with each number below `count`. Raises: the exceptions of `act`."""
    import resource

    probed = min(count, _PROBE)
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
    for at in range(probed):
        act(at)
    waits = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - before
    if count > probed and waits * _FILES_PER_WAIT > probed:
        with ThreadPoolExecutor(_THREADS) as pool:
            for _ in pool.map(act, range(probed, count)):
                pass
    else:
        for at in range(probed, count):
            act(at)
