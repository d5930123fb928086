"""Copy files by SFTP, over the connection that is already open.

Several small files are copied at a time. A large file is continued after the part that has arrived,
if a checksum made on the cluster confirms that part. SFTP has times in whole seconds only, so the
times on the cluster are read afterwards, as for every way of copying.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import asyncssh
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.mirror.compare import Copy
from rowtui.core.mirror.listing import checksums_there
from rowtui.core.mirror.model import (
    FILE,
    FOLDER,
    LINK,
    PARTIAL,
    MirrorError,
    cut,
    explain,
    explain_result,
)
from rowtui.core.mirror.transfer.arriving import (
    Counting,
    TransferProgress,
    changed_meanwhile,
    checksum_of,
    explain_here,
    finish,
    make_link,
    open_partial,
    write_at,
)

if TYPE_CHECKING:
    from rowtui.core.clusters.commands import Transport
    from rowtui.core.mirror.transfer.arriving import HasConnection

PIECE = 2 << 20  # bytes in transfer at a time, and between two reports of progress
_BLOCK = 1 << 15  # bytes of one request: every server accepts this size
_AT_ONCE = 16  # small files
_LATEST = 2**32 - 1  # seconds: the latest time in this version of SFTP
_REFUSED = (asyncssh.SFTPNoSuchFile, asyncssh.SFTPPermissionDenied)  # errors of one file
# A server may report only "Failure"; this command finds out why.
_PROBE = f"""
mkdir -p {PARTIAL} && head -c 65536 /dev/zero > {PARTIAL}/probe; s=$?
rm -f {PARTIAL}/probe; rmdir {PARTIAL} 2>/dev/null; exit $s
"""

_Answer = TypeVar("_Answer")


class SftpFiles:
    """Copies files with SFTP over a transport that keeps an asyncssh connection."""

    name = "sftp"

    def __init__(self, root: Path, transport: Transport, there: str, where: str) -> None:
        self._root = root
        self._transport = transport
        self._there = there
        self._where = where

    async def send(self, copies: Sequence[Copy]) -> AsyncGenerator[TransferProgress, None]:
        """Copy files to the cluster. See `Files`."""
        count = Counting(copies)
        async with self._opened() as sftp:
            for folder in _folders(copies):
                await sftp.makedirs(self._place(folder), exist_ok=True)
            holding = {_folder(copy.path) for copy in copies if copy.facts.kind != FOLDER}
            for folder in holding:
                await sftp.makedirs(self._place(folder, PARTIAL), exist_ok=True)
            try:
                for batch in _batches(copies):
                    yield count.progress()
                    works = [self._send_one(sftp, copy, count) for copy in batch]
                    if len(works) == 1:
                        async with contextlib.aclosing(works[0]) as sizes:
                            async for size in sizes:
                                yield count.progress(size)
                    else:
                        await _together(works)
                    count.add(batch)
            finally:
                for folder in holding:
                    with contextlib.suppress(asyncssh.Error, OSError):
                        await sftp.rmdir(self._place(folder, PARTIAL))
        yield count.progress()

    async def fetch(self, copies: Sequence[Copy]) -> AsyncGenerator[TransferProgress, None]:
        """Copy files to this machine. See `Files`."""
        count = Counting(copies)
        try:
            for folder in _folders(copies):
                os.makedirs(self._root / folder, exist_ok=True)
            async with self._opened() as sftp:
                for batch in _batches(copies):
                    yield count.progress()
                    works = [self._fetch_one(sftp, copy, count) for copy in batch]
                    if len(works) == 1:
                        async with contextlib.aclosing(works[0]) as sizes:
                            async for size in sizes:
                                yield count.progress(size)
                    else:
                        await _together(works)
                    count.add(batch)
        except OSError as error:
            raise explain_here(error, "fetching files", self._root) from None
        yield count.progress()

    async def _send_one(
        self, sftp: asyncssh.SFTPClient, copy: Copy, count: Counting
    ) -> AsyncGenerator[int, None]:
        """Send one file; yield the number of bytes that have arrived. Raises: MirrorError."""
        folder, name = _folder(copy.path), os.path.basename(copy.path)
        partial, place = self._place(folder, PARTIAL, name), self._place(copy.path)
        try:
            if copy.facts.kind == LINK:
                with contextlib.suppress(asyncssh.SFTPNoSuchFile):
                    await sftp.remove(partial)
                await sftp.symlink(os.fsencode(copy.facts.target), partial)
            elif copy.facts.kind == FILE:
                async for done in self._send_content(sftp, copy, partial):
                    yield done
            else:
                return
            await sftp.posix_rename(partial, place)
        except _REFUSED as error:
            count.notices.append(f"{visible(copy.path)} was not sent: {visible(error.reason)}")
        except ConnectionError:
            raise
        except OSError as error:
            reason = error.strerror or str(error)
            count.notices.append(f"{visible(copy.path)} was not sent: {reason}")

    async def _send_content(
        self, sftp: asyncssh.SFTPClient, copy: Copy, partial: bytes
    ) -> AsyncGenerator[int, None]:
        size = copy.facts.size
        fd = os.open(self._root / copy.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            done = 0
            if size > PIECE:
                done = await self._arrived(sftp, fd, copy, partial)
            bits = 0o777 if copy.facts.executable else 0o666
            attrs = asyncssh.SFTPAttrs(permissions=os.fstat(fd).st_mode & bits)
            flags = asyncssh.FXF_WRITE | asyncssh.FXF_CREAT | (0 if done else asyncssh.FXF_TRUNC)
            file = await sftp.open(partial, flags, attrs, encoding=None, block_size=0)
            try:
                while done < size:
                    data = await asyncio.to_thread(os.pread, fd, min(PIECE, size - done), done)
                    if not data:
                        raise changed_meanwhile(copy.path)
                    await _write(file, data, done)
                    done += len(data)
                    yield done
                seconds = min(max(copy.facts.mtime_ns // 10**9, 0), _LATEST)
                await file.utime((seconds, seconds))
            finally:
                with contextlib.suppress(asyncssh.Error, OSError):
                    await file.close()
        finally:
            os.close(fd)

    async def _arrived(self, sftp: asyncssh.SFTPClient, fd: int, copy: Copy, partial: bytes) -> int:
        """Return the number of bytes that have arrived and are correct: all arrived bytes, or 0."""
        try:
            found = await sftp.lstat(partial)
        except asyncssh.SFTPNoSuchFile:
            return 0
        arrived = found.size or 0
        if not stat.S_ISREG(found.permissions or 0) or not 0 < arrived <= copy.facts.size:
            return 0
        path = os.path.join(_folder(copy.path), PARTIAL, os.path.basename(copy.path))
        ours = await asyncio.to_thread(checksum_of, fd, arrived)
        async for _, theirs in checksums_there(self._transport, self._there, [path], self._where):
            if ours is not None and theirs == ours.hexdigest():
                return arrived
        return 0

    async def _fetch_one(
        self, sftp: asyncssh.SFTPClient, copy: Copy, count: Counting
    ) -> AsyncGenerator[int, None]:
        """Fetch one file; yield the number of bytes received. Raises: MirrorError, OSError."""
        place = self._root / copy.path
        if copy.facts.kind == LINK:
            make_link(place, copy.facts.target)
        if copy.facts.kind != FILE:
            return
        try:
            file = await sftp.open(self._place(copy.path), "rb", block_size=0)
        except _REFUSED as error:
            count.notices.append(f"{visible(copy.path)} was not fetched: {visible(error.reason)}")
            return
        size = copy.facts.size
        fd = open_partial(place)
        try:
            done = os.fstat(fd).st_size
            if done and not (done <= size and await self._same_start(fd, copy, done)):
                done = 0
            os.ftruncate(fd, done)
            while done < size:
                data = await _read(file, min(PIECE, size - done), done)
                if not data:
                    raise changed_meanwhile(copy.path)
                await asyncio.to_thread(write_at, fd, data, done)
                done += len(data)
                yield done
            finish(place, copy.facts)
        finally:
            os.close(fd)
            with contextlib.suppress(asyncssh.Error, OSError):
                await file.close()

    async def _same_start(self, fd: int, copy: Copy, size: int) -> bool:
        """Whether the received part equals the beginning of the file on the cluster."""
        ours = await asyncio.to_thread(checksum_of, fd, size)
        result = await self._transport.run(
            ["sh", "-c", 'head -c "$2" < "$1" | sha256sum', "sh", f"./{copy.path}", str(size)],
            timeout=600.0, cwd=Path(self._there),
        )  # fmt: skip
        return ours is not None and result.stdout[:64] == ours.hexdigest().encode()

    @contextlib.asynccontextmanager
    async def _opened(self) -> AsyncIterator[asyncssh.SFTPClient]:
        try:
            async with open_sftp(self._transport) as sftp:
                yield sftp
        except (asyncssh.SFTPFailure, asyncssh.SFTPPermissionDenied) as error:
            probe = await self._transport.run(
                ["sh", "-c", _PROBE], timeout=60.0, cwd=Path(self._there), env={"LC_ALL": "C"}
            )
            what = "copying files by SFTP"
            if probe.exit_status != 0:
                raise explain_result(probe, self._where, what, self._there) from None
            raise explain(error.reason, self._where, what, self._there) from None
        except (asyncssh.Error, ConnectionError) as error:
            raise cut(self._where, str(error)) from None
        except MirrorError:
            raise
        except RowtuiError as error:
            raise cut(self._where, error.message) from None

    def _place(self, *names: str) -> bytes:
        return os.fsencode(os.path.join(self._there, *names))


@contextlib.asynccontextmanager
async def open_sftp(transport: Transport | HasConnection) -> AsyncIterator[asyncssh.SFTPClient]:
    """Open SFTP over the kept connection. Raises: LoginError, asyncssh.Error."""
    connection = await cast("HasConnection", transport).connection()
    async with connection.start_sftp_client(path_encoding=None) as sftp:
        yield sftp


async def offers_sftp(transport: HasConnection) -> bool:
    """Whether the server at the other end of the kept connection offers SFTP."""
    try:
        async with open_sftp(transport):
            return True
    except (asyncssh.Error, OSError, RowtuiError):
        return False


# asyncssh's own parallel requests leave tasks behind; their errors are never retrieved and are then
# printed.


async def _write(file: asyncssh.SFTPClientFile, data: bytes, at: int) -> None:
    starts = range(0, len(data), _BLOCK)
    await _all([file.write(data[start : start + _BLOCK], at + start) for start in starts])


async def _read(file: asyncssh.SFTPClientFile, size: int, at: int) -> bytes:
    """Read at most `size` bytes; b"" at the end of the file."""
    sizes = [min(_BLOCK, size - start) for start in range(0, size, _BLOCK)]
    blocks = await _all([file.read(n, at + i * _BLOCK) for i, n in enumerate(sizes)])
    data = b""
    for block, wanted in zip(cast("list[bytes]", blocks), sizes, strict=True):
        data += block
        if len(block) < wanted:
            break  # a short block: the following blocks do not continue it
    return data


async def _all(requests: Sequence[Coroutine[object, object, _Answer]]) -> list[_Answer]:
    """Return the answers of all requests, or raise the first error once all have ended."""
    answers = await asyncio.gather(*requests, return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return cast("list[_Answer]", answers)


async def _together(works: Sequence[AsyncGenerator[int, None]]) -> None:
    """Copy several files at the same time. The first error ends all of them."""

    async def exhaust(work: AsyncGenerator[int, None]) -> None:
        async for _ in work:
            pass

    tasks = [asyncio.create_task(exhaust(work)) for work in works]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _batches(copies: Sequence[Copy]) -> Iterator[Sequence[Copy]]:
    """Return the small files in batches, and each large file alone."""
    small = [copy for copy in copies if copy.facts.size <= PIECE]
    for start in range(0, len(small), _AT_ONCE):
        yield small[start : start + _AT_ONCE]
    for copy in copies:
        if copy.facts.size > PIECE:
            yield [copy]


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _folders(copies: Sequence[Copy]) -> list[str]:
    """Return every folder that has to exist."""
    folders = {copy.path if copy.facts.kind == FOLDER else _folder(copy.path) for copy in copies}
    return sorted(folders - {""})
