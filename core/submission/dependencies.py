"""What waits for what among the jobs of a plan: by token, and as what a scheduler is told.

Takes planned jobs and what the journal says of those that they depend on; gives the ids that a
scheduler job waits for, and whether a job may be sent at all. Within a bundle its script keeps the
order, so that the scheduler is not told.
Source: sbatch's manual (--dependency); measured on 22.05: `aftercorr` lets each task go or cancels
it on its own, and an id that Slurm does not know counts as one that ended well (which is what
`JobRequest.requires` is for).
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from rowtui.core.clusters.model import Cluster
from rowtui.core.clusters.schedulers.base import JobKey, Scheduler
from rowtui.core.submission.journal import read_end_detail
from rowtui.core.submission.model import JournalEntry, PlannedJob, Step
from rowtui.core.submission.pilot_model import is_in_pilot
from rowtui.core.text import visible

# Why a job was given back that never began.
UPSTREAM_NOT_SENT = "a job that it depends on was not sent"
UPSTREAM_FAILED = "not reached: a job that it depends on did not end well"
NEEDS_MISSING = "not reached: what it needs of other jobs is not there"
_DEPENDING = frozenset({"slurm", "local"})


def can_depend(cluster: Cluster) -> bool:
    """Whether a job may be queued on this cluster before the jobs that it depends on have ended.

    Grid Engine only waits for their end, whatever that was; `bash` runs jobs here and now.
    """
    return keeps_order(cluster.scheduler)


def keeps_order(scheduler: str) -> bool:
    """Whether a scheduler of this kind starts a job only after others have ended well."""
    return scheduler in _DEPENDING


class Standing(enum.Enum):
    """How the job stands that another one depends on."""

    DONE = "done"  # it ended well: nobody needs to wait
    QUEUED = "queued"  # it has an id to wait for
    OPEN = "open"  # it may get one
    FAILED = "failed"  # it never ends well


def standing(entry: JournalEntry | None) -> Standing:
    """How a job stands by its latest entry in the journal."""
    if entry is None or entry.step in (Step.PLANNED, Step.SENDING, Step.UNKNOWN):
        return Standing.OPEN
    if entry.step is Step.ACCEPTED:
        return Standing.QUEUED
    if entry.step is Step.ENDED and not read_end_detail(entry.detail)[1]:
        return Standing.DONE
    return Standing.FAILED


class Sent(NamedTuple):
    """What jobs may wait for: ids and ends, by token, and the cluster of every job of the plan."""

    keys: Mapping[str, JobKey]
    ended_well: Collection[str]
    clusters: Mapping[str, str]


def cannot_wait(job: PlannedJob, sent: Sent, scheduler: Scheduler, beside: Collection[str]) -> str:
    """Why a job cannot be sent because of one that it depends on, "" if it can.

    `beside`: what is sent in the same scheduler job, before it.
    """
    inside = beside if job.bundle is not None else ()
    for token in job.depends_on:
        if token in sent.ended_well:
            continue
        if sent.clusters.get(token, "") not in ("", job.destination.cluster):
            return "a job that it depends on goes to another cluster"
        if is_in_pilot(token):  # which goes on when that one has failed
            return "a job that it depends on runs in a pilot"
        if token in inside:
            continue
        if not (scheduler.immediate or keeps_order(scheduler.kind)):
            return f"jobs on {visible(scheduler.cluster)} cannot wait for each other"
        if token not in sent.keys:
            return UPSTREAM_NOT_SENT
    return ""


class After(NamedTuple):
    """What a scheduler job waits for: jobs, tasks of arrays, and the same task of one array."""

    jobs: tuple[int, ...] = ()
    tasks: tuple[JobKey, ...] = ()
    each: int = 0


def after_of(
    jobs: Sequence[PlannedJob], keys: Mapping[str, JobKey], *, array: bool = False
) -> After:
    """What the scheduler job of these waits for. `keys`: of jobs that it has, by token.

    `array`: they are the tasks of one. Those in the same scheduler job, and those that are not in
    `keys`, are not waited for.
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
    """The jobs, depending on the others by their new tokens."""
    return tuple(depending(job, renamed) for job in jobs) if renamed else tuple(jobs)


def depending(job: PlannedJob, renamed: Mapping[str, str]) -> PlannedJob:
    """One of them."""
    if not any(token in renamed for token in job.depends_on):
        return job
    return replace(job, depends_on=tuple(renamed.get(it, it) for it in job.depends_on))
