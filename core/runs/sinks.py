"""Publishing: a sink's product of each sample, copied out to its place in the project.

Takes the sink and its samples; decides every target before anything is copied, so that no two
samples have one. A copy appears as a whole; what is there unchanged is left alone. No target
leaves the project, also not through symbolic links, and none is rowtui's own or a file that
people write.
"""

from __future__ import annotations

import contextlib
import errno
import filecmp
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from rowtui.core.errors import RowtuiError
from rowtui.core.network.names import case_collisions, escaped, text_of
from rowtui.core.network.spec import JSON, Sink
from rowtui.core.text import visible

_PART = re.compile(r"\{([^{}]*)\}")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_PIECE = 1 << 24
# Of the project's own folder: what rowtui and people keep there.
_NOT_OURS = frozenset(
    (".row", ".git", "workflow.toml", "network.toml", "mapping.yml", "mirror.toml", ".rowtui-copy")
)


class Publication(NamedTuple):
    """A sample to be published: its directory, and its dimensions' values."""

    directory: str
    sample: Mapping[str, JSON]


class Published(NamedTuple):
    """What became of them: (directory, target) each; `failed` with the reason.

    Targets are relative to the project.
    """

    published: list[tuple[str, str]]
    unchanged: list[tuple[str, str]]
    failed: list[tuple[str, str]]


def targets(
    sink: Sink, network: str, samples: Iterable[Publication], *, ignores_case: bool = False
) -> dict[str, str]:
    """Directory -> where its product goes, relative to the project.

    `ignores_case`: the file system takes `a` and `A` for one name.
    Raises: RowtuiError if two samples have one target, or one's is a folder of the other's; if the
    template names what there is not, or leads out of the project.
    """
    found: dict[str, str] = {}
    for each in samples:
        found[each.directory] = target_of(sink, network, each)
    paths = list(found.values())
    seen: dict[str, str] = {}
    for owner, path in found.items():
        if (before := seen.setdefault(path, owner)) != owner:
            raise _two(sink, before, owner, path)
    for one, other in case_collisions(paths) if ignores_case else ():
        raise _two(sink, seen[one], seen[other], other)
    for path, owner in seen.items():
        for parent in PurePosixPath(path).parents:
            if (other_owner := seen.get(str(parent))) is not None:
                raise _two(sink, other_owner, owner, str(parent))
    return found


def _two(sink: Sink, first: str, second: str, path: str) -> RowtuiError:
    return RowtuiError(
        f"sink {visible(sink.name)}: samples {visible(first)} and {visible(second)} would both be "
        f"published to {visible(path)}",
        "name each dimension in `publish`, or use {sample}",
    )


def target_of(sink: Sink, network: str, each: Publication) -> str:
    """Where one sample's product goes. Raises: RowtuiError."""
    product = PurePosixPath(sink.output)
    known = {
        "sample": each.directory,
        "node": escaped(sink.source),
        "network": escaped(network),
        "file": product.name,
        "ext": product.suffix,
    }
    known |= {name: text_of(value) for name, value in each.sample.items()}

    def fill(match: re.Match[str]) -> str:
        try:
            return known[match[1]]
        except KeyError:
            raise RowtuiError(
                f"sink {visible(sink.name)}: `publish` has {{{visible(match[1])}}}, which sample "
                f"{visible(each.directory)} does not have",
                f"it may name {', '.join(f'{{{visible(name)}}}' for name in known)}",
            ) from None

    path = _PART.sub(fill, sink.publish)
    parts = path.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise RowtuiError(
            f'sink {visible(sink.name)}: "{visible(path)}" is not a path inside the project',
            "`publish` is relative to the project's folder, without `..`, and names a file",
        )
    if parts[0] in _NOT_OURS:
        raise RowtuiError(
            f'sink {visible(sink.name)}: nothing is published to "{visible(path)}"',
            "choose a folder of its own, like `results/`",
        )
    return path


def publish(
    root: Path, workspace: Path, sink: Sink, network: str, samples: Sequence[Publication]
) -> Published:
    """Copy the product of each of these samples to its place. One that fails stops no other.

    `root`: the project's folder.
    Raises: RowtuiError as `targets` does, before anything is copied.
    """
    result = Published([], [], [])
    wanted = targets(sink, network, samples, ignores_case=_ignores_case(root))
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    touched: set[str] = set()
    try:
        for directory, target in wanted.items():
            try:
                changed = _copy(fd, workspace / directory / sink.output, target)
            except OSError as error:
                why = f"cannot be published to {visible(target)}: {error.strerror or error}"
                result.failed.append((directory, why))
            except RowtuiError as error:
                why = f"cannot be published to {visible(target)}: {error.message}"
                result.failed.append((directory, why))
            else:
                (result.published if changed else result.unchanged).append((directory, target))
                if changed:
                    touched.add(os.path.dirname(target))
        for folder in touched:
            with contextlib.suppress(OSError, RowtuiError), _folder(fd, folder) as inner:
                os.fsync(inner)
    finally:
        os.close(fd)
    return result


def _ignores_case(root: Path) -> bool:
    try:
        return os.path.samefile(root / "workflow.toml", root / "WORKFLOW.TOML")
    except OSError:
        return False


def _copy(root: int, source: Path, target: str) -> bool:
    """Whether it was copied: not if it is there, unchanged. Raises: OSError, RowtuiError."""
    reading = os.open(source, _FILE)
    try:
        status = os.fstat(reading)
        if not stat.S_ISREG(status.st_mode):
            raise RowtuiError(f"{visible(source.name)} is not a regular file")
        folder, name = os.path.split(target)
        with _folder(root, folder) as there:
            if _is_same(source, status, there, name):
                return False
            temporary = f".rowtui-{os.urandom(8).hex()}.tmp"
            try:
                writing = os.open(temporary, _NEW, 0o666, dir_fd=there)
                try:
                    while os.sendfile(writing, reading, None, _PIECE):
                        pass
                    os.utime(writing, ns=(status.st_mtime_ns, status.st_mtime_ns))
                    os.fsync(writing)
                finally:
                    os.close(writing)
                os.rename(temporary, name, src_dir_fd=there, dst_dir_fd=there)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary, dir_fd=there)
                raise
    finally:
        os.close(reading)
    return True


def _is_same(source: Path, status: os.stat_result, there: int, name: str) -> bool:
    """Whether the target has the product's content; by size and time, else byte by byte."""
    try:
        now = os.stat(name, dir_fd=there, follow_symlinks=False)
    except FileNotFoundError:
        return False
    if os.path.samestat(now, status):
        raise RowtuiError("that is the product itself")
    if stat.S_ISDIR(now.st_mode):
        raise RowtuiError("a folder of that name is there")
    if not stat.S_ISREG(now.st_mode) or now.st_size != status.st_size:
        return False
    if now.st_mtime_ns == status.st_mtime_ns:
        return True
    return filecmp.cmp(source, f"/proc/self/fd/{there}/{name}", shallow=False)


@contextlib.contextmanager
def _folder(root: int, path: str) -> Iterator[int]:
    """A descriptor of a folder inside the project, made if need be; no symbolic link is followed.

    Raises: OSError; RowtuiError if a part of it is no folder.
    """
    at = os.dup(root)
    try:
        for part in PurePosixPath(path).parts:
            try:
                inner = _opened(at, part)
            except OSError as error:
                if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                    raise
                raise RowtuiError(
                    f"{visible(part)} on the way there is not a folder, or is a symbolic link"
                ) from None
            os.close(at)
            at = inner
        yield at
    finally:
        os.close(at)


def _opened(at: int, part: str) -> int:
    try:
        return os.open(part, _FOLDER, dir_fd=at)
    except FileNotFoundError:
        with contextlib.suppress(FileExistsError):
            os.mkdir(part, dir_fd=at)
        return os.open(part, _FOLDER, dir_fd=at)
