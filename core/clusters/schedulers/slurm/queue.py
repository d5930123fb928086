"""Parse squeue's output into jobs. The module is pure.

squeue is called so that its output can be parsed without ambiguity: with a separator that is random
for each call, because job names and comments may contain any text, including newlines and `|`. A
waiting array is one line in squeue's output and one job for each of its tasks in the result.
Source: squeue's manual, and measured behaviour of 22.05.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from rowtui.core.base.text import visible
from rowtui.core.clusters.command_log import CommandResult
from rowtui.core.clusters.schedulers.base import Job, JobKey, JobState, task_token
from rowtui.core.clusters.schedulers.slurm.parse import (
    MOST_JOBS,
    SlurmFormatError,
    job_state,
    reason_of,
    seconds_of,
    tasks_of,
    token_of,
    unread,
)

BREATH = 250  # jobs that are parsed in about a millisecond
BREATH_SECONDS = 0.0001
PIECE = BREATH * 160  # bytes of squeue's output for this number of jobs


@dataclass(frozen=True, slots=True)
class QueueForm:
    """One squeue output format. `mark` is random, so that no job name can contain it."""

    mark: str

    @classmethod
    def new(cls) -> QueueForm:
        """Return a form with a new random mark."""
        return cls(secrets.token_hex(8))

    @property
    def option(self) -> str:
        """The argument of squeue's `-o`. Free text stands between marks, the name last."""
        fields = "%A|%F|%K|%T|%M|%l|%S|%P|%N|%r"
        return f"{self.mark}>{fields}{self.mark}|%k{self.mark}|%j"

    def read(self, stdout: bytes) -> SqueueReading:
        """Return the jobs in squeue's order. Raises: SlurmFormatError."""
        gap = f"{self.mark}|"
        known: dict[str, _Facts] = {}  # thousands of jobs share the same reason
        jobs: list[Job] = []
        unsplit: dict[int, Job] = {}
        merged = False
        record = ""
        try:
            for record in self._records(stdout):
                fields, comment, name = record.split(gap)
                own_id, number, numbers, rest = fields.split("|", 3)
                facts = known.get(rest)
                if facts is None:
                    facts = known[rest] = _facts(rest)
                state, others = facts
                if name.endswith("\n"):
                    name = name[:-1]
                job_id, token = int(number), token_of(comment) if comment else ""
                if numbers == "N/A":
                    jobs.append(Job(job_id, state, name, token, *others))
                    continue
                room = MOST_JOBS - len(jobs)
                for task in tasks_of(numbers, job_id, bool(token), room):
                    breathe(len(jobs))
                    own = token if task is None or not token else task_token(token, task)
                    jobs.append(Job(job_id, state, name, own, *others, task=task))
                if token:
                    merged = merged or _is_merged(others[0])
                    if own_id == number:
                        unsplit[job_id] = jobs[-1]
        except ValueError as error:
            raise unread(error, record.replace(self.mark, "")) from error
        return SqueueReading(jobs, merged, unsplit)

    def _records(self, stdout: bytes) -> Iterator[str]:
        """Yield the records, split in pieces: one large split would block every other thread."""
        start = f"{self.mark}>".encode()
        at = stdout.find(start)
        head = stdout[: max(at, 0)] if at >= 0 else stdout
        if head.strip():
            raise SlurmFormatError(visible(head.decode(errors="replace").strip()))
        while at >= 0:
            at += len(start)
            end = stdout.rfind(start, at, at + PIECE)
            if end < 0:  # a long record, or the last ones
                end = stdout.find(start, at + PIECE - len(start))
            piece = stdout[at : end if end >= 0 else None]
            yield from piece.decode("utf-8", "surrogateescape").split(f"{self.mark}>")
            time.sleep(BREATH_SECONDS)
            at = end


class SqueueReading(NamedTuple):
    """The result of one squeue. `merged`: some of rowtui's tasks in one record are held.

    squeue shows the waiting tasks of an array as one record with all their reasons; with `-r` it
    shows each task. `unsplit` has, for each of rowtui's arrays, one of the tasks that Slurm keeps
    in one record.
    """

    jobs: list[Job]
    merged: bool = False
    unsplit: Mapping[int, Job] = {}

    def told_apart(self, apart: SqueueReading) -> list[Job]:
        """Return the jobs of a second squeue with `-r`, and the jobs that are missing from it.

        squeue 22.05 omits the last task of a record that it writes with a step (`0-298:2`).
        """
        jobs = list(apart.jobs)
        there = {job.key for job in jobs}
        for job in self.jobs:
            if job.task is not None and job.key not in there:
                like = apart.unsplit.get(job.id, job)
                jobs.append(job._replace(state=like.state, reason=like.reason))
        return jobs


def _is_merged(reason: str) -> bool:
    return "JobHeld" in reason and re.search(r",(?! )", reason) is not None


def knows_none(result: CommandResult) -> bool:
    """Whether squeue reports that it has no such job; it does so only for a single id."""
    return result.exit_status == 1 and b"Invalid job id specified" in result.stderr


# The state, then reason, partition, elapsed, limit, nodes, start_estimate and exit_code of a Job.
_Facts = tuple[JobState, tuple[str, str, int | None, int | None, str, int | None, int | None]]


def _facts(fields: str) -> _Facts:
    word, elapsed, limit, start, partition, nodes, reason = fields.split("|", 6)
    state = job_state(word, reason)
    waits = state in (JobState.PENDING, JobState.HELD)
    return state, (
        reason_of(word, reason),
        partition,
        seconds_of(elapsed),
        seconds_of(limit),
        nodes,
        int(start) if waits and start.isdigit() else None,
        0 if state is JobState.COMPLETED else None,
    )


EXIT_FORM = "ArrayJobID:20,exit_code:20,ArrayTaskID:20"  # for `-O`; the last field may be cut off


def breathe(done: int) -> None:
    """Let other threads run: without it a long parse blocks them for 5 ms at a time."""
    if done % BREATH == BREATH - 1:
        time.sleep(BREATH_SECONDS)


# Exit code and signal, each None if there was none or it is unknown.
Exit = tuple[int | None, int | None]
ExitOf = dict[tuple[JobKey, str], Exit]  # by token too, because ids may be reused


def read_exit_statuses(stdout: bytes) -> dict[JobKey, Exit]:
    """Return job -> (exit code, signal) from the raw wait statuses of `squeue -O EXIT_FORM`.

    An array that failed before it was split into tasks has only its own number.
    """
    found: dict[JobKey, Exit] = {}
    for line in stdout.decode("utf-8", "replace").splitlines():
        breathe(len(found))
        match line.split():
            case [number, status, task] if number.isdigit() and status.isdigit():
                raw = int(status)
                key = JobKey(int(number), int(task) if task.isdigit() else None)
                # A core dump sets bit 7 in addition to the signal's number.
                found[key] = (None, raw & 0x7F) if raw & 0x7F else (raw >> 8, None)
    return found


def lacking_exits(jobs: Iterable[Job], known: ExitOf) -> tuple[ExitOf, bool]:
    """Return the failed jobs without an exit status in squeue, and whether some are new."""
    failed: ExitOf = {}
    is_new = False
    for job in jobs:
        if _lacks_exit(job):
            breathe(len(failed))
            which = (job.key, job.token)
            ended = known.get(which)
            failed[which] = ended or (None, None)
            is_new = is_new or ended is None
    return failed, is_new


def learn_exits(failed: ExitOf, stdout: bytes) -> ExitOf:
    """Return the exits with those from `squeue -O EXIT_FORM` added. Others stay unknown."""
    found = read_exit_statuses(stdout)
    learnt: ExitOf = {}
    for (key, token), ended in failed.items():
        breathe(len(learnt))
        if ended == (None, None):
            ended = found.get(key, found.get(JobKey(key.id), ended))  # noqa: PLW2901
        learnt[key, token] = ended
    return learnt


def with_exits(jobs: Iterable[Job], exits: ExitOf) -> list[Job]:
    """Return the jobs with their exits filled in."""
    filled: list[Job] = []
    for job in jobs:
        breathe(len(filled))
        if _lacks_exit(job) and (ended := exits.get((job.key, job.token))):
            job = job._replace(exit_code=ended[0], exit_signal=ended[1])  # noqa: PLW2901
        filled.append(job)
    return filled


def _lacks_exit(job: Job) -> bool:
    return job.state is JobState.FAILED and job.exit_code is None and job.exit_signal is None
