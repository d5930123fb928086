"""The queues of clusters as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.clusters.schedulers.reasons import explain
from rowtui.core.engine.api.json.jobs import JobRecords, job_of
from rowtui.core.engine.api.json.plans import hours_of
from rowtui.core.engine.api.json.values import cost_of, utc
from rowtui.core.submission.plan.outcome import signal_name

if TYPE_CHECKING:
    from rowtui.core.base.json.jobs import ClusterQueueJson, QueueRowJson
    from rowtui.core.clusters.schedulers.base import Job
    from rowtui.core.project.views.views import ClusterView


class Queued(NamedTuple):
    """A job as its scheduler has it, and the tokens of this project's jobs in it."""

    job: Job
    name: str
    tokens: tuple[str, ...] = ()
    bundled: bool = False


def cluster_queue(
    cluster: ClusterView, rows: Iterable[Queued], known: JobRecords | None, now: float
) -> ClusterQueueJson:
    """The jobs of one cluster. `known`: None outside of a project."""
    age = None if cluster.as_of is None else max(0.0, round(now - cluster.as_of, 3))
    return {
        "name": cluster.name,
        "where": cluster.where,
        "scheduler": cluster.scheduler,
        "connected": cluster.connected,
        "login": cluster.login or None,
        "error": cluster.error or None,
        "as_of": utc(cluster.as_of),
        "age_seconds": age,
        "next_at": utc(cluster.next_at),
        "jobs": [queue_row(row, cluster.name, known, now) for row in rows],
    }


def queue_row(row: Queued, cluster: str, known: JobRecords | None, now: float) -> QueueRowJson:
    """One job of a queue: what is on record of it, and what the scheduler says."""
    job = row.job
    told = explain(job, now)
    views = [] if known is None else [known.views[it] for it in row.tokens if it in known.views]
    ours = [] if known is None else [job_of(view, known) for view in views]
    record = cast("QueueRowJson", ours[0] if ours and not row.bundled else _of_others(row, known))
    outcome = signal = None
    code: int | None = None
    if ours and not row.bundled:
        own = ours[0]
        outcome, code, signal = own["outcome"], own["exit_code"], own["signal"]
    elif not job.state.active and job.state is not JobState.CANCELLED and job.exit_signal:
        signal = None if job.launch_error else signal_name(job.exit_signal) or str(job.exit_signal)
    elif not job.state.active and job.state is not JobState.CANCELLED:
        code = job.exit_code
    elapsed: float | None = job.elapsed or None
    if not job.state.active and record["elapsed_seconds"] is not None:
        elapsed = record["elapsed_seconds"]
    limit = job.limit if record["walltime_seconds"] is None else record["walltime_seconds"]
    return {
        **record,
        "token": record["token"] or job.token or None,
        "id": record["id"] or (str(job.key) if job.id else None),
        "cluster": cluster,
        "partition": job.partition or record["partition"],
        "name": job.name or record["name"],
        "walltime_seconds": limit,
        "state": job.state.value,
        "reason": job.reason or record["reason"],
        "outcome": outcome,
        "exit_code": code,
        "signal": signal,
        "elapsed_seconds": elapsed,
        "nodes": job.nodes or None,
        "ours": bool(row.tokens),
        "requests": ours if row.bundled else [],
        "explanation": told.sentence,
        "hint": told.hint or None,
        "needs_person": told.needs_person,
        "starts_at": utc(job.start_estimate),
    }


def _of_others(row: Queued, known: JobRecords | None) -> Any:
    """The fields of a row that is no single job of this project."""
    planned = [] if known is None else [known.planned.get(it) for it in row.tokens]
    bundle = next((it.bundle for it in planned if it is not None and it.bundle), None)
    return {
        "token": None,
        "id": None,
        "partition": None,
        "action": None,
        "directories": [],
        "directory_count": sum(len(it.directories) for it in planned if it is not None),
        "name": row.name,
        "attempt": None,
        "processes": None,
        "cpus": None if bundle is None else bundle.cpus,
        "memory_mb": None if bundle is None else bundle.memory_mb,
        "gpus": None if bundle is None else bundle.gpus,
        "walltime_seconds": None if bundle is None else bundle.seconds,
        "cost": None if bundle is None else cost_of(hours_of(bundle)),
        "bundle": None if bundle is None else bundle.token,
        "depends_on": [],
        "reason": None,
        "submitted_at": None,
        "started_at": None,
        "ended_at": None,
        "elapsed_seconds": None,
        "log_path": row.job.log_path or None,
        "user": None,
        "plan": None,
        "script": None,
        "warnings": [],
        "reasons": [],
    }
