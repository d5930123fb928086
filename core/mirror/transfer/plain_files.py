"""Copy files with commands only, for any transport: tar for small files, dd for large ones.

Small files are sent together, some megabytes at a time, and are unpacked in a separate folder
before they are moved to their names. Large files are sent in pieces that are written at their
offsets, so that a piece may be sent twice. After an interruption a large file is continued if the
part that has arrived is correct, and its checksum is compared at the end. No command depends on how
the previous one ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import re
import stat
import tarfile
from collections.abc import AsyncGenerator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.base.text import visible
from rowtui.core.clusters.command_log import CommandResult
from rowtui.core.mirror.compare import Copy
from rowtui.core.mirror.model import FILE, FOLDER, PARTIAL, FileFacts, explain_result
from rowtui.core.mirror.transfer.arriving import (
    Counting,
    TransferProgress,
    changed_meanwhile,
    checksum_of,
    discard,
    explain_here,
    finish,
    make_link,
    open_partial,
    write_at,
    write_whole,
)

if TYPE_CHECKING:
    from rowtui.core.clusters.commands import Transport


# Pack small files into a tar archive in memory, and unpack such an archive.
#
# Modification times keep all their digits, and names keep their bytes (PAX headers).


_TIME = re.compile(r"([0-9]{1,9}|[0-8][0-9]{9})(?:\.([0-9]*))?")  # until the year 2255
_NAMES = {"encoding": "utf-8", "errors": "surrogateescape"}


def packed(root: Path, copies: Sequence[Copy], largest: int) -> tuple[bytes, list[str]]:
    """Return an archive of these files, and notices about files that are not in the archive.

    `largest`: the most bytes that a file may have.
    """
    buffer = io.BytesIO()
    missing = []
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT, **_NAMES) as archive:  # type: ignore[call-overload]
        for copy in copies:
            member = tarfile.TarInfo(copy.path)
            try:
                if copy.facts.kind == FOLDER:
                    member.type, member.mode = tarfile.DIRTYPE, 0o755
                    archive.addfile(member)
                elif copy.facts.kind == FILE:
                    data = _read(root / copy.path, largest, member)
                    archive.addfile(member, io.BytesIO(data))
                else:
                    member.type, member.linkname = tarfile.SYMTYPE, os.readlink(root / copy.path)
                    archive.addfile(member)
            except OSError as error:
                missing.append(f"{visible(copy.path)} was not sent: {error.strerror or error}")
    return buffer.getvalue(), missing


def _read(place: Path, largest: int, member: tarfile.TarInfo) -> bytes:
    fd = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        data = file.read(largest + 1)
    if not stat.S_ISREG(status.st_mode) or len(data) > largest:
        raise OSError("it changed meanwhile")
    member.size = len(data)
    member.mode = status.st_mode & 0o755
    member.mtime = int(status.st_mtime)
    seconds, nanoseconds = divmod(status.st_mtime_ns, 10**9)
    # tar programs disagree on the fraction of a negative time in this format.
    if seconds >= 0:
        member.pax_headers = {"mtime": f"{seconds}.{nanoseconds:09d}"}
    return data


def unpack(root: Path, copies: Sequence[Copy], data: bytes) -> list[str]:
    """Write these files from an archive; return notices about files that are not in the archive.

    Raises: OSError if a file cannot be written.
    """
    wanted = {copy.path: copy for copy in copies}
    for path, copy in wanted.items():
        if copy.facts.kind == FOLDER:
            os.makedirs(root / path, exist_ok=True)
        elif copy.facts.kind != FILE:
            os.makedirs((root / path).parent, exist_ok=True)
            make_link(root / path, copy.facts.target)
    left = {path for path, copy in wanted.items() if copy.facts.kind == FILE}
    with contextlib.suppress(tarfile.TarError, ValueError), tarfile.open(
        fileobj=io.BytesIO(data), mode="r:", **_NAMES  # type: ignore[call-overload]
    ) as archive:  # fmt: skip
        for member in archive:
            path = member.name.removeprefix("./")
            # A sparse member may have a size larger than the whole archive, made of zeros only:
            # skip it.
            if path not in left or not member.isreg() or member.size > len(data):
                continue
            file = archive.extractfile(member)
            assert file is not None
            os.makedirs((root / path).parent, exist_ok=True)
            write_whole(root / path, file.read(), _facts(member, wanted[path].facts))
            left.discard(path)
    return [f"{visible(path)} could not be read there" for path in sorted(left)]


def _facts(member: tarfile.TarInfo, planned: FileFacts) -> FileFacts:
    """Return the facts with the time from the archive, which is the time of the content read."""
    time = _TIME.fullmatch(member.pax_headers.get("mtime", ""))
    if time is None:
        return planned
    return planned._replace(mtime_ns=int(time[1]) * 10**9 + int((time[2] or "")[:9].ljust(9, "0")))


_BLOCK = 1 << 16  # block size of dd
PIECE = 128 * _BLOCK  # 8 MiB: bytes of one command
_MOST_TOGETHER = 2_000  # files of one command
_TIMEOUT = 600.0  # seconds for one command, long enough for a slow connection

# $1: a folder for this batch only. All of stdin is unpacked in the folder, then moved: `mv` is
# started once for each folder, and never moves into a folder that has a file's name.
_UNPACK = f"""
here=$PWD t={PARTIAL}/$1
mkdir -p -- "$t" || exit 1
trap 'cd "$here"; rm -rf -- "$t"; rmdir -- {PARTIAL} 2>/dev/null' EXIT
tar -x -f - --no-same-owner -C "$t" || exit 1
cd "$t" || exit 1
find . -type d -print0 | HERE=$here xargs -0 sh -c '
for d; do
    mkdir -p -- "$HERE/$d" || exit 255
    find "$d" -mindepth 1 -maxdepth 1 ! -type d -exec mv -f -t "$HERE/$d" -- {{}} + || exit 255
done' sh
"""
# In the following scripts $1 is the file's folder and $2 its name.
_BEGUN = f"""
mkdir -p -- "$1/{PARTIAL}" && cd -- "$1/{PARTIAL}" || exit 1
[ -f "$2" ] && [ ! -L "$2" ] || {{ rm -rf -- "./$2" && : > "./$2"; }} || exit 1
wc -c < "./$2" && sha256sum < "./$2"
"""
# $3: number of the first block. If it is 0, the content of an earlier file is removed.
_WRITE = f"""
cd -- "$1/{PARTIAL}" || exit 1
[ "$3" = 0 ] && set -- "$1" "$2" 0 || set -- "$1" "$2" "$3" conv=notrunc
exec dd of="./$2" bs={_BLOCK} seek="$3" $4
"""
_CHANGED = 9
# $3: modification time, $4: mode, $5: checksum.
_FINISH = f"""
cd -- "$1/{PARTIAL}" || exit 1
case $(sha256sum < "./$2") in "$5 "*) ;; *) rm -f -- "./$2"; exit {_CHANGED};; esac
touch -d "@$3" -- "./$2" && chmod "$4" -- "./$2" && mv -f -T -- "./$2" "../$2" || exit 1
cd .. && rmdir -- {PARTIAL} 2>/dev/null
exit 0
"""
_READ = f'exec dd if="$1" bs={_BLOCK} skip="$2" count="$3"'
_SUM_OF_FIRST = 'head -c "$2" < "$1" | sha256sum'


class PlainFiles:
    """Copies files with commands that run to their ends."""

    name = "plain"

    def __init__(self, root: Path, transport: Transport, there: str, where: str) -> None:
        self._root = root
        self._transport = transport
        self._there = Path(there)
        self._where = where

    async def send(self, copies: Sequence[Copy]) -> AsyncGenerator[TransferProgress, None]:
        """Copy files to the cluster. See `Files`."""
        what = "sending files"
        count = Counting(copies)
        for batch in _batches(copies):
            yield count.progress()
            if _is_large(batch[0]):
                async with contextlib.aclosing(self._send_large(batch[0], what)) as sizes:
                    async for size in sizes:
                        yield count.progress(size)
            else:
                data, missing = await asyncio.to_thread(packed, self._root, batch, PIECE)
                await self._script(_UNPACK, os.urandom(8).hex(), what=what, stdin=data)
                count.notices += missing
            count.add(batch)
        yield count.progress()

    async def fetch(self, copies: Sequence[Copy]) -> AsyncGenerator[TransferProgress, None]:
        """Copy files to this machine. See `Files`."""
        what = "fetching files"
        count = Counting(copies)
        for batch in _batches(copies):
            yield count.progress()
            if _is_large(batch[0]):
                async with contextlib.aclosing(self._fetch_large(batch[0], what)) as sizes:
                    async for size in sizes:
                        yield count.progress(size)
            else:
                await self._fetch_small(batch, count, what)
            count.add(batch)
        yield count.progress()

    async def _fetch_small(self, batch: Sequence[Copy], count: Counting, what: str) -> None:
        names = b"".join(
            b"./" + os.fsencode(copy.path) + b"\0" for copy in batch if copy.facts.kind == FILE
        )
        data = b""
        if names:
            argv = ["tar", "-c", "--format=pax", "--no-recursion", "--null", "--no-unquote"]
            result = await self._run([*argv, "-T", "-", "-f", "-"], names)
            # 1: a file changed while it was read; 2: some files were missing, the others were read.
            if result.exit_status not in (0, 1, 2) or not result.stdout:
                raise explain_result(result, self._where, what, str(self._there))
            data = result.stdout
        try:
            count.notices += await asyncio.to_thread(unpack, self._root, batch, data)
        except OSError as error:
            raise explain_here(error, what, self._root) from None

    async def _send_large(self, copy: Copy, what: str) -> AsyncGenerator[int, None]:
        """Send one file piece by piece; yield the number of bytes that have arrived."""
        place, size = _place(copy.path), copy.facts.size
        begun = await self._script(_BEGUN, *place, what=what)
        try:
            fd = os.open(self._root / copy.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise explain_here(error, what, self._root) from None
        try:
            there, _, sum_there = begun.stdout.decode("ascii", "replace").partition("\n")
            begun_size = int(there) if there.strip().isdecimal() else 0
            done = await asyncio.to_thread(_right, fd, size, begun_size, sum_there[:64])
            digest = await asyncio.to_thread(checksum_of, fd, done)
            assert digest is not None
            while done < size:
                yield done
                data = await asyncio.to_thread(os.pread, fd, min(PIECE, size - done), done)
                if not data:
                    raise changed_meanwhile(copy.path)
                block = str(done // _BLOCK)
                await self._script(_WRITE, *place, block, what=what, stdin=data)
                digest.update(data)
                done += len(data)
        finally:
            os.close(fd)
        seconds, nanoseconds = divmod(copy.facts.mtime_ns, 10**9)
        mode = "+rx,u+w" if copy.facts.executable else "u+rw"
        words = (f"{seconds}.{nanoseconds:09d}", mode, digest.hexdigest())
        result = await self._run(["sh", "-c", _FINISH, "sh", *place, *words])
        if result.exit_status == _CHANGED:
            raise changed_meanwhile(copy.path)
        if result.exit_status != 0:
            raise explain_result(result, self._where, what, str(self._there))
        yield size

    async def _fetch_large(self, copy: Copy, what: str) -> AsyncGenerator[int, None]:
        """Fetch one file piece by piece; yield the number of bytes received."""
        path, size, place = f"./{copy.path}", copy.facts.size, self._root / copy.path
        try:
            fd = await asyncio.to_thread(open_partial, place)
        except OSError as error:
            raise explain_here(error, what, self._root) from None
        try:
            here = os.fstat(fd).st_size
            done = 0
            if 0 < here <= size:
                sum_there = await self._sum_of_first(path, here, what)
                done = await asyncio.to_thread(_right, fd, size, here, sum_there)
            os.ftruncate(fd, done)
            while done < size:
                yield done
                words = (str(done // _BLOCK), str(PIECE // _BLOCK))
                data = (await self._script(_READ, path, *words, what=what)).stdout[: size - done]
                if not data:
                    break  # the file has become shorter
                await asyncio.to_thread(write_at, fd, data, done)
                done += len(data)
            # A log may have grown in the meantime; the planned bytes are still its beginning.
            sum_there = await self._sum_of_first(path, size, what)
            digest = await asyncio.to_thread(checksum_of, fd, size)
            if digest is None or digest.hexdigest() != sum_there:
                discard(place)
                raise changed_meanwhile(copy.path)
            finish(place, copy.facts)
        except OSError as error:
            raise explain_here(error, what, self._root) from None
        finally:
            os.close(fd)
        yield size

    async def _sum_of_first(self, path: str, size: int, what: str) -> str:
        """Return the checksum of the first bytes of a file on the cluster. Raises: MirrorError."""
        result = await self._script(_SUM_OF_FIRST, path, str(size), what=what)
        return result.stdout[:64].decode("ascii", "replace")

    async def _script(
        self, script: str, *words: str, what: str, stdin: bytes = b""
    ) -> CommandResult:
        """Run a script on the cluster. Raises: MirrorError."""
        result = await self._run(["sh", "-c", script, "sh", *words], stdin)
        if result.exit_status != 0:
            raise explain_result(result, self._where, what, str(self._there))
        return result

    async def _run(self, argv: Sequence[str], stdin: bytes = b"") -> CommandResult:
        return await self._transport.run(
            argv, stdin=stdin, timeout=_TIMEOUT, cwd=self._there, env={"LC_ALL": "C"}
        )


def _is_large(copy: Copy) -> bool:
    return copy.facts.kind == FILE and copy.facts.size > PIECE


def _batches(copies: Sequence[Copy]) -> Iterator[list[Copy]]:
    """Return the small files in batches and each large file alone, folders first."""
    batch: list[Copy] = []
    size = 0
    for copy in sorted(copies, key=lambda copy: (_is_large(copy), copy.facts.kind != FOLDER)):
        full = size + copy.facts.size > PIECE or len(batch) >= _MOST_TOGETHER
        if batch and (full or _is_large(copy)):
            yield batch
            batch, size = [], 0
        batch.append(copy)
        size += copy.facts.size
    if batch:
        yield batch


def _place(path: str) -> tuple[str, str]:
    """Return a path's folder and name in the form that the scripts take."""
    folder, _, name = path.rpartition("/")
    return (f"./{folder}" if folder else "."), name


def _right(fd: int, size: int, arrived: int, checksum: str) -> int:
    """Return how many of the arrived bytes are correct: all (rounded to whole blocks) or none."""
    if not 0 < arrived <= size:
        return 0
    digest = checksum_of(fd, arrived)
    if digest is None or digest.hexdigest() != checksum:
        return 0
    return arrived if arrived == size else arrived - arrived % _BLOCK
