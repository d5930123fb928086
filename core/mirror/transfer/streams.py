"""The streams of a command that runs on a cluster, over the connection that is already open.

`open_stream` returns a `Stream` for a transport that has streams; other transports only run
commands to their ends. The output that a start-up file prints before the command is removed, as for
commands.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.clusters.commands import client_environment
from rowtui.core.clusters.transports.remote_line import StreamReader, remote_line
from rowtui.core.mirror.model import cut

if TYPE_CHECKING:
    import asyncssh
    from rowtui.core.clusters.commands import Transport

CHUNK = 1 << 18
_KEPT = 1 << 14  # bytes kept of stderr


@runtime_checkable
class HasConnection(Protocol):
    """A transport that keeps an asyncssh connection."""

    async def connection(self) -> asyncssh.SSHClientConnection:
        """Return the open connection. Raises: LoginError."""
        ...


@runtime_checkable
class HasCommand(Protocol):
    """A transport that runs programs of this machine to reach the cluster."""

    async def stream_command(self, line: str) -> list[str]:
        """Return the program that runs a line on the cluster. Raises: LoginError."""
        ...


def has_streams(transport: Transport) -> bool:
    """Whether commands over this transport can have streams."""
    return isinstance(transport, (HasConnection, HasCommand))


class Stream:
    """The input and output of a running command. A slow reader makes the writer wait."""

    def __init__(
        self, process: Any, start: bytes, broken: tuple[type[Exception], ...] = (OSError,)
    ) -> None:
        # a Process of asyncio, or one of asyncssh with the same interface
        self._process = process
        self._broken = broken  # the exceptions of the streams when the connection is lost
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
            except self._broken as error:
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
        except self._broken as error:
            raise ConnectionResetError(str(error)) from None

    def end(self) -> None:
        """Close the command's input."""
        with contextlib.suppress(*self._broken):
            self._process.stdin.write_eof()

    async def ended(self) -> int | None:
        """Wait for the command's end; return its exit status, None if unknown."""
        await self._listening
        with contextlib.suppress(*self._broken):
            await self._process.wait()
        status: int | None = self._process.returncode
        return status

    async def _listen(self) -> None:
        with contextlib.suppress(*self._broken):
            while chunk := await self._process.stderr.read(CHUNK):
                self._said.add(chunk)

    def stop_listening(self) -> None:
        """Stop reading stderr."""
        self._listening.cancel()


@contextlib.asynccontextmanager
async def open_stream(
    transport: Transport,
    argv: Sequence[str],
    *,
    cwd: Path,
    where: str,
    env: Mapping[str, str | None] | None = None,
) -> AsyncIterator[Stream]:
    """Run a command on the cluster while the block lasts.

    Raises: MirrorError if the command cannot be started.
    """
    line = remote_line(argv, cwd=cwd, env=env)
    if isinstance(transport, HasConnection):
        import asyncssh

        try:
            process = await (await transport.connection()).create_process(
                line.text, encoding=None, request_pty=False, send_env=(), env=(),
                x11_forwarding=False,
            )  # fmt: skip
        except RowtuiError as error:
            raise cut(where, error.message) from None
        except (asyncssh.Error, OSError) as error:
            raise cut(where, visible(str(error))) from None
        stream = Stream(process, line.start, (asyncssh.Error, OSError))
        try:
            yield stream
        finally:
            stream.stop_listening()
            process.channel.abort()
    elif isinstance(transport, HasCommand):
        try:
            command = await transport.stream_command(line.text)
        except RowtuiError as error:
            raise cut(where, error.message) from None
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=pipe,
            env=client_environment(), start_new_session=True,
        )  # fmt: skip
        stream = Stream(child, line.start)
        try:
            yield stream
        finally:
            stream.stop_listening()
            await end_process(child)
    else:
        raise TypeError("this transport has no streams")


async def end_process(process: asyncio.subprocess.Process, grace: float = 0.0) -> None:
    """End a process and its group. The process has `grace` seconds to clean up."""
    if process.returncode is None and grace:
        _signal(process, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await process.wait()
    if process.returncode is None:
        _signal(process, signal.SIGKILL)
    # The process's `wait` also waits for pipes, which have no reader any more and which other
    # processes may hold open.
    process._transport.close()  # type: ignore[attr-defined]
    await process.wait()


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
