"""Secrets from ~/.netrc (or the file that NETRC names), read by Python's `netrc`.

The file is used only if no other user can read or write it. The password of an entry is returned
only for the machine that the entry names: `default` is not used. A machine with a port is looked up
with the port, then without it, because most files leave the port out. Of several entries for one
machine, the last one counts.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from rowtui.core.base.text import visible
from rowtui.core.secrets.model import (
    CouldNotListCredentials,
    CouldNotRetrieveCredentials,
    NotSupportedByProvider,
    Secret,
    SecretName,
)
from rowtui.core.secrets.waiting import TOO_LATE, answer_within

ANSWER_SECONDS = 10.0  # the home may be on a file server that does not respond


class _Entry(NamedTuple):
    """The entry of one machine. `user` "": for any login."""

    user: str
    secret: Secret


class _Content(NamedTuple):
    """The entries by machine; or the reason why there are none, and a hint."""

    entries: Mapping[str, _Entry] = {}
    fault: str = ""
    hint: str = ""


def netrc_path(environment: Mapping[str, str]) -> Path:
    """Return the path in `NETRC`, else `.netrc` in the home directory."""
    named = environment.get("NETRC")
    return Path(named) if named else Path(environment.get("HOME") or Path.home()) / ".netrc"


class NetrcProvider:
    """One file. The file is small and seldom needed, so every call reads it again."""

    name = "netrc"

    def __init__(self, path: Path, *, seconds: float = ANSWER_SECONDS) -> None:
        self._path = path
        self._seconds = seconds

    async def find_password_for_user(self, machine: str, user: str) -> Secret | None:
        """Return the secret of the machine's entry, if it is for this login or names none."""
        content = await self._content()
        if content.fault:
            raise CouldNotRetrieveCredentials(machine, user, self.name, content.fault, content.hint)
        for name in _names_of(machine):
            entry = content.entries.get(name)
            if entry is not None and entry.user in (user, ""):
                return entry.secret
        return None

    async def set_password_for_user(self, machine: str, user: str, secret: Secret) -> None:
        """Raises: NotSupportedByProvider."""
        raise NotSupportedByProvider(machine, user, self.name, "it is only read", self._edit())

    async def del_password_for_user(self, machine: str, user: str) -> None:
        """Raises: NotSupportedByProvider."""
        raise NotSupportedByProvider(machine, user, self.name, "it is only read", self._edit())

    async def names(self) -> tuple[SecretName, ...]:
        """Return the names of entries with a password. Raises: CouldNotListCredentials."""
        content = await self._content()
        if content.fault:
            raise CouldNotListCredentials("", "", self.name, content.fault, content.hint)
        return tuple(SecretName(name, entry.user) for name, entry in content.entries.items())

    def _edit(self) -> str:
        return f"edit {visible(str(self._path))} yourself"

    async def _content(self) -> _Content:
        answer = await answer_within(self._seconds, lambda: _read(self._path))
        if answer.value is not None:
            return answer.value
        shown = visible(str(self._path))
        why = answer.failure if answer.failure == TOO_LATE else f"it failed with {answer.failure}"
        return _Content(fault=f"{shown} could not be read, {why}")


def _names_of(machine: str) -> tuple[str, ...]:
    host, colon, port = machine.rpartition(":")
    return (machine, host) if colon and port.isdecimal() and host else (machine,)


def _read(path: Path) -> _Content:
    """Check and read the file."""
    shown = visible(str(path))
    try:
        status = path.stat()
    except FileNotFoundError:
        return _Content()
    except OSError as error:
        return _Content(fault=f"{shown} could not be opened: {error.strerror}")
    if not stat.S_ISREG(status.st_mode):
        return _Content(fault=f"{shown} is not a regular file")
    if status.st_uid != os.geteuid():
        return _Content(fault=f"{shown} belongs to another user", hint="make one of your own")
    if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        mode = f"{stat.S_IMODE(status.st_mode):04o}"
        return _Content(
            fault=f"{shown} is open to others (mode {mode}), so nothing is taken from it",
            hint=f"chmod 600 {shown}, and change the passwords that others could read",
        )
    return _parsed(path, shown)


def _parsed(path: Path, shown: str) -> _Content:
    from netrc import NetrcParseError, netrc

    try:
        hosts = netrc(path).hosts
    except OSError as error:
        return _Content(fault=f"{shown} could not be opened: {error.strerror}")
    except UnicodeError:
        problem = "is not text in UTF-8"
    except NetrcParseError as error:
        # Its message quotes the file, which may be a password.
        problem = f"cannot be read at line {error.lineno} or the one before"
    else:
        return _Content(
            {
                machine: _Entry(login, Secret(password))
                for machine, (login, _, password) in hosts.items()
                if machine != "default" and password
            }
        )
    return _Content(
        fault=f"{shown} {problem}", hint="nothing is taken from it until that is mended"
    )
