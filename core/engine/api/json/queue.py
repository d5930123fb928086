"""The queues of clusters as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from rowtui.core.base.document import utc
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.clusters.schedulers.reasons import explain
from rowtui.core.engine.api.json.jobs import asked_of, job_of
from rowtui.core.engine.api.json.plans import price_of
from rowtui.core.submission.plan.outcome import signal_name
from rowtui.core.submission.plan.record import shown_job

if TYPE_CHECKING:
    from pathlib import Path

    from rowtui.core.base.json.jobs import ClusterQueueJson, QueueRowJson
    from rowtui.core.project.queue.queue_list import ClusterRow
    from rowtui.core.project.views.views import ClusterView
    from rowtui.core.submission.plan.charges import Charge


def cluster_queue(
    cluster: ClusterView,
    rows: Iterable[ClusterRow],
    root: Path | None,
    charges: Mapping[str, Charge],
    now: float,
) -> ClusterQueueJson:
    """The jobs of one cluster. `root`: None outside of a project. `charges`: of its bundles."""
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
        "jobs": [queue_row(row, cluster.name, root, charges, now) for row in rows],
    }


def queue_row(
    row: ClusterRow, cluster: str, root: Path | None, charges: Mapping[str, Charge], now: float
) -> QueueRowJson:
    """One job of a queue: what is on record of it, and what the scheduler reports."""
    record = row.record
    told = explain(shown_job(record), now)
    is_one = record.ours and not row.requests
    fields = cast("QueueRowJson", job_of(record, root) if is_one else _of_others(row, charges))
    elapsed = fields["elapsed_seconds"] if is_one else record.elapsed
    return {
        **fields,
        "cluster": cluster,
        "elapsed_seconds": elapsed or None if record.state.active else elapsed,
        "nodes": record.nodes or None,
        "ours": bool(row.ours),
        "requests": [job_of(it, root) for it in row.requests],
        "explanation": told.sentence,
        "hint": told.hint or None,
        "needs_person": told.needs_person,
        "starts_at": utc(record.start_estimate),
    }


def _of_others(row: ClusterRow, charges: Mapping[str, Charge]) -> dict[str, Any]:
    """The fields of a row that is no single job of this project."""
    record, job = row.record, row.record.queued
    planned = [it.planned for it in row.requests if it.planned is not None]
    bundle = next((it.bundle for it in planned if it.bundle is not None), None)
    charge = None if bundle is None else charges.get(bundle.token)
    code: int | None = None
    signal = None
    if job is not None and not job.state.active and job.state is not JobState.CANCELLED:
        number = job.exit_signal
        code = None if number else job.exit_code
        if number and not job.launch_error:
            signal = signal_name(number) or str(number)
    return {
        **asked_of(None),
        "token": record.token or None,
        "id": str(record.key) if record.job_id else None,
        "partition": record.partition or None,
        "action": None,
        "directories": [],
        "directory_count": sum(it.size for it in row.requests),
        "name": record.name or row.name,
        "attempt": None,
        "cpus": None if bundle is None else bundle.cpus,
        "memory_mb": None if bundle is None else bundle.memory_mb,
        "gpus": None if bundle is None else bundle.gpus,
        "walltime_seconds": record.limit if bundle is None else bundle.seconds,
        "cost": None if charge is None else price_of(charge),
        "bundle": None if bundle is None else bundle.token,
        "state": record.state.value,
        "reason": record.reason or None,
        "outcome": None,
        "exit_code": code,
        "signal": signal,
        "submitted_at": None,
        "started_at": None,
        "ended_at": None,
        "log_path": (job.log_path if job is not None else "") or None,
        "user": None,
        "plan": None,
        "script": None,
    }
