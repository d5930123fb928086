"""Convert Slurm's states, times and reasons, and recognise rowtui's jobs by their comment.

The input is single fields of the output of Slurm's commands; the result is values that are common
to all schedulers. Source: texts and states of Slurm 22.05.
"""

from __future__ import annotations

import re

from rowtui.core.clusters.schedulers.base import JobState

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
    "PREEMPTED": JobState.CANCELLED,
    "REVOKED": JobState.CANCELLED,
    "OUT_OF_MEMORY": JobState.OUT_OF_MEMORY,
    "NODE_FAIL": JobState.NODE_FAIL,
    "BOOT_FAIL": JobState.NODE_FAIL,
}
# Held by a user or administrator, or by Slurm after one or too many failed launches.
_HELD = re.compile(r"JobHeld|JobHold|job requeued in held state|.* requeued held$")
_TOLD_BY_STATE = frozenset({"PREEMPTED", "DEADLINE", "CONFIGURING", "BOOT_FAIL"})
_NOTHING = frozenset({"", "None", "N/A", "(null)", "Unknown"})


class UnreadableError(ValueError):
    """An answer of another form than the requested one."""


def job_state(word: str, reason: str = "") -> JobState:
    """Convert Slurm's state (also `CANCELLED by 0`); a pending job with a hold reason is HELD."""
    state = _STATES.get(word.split(" ", 1)[0].rstrip("+"), JobState.UNKNOWN)
    return JobState.HELD if state is JobState.PENDING and _HELD.match(reason) else state


def seconds_of(text: str) -> int | None:
    """Return `1-02:03:04`, `02:03:04` or `03:04` in seconds; None for UNLIMITED, INVALID,
    N/A, ...
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


_DURATION = re.compile(r"(?:(?:(\d+)-)?(\d+):)?(\d+):(\d+)")


def token_of(comment: str) -> str:
    """Return the token in a job's comment, "" for a job that is not rowtui's."""
    return comment.removeprefix(COMMENT_PREFIX) if comment.startswith(COMMENT_PREFIX) else ""


def reason_of(word: str, reason: str) -> str:
    """Return why a job waits or how it ended, "" if there is no particular reason."""
    if word in _TOLD_BY_STATE:
        return word.lower().replace("_", " ")
    return "" if reason in _NOTHING else reason
