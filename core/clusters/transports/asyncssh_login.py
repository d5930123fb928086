"""One login with asyncssh: host keys are verified, and the user is asked only if necessary.

The input is an `SshTarget` and an `Asker`; the result is an open connection, through its jump
hosts, or a `LoginError` with the reason. The order is: agent, keys without pass phrase, locked keys
(the pass phrase is asked only when the server accepts that key), keyboard-interactive, password.
Answers are not stored; an unlocked key stays unlocked in the `KeyRing`, as in an agent. The module
imports asyncssh: import it only where a connection is opened.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, NamedTuple

import asyncssh
from asyncssh.public_key import get_default_certificate_algs, get_default_public_key_algs
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.clusters.transports.asyncssh_client import Client
from rowtui.core.clusters.transports.login import (
    DROPPED_PAUSES,
    Asker,
    LoginError,
    LoginTrouble,
    SshTarget,
    UnknownHostKey,
)
from rowtui.core.clusters.transports.ssh_config import SshSettings, read_settings
from rowtui.core.clusters.transports.ssh_keys import (
    Asking,
    KeyRing,
    KnownKeys,
    believe,
    load_keys,
    look_up,
    public_halves,
)

_MOST_JUMPS = 8  # ends the recursion of a jump host that names itself as jump host


class Timing(NamedTuple):
    """Seconds. `connect`: for the network and for each step of a login without a question.

    `login`: the longest time in which the user may answer, if the server does not close earlier.
    """

    connect: float = 20.0
    login: float = 900.0
    alive_interval: float = 15.0
    alive_count: int = 3


class LoggedIn(NamedTuple):
    """An open connection and its jump hosts, the nearest first."""

    connection: asyncssh.SSHClientConnection
    jumps: tuple[asyncssh.SSHClientConnection, ...]

    def close(self) -> None:
        """Close the connection and its jump hosts."""
        for connection in (self.connection, *reversed(self.jumps)):
            connection.close()

    async def wait_closed(self) -> None:
        """Wait until the connection and its jump hosts are closed."""
        for connection in (self.connection, *reversed(self.jumps)):
            await connection.wait_closed()

    def abort(self) -> None:
        """Abort the connection and its jump hosts without a message."""
        for connection in (self.connection, *reversed(self.jumps)):
            connection.abort()


async def log_in(target: SshTarget, asker: Asker, ring: KeyRing, timing: Timing) -> LoggedIn:
    """Open a connection. Raises: LoginError."""
    return await _Login(asker, ring, timing).through_jumps(target, 0)


class _Login:
    """The state shared by the logins of all machines on the way to a cluster."""

    def __init__(self, asker: Asker, ring: KeyRing, timing: Timing) -> None:
        self._asker = asker
        self._ring = ring
        self._timing = timing

    async def through_jumps(self, target: SshTarget, depth: int) -> LoggedIn:
        settings = await self._settings(target)
        if settings.jumps and depth >= _MOST_JUMPS:
            raise LoginError(
                LoginTrouble.CONFIG, f"{target} is reached through too many jump hosts"
            )
        jumps: list[asyncssh.SSHClientConnection] = []
        try:
            for number, hop in enumerate(settings.jumps):
                if number == 0:  # the nearest may have a jump host of its own
                    first = await self.through_jumps(hop, depth + 1)
                    jumps += [*first.jumps, first.connection]
                else:
                    jumps.append(await self._enter(hop, await self._settings(hop), jumps[-1]))
            over = jumps[-1] if jumps else None
            return LoggedIn(await self._enter(target, settings, over), tuple(jumps))
        except BaseException:
            for jump in reversed(jumps):
                jump.abort()
            raise

    async def _settings(self, target: SshTarget) -> SshSettings:
        return await asyncio.to_thread(read_settings, target, connect_timeout=self._timing.connect)

    async def _enter(
        self,
        target: SshTarget,
        settings: SshSettings,
        over: asyncssh.SSHClientConnection | None,
    ) -> asyncssh.SSHClientConnection:
        """Log in to one machine; if its key is unknown, ask the user about the key first."""
        while True:
            known = await asyncio.to_thread(_known_keys, settings)
            try:
                return await self._attempt(target, settings, known, over)
            except LoginError as error:
                key = error.unknown
                if error.trouble is not LoginTrouble.HOST_KEY_UNKNOWN or key is None:
                    raise
                if not await self._asker.host_key(key):
                    raise
            self._ring.accepted.add(key.line)
            if settings.user_known_hosts:
                await asyncio.to_thread(_believe, settings.user_known_hosts[0], key)

    async def _attempt(
        self,
        target: SshTarget,
        settings: SshSettings,
        known: KnownKeys,
        over: asyncssh.SSHClientConnection | None,
    ) -> asyncssh.SSHClientConnection:
        asking = Asking(self._asker)
        keys = await asyncio.to_thread(load_keys, settings.identities, self._ring, asking)
        client = Client(target, settings, known, self._ring, asking)
        agent: dict[str, Any] = {"agent_path": settings.agent or None}
        if settings.identities_only:
            public = await asyncio.to_thread(public_halves, settings.identities)
            agent = {**agent, "agent_identities": public} if public else {"agent_path": None}
        for pause in (*DROPPED_PAUSES, None):
            opening = asyncssh.connect(
                target.host,
                target.port or (),
                username=target.user or (),
                config=list(settings.files),
                tunnel=over,
                client_factory=lambda: client,
                known_hosts=([], list(known.authorities), [key for key, _ in known.revoked]),
                server_host_key_algs=_host_key_algorithms(settings, known),
                encryption_algs=settings.ciphers or (),
                client_keys=keys,
                connect_timeout=None,  # the user may take longer; `_watch` bounds the rest
                login_timeout=self._timing.login,
                keepalive_interval=settings.alive_interval or self._timing.alive_interval,
                keepalive_count_max=self._timing.alive_count,
                agent_forwarding=False,
                **agent,
            )
            try:
                return await _watch(opening, asking, settings.connect_timeout)
            except (asyncssh.ConnectionLost, ConnectionResetError) as error:
                if asking.moves or pause is None:
                    raise client.explain(asyncssh.ConnectionLost(str(error))) from error
            except asyncssh.Error as error:
                raise client.explain(error) from error
            except (OSError, TimeoutError, ValueError) as error:
                raise _network_error(target, settings, error) from error
            await asyncio.sleep(pause)
        raise AssertionError("unreachable")


async def _watch(
    work: Awaitable[asyncssh.SSHClientConnection], asking: Asking, seconds: float
) -> asyncssh.SSHClientConnection:
    """Wait for a login while it progresses or the user is being asked.

    Raises: TimeoutError, and the exceptions of the login.
    """
    opening = asyncio.ensure_future(work)
    try:
        while True:
            moves = asking.moves
            if (await asyncio.wait({opening}, timeout=seconds))[0]:
                return opening.result()
            if asking.moves == moves and not asking.open:
                raise TimeoutError
    except BaseException:
        opening.cancel()
        await asyncio.wait({opening})
        if not opening.cancelled() and opening.exception() is None:
            opening.result().abort()  # the connection was opened in that moment
        raise


def _known_keys(settings: SshSettings) -> KnownKeys:
    files = (*settings.user_known_hosts, *settings.global_known_hosts)
    try:
        return look_up(files, settings.key_name, settings.key_port)
    except (OSError, RowtuiError) as error:
        raise LoginError(
            LoginTrouble.CONFIG, f"known hosts could not be read: {visible(str(error))}"
        ) from error


def _believe(file: Path, key: UnknownHostKey) -> None:
    try:
        believe(file, key)
    except OSError as error:
        raise LoginError(
            LoginTrouble.CONFIG,
            f"the key of {visible(key.host)} could not be written to {visible(str(file))}: "
            f"{error.strerror}",
            unknown=key,
        ) from error


def _host_key_algorithms(settings: SshSettings, known: KnownKeys) -> Any:
    """Return the key types to request: known ones first, so that the server shows a known key."""
    if settings.host_key_algorithms and not known.keys:
        return ()
    names: list[bytes] = list(get_default_certificate_algs()) if known.authorities else []
    for key, _ in (*known.keys, *known.elsewhere):
        names += key.sig_algorithms
    names += get_default_public_key_algs()
    return [name.decode() for name in dict.fromkeys(names)]


def _network_error(target: SshTarget, settings: SshSettings, error: Exception) -> LoginError:
    host = visible(f"{settings.host}:{settings.port}")
    where = f"{target} ({host})" if visible(settings.host) not in str(target) else str(target)
    if isinstance(error, socket.gaierror):
        return LoginError(
            LoginTrouble.NAME_NOT_FOUND,
            f"no address was found for {visible(settings.host)}",
            "check the name, and whether this machine is on the network (or VPN) that it needs",
        )
    if isinstance(error, TimeoutError) or _number(error) == errno.ETIMEDOUT:
        return LoginError(
            LoginTrouble.TIMED_OUT,
            f"{where} did not answer within {settings.connect_timeout:.0f} s",
        )
    if isinstance(error, ConnectionRefusedError) or _number(error) == errno.ECONNREFUSED:
        return LoginError(LoginTrouble.REFUSED, f"{where} refused the connection")
    if isinstance(error, OSError):
        found = error.strerror or str(error)
        return LoginError(LoginTrouble.BROKEN, f"{where} cannot be reached: {visible(found)}")
    return LoginError(
        LoginTrouble.CONFIG, f"no login to {where} with this configuration: {visible(str(error))}"
    )


def _number(error: Exception) -> int | None:
    """Return the errno; asyncio joins several failed addresses into one sentence."""
    if not isinstance(error, OSError):
        return None
    if error.errno is None and "[Errno " in str(error):
        numbers = {part.split("]")[0] for part in str(error).split("[Errno ")[1:]}
        return int(numbers.pop()) if len(numbers) == 1 else None
    return error.errno
