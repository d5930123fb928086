"""Which files of the store are what, and which of them nobody can need any more.

Takes names in `.row/rowtui/`; tells generations from other files, and deletes what was superseded
long ago: whatever the clock says, nothing that a slow reader may still read.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Mapping
from time import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rowtui.core.state.stored import Stored

# What is no longer current is kept this long, and for this many generations: whichever is longer.
# The second keeps a clock that jumps from deleting what somebody reads right now.
KEPT_SECONDS = 3600
KEPT_GENERATIONS = 16
# But not more than this many bytes of old generations: a million directories and a busy dashboard
# would fill gigabytes in an hour.
KEPT_BYTES = 256 << 20

_FILE = re.compile(r"(dirs|values|orders)\.(\d{1,18})-.*\.(rtc|bin)")
_TEMPORARY = re.compile(r"\.(done|dirs|values|orders)\..*\.tmp")

SizeAndTime = tuple[int, float]


def sweep(
    folder: str,
    files: Collection[str],
    generations: Collection[int],
    stored: Stored,
    known: Mapping[int, SizeAndTime],
) -> dict[int, SizeAndTime]:
    """Delete what nobody can need any more now that `stored` is current. Raises: OSError.

    `generations`: those among the files, ascending. `known`: what this gave the last time, size
    and time of each generation, which never change: an hour of commits is many.
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
    """Whether something was superseded so long ago that nobody can be reading it."""
    return since[0] <= generation - KEPT_GENERATIONS and now - since[1] > KEPT_SECONDS


def without_outlived(
    consumed: Mapping[str, tuple[int, int]], waiting: Collection[str], generation: int
) -> dict[str, tuple[int, int]]:
    """The consumed staged files that must still be remembered: there, or gone not long ago."""
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
