"""Read the settings of ~/.ssh/config that a login needs before asyncssh reads the file.

asyncssh's own reader is used (Host, Match, Include, tokens). This module adds what asyncssh does
not do: the system's files, several known_hosts files, a user's `none` that must not switch
verification off, identity files that do not exist, and jump hosts, where the user also logs in. The
module imports asyncssh: import it only where a connection is opened. Source: ssh_config(5).
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, cast

from asyncssh.config import ConfigParseError, SSHClientConfig
from rowtui.core.base.text import visible
from rowtui.core.clusters.transports.login import LoginError, LoginTrouble, SshTarget

_SYSTEM_CONFIG = Path("/etc/ssh/ssh_config")
_DEFAULT_KEYS = ("id_ed25519_sk", "id_ecdsa_sk", "id_ed25519", "id_ecdsa", "id_rsa")
_DEFAULT_PORT = 22
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
    connect_timeout: float
    alive_interval: int
    agent: str  # its socket, or ""


def read_settings(target: SshTarget, *, connect_timeout: float) -> SshSettings:
    """Read the settings of a machine.

    Raises: LoginError (CONFIG) with the file and the line.
    """
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
