"""Write files on this machine, first under a temporary name, and rename them when complete.

The received part of `a/b` is in `a/.rowtui-part/b` until `finish`. The caller ensures that no
folder above is a link (`Mirror`); a link at the last name is never followed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from pathlib import Path

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.mirror.model import PARTIAL, CopyFailure, FileFacts, MirrorError, explain

HERE = "this machine"
_CHUNK = 1 << 20


def open_partial(place: Path) -> int:
    """Open the file with the received part of `place`, for reading and writing.

    Raises: OSError.
    """
    folder = place.parent / PARTIAL
    os.makedirs(folder, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(folder / place.name, flags, 0o666)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise RowtuiError(f"{visible(str(folder / place.name))} is not a file")
    return fd


def finish(place: Path, facts: FileFacts) -> None:
    """Set the time of a received file and move it to its name. Raises: OSError."""
    partial = place.parent / PARTIAL / place.name
    if facts.executable:
        mode = os.stat(partial).st_mode
        os.chmod(partial, mode | (mode & 0o444) >> 2)  # readers may execute
    os.utime(partial, ns=(facts.mtime_ns, facts.mtime_ns))
    os.replace(partial, place)
    remove_empty(place)


def discard(place: Path) -> None:
    """Delete the received part of a file."""
    with contextlib.suppress(OSError):
        os.unlink(place.parent / PARTIAL / place.name)
    remove_empty(place)


def remove_empty(place: Path) -> None:
    """Remove the folder of partial files if it is empty."""
    with contextlib.suppress(OSError):
        os.rmdir(place.parent / PARTIAL)


def write_whole(place: Path, data: bytes, facts: FileFacts) -> None:
    """Write a small file. Raises: OSError."""
    fd = open_partial(place)
    try:
        os.ftruncate(fd, 0)
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
    finally:
        os.close(fd)
    finish(place, facts)


def make_link(place: Path, target: str) -> None:
    """Make a link, replacing a file or link of that name. Raises: OSError."""
    folder = place.parent / PARTIAL
    os.makedirs(folder, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(folder / place.name)
    os.symlink(target, folder / place.name)
    os.replace(folder / place.name, place)
    remove_empty(place)


def checksum_of(fd: int, size: int) -> hashlib._Hash | None:
    """Return the SHA-256 of the first `size` bytes of an open file; None if it has fewer.

    Raises: OSError.
    """
    digest = hashlib.sha256()
    at = 0
    while at < size:
        data = os.pread(fd, min(_CHUNK, size - at), at)
        if not data:
            return None
        digest.update(data)
        at += len(data)
    return digest


def explain_here(error: OSError, what: str, root: Path) -> MirrorError:
    """Return the error for a file of this machine, in the project's folder."""
    name = f" ({visible(os.fsdecode(error.filename))})" if error.filename else ""
    return explain(f"{error.strerror or error}{name}", HERE, what, str(root))


def changed_meanwhile(path: str) -> MirrorError:
    """Return the error for a file that changed while it was copied."""
    return MirrorError(
        CopyFailure.OTHER,
        f"{visible(path)} changed while it was copied",
        "do the same again once nobody writes it",
    )
