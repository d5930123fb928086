"""Jobs as JSON, from their plans and their records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.json import VERSION
from rowtui.core.engine.api.json.values import cost_of, utc
from rowtui.core.submission.sending.fence import begun_at, seconds_of_job

if TYPE_CHECKING:
    from pathlib import Path

    from rowtui.core.base.json.directories import JobAmountsJson
    from rowtui.core.base.json.jobs import JobJson, JobsJson
    from rowtui.core.project.project import Project
    from rowtui.core.project.views.views import JobView
    from rowtui.core.submission.plan.model import Plan, PlannedJob


class JobRecords(NamedTuple):
    """What is on record of the jobs of a project: their plans and views by token."""

    root: Path
    planned: Mapping[str, PlannedJob]
    views: Mapping[str, JobView]


def known_jobs(project: Project, views: Iterable[JobView]) -> JobRecords:
    """What the project has on record, after `project.jobs` was asked for `views`."""
    by_token = {view.record.token: view for view in views}
    return JobRecords(project.root, project.jobs.planned(), by_token)


def planned_job(
    job: PlannedJob, plan: Plan, *, state: str = "", reason: str = "", script: bool = False
) -> JobJson:
    """A job that was not sent. `state`: "" for eligible or waiting."""
    return {
        **asked_of(job),
        "token": job.token,
        "id": None,
        "cluster": job.destination.cluster,
        "partition": job.destination.partition or None,
        "action": job.action,
        "name": job.name,
        "attempt": job.attempt,
        "log_path": job.log_path or None,
        "directories": list(job.directories),
        "directory_count": len(job.directories),
        "state": state or ("waiting" if job.depends_on else "eligible"),
        "reason": reason or None,
        "outcome": None,
        "exit_code": None,
        "signal": None,
        "submitted_at": None,
        "started_at": None,
        "ended_at": None,
        "elapsed_seconds": None,
        "nodes": None,
        "user": plan.user or None,
        "plan": plan.id,
        "script": job.script if script else None,
    }


def asked_of(job: PlannedJob) -> JobAmountsJson:
    bundle = job.bundle
    return {
        "processes": job.processes,
        "cpus": job.cpus,
        "memory_mb": job.memory_mb,
        "gpus": job.gpus,
        "walltime_seconds": walltime_of(job),
        "cost": cost_of(job.cost),
        "bundle": None if bundle is None else bundle.token,
        "depends_on": list(job.depends_on),
        "warnings": list(job.warnings),
        "reasons": list(job.reasons),
    }


def walltime_of(job: PlannedJob) -> int:
    """For how many seconds a job may run: in a bundle those of its own, not those of the bundle."""
    return job.walltime_seconds if job.bundle is None else job.bundle.own_seconds


def job_of(view: JobView, known: JobRecords) -> JobJson:
    """A job that was sent."""
    record = view.record
    job = known.planned.get(record.token)
    end = record.end
    asked = asked_of(job) if job is not None else _unknown_amounts(view)
    elapsed = elapsed_of(view, known.root)
    begun = begun_at(known.root, record.token)
    return {
        **asked,
        "token": record.token,
        "id": record.label if record.job_id else None,
        "cluster": record.cluster,
        "partition": record.partition or None,
        "action": record.action,
        "directories": list(record.directories),
        "directory_count": view.size,
        "name": record.name,
        "attempt": record.attempt,
        "state": view.state.value,
        "reason": (record.end_reason or view.reason) or None,
        "outcome": None if end is None else end.outcome.value,
        "exit_code": None if end is None else end.exit_code,
        "signal": None if end is None else end.signal or None,
        "submitted_at": utc(record.submitted_at),
        "started_at": utc(begun),
        "ended_at": utc(record.ended_at),
        "elapsed_seconds": elapsed,
        "log_path": record.log_path or None,
        "nodes": view.nodes or None,
        "user": record.user or None,
        "plan": record.plan_id or None,
        "script": None,
    }


def _unknown_amounts(view: JobView) -> JobAmountsJson:
    """The fields of a job whose plan cannot be read."""
    return {
        "processes": None,
        "cpus": None,
        "memory_mb": None,
        "gpus": None,
        "walltime_seconds": view.limit,
        "cost": None,
        "bundle": None,
        "depends_on": [],
        "warnings": [],
        "reasons": [],
    }


def elapsed_of(view: JobView, root: Path) -> float | None:
    """Seconds for which a job runs or ran: by the marks of an ended job, else the scheduler's."""
    end = view.record.end
    seconds = end.seconds if end is not None else None
    if seconds is None and not view.state.active:
        seconds = seconds_of_job(root, view.record.token)
    return view.elapsed if seconds is None else round(seconds, 3)


def jobs_of(views: Sequence[JobView], known: JobRecords, error: str) -> JobsJson:
    """`show jobs`."""
    return {
        "version": VERSION,
        "error": error or None,
        "jobs": [job_of(view, known) for view in views],
    }
