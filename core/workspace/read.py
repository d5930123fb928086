"""What the directories of a workspace contain: their JSON values and their product files.

Takes the workspace, names and what to look for; gives columns aligned to the names. A directory
that cannot be used is set aside with a reason for people and never stops the others; one that
went away while it was read is reported apart. Source: Row A3.3, A3.5.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rowtui.core.errors import RowtuiError
from rowtui.core.text import visible
from rowtui.core.workspace.completion import Products
from rowtui.core.workspace.list import open_workspace
from rowtui.core.workspace.value import NotJSONError, compact_value
from rowtui.core.workspace.workers import Workers, in_chunks

Progress = Callable[[int, int], None]  # (done, total)
Stamp = tuple[int, int]  # (mtime_ns, size)

# A value file is a few hundred bytes; one this large is a mistake that would fill the memory.
VALUE_LIMIT = 64 << 20

# The stamp of a directory without a value file.
NO_STAMP: Stamp = (0, 0)

# O_NOFOLLOW: the name was a directory when it was listed; a symlink in its place is another thing.
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a named pipe must not wait for a writer.
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

# Not the directory's fault: the whole reading stops.
_OURS = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOMEM))


class Reading(NamedTuple):
    """What was found, as columns aligned to the names that were asked for.

    `raw`: compact JSON bytes; None without a value file, and for bad and vanished directories.
    `stamps`: (mtime_ns, size) of the value file as it was before it was read; `NO_STAMP` if none.
    `bad`: position -> why the directory is set aside. `vanished`: positions of directories that no
    longer exist. `completed`: action -> bit set over positions, an entry for every action.
    """

    raw: list[bytes | None]
    stamps: list[Stamp]
    bad: dict[int, str]
    vanished: list[int]
    completed: dict[str, int]


def read_directories(
    workspace: Path,
    names: Sequence[bytes],
    *,
    value_file: str | None,
    products: Mapping[str, tuple[str, ...]],
    workers: Workers | None = None,
    progress: Progress | None = None,
    value_limit: int = VALUE_LIMIT,
) -> Reading:
    """Read the value and look for the products of each directory, best in inode order.

    `products` maps actions to product paths relative to a directory. `progress` is called in this
    thread. `value_limit` is in bytes; a larger value file is bad.
    Raises: RowtuiError if the workspace cannot be read, or a worker process was ended.
    """
    total = len(names)
    reading = Reading([None] * total, [NO_STAMP] * total, {}, [], {})
    sets = {action: bytearray((total + 7) >> 3) for action in products}
    if value_file is not None:
        _refuse_unusable(value_file)
        import orjson  # noqa: F401  (before any fork: once instead of once in every process)
    wanted = {action: tuple(paths) for action, paths in products.items()}
    arguments = (os.fsencode(workspace), value_file, wanted, value_limit)
    done = 0
    for start, found in in_chunks(Reader, arguments, names, workers or Workers.for_count(total)):
        raw, stamps, bad, vanished, completed = found
        count = len(raw)
        reading.raw[start : start + count] = raw
        reading.stamps[start : start + count] = stamps
        reading.bad.update((start + position, reason) for position, reason in bad.items())
        reading.vanished.extend(start + position for position in vanished)
        for action, members in completed.items():
            cells = members.to_bytes((count + 7) >> 3, "little")
            sets[action][start >> 3 : (start >> 3) + len(cells)] = cells
        done += count
        if progress:
            progress(done, total)
    reading.vanished.sort()
    for action, whole in sets.items():
        reading.completed[action] = int.from_bytes(whole, "little")
    return reading


def stat_values(
    workspace: Path,
    names: Sequence[bytes],
    value_file: str,
    *,
    workers: Workers | None = None,
    progress: Progress | None = None,
) -> list[Stamp | None]:
    """(mtime_ns, size) of each value file as it is now, None where there is none.

    A stamp that differs from the one in `Reading.stamps` means that the file was edited.
    Raises: RowtuiError like `read_directories`.
    """
    _refuse_unusable(value_file)
    total = len(names)
    stamps: list[Stamp | None] = [None] * total
    arguments = (os.fsencode(workspace), value_file)
    done = 0
    for start, found in in_chunks(Stamper, arguments, names, workers or Workers.for_count(total)):
        stamps[start : start + len(found)] = found
        done += len(found)
        if progress:
            progress(done, total)
    return stamps


class Reader:
    """The task of `read_directories`: reads a chunk of directories through one open workspace."""

    def __init__(
        self,
        workspace: bytes,
        value_file: str | None,
        products: dict[str, tuple[str, ...]],
        value_limit: int,
    ) -> None:
        self._root = open_workspace(Path(os.fsdecode(workspace)))
        self._value_file = value_file
        self._shown = visible(value_file or "")
        self._limit = value_limit
        self._products = Products(products)

    def close(self) -> None:
        """Let go of the workspace."""
        os.close(self._root)

    def __call__(self, names: Sequence[bytes]) -> tuple[Any, ...]:
        """(raw, stamps, bad, vanished, completed) for these names, as in `Reading`."""
        raw: list[bytes | None] = []
        stamps: list[Stamp] = []
        bad: dict[int, str] = {}
        vanished: list[int] = []
        complete: list[int] = []
        value_file, looks = self._value_file, bool(self._products)
        for position, name in enumerate(names):
            value: bytes | None = None
            stamp, actions, reason = NO_STAMP, 0, ""
            try:
                folder = os.open(name, _FOLDER, dir_fd=self._root)
                try:
                    if value_file is not None:
                        value, stamp, reason = self._read(folder, value_file)
                    if looks:
                        actions = self._products.complete_in(folder)
                finally:
                    os.close(folder)
            except OSError as error:
                _stop_if_ours(error)
                value, reason = None, f"the directory cannot be read: {error.strerror}"
            if reason and self._is_gone(name):
                vanished.append(position)
                value, stamp, actions = None, NO_STAMP, 0
            elif reason:
                bad[position] = reason
            raw.append(value)
            stamps.append(stamp)
            complete.append(actions)
        return raw, stamps, bad, vanished, self._products.bit_sets(complete)

    def _read(self, folder: int, value_file: str) -> tuple[bytes | None, Stamp, str]:
        """(compact JSON or None, stamp, why there is none) of the directory `folder`."""
        try:
            fd = os.open(value_file, _FILE, dir_fd=folder)
        except FileNotFoundError:
            return None, NO_STAMP, f"it has no value file {self._shown}"
        except OSError as error:
            _stop_if_ours(error)
            if error.errno == errno.ENXIO:  # a socket
                return None, NO_STAMP, f"{self._shown} is not a regular file"
            return None, NO_STAMP, f"{self._shown} cannot be read: {error.strerror}"
        try:
            # Before reading: an edit in between leaves a stamp that is older than the file.
            status = os.fstat(fd)
            stamp = status.st_mtime_ns, status.st_size
            if not stat.S_ISREG(status.st_mode):
                return None, stamp, f"{self._shown} is not a regular file"
            if stamp[1] > self._limit:
                return None, stamp, self._too_large(stamp[1])
            text = os.read(fd, max(stamp[1] + 1, 512))
            if len(text) != stamp[1]:  # it grew or shrank just now, or reads are cut short
                text = self._read_on(fd, text)
        except OSError as error:
            _stop_if_ours(error)
            return None, NO_STAMP, f"{self._shown} cannot be read: {error.strerror}"
        finally:
            os.close(fd)
        if len(text) > self._limit:
            return None, stamp, self._too_large(len(text))
        try:
            return compact_value(text), stamp, ""
        except NotJSONError as error:
            return None, stamp, f"{self._shown} is not valid JSON: {error}"

    def _too_large(self, size: int) -> str:
        return f"{self._shown} has {size:,} bytes, more than the {self._limit:,} allowed"

    def _read_on(self, fd: int, text: bytes) -> bytes:
        parts, length = [text], len(text)
        while length <= self._limit and (part := os.read(fd, self._limit + 1 - length)):
            parts.append(part)
            length += len(part)
        return b"".join(parts)

    def _is_gone(self, name: bytes) -> bool:
        """Whether the name no longer is a directory (a symlink in its place isn't one)."""
        try:
            status = os.stat(name, dir_fd=self._root, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:
            return False
        return not stat.S_ISDIR(status.st_mode)


class Stamper:
    """The task of `stat_values`."""

    def __init__(self, workspace: bytes, value_file: str) -> None:
        self._root = open_workspace(Path(os.fsdecode(workspace)))
        self._file = os.fsencode(value_file)

    def close(self) -> None:
        """Let go of the workspace."""
        os.close(self._root)

    def __call__(self, names: Sequence[bytes]) -> list[Stamp | None]:
        """One stamp per name."""
        found: list[Stamp | None] = []
        for name in names:
            try:
                status = os.stat(os.path.join(name, self._file), dir_fd=self._root)
            except OSError as error:
                _stop_if_ours(error)
                found.append(None)
            else:
                found.append((status.st_mtime_ns, status.st_size))
        return found


def _refuse_unusable(value_file: str) -> None:
    if not value_file or "\0" in value_file:
        raise RowtuiError(
            f"value_file = {visible(value_file)!r} cannot be the name of a file",
            "mend `value_file` in the [workspace] table of workflow.toml",
        )


def _stop_if_ours(error: OSError) -> None:
    if error.errno in _OURS:
        raise RowtuiError(
            f"the workspace cannot be read: {error.strerror}",
            "raise the limit (`ulimit -n`), or use fewer --io-threads",
        ) from None
