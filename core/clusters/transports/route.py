"""Describe the way to a machine, hop by hop, without connecting.

The input is an `SshTarget`; the result is the jump hosts and the machine itself, with their
settings, the existing keys, the number of keys in the agent, and the host keys on file. Nothing is
sent over the network. The module imports asyncssh: import it only where the route is needed.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import NamedTuple

import asyncssh
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.clusters.transports.known_hosts import look_up
from rowtui.core.clusters.transports.login import (
    KnownKey,
    LoginError,
    LoginTrouble,
    SshTarget,
)
from rowtui.core.clusters.transports.ssh_config import SshSettings, read_settings

_MOST_HOPS = 8  # as for a login
_AGENT_SECONDS = 5.0


class Hop(NamedTuple):
    """One machine on the way. `agent_keys`: number of keys in the agent; None if there is none.

    `identities`: identity files that exist; `known`: its host keys on file; `vouched`: an authority
    for host keys is on file; `proxied`: a command of the configuration makes the connection.
    """

    target: SshTarget
    host: str
    port: int
    user: str
    identities: tuple[Path, ...]
    missing: tuple[Path, ...]
    agent_keys: int | None
    known: tuple[KnownKey, ...]
    vouched: bool
    proxied: bool

    def __str__(self) -> str:
        """Return `user@host:port`, safe to show."""
        return str(SshTarget(self.host, self.user, self.port))


async def route_to(target: SshTarget) -> tuple[Hop, ...]:
    """Return the machines on the way, the nearest first, the machine itself last.

    Raises: LoginError (CONFIG) if the configuration cannot be used.
    """
    return await _route(target, 0)


def missing_files(target: SshTarget) -> tuple[Path, ...]:
    """Return unreadable files named instead of ~/.ssh/config; their settings do not apply."""
    return tuple(file for file in target.config or () if not os.access(file, os.R_OK))


async def _route(target: SshTarget, depth: int) -> tuple[Hop, ...]:
    settings = await asyncio.to_thread(read_settings, target, connect_timeout=0.0)
    if settings.jumps and depth >= _MOST_HOPS:
        raise LoginError(LoginTrouble.CONFIG, f"{target} is reached through too many jump hosts")
    hops: list[Hop] = []
    for number, jump in enumerate(settings.jumps):
        if number == 0:  # only the nearest may have a jump host of its own
            hops += await _route(jump, depth + 1)
        else:
            there = await asyncio.to_thread(read_settings, jump, connect_timeout=0.0)
            hops.append(await _hop(jump, there))
    return (*hops, await _hop(target, settings))


async def _hop(target: SshTarget, settings: SshSettings) -> Hop:
    files = (*settings.user_known_hosts, *settings.global_known_hosts)
    try:
        known = await asyncio.to_thread(look_up, files, settings.key_name, settings.key_port)
    except (OSError, RowtuiError) as error:
        raise LoginError(
            LoginTrouble.CONFIG, f"known hosts could not be read: {visible(str(error))}"
        ) from error
    there = tuple(file for file in settings.identities if os.access(file, os.R_OK))
    return Hop(
        target=target,
        host=settings.host,
        port=settings.port,
        user=settings.user,
        identities=there,
        missing=tuple(file for file in settings.identities if file not in there),
        agent_keys=await _agent_keys(settings.agent),
        known=tuple(place for _, place in (*known.keys, *known.elsewhere)),
        vouched=bool(known.authorities),
        proxied=settings.proxy_command,
    )


async def _agent_keys(socket: str) -> int | None:
    if not socket:
        return None
    agent = asyncssh.SSHAgentClient(socket)
    try:
        async with asyncio.timeout(_AGENT_SECONDS):
            await agent.connect()
            return len(await agent.get_keys())
    except (OSError, ValueError, asyncssh.Error):  # also TimeoutError
        return None
    finally:
        agent.close()
