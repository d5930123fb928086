"""Write and parse the task numbers of an array in the form of Slurm's commands.

Numbers are written as `0-9,12`; the forms `3-9%3`, `0-40:4` and `[1,3,5-9]` of squeue and sacct are
parsed. Source: sbatch's manual (--array); squeue 22.05 writes a step if all steps are equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

MOST_JOBS = 1_000_000  # in one answer; Slurm's own limit for one array is 4,000,001

_PART = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?", re.ASCII)


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

    Raises: ValueError for an array of rowtui whose tasks cannot be read; an unreadable array of
    another origin counts as a single job.
    """
    if text.isdecimal() and text.isascii():
        return (int(text),)
    if text in ("", "N/A", "(null)"):
        return (None,)
    tasks = read_tasks(text, room)
    if tasks is not None:
        return tasks
    if ours:
        raise ValueError(f"the tasks of array {job_id} are {text[:50]}")
    return (None,)
