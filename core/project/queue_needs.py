"""Which jobs of a queue need a person: those that wait for days, those that fail at once.

Takes the project's jobs with their states and the time; gives one value for each cause, with how
many jobs it concerns. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.project.views import JobView
from rowtui.core.submission.fence import without_directory
from rowtui.core.text import visible

WAITS_LONG_SECONDS = 2 * 86_400
"""A job that waits longer deserves a look: most partitions turn over within a day."""

AT_ONCE_SECONDS = 60
"""A job that fails within a minute has not computed anything: a path, a module, a licence."""

RECENT_SECONDS = 7 * 86_400
"""Failures that are older are no news."""

MOST_TOKENS = 200
"""Jobs of one cause that are named; all are counted."""

MOST_CAUSES = 20
"""Causes that are told; those of the most jobs."""

LONG, AT_ONCE = "pending for days", "failed at once"


class QueueNeed(NamedTuple):
    """Jobs of one action on one cluster with one cause. `since`: of the oldest, epoch seconds.

    `kind`: LONG or AT_ONCE. `cause`: the scheduler's reason, or how they ended. `hint`: what to do.
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
    """What needs a person, most jobs first; at most MOST_CAUSES."""
    found: dict[tuple[str, str, str, str], list[tuple[float, str]]] = {}
    jobs = list(jobs)
    kinds = [_kind(job, now) for job in jobs]
    again = _tried_again(jobs, kinds)
    for job, kind in zip(jobs, kinds, strict=True):
        if kind and job.record.token not in again:
            record = job.record
            ended = without_directory(record.end_reason or job.reason)
            cause = (job.reason if kind is LONG else ended).strip()
            about = (kind, record.cluster, record.action, cause)
            since = record.submitted_at if kind is LONG else record.ended_at
            found.setdefault(about, []).append((since, record.token))
    needs = [
        QueueNeed(
            kind, cluster, action, visible(cause), len(those), min(those)[0],
            tuple(token for _, token in sorted(those)[:MOST_TOKENS]), _hint(kind, cause, now),
        )
        for (kind, cluster, action, cause), those in found.items()
    ]  # fmt: skip
    needs.sort(key=lambda need: (need.kind != AT_ONCE, -need.jobs, need[1:4]))
    return tuple(needs[:MOST_CAUSES])


def _tried_again(jobs: Sequence[JobView], kinds: Sequence[str]) -> set[str]:
    """Jobs that failed at once, of which a directory was submitted again: somebody saw to them."""
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
        waits = bool(record.submitted_at) and now - record.submitted_at >= WAITS_LONG_SECONDS
        return LONG if waits else ""
    if job.state is not JobState.FAILED or not record.ended_at or not record.job_id:
        return ""
    if now - record.ended_at > RECENT_SECONDS:
        return ""
    lasted = record.ended_at - record.submitted_at if job.elapsed is None else job.elapsed
    return AT_ONCE if 0 <= lasted <= AT_ONCE_SECONDS else ""


def _hint(kind: str, cause: str, now: float) -> str:
    if kind is AT_ONCE:
        return "Look at the log of one of them before more are submitted."
    from rowtui.core.clusters.schedulers.base import Job
    from rowtui.core.clusters.schedulers.reasons import explain  # tables: seldom needed

    return explain(Job(0, JobState.PENDING, reason=cause), now).hint
