"""Jobs of a queue that need the user: jobs that cannot start, wait for days, or fail at once.

The input is the project's jobs with their states, and the time. The result is one value for each
cause, with its number of jobs. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.text import visible
from rowtui.core.clusters.schedulers.base import Job, JobState
from rowtui.core.project.views.views import JobView

if TYPE_CHECKING:
    from rowtui.core.clusters.schedulers.reasons import ReasonExplanation

WAITS_LONG_SECONDS = 2 * 86_400
"""A job that waits longer deserves attention: most partitions turn over within a day."""

AT_ONCE_SECONDS = 60
"""A job that fails within a minute has not computed anything: a path, a module or a licence is
wrong.
"""

RECENT_SECONDS = 7 * 86_400
"""Older failures are not reported."""

MOST_TOKENS = 200
"""Most jobs of one cause that are named; all are counted."""

MOST_CAUSES = 20
"""Most causes that are reported; stuck and failed jobs come before long waits, more jobs before
fewer.
"""

LONG, AT_ONCE = "pending for days", "failed at once"

STUCK = "unable to start"
"""The scheduler does not start the job until the user acts. The job has not failed or ended."""


class QueueNeed(NamedTuple):
    """Jobs of one action on one cluster with one cause. `since`: of the oldest, epoch seconds.

    `kind`: LONG, AT_ONCE or STUCK. `cause`: the scheduler's reason, or how the jobs ended. `hint`:
    what the user can do; for STUCK also the meaning of the reason.
    """

    kind: str
    cluster: str
    action: str
    cause: str
    jobs: int
    since: float
    tokens: tuple[str, ...]
    hint: str = ""


def queue_needs(jobs: Iterable[JobView], now: float) -> tuple[QueueNeed, ...]:
    """Return at most MOST_CAUSES needs: long waits last, and those with most jobs first."""
    found: dict[tuple[str, str, str, str, str], list[tuple[float, str]]] = {}
    jobs = list(jobs)
    kinds = [_kind(job, now) for job in jobs]
    again = _tried_again(jobs, kinds)
    for job, kind in zip(jobs, kinds, strict=True):
        if kind and job.record.token not in again:
            record = job.record
            cause = (job.cause if kind is AT_ONCE else job.reason).strip()
            about = (kind, record.cluster, record.action, cause, _hint(kind, job))
            since = record.ended_at if kind is AT_ONCE else record.submitted_at
            found.setdefault(about, []).append((since, record.token))
    needs = [
        QueueNeed(
            kind, cluster, action, visible(cause), len(those), min(those)[0],
            tuple(token for _, token in sorted(those)[:MOST_TOKENS]), hint,
        )
        for (kind, cluster, action, cause, hint), those in found.items()
    ]  # fmt: skip
    needs.sort(key=lambda need: (need.kind == LONG, need.kind, -need.jobs, need[1:4]))
    return tuple(needs[:MOST_CAUSES])


def unable_to_start(job: JobView) -> ReasonExplanation | None:
    """Return why a waiting job does not start until the user acts; None if it may start."""
    if job.state not in (JobState.PENDING, JobState.HELD):
        return None
    told = _explained(job.state, job.reason)
    return told if told.needs_person else None


@lru_cache(maxsize=1024)
def _explained(state: JobState, reason: str) -> ReasonExplanation:
    from rowtui.core.clusters.schedulers.reasons import explain  # large tables, seldom needed

    return explain(Job(0, state, reason=reason), 0.0)


def _tried_again(jobs: Sequence[JobView], kinds: Sequence[str]) -> set[str]:
    """Return jobs that failed at once and have a directory that was submitted again since."""
    failed = [job.record for job, kind in zip(jobs, kinds, strict=True) if kind is AT_ONCE]
    latest = {(one.action, name): 0.0 for one in failed for name in one.directories}
    if latest:
        for job in jobs:
            record = job.record
            for name in record.directories:
                about = (record.action, name)
                if latest.get(about, record.submitted_at) < record.submitted_at:
                    latest[about] = record.submitted_at
    return {
        one.token
        for one in failed
        if any(latest[one.action, name] > one.submitted_at for name in one.directories)
    }


def _kind(job: JobView, now: float) -> str:
    record = job.record
    if job.state in (JobState.PENDING, JobState.HELD):
        told = unable_to_start(job)
        # unless a user holds the job
        if told is not None and told != _explained(JobState.HELD, ""):
            return STUCK
        waits = bool(record.submitted_at) and now - record.submitted_at >= WAITS_LONG_SECONDS
        return LONG if waits else ""
    if job.state is not JobState.FAILED or not record.ended_at or not record.job_id:
        return ""
    if now - record.ended_at > RECENT_SECONDS:
        return ""
    lasted = record.ended_at - record.submitted_at if job.elapsed is None else job.elapsed
    return AT_ONCE if 0 <= lasted <= AT_ONCE_SECONDS else ""


def _hint(kind: str, job: JobView) -> str:
    if kind is AT_ONCE:
        return "Look at the log of one of them before more are submitted."
    told = _explained(job.state, job.reason)
    return f"{told.sentence} {told.hint}".rstrip() if kind is STUCK else told.hint
