"""Files that are never half written: write-temp, fsync, rename; and reads that are bounded."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from rowtui.core.errors import RowtuiError

TYPE_CHECKING = False  # as typing.TYPE_CHECKING, without importing typing
if TYPE_CHECKING:
    from collections.abc import Mapping


def temporary_sibling(path: Path) -> Path:
    """A new hidden name beside `path`, on the same file system, that ends in `.tmp`."""
    return path.parent / f".{path.name}.{os.urandom(8).hex()}.tmp"


def write_all(fd: int, data: bytes) -> None:
    """Write all of `data`, in as many pieces as the system takes it."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def write_synced(path: Path, data: bytes, mode: int = 0o666) -> None:
    """Create `path` (it must not exist), write it and fsync it. `mode`: less the user's umask."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        write_all(fd, data)
        os.fsync(fd)
    finally:
        os.close(fd)


def is_gone(path: Path) -> bool:
    """Whether there certainly is nothing of this name; not, if that cannot be told."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return True
    except OSError:
        pass
    return False


def sync_folder(folder: Path) -> None:
    """Make renames and links in `folder` durable. File systems that cannot are left alone."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):
            os.fsync(fd)
    finally:
        os.close(fd)


def replace_file(
    path: Path, data: bytes, mode: int = 0o666, *, exactly_like: os.stat_result | None = None
) -> None:
    """Replace `path` with `data`: readers see all of the old or all of the new.

    `mode`: less the user's umask. `exactly_like`: with the mode of that file, whatever the umask,
    and its group where that can be.
    Raises: OSError; the old content is then untouched and no temporary file is left.
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


def publish_new(path: Path, data: bytes) -> bool:
    """Create `path` with `data` in one step; False if somebody else was faster.

    link(2) is the compare-and-swap: it works on every shared file system that we know of.
    """
    temporary = temporary_sibling(path)
    try:
        write_synced(temporary, data)
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        sync_folder(path.parent)
        return True
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def read_bounded(path: Path, limit: int) -> bytes:
    """All of a regular file of at most `limit` bytes.

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
    """Where Row's own configuration is: below ROW_HOME, else below HOME."""
    home = environ.get("ROW_HOME") or environ.get("HOME")
    return Path(home) / ".config" / "row" if home else None


def own_config_folder(environ: Mapping[str, str]) -> Path | None:
    """Where rowtui's own configuration is: XDG_CONFIG_HOME, else ~/.config."""
    folder = environ.get("XDG_CONFIG_HOME", "")
    if folder.startswith("/"):  # the standard says: ignore relative ones
        return Path(folder) / "rowtui"
    home = environ.get("HOME")
    return Path(home) / ".config" / "rowtui" if home else None


def configuration_files(environ: Mapping[str, str]) -> list[Path]:
    """Where the user's descriptions of clusters and launchers are, whether they exist or not."""
    row, own = row_config_folder(environ), own_config_folder(environ)
    files = [] if row is None else [row / "clusters.toml", row / "launchers.toml"]
    return files if own is None else [*files, own / "clusters.toml"]
