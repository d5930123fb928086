"""Why a job ended, from its log: lines that slurmstepd writes, and the words for a full disk.

The input is the end of a log. A line of Slurm counts only for a job that failed without a report of
its own, at a site that keeps no accounts: a program can print such lines, so they never make a job
successful. Source: slurmstepd of 22.05, and its source code for the messages of other versions.
"""

from __future__ import annotations

import re

from rowtui.core.base.lazy import pattern
from rowtui.core.submission.plan.outcome import (
    CANCELLED,
    NODE_FAILED,
    OUT_OF_MEMORY,
    PREEMPTED,
    TIME_LIMIT,
)
from rowtui.core.submission.sending.site import Site

TAIL_BYTES = 16 << 10
"""How much of the end of a log is read."""

READ_TAIL = f'cd -- "$1" && if [ -f "$2" ]; then tail -c {TAIL_BYTES} -- "$2"; fi'
"""A shell script that prints it. `$1`: the project's folder; `$2`: the log."""

_LINE = pattern(rb"^slurmstepd(?:-[\w.-]{1,64})?: error: (.{1,400})$", re.MULTILINE)
_KILLED = pattern(rb"\*\*\* JOB (\d{1,18}) ON \S{1,80} CANCELLED AT \S{1,40}(.*)\*\*\*")
_MEMORY = pattern(rb"oom[-_]kill|out-of-memory|Exceeded job memory limit|OverMemoryKill")
_STEP = pattern(rb"StepId=(\d{1,18})\.", re.IGNORECASE)


async def log_tail(site: Site, path: str) -> bytes:
    """Return the end of a log; nothing if there is none. `path`: below the project's folder."""
    try:
        return (await site.shell(READ_TAIL, path))[-TAIL_BYTES:] if path else b""
    except OSError:
        return b""


def tells_full_disk(tail: bytes) -> bool:
    """Whether a failed job's log ends with the system's words for a full disk or quota."""
    return b"No space left on device" in tail or b"Disk quota exceeded" in tail


def ended_by_slurm(tail: bytes, job_id: int | None) -> str:
    """Return why a job ended, as in `ending`; "" if the log does not state it.

    `job_id`: the id that Slurm prints; None for a task of an array, whose id is not known. Lines of
    other jobs do not count. The memory comes first: it ends a command, and the job after it.
    """
    found = ""
    for match in _LINE.finditer(tail):
        text = match[1]
        named = _KILLED.match(text) or _STEP.search(text)
        if named is not None and job_id not in (None, int(named[1])):
            continue
        if _MEMORY.search(text):
            return OUT_OF_MEMORY
        if killed := _KILLED.match(text):
            found = found or _cause(killed[2])
    return found


def _cause(why: bytes) -> str:
    if b"DUE TO TIME LIMIT" in why:
        return TIME_LIMIT
    if b"DUE TO NODE FAILURE" in why:
        return NODE_FAILED
    if b"DUE TO PREEMPTION" in why:
        return PREEMPTED
    # A requeued job also has "DUE TO", and was not cancelled by the user.
    return "" if b"DUE TO" in why else CANCELLED
