"""The way to a cluster: the user's shared connection if there is one, else a login in this process.

The input is a cluster's `Remote` and an `Asker`; the result is a `Transport`. A user who has logged
in once with `rowtui connect` is not asked again by other processes. If the shared connection ends,
the commands sent over it are lost or certainly not begun, as their results report; the next command
uses another way, which may ask the user. Nothing is opened before the first command.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from rowtui.core.clusters.command_log import CommandLog, CommandResult, Trouble, noted
from rowtui.core.clusters.config.load_remote import ssh_target
from rowtui.core.clusters.model import Remote
from rowtui.core.clusters.transports.login import Asker, LoginError
from rowtui.core.clusters.transports.own_login import Login, is_connected, log_in, own_transport
from rowtui.core.clusters.transports.shared.calls import log_in_at
from rowtui.core.clusters.transports.shared.folder import NobodyThere, SharedError, shared_socket
from rowtui.core.clusters.transports.shared.transport import SharedTransport


def transport_for(
    remote: Remote, asker: Asker, *, cluster: str, log: CommandLog | None = None
) -> ClusterTransport:
    """Return the way to a cluster. `log`: the log of its commands."""
    return ClusterTransport(remote, asker, cluster, log)


class ClusterTransport:
    """Runs commands on a cluster's login node, over the shared login or its own.

    `shared`: whether the last command used the shared connection. `notice`: why an existing shared
    connection is not used, "" if there is no reason to report.
    """

    def __init__(
        self, remote: Remote, asker: Asker, cluster: str, log: CommandLog | None = None
    ) -> None:
        self.target = ssh_target(remote)
        self.cluster = cluster
        self.log = log
        self.shared = False
        self.notice = ""
        self._kind = remote.transport
        self._asker = asker
        self._over = SharedTransport(shared_socket(cluster, self.target))
        self._own: Login | None = None
        self._closed = False

    @property
    def alive(self) -> bool:
        """Whether there is a connection, as far as is known."""
        if self.shared:
            return self._over.alive
        return self._own is not None and is_connected(self._own)

    @property
    def error(self) -> LoginError | None:
        """Why the login of this process failed, if one was tried."""
        return self._own.error if self._own is not None and not self.shared else None

    async def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout: float,  # noqa: ASYNC109
        cwd: Path | None = None,
        env: Mapping[str, str | None] | None = None,
    ) -> CommandResult:
        """Run one command on the cluster. See `Transport`."""
        run = self._run(argv, stdin=stdin, timeout=timeout, cwd=cwd, env=env)
        return await noted(self.log, self.cluster, argv, run)

    async def _run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes,
        timeout: float,  # noqa: ASYNC109
        cwd: Path | None,
        env: Mapping[str, str | None] | None,
    ) -> CommandResult:
        if await self._is_shared():
            result = await self._over.run(argv, stdin=stdin, timeout=timeout, cwd=cwd, env=env)
            if result.trouble is not Trouble.UNREACHABLE or self._over.alive:
                return result
        self.shared = False
        return await self.own.run(argv, stdin=stdin, timeout=timeout, cwd=cwd, env=env)

    async def way(self) -> SharedTransport | Login:
        """Return the transport of the next command."""
        return self._over if await self._is_shared() else self.own

    @asynccontextmanager
    async def process(self, line: str) -> AsyncIterator[Any]:
        """Run a line as a process with streams. Raises: LoginError, SharedError, OSError."""
        async with (await self.way()).process(line) as process:
            yield process

    @property
    def own(self) -> Login:
        """The transport with a login of its own; it logs in at its first use."""
        if self._own is None:
            self._own = own_transport(self._kind, self.target, self._asker)
        return self._own

    async def reconnect(self) -> None:
        """Ensure a connection on the user's request, even after failures.

        A lost shared login is made again for all processes. Raises: LoginError.
        """
        began, failed = time.monotonic(), "given up"
        try:
            await self._reconnect()
            failed = ""
        except LoginError as error:
            failed = error.message
            raise
        finally:
            if self.log is not None:
                seconds = time.monotonic() - began
                self.log.note_login(self.cluster, str(self.target), seconds, failed)

    async def _reconnect(self) -> None:
        if await self._is_shared():
            try:
                await log_in_at(self._over.socket_path, self._asker)
                return
            except SharedError:  # the shared connection ended, or another process logs in there now
                self.shared = False
        await log_in(self.own)

    async def close(self) -> None:
        """End the login of this process; a shared one stays open."""
        self._closed = True
        await self._over.close()
        if self._own is not None:
            await self._own.close()

    async def _is_shared(self) -> bool:
        """Whether to use the shared connection: if it exists and this process has no login."""
        self.shared = False
        if self._closed or getattr(self._own, "alive", False):
            return False
        try:
            await self._over.open()
        except NobodyThere:
            self.notice = ""
        except SharedError as error:
            self.notice = str(error)
        else:
            self.notice = ""
            self.shared = True
        return self.shared
