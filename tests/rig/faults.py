"""What a faulty login node can do to a command, what it may ask, and what it remembers."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field


@dataclass(frozen=True)
class DropBefore:
    """Lose the connection; the command never runs."""


@dataclass(frozen=True)
class DropAfter:
    """Run the command to its end, then lose the connection instead of sending the reply."""


@dataclass(frozen=True)
class DropOutput:
    """Run the command, report its exit status, and lose the connection before all its output."""

    kept: int = 0  # bytes of the output that are sent


@dataclass(frozen=True)
class Hang:
    """Say nothing; run the command once the event is set, if there is one."""

    until: asyncio.Event | None = None


@dataclass(frozen=True)
class Delay:
    """Wait, then run the command."""

    seconds: float


@dataclass(frozen=True)
class Refuse:
    """Decline the channel: the client gets a ChannelOpenError, the command never runs."""


@dataclass(frozen=True)
class Reply:
    """Answer without running anything."""

    stdout: str | bytes = b""
    stderr: str | bytes = b""
    status: int = 0


Fault = DropBefore | DropAfter | DropOutput | Hang | Delay | Refuse | Reply


@dataclass(frozen=True)
class Prompt:
    """One question of a keyboard-interactive login, and the answer it wants."""

    text: str
    answer: str
    echo: bool = False
    once: bool = False  # a one-time code: right at its first use only


@dataclass(frozen=True)
class LoginAttempt:
    """What somebody sent to prove who they are, and whether it was enough."""

    method: str  # publickey, password or keyboard-interactive
    answers: tuple[str, ...]
    accepted: bool


@dataclass
class Asked:
    """One command as it came, what was done to it, and what it came to on this machine."""

    command: str
    fault: Fault | None = None
    stdin: bytearray = field(default_factory=bytearray)
    stdout: bytearray = field(default_factory=bytearray)
    status: int | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)
