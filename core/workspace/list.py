"""The directories of a workspace, and the order in which reading them is fastest.

The input is the path of the workspace. The result is the names of its directories and their inodes,
with the data that shows later whether the listing is still valid. Row's rule applies: a directory
is what readdir reports as one; no symlinks, no files; hidden directories are included.
"""

from __future__ import annotations

import os
import time
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.workspace.native import native_reader

# Stamps of value files, time and size as columns; an edited file has another stamp.


Stamp = tuple[int, int]  # (mtime_ns, size)

# The stamp of a directory without a value file.
NO_STAMP: Final[Stamp] = (0, 0)


class Stamps(Sequence[Stamp]):
    """A stamp for each name, as two arrays: `times` (mtime_ns) and `sizes` (bytes)."""

    __slots__ = ("sizes", "times")

    def __init__(self, count: int) -> None:
        """Start with `count` stamps of `NO_STAMP`."""
        self.times = array("q", bytes(8 * count))
        self.sizes = array("q", bytes(8 * count))

    def __len__(self) -> int:
        return len(self.times)

    def __getitem__(self, at: int) -> Stamp:  # type: ignore[override]
        return self.times[at], self.sizes[at]

    def append(self, stamp: Stamp) -> None:
        """Append one stamp."""
        self.times.append(stamp[0])
        self.sizes.append(stamp[1])

    def __eq__(self, other: object) -> bool:
        """Compare, also with a plain list of stamps."""
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Stamps({list(self)})"


# A folder that changed within this time may change again within one tick of its file system's clock
# (2 s on the coarsest) without a new modification time.
RACY_NS = 2_000_000_000

STATE_FOLDER = b".row"
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class DirectoryListing(NamedTuple):
    """The directories of a workspace at one moment, sorted by name.

    `mtime_ns` (the workspace's) and `listed_at_ns` (this machine's clock) were taken before the
    listing began, so that the next comparison detects a change during the listing.
    """

    names: list[bytes]
    inodes: Sequence[int]
    mtime_ns: int
    listed_at_ns: int

    def inodes_of(self, names: list[bytes]) -> Sequence[int]:
        """Return the inodes of these names of the listing, in their order."""
        if names is self.names:
            return self.inodes
        return [self.inodes[bisect_left(self.names, name)] for name in names]

    @property
    def racy(self) -> bool:
        """Whether a later change may have an equal mtime, so that the next check must list again.

        A modification time in the future (a clock that jumped back) counts as racy too.
        """
        return self.listed_at_ns - self.mtime_ns < RACY_NS


def list_workspace(path: Path) -> DirectoryListing:
    """List the directories of the workspace `path` (which may itself be a symlink).

    Raises: RowtuiError if it is missing, not a directory or unreadable. If the workspace is the
    project's own folder, the folder with the project's state is left out. Inodes are from scandir,
    without a stat per directory.
    """
    fd = open_workspace(path)
    try:
        listed_at = time.time_ns()
        mtime = os.fstat(fd).st_mtime_ns
        names, inodes = _folders(fd)
    except OSError as error:
        raise _unusable(path, error) from None
    finally:
        os.close(fd)
    if STATE_FOLDER in names and (path / "workflow.toml").exists():
        at = names.index(STATE_FOLDER)
        del names[at], inodes[at]
    return DirectoryListing(names, inodes, mtime, listed_at)


def _folders(fd: int) -> tuple[list[bytes], array[int]]:
    """Return the names, sorted, and the inodes of the folders in an open folder."""
    native = native_reader()
    if native:
        names, cells = native.folders(fd)
        return names, array("Q", cells)
    names = []
    inodes = array("Q")
    with os.scandir(fd) as entries:
        while some := list(islice(entries, _AT_ONCE)):
            found = [entry for entry in some if entry.is_dir(follow_symlinks=False)]
            inodes.extend([entry.inode() for entry in found])
            # scandir of a descriptor gives str; os.fsencode restores the exact bytes. No name
            # contains a NUL, and one long text is encoded much faster than many short ones.
            if found:
                text = "\0".join([entry.name for entry in found])
                names += os.fsencode(text).split(b"\0")
    order = sorted(range(len(names)), key=names.__getitem__)
    return [names[at] for at in order], array("Q", map(inodes.__getitem__, order))


_AT_ONCE = 1 << 12  # entries; the entries of a million directories would take 250 MB


def workspace_mtime_ns(path: Path) -> int:
    """Return the workspace's modification time, to compare with a listing's.

    Raises: RowtuiError like `list_workspace`.
    """
    try:
        return os.stat(path).st_mtime_ns
    except OSError as error:
        raise _unusable(path, error) from None


def open_workspace(path: Path) -> int:
    """Return a descriptor of the workspace, for `dir_fd`. The caller closes it.

    Raises: RowtuiError like `list_workspace`.
    """
    try:
        return os.open(path, _FOLDER_FLAGS)
    except OSError as error:
        raise _unusable(path, error) from None


def _unusable(path: Path, error: OSError) -> RowtuiError:
    shown = visible(str(path))
    if isinstance(error, FileNotFoundError):
        return RowtuiError(
            f"the workspace {shown} does not exist",
            "create the folder, or set `path` in the [workspace] table of workflow.toml",
        )
    if isinstance(error, NotADirectoryError):
        return RowtuiError(
            f"the workspace {shown} is not a folder",
            "set `path` in the [workspace] table of workflow.toml to the folder of directories",
        )
    if isinstance(error, PermissionError):
        return RowtuiError(
            f"the workspace {shown} cannot be read: permission denied",
            "you need read and execute permission on it; see `ls -ld`",
        )
    return RowtuiError(
        f"the workspace {shown} cannot be read: {error.strerror or error}",
        "check that its file system is mounted and answers",
    )
