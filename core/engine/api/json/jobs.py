"""Jobs as JSON, from their records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rowtui.core.base.document import utc
from rowtui.core.base.json import VERSION
from rowtui.core.engine.api.json.values import cost_of
from rowtui.core.submission.plan.model import JobStep
from rowtui.core.submission.plan.record import JobRecord
from rowtui.core.submission.sending.fence import begun_at, seconds_of_job

if TYPE_CHECKING:
    from pathlib import Path

    from rowtui.core.base.json.directories import JobAmountsJson
    from rowtui.core.base.json.jobs import JobJson, JobsJson
    from rowtui.core.submission.plan.model import Plan, PlannedJob


def job_of(record: JobRecord, root: Path | None) -> JobJson:
    """A job of the project in `root`; None if it was not sent, so that it left no files there."""
    end = record.end
    return {
        **asked_of(record.planned),
        "token": record.token,
        "id": record.label if record.job_id else None,
        "cluster": record.cluster,
        "partition": record.partition or None,
        "action": record.action,
        "directories": list(record.directories),
        "directory_count": record.size,
        "name": record.name,
        "attempt": record.attempt,
        "state": record.state.value,
        "reason": record.reason or None,
        "outcome": None if end is None else end.outcome.value,
        "exit_code": record.exit_code,
        "signal": None if end is None else end.signal or None,
        "submitted_at": utc(record.submitted_at),
        "started_at": None if root is None else utc(begun_at(root, record.token)),
        "ended_at": utc(record.ended_at),
        "elapsed_seconds": None if root is None else elapsed_of(record, root),
        "log_path": record.log_path or None,
        "nodes": record.nodes or None,
        "user": record.user or None,
        "plan": record.plan_id or None,
        "script": None,
    }


def unsent_job(job: PlannedJob, plan: Plan, *, state: str = "", reason: str = "") -> JobJson:
    """A job that was not sent. `state`: "" for eligible or waiting."""
    record = JobRecord(
        job.token,
        job.destination.cluster,
        user=plan.user,
        plan_id=plan.id,
        planned=job,
        step=JobStep.PLANNED,
        size=len(job.directories),
    )
    state = state or ("waiting" if job.depends_on else "eligible")
    return {**job_of(record, None), "state": state, "reason": reason or None}


def asked_of(job: PlannedJob | None) -> JobAmountsJson:
    """The amounts of a job; null for a job of another project."""
    return {
        "processes": None if job is None else job.processes,
        "cpus": None if job is None else job.cpus,
        "memory_mb": None if job is None else job.memory_mb,
        "gpus": None if job is None else job.gpus,
        "walltime_seconds": None if job is None else walltime_of(job),
        "cost": None if job is None else cost_of(job.cost),
        "bundle": None if job is None or job.bundle is None else job.bundle.token,
        "depends_on": [] if job is None else list(job.depends_on),
        "warnings": [] if job is None else list(job.warnings),
        "reasons": [] if job is None else list(job.reasons),
    }


def walltime_of(job: PlannedJob) -> int:
    """For how many seconds a job may run: in a bundle those of its own, not those of the bundle."""
    return job.walltime_seconds if job.bundle is None else job.bundle.own_seconds


def elapsed_of(record: JobRecord, root: Path) -> float | None:
    """Seconds for which a job runs or ran: by the marks of an ended job, else the scheduler's."""
    seconds = record.end.seconds if record.end is not None else None
    if seconds is None and not record.state.active:
        seconds = seconds_of_job(root, record.token)
    return record.elapsed if seconds is None else round(seconds, 3)


def jobs_of(records: Iterable[JobRecord], root: Path, error: str) -> JobsJson:
    """`show jobs`."""
    return {
        "version": VERSION,
        "error": error or None,
        "jobs": [job_of(record, root) for record in records],
    }
