"""The questions of a login and the ways in which it can fail, as values.

The transports, the dashboard's dialogs and the command line share these types, which make no
decisions. Code that shows a text of these types passes it through `visible`; answers are secrets
and are not stored here.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible

# Seconds to wait after a server dropped a connection before it proved its key: sshd drops some
# connections while many others log in (MaxStartups).
DROPPED_PAUSES = (0.5, 1.5)


class SshTarget(NamedTuple):
    """A machine as the user names it: a host or an alias of ~/.ssh/config.

    An empty user and port 0 leave the choice to the configuration. `config`: the files to read
    instead of the user's and the system's; the first value found for an option is used.
    """

    host: str
    user: str = ""
    port: int = 0
    config: tuple[Path, ...] | None = None

    def __str__(self) -> str:
        """Return `user@host:port`, safe to show."""
        user = f"{self.user}@" if self.user else ""
        return visible(f"{user}{self.host}" + (f":{self.port}" if self.port else ""))

    def command(
        self, words: Sequence[str], line: str | None = None, program: str = "ssh"
    ) -> list[str]:
        """Return the call of OpenSSH with these words, which runs the line on this machine."""
        # One file: ssh accepts no more, and reads the system's file only if none is named.
        files = () if self.config is None else ("-F", str(next(iter(self.config), "/dev/null")))
        user = ("-l", self.user) if self.user else ()
        port = ("-p", str(self.port)) if self.port else ()
        run = () if line is None else (line,)
        return [program, *files, *words, *user, *port, "--", self.host, *run]

    @property
    def complaint(self) -> str:
        """Why this is no valid machine, or "". A name that begins with `-` would be an option."""
        for what, text in (("host", self.host), ("user", self.user)):
            if text.startswith("-") or any(c.isspace() or not c.isprintable() for c in text):
                return f"{visible(text)} cannot be the name of a {what}"
        if not self.host:
            return "the name of the host is empty"
        if not 0 <= self.port < 1 << 16:
            return f"{self.port} is not a port"
        return ""


class Prompt(NamedTuple):
    """One question. `text` is already safe to show; with `echo` the answer may be shown.

    `machine`: the machine that asks, in the form of an `SshTarget`; on the way to a cluster it may
    be a jump host. "" for the pass phrase of a key of this machine.
    """

    text: str
    echo: bool = False
    machine: str = ""


class UnknownHostKey(NamedTuple):
    """The key of an unknown machine, which the user may accept."""

    host: str  # as in known_hosts: `[host]:2222` if the port is not 22
    kind: str  # `ssh-ed25519`
    fingerprint: str  # `SHA256:...`
    line: str  # the line that would be appended to known_hosts


class KnownKey(NamedTuple):
    """A key that a known_hosts file has for a machine, and its position."""

    file: str
    line: int
    kind: str
    fingerprint: str


class Asker(Protocol):
    """The user, asked through a dialog or the terminal.

    Both methods are cancelled if the server closes the connection before the answer.
    """

    async def ask(self, prompts: Sequence[Prompt]) -> Sequence[str] | None:
        """Return the answers, one for each prompt; None if the user gives up."""

    async def host_key(self, question: UnknownHostKey) -> bool:
        """Return whether the user accepts the machine's key from now on."""


class NoUser:
    """The asker for runs without a user: every question is declined."""

    async def ask(self, prompts: Sequence[Prompt]) -> Sequence[str] | None:
        """Decline the questions."""
        return None

    async def host_key(self, question: UnknownHostKey) -> bool:
        """Reject the key."""
        return False


class LoginTrouble(enum.Enum):
    """Why there is no connection."""

    NAME_NOT_FOUND = "name not found"
    REFUSED = "refused"
    TIMED_OUT = "timed out"
    BROKEN = "broken"  # the connection broke, or the two ends did not agree on a protocol
    HOST_KEY_UNKNOWN = "host key unknown"
    HOST_KEY_CHANGED = "host key changed"
    DENIED = "permission denied"
    CANCELLED = "cancelled"  # the user gave up
    CONFIG = "configuration"
    CLOSED = "closed"  # by rowtui


# These may pass by themselves. The others need the user: repeated attempts would open dialogs at
# night, or lock the account.
PASSING = frozenset(
    {
        LoginTrouble.NAME_NOT_FOUND,
        LoginTrouble.REFUSED,
        LoginTrouble.TIMED_OUT,
        LoginTrouble.BROKEN,
    }
)

# The user mends these with a login, which processes that run already then use.
NEED_LOGIN = frozenset({LoginTrouble.HOST_KEY_UNKNOWN, LoginTrouble.DENIED, LoginTrouble.CANCELLED})


class LoginError(RowtuiError):
    """There is no connection to a cluster; the error has the reason.

    `unknown` is the key to be accepted or rejected (HOST_KEY_UNKNOWN); for HOST_KEY_CHANGED
    `unknown` is the key that the machine shows now, and `known` are the different keys on file.
    `tried`: the authentication methods that were tried.
    """

    def __init__(
        self,
        trouble: LoginTrouble,
        message: str,
        hint: str = "",
        *,
        unknown: UnknownHostKey | None = None,
        known: tuple[KnownKey, ...] = (),
        tried: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message, hint)
        self.trouble = trouble
        self.unknown = unknown
        self.known = known
        self.tried = tried


def unknown_key_error(where: str, key: UnknownHostKey) -> LoginError:
    """Return the error for a machine whose key is unknown and was not accepted."""
    return LoginError(
        LoginTrouble.HOST_KEY_UNKNOWN,
        f"{where} is unknown: its {key.kind} key {key.fingerprint} is not accepted",
        "compare the fingerprint with the one that the site publishes, then accept the key",
        unknown=key,
    )


def changed_key_error(
    where: str, key: UnknownHostKey, known: tuple[KnownKey, ...], *, revoked: bool = False
) -> LoginError:
    """Return the error for a machine that shows another key than the one on file.

    Such a key must never be accepted in a dialog.
    """
    places = "; ".join(f"{k.kind} {k.fingerprint} in {visible(k.file)}:{k.line}" for k in known)
    what = "shows a key that was revoked" if revoked else "shows another key than before"
    return LoginError(
        LoginTrouble.HOST_KEY_CHANGED,
        f"{where} {what}: {key.kind} {key.fingerprint}, on file is {places}",
        "the connection may be intercepted. Ask the site; if its key did change, remove that line "
        f"(ssh-keygen -R '{visible(key.host)}')",
        unknown=key,
        known=known,
    )
