"""Shells that are kept open on a login node whose login shell starts slowly, and fed with commands.

sshd starts the user's login shell, with its start-up files, for every session. The first command of
a connection runs in a shell that could be kept, whose start is measured: a slow one is kept, so
that its start is paid once, and later commands run in it one after another. A shell is asked for a
sign of life before each command, so that a command is only written to a shell that reads; if its
answer then does not arrive, the command may have run (LOST). A command that is not answered in time
is left running, and its shell is given up.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

from rowtui.core.clusters.command_log import CommandResult, Trouble
from rowtui.core.clusters.transports.login import LoginError, LoginTrouble
from rowtui.core.clusters.transports.remote_line import (
    FED_SHELL,
    FedReader,
    RemoteLine,
    StreamReader,
    fed_line,
)

KEEP_AFTER = 0.5  # seconds for the start of a shell from which on it is worth keeping
MOST_SHELLS = 4  # as many commands run at once in sessions of their own
START_SECONDS = 75.0  # for a shell to start, beyond the time limit of a command
_SIGN_SECONDS = 20.0  # for a sign of life
_CHUNK = 1 << 18


class KeptShells:
    """The kept shells of one connection. `wanted`: whether commands should be run in them.

    `process` runs a line in a session, as a process with streams; `after`: the seconds of
    `KEEP_AFTER`, with which 0 keeps a shell in any case, and infinity none.
    """

    def __init__(
        self, process: Callable[[str], AbstractAsyncContextManager[Any]], after: float
    ) -> None:
        self.wanted = after < math.inf
        self._process = process
        self._after = after
        self._measured = False  # whether the time that a shell needs to start is known
        self._free = asyncio.Semaphore(MOST_SHELLS)
        self._shells: list[_Shell] = []
        self._idle: list[_Shell] = []

    async def run(
        self, argv: Sequence[str], line: RemoteLine, stdin: bytes, seconds: float, limit: int
    ) -> CommandResult | None:
        """Run a command in a kept shell; None if it certainly was not begun in any.

        Raises: LoginError, also if no shell starts in time.
        """
        async with self._free:
            shell = await self._idle_one() or await self._start()
            if shell is None:
                return None
            result = None
            try:
                result = await shell.run(argv, line, stdin, seconds, limit)
            finally:
                ended = result is not None and result.trouble in (None, Trouble.NOT_STARTED)
                if self.wanted and ended:
                    self._idle.append(shell)
                else:
                    await self._drop(shell)
            return result

    async def close(self) -> None:
        """End all shells."""
        self.wanted = False
        for shell in list(self._shells):
            await self._drop(shell)

    async def _idle_one(self) -> _Shell | None:
        """Return a shell that is kept and answers."""
        while self._idle:
            shell = self._idle.pop()
            answers = False
            try:
                answers = await shell.answers(_SIGN_SECONDS)
            finally:
                if not answers:
                    await self._drop(shell)
            if answers:
                return shell
        return None

    async def _start(self) -> _Shell | None:
        """Start a shell and measure its start. Raises: LoginError."""
        began = time.monotonic()
        answers = False
        stack = AsyncExitStack()
        try:
            async with asyncio.timeout(START_SECONDS):
                shell = _Shell(await stack.enter_async_context(self._process(FED_SHELL)), stack)
            answers = await shell.answers(began + START_SECONDS - time.monotonic())
        except OSError:
            return None  # no session was opened
        finally:
            if not answers:
                await stack.aclose()
        seconds = time.monotonic() - began
        if answers:
            self._shells.append(shell)
            self.wanted = seconds >= self._after
        elif seconds >= START_SECONDS:
            message = f"the login shell did not start within {START_SECONDS:.0f} s"
            raise LoginError(LoginTrouble.TIMED_OUT, f"{message}; {START_UP_FILES}")
        elif not self._measured:
            self.wanted = False  # the login runs no such shell
        self._measured = True
        return shell if answers else None

    async def _drop(self, shell: _Shell) -> None:
        if shell in self._shells:
            self._shells.remove(shell)
        await shell.stack.aclose()


START_UP_FILES = "look at what its start-up files do, such as ~/.bashrc"
NOT_BEGUN = f"the login shell had not begun it; {START_UP_FILES}"


class _Shell:
    """One shell. `stack` ends it."""

    def __init__(self, process: Any, stack: AsyncExitStack) -> None:
        self._process = process
        self.stack = stack

    async def answers(self, seconds: float) -> bool:
        """Whether the shell reads its input."""
        sign = secrets.token_hex(16)
        reader = StreamReader(f"{sign}\n".encode(), 0)
        with contextlib.suppress(OSError, TimeoutError):
            # In two halves, as in `remote_line`.
            self._process.stdin.write(f'printf "%s%s\\012" {sign[:16]} {sign[16:]}\n'.encode())
            async with asyncio.timeout(max(0.0, seconds)):
                await _read(self._process.stdout, reader, lambda: reader.started)
        return reader.started

    async def run(
        self, argv: Sequence[str], line: RemoteLine, stdin: bytes, seconds: float, limit: int
    ) -> CommandResult | None:
        """Run one command; None if it was not sent."""
        began = time.monotonic()
        text, end = fed_line(line, len(stdin))
        out, err = FedReader(line.start, end, limit), FedReader(line.start, end, limit)
        trouble: Trouble | None = None
        try:
            self._process.stdin.write(text.encode() + stdin)
        except OSError:
            return None
        try:
            async with asyncio.timeout(seconds):
                await asyncio.gather(
                    _read(self._process.stdout, out, lambda: out.status is not None),
                    _read(self._process.stderr, err, lambda: err.status is not None),
                )
        except TimeoutError:
            trouble = Trouble.TIMED_OUT
        for reader in (out, err):
            reader.finish()
        status, detail = out.status if err.status is not None else None, ""
        if status is None:
            trouble = trouble or Trouble.LOST
        elif not out.started:
            trouble, detail = Trouble.NOT_STARTED, err.noise or out.noise
        return CommandResult(
            tuple(argv),
            status if trouble is None else None,
            bytes(out.data),
            bytes(err.data),
            time.monotonic() - began,
            trouble,
            detail,
            truncated=status is None or out.spilled or err.spilled,
        )


async def _read(stream: Any, reader: StreamReader, over: Callable[[], bool]) -> None:
    """Read a stream until `over`, or until the stream ends or breaks."""
    with contextlib.suppress(Exception):  # also asyncssh's, which this module does not import
        while not over() and (chunk := await stream.read(_CHUNK)):
            reader.add(chunk)
