"""What a login asks of a person, and the ways in which it can fail, as values.

Takes nothing, decides nothing: the words that the transports, the dashboard's dialogs and the
command line share. Whoever shows a text of these passes it through `visible`; answers are
secrets and are kept by nobody here.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from rowtui.core.errors import RowtuiError
from rowtui.core.text import visible


class SshTarget(NamedTuple):
    """A machine as a person names it: a host or an alias of ~/.ssh/config.

    "" and 0 leave user and port to the configuration. `config`: the files to read instead of
    the user's and the system's; the first value that is found for an option counts.
    """

    host: str
    user: str = ""
    port: int = 0
    config: tuple[Path, ...] | None = None

    def __str__(self) -> str:
        """`user@host:port`, safe to show."""
        user = f"{self.user}@" if self.user else ""
        return visible(f"{user}{self.host}" + (f":{self.port}" if self.port else ""))

    @property
    def complaint(self) -> str:
        """Why this can't be a machine, or "". A name that begins with `-` would be an option."""
        for what, text in (("host", self.host), ("user", self.user)):
            if text.startswith("-") or any(c.isspace() or not c.isprintable() for c in text):
                return f"{visible(text)} cannot be the name of a {what}"
        if not self.host:
            return "the name of the host is empty"
        if not 0 <= self.port < 1 << 16:
            return f"{self.port} is not a port"
        return ""


class Prompt(NamedTuple):
    """One question. `text` is made visible already; with `echo` the answer may be seen.

    `machine`: who asks, as an `SshTarget` is shown: on the way to a cluster that may be a jump
    host; "" for a key of this machine.
    """

    text: str
    echo: bool = False
    machine: str = ""


class UnknownHostKey(NamedTuple):
    """A machine that was never seen before shows its key. Shall it be believed?"""

    host: str  # as known_hosts would name it: `[host]:2222` where the port is not 22
    kind: str  # `ssh-ed25519`
    fingerprint: str  # `SHA256:...`
    line: str  # what would be appended to known_hosts


class KnownKey(NamedTuple):
    """A key that a known_hosts file has for a machine, and where it stands."""

    file: str
    line: int
    kind: str
    fingerprint: str


class Asker(Protocol):
    """A person, reached through a dialog or the terminal.

    Either call is cancelled when the server closes the connection meanwhile.
    """

    async def ask(self, prompts: Sequence[Prompt]) -> Sequence[str] | None:
        """The answers, one for each prompt; None if the person wants to give up."""
        ...

    async def host_key(self, question: UnknownHostKey) -> bool:
        """Whether the machine's key shall be believed from now on."""
        ...


class Nobody:
    """The asker where no person is: every question is answered with no."""

    async def ask(self, prompts: Sequence[Prompt]) -> Sequence[str] | None:
        """Give up."""
        return None

    async def host_key(self, question: UnknownHostKey) -> bool:
        """Believe nothing."""
        return False


class LoginTrouble(enum.Enum):
    """Why there is no connection."""

    NAME_NOT_FOUND = "name not found"
    REFUSED = "refused"
    TIMED_OUT = "timed out"
    BROKEN = "broken"  # the connection broke, or the two ends have no common language
    HOST_KEY_UNKNOWN = "host key unknown"
    HOST_KEY_CHANGED = "host key changed"
    DENIED = "permission denied"
    CANCELLED = "cancelled"  # the person gave up
    CONFIG = "configuration"
    CLOSED = "closed"  # by us


# These may pass by themselves. The others need a person: trying them again and again would open
# dialogs at night, or lock the account.
PASSING = frozenset(
    {
        LoginTrouble.NAME_NOT_FOUND,
        LoginTrouble.REFUSED,
        LoginTrouble.TIMED_OUT,
        LoginTrouble.BROKEN,
    }
)


class LoginError(RowtuiError):
    """No connection to a cluster, and why.

    `unknown` is the key to accept or not (HOST_KEY_UNKNOWN); for HOST_KEY_CHANGED it is the key
    that the machine shows now and `known` are those on file, which it is not. `tried`: by what
    means the login was attempted.
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
    """The machine is unknown and nobody vouched for it."""
    return LoginError(
        LoginTrouble.HOST_KEY_UNKNOWN,
        f"{where} is unknown: nobody has accepted its {key.kind} key {key.fingerprint}",
        "compare the fingerprint with what the site publishes, then accept it",
        unknown=key,
    )


def changed_key_error(
    where: str, key: UnknownHostKey, known: tuple[KnownKey, ...], *, revoked: bool = False
) -> LoginError:
    """The machine shows another key than the one on file. Never to be accepted in a dialog."""
    places = "; ".join(f"{k.kind} {k.fingerprint} in {visible(k.file)}:{k.line}" for k in known)
    what = "shows a key that was revoked" if revoked else "shows another key than before"
    return LoginError(
        LoginTrouble.HOST_KEY_CHANGED,
        f"{where} {what}: {key.kind} {key.fingerprint}, on file is {places}",
        "somebody may be listening in. Ask the site; if its key did change, remove that line "
        f"(ssh-keygen -R '{visible(key.host)}')",
        unknown=key,
        known=known,
    )
