"""Doing something to many files, in several threads where the file system makes one wait."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

# Where the file system makes a thread wait more often than this, several help (network file
# systems, and what is brought to the disk); elsewhere they are four times slower than one.
_FILES_PER_WAIT = 4
_THREADS = 8
_PROBE = 64


def for_each(act: Callable[[int], None], count: int) -> None:
    """Do it for each number below `count`. Raises: what it raises."""
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
