"""Records of jobs for tests that need no journal."""

from __future__ import annotations

from collections.abc import Sequence

from rowtui.core.base.text import Cost
from rowtui.core.clusters.schedulers.base import Job, JobKey, JobState
from rowtui.core.submission.plan.model import JobStep, PlannedDestination, PlannedJob
from rowtui.core.submission.plan.outcome import JobResult, read_old_end
from rowtui.core.submission.plan.record import JobRecord

REASONS = {
    JobState.FAILED: "exit code 1",
    JobState.CANCELLED: "cancelled",
    JobState.COMPLETED: "",
    JobState.NOT_REACHED: "not begun",
}


def a_record(
    token: str = "t",
    *,
    cluster: str = "local",
    partition: str = "",
    action: str = "one",
    directories: Sequence[str] = ("a",),
    name: str = "",
    job_id: int = 7,
    task: int | None = None,
    step: JobStep = JobStep.ACCEPTED,
    at: float = 1.0,
    log_path: str = "log",
    attempt: int = 1,
    end: JobResult | None = None,
    state: JobState | None = None,
    reason: str = "",
    elapsed: int | None = None,
    limit: int | None = None,
) -> JobRecord:
    """A job of this project. `state`: as its scheduler reports it, or as the job ended."""
    planned = PlannedJob(
        token=token,
        name=name or f"{action}-{directories[0] if directories else ''}",
        action=action,
        action_index=0,
        directories=tuple(directories),
        destination=PlannedDestination(cluster, partition),
        script="",
        log_path=log_path,
        processes=1,
        cpus=1,
        gpus=0,
        memory_mb=None,
        walltime_seconds=3600,
        cost=Cost(1.0, 0.0),
        attempt=attempt,
    )
    key, queued = JobKey(job_id, task), None
    if end is None and state in REASONS:
        end = read_old_end(0 if state is JobState.COMPLETED else None, reason or REASONS[state], at)
        end = end if elapsed is None else end._replace(seconds=float(elapsed))
    elif end is None and state not in (None, JobState.UNKNOWN):
        queued = Job(job_id, state, name, token, reason, elapsed=elapsed, limit=limit, task=task)
    return JobRecord(
        token,
        cluster,
        key,
        plan_id="p",
        planned=planned,
        step=step,
        submitted_at=at,
        queued=queued,
        end=end,
        size=len(directories),
    )


def sent_to(record: JobRecord, cluster: str, partition: str, key: JobKey) -> JobRecord:
    """The record of a job that another cluster has."""
    assert record.planned is not None
    planned = record.planned._replace(destination=PlannedDestination(cluster, partition))
    return record._replace(cluster=cluster, key=key, planned=planned)
