"""What a job's script leaves behind: the fence that it made when it began, and how it ended.

Takes the project's folder and a token. The fence is a symbolic link, made by whoever comes first:
the job (its target is `<scheduler>:<job id>`) or we (`abandoned`): so a job that was given up can
never run later. Formats: `shell.py`.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rowtui.core.clusters.schedulers.base import JobKey
from rowtui.core.files import read_bounded, sync_folder
from rowtui.core.submission.shell import NOT_READY
from rowtui.core.text import visible

ABANDONED = "abandoned"
NOT_REPORTED = "exit code 3: the completed directories could not be reported"
_LIMIT = 1 << 16
_IN_DIRECTORY = " in directory "
_DEATHS = frozenset({128 + 15, 128 + 9})  # SIGTERM and SIGKILL, as a shell gives them


@dataclass(frozen=True, slots=True)
class Ended:
    """How a script ended, in its own words.

    `cause`: `exit`, `time limit`, `cancelled`, `signal NAME`; of a request of a bundle also
    `out of memory`. `at`: epoch seconds.
    `command_code`: exit code of the command that ran last; `index`: of its directory in the job's
    list, if the job ended there; None: not known.
    """

    exit_code: int
    cause: str
    runner: str
    at: float
    command_code: int | None = None
    index: int | None = None

    @property
    def not_ready(self) -> bool:
        """Whether it did nothing, because what it needs of other jobs was not there."""
        return self.cause == "exit" and self.exit_code == NOT_READY and self.command_code is None

    @property
    def died(self) -> bool:
        """Whether a signal ended its command: the scheduler's, as it may be, or another's."""
        return not _DEATHS.isdisjoint((self.exit_code, self.command_code))

    @property
    def command_failed(self) -> bool:
        """Whether the job ended because its command did, with an exit code other than 0."""
        return self.cause == "exit" and bool(self.exit_code and self.command_code)

    def reason(self, directory: str = "") -> str:
        """Why the job failed, for the user; "" if it ended well.

        `directory`: the one in which the command failed, "" to leave it out.
        """
        if self.cause in ("time limit", "cancelled", "out of memory"):
            return self.cause
        if self.cause != "exit":
            return f"stopped by {self.cause}"
        if self.exit_code == 0:
            return ""
        if self.not_ready:
            return f"exit code {NOT_READY}: what it needs of other jobs is not there"
        if self.exit_code == 3 and not self.command_code:
            return NOT_REPORTED
        if self.command_code is None:
            return f"exit code {self.exit_code}: the setup failed"
        where = f"{_IN_DIRECTORY}{visible(directory)}" if directory else ""
        return exit_words(self.command_code) + where


def without_directory(reason: str) -> str:
    """The reason of a job's failure as it is at other jobs that failed alike."""
    return reason.partition(_IN_DIRECTORY)[0]


def exit_words(code: int) -> str:
    """What an exit code says: `exit code 3`, `killed (signal KILL, exit code 137)`."""
    name = signal_name(code - 128) if code > 128 else ""
    return f"killed (signal {name}, exit code {code})" if name else f"exit code {code}"


def signal_name(number: int) -> str:
    """The name of a signal without SIG; "" if there is no signal of that number."""
    try:
        return signal.Signals(number).name.removeprefix("SIG")
    except ValueError:
        return ""


def fence_path(root: Path, token: str) -> Path:
    """Where the fence of a job is."""
    return root / ".row" / "rowtui" / "fence" / token


def ended_path(root: Path, token: str) -> Path:
    """Where a job writes down how it ended."""
    return root / ".row" / "rowtui" / "ended" / token


def fences_there(root: Path) -> frozenset[str]:
    """The names of all fences; on NFS the server is asked. Raises: OSError."""
    try:
        return frozenset(os.listdir(fence_path(root, "-").parent))
    except FileNotFoundError:
        return frozenset()


def endings_there(root: Path) -> frozenset[str]:
    """The tokens of all jobs that wrote down how they ended, as far as that can be told."""
    try:
        return frozenset(os.listdir(ended_path(root, "-").parent))
    except OSError:
        return frozenset()


def read_fence(root: Path, token: str) -> str:
    """Who made the fence; "" if nobody did yet. Raises: OSError if that cannot be told."""
    try:
        return os.readlink(fence_path(root, token))
    except FileNotFoundError:
        return ""


def abandon(root: Path, token: str, *, durable: bool = True) -> str:
    """Keep a job from ever running; "" if that worked, else who runs or ran it already.

    `durable`: also if this machine loses power right now. Raises: OSError; then nothing is known.
    """
    path = fence_path(root, token)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.symlink(ABANDONED, path)
    except FileExistsError:
        there = os.readlink(path)
        return "" if there == ABANDONED else there
    if durable:
        sync_folder(path.parent)
    return ""


def read_ended(root: Path, token: str) -> Ended | None:
    """How a job ended; None if it did not say (yet)."""
    path = ended_path(root, token)
    try:
        return parse_ended(read_bounded(path, _LIMIT).decode(errors="replace").split("\n"))
    except (OSError, ValueError):
        return None


def parse_ended(lines: Sequence[str]) -> Ended | None:
    """The lines of an ended marker; None if they are not whole."""
    try:
        code, cause, runner, at, command, index = lines[:6]
        return Ended(
            exit_code=int(code),
            cause=visible(cause),
            runner=visible(runner),
            at=float(at),
            command_code=int(command) if command else None,
            index=int(index) if index else None,
        )
    except ValueError:
        return None


def job_key_of(runner: str) -> JobKey:
    """The scheduler's id in `<scheduler>:<job id>` or `..._<task>`; id 0 if it has none.

    What a script that is run by hand writes (`slurm:12.345`) has none.
    """
    match = re.fullmatch(r"[^:]+:([0-9]{1,18})(?:_([0-9]{1,9}))?", runner)
    if match is None:
        return JobKey(0)
    return JobKey(int(match[1]), None if match[2] is None else int(match[2]))
