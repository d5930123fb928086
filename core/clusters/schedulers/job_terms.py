"""The terms of jobs that wait, which can be changed until a job starts.

Takes texts that a user typed; gives checked values. The kinds of schedulers read the present terms
and send new ones (`SchedulerKind.waiting_jobs`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.quantities import read_fields
from rowtui.core.base.text import visible
from rowtui.core.clusters.schedulers.base import JobAnswer, JobKey
from rowtui.core.workflow.duration import DurationError, format_duration, parse_time

MOST_NICE = 2_147_483_645
"""Slurm's largest nice value."""

NONE = "none"
"""What a user types so that a job waits for no other job."""


class JobTerms(NamedTuple):
    """Terms of a job: present ones, or new ones. None: unknown, or unchanged.

    `limit`: seconds. `nice`: the higher, the later the job starts. `after`: the jobs that the job
    waits for, `12, 13_4`; "" for no job.
    """

    limit: int | None = None
    partition: str | None = None
    nice: int | None = None
    after: str | None = None

    @property
    def is_nothing(self) -> bool:
        """Whether no term is set."""
        return self == JobTerms()

    @property
    def awaited(self) -> tuple[str, ...]:
        """The jobs of `after`, one by one."""
        return tuple(self.after.split(", ")) if self.after else ()


class WaitingTerms(Protocol):
    """The jobs that wait on one cluster. Every wait is bounded; a failure raises no exception."""

    async def terms(self, jobs: Sequence[JobKey]) -> Mapping[JobKey, JobTerms] | None:
        """Return the present terms of these jobs, as far as known; None if the query failed."""

    async def change(self, jobs: Sequence[JobKey], change: JobTerms) -> tuple[JobAnswer, ...]:
        """Give each job these terms. A job that is refused does not stop the others."""


TERM_LABELS = {
    "limit": "Time limit",
    "partition": "Partition",
    "nice": "Nice value",
    "after": "Waits for",
}
"""The words for the terms, in their order."""


def read_terms(texts: Mapping[str, str]) -> tuple[JobTerms, dict[str, str]]:
    """Return the terms of these texts by their names, and a sentence about each unreadable text.

    An empty text leaves its term unchanged.
    """
    found, wrong = read_fields(_READERS, texts)
    return JobTerms(**found), wrong


def _read_limit(text: str) -> int:
    try:
        seconds = parse_time(text)
    except DurationError as error:
        raise RowtuiError(f"'{visible(text)}' is no time: {error}", error.hint) from None
    if not seconds:
        raise RowtuiError(f"'{visible(text)}' is no time limit", "no job ends at once")
    return seconds


def _read_partition(text: str) -> str:
    if not re.fullmatch(r"[^\W_][\w.,@:+-]*", text):
        raise RowtuiError(f"'{visible(text)}' is no name of a partition", "write it as gpu")
    return text


def _read_nice(text: str) -> int:
    number = int(text) if re.fullmatch(r"[+-]?[0-9]{1,10}", text, re.ASCII) else MOST_NICE + 1
    if abs(number) > MOST_NICE:
        raise RowtuiError(f"'{visible(text)}' is no nice value", "write a whole number, as 100")
    return number


def _read_after(text: str) -> str:
    if text.lower() == NONE:
        return ""
    jobs = re.split(r"[,\s]+", text)
    if not all(re.fullmatch(r"[1-9][0-9]{0,17}(_[0-9]{1,9})?", job, re.ASCII) for job in jobs):
        hint = f"write job ids, as 12, 13_4, or {NONE}"
        raise RowtuiError(f"'{visible(text)}' names no jobs", hint)
    return ", ".join(dict.fromkeys(jobs))


_READERS = {
    "limit": _read_limit,
    "partition": _read_partition,
    "nice": _read_nice,
    "after": _read_after,
}


def term_text(value: int | str | None, name: str) -> str:
    """Return the value of a term as text for the user."""
    if value is None:
        return "unknown"
    if name == "limit" and isinstance(value, int):
        return format_duration(value)
    return visible(str(value)) or "no job"
