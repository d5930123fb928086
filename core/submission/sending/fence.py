"""Files that a job's script leaves: the fence that is made when the job begins, and its end marker.

The input is the project's folder and a token. The fence is a symbolic link that only one party can
create: the job (the target is `<scheduler>:<job id>`) or rowtui (`abandoned`). A job that was given
up can therefore never run later. `remove_traces` removes the files that no journal needs. Formats:
`shell.py`.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import read_bounded, sync_folder
from rowtui.core.base.text import visible
from rowtui.core.clusters.schedulers.base import JobKey
from rowtui.core.clusters.schedulers.measured import Measured, read_script_words
from rowtui.core.submission.bundles.pilot_model import is_pilot
from rowtui.core.submission.plan.model import JobStep, JournalEntry
from rowtui.core.submission.scripts.fixed_part import NOT_READY
from rowtui.core.submission.sending.journal import Journal

ABANDONED = "abandoned"
_LIMIT = 1 << 16
_DEATHS = frozenset({128 + 15, 128 + 9})  # SIGTERM and SIGKILL, as exit codes of a shell


class Ended(NamedTuple):
    """How a script ended, by its own report.

    `cause`: `exit`, `time limit`, `cancelled`, `unfinished` (before its last line), `signal NAME`;
    of a request of a bundle also `out of memory`. `at`: epoch seconds. `command_code`: exit code of
    the command that ran last; `index`: the position of the command's directory in the job's list,
    if the job ended there; None: unknown. `measured`: what the job used.
    """

    exit_code: int
    cause: str
    runner: str
    at: float
    command_code: int | None = None
    index: int | None = None  # type: ignore[assignment]  # hides the unused method of tuple
    measured: Measured | None = None

    @property
    def not_ready(self) -> bool:
        """Whether the job did nothing, because inputs from other jobs were missing."""
        return self.cause == "exit" and self.exit_code == NOT_READY and self.command_code is None

    @property
    def died(self) -> bool:
        """Whether a signal ended the job's command, possibly one from the scheduler."""
        return not _DEATHS.isdisjoint((self.exit_code, self.command_code))

    @property
    def code(self) -> int:
        """The exit code of the command, or of the script if no command failed."""
        failed = self.cause == "exit" and self.exit_code and self.command_code
        return self.command_code if failed and self.command_code else self.exit_code


def fence_path(root: Path, token: str) -> Path:
    """Return the path of a job's fence."""
    return root / ".row" / "rowtui" / "fence" / token


def ended_path(root: Path, token: str) -> Path:
    """Return the path of the file in which a job records how it ended."""
    return root / ".row" / "rowtui" / "ended" / token


def begun_at(root: Path, token: str) -> float | None:
    """Return when a job made its fence, in epoch seconds; None if there is no fence."""
    return _modified(fence_path(root, token))


def seconds_of_job(root: Path, token: str) -> float | None:
    """Return the run time of a job in seconds from its two markers; None if a marker is missing."""
    begun, ended = begun_at(root, token), _modified(ended_path(root, token))
    return None if begun is None or ended is None else max(0.0, ended - begun)


def _modified(path: Path) -> float | None:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return None


def fences_there(root: Path) -> frozenset[str]:
    """Return the names of all fences; on NFS the server is asked. Raises: OSError."""
    try:
        return frozenset(os.listdir(fence_path(root, "-").parent))
    except FileNotFoundError:
        return frozenset()


def endings_there(root: Path) -> frozenset[str]:
    """Return the tokens of all jobs that recorded how they ended, as far as they can be read."""
    return _names(ended_path(root, "-").parent)


def read_fence(root: Path, token: str) -> str:
    """Return who made the fence; "" if there is no fence.

    Raises: OSError if this cannot be read.
    """
    try:
        return os.readlink(fence_path(root, token))
    except FileNotFoundError:
        return ""


def abandon(root: Path, token: str, *, durable: bool = True) -> str:
    """Keep a job from ever running; return "" on success, else who runs or ran the job.

    `durable`: the fence survives a power loss of this machine. Raises: OSError; the outcome is then
    unknown.
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
    """Return how a job ended; None if the job has not reported its end (yet)."""
    path = ended_path(root, token)
    try:
        return parse_ended(read_bounded(path, _LIMIT).decode(errors="replace").split("\n"))
    except (OSError, ValueError):
        return None


def parse_ended(lines: Sequence[str]) -> Ended | None:
    """Parse the lines of an end marker; None if they are incomplete."""
    try:
        code, cause, runner, at, command, index = lines[:6]
        cut_short = cause != "exit" or not _DEATHS.isdisjoint((int(code), int(command or 0)))
        return Ended(
            exit_code=int(code),
            cause=visible(cause),
            runner=visible(runner),
            at=float(at),
            command_code=int(command) if command else None,
            index=int(index) if index else None,
            measured=read_script_words(map(visible, lines[6:8]), cut_short=cut_short),
        )
    except ValueError:
        return None


def job_key_of(runner: str) -> JobKey:
    """Return the scheduler's id in `<scheduler>:<job id>` or `..._<task>`; id 0 if there is none.

    A script that is run by hand writes `slurm:12.345`, which contains no id.
    """
    match = re.fullmatch(r"[^:]+:([0-9]{1,18})(?:_([0-9]{1,9}))?", runner)
    if match is None:
        return JobKey(0)
    return JobKey(int(match[1]), None if match[2] is None else int(match[2]))


def remove_traces(root: Path) -> int:
    """Remove fences, end markers and folders of pilots of plans that are done; return how many.

    Only plans whose journal was archived are considered, because all of their jobs have ended. One
    kind of fence stays: that of a job that may have reached a scheduler and was given up. If this
    job still appears, the fence keeps it from running.

    Files of a plan whose journal cannot be read, and files that cannot be removed, stay.
    """
    journal = Journal(root)
    fences, endings = _names(fence_path(root, "-").parent), endings_there(root)
    removed = 0
    for plan_id in journal.done_plan_ids() if fences or endings else ():
        try:
            entries = journal.entries(plan_id)
        except RowtuiError:
            continue
        kept = _maybe_out_there(entries)
        for token in {entry.token for entry in entries}:
            if token in fences and token not in kept:
                removed += _remove(fence_path(root, token))
            if token in endings:
                removed += _remove(ended_path(root, token))
            if is_pilot(token):
                folder = root / ".row" / "rowtui" / "pilot" / token
                removed += sum(_remove(folder / name) for name in _names(folder))
                with contextlib.suppress(OSError):
                    os.rmdir(folder)
    return removed


def _maybe_out_there(entries: Iterable[JournalEntry]) -> set[str]:
    """Return the jobs that were given up after they were sent."""
    steps: dict[str, list[JobStep]] = {}
    for entry in entries:
        steps.setdefault(entry.token, []).append(entry.step)
    return {
        token
        for token, taken in steps.items()
        if taken[-1] is JobStep.ABANDONED and JobStep.SENDING in taken
    }


def _names(folder: Path) -> frozenset[str]:
    try:
        return frozenset(os.listdir(folder))
    except OSError:
        return frozenset()


def _remove(path: Path) -> int:
    with contextlib.suppress(OSError):
        os.unlink(path)
        return 1
    return 0
