"""The jobs of a plan, and how each of them ended, from the entries of its journal."""

from __future__ import annotations

from collections.abc import Iterable

from rowtui.core.base.text import visible
from rowtui.core.clusters.schedulers.base import JobKey, slurm_output
from rowtui.core.submission.plan.model import JobRecord, JobStep, JournalEntry, Plan, PlannedJob
from rowtui.core.submission.plan.outcome import NOT_SENT, JobOutcome, JobResult, read_old_end
from rowtui.core.submission.sending.journal import BEGUN, is_later_note, read_end_detail


def job_records(plan: Plan, entries: Iterable[JournalEntry]) -> list[JobRecord]:
    """Return the jobs of a plan from its journal, in the order of the plan.

    `submitted_at` is when the job was accepted, or sent if the former is unknown.
    """
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
                token=job.token,
                plan_id=plan.id,
                cluster=job.destination.cluster,
                partition=job.destination.partition,
                action=job.action,
                directories=job.directories,
                name=job.name,
                step=step,
                job_id=key.id,
                submitted_at=times.get(job.token, 0.0),
                log_path=log_of(job, key),
                user=plan.user,
                end=None if last is None else end_of(last, key.id),
                note=last.detail if last is not None and step is JobStep.UNKNOWN else "",
                task=key.task,
                attempt=job.attempt,
                begun=last is not None and last.detail == BEGUN,
            )
        )
    return records


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


def log_of(job: PlannedJob, key: JobKey) -> str:
    """Return the path of a job's log, relative to the project, with the scheduler's job id.

    A job of an array that was sent again on its own is no longer a task (`%A_%a` becomes one id).
    """
    if not key.id:
        return job.log_path
    named = job.log_path.replace("%A_%a", str(key))
    return named.replace("%j", str(key.id))


def named_log(job: PlannedJob) -> str:
    """Return the path of a job's log as its script names it: an option of the user may differ."""
    return visible(slurm_output(job.script) or job.log_path)
