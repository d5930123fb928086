"""Run commands over a login that another process of this user holds.

The class is a `Transport` made from the path of a socket. Its results stay exact: if no process
answers, or the other process reports that the command never began, the command certainly did
nothing (UNREACHABLE); if that process ended without a message after the command was sent, the
command may have run (LOST).
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import socket
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rowtui.core.clusters.command_log import CommandResult, Trouble
from rowtui.core.clusters.commands import streaming
from rowtui.core.clusters.transports.shared.folder import NobodyThere, SharedError, connect_to
from rowtui.core.clusters.transports.shared.protocol import (
    ClientRequest,
    Message,
    ProtocolError,
    Request,
    greeting,
    read_result,
    receive,
    same_version,
    send,
    version_in,
)

ANSWER_SECONDS = 10.0  # for the first answer; the machine may be busy
_PROGRAM = "rowtui.core.clusters.transports.shared.stream_program"
_LOGIN_SECONDS = 90.0  # beyond a command's own time: the other process may have to log in again


class SharedConnection:
    """A connection to the process that holds a login."""

    def __init__(
        self,
        connected: socket.socket,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.socket = connected
        self.reader = reader
        self.writer = writer

    @classmethod
    async def to(cls, path: Path) -> SharedConnection:
        """Connect. Raises: NobodyThere, SharedError."""
        connected = await connect_to(path)
        try:
            return cls(connected, *await asyncio.open_connection(sock=connected))
        except BaseException:
            connected.close()
            raise

    async def greet(self, wish: ClientRequest) -> Message:
        """Send the request and return the answer. Raises: SharedError if none arrives in time."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                send(self.writer, greeting(wish))
                answer = await receive(self.reader)
        except TimeoutError:
            raise SharedError(
                "the process that holds the shared connection does not answer",
                "rowtui disconnect ends it",
            ) from None
        if answer is None:
            raise NobodyThere("the process that held the shared connection is gone")
        return answer

    @property
    def ended(self) -> bool:
        """Whether the other end is known to be closed; data from it may still be unread."""
        if self.writer.is_closing() or self.reader.at_eof():
            return True
        try:
            return self.socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    async def close(self) -> None:
        """Close the connection."""
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()


async def open_line(path: Path, wish: ClientRequest) -> tuple[SharedConnection, Message]:
    """Connect and greet. Raises: NobodyThere, SharedError, also if the request is refused."""
    line = await SharedConnection.to(path)
    try:
        answer = await line.greet(wish)
        if refusal := refusal_in(answer):
            raise refusal
    except ProtocolError as error:
        await line.close()
        raise SharedError(f"the shared connection cannot be used: {error.message}") from error
    except BaseException:
        await line.close()
        raise
    return line, answer


def refusal_in(answer: Message) -> SharedError | None:
    """Return why the other end refuses the request, or None."""
    refused = answer.head.get("error")
    if refused == "version" or (not refused and not same_version(answer)):
        return SharedError(
            f"rowtui {version_in(answer)} holds the shared connection, which this one cannot use",
            "rowtui disconnect ends it",
        )
    if refused == "logging in":
        return SharedError("another login for the shared connection is in progress")
    if refused:
        return NobodyThere("the shared connection is being ended")
    return None


class SharedTransport:
    """Runs commands over a shared connection. One connection to its process is kept."""

    def __init__(self, socket_path: Path) -> None:
        self.socket_path = socket_path
        self.error: SharedError | None = None  # why it could not be used the last time
        self._opened: _Opened | None = None
        self._opening = asyncio.Lock()
        self._numbers = itertools.count(1)

    @property
    def alive(self) -> bool:
        """Whether a process is at the other end, as far as is known."""
        return self._opened is not None and not self._opened.over

    async def open(self) -> None:
        """Ensure that a process is at the other end. Raises: NobodyThere, SharedError."""
        await self._line()

    async def close(self) -> None:
        """Close the connection to the process; the shared connection stays open.

        Commands that were sent are run, and their results are lost.
        """
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.close()

    async def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout: float,  # noqa: ASYNC109
        cwd: Path | None = None,
        env: Mapping[str, str | None] | None = None,
    ) -> CommandResult:
        """Run one command on the cluster. See `Transport`.

        The timeout is applied by the other process, from when it has a connection. Cancelling the
        caller does not stop the command.
        """
        number = next(self._numbers)
        try:
            opened = await self._line()
            folder = None if cwd is None else str(cwd)
            opened.send(number, Request(number, tuple(argv), timeout, folder, env or {}), stdin)
        except SharedError as error:
            return CommandResult(
                tuple(argv), None, trouble=Trouble.UNREACHABLE, detail=error.message
            )
        except ValueError as error:
            return CommandResult(tuple(argv), None, trouble=Trouble.NOT_STARTED, detail=str(error))
        return await opened.result(number, argv, timeout)

    async def stream_command(self, line: str) -> list[str]:
        """Return the program that runs a line on the cluster, for code that needs its streams.

        Raises: NobodyThere, SharedError.
        """
        await self._line()
        hello = json.dumps(greeting(ClientRequest.STREAM))
        return [sys.executable, "-P", "-m", _PROGRAM, str(self.socket_path), hello, line]

    @contextlib.asynccontextmanager
    async def process(self, line: str) -> AsyncIterator[Any]:
        """Run a line as a process with streams. Raises: NobodyThere, SharedError, OSError."""
        async with streaming(await self.stream_command(line)) as process:
            yield process

    async def _line(self) -> _Opened:
        async with self._opening:
            if self._opened is not None and self._opened.over:
                await self._opened.close()
                self._opened = None
            if self._opened is None:
                try:
                    line, _ = await open_line(self.socket_path, ClientRequest.COMMANDS)
                except SharedError as error:
                    self.error = error
                    raise
                self._opened = _Opened(line)
            self.error = None
            return self._opened


class _Opened:
    """One connection, and the commands that wait for their results."""

    def __init__(self, line: SharedConnection) -> None:
        self._line = line
        self._waiting: dict[int, asyncio.Future[Message | Trouble]] = {}
        self._bye = False
        self._reading = asyncio.create_task(self._read())

    @property
    def over(self) -> bool:
        """Whether no more commands can be sent."""
        return self._bye or self._reading.done() or self._line.ended

    def send(self, number: int, head: Request, stdin: bytes) -> None:
        """Send a command. Raises: ValueError if it is too long."""
        self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            send(self._line.writer, head, stdin)
        except BaseException:
            del self._waiting[number]
            raise

    async def result(self, number: int, argv: Sequence[str], seconds: float) -> CommandResult:
        """Return the result of the command."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        answer: Message | Trouble
        try:
            async with asyncio.timeout(seconds + _LOGIN_SECONDS):
                answer = await self._waiting[number]
        except TimeoutError:
            answer = Trouble.TIMED_OUT
        finally:
            del self._waiting[number]
        if isinstance(answer, Message):
            try:
                return read_result(argv, answer)
            except ProtocolError:
                answer = Trouble.LOST
        gone = "the shared connection ended before the command was begun"
        detail = gone if answer is Trouble.UNREACHABLE else ""
        return CommandResult(
            tuple(argv), None, seconds=loop.time() - began, trouble=answer, detail=detail
        )

    async def close(self) -> None:
        self._reading.cancel()
        await asyncio.wait({self._reading})
        await self._line.close()

    async def _read(self) -> None:
        try:
            while (frame := await receive(self._line.reader)) is not None:
                if "bye" in frame.head:
                    self._part(frame.head["bye"])
                    return
                self._settle(frame.head.get("result"), frame)
        except ProtocolError:
            pass
        finally:
            for number in self._waiting:
                self._settle(number, Trouble.LOST)

    def _part(self, taken: object) -> None:
        """Handle the last message: commands that it does not name never began and never will."""
        self._bye = True
        if not isinstance(taken, list):
            return
        for number in self._waiting:
            if number not in taken:
                self._settle(number, Trouble.UNREACHABLE)

    def _settle(self, number: object, answer: Message | Trouble) -> None:
        waiting = self._waiting.get(number) if isinstance(number, int) else None
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)
