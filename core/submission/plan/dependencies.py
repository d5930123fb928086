"""Dependencies among the jobs of a plan: by token, and as options for a scheduler.

The input is planned jobs and the journal's entries for the jobs that they depend on. The result is
the ids that a scheduler job waits for, and whether a job may be sent at all. Within a bundle the
script keeps the order, so that the scheduler needs no dependency. Source: sbatch's manual
(--dependency); measurements on Slurm 22.05: `aftercorr` starts or cancels each task on its own, and
an id unknown to Slurm counts as a job that ended well (for this case `JobRequest.requires` exists).
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from rowtui.core.base.lazy import pattern
from rowtui.core.base.text import visible
from rowtui.core.clusters.model import Cluster
from rowtui.core.clusters.schedulers.base import JobKey, Scheduler
from rowtui.core.clusters.schedulers.kind import scheduler_kind
from rowtui.core.submission.bundles.pilot_model import is_in_pilot
from rowtui.core.submission.plan.model import JobStep, JournalEntry, PlannedJob
from rowtui.core.submission.sending.job_records import end_of

# Which planned jobs may share a scheduler job, from the options in their headers.
#
# A bundle asks for its own size; everything else in the headers of its jobs (partition, account,
# additions of the site or the user) must be equal. A job that asks for its own nodes, time or files
# cannot share. Source: `SlurmKind.header` (the order of lines), the manual of sbatch.


_PREFIX = "#SBATCH "
_OF_ITS_OWN = pattern(
    r"--(nodes|nodelist|ntasks\S*|cpus-per-\S+|gpus\S*|gres\S*|tres\S*|mem\S*|mincpus|cores-per-\S+"
    r"|threads-per-core|sockets-per-node|time\S*|array|output|error|input|job-name|dependency"
    r"|exclusive|oversubscribe|overcommit|signal|hint|hetjob|wrap|begin|deadline|test-only)(=|\s|$)"
    r"|-[NwncGtaoeiJdsOBL](\s|=|\d|$)|-[a-z]*[Nnct]\d"
)


def header_lines(job: PlannedJob) -> list[str]:
    """Return the options in a job's header, without `#SBATCH `."""
    script, lines = job.script, []
    begin = script.find("\n") + 1
    while begin and script.startswith(_PREFIX, begin):  # the rest of the script is long
        end = script.find("\n", begin)
        lines.append(script[begin + len(_PREFIX) : end if end >= 0 else None])
        begin = end + 1
    return lines


def shared_options(job: PlannedJob) -> tuple[str, ...]:
    """Return the options of a job's header besides its size, equal for all jobs of a bundle."""
    lines = header_lines(job)
    written = _written(lines)
    own = lines[: len(lines) - len(written)]
    return (*(line for line in own if line.startswith("--partition=")), *written)


def cannot_share(job: PlannedJob, *, waits: bool = False) -> str:
    """Return why a job must be a separate scheduler job, "" if it may share one.

    `waits`: whether jobs that depend on others may share.
    """
    if job.depends_on and not waits:
        return "it waits for other jobs"
    if job.script.startswith("#!/bin/bash\n#$ "):
        return "jobs of Grid Engine are not packed"
    for line in _written(header_lines(job)):
        if _OF_ITS_OWN.match(line.strip()):
            return f"its option {line.strip()} is for a job of its own"
    return ""


def _written(lines: list[str]) -> list[str]:
    """Return the lines of a site or a user: those after the time limit and the warning signal."""
    at = next((at for at, line in enumerate(lines) if line.startswith("--time=")), len(lines) - 1)
    rest = lines[at + 1 :]
    return rest[1:] if rest and rest[0].startswith("--signal=B:USR1") else rest


# Why a job was given back that never began.
UPSTREAM_NOT_SENT = "a job that it depends on was not sent"
UPSTREAM_FAILED = "not reached: a job that it depends on did not end well"
NEEDS_MISSING = "not reached: its input from other jobs is missing"


def can_depend(cluster: Cluster) -> bool:
    """Whether a job may be queued on this cluster before the jobs that it depends on have ended.

    Grid Engine waits only for the end of these jobs, not for their success; `bash` runs jobs at
    once.
    """
    return keeps_order(cluster.scheduler)


def keeps_order(scheduler: str) -> bool:
    """Whether a scheduler of this kind starts a job only after others have ended well."""
    return scheduler_kind(scheduler).waits_for_success


class DependencyState(enum.Enum):
    """The state of a job on which another one depends."""

    DONE = "done"  # the job ended well: no wait is needed
    QUEUED = "queued"  # the job has an id to wait for
    OPEN = "open"  # the job may get an id
    FAILED = "failed"  # the job will never end well


def standing(entry: JournalEntry | None) -> DependencyState:
    """Return the state of a job from its latest journal entry."""
    if entry is None or entry.step in (JobStep.PLANNED, JobStep.SENDING, JobStep.UNKNOWN):
        return DependencyState.OPEN
    if entry.step is JobStep.ACCEPTED:
        return DependencyState.QUEUED
    end = end_of(entry)
    return DependencyState.DONE if end and end.outcome.good else DependencyState.FAILED


class Sent(NamedTuple):
    """Jobs that others may wait for: ids and ends, by token, and the cluster of each job."""

    keys: Mapping[str, JobKey]
    ended_well: Collection[str]
    clusters: Mapping[str, str]


def cannot_wait(job: PlannedJob, sent: Sent, scheduler: Scheduler, beside: Collection[str]) -> str:
    """Return why a job cannot be sent because of a job that it depends on, "" if it can.

    `beside`: the tokens that are sent in the same scheduler job, before it.
    """
    inside = beside if job.bundle is not None else ()
    for token in job.depends_on:
        if token in sent.ended_well:
            continue
        if sent.clusters.get(token, "") not in ("", job.destination.cluster):
            return "a job that it depends on goes to another cluster"
        if is_in_pilot(token):  # a pilot continues after a failed request
            return "a job that it depends on runs in a pilot"
        if token in inside:
            continue
        if not (scheduler.immediate or keeps_order(scheduler.kind)):
            return f"jobs on {visible(scheduler.cluster)} cannot wait for each other"
        if token not in sent.keys:
            return UPSTREAM_NOT_SENT
    return ""


class After(NamedTuple):
    """The dependencies of a scheduler job: jobs, array tasks, equal-numbered tasks of one array."""

    jobs: tuple[int, ...] = ()
    tasks: tuple[JobKey, ...] = ()
    each: int = 0


def after_of(
    jobs: Sequence[PlannedJob], keys: Mapping[str, JobKey], *, array: bool = False
) -> After:
    """Return the dependencies of the scheduler job of these jobs.

    `keys`: keys of jobs that the scheduler has, by token. `array`: the jobs are the tasks of one
    array. Dependencies within the same scheduler job, and those without a key, are left out.
    """
    own = {job.token for job in jobs}
    waits = [
        [keys[token] for token in job.depends_on if token in keys and token not in own]
        for job in jobs
    ]
    if array and all(
        len(those) == 1 and those[0].task == job.task and those[0].id == waits[0][0].id
        for job, those in zip(jobs, waits, strict=True)
    ):
        return After(each=waits[0][0].id)
    found = dict.fromkeys(key for those in waits for key in those)
    return After(
        tuple(key.id for key in found if key.task is None),
        tuple(key for key in found if key.task is not None),
    )


def with_new_tokens(
    jobs: Sequence[PlannedJob], renamed: Mapping[str, str]
) -> tuple[PlannedJob, ...]:
    """Return the jobs, with dependencies on other jobs by their new tokens."""
    return tuple(depending(job, renamed) for job in jobs) if renamed else tuple(jobs)


def depending(job: PlannedJob, renamed: Mapping[str, str]) -> PlannedJob:
    """Return one job with its dependencies by their new tokens."""
    if not any(token in renamed for token in job.depends_on):
        return job
    return job._replace(depends_on=tuple(renamed.get(it, it) for it in job.depends_on))
