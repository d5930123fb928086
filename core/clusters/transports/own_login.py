"""A transport with a login of its own, of either kind: create it, log in, query its state.

The input is the kind that clusters.toml names; the result is a `Login`. The differences between the
two kinds are handled here, so that code that keeps or shares a login does not depend on them.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from rowtui.core.clusters.commands import Transport
from rowtui.core.clusters.transports.asyncssh_transport import AsyncsshTransport
from rowtui.core.clusters.transports.kept_shells import KEEP_AFTER
from rowtui.core.clusters.transports.login import Asker, LoginError, LoginTrouble, SshTarget

_TRY = 60.0  # seconds for the first command, which makes OpenSSH's connection


class Login(Transport, Protocol):
    """A transport whose connection can be shared: asyncssh's or OpenSSH's."""

    error: LoginError | None

    def process(self, line: str) -> AbstractAsyncContextManager[Any]:
        """Run a line as a process with streams. Raises: LoginError, OSError."""

    async def close(self) -> None:
        """End the connection."""


def own_transport(transport: str, target: SshTarget, asker: Asker) -> Login:
    """Return a transport with a login of its own, of the kind that clusters.toml names."""
    if transport == "openssh":
        from rowtui.core.clusters.transports.openssh_transport import OpensshTransport

        return OpensshTransport(target, keep_after=KEEP_AFTER)
    return AsyncsshTransport(target, asker, keep_after=KEEP_AFTER)


async def log_in(transport: Login) -> None:
    """Make the connection now. Raises: LoginError."""
    if isinstance(transport, AsyncsshTransport):
        await transport.reconnect()
        return
    done = await transport.run(["true"], timeout=_TRY)
    if done.trouble is not None:
        raise transport.error or LoginError(LoginTrouble.BROKEN, done.complaint)


def is_connected(transport: Login) -> bool:
    """Whether there is a connection, as far as is known."""
    if isinstance(transport, AsyncsshTransport):
        return transport.alive
    return transport.error is None
