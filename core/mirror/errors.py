"""Why files could not be copied, told so that a person knows what to do.

Takes what a program said on the cluster or here, or a `CommandResult`; gives a `MirrorError`.
"""

from __future__ import annotations

import enum

from rowtui.core.clusters.commands import CommandResult, Trouble
from rowtui.core.errors import RowtuiError
from rowtui.core.text import visible


class Cause(enum.Enum):
    """What kept files from being copied."""

    FULL = "full"  # no space, a quota, or a file that is larger than allowed
    DENIED = "denied"
    CUT = "cut"  # the connection broke, or was not there
    TAKEN = "taken"  # the place of the copy is somebody else's
    LACKING = "lacking"  # a program is missing, or too old
    TOO_MANY = "too many"
    OTHER = "other"


class MirrorError(RowtuiError):
    """Files could not be copied."""

    def __init__(self, cause: Cause, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.cause = cause


_AGAIN = "do the same again: it goes on where it stopped"
_WORDS = (
    ("No space left", Cause.FULL),
    ("quota exceeded", Cause.FULL),
    ("File too large", Cause.FULL),
    ("ermission denied", Cause.DENIED),
    ("peration not permitted", Cause.DENIED),
    ("Read-only file system", Cause.DENIED),
    ("connection unexpectedly closed", Cause.CUT),
    ("Broken pipe", Cause.CUT),
    ("onnection lost", Cause.CUT),
    ("onnection reset", Cause.CUT),
)


def explain(said: str, where: str, what: str) -> MirrorError:
    """The error for what a program said. `where`: a cluster's name, or `this machine`."""
    lines = [line for line in said.strip().splitlines() if line.strip()]
    for words, cause in _WORDS:
        for line in lines:
            if words.lower() in line.lower():
                return _error(cause, where, what, visible(line.strip()))
    return _error(Cause.OTHER, where, what, visible(lines[-1].strip()) if lines else "")


def cut(where: str, detail: str = "") -> MirrorError:
    """There is no connection, or it broke."""
    return _error(Cause.CUT, where, "", visible(detail))


def explain_result(result: CommandResult, where: str, what: str) -> MirrorError:
    """The error for a command that did not end with status 0."""
    if result.trouble in (Trouble.LOST, Trouble.UNREACHABLE, Trouble.TIMED_OUT):
        return cut(where, result.complaint)
    if result.trouble is Trouble.NOT_STARTED:
        return MirrorError(Cause.LACKING, f"{what} on {where}: {result.complaint}")
    return explain(result.stderr.decode(errors="surrogateescape"), where, what)


def _error(cause: Cause, where: str, what: str, said: str) -> MirrorError:
    tail = f": {said}" if said else ""
    if cause is Cause.FULL:
        hint = f"make room there (files, quota), then {_AGAIN}"
        return MirrorError(cause, f"{what}: there is no room left on {where}{tail}", hint)
    if cause is Cause.DENIED:
        hint = "see who owns that folder and whether it may be written"
        return MirrorError(cause, f"{what}: not allowed on {where}{tail}", hint)
    if cause is Cause.CUT:
        return MirrorError(cause, f"the connection to {where} is not there{tail}", _AGAIN)
    return MirrorError(cause, f"{what} on {where} did not work{tail}")
