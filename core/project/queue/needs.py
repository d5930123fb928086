"""Jobs of a queue that need the user: jobs that cannot start, or wait for days.

The input is the project's jobs with their states, and the time. The result is one value for each
cause, with its number of jobs. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.text import visible
from rowtui.core.clusters.schedulers.base import Job, JobState
from rowtui.core.submission.plan.record import JobRecord

if TYPE_CHECKING:
    from rowtui.core.clusters.schedulers.reason_table import ReasonExplanation

WAITS_LONG_SECONDS = 2 * 86_400
"""A job that waits longer deserves attention: most partitions turn over within a day."""

MOST_TOKENS = 200
"""Most jobs of one cause that are named; all are counted."""

MOST_CAUSES = 20
"""Most causes that are reported; stuck jobs come before long waits, more jobs before fewer."""

LONG = "pending for days"

STUCK = "unable to start"
"""The scheduler does not start the job until the user acts. The job has not failed or ended."""


class QueueNeed(NamedTuple):
    """Jobs of one action on one cluster with one cause. `since`: of the oldest, epoch seconds.

    `kind`: LONG or STUCK. `cause`: the scheduler's reason. `hint`: what the user can do; for STUCK
    also the meaning of the reason.
    """

    kind: str
    cluster: str
    action: str
    cause: str
    jobs: int
    since: float
    tokens: tuple[str, ...]
    hint: str = ""


def queue_needs(jobs: Iterable[JobRecord], now: float) -> tuple[QueueNeed, ...]:
    """Return at most MOST_CAUSES needs: long waits last, and those with most jobs first."""
    found: dict[tuple[str, str, str, str, str], list[tuple[float, str]]] = {}
    for job in jobs:
        if kind := _kind(job, now):
            about = (kind, job.cluster, job.action, job.reason.strip(), _hint(kind, job))
            found.setdefault(about, []).append((job.submitted_at, job.token))
    needs = [
        QueueNeed(
            kind, cluster, action, visible(cause), len(those), min(those)[0],
            tuple(token for _, token in sorted(those)[:MOST_TOKENS]), hint,
        )
        for (kind, cluster, action, cause, hint), those in found.items()
    ]  # fmt: skip
    needs.sort(key=lambda need: (need.kind == LONG, need.kind, -need.jobs, need[1:4]))
    return tuple(needs[:MOST_CAUSES])


def unable_to_start(job: JobRecord) -> ReasonExplanation | None:
    """Return why a waiting job does not start until the user acts; None if it may start."""
    if not job.state.waits:
        return None
    found = _explained(job.state, job.reason)
    return found if found.needs_person else None


@lru_cache(maxsize=1024)
def _explained(state: JobState, reason: str) -> ReasonExplanation:
    from rowtui.core.clusters.schedulers.reasons import explain  # large tables, seldom needed

    return explain(Job(0, state, reason=reason), 0.0)


def _kind(job: JobRecord, now: float) -> str:
    if not job.state.waits:
        return ""
    if unable_to_start(job) is not None:
        return STUCK
    sent = job.submitted_at
    return LONG if sent and now - sent >= WAITS_LONG_SECONDS else ""


def _hint(kind: str, job: JobRecord) -> str:
    found = _explained(job.state, job.reason)
    return f"{found.sentence} {found.hint}".rstrip() if kind is STUCK else found.hint
