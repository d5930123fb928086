"""Build the arguments of scancel and scontrol for many jobs at once. Pure.

The input is jobs; the result is the words that name them. Tasks of one array are one word
`ID_[0-9,12]`, which is one message to the controller. The words are in batches that fit a command
line.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from rowtui.core.clusters.schedulers.base import Job, JobKey, JobState
from rowtui.core.clusters.schedulers.slurm.tasks import write_tasks

ACT_BATCH = 100  # scancel and scontrol send one message for each word; a message takes 1-10 ms
ACT_LENGTH = 50_000  # bytes of ids on one command line of scancel or scontrol
TASKS_IN_WORD = 1_000  # at most 8 kB of numbers


class Word(NamedTuple):
    """One word of a command line, and the jobs that it names."""

    text: str
    jobs: list[JobKey]


def words_of(jobs: Sequence[JobKey]) -> list[Word]:
    """Return the words for these jobs."""
    words: list[Word] = []
    tasks: dict[int, list[JobKey]] = {}
    for job in jobs:
        if job.task is None:
            words.append(Word(str(job), [job]))
        else:
            tasks.setdefault(job.id, []).append(job)
    for number, keys in tasks.items():
        for start in range(0, len(keys), TASKS_IN_WORD):
            part = keys[start : start + TASKS_IN_WORD]
            numbers = write_tasks(key.task or 0 for key in part)
            words.append(Word(f"{number}_[{numbers}]" if len(part) > 1 else str(part[0]), part))
    return words


def batches(words: Sequence[Word]) -> Iterator[list[Word]]:
    """Yield the words in batches that fit one command line."""
    batch: list[Word] = []
    length = 0
    for word in words:
        if batch and (len(batch) == ACT_BATCH or length + len(word.text) > ACT_LENGTH):
            yield batch
            batch, length = [], 0
        batch.append(word)
        length += len(word.text) + 1
    if batch:
        yield batch


def waiting_and_whole(
    asked: Collection[JobKey], known: Sequence[Job]
) -> tuple[list[JobKey], set[int]]:
    """Return the waiting tasks to be cancelled, and the arrays that are cancelled as a whole.

    An array is cancelled as a whole if all its active tasks are in `asked`; its tasks are not among
    the waiting tasks returned.
    """
    ids = {key.id for key in asked}
    active = {job.key: job.state for job in known if job.id in ids and job.state.active}
    left = active.keys() - asked
    whole = {key.id for key in active} - {key.id for key in left}
    waiting = [
        key
        for key, state in active.items()
        if key in asked and key.id not in whole and state in (JobState.PENDING, JobState.HELD)
    ]
    return waiting, whole
