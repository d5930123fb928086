"""A log of the last commands that this process ran, on clusters and on this machine.

Transports add the results of their commands; readers get numbered `RanCommand`s and ask only for
numbers that are new to them. The log is bounded in number and length. Input, output and environment
of a command are not kept, and words that look like secrets are hidden.
"""

from __future__ import annotations

import enum
import os
import shlex
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from rowtui.core.base.lazy import asyncio, pattern
from rowtui.core.base.text import visible
from rowtui.core.secrets.model import is_secret

MOST_COMMANDS = 1000
"""Commands that are kept; half a day at one poll a minute of three clusters."""

LONGEST_WHAT = 1000
"""Characters kept of a command; a query for 500 jobs is longer than a user would read."""

LONGEST_SAID = 300
"""Characters kept of a command's error message."""

HIDDEN = "•••"

_NAMES = r"[\w-]{0,40}(?:password|passphrase|passwd|secret|api[_-]?key|authorization)[\w-]{0,40}"
_SECRET = pattern(
    rf"(?i)(?P<name>(?:--?{_NAMES}(?:=|\s+))|(?:{_NAMES}\s*[=:]\s*(?:(?:bearer|basic|token)\s+)?))"
    r"(?P<value>'[^']*'|\"[^\"]*\"|[^\s'\"]+)"
)
_IN_ADDRESS = pattern(r"(?P<scheme>[a-z][a-z0-9+.-]*://)[^\s/@'\"]*:[^\s/@'\"]*@")


class RanCommand(NamedTuple):
    """One command. `at`: epoch seconds of its start; `where`: a cluster, or "here".

    `number`: from 1, in the order in which commands end. `exit_status`: None if it is unknown;
    `said` then gives the reason. Otherwise `said` is the first line of the command's standard
    error.
    """

    number: int
    at: float
    where: str
    what: str
    seconds: float
    exit_status: int | None
    said: str = ""

    @property
    def ended_well(self) -> bool:
        """Whether the command ended with status 0."""
        return self.exit_status == 0


class CommandLog:
    """The last commands. May be written and read from any thread. `clock`: epoch seconds."""

    def __init__(
        self, clock: Callable[[], float] = time.time, *, most: int = MOST_COMMANDS
    ) -> None:
        self._clock = clock
        self._kept: deque[RanCommand] = deque(maxlen=most)
        self._lock = threading.Lock()
        self._number = 0

    def note(self, where: str, result: CommandResult) -> None:
        """Add a command that has ended, or whose result is not waited for any more."""
        text = _first_line(result.stderr.decode("utf-8", "surrogateescape"))
        if result.trouble is not None:
            text = result.complaint
        self._add(where, result.argv, result.seconds, result.exit_status, text)

    def note_cut_off(self, where: str, argv: Sequence[str], seconds: float) -> None:
        """Add a command whose caller was cancelled: its exit status remains unknown."""
        self._add(where, argv, seconds, None, "the caller was cancelled")

    def note_login(self, where: str, target: str, seconds: float, error: str = "") -> None:
        """Add a login; `error` is the reason if it failed."""
        self._add(where, ("ssh", target), seconds, 255 if error else 0, error)

    def after(self, number: int) -> tuple[RanCommand, ...]:
        """Return the kept commands with numbers above `number`, oldest first."""
        with self._lock:
            return tuple(one for one in self._kept if one.number > number)

    def _add(
        self, where: str, argv: Sequence[str], seconds: float, status: int | None, said: str
    ) -> None:
        what, told = command_text(argv), without_secrets(visible(said))[:LONGEST_SAID]
        at = self._clock() - seconds
        with self._lock:
            self._number += 1
            self._kept.append(RanCommand(self._number, at, where, what, seconds, status, told))


async def noted(
    log: CommandLog | None, where: str, argv: Sequence[str], run: Awaitable[CommandResult]
) -> CommandResult:
    """Return the result of a running command and add it to the log, if there is a log."""
    if log is None:
        return await run
    began = time.monotonic()
    try:
        result = await run
    except asyncio.CancelledError:
        log.note_cut_off(where, argv, time.monotonic() - began)
        raise
    log.note(where, result)
    return result


def command_text(argv: Sequence[str]) -> str:
    """Return a command as one shell line; of a word with several lines only the first is shown."""
    left = LONGEST_WHAT
    words = []
    for word in argv:
        shown = _word(word[: left + 1])
        words.append(shown)
        left -= len(shown) + 1
        if left <= 0:
            break
    text = without_secrets(" ".join(words))
    return text if len(text) <= LONGEST_WHAT else text[: LONGEST_WHAT - 1] + "…"


def without_secrets(text: str) -> str:
    """Return the text with this process's secrets and texts that look like secrets hidden."""
    if not text:
        return text
    for value in [os.environ.get(name) for name in os.environ if is_secret(name)]:
        if value:
            text = text.replace(value, HIDDEN).replace(visible(value), HIDDEN)
    text = _IN_ADDRESS.sub(lambda found: f"{found['scheme']}{HIDDEN}@", text)
    return _SECRET.sub(lambda found: f"{found['name']}{HIDDEN}", text)


def _word(word: str) -> str:
    lines = word.strip("\n").splitlines() if "\n" in word else [word]
    if len(lines) < 2:
        return visible(shlex.quote(word))
    return visible(f"{shlex.quote(lines[0].strip())}…")


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


class Trouble(enum.Enum):
    """Why a command has no exit status."""

    NOT_STARTED = "not started"  # the command certainly did nothing
    UNREACHABLE = "unreachable"  # no connection: the command did nothing, and may be tried again
    TIMED_OUT = "timed out"  # the command may have done its work
    LOST = "lost"  # the connection to the command broke; it may still be running


class CommandResult(NamedTuple):
    """The result of one run. `exit_status` is None if unknown, -N for death by signal N.

    Each stream holds at most the limit; `truncated` means that output was discarded, or that a
    stream was still open when the wait for it ended.
    """

    argv: tuple[str, ...]
    exit_status: int | None
    stdout: bytes = b""
    stderr: bytes = b""
    seconds: float = 0.0
    trouble: Trouble | None = None
    detail: str = ""  # the system's message for NOT_STARTED and UNREACHABLE, else "" or a cause
    truncated: bool = False

    @property
    def complaint(self) -> str:
        """One line for the user about why this run failed, "" if it ended with status 0."""
        program = self.argv[0] if self.argv else "the command"
        if self.trouble is Trouble.NOT_STARTED:
            return f"{program} could not be started: {self.detail}"
        if self.trouble is Trouble.UNREACHABLE:
            return self.detail
        if self.trouble is Trouble.TIMED_OUT:
            cause = f": {self.detail}" if self.detail else ""
            return f"{program} gave no answer within {self.seconds:.0f} s{cause}"
        if self.trouble is Trouble.LOST:
            return f"the connection broke while {program} ran"
        if self.exit_status == 0:
            return ""
        lines = self.stderr.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"{program} ended with exit status {self.exit_status}"
