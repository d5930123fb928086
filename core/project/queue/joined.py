"""The jobs of a queue, joined with the records of a project, for commands and screens.

The input is a cluster's poll and the project's jobs. `OwnJobs` decides which job of the scheduler
is which job of the project; `rows_of` gives a `JoinedJob` for each job: running jobs first, and in
each state the newest first. A job of the project that was sent after the poll is included. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from rowtui.core.base.text import plural
from rowtui.core.clusters.schedulers.base import Job, JobState, is_in_bundle, token_in_queue
from rowtui.core.project.views.views import ClusterView, JobView
from rowtui.core.submission.plan.model import JobRecord

# Ended states follow all of these.
_ORDER = (
    JobState.RUNNING,
    JobState.COMPLETING,
    JobState.SUSPENDED,
    JobState.PENDING,
    JobState.HELD,
    JobState.RESERVED,
    JobState.UNKNOWN,
)


class JoinedJob(NamedTuple):
    """A job of the scheduler; `record` if it is this project's, `requests` of a bundle.

    A bundle or pilot in the queue is one row, with its requests that have not ended, and their
    `states`. A request that has ended is a job of its own.
    """

    job: Job
    record: JobRecord | None = None
    requests: tuple[JobRecord, ...] = ()
    states: tuple[JobState, ...] = ()

    @property
    def name(self) -> str:
        """Return the job's action, or the name with which it was submitted."""
        if self.requests and self.record is not None:  # a pilot
            return f"{self.record.action}: {plural(len(self.requests), 'request')}"
        if self.requests:
            actions = ", ".join(dict.fromkeys(it.action for it in self.requests))
            return f"{plural(len(self.requests), 'request')}: {actions}"
        return self.record.action if self.record is not None else self.job.name

    @property
    def counted(self) -> tuple[JobState, ...]:
        """Return the states of the jobs that the row stands for, as `show jobs` lists them."""
        alone = self.record is not None or not self.requests
        return (*self.states, *((self.job.state,) if alone else ()))


class OwnJobs:
    """The project's jobs on one cluster, found by the scheduler's jobs."""

    def __init__(self, jobs: Iterable[JobView], cluster: str) -> None:
        self.views = [view for view in jobs if view.record.cluster == cluster]
        self._by_token = {view.record.token: view for view in self.views}
        # The id identifies a job only if the scheduler does not report its token, because ids are
        # reused.
        self._by_id = {
            (view.record.job_id, view.record.task, view.state.active): view for view in self.views
        }
        self.bundles: dict[str, list[JobView]] = {}
        for view in self.views:
            if is_in_bundle(view.record.token):
                self.bundles.setdefault(token_in_queue(view.record.token), []).append(view)

    def find(self, job: Job) -> JobView | None:
        """Return the project's job that the scheduler lists as this job."""
        if job.token:
            return self._by_token.get(job.token)
        return self._by_id.get((job.id, job.task, job.state.active))

    def owns(self, job: Job) -> bool:
        """Whether the job is one of the project's, or a bundle with jobs of the project."""
        return job.token in self.bundles or self.find(job) is not None


def rows_of(cluster: ClusterView, jobs: Iterable[JobView], *, ended: bool) -> list[JoinedJob]:
    """Return the jobs of one cluster; `ended` includes the jobs that have ended."""
    own = OwnJobs(jobs, cluster.name)
    bundles = own.bundles
    rows = []
    seen: set[str] = set()
    for job in cluster.jobs:
        known = own.find(job)
        if job.token in bundles and (job.state.active or job.state is JobState.UNKNOWN):
            pending = [view for view in bundles[job.token] if view.state.may_change]
            pending.sort(key=lambda view: view.record.member or 0)
            rows.append(_of_bundle(job, known, pending))
            seen.update(view.record.token for view in pending)
        elif job.token in bundles:
            continue  # each of its requests has ended separately
        elif known is not None:
            rows.append(JoinedJob(_as_known(job, known), known.record))
        else:
            rows.append(JoinedJob(job))
        if known is not None:
            seen.add(known.record.token)
    rows += [
        JoinedJob(_as_job(view), view.record) for view in own.views if view.record.token not in seen
    ]
    shown = [row for row in rows if ended or row.job.state.may_change]
    shown.sort(key=_place)
    return shown


def _of_bundle(job: Job, pilot: JobView | None, requests: Sequence[JobView]) -> JoinedJob:
    records = tuple(view.record for view in requests)
    record = pilot.record if pilot is not None else None
    return JoinedJob(job, record, records, tuple(view.state for view in requests))


def _as_known(job: Job, view: JobView) -> Job:
    """Return the job in the state and with the end of the project's records."""
    record = view.record
    if view.state.active and job.state.active:
        return job  # the view may be from another poll
    return replace(
        job,
        state=view.state,
        reason=view.why,
        exit_code=record.exit_code,
        exit_signal=None,
    )


def _place(row: JoinedJob) -> tuple[int, int, int]:
    state = row.job.state
    rank = _ORDER.index(state) if state in _ORDER else len(_ORDER)
    return rank, -row.job.id, -1 if row.job.task is None else row.job.task


def _as_job(view: JobView) -> Job:
    record = view.record
    return Job(
        record.job_id,
        view.state,
        name=record.name,
        token=record.token,
        reason=view.why,
        elapsed=view.elapsed,
        limit=view.limit,
        nodes=view.nodes,
        partition=record.partition,
        task=record.task,
        exit_code=record.exit_code,
    )


def together(rows: Sequence[JoinedJob]) -> list[list[JoinedJob]]:
    """Return the rows in order, with equal waiting tasks of an array in one list."""
    groups: list[list[JoinedJob]] = []
    for row in rows:
        if groups and _alike(groups[-1][-1], row):
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups


def _alike(one: JoinedJob, other: JoinedJob) -> bool:
    return other.job.task is not None and _looks(one) == _looks(other)


def _looks(row: JoinedJob) -> tuple[object, ...]:
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
