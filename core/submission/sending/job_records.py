"""The records of a project's jobs, from its plans, its journals and the queues.

`JobTable` reads a journal again only if it grew, and keeps no scripts. `with_queues` is the one
place where the jobs of a scheduler are joined with the records; `others` returns those without one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.clusters.schedulers.base import (
    Job,
    JobKey,
    JobState,
    slurm_output,
    token_in_queue,
)
from rowtui.core.submission.plan.json import load_plan
from rowtui.core.submission.plan.model import (
    CLOCKS_DIFFER,
    SENT,
    JobStep,
    JournalEntry,
    Plan,
    PlannedJob,
)
from rowtui.core.submission.plan.outcome import NOT_SENT, JobOutcome, JobResult, read_old_end
from rowtui.core.submission.plan.record import IN_LANE, JobRecord
from rowtui.core.submission.sending.fence import seconds_of_job
from rowtui.core.submission.sending.journal import BEGUN, Journal, is_later_note, read_end_detail

if TYPE_CHECKING:
    from rowtui.core.clusters.polling.poll import Polled


class JobTable:
    """The jobs of the project in the folder `root`. `notice`: receives why a plan is unreadable."""

    def __init__(self, root: Path, journal: Journal, notice: Callable[[str], None]) -> None:
        self._root = root
        self.journal = journal
        self._notice = notice
        self._plans: dict[str, Plan] = {}
        # by plan: the state of its journal, and the records
        self._known: dict[str, tuple[object, list[JobRecord]]] = {}

    def records(self) -> list[JobRecord]:
        """Return all jobs that are on record, newest first."""
        found: list[JobRecord] = []
        for plan_id in self.journal.plan_ids():
            try:
                found += self._of_plan(plan_id)
            except RowtuiError as error:
                self._notice(str(error))
        found.sort(key=_newest_first)
        return found

    def _of_plan(self, plan_id: str) -> list[JobRecord]:
        stamp = self.journal.stamp_of(plan_id)
        known = self._known.get(plan_id)
        if known is None or known[0] != stamp:
            entries = self.journal.entries(plan_id)
            records = [self._timed(it) for it in job_records(self.plan(plan_id), entries)]
            known = self._known[plan_id] = (stamp, records)
        return known[1]

    def _timed(self, record: JobRecord) -> JobRecord:
        """Return the record with its run time by the job's marks if its end does not have it.

        Ends of older versions do not have it, nor do those of jobs that ran for less than a second.
        """
        end = record.end
        if end is None or end.seconds is not None or not end.ended_at:
            return record
        return record._replace(end=end._replace(seconds=seconds_of_job(self._root, record.token)))

    def plan(self, plan_id: str) -> Plan:
        """Return a plan that was carried out, without scripts. Raises: RowtuiError.

        Jobs that were changed while they waited have the limit and the partition of the change, so
        that retries, usage and budgets begin with them.
        """
        if plan_id not in self._plans:
            self._plans[plan_id] = load_plan(self._root, plan_id, scripts=False)
        plan = self._plans[plan_id]
        changed = self.journal.changed(plan_id)
        if not changed:
            return plan
        return plan._replace(jobs=tuple(_with_change(job, changed) for job in plan.jobs))


def _newest_first(job: JobRecord) -> tuple[float, int, int, str, int, str]:
    """Return the sort key; the tasks of an array are in the order of their numbers."""
    task, member = job.task or 0, job.member or 0
    return -job.submitted_at, -job.job_id, task, token_in_queue(job.token), member, job.token


def _with_change(job: PlannedJob, changed: Mapping[str, tuple[int, str]]) -> PlannedJob:
    if job.token not in changed:
        return job
    limit, partition = changed[job.token]
    there = job.destination._replace(partition=partition or job.destination.partition)
    cost = job.cost.times(limit / job.walltime_seconds) if job.walltime_seconds else job.cost
    return job._replace(walltime_seconds=limit, destination=there, cost=cost)


def job_records(plan: Plan, entries: Iterable[JournalEntry]) -> list[JobRecord]:
    """Return the jobs of a plan from its journal, in the order of the plan."""
    latest: dict[str, JournalEntry] = {}
    keys: dict[str, JobKey] = {}
    times: dict[str, float] = {}
    for entry in entries:
        latest[entry.token] = entry
        if entry.job_id:
            keys[entry.token] = entry.key
        if entry.step in (JobStep.SENDING, JobStep.ACCEPTED) and not is_later_note(entry):
            times[entry.token] = entry.at
    records = []
    for job in plan.jobs:
        last = latest.get(job.token)
        step = last.step if last else JobStep.PLANNED
        key = keys.get(job.token, JobKey(0))
        records.append(
            JobRecord(
                job.token,
                job.destination.cluster,
                key,
                plan.user,
                plan.id,
                job,
                step,
                submitted_at=times.get(job.token, 0.0),
                note=last.detail if last is not None and step is JobStep.UNKNOWN else "",
                begun=last is not None and last.detail == BEGUN,
                end=None if last is None else end_of(last, key.id),
                size=len(job.directories),
            )
        )
    return records


def with_queues(
    records: Iterable[JobRecord], queues: Mapping[str, Polled], now: float
) -> Iterator[JobRecord]:
    """Yield the records with what the last poll of each cluster shows of them.

    A job is identified by its token; by its id only if the scheduler does not report tokens,
    because schedulers reuse ids. `now`: epoch seconds.
    """
    by_token: dict[str, dict[str, Job]] = {}
    by_key: dict[str, dict[JobKey, Job]] = {}
    for name, queue in queues.items():
        jobs = queue.snapshot.jobs if queue.snapshot is not None else ()
        by_token[name] = {job.token: job for job in jobs if job.token}
        by_key[name] = {job.key: job for job in jobs if not job.token}
    for record in records:
        name = record.cluster
        polled = queues.get(name)
        if polled is None:
            yield record
            continue
        job = by_token[name].get(token_in_queue(record.token)) or by_key[name].get(record.key)
        # a moment far in the future shows nothing: the clock was set back since
        as_of = polled.as_of if record.submitted_at < now + CLOCKS_DIFFER else None
        yield record._replace(queued=_shown_of(record, job), as_of=as_of)


def _shown_of(record: JobRecord, job: Job | None) -> Job | None:
    """Return what a scheduler's job shows of a record; of a request, it is the whole bundle."""
    if job is None:
        return None
    if record.end is not None:
        return None if job.state.active or record.member is not None else job
    if record.step not in SENT:
        return None
    if record.member is not None and job.state is JobState.RUNNING and not record.begun:
        return Job(job.id, JobState.PENDING, name=job.name, reason=IN_LANE, nodes=job.nodes)
    return job


def others(records: Iterable[JobRecord], jobs: Sequence[Job], cluster: str) -> list[JobRecord]:
    """Return the jobs of this user's queue on a cluster that are no job of this project."""
    ours = [it for it in records if it.cluster == cluster]
    tokens = {token_in_queue(it.token) for it in ours}
    keys = {(it.key, it.state.active) for it in ours}
    return [
        JobRecord(job.token, cluster, job.key, queued=job)
        for job in jobs
        if not (job.token in tokens if job.token else (job.key, job.state.active) in keys)
    ]


def end_of(entry: JournalEntry, job_id: int = 0) -> JobResult | None:
    """Return how a job ended, from its latest entry; None if it may run.

    Entries of older versions have no outcome: it is read from their texts. `job_id`: the job's, 0
    for none.
    """
    step, detail = entry.step, entry.detail
    if entry.end is not None:
        return entry.end
    if step is JobStep.ENDED:
        return read_old_end(*read_end_detail(step, detail), entry.at)
    if step is JobStep.REJECTED:
        unsent = detail.startswith(NOT_SENT)
        outcome = JobOutcome.NEVER_SENT if unsent else JobOutcome.REFUSED
    elif step is JobStep.ABANDONED:
        was_cancelled = read_old_end(None, detail).outcome is not JobOutcome.NOT_REACHED
        outcome = JobOutcome.CANCELLED if was_cancelled else JobOutcome.NOT_REACHED
        outcome = outcome if job_id else JobOutcome.NEVER_SENT
    else:
        return None
    return JobResult(outcome, detail, detail)


def named_log(job: PlannedJob) -> str:
    """Return the path of a job's log as its script names it: an option of the user may differ."""
    return visible(slurm_output(job.script) or job.log_path)
