"""The kinds of files in the store, and the deletion of files that are no longer needed.

The input is names in `.row/rowtui/`. The module separates generations from other files, and deletes
files that were superseded long ago, but none that a slow reader may still read, even if the clock
jumps.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Mapping
from time import time
from typing import TYPE_CHECKING

from rowtui.core.base.lazy import pattern

if TYPE_CHECKING:
    from rowtui.core.state.store.stored import Stored

# Files that are no longer current are kept for this time and for this many generations, whichever
# is longer. The number of generations protects files that are being read from a clock that jumps.
KEPT_SECONDS = 3600
KEPT_GENERATIONS = 16
# Limit for the bytes of old generations: a million directories and a busy dashboard would fill
# gigabytes in an hour.
KEPT_BYTES = 256 << 20

_FILE = pattern(r"(dirs|values|orders)\.(\d{1,18})-.*\.(rtc|bin)")
_TEMPORARY = pattern(r"\.(done|dirs|values|orders)\..*\.tmp")

SizeAndTime = tuple[int, float]


def sweep(
    folder: str,
    files: Collection[str],
    generations: Collection[int],
    stored: Stored,
    known: Mapping[int, SizeAndTime],
) -> dict[int, SizeAndTime]:
    """Delete files that are no longer needed now that `stored` is current. Raises: OSError.

    `generations`: those among the files, ascending. `known`: the result of the last call, size and
    time of each generation. They never change, and an hour has many commits, so they are cached.
    """
    generation = stored.state.generation
    now = os.stat(f"{folder}/done.{generation}.rtc").st_mtime
    used = stored.directories.files
    room = KEPT_BYTES
    superseded = now
    kept: dict[int, SizeAndTime] = {}
    for age, number in enumerate(reversed(list(generations)), 1):
        size, made = known.get(number) or _size_and_time(f"{folder}/done.{number}.rtc")
        room -= size
        if age > KEPT_GENERATIONS and (room < 0 or now - superseded > KEPT_SECONDS):
            os.unlink(f"{folder}/done.{number}.rtc")
        else:
            kept[number] = size, made
        superseded = made
    for file in files:
        if file.startswith("done."):
            continue
        if _TEMPORARY.fullmatch(file):
            _unlink_if_old(folder, file, now)
        match = _FILE.fullmatch(file)
        if not match or file in used or int(match[2]) > generation - KEPT_GENERATIONS:
            continue
        if match[1] == "orders" and f"dirs.{file.split('.')[1]}.rtc" in used:
            continue
        since = stored.retired.get(file)
        if since is None or outlived(since, generation, int(now)):
            _unlink_if_old(folder, file, now)
    return kept


def outlived(since: tuple[int, int], generation: int, now: int) -> bool:
    """Whether a file was superseded so long ago that no process can be reading it."""
    return since[0] <= generation - KEPT_GENERATIONS and now - since[1] > KEPT_SECONDS


def without_outlived(
    consumed: Mapping[str, tuple[int, int]], waiting: Collection[str], generation: int
) -> dict[str, tuple[int, int]]:
    """Return the consumed staged files to keep on record: existing or recently deleted ones."""
    now = int(time())
    return {
        file: since
        for file, since in consumed.items()
        if file in waiting or not outlived(since, generation, now)
    }


def _size_and_time(path: str) -> SizeAndTime:
    status = os.stat(path)
    return status.st_size, status.st_mtime


def _unlink_if_old(folder: str, file: str, now: float) -> None:
    path = f"{folder}/{file}"
    with contextlib.suppress(OSError):
        if now - os.stat(path).st_mtime > KEPT_SECONDS:
            os.unlink(path)
