"""Secrets from ~/.netrc (or the file that NETRC names). The file is only read.

The file is used only if no other user can read or write it. The password of an entry is returned
only for the machine that the entry names: `default` is not used. A machine with a port is looked up
with the port, then without it, because most files leave the port out.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
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

# Parse the text of a .netrc file into its entries, one for each machine and login.
#
# Python's `netrc` is not used, because it keeps only the last of several logins at one machine and
# quotes text that it cannot parse, which may be a part of a password. A fault is reported by its
# line number only.


# A word is in double quotes, where \ makes the next character literal, or ends at white space.
_WORD = re.compile(r'"((?:[^"\\]|\\.)*)"|((?:\\.|\S)+)', re.DOTALL)
_MACRO_END = re.compile(r"\n[ \t\r]*\n")


class NetrcEntry(NamedTuple):
    """One entry. `machine` is None for `default`; `user` is None if the entry is for any login."""

    machine: str | None
    user: str | None
    secret: Secret | None


class NetrcFault(Exception):
    """The file cannot be parsed from this line on. `problem` never quotes the file."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")


class _Words:
    """The words of the file, one after the other, with the line of the last one."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._begin = 0

    @property
    def line(self) -> int:
        return self._text.count("\n", 0, self._begin) + 1

    def next(self, *, keyword: bool) -> str | None:
        """Return the next word, or None at the end. Comments may stand before a keyword."""
        while True:
            self._begin = self._at = self._at + _blanks(self._text, self._at)
            if self._at >= len(self._text):
                return None
            if not (keyword and self._text[self._at] == "#"):
                break
            end = self._text.find("\n", self._at)
            self._at = len(self._text) if end < 0 else end
        found = _WORD.match(self._text, self._at)
        assert found is not None  # the position is not at white space, so at least \S matches
        self._at = found.end()
        quoted, plain = found.groups()
        return re.sub(r"\\(.)", r"\1", plain if quoted is None else quoted, flags=re.DOTALL)

    def skip_macro(self) -> None:
        """Move behind the empty line that ends a macro."""
        end = _MACRO_END.search(self._text, self._at)
        self._at = end.end() if end else len(self._text)


def _blanks(text: str, at: int) -> int:
    begin = at
    while at < len(text) and text[at].isspace():
        at += 1
    return at - begin


def entries_of(text: str) -> Iterator[NetrcEntry]:
    """Return the entries in the order of the file. Raises: NetrcFault."""
    words = _Words(text)
    keyword = words.next(keyword=True)
    while keyword is not None:
        if keyword == "macdef":
            words.skip_macro()
            keyword = words.next(keyword=True)
            continue
        if keyword not in {"machine", "default"}:
            raise NetrcFault(words.line, "this should be machine, default or macdef")
        machine = _value(words) if keyword == "machine" else None
        user: str | None = None
        secret: Secret | None = None
        while (keyword := words.next(keyword=True)) in {"login", "user", "account", "password"}:
            if keyword == "password":
                secret = Secret(_value(words))
            elif keyword == "account":
                _value(words)
            else:
                user = _value(words)
        yield NetrcEntry(machine, user, secret)


def _value(words: _Words) -> str:
    line = words.line
    value = words.next(keyword=False)
    if value is None:
        raise NetrcFault(line, "something should follow the last word")
    return value


LARGEST_FILE = 1 << 20  # bytes; a thousand entries take 100 kB
ANSWER_SECONDS = 10.0  # the home may be on a file server that does not respond


class _Content(NamedTuple):
    """The entries of the file; or the reason why there are none, and a hint."""

    entries: tuple[NetrcEntry, ...] = ()
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
        """Return the secret of the entry for this login, else of one that names no login."""
        content = await self._content()
        if content.fault:
            raise CouldNotRetrieveCredentials(machine, user, self.name, content.fault, content.hint)
        for name in _names_of(machine):
            for login in (user, None):
                for entry in content.entries:
                    if (entry.machine, entry.user) == (name, login) and entry.secret is not None:
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
        return tuple(
            SecretName(entry.machine, entry.user or "")
            for entry in content.entries
            if entry.machine is not None and entry.secret is not None
        )

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
    """Check and read the file through one descriptor, so that both are about the same file."""
    shown = visible(str(path))
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return _Content()
    except OSError as error:
        return _Content(fault=f"{shown} could not be opened: {error.strerror}")
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
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
        if status.st_size > LARGEST_FILE:
            return _Content(fault=f"{shown} has more than {LARGEST_FILE:,} bytes")
        return _parsed(shown, file.read(LARGEST_FILE))


def _parsed(shown: str, data: bytes) -> _Content:
    try:
        return _Content(tuple(entries_of(data.decode("utf-8", "surrogateescape"))))
    except NetrcFault as fault:
        return _Content(
            fault=f"{shown}, {fault}", hint="nothing is taken from it until that is mended"
        )
