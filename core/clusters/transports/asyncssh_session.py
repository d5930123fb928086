"""Run one command in one channel of an open connection.

The input is a connection and a `Line`; the result is a `CommandResult` with what is known. If the
channel cannot be opened, an exception is raised, because the command certainly did nothing and may
be retried. The module imports asyncssh: import it only where a connection is opened. Source:
asyncssh creates the session when the channel is open, just before it sends the command; its `run()`
reports a lost connection as a missing exit status.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import asyncssh
from rowtui.core.clusters.command_log import CommandResult, Trouble
from rowtui.core.clusters.transports.kept_shells import NOT_BEGUN
from rowtui.core.clusters.transports.remote_line import RemoteLine, StreamReader

if TYPE_CHECKING:
    import asyncssh


_CLOSE_GRACE = 1.0  # seconds for a channel after the exit status: a daemon may keep it open


_SIGNALS = {"ABRT": 6, "ALRM": 14, "FPE": 8, "HUP": 1, "ILL": 4, "INT": 2, "KILL": 9, "PIPE": 13,
            "QUIT": 3, "SEGV": 11, "TERM": 15, "USR1": 10, "USR2": 12, "BUS": 7, "TRAP": 5,
            "SYS": 31, "XCPU": 24, "XFSZ": 25}  # fmt: skip


class _Session(asyncssh.SSHClientSession[bytes]):
    """The data and events of the channel."""

    def __init__(self, line: RemoteLine, limit: int) -> None:
        self.stdout = StreamReader(line.start, limit)
        self.stderr = StreamReader(line.start, limit)
        self.status: int | None = None
        self.ended = asyncio.Event()  # the status is known, or the channel is closed
        self.closed = asyncio.Event()
        self.all_arrived = False  # the server reported the end of the output
        self.channel: asyncssh.SSHClientChannel[bytes] | None = None

    def connection_made(self, chan: asyncssh.SSHClientChannel[bytes]) -> None:
        self.channel = chan

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        (self.stderr if datatype == asyncssh.EXTENDED_DATA_STDERR else self.stdout).add(data)

    def eof_received(self) -> bool:
        self.all_arrived = True
        return False  # our side may be closed as well

    def exit_status_received(self, status: int) -> None:
        self.status = status
        self.ended.set()

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:
        self.status = -_SIGNALS.get(signal, 9)
        self.ended.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set()
        self.closed.set()


async def run_in_channel(
    connection: asyncssh.SSHClientConnection,
    argv: Sequence[str],
    line: RemoteLine,
    *,
    stdin: bytes,
    deadline: float,
    limit: int,
) -> CommandResult:
    """Run one command until the loop's clock reaches `deadline`; then leave it running.

    Raises: asyncssh.ChannelOpenError if the command was certainly not started.
    """
    started = time.monotonic()
    session = _Session(line, limit)
    trouble: Trouble | None = None
    detail = ""
    closed = False
    try:
        async with asyncio.timeout_at(deadline):
            await connection.create_session(
                lambda: session, line.text, encoding=None, request_pty=False, send_env=(), env=(),
                x11_forwarding=False,
            )  # fmt: skip
            _feed(session, stdin)
            await session.ended.wait()
        await wait_briefly(session.closed, _CLOSE_GRACE)
        lost = connection.is_closed() and not session.all_arrived
        closed = session.closed.is_set() and not lost
    except TimeoutError:
        if session.channel is None:
            raise asyncssh.ChannelOpenError(
                asyncssh.OPEN_CONNECT_FAILED, "no answer in time"
            ) from None
        trouble, detail = Trouble.TIMED_OUT, "" if session.stdout.started else NOT_BEGUN
    except asyncssh.ChannelOpenError:
        # Also raised when the connection broke after the command had been sent.
        if session.channel is None or not connection.is_closed():
            raise
        trouble = Trouble.LOST
    except (asyncssh.Error, OSError):
        trouble = Trouble.LOST
    finally:
        if session.channel is not None and not session.closed.is_set():
            session.channel.abort()
    if trouble is None and session.status is None:
        trouble = Trouble.LOST
    if trouble is None and not session.stdout.started and not closed:
        # sshd may report the exit status before the output, and then the connection breaks.
        trouble = Trouble.LOST
    elif trouble is None and not session.stdout.started:
        trouble = Trouble.NOT_STARTED
        detail = session.stderr.noise or session.stdout.noise or "the login shell ended before it"
    return CommandResult(
        tuple(argv),
        session.status if trouble is None else None,
        bytes(session.stdout.data),
        bytes(session.stderr.data),
        time.monotonic() - started,
        trouble,
        detail,
        truncated=not closed or session.stdout.spilled or session.stderr.spilled,
    )


def _feed(session: _Session, stdin: bytes) -> None:
    assert session.channel is not None
    try:
        if stdin:
            session.channel.write(stdin)
        session.channel.write_eof()
    except OSError:
        pass  # the command has ended without reading all its input


async def wait_briefly(event: asyncio.Event, seconds: float) -> None:
    """Wait until the event is set, at most so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass
