"""Read the settings of ~/.ssh/config that a login needs before asyncssh reads the file.

asyncssh's own reader is used (Host, Match, Include, tokens). This module adds what asyncssh does
not do: the system's files, several known_hosts files, a user's `none` that must not switch
verification off, identity files that do not exist, and jump hosts, where the user also logs in. The
module imports asyncssh: import it only where a connection is opened. Source: ssh_config(5).
"""

from __future__ import annotations

import asyncio
import getpass
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, cast

import asyncssh
from asyncssh.config import ConfigParseError, SSHClientConfig
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.clusters.transports.login import KnownKey, LoginError, LoginTrouble, SshTarget
from rowtui.core.clusters.transports.ssh_keys import look_up

# Describe the way to a machine, hop by hop, without connecting.
#
# The input is an `SshTarget`; the result is the jump hosts and the machine itself, with their
# settings, the existing keys, the number of keys in the agent, and the host keys on file. Nothing
# is sent over the network. The module imports asyncssh: import it only where the route is needed.


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


_SYSTEM_CONFIG = Path("/etc/ssh/ssh_config")
_DEFAULT_KEYS = ("id_ed25519_sk", "id_ecdsa_sk", "id_ed25519", "id_ecdsa", "id_rsa")
_DEFAULT_PORT = 22
# asyncssh prefers ChaCha20, for which it makes five times as many calls for each packet.
_CIPHERS = "^aes256-gcm@openssh.com,aes128-gcm@openssh.com"
_AGENT = "SSH_AUTH_SOCK"


class SshSettings(NamedTuple):
    """The settings of one machine. Files are absolute; they need not exist."""

    files: tuple[Path, ...]  # the files that were read
    host: str  # the machine to connect to
    port: int
    user: str
    key_name: str  # its name in known_hosts
    key_port: int  # 22 if an alias names the key
    identities: tuple[Path, ...]
    identities_only: bool
    user_known_hosts: tuple[Path, ...]
    global_known_hosts: tuple[Path, ...]
    jumps: tuple[SshTarget, ...]
    proxy_command: bool
    host_key_algorithms: str
    ciphers: str  # those to be preferred; "" if the user's files decide
    connect_timeout: float
    alive_interval: int
    agent: str  # its socket, or ""


def read_settings(target: SshTarget, *, connect_timeout: float) -> SshSettings:
    """Read the settings of a machine. Raises: LoginError (CONFIG) with the file and the line."""
    if complaint := target.complaint:
        raise LoginError(LoginTrouble.CONFIG, complaint)
    home = Path("~").expanduser()
    files = target.config
    if files is None:
        files = (home / ".ssh/config", _SYSTEM_CONFIG)
    files = tuple(file for file in files if os.access(file, os.R_OK))
    try:
        me = getpass.getuser()
        config = SSHClientConfig.load(
            None, list(files), False, False, False, me, target.user or (), target.host,
            target.port or (),
        )  # fmt: skip
    except (ConfigParseError, ValueError, OSError, KeyError) as error:
        raise LoginError(
            LoginTrouble.CONFIG, f"the configuration of ssh cannot be used: {visible(str(error))}"
        ) from error

    def texts(option: str, default: Sequence[str]) -> list[str]:
        found = config.get(option)
        if found is None:
            return list(default)
        return [str(text) for text in cast("list[str]", found) if text != "none"]

    def paths(option: str, default: Sequence[str]) -> tuple[Path, ...]:
        return tuple(home / Path(text).expanduser() for text in texts(option, default))

    host = str(config.get("Hostname") or target.host)
    port = int(cast("int", config.get("Port") or _DEFAULT_PORT))
    alias = config.get("HostKeyAlias")
    return SshSettings(
        files=files,
        host=host,
        port=port,
        user=str(config.get("User") or me),
        key_name=str(alias or host),
        key_port=_DEFAULT_PORT if alias else port,
        identities=paths("IdentityFile", [f"{home}/.ssh/{name}" for name in _DEFAULT_KEYS]),
        identities_only=bool(config.get("IdentitiesOnly")),
        user_known_hosts=paths(
            "UserKnownHostsFile", [f"{home}/.ssh/known_hosts", f"{home}/.ssh/known_hosts2"]
        ),
        global_known_hosts=paths(
            "GlobalKnownHostsFile", ["/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"]
        ),
        jumps=_jumps(str(config.get("ProxyJump") or ""), target.config),
        proxy_command=bool(config.get("ProxyCommand")),
        host_key_algorithms=str(config.get("HostKeyAlgorithms") or ""),
        ciphers="" if config.get("Ciphers") else _CIPHERS,
        connect_timeout=float(cast("int", config.get("ConnectTimeout") or connect_timeout)),
        alive_interval=int(cast("int", config.get("ServerAliveInterval") or 0)),
        agent=_agent(config.get("IdentityAgent", _AGENT), home),
    )


def _agent(configured: object, home: Path) -> str:
    if configured is None:
        return ""  # `none`
    if configured == _AGENT:
        return os.environ.get(_AGENT, "")
    return str(home / Path(str(configured)).expanduser())


def _jumps(text: str, config: tuple[Path, ...] | None) -> tuple[SshTarget, ...]:
    """Parse `user@host:port,...`, also with `ssh://`; the first is the nearest."""
    targets = []
    for hop in filter(None, (part.strip() for part in text.split(","))):
        user, _, place = hop.removeprefix("ssh://").rpartition("@")
        host, colon, port = place.rpartition(":")
        if not colon or place.endswith("]") or (":" in host and not host.startswith("[")):
            host, port = place, ""  # no port, or a bare IPv6 address
        if port and not port.isdigit():
            raise LoginError(LoginTrouble.CONFIG, f"{visible(hop)} cannot be a jump host")
        targets.append(SshTarget(host.strip("[]"), user, int(port or 0), config))
    return tuple(targets)
