"""Atomic writes (write a temporary file, fsync, rename) and bounded reads."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from rowtui.core.base.errors import RowtuiError

TYPE_CHECKING = False  # as typing.TYPE_CHECKING, without importing typing
if TYPE_CHECKING:
    from collections.abc import Mapping


def temporary_sibling(path: Path) -> Path:
    """Return a new hidden name beside `path`, on the same file system, that ends in `.tmp`."""
    return path.parent / f".{path.name}.{os.urandom(8).hex()}.tmp"


def write_all(fd: int, data: bytes) -> None:
    """Write all of `data`, in as many pieces as the system accepts."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def append_lines(fd: int, data: bytes) -> int:
    """Append whole lines and fsync; `fd` appends and can be read. Return the size before.

    A last line that a killed process left without its end becomes a line of its own.
    """
    size = os.fstat(fd).st_size
    if size and os.pread(fd, 1, size - 1) != b"\n":
        data = b"\n" + data
    write_all(fd, data)
    os.fsync(fd)
    return size


def write_synced(path: Path, data: bytes, mode: int = 0o666) -> None:
    """Create `path` (it must not exist), write it and fsync it. `mode`: less the user's umask."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        write_all(fd, data)
        os.fsync(fd)
    finally:
        os.close(fd)


def is_gone(path: Path) -> bool:
    """Whether there certainly is no file of this name; False if this cannot be determined."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return True
    except OSError:
        pass
    return False


def sync_folder(folder: Path) -> None:
    """Make renames and links in `folder` durable, on file systems that support it."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):
            os.fsync(fd)
    finally:
        os.close(fd)


def replace_file(
    path: Path, data: bytes, mode: int = 0o666, *, exactly_like: os.stat_result | None = None
) -> None:
    """Replace `path` with `data`: readers see either the whole old or the whole new content.

    `mode`: less the user's umask. `exactly_like`: use the mode of that file, independent of the
    umask, and its group where possible. Raises: OSError; the old content is then untouched and no
    temporary file is left.
    """
    temporary = temporary_sibling(path)
    try:
        write_synced(temporary, data, mode)
        if exactly_like is not None:
            with contextlib.suppress(OSError):
                os.chown(temporary, -1, exactly_like.st_gid)
            os.chmod(temporary, stat.S_IMODE(exactly_like.st_mode))
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(path.parent)


def publish_new(path: Path, data: bytes) -> os.stat_result | None:
    """Create `path` with `data` atomically; return the file's status, None if the path exists.

    link(2) is the compare-and-swap: it works on all shared file systems known to us.
    """
    temporary = temporary_sibling(path)
    try:
        write_synced(temporary, data)
        status = os.stat(temporary)
        try:
            os.link(temporary, path)
        except FileExistsError:
            return None
        sync_folder(path.parent)
        return status
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def read_bounded(path: Path, limit: int) -> bytes:
    """Return the content of a regular file of at most `limit` bytes.

    Raises: OSError; RowtuiError if it is larger, or not a regular file (a pipe would hang).
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise RowtuiError(f"{path} is not a regular file")
        if status.st_size > limit:
            raise RowtuiError(
                f"{path} has {status.st_size:,} bytes, more than the {limit:,} that are allowed"
            )
        chunks = []
        left = limit + 1
        while left > 0 and (chunk := os.read(fd, min(left, 1 << 20))):
            chunks.append(chunk)
            left -= len(chunk)
        if left <= 0:
            raise RowtuiError(f"{path} grew past the {limit:,} bytes that are allowed")
        return b"".join(chunks)
    finally:
        os.close(fd)


def row_config_folder(environ: Mapping[str, str]) -> Path | None:
    """Return the folder of Row's own configuration: below ROW_HOME, otherwise below HOME."""
    home = environ.get("ROW_HOME") or environ.get("HOME")
    return Path(home) / ".config" / "row" if home else None


def own_config_folder(environ: Mapping[str, str]) -> Path | None:
    """Return the folder of rowtui's own configuration: XDG_CONFIG_HOME, otherwise ~/.config."""
    folder = environ.get("XDG_CONFIG_HOME", "")
    if folder.startswith("/"):  # the standard requires that relative paths are ignored
        return Path(folder) / "rowtui"
    home = environ.get("HOME")
    return Path(home) / ".config" / "rowtui" if home else None


def configuration_files(environ: Mapping[str, str]) -> list[Path]:
    """Return the user's configuration files of clusters and launchers, existing or not."""
    row, own = row_config_folder(environ), own_config_folder(environ)
    files = [] if row is None else [row / "clusters.toml", row / "launchers.toml"]
    return files if own is None else [*files, own / "clusters.toml"]
