"""One permanent connection to a cluster, over which all its commands run.

The class is a `Transport` made from an `SshTarget` and an `Asker`. The first command opens the
connection, and a later command opens it again if it was lost; other commands wait for the same
login. After a failure that needs the user (a wrong password, a changed host key), the login is not
retried before `reconnect`; after a failure that may pass, it is retried after a pause that doubles.
Source: sshd allows 10 sessions for each connection and drops simultaneous logins; commands over an
open connection take milliseconds. asyncssh is imported when a connection is opened.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rowtui.core.base.text import visible
from rowtui.core.clusters.command_log import CommandResult, Trouble
from rowtui.core.clusters.commands import OUTPUT_LIMIT
from rowtui.core.clusters.transports.kept_shells import KeptShells
from rowtui.core.clusters.transports.login import (
    PASSING,
    Asker,
    LoginError,
    LoginTrouble,
    SshTarget,
)
from rowtui.core.clusters.transports.remote_line import RemoteLine, remote_line

if TYPE_CHECKING:
    import asyncssh
    from rowtui.core.clusters.transports.asyncssh_login import LoggedIn, Timing
    from rowtui.core.clusters.transports.ssh_keys import KeyRing


MOST_CHANNELS = 4  # of the 10 that sshd allows: sshd frees a channel only a moment after its reply
_OPEN_TRIES = 6  # for a channel that is refused although no other one is open
_OPEN_PAUSE = 0.05  # seconds before the second try; doubles
_FREE_PAUSE = 0.25  # seconds to wait for another channel to end, before a retry
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 120.0  # seconds between failed logins


class AsyncsshTransport:
    """Runs commands on a cluster's login node."""

    def __init__(
        self,
        target: SshTarget,
        ask: Asker,
        *,
        timing: Timing | None = None,
        env: Mapping[str, str | None] | None = None,
        limit: int = OUTPUT_LIMIT,
        clock: Callable[[], float] = time.monotonic,
        keep_after: float = math.inf,
    ) -> None:
        self.target = target
        self.error: LoginError | None = None  # why there is no connection, if known
        self._ask = ask
        self._timing = timing
        self._env = dict(env or {})
        self._limit = limit
        self._clock = clock
        self._ring: KeyRing | None = None
        self._open: LoggedIn | None = None
        self._login: asyncio.Task[LoggedIn] | None = None
        self._failures = 0
        self._not_before = 0.0
        self._channels = asyncio.Semaphore(MOST_CHANNELS)
        self._running = 0
        self._freed = asyncio.Event()
        self._shells = KeptShells(self.process, keep_after)
        self._closed = False

    @property
    def alive(self) -> bool:
        """Whether there is a connection, as far as is known."""
        return self._open is not None and not self._open.connection.is_closed()

    async def connection(self) -> asyncssh.SSHClientConnection:
        """Return the open connection, for code that needs more than commands (files).

        Raises: LoginError; also the last one again, while a new login would be too early.
        """
        if self._open is not None and self.alive:
            return self._open.connection
        if self._login is None:
            self._refuse_if_too_early()
            self._drop()
            self._login = asyncio.create_task(self._log_in())
            self._login.add_done_callback(self._logged_in)
        login = self._login
        try:
            # A cancelled caller must not end the login that other callers wait for.
            return (await asyncio.shield(login)).connection
        except asyncio.CancelledError:
            if self._closed and login.cancelled():
                raise self._was_closed() from None
            raise

    async def reconnect(self) -> None:
        """Log in now on the user's request, even after failures. Raises: LoginError."""
        self.error = None
        self._not_before = 0.0
        await self.connection()

    async def close(self) -> None:
        """Close the connection for good, and discard the unlocked keys."""
        self._closed = True
        await self._shells.close()
        if self._login is not None:
            self._login.cancel()
            await asyncio.wait({self._login})
        opened, self._open, self._ring = self._open, None, None
        if opened is not None:
            opened.close()
            await opened.wait_closed()

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

        The timeout starts when there is a connection, because a login may wait for the user. After
        the timeout the command is left running. If no connection could be used to send it, the
        result is UNREACHABLE; `error` has the details of a failed login.
        """
        try:
            line = remote_line(argv, cwd=cwd, env={**self._env, **(env or {})})
            if self._shells.wanted:
                await self.connection()
                result = await self._shells.run(argv, line, stdin, timeout, self._limit)
                if result is not None:
                    return result
            result = await self._once(argv, line, stdin, timeout)
            if result is None:  # the connection was dead, but not yet detected as closed
                result = await self._once(argv, line, stdin, timeout)
        except ValueError as error:
            return _not_run(argv, Trouble.NOT_STARTED, str(error))
        except LoginError as error:
            return _unreachable(argv, error.message)
        if result is None:
            return _unreachable(argv, f"the connection to {self.target} broke")
        return result

    @asynccontextmanager
    async def process(self, line: str) -> AsyncIterator[Any]:
        """Run a line as a process with streams. Raises: LoginError, OSError."""
        connection = await self.connection()
        try:
            process = await connection.create_process(
                line, encoding=None, request_pty=False, send_env=(), env=(), x11_forwarding=False
            )
        except Exception as error:  # asyncssh's
            raise OSError(visible(str(error))) from error
        try:
            yield process
        finally:
            process.channel.abort()

    async def _once(
        self, argv: Sequence[str], line: RemoteLine, stdin: bytes, seconds: float
    ) -> CommandResult | None:
        """Run one command; None if the connection broke before it was sent. Raises: LoginError."""
        connection = await self.connection()
        deadline = asyncio.get_running_loop().time() + seconds
        try:
            async with asyncio.timeout_at(deadline):
                await self._channels.acquire()
        except TimeoutError:
            text = f"no channel to {self.target} was free within {seconds:.0f} s"
            return _unreachable(argv, text, seconds)
        try:
            return await self._in_channel(connection, argv, line, stdin, deadline)
        finally:
            self._channels.release()

    async def _in_channel(
        self,
        connection: asyncssh.SSHClientConnection,
        argv: Sequence[str],
        line: RemoteLine,
        stdin: bytes,
        deadline: float,
    ) -> CommandResult | None:
        """Run in a channel; a refused channel did nothing, so another one is requested."""
        import asyncssh
        from rowtui.core.clusters.transports.asyncssh_session import run_in_channel, wait_briefly

        loop = asyncio.get_running_loop()
        pause = _OPEN_PAUSE
        tries = _OPEN_TRIES
        while True:
            if connection.is_closed():
                return None
            self._running += 1
            try:
                return await run_in_channel(
                    connection, argv, line, stdin=stdin, deadline=deadline, limit=self._limit
                )
            except asyncssh.ChannelOpenError as error:
                text = visible(error.reason)
            finally:
                self._running -= 1
                self._freed.set()
            tries -= not self._running
            if connection.is_closed():
                continue
            if not tries or loop.time() >= deadline:
                return _unreachable(argv, f"{self.target} opens no channel: {text}")
            if self._running:
                # The server allows fewer channels than expected: wait for another one to end.
                self._freed.clear()
                await wait_briefly(self._freed, min(_FREE_PAUSE, deadline - loop.time()))
            await asyncio.sleep(max(0.0, min(pause, deadline - loop.time())))
            pause = min(pause * 2, _FREE_PAUSE) if self._running else pause * 2

    async def _log_in(self) -> LoggedIn:
        from rowtui.core.clusters.transports.asyncssh_login import Timing, log_in
        from rowtui.core.clusters.transports.ssh_keys import KeyRing

        if self._ring is None:
            self._ring = KeyRing()
        return await log_in(self.target, self._ask, self._ring, self._timing or Timing())

    def _logged_in(self, login: asyncio.Task[LoggedIn]) -> None:
        self._login = None
        if login.cancelled():
            return
        error = login.exception()
        if error is None:
            self._open = login.result()
            self.error = None
            self._failures = 0
        elif isinstance(error, LoginError):
            self.error = error
            pause = min(_FIRST_PAUSE * 2**self._failures, _LONGEST_PAUSE)
            self._not_before = self._clock() + pause
            self._failures += 1

    def _refuse_if_too_early(self) -> None:
        if self._closed:
            raise self._was_closed()
        error = self.error
        if error is None:
            return
        if error.trouble not in PASSING or self._clock() < self._not_before:
            raise error

    def _was_closed(self) -> LoginError:
        return LoginError(LoginTrouble.CLOSED, f"the connection to {self.target} was closed")

    def _drop(self) -> None:
        """Abort a broken connection, and the jump hosts that it used."""
        if self._open is not None:
            self._open.abort()
            self._open = None


def _unreachable(argv: Sequence[str], detail: str, seconds: float = 0.0) -> CommandResult:
    return _not_run(argv, Trouble.UNREACHABLE, detail, seconds)


def _not_run(
    argv: Sequence[str], trouble: Trouble, detail: str, seconds: float = 0.0
) -> CommandResult:
    return CommandResult(tuple(argv), None, seconds=seconds, trouble=trouble, detail=detail)
