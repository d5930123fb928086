"""The reading of a chunk of directories, in the process and thread that asks for it.

The input is the workspace and what to search for; the result is columns aligned to the names of the
chunk, in forms that pass between processes. `read` combines the chunks.
"""

from __future__ import annotations

import errno
import os
import stat
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.workspace.completion import FEW, Products
from rowtui.core.workspace.list import NO_STAMP, Stamp, open_workspace
from rowtui.core.workspace.value import NotJSONError

if TYPE_CHECKING:
    from rowtui.core.workspace.batch import ValueBatch

# O_NOFOLLOW: the name was a directory when it was listed; a symlink in its place is not the same.
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a named pipe must not wait for a writer.
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

# Errors that no directory causes: the whole reading stops.
_OURS = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOMEM))


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
                if is_gone(root, name):
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


def is_gone(root: int, name: bytes) -> bool:
    """Whether the name no longer is a directory (a symlink in its place is none)."""
    try:
        status = os.stat(name, dir_fd=root, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return not stat.S_ISDIR(status.st_mode)


def _stop_if_ours(error: OSError) -> None:
    if error.errno in _OURS:
        raise RowtuiError(
            f"the workspace cannot be read: {error.strerror}",
            "raise the limit (`ulimit -n`), or use fewer --io-threads",
        ) from None
