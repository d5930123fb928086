"""Turn the reasons why files could not be copied into errors with hints for the user.

The input is the output of a program on the cluster or on this machine, or a `CommandResult`; the
result is a `MirrorError`.
"""

from __future__ import annotations

import enum

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.clusters.commands import CommandResult, Trouble


class Cause(enum.Enum):
    """The reason why files could not be copied."""

    FULL = "full"  # no space, a quota, or a file that is larger than allowed
    DENIED = "denied"
    CUT = "cut"  # the connection broke, or could not be made
    TAKEN = "taken"  # the place of the copy is used for something else
    LACKING = "lacking"  # a program is missing, or too old
    TOO_MANY = "too many"
    OTHER = "other"


class MirrorError(RowtuiError):
    """Files could not be copied."""

    def __init__(self, cause: Cause, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.cause = cause


_AGAIN = "do the same again: it goes on where it stopped"
# English messages of programs, and their meaning.
_WORDS = (
    ("No space left", Cause.FULL, "the disk is full"),
    ("quota exceeded", Cause.FULL, "the disk quota is exceeded"),
    ("File too large", Cause.FULL, "a file is larger than is allowed"),
    ("Wrote only", Cause.FULL, "the disk is full or a quota is exceeded"),  # tar, at a short write
    ("Read-only file system", Cause.DENIED, "the file system is read-only"),
    ("permission denied", Cause.DENIED, "permission is denied"),
    ("operation not permitted", Cause.DENIED, "permission is denied"),
    ("connection unexpectedly closed", Cause.CUT, ""),
    ("broken pipe", Cause.CUT, ""),
    ("connection lost", Cause.CUT, ""),
    ("connection reset", Cause.CUT, ""),
)
_HINTS = {
    Cause.FULL: f"make room there (files, quota), then {_AGAIN}",
    Cause.DENIED: "see who owns that folder and whether it may be written",
}


def explain(said: str, where: str, what: str, folder: str = "") -> MirrorError:
    """Return the error for the output of a program.

    `where`: a cluster's name, or `this machine`. `folder`: the folder that files were written to,
    if known.
    """
    lines = [line for line in said.strip().splitlines() if line.strip()]
    place = f"in {visible(folder)} on {where}" if folder else f"on {where}"
    for words, cause, means in _WORDS:
        for line in lines:
            if words.lower() not in line.lower():
                continue
            text = visible(line.strip())
            if cause is Cause.CUT:
                return cut(where, text)
            return MirrorError(cause, f"{what}: {means} {place}: {text}", _HINTS[cause])
    tail = f": {visible(lines[-1].strip())}" if lines else ""
    return MirrorError(Cause.OTHER, f"{what} {place} did not work{tail}")


def cut(where: str, detail: str = "") -> MirrorError:
    """Return the error for a connection that broke or could not be made."""
    tail = f": {visible(detail)}" if detail else ""
    return MirrorError(Cause.CUT, f"the connection to {where} is not there{tail}", _AGAIN)


def explain_result(result: CommandResult, where: str, what: str, folder: str = "") -> MirrorError:
    """Return the error for a command that did not end with status 0."""
    if result.trouble in (Trouble.LOST, Trouble.UNREACHABLE, Trouble.TIMED_OUT):
        return cut(where, result.complaint)
    if result.trouble is Trouble.NOT_STARTED:
        return MirrorError(Cause.LACKING, f"{what} on {where}: {result.complaint}")
    return explain(result.stderr.decode(errors="surrogateescape"), where, what, folder)
