"""Detection of changes on disk: a stat of a few paths, made faster where possible.

The input is a handful of paths (folders whose entries matter, files whose content matters). The
watcher yields the sets of changed paths. A stat of each path every two seconds decides, because
jobs finish on other machines, and inotify reports only changes by this one. On local file systems
inotify triggers an immediate check. No path is watched recursively: a million watches take a minute
and kernel memory, and fail if the user's limit is lower (measured; docs/background/state.md).
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import re
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Literal, Self

Mode = Literal["auto", "inotify", "poll", "off"]

# Here inotify reports every change, because only this kernel writes to the file system.
LOCAL_FILE_SYSTEMS = frozenset(
    ("bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "ramfs", "tmpfs", "xfs", "zfs")
)

INTERVAL = 2.0  # seconds between two checks
SHARE = 10  # a check that takes d seconds is not repeated before SHARE * d, to spare slow servers

# Two changes within one tick of a file system's clock (up to 10 ms on Linux) leave the same
# modification time. A change is therefore reported only after this time without another one.
_SETTLE = 0.02
_MOST_SETTLING = 10  # rounds; a folder that changes all the time is then reported anyway

# Grouping of watchfiles, in ms: report after a step without events, at the latest after debounce.
_DEBOUNCE_MS = 300
_STEP_MS = 100  # a waiting watch wakes up after each step

Stamp = tuple[int, int, int]  # mtime_ns, size, inode
_ABSENT: Stamp = (-1, -1, -1)
_UNSURE: Stamp = (-2, -2, -2)  # differs from every stamp: report again


class FileWatcher(AsyncIterator[frozenset[Path]]):
    """Use as `async with Watcher(paths) as changes: async for changed in changes: ...`.

    Every change after entering `async with` is reported, so the caller reads the disk inside. Paths
    may be missing; their appearance, removal or replacement is a change.
    """

    def __init__(
        self, paths: Iterable[Path], *, mode: Mode = "auto", interval: float = INTERVAL
    ) -> None:
        self._paths = tuple(dict.fromkeys(paths))
        self._mode = mode
        self._interval = interval
        self._seen: dict[Path, Stamp] = {}
        self._took = 0.0
        self._look = asyncio.Event()
        self._closed = False
        self._notifier: asyncio.Task[None] | None = None
        self._notified: frozenset[tuple[Path, int]] = frozenset()
        self.slow_because = "" if mode in ("auto", "inotify") else f"watch = {mode}"

    @property
    def stamps(self) -> Mapping[Path, Stamp]:
        """Return (mtime_ns, size, inode) of every path as last reported; all -1 if missing."""
        return MappingProxyType(self._seen)

    async def __aenter__(self) -> Self:
        """Store the current stamps, and start to listen."""
        if self._mode != "off":
            # Listen before the check: a change in between is noticed twice instead of never.
            await self._listen(await self._stat())
            self._seen = await self._settled(await self._stat())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop listening."""
        await self.aclose()

    async def aclose(self) -> None:
        """Stop listening; the iteration ends."""
        self._closed = True
        self._look.set()
        await self._stop_listening()

    async def __anext__(self) -> frozenset[Path]:
        """Return the paths that changed since the last time, at least one."""
        while not self._closed:
            if self._mode == "off":
                await self._look.wait()
                self._look.clear()
                continue
            self._look.clear()
            now = await self._stat()
            if now != self._seen:
                now = await self._settled(now)
                changed = frozenset(path for path in now if now[path] != self._seen[path])
                self._seen = now
                await self._listen(now)
                if changed:
                    return changed
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(self._interval, SHARE * self._took)):
                    await self._look.wait()
        raise StopAsyncIteration

    async def _stat(self) -> dict[Path, Stamp]:
        began = time.monotonic()
        stamps = await asyncio.to_thread(lambda: {path: _stamp(path) for path in self._paths})
        self._took = time.monotonic() - began
        return stamps

    async def _settled(self, before: dict[Path, Stamp]) -> dict[Path, Stamp]:
        for _ in range(_MOST_SETTLING):
            await asyncio.sleep(_SETTLE)
            now = await self._stat()
            if now == before:
                return now
            before, restless = now, before
        return {path: before[path] if before[path] == restless[path] else _UNSURE for path in now}

    async def _listen(self, now: Mapping[Path, Stamp]) -> None:
        """(Re)start inotify on the existing folders where it is reliable."""
        if self._mode not in ("auto", "inotify"):
            return
        wanted = await asyncio.to_thread(self._folders_to_notify, frozenset(now))
        if wanted == self._notified and self._notifier and not self._notifier.done():
            return
        await asyncio.to_thread(importlib.import_module, "watchfiles")  # takes 30 ms
        await self._stop_listening()
        self._notified = wanted
        if wanted and not self._closed:
            folders = sorted({folder for folder, _ in wanted})
            notifier = self._notifier = asyncio.create_task(self._notify(folders))
            notifier.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            await asyncio.sleep(0)  # until the task waits for events

    def _folders_to_notify(self, paths: frozenset[Path]) -> frozenset[tuple[Path, int]]:
        """Return folders with inodes: each path, or its parent if the path is a file or missing.

        Editors replace files; a watch on the file itself would stay with the old one.
        """
        folders = set()
        for path in paths:
            folder = path if path.is_dir() else path.parent
            kind = file_system_type(folder) if self._mode == "auto" else "ext4"
            if kind not in LOCAL_FILE_SYSTEMS:
                self.slow_because = f"{folder} is on {kind or 'an unknown file system'}"
                continue
            with contextlib.suppress(OSError):
                folders.add((folder, os.stat(folder).st_ino))
        return frozenset(folders)

    async def _notify(self, folders: list[Path]) -> None:
        from watchfiles import awatch

        try:
            async for _ in awatch(
                *folders,
                watch_filter=None,
                debounce=_DEBOUNCE_MS,
                step=_STEP_MS,
                recursive=False,
                force_polling=False,
                ignore_permission_denied=True,
            ):
                self._look.set()
        except (OSError, RuntimeError, ValueError) as error:
            # The user's limit of watches, a folder that was deleted, or a name that is not UTF-8.
            self.slow_because = f"inotify cannot be used: {error}"

    async def _stop_listening(self) -> None:
        notifier, self._notifier = self._notifier, None
        if notifier:
            notifier.cancel()
            await asyncio.wait([notifier])


def _stamp(path: Path) -> Stamp:
    try:
        status = os.stat(path)
    except OSError:
        return _ABSENT
    return status.st_mtime_ns, status.st_size, status.st_ino


def file_system_type(path: Path, mountinfo: Path = Path("/proc/self/mountinfo")) -> str:
    """Return the type of the file system of `path` (even if missing), e.g. "ext4"; "" if unknown.

    Source: proc(5): fields are separated by blanks, blanks in them are octal escapes.
    """
    try:
        lines = mountinfo.read_bytes().splitlines()
    except OSError:
        return ""
    place = os.path.realpath(os.fsencode(path))
    longest, kind = -1, b""
    for line in lines:
        before, separator, after = line.partition(b" - ")
        fields = before.split(b" ")
        if not separator or len(fields) < 5:
            continue
        mount = _ESCAPE.sub(lambda escape: bytes([int(escape[1], 8)]), fields[4])
        inside = place == mount or place.startswith(mount.rstrip(b"/") + b"/")
        # A later mount on the same place hides the earlier one.
        if inside and len(mount) >= longest:
            longest, kind = len(mount), after.split(b" ")[0]
    return _ESCAPE.sub(lambda escape: bytes([int(escape[1], 8)]), kind).decode("ascii", "replace")


_ESCAPE = re.compile(rb"\\([0-3][0-7]{2})")
