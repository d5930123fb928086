"""Convert Slurm's states, times and reasons, and recognise rowtui's jobs by their comment.

The input is single fields of the output of Slurm's commands; the result is values that are common
to all schedulers. Source: texts and states of Slurm 22.05.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rowtui.core.base.lazy import pattern
from rowtui.core.base.text import visible
from rowtui.core.clusters.schedulers.base import JobState

# Write and parse the task numbers of an array in the form of Slurm's commands.
#
# Numbers are written as `0-9,12`; the forms `3-9%3`, `0-40:4` and `[1,3,5-9]` of squeue and sacct
# are parsed. Source: sbatch's manual (--array); squeue 22.05 writes a step if all steps are equal.


MOST_JOBS = 1_000_000  # in one answer; Slurm's own limit for one array is 4,000,001

_PART = pattern(r"(\d+)(?:-(\d+)(?::(\d+))?)?", re.ASCII)


def write_tasks(tasks: Iterable[int]) -> str:
    """Return the numbers for sbatch's --array and for `ID_[...]`, with ranges."""
    parts: list[str] = []
    first = last = -1
    for task in sorted(set(tasks)):
        if task != last + 1 or first < 0:
            if first >= 0:
                parts.append(_range(first, last))
            first = task
        last = task
    return ",".join([*parts, _range(first, last)] if first >= 0 else [])


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def read_tasks(text: str, most: int) -> list[int] | None:
    """Return the numbers in a task field, in order; None if it is invalid, cut off or too long.

    More than `most` numbers are too long. The suffix `%N`, the limit of running tasks, is ignored.
    """
    tasks: list[int] = []
    for part in text.partition("%")[0].removeprefix("[").removesuffix("]").split(","):
        match = _PART.fullmatch(part)
        if match is None:
            return None
        first = int(match[1])
        numbers = range(first, int(match[2] or first) + 1, int(match[3] or 1) or 1)
        if not numbers or len(tasks) + len(numbers) > most:
            return None
        tasks += numbers
    return tasks


def tasks_of(text: str, job_id: int, ours: bool, room: int) -> Sequence[int | None]:
    """Return the tasks of one record, at most `room`; only None for a job that is no array.

    Raises: SlurmFormatError for an array of rowtui whose tasks cannot be read; an unreadable array
    of another origin counts as a single job.
    """
    if text.isdecimal() and text.isascii():
        return (int(text),)
    if text in ("", "N/A", "(null)"):
        return (None,)
    tasks = read_tasks(text, room)
    if tasks is not None:
        return tasks
    if ours:
        raise SlurmFormatError(f"the tasks of array {job_id} are {text[:50]}")
    return (None,)


COMMENT_PREFIX = "rowtui:"  # before rowtui's token in the comment of a job
REASON_LIMIT = 300  # characters kept of an error text

_STATES = {
    "PENDING": JobState.PENDING,
    "CONFIGURING": JobState.PENDING,  # has nodes, which are still being prepared
    "REQUEUED": JobState.PENDING,
    "REQUEUE_FED": JobState.PENDING,
    "REQUEUE_HOLD": JobState.HELD,
    "RESV_DEL_HOLD": JobState.HELD,
    "SPECIAL_EXIT": JobState.HELD,
    "RUNNING": JobState.RUNNING,
    "RESIZING": JobState.RUNNING,
    "SIGNALING": JobState.RUNNING,
    "SUSPENDED": JobState.SUSPENDED,
    "STOPPED": JobState.SUSPENDED,
    "COMPLETING": JobState.COMPLETING,
    "STAGE_OUT": JobState.COMPLETING,
    "COMPLETED": JobState.COMPLETED,
    "FAILED": JobState.FAILED,
    "LAUNCH_FAILED": JobState.FAILED,
    "TIMEOUT": JobState.TIMEOUT,
    "DEADLINE": JobState.TIMEOUT,
    "CANCELLED": JobState.CANCELLED,
    "PREEMPTED": JobState.PREEMPTED,
    "REVOKED": JobState.UNKNOWN,
    "OUT_OF_MEMORY": JobState.OUT_OF_MEMORY,
    "NODE_FAIL": JobState.NODE_FAIL,
    "BOOT_FAIL": JobState.NODE_FAIL,
}
# Held by a user or administrator, or by Slurm after one or too many failed launches.
_HELD = pattern(r"JobHeld|JobHold|job requeued in held state|.* requeued held$")
_TOLD_BY_STATE = frozenset({"PREEMPTED", "DEADLINE", "CONFIGURING", "BOOT_FAIL"})
_BEGUN = frozenset({"RUNNING", "RESIZING", "SIGNALING", "COMPLETING", "STAGE_OUT"})
_NOTHING = frozenset({"", "None", "N/A", "(null)", "Unknown"})


class SlurmFormatError(ValueError):
    """An answer of another form than the requested one."""


def unread(error: ValueError, record: str) -> SlurmFormatError:
    """Return an error for people: its own words, or the line that could not be read."""
    line = next((line.strip() for line in record.splitlines() if line.strip()), "an empty line")
    own = isinstance(error, SlurmFormatError)
    words = str(error) if own else f"a line that cannot be read: {visible(line)}"
    return SlurmFormatError(words[:REASON_LIMIT])


def job_state(word: str, reason: str = "") -> JobState:
    """Convert Slurm's state (also `CANCELLED by 0`); a pending job with a hold reason is HELD."""
    state = _STATES.get(word.split(" ", 1)[0].rstrip("+"), JobState.UNKNOWN)
    return JobState.HELD if state is JobState.PENDING and _HELD.match(reason) else state


def seconds_of(text: str) -> int | None:
    """Return `1-02:03:04`, `02:03:04` or `03:04` in seconds; None for UNLIMITED, N/A, ..."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


_DURATION = pattern(r"(?:(?:(\d+)-)?(\d+):)?(\d+):(\d+)")


def records_of(text: str, mark: str, width: int) -> list[tuple[str, ...]]:
    """Return the records of sacct's output, of `width` fields each, separated by `mark`.

    The last field (an id) has no newline, so the first newline after it ends the record. Raises:
    SlurmFormatError.
    """
    if not text.strip():
        return []
    first, *parts = text.split(mark)
    if not parts or len(parts) % (width - 1):
        raise SlurmFormatError(text[:REASON_LIMIT])
    records = []
    for at in range(0, len(parts), width - 1):
        last, _, following = parts[at + width - 2].partition("\n")
        records.append((first, *parts[at : at + width - 2], last))
        first = following
    return records


def submitted_token(comment: str, submit_line: str) -> str:
    """Return the token of a job in the accounts, "" for a job that is not rowtui's.

    Few sites store comments in accounting; the submit line is always stored.
    """
    given = re.search(rf"--comment={COMMENT_PREFIX}([A-Za-z0-9._-]+)", submit_line)
    return token_of(comment) or (given[1] if given else "")


def token_of(comment: str) -> str:
    """Return the token in a job's comment, "" for a job that is not rowtui's."""
    return comment.removeprefix(COMMENT_PREFIX) if comment.startswith(COMMENT_PREFIX) else ""


def reason_of(word: str, reason: str) -> str:
    """Return why a job waits or how it ended, "" if there is no particular reason."""
    if word in _TOLD_BY_STATE:
        return word.lower().replace("_", " ")
    if reason in _NOTHING or (word in _BEGUN and reason != "Prolog"):
        return ""  # why a job waited is of no interest once it has begun
    return reason
