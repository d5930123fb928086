"""List the files on this machine and on the cluster.

The input is a root and a `WantedFiles`, or exact paths; the result is `FileFacts` for each file,
with notices about files that were left out. Links below the wanted folders are not followed; the
folders above them may be links, for example if a workspace is on another disk. On the cluster one
command handles thousands of paths: names are passed through stdin and stdout with NUL terminators,
never as arguments of a line. Source: -printf of GNU find; `%T@` has all digits of the modification
time.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.text import plural, visible
from rowtui.core.mirror.model import (
    FILE,
    FOLDER,
    FOLDER_FACTS,
    LINK,
    PARTIAL,
    CopyFailure,
    FileFacts,
    MirrorError,
    WantedFiles,
    distinct,
    explain_result,
    is_relative,
)

if TYPE_CHECKING:
    from rowtui.core.clusters.command_log import CommandResult
    from rowtui.core.clusters.commands import Transport

MOST_FILES = 500_000  # of one listing; their names take 50 MB
_MOST_NOTICES = 50
_LARGEST = 1 << 63  # limit of a size in bytes, and of a time in nanoseconds
_AT_ONCE = 5_000  # paths for one command, because the output for each path may be long
_TIMEOUT = 900.0  # seconds; a busy file system is slow for many folders


class FileListing(NamedTuple):
    """The files that were found, in no order, and notices for the user."""

    files: dict[str, FileFacts]
    notices: tuple[str, ...] = ()


class _Found:
    """The files found so far, filtered by the rules that apply to both sides."""

    def __init__(self, where: str) -> None:
        self.files: dict[str, FileFacts] = {}
        self.notices: list[str] = []
        self.where = where
        self._seen = 0
        self._more = 0

    def notice(self, text: str) -> None:
        if len(self.notices) < _MOST_NOTICES:
            self.notices.append(text)
        else:
            self._more += 1

    def count(self) -> None:
        """Count one more file. Raises: MirrorError if there are too many."""
        self._seen += 1
        if self._seen > MOST_FILES:
            raise too_many(self.where)

    def add(self, path: str, facts: FileFacts | None, wanted: WantedFiles, base: str) -> None:
        """Add a file if the rules permit; `facts`: None if it is no file, link or folder."""
        if not wanted.picks(path, base):
            return
        if facts is None:
            self.notice(f"{visible(path)} is left out: it is not a regular file")
        elif facts.kind == FILE and wanted.largest is not None and facts.size > wanted.largest:
            size = f"{facts.size / 1e6:,.0f} MB"
            self.notice(f"{visible(path)} is left out: it has {size} (`largest_mb` in mirror.toml)")
        else:
            if facts.kind == LINK and leads_out(path, facts.target):
                self.notice(f"{visible(path)} is a link that leads out of the project")
            self.files[path] = facts

    def listing(self) -> FileListing:
        more = (f"and {plural(self._more, 'more notice')} like these",) if self._more else ()
        return FileListing(self.files, (*self.notices, *more))


def too_many(where: str) -> MirrorError:
    """Return the error for a selection with too many files."""
    return MirrorError(
        CopyFailure.TOO_MANY,
        f"there are more than {MOST_FILES:,} files to compare on {where}",
        "leave some out: `exclude` in mirror.toml",
    )


def leads_out(path: str, target: str) -> bool:
    """Whether a link leads out of the project."""
    place = os.path.normpath(os.path.join(os.path.dirname(path), target))
    return place == ".." or place.startswith(("/", "../"))


# This machine


def list_here(root: Path, wanted: WantedFiles) -> FileListing:
    """List all wanted files of a folder on this machine. Raises: MirrorError."""
    found = _Found("this machine")
    for base in distinct(wanted.paths):
        if not wanted.descends(base, base):
            continue
        facts = _facts_at(root, base)
        if isinstance(facts, OSError):
            if not isinstance(facts, (FileNotFoundError, NotADirectoryError)):
                found.notice(f"{visible(base)} cannot be read: {facts.strerror}")
            continue
        found.count()
        if base:
            found.add(base, facts, wanted, base)
        if facts is not None and facts.kind == FOLDER:
            _go_through(root, base, wanted, found)
        elif facts is not None and facts.kind == LINK:
            found.notice(f"{visible(base)} is a link: its target is not copied")
    return found.listing()


def _go_through(root: Path, base: str, wanted: WantedFiles, found: _Found) -> None:
    todo = [base]
    while todo:
        folder = todo.pop()
        try:
            with os.scandir(root / folder) as entries:
                names = [entry.name for entry in entries]
        except OSError as error:
            found.notice(f"{visible(folder or '.')} cannot be read: {error.strerror}")
            continue
        for name in names:
            path = f"{folder}/{name}" if folder else name
            if not wanted.descends(path, base):
                continue
            facts = _facts_at(root, path)
            if isinstance(facts, OSError):
                continue  # the file was deleted in the meantime
            found.count()
            found.add(path, facts, wanted, base)
            if facts is not None and facts.kind == FOLDER:
                todo.append(path)


def facts_here(root: Path, paths: Iterable[str]) -> dict[str, FileFacts]:
    """Return the facts of exactly these paths, without the paths that do not exist."""
    found = {}
    for path in paths:
        facts = _facts_at(root, path)
        if isinstance(facts, FileFacts):
            found[path] = facts
    return found


def _facts_at(root: Path, path: str) -> FileFacts | OSError | None:
    try:
        status = os.lstat(root / path)
        target = os.readlink(root / path) if stat.S_ISLNK(status.st_mode) else ""
    except OSError as error:
        return error
    if stat.S_ISDIR(status.st_mode):
        return FOLDER_FACTS
    if stat.S_ISLNK(status.st_mode):
        return FileFacts(0, 0, LINK, target)
    if stat.S_ISREG(status.st_mode):
        runs = bool(status.st_mode & stat.S_IXUSR)
        return FileFacts(status.st_size, status.st_mtime_ns, FILE, "", runs)
    return None


def checksums_here(root: Path, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the SHA-256 of each file that can be read."""
    for path in paths:
        try:
            with open(root / path, "rb") as file:
                yield path, hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            continue


# The cluster

# find would report an error for a missing path, so missing paths are removed first.
_THERE = """for p; do if [ -e "$p" ] || [ -L "$p" ]; then printf '%s\\0' "$p"; fi; done"""
# A file that may not be read has the kind `u`.
_FIND = """[ $# -eq 0 ] || exec find "$@" DEPTH -name PARTIAL -prune -o \
-type f ! -readable -printf 'u %m %s %T@ %p\\0%l\\0' -o \
-printf '%y %m %s %T@ %p\\0%l\\0'""".replace("PARTIAL", PARTIAL)
_LIST = 'xargs -0 sh -c "$1" sh | xargs -0 sh -c "$2" sh'
_CLOSED = b"u"
_SOME_FAILED = 123  # exit status of xargs if a command ended with 1 to 125


async def list_there(
    transport: Transport, root: str, wanted: WantedFiles, where: str
) -> FileListing:
    """List all wanted files of a folder on a cluster called `where`. Raises: MirrorError."""
    found = _Found(where)
    bases = [base for base in distinct(wanted.paths) if wanted.descends(base, base)]
    for some in _in_parts(bases):
        result = await _find(transport, root, some, where, deep=True)
        owners = set(some)
        for kind, path, facts in _records(result.stdout):
            found.count()
            base = next((above for above in (path, *_above(path), "") if above in owners), None)
            if base is None or not path or not wanted.descends(path, base):
                continue
            if kind == _CLOSED and wanted.picks(path, base):
                found.notice(f"{visible(path)} cannot be read on {where}: it is left out")
            elif kind != _CLOSED:
                found.add(path, facts, wanted, base)
        for line in result.stderr.decode(errors="surrogateescape").splitlines():
            found.notice(f"{where}: {visible(line)}")
    return found.listing()


async def facts_there(
    transport: Transport, root: str, paths: Iterable[str], where: str
) -> dict[str, FileFacts]:
    """Return the facts of exactly these paths, without the paths that do not exist.

    Raises: MirrorError.
    """
    found: dict[str, FileFacts] = {}
    for some in _in_parts(list(paths)):
        result = await _find(transport, root, some, where, deep=False)
        asked = set(some)
        records = _records(result.stdout)
        found |= {path: facts for _, path, facts in records if facts is not None and path in asked}
    return found


async def checksums_there(
    transport: Transport, root: str, paths: Iterable[str], where: str
) -> AsyncIterator[tuple[str, str]]:
    """Yield the SHA-256 of each file that can be read. Raises: MirrorError."""
    for some in _in_parts(list(paths), 200):
        result = await transport.run(
            ["xargs", "-0", "sha256sum", "--"], stdin=_ended(some), timeout=_TIMEOUT,
            cwd=Path(root), env={"LC_ALL": "C"},
        )  # fmt: skip
        _refuse_unless_ended(result, where, "reading files")
        for line in result.stdout.splitlines():
            if answer := _checksum(line):
                yield answer


def _checksum(line: bytes) -> tuple[str, str] | None:
    r"""Parse a line of sha256sum; a line that begins with `\` has escapes in the name."""
    escaped = line.startswith(b"\\")
    digest, _, name = line.removeprefix(b"\\").partition(b"  ")
    if escaped:
        parts = name.split(b"\\\\")
        name = b"\\".join(p.replace(b"\\n", b"\n").replace(b"\\r", b"\r") for p in parts)
    if len(digest) != 64 or not digest.isalnum():
        return None
    return os.fsdecode(name.removeprefix(b"./")), digest.decode()


def _above(path: str) -> Iterator[str]:
    """Yield the folders above a path, the innermost first."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _in_parts(paths: Sequence[str], size: int = _AT_ONCE) -> Iterator[Sequence[str]]:
    for start in range(0, len(paths), size):
        yield paths[start : start + size]


def _ended(paths: Iterable[str]) -> bytes:
    return b"".join(b"./" + os.fsencode(path) + b"\0" for path in paths)


async def _find(
    transport: Transport, root: str, paths: Sequence[str], where: str, *, deep: bool
) -> CommandResult:
    find = _FIND.replace("DEPTH", "" if deep else "-maxdepth 0")
    result = await transport.run(
        ["sh", "-c", _LIST, "sh", _THERE, find], stdin=_ended(paths), timeout=_TIMEOUT,
        cwd=Path(root), env={"LC_ALL": "C"},
    )  # fmt: skip
    if b"-printf" in result.stderr and not result.stdout:
        message = f"find on {where} is not GNU find: it has no -printf"
        raise MirrorError(CopyFailure.LACKING, message, "ask the site for GNU findutils")
    if result.truncated:
        raise too_many(where)
    _refuse_unless_ended(result, where, "listing files")
    return result


def _refuse_unless_ended(result: CommandResult, where: str, what: str) -> None:
    if result.exit_status not in (0, _SOME_FAILED):
        raise explain_result(result, where, what)


def _records(data: bytes) -> Iterator[tuple[bytes, str, FileFacts | None]]:
    """Parse the output of find, with the kind of each file; other records are skipped."""
    fields = data.split(b"\0")
    for head, target in zip(fields[::2], fields[1::2], strict=False):
        words = head.split(b" ", 4)
        if len(words) != 5 or not (words[4] == b"." or words[4].startswith(b"./")):
            continue
        path = os.fsdecode(words[4][2:])
        if path and not is_relative(path):
            continue
        try:
            facts = _facts(words[0], int(words[1], 8), int(words[2]), words[3], target)
            yield words[0], path, facts
        except ValueError:
            continue


def _facts(kind: bytes, mode: int, size: int, when: bytes, target: bytes) -> FileFacts | None:
    if kind == b"d":
        return FOLDER_FACTS
    if kind == b"l":
        return FileFacts(0, 0, LINK, os.fsdecode(target))
    if kind not in (b"f", _CLOSED):
        return None
    seconds, _, fraction = when.partition(b".")
    mtime_ns = int(seconds) * 10**9 + int(fraction[:9].ljust(9, b"0"))
    if not 0 <= size < _LARGEST or abs(mtime_ns) >= _LARGEST:
        raise ValueError
    return FileFacts(size, mtime_ns, FILE, "", bool(mode & stat.S_IXUSR))
