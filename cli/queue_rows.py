"""The jobs of a queue beside what a project knows of them.

Takes what a cluster said and the project's jobs; gives a `QueueRow` for each job, those that run
first. A job of the project that was sent after the queue was asked is among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from rowtui.core.clusters.schedulers.base import Job, JobState, is_in_bundle, token_in_queue
from rowtui.core.engine import JobView
from rowtui.core.project.views import ClusterView
from rowtui.core.submission.model import JobRecord, Step
from rowtui.core.text import plural

# Ended states follow all of these.
_ORDER = (
    JobState.RUNNING,
    JobState.COMPLETING,
    JobState.SUSPENDED,
    JobState.PENDING,
    JobState.HELD,
    JobState.UNKNOWN,
)


class QueueRow(NamedTuple):
    """A job as the scheduler has it; `record` if it is this project's, `requests` of a bundle."""

    job: Job
    record: JobRecord | None = None
    requests: tuple[JobRecord, ...] = ()

    @property
    def name(self) -> str:
        """What to call it: its action, or the name that it was submitted with."""
        if self.requests:
            actions = ", ".join(dict.fromkeys(it.action for it in self.requests))
            return f"{plural(len(self.requests), 'job')}: {actions}"
        return self.record.action if self.record is not None else self.job.name


def rows_of(cluster: ClusterView, jobs: Iterable[JobView], *, ended: bool) -> list[QueueRow]:
    """The jobs of one cluster, without those that have ended unless they are wanted."""
    ours = [view for view in jobs if view.record.cluster == cluster.name]
    by_token = {view.record.token: view.record for view in ours}
    over = {view.record.token: view for view in ours if view.record.step is Step.ENDED}
    # An id counts only where the scheduler does not say whose it is: ids are given again.
    by_key = {view.record.key: view.record for view in ours if view.state.active}
    rows = []
    seen: set[str] = set()
    bundles: dict[str, list[JobRecord]] = {}
    for token, record in by_token.items():
        if is_in_bundle(token):
            bundles.setdefault(token_in_queue(token), []).append(record)
    for job in cluster.jobs:
        if requests := bundles.get(job.token):
            seen.update(it.token for it in requests)
            rows.append(QueueRow(job, None, tuple(sorted(requests, key=_number))))
            continue
        known = by_token.get(job.token) if job.token else by_key.get(job.key)
        if known is not None:
            seen.add(known.token)
        rows.append(QueueRow(_as_it_ended(job, over.get(job.token)), known))
    rows += [
        QueueRow(_as_job(view), view.record)
        for view in ours
        if view.state.active and view.record.token not in seen
    ]
    shown = [row for row in rows if ended or _is_there(row.job.state)]
    shown.sort(key=_place)
    return shown


def _as_it_ended(job: Job, view: JobView | None) -> Job:
    """The job, if it is over with what the project's records say of its end."""
    if view is None or job.state.active:
        return job
    record = view.record
    return replace(
        job,
        state=view.state,
        reason=record.end_reason,
        exit_code=record.exit_code,
        exit_signal=None,
    )


def _number(record: JobRecord) -> int:
    return record.member or 0


def _is_there(state: JobState) -> bool:
    return state.active or state is JobState.UNKNOWN


def _place(row: QueueRow) -> tuple[int, int, int]:
    state = row.job.state
    rank = _ORDER.index(state) if state in _ORDER else len(_ORDER)
    return rank, row.job.id, -1 if row.job.task is None else row.job.task


def _as_job(view: JobView) -> Job:
    record = view.record
    return Job(
        record.job_id,
        view.state,
        name=record.name,
        token=record.token,
        reason=view.reason,
        partition=record.partition,
        task=record.task,
    )


def together(rows: Sequence[QueueRow]) -> list[list[QueueRow]]:
    """The rows in order, waiting tasks of an array that are alike in one list."""
    groups: list[list[QueueRow]] = []
    for row in rows:
        if groups and _alike(groups[-1][-1], row):
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups


def _alike(one: QueueRow, other: QueueRow) -> bool:
    return other.job.task is not None and _looks(one) == _looks(other)


def _looks(row: QueueRow) -> tuple[object, ...]:
    job = row.job
    waits = job.state in (JobState.PENDING, JobState.HELD)
    return (
        job.id,
        job.task is None,
        None if waits else job.task,
        job.state,
        row.name,
        job.partition,
        job.limit,
        job.reason,
        job.start_estimate,
    )
