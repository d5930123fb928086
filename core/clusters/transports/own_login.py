"""A transport with a login of its own, whichever kind it is: making it, logging in, being in.

Takes the kind that clusters.toml names; gives a `Login`. What differs between the two kinds is
known here, so that whoever keeps or shares a login need not.
"""

from __future__ import annotations

from typing import Protocol

from rowtui.core.clusters.commands import Transport
from rowtui.core.clusters.transports.asyncssh_transport import AsyncsshTransport
from rowtui.core.clusters.transports.login import Asker, LoginError, LoginTrouble, SshTarget

_TRY = 60.0  # seconds for a first command, by which OpenSSH's connection is made


class Login(Transport, Protocol):
    """A transport whose connection can be shared: asyncssh's or OpenSSH's."""

    error: LoginError | None

    async def close(self) -> None:
        """End the connection."""
        ...


def own_transport(transport: str, target: SshTarget, asker: Asker) -> Login:
    """A transport with a login of its own, of the kind that clusters.toml names."""
    if transport == "openssh":
        from rowtui.core.clusters.transports.openssh_transport import OpensshTransport

        return OpensshTransport(target)
    return AsyncsshTransport(target, asker)


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
