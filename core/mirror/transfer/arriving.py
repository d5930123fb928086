"""The interface of all ways to copy files, and the files and streams that they share.

The received part of `a/b` is in `a/.rowtui-part/b` until `finish`. The caller ensures that no
folder above is a link (`Mirror`); a link at the last name is never followed.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import stat
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.clusters.transports.remote_line import StreamReader, remote_line
from rowtui.core.mirror.compare import Copy
from rowtui.core.mirror.model import PARTIAL, CopyFailure, FileFacts, MirrorError, cut, explain

# The interface of all ways to copy files between this machine and a copy.
#
# A file appears under its own name only when it is complete; the received part of an interrupted
# file stays in `PARTIAL` beside its destination, and the next attempt continues it. Modification
# times are kept as exactly as the way of copying allows; executables stay executable; links are
# copied as links.


MOST_NOTICES = 50  # of one transfer


class TransferProgress(NamedTuple):
    """Progress of a transfer.

    `notices`: files that could not be copied or were not replaced; complete in the last progress.
    """

    done_files: int
    files: int
    done_bytes: int
    bytes: int
    notices: tuple[str, ...] = ()


class Counting:
    """Counter for the progress of a transfer, used by the class that copies."""

    def __init__(self, copies: Sequence[Copy]) -> None:
        self.notices: list[str] = []
        self._files = len(copies)
        self._bytes = sum(copy.facts.size for copy in copies)
        self._done_files = 0
        self._done_bytes = 0

    def add(self, copies: Sequence[Copy]) -> None:
        """Count these files as copied."""
        self._done_files += len(copies)
        self._done_bytes += sum(copy.facts.size for copy in copies)

    def progress(self, some_bytes: int = 0, some_files: int = 0) -> TransferProgress:
        """Return the progress, with `some_bytes` and `some_files` of files in transfer added."""
        files = min(self._done_files + some_files, self._files)
        done = min(self._done_bytes + some_bytes, self._bytes)
        return TransferProgress(
            files, self._files, done, self._bytes, tuple(self.notices[:MOST_NOTICES])
        )


class FileTransfer(Protocol):
    """A way to copy files between a local folder and one on a cluster.

    Both methods may be called again after an error, and then continue. Closing the iterator early,
    or cancelling the task that waits for it, ends the transfer and leaves no process running.
    Raises (both): MirrorError.
    """

    name: str  # `rsync` or `plain`, shown to the user

    def send(self, copies: Sequence[Copy]) -> AsyncGenerator[TransferProgress, None]:
        """Copy files of this machine to the cluster."""

    def fetch(self, copies: Sequence[Copy]) -> AsyncGenerator[TransferProgress, None]:
        """Copy files of the cluster to this machine."""


HERE = "this machine"
_CHUNK = 1 << 20


def open_partial(place: Path) -> int:
    """Open the file with the received part of `place`, for reading and writing. Raises: OSError."""
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


def write_at(fd: int, data: bytes, at: int) -> None:
    """Write at the end of a received part; zeros become a hole. Raises: OSError."""
    if data.count(0) == len(data):
        os.ftruncate(fd, at + len(data))
        return
    view = memoryview(data)
    while view:
        written = os.pwrite(fd, view, at)
        view, at = view[written:], at + written


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
        "repeat the command once no program writes the file",
    )


# The streams of a command that runs on a cluster, over the connection that is already open.
#
# `open_stream` returns a `Stream` for a transport that has streams; other transports only run
# commands to their ends. The output that a start-up file prints before the command is removed, as
# for commands.


CHUNK = 1 << 18
_KEPT = 1 << 14  # bytes kept of stderr


@runtime_checkable
class HasProcess(Protocol):
    """A transport whose commands can have streams."""

    def process(self, line: str) -> AbstractAsyncContextManager[Any]:
        """Run a line on the cluster as a process of asyncio or asyncssh, with the same interface.

        Raises: LoginError, SharedError, OSError.
        """


class Stream:
    """The input and output of a running command. A slow reader makes the writer wait.

    If the connection is lost, the streams raise exceptions of asyncssh as well as OSError.
    """

    def __init__(self, process: Any, start: bytes) -> None:
        self._process = process
        self._answer = StreamReader(start, CHUNK * 2)
        self._said = StreamReader(start, _KEPT)
        self._listening = asyncio.create_task(self._listen())

    @property
    def said(self) -> str:
        """The stderr so far; the output of the start-up files if the command did not start."""
        text = self._said.data.decode(errors="surrogateescape")
        return text or ("" if self._answer.started else self._said.noise or self._answer.noise)

    async def read(self) -> bytes:
        """Return the next output of the command; b"" at the end. Raises: OSError."""
        while True:
            try:
                chunk: bytes = await self._process.stdout.read(CHUNK)
            except Exception as error:
                raise ConnectionResetError(str(error)) from None
            if self._answer.started or not chunk:
                return chunk
            self._answer.add(chunk)
            if self._answer.data:
                return bytes(self._answer.data)

    async def write(self, data: bytes) -> None:
        """Write to the command's input. Raises: OSError."""
        try:
            self._process.stdin.write(data)
            await self._process.stdin.drain()
        except Exception as error:
            raise ConnectionResetError(str(error)) from None

    def end(self) -> None:
        """Close the command's input."""
        with contextlib.suppress(Exception):
            self._process.stdin.write_eof()

    async def ended(self) -> int | None:
        """Wait for the command's end; return its exit status, None if unknown."""
        await self._listening
        with contextlib.suppress(Exception):
            await self._process.wait()
        status: int | None = self._process.returncode
        return status

    async def _listen(self) -> None:
        with contextlib.suppress(Exception):
            while chunk := await self._process.stderr.read(CHUNK):
                self._said.add(chunk)

    def stop_listening(self) -> None:
        """Stop reading stderr."""
        self._listening.cancel()


@contextlib.asynccontextmanager
async def open_stream(
    transport: object,
    argv: Sequence[str],
    *,
    cwd: Path,
    where: str,
    env: Mapping[str, str | None] | None = None,
) -> AsyncIterator[Stream]:
    """Run a command on the cluster while the block lasts.

    Raises: MirrorError if the command cannot be started.
    """
    assert isinstance(transport, HasProcess)
    line = remote_line(argv, cwd=cwd, env=env)
    async with contextlib.AsyncExitStack() as stack:
        try:
            process = await stack.enter_async_context(transport.process(line.text))
        except RowtuiError as error:
            raise cut(where, error.message) from None
        except OSError as error:
            raise cut(where, visible(str(error))) from None
        stream = Stream(process, line.start)
        try:
            yield stream
        finally:
            stream.stop_listening()
