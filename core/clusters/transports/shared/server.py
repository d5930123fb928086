"""The process that holds one login and runs commands of other processes over it.

The process serves the socket until it is asked to end, it is not used for some time, its time is
over, or the login is lost and only the user could renew it. It asks only the user who makes the
login, in front of another process, and writes nothing to the disk. A command is run to its end even
if the process that sent it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from rowtui.core.base.document import document
from rowtui.core.clusters.command_log import CommandResult, Trouble
from rowtui.core.clusters.transports.asyncssh_transport import AsyncsshTransport
from rowtui.core.clusters.transports.login import PASSING, LoginError, LoginTrouble
from rowtui.core.clusters.transports.own_login import Login, is_connected, log_in
from rowtui.core.clusters.transports.shared.folder import (
    SharedError,
    identity,
    listen_at,
    refuse_others,
    remove,
)
from rowtui.core.clusters.transports.shared.protocol import (
    ClientRequest,
    FailureHead,
    LoginState,
    ProtocolError,
    Request,
    SharedLogin,
    greeting,
    read,
    receive,
    result_head,
    same_version,
    send,
    wish_in,
)
from rowtui.core.clusters.transports.shared.user import Caller, UserQuestions

FIRST_WAIT = 20.0  # seconds until a process must connect to log in
_GREETING = 10.0  # seconds for a client to send its greeting
_LOOK = 60.0  # seconds between two checks of the clock and of the socket
_GRACE = 5.0  # seconds for running commands at the end, and for closing


class Shared(NamedTuple):
    """The shared cluster and host, for listing, and the longest time in seconds."""

    cluster: str
    host: str
    seconds: float


async def serve(
    transport: Login,
    socket_path: Path,
    idle_seconds: float,
    *,
    shared: Shared,
    questions: UserQuestions,
    logged_in: bool = False,
    ready: asyncio.Event | None = None,
    end: asyncio.Event | None = None,
) -> None:
    """Share a login until its end; then close it.

    `questions` is the asker of the transport; unless the transport is `logged_in` already, the
    client that connects with the wish to log in answers the questions. `ready` is set once clients
    can connect; the server ends when `end` is set. Raises: SharedError if the socket cannot be made
    or another process listens there.
    """
    server = _Server(transport, socket_path, idle_seconds, shared, questions)
    server.was_in = logged_in
    found = asyncio.create_task(_when(end, server.end))
    try:
        await server.run(ready or asyncio.Event())
    finally:
        found.cancel()


async def _when(event: asyncio.Event | None, told: Callable[[], None]) -> None:
    if event is not None:
        await event.wait()
        told()


class _Client(NamedTuple):
    """One connection, and the numbers of the commands that it waits for."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    running: set[int]


class _Server:
    def __init__(
        self,
        transport: Login,
        path: Path,
        idle_seconds: float,
        shared: Shared,
        questions: UserQuestions,
    ) -> None:
        self._transport = transport
        self._path = path
        self._idle_seconds = idle_seconds
        self._shared = shared
        self._questions = questions
        self.was_in = False  # whether there was a connection once
        self._clients: list[_Client] = []
        self._tasks: set[asyncio.Task[None]] = set()  # running commands
        self._streams = 0  # commands whose streams are forwarded
        self._visits: set[asyncio.Task[None]] = set()  # one for each client
        self._ending = False
        self._news = asyncio.Event()  # set when the remaining time may have changed
        self._logging_in = False
        self._user = ""
        self._since = time.time()
        self._started = self._used = _now()

    @property
    def _running(self) -> int:
        """The number of running commands."""
        return len(self._tasks) + self._streams

    def end(self) -> None:
        """End the server."""
        self._ending = True
        self._news.set()

    async def run(self, ready: asyncio.Event) -> None:
        listening = listen_at(self._path)
        ours = identity(self._path)
        try:
            server = await asyncio.start_server(self._visit, sock=listening)
        except BaseException:
            remove(self._path, ours)
            listening.close()
            raise
        try:
            if self.was_in:
                await self._note_user()
            ready.set()
            # Without its socket, which a clean-up may remove, no process could connect.
            while (seconds := self._time_left()) > 0 and identity(self._path) == ours:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(min(seconds, _LOOK)):
                        await self._news.wait()
                self._news.clear()
        finally:
            self._ending = True
            remove(self._path, ours)
            server.close()
            await self._close()

    def _time_left(self) -> float:
        """Return the seconds until the end, as far as is known now."""
        if self._ending:
            return 0.0
        now = _now()
        if not self.was_in:
            return _LOOK if self._logging_in else self._started + FIRST_WAIT - now
        left = self._started + self._shared.seconds - now
        if not self._running:
            left = min(left, self._used + self._idle_seconds - now)
        return left

    async def _close(self) -> None:
        """Wait for running commands, report the commands that never began, and close everything."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_GRACE)
        await _at_most(_GRACE, self._transport.close())
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        clients = list(self._clients)
        for client in clients:
            if not client.writer.is_closing():
                send(client.writer, {"bye": sorted(client.running)})
                client.writer.close()
        gone = asyncio.gather(*(_gone(client.writer) for client in clients))
        await _at_most(_GRACE, gone)
        for visit in self._visits:
            visit.cancel()
        await asyncio.gather(*self._visits, return_exceptions=True)

    # Clients

    async def _visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = _Client(reader, writer, set())
        me = asyncio.current_task()
        assert me is not None
        self._visits.add(me)
        self._clients.append(client)
        try:
            refuse_others(writer.get_extra_info("socket"))
            await self._serve(client)
        except (ProtocolError, SharedError, ConnectionError):
            pass  # an invalid client is disconnected
        except asyncio.CancelledError:
            pass  # the end; asyncio's own callback would report it
        finally:
            self._clients.remove(client)
            self._visits.discard(me)
            writer.close()

    async def _serve(self, client: _Client) -> None:
        try:
            async with asyncio.timeout(_GREETING):
                first = await receive(client.reader)
        except TimeoutError:
            return
        wish = wish_in(first)
        if first is None or wish is None:
            return
        refused = self._refusal(wish, same_version(first))
        send(client.writer, {**greeting(wish), **document(self._login()), "error": refused})
        await client.writer.drain()
        if refused:
            return
        if wish is ClientRequest.COMMANDS:
            await self._take_commands(client)
        elif wish is ClientRequest.STREAM:
            await self._pass_stream_on(client)
        elif wish is ClientRequest.LOGIN:
            await self._let_log_in(client)
        elif wish is ClientRequest.END:
            self.end()
            await receive(client.reader)  # until the client or this server closes

    def _refusal(self, wish: ClientRequest, same: bool) -> str:
        """Return why a request is refused, in a word of the protocol; "" if it is not."""
        if wish in (ClientRequest.LOOK, ClientRequest.END):
            return ""
        if not same:
            return "version"
        if self._ending:
            return "ending"
        if self._logging_in or (wish is not ClientRequest.LOGIN and not self.was_in):
            return "logging in"
        return ""

    def _login(self) -> SharedLogin:
        state = LoginState.LOGGING_IN
        if self.was_in and not self._logging_in:
            state = LoginState.CONNECTED if is_connected(self._transport) else LoginState.LOST
        return SharedLogin(
            self._shared.cluster,
            self._shared.host,
            self._user,
            state,
            self._since,
            time.time() + self._started + self._shared.seconds - _now(),
            0.0 if self._running else _now() - self._used,
            self._running,
        )

    # Commands

    async def _take_commands(self, client: _Client) -> None:
        while (frame := await receive(client.reader)) is not None:
            request = read(Request, frame.head)
            if self._ending or self._logging_in:
                why = "is being ended" if self._ending else "is being made again"
                why = f"the shared connection to {self._shared.host} {why}"
                result = CommandResult(request.argv, None, trouble=Trouble.UNREACHABLE, detail=why)
                send(client.writer, result_head(request.run, result))
                continue
            client.running.add(request.run)
            task = asyncio.create_task(self._carry_out(client, request, frame.body))
            self._tasks.add(task)
            task.add_done_callback(self._carried_out)

    async def _carry_out(self, client: _Client, request: Request, stdin: bytes) -> None:
        self._used = _now()
        result = CommandResult(request.argv, None, trouble=Trouble.LOST)
        try:
            result = await self._transport.run(
                request.argv,
                stdin=stdin,
                timeout=request.timeout,
                cwd=None if request.cwd is None else Path(request.cwd),
                env=request.env,
            )
        finally:
            self._used = _now()
            client.running.discard(request.run)
            if not client.writer.is_closing():
                head = result_head(request.run, result)
                send(client.writer, head, result.stdout, result.stderr)
        self._end_if_lost()

    async def _pass_stream_on(self, client: _Client) -> None:
        from rowtui.core.clusters.transports.shared.stream import pass_on

        self._streams += 1
        try:
            await pass_on(self._transport, client.reader, client.writer)
        finally:
            self._streams -= 1
            self._used = _now()
            self._news.set()
        self._end_if_lost()

    def _end_if_lost(self) -> None:
        """End the server after an error that needs the user, who is not present here."""
        error = self._transport.error
        if error is not None and error.trouble not in PASSING:
            self.end()

    def _carried_out(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._news.set()

    # Logging in

    async def _let_log_in(self, client: _Client) -> None:
        """Log in the first time, and again after the connection was lost."""
        self._logging_in = True
        try:
            if not (self.was_in and is_connected(self._transport)):
                await self._ask_caller(Caller(client.reader, client.writer))
            await self._note_user()
        except LoginError as error:
            send(client.writer, FailureHead(error.trouble, error.message, error.hint, error.tried))
            self.end()
        else:
            if not self.was_in:
                self.was_in = True
                self._since, self._started = time.time(), _now()
            self._used = _now()
            self._logging_in = False
            send(client.writer, {**document(self._login()), "connected": True})
        finally:
            self._logging_in = False
            self._news.set()
        await client.writer.drain()

    async def _ask_caller(self, caller: Caller) -> None:
        """Log in while the caller is connected. Raises: LoginError."""
        self._questions.person = caller
        listening = asyncio.create_task(caller.listen())
        login = asyncio.create_task(log_in(self._transport))
        try:
            await asyncio.wait({login, listening}, return_when=asyncio.FIRST_COMPLETED)
            if not login.done():
                # The caller has disconnected: its questions are declined.
                await asyncio.wait({login}, timeout=_GRACE)
            if not login.done():
                raise LoginError(LoginTrouble.CANCELLED, "who logged in went away")
            login.result()
        finally:
            self._questions.nobody()
            for task in (login, listening):
                task.cancel()
            await asyncio.gather(login, listening, return_exceptions=True)

    async def _note_user(self) -> None:
        if isinstance(self._transport, AsyncsshTransport):
            connection = await self._transport.connection()
            self._user = str(connection.get_extra_info("username") or "")


async def _at_most(seconds: float, work: Awaitable[object]) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await work


async def _gone(writer: asyncio.StreamWriter) -> None:
    """Wait until all data is sent and the connection is closed."""
    with contextlib.suppress(OSError):
        await writer.wait_closed()


def _now() -> float:
    """Return seconds that include the machine's sleep and ignore changes of the clock."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
