"""Queues as values for programs: what `rowtui queue --json` prints (docs/formats.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rowtui.cli.queue_rows import QueueRow
from rowtui.core.clusters.schedulers.reasons import explain
from rowtui.core.project.views import ClusterView

VERSION = 1


def queue_json(
    clusters: Sequence[ClusterView], rows: Mapping[str, Sequence[QueueRow]], now: float
) -> dict[str, Any]:
    """All clusters with their jobs. Times are epoch seconds, durations seconds."""
    return {
        "version": VERSION,
        "clusters": [_cluster(cluster, rows[cluster.name], now) for cluster in clusters],
    }


def _cluster(cluster: ClusterView, rows: Sequence[QueueRow], now: float) -> dict[str, Any]:
    return {
        "name": cluster.name,
        "where": cluster.where,
        "scheduler": cluster.scheduler,
        "connected": cluster.connected,
        "login": cluster.login,
        "error": cluster.error,
        "as_of": cluster.as_of,
        "age": None if cluster.as_of is None else max(0.0, round(now - cluster.as_of, 3)),
        "next_at": cluster.next_at or None,
        "jobs": [_job(row, now) for row in rows],
    }


def _job(row: QueueRow, now: float) -> dict[str, Any]:
    job, record, requests = row
    told = explain(job, now)
    return {
        "id": job.id or None,
        "task": job.task,
        "name": job.name,
        "state": job.state.value,
        "ours": record is not None or bool(requests),
        "token": job.token or None,
        "action": record.action if record is not None else None,
        "directories": list(record.directories) if record is not None else None,
        "requests": [
            {"token": it.token, "action": it.action, "directories": list(it.directories)}
            for it in requests
        ],
        "partition": job.partition,
        "elapsed": job.elapsed,
        "limit": job.limit,
        "nodes": job.nodes,
        "reason": job.reason,
        "explanation": told.sentence,
        "hint": told.hint,
        "needs_person": told.needs_person,
        "start_estimate": job.start_estimate,
        "exit_code": job.exit_code,
        "exit_signal": job.exit_signal,
    }
