"""Reading of the directories of a workspace: their JSON values and their product files.

The input is the workspace, names and what to search for; the result is columns aligned to the
names. A directory that cannot be used is set aside with a reason for the user and does not stop the
others. A directory that was deleted during the reading is reported separately.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import orjson
from rowtui.core.base.text import visible
from rowtui.core.workspace.completion import FEW, Products
from rowtui.core.workspace.list import (
    NO_STAMP,
    RACY_NS,
    Stamp,
    Stamps,
    list_workspace,
    open_workspace,
    workspace_mtime_ns,
)
from rowtui.core.workspace.native import Wanted, read_natively
from rowtui.core.workspace.value import NotJSONError
from rowtui.core.workspace.workers import PROCESSES_PAY_FROM, Workers, in_chunks

if TYPE_CHECKING:
    from rowtui.core.state.pointer_values import Pointed
    from rowtui.core.workspace.batch import ValueBatch

Progress = Callable[[int, int], None]  # (done, total)

# A value file has a few hundred bytes; one of this size is a mistake and would fill the memory.
VALUE_LIMIT = 64 << 20

# O_NOFOLLOW: the name was a directory when it was listed; a symlink in its place is not the same.
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a named pipe must not wait for a writer.
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

# Errors that no directory causes: the whole reading stops.
_OURS = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOMEM))


class WorkspaceReading(NamedTuple):
    """The result of a reading, as columns aligned to the requested names.

    `raw`: compact JSON bytes; None without a value file, and for bad and vanished directories.
    `stamps`: (mtime_ns, size) of the value file before it was read; `NO_STAMP` without a file.
    `bad`: position -> why the directory is set aside. `vanished`: positions of directories that no
    longer exist. `completed`: action -> bit set over positions, an entry for every action.
    `pointed`: the values of each requested JSON pointer.
    """

    raw: list[bytes | None]
    stamps: Stamps
    bad: dict[int, str]
    vanished: list[int]
    completed: dict[str, int]
    pointed: Mapping[str, Pointed] = {}


def read_directories(
    workspace: Path,
    names: Sequence[bytes],
    *,
    value_file: str | None,
    products: Mapping[str, tuple[str, ...]],
    pointers: Sequence[str] = (),
    stamped: bool = False,
    workers: Workers | None = None,
    progress: Progress | None = None,
    value_limit: int = VALUE_LIMIT,
) -> WorkspaceReading:
    """Read the value and search the products of each directory, best in inode order.

    `products` maps actions to product paths relative to a directory; `pointers` are resolved in
    each value. `stamped`: only the stamps of the value files are needed, no values. `progress` is
    called in this thread. `value_limit` is in bytes; a larger value file makes its directory bad.
    Each value file is opened once, and each directory listed once if products are searched. Raises:
    RowtuiError if the workspace cannot be read, or a worker process was ended.
    """
    total = len(names)
    stamps = Stamps(total)
    pointed: dict[str, Pointed] = {}
    if pointers and value_file is not None:
        from rowtui.core.state.pointer_values import Pointed

        pointed = {pointer: Pointed(total) for pointer in pointers}
    reading = WorkspaceReading([None] * total, stamps, {}, [], {}, pointed)
    sets = {action: bytearray((total + 7) >> 3) for action in products}
    if value_file is not None:
        _refuse_unusable(value_file)
    wanted = {action: tuple(paths) for action, paths in products.items()}
    place = os.path.join(os.getcwdb(), os.fsencode(workspace))
    began = workspace_mtime_ns(workspace)
    recent = time.time_ns() - began < RACY_NS
    arguments = (place, value_file, wanted, value_limit, (tuple(pointers), stamped, os.getpid()))
    done = 0
    chosen = workers or Workers.for_count(total)

    def read(some: Sequence[bytes]) -> Iterator[tuple[int, Any]]:
        if value_file is not None and not stamped:
            orjson.loads(b"0")  # loaded before any fork: once instead of once in every process
        return in_chunks(Reader, arguments, some, chosen)

    def tell(count: int) -> None:
        if progress:
            progress(count, total)

    search = Wanted(place, value_file, stamped, value_limit, wanted, tuple(pointers))
    natively = read_natively(search, names, chosen.processes * chosen.threads, tell, read)
    for start, found in [(0, natively)] if natively else read(names):
        raw, times, sizes, bad, vanished, completed, columns = found
        count = len(times) >> 3
        if raw:
            reading.raw[start : start + count] = raw
        stamps.times[start : start + count] = array("q", times)
        stamps.sizes[start : start + count] = array("q", sizes)
        if bad:
            reading.bad.update((start + position, reason) for position, reason in bad.items())
        reading.vanished.extend(start + position for position in vanished)
        for action, members in completed.items():
            if members:
                cells = members.to_bytes((count + 7) >> 3, "little")
                sets[action][start >> 3 : (start >> 3) + len(cells)] = cells
        for column, chunk in zip(pointed.values(), columns, strict=True):
            column.put(start, chunk)
        done += count
        if progress:
            progress(done, total)
    looked_only = stamped and not products
    if not looked_only and (recent or workspace_mtime_ns(workspace) != began):
        _forget_strangers(workspace, names, reading, sets)
    reading.vanished.sort()
    for action, whole in sets.items():
        reading.completed[action] = int.from_bytes(whole, "little")
    return reading


def _forget_strangers(
    workspace: Path,
    names: Sequence[bytes],
    reading: WorkspaceReading,
    sets: Mapping[str, bytearray],
) -> None:
    """Mark names as vanished that no longer are directories: a symlink may have taken their place.

    This is only called if the workspace changed during the reading, or just before.
    """
    gone = set(reading.vanished)
    if len(names) < PROCESSES_PAY_FROM:
        root = open_workspace(workspace)
        try:
            strangers = [at for at, name in enumerate(names) if _is_gone(root, name)]
        finally:
            os.close(root)
    else:
        there = set(list_workspace(workspace).names)
        strangers = [at for at, name in enumerate(names) if name not in there]
    for at in strangers:
        if at not in gone:
            reading.vanished.append(at)
            reading.bad.pop(at, None)
            reading.raw[at] = None
            reading.stamps.times[at], reading.stamps.sizes[at] = NO_STAMP
            for cells in sets.values():
                cells[at >> 3] &= ~(1 << (at & 7))


def stat_values(
    workspace: Path,
    names: Sequence[bytes],
    value_file: str,
    *,
    workers: Workers | None = None,
    progress: Progress | None = None,
) -> list[Stamp | None]:
    """Return (mtime_ns, size) of each value file as it is now, None where there is none.

    A stamp that differs from the one in `WorkspaceReading.stamps` means that the file was edited.
    Raises: RowtuiError like `read_directories`.
    """
    found = read_directories(
        workspace,
        names,
        value_file=value_file,
        products={},
        stamped=True,
        workers=workers,
        progress=progress,
    )
    return [None if stamp == NO_STAMP else stamp for stamp in found.stamps]


class Reader:
    """The task of `read_directories`: reads a chunk of directories of one open workspace.

    All paths start at the workspace, so that directories need not be opened one by one.
    """

    def __init__(
        self,
        workspace: bytes,
        value_file: str | None,
        products: dict[str, tuple[str, ...]],
        value_limit: int,
        more: tuple[tuple[str, ...], bool, int] = ((), False, 0),
    ) -> None:
        """Open the workspace.

        `more`: pointers, whether only stamps are needed, and the caller's pid.
        """
        pointers, stamped, asking = more
        self._root = open_workspace(Path(os.fsdecode(workspace)))
        # listdir does not accept a directory descriptor as a starting point
        self._prefix = workspace + b"/"
        if asking not in (0, os.getpid()):  # in a process of its own
            os.fchdir(self._root)
            self._prefix = b""
        self._value_file = value_file
        self._tail = b"/" + os.fsencode(value_file or "")
        self._shown = visible(value_file or "")
        self._limit = value_limit
        self._products = Products(products, FEW)
        self._pointers = () if value_file is None or stamped else pointers
        self._stamped = stamped

    def close(self) -> None:
        """Close the workspace."""
        os.close(self._root)

    def __call__(self, names: Sequence[bytes]) -> tuple[Any, ...]:
        """Return (raw, times, sizes, bad, vanished, completed, columns) for these names.

        The parts are as in `WorkspaceReading`; times and sizes of stamps are arrays' bytes, `raw`
        is empty if there are no values, and there is a chunk of a `Pointed` for each pointer.
        """
        times = array("q")
        sizes = array("q")
        bad: dict[int, str] = {}
        vanished: list[int] = []
        complete: list[int] = []
        entries: Sequence[bytes] = ()
        root, prefix, products = self._root, self._prefix, self._products
        looks, lists = bool(products), products.lists
        stamped, reads = self._stamped, self._value_file is not None
        values = self._batch(len(names)) if reads and not stamped else None
        for position, name in enumerate(names):
            stamp, actions, reason = NO_STAMP, 0, ""
            try:
                if lists:
                    entries = os.listdir(prefix + name)
                elif not reads:
                    os.close(os.open(name, _FOLDER, dir_fd=root))
                if looks:
                    actions = products.complete_in(entries, root, name + b"/")
            except OSError as error:
                _stop_if_ours(error)
                reason = f"the directory cannot be read: {error.strerror}"
            else:
                if values:
                    text, stamp, reason = self._read(name)
                    if not reason:
                        try:
                            values.add(position, text)
                        except NotJSONError as error:
                            reason = self._not_json(error)
                    elif not lists:
                        reason = self._why_unreadable(name) or reason
                elif stamped and reads:
                    stamp = self._stamp(name)
                    if looks and not lists and stamp == NO_STAMP:
                        reason = self._why_unreadable(name)
            if reason:
                if _is_gone(root, name):
                    vanished.append(position)
                    stamp, actions = NO_STAMP, 0
                else:
                    bad[position] = reason
            times.append(stamp[0])
            sizes.append(stamp[1])
            complete.append(actions)
        columns = values.close() if values else []
        if values and values.bad:
            bad |= {at: self._not_json(why) for at, why in values.bad.items()}
        return (
            values.raw if values else [],
            times.tobytes(),
            sizes.tobytes(),
            bad,
            vanished,
            products.bit_sets(complete) if looks else {},
            columns,
        )

    def _batch(self, count: int) -> ValueBatch:
        from rowtui.core.workspace.batch import ValueBatch

        return ValueBatch(count, self._pointers)

    def _not_json(self, why: object) -> str:
        return f"{self._shown} is not valid JSON: {why}"

    def _stamp(self, name: bytes) -> Stamp:
        try:
            status = os.stat(name + self._tail, dir_fd=self._root)
        except OSError as error:
            _stop_if_ours(error)
            return NO_STAMP
        return status.st_mtime_ns, status.st_size

    def _why_unreadable(self, name: bytes) -> str:
        """Return why a directory cannot be read, if the directory itself is the cause."""
        try:
            os.close(os.open(name, _FOLDER, dir_fd=self._root))
        except OSError as error:
            _stop_if_ours(error)
            return f"the directory cannot be read: {error.strerror}"
        return ""

    def _read(self, name: bytes) -> tuple[bytes, Stamp, str]:
        """Return (the value file's text, stamp, why there is no text) of a directory."""
        try:
            fd = os.open(name + self._tail, _FILE, dir_fd=self._root)
        except FileNotFoundError:
            return b"", NO_STAMP, f"it has no value file {self._shown}"
        except OSError as error:
            _stop_if_ours(error)
            if error.errno == errno.ENXIO:  # a socket
                return b"", NO_STAMP, f"{self._shown} is not a regular file"
            return b"", NO_STAMP, f"{self._shown} cannot be read: {error.strerror}"
        try:
            # Before reading: an edit in between leaves a stamp that is older than the file.
            status = os.fstat(fd)
            stamp = status.st_mtime_ns, status.st_size
            if not stat.S_ISREG(status.st_mode):
                return b"", stamp, f"{self._shown} is not a regular file"
            if stamp[1] > self._limit:
                return b"", stamp, self._too_large(stamp[1])
            text = os.read(fd, stamp[1] + 1 if stamp[1] else 512)
            if len(text) != stamp[1]:  # the file grew or shrank just now, or reads are cut short
                text = self._read_on(fd, text)
        except OSError as error:
            _stop_if_ours(error)
            return b"", NO_STAMP, f"{self._shown} cannot be read: {error.strerror}"
        finally:
            os.close(fd)
        if len(text) > self._limit:
            return b"", stamp, self._too_large(len(text))
        return text, stamp, ""

    def _too_large(self, size: int) -> str:
        return f"{self._shown} has {size:,} bytes, more than the {self._limit:,} allowed"

    def _read_on(self, fd: int, text: bytes) -> bytes:
        parts, length = [text], len(text)
        while length <= self._limit and (part := os.read(fd, self._limit + 1 - length)):
            parts.append(part)
            length += len(part)
        return b"".join(parts)


def _is_gone(root: int, name: bytes) -> bool:
    """Whether the name no longer is a directory (a symlink in its place is none)."""
    try:
        status = os.stat(name, dir_fd=root, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return not stat.S_ISDIR(status.st_mode)


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
