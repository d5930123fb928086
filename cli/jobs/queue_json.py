"""Queues as values for programs: the output of `rowtui queue --json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rowtui.core.base.json_objects import VERSION
from rowtui.core.engine.api.json_views import Queued, cluster_queue

if TYPE_CHECKING:
    from rowtui.cli.jobs.queue_rows import QueueRow
    from rowtui.core.base import json_objects as to
    from rowtui.core.engine.api.json_views import Known
    from rowtui.core.project.views.views import ClusterView


def queue_json(
    clusters: Sequence[ClusterView],
    rows: Mapping[str, Sequence[QueueRow]],
    known: Known | None,
    now: float,
) -> to.Queue:
    """Return all clusters with their jobs.

    `known`: the project's jobs, None outside of a project.
    """
    return {
        "version": VERSION,
        "clusters": [
            cluster_queue(cluster, map(_queued, rows[cluster.name]), known, now)
            for cluster in clusters
        ],
    }


def _queued(row: QueueRow) -> Queued:
    ours = row.requests or ((row.record,) if row.record is not None else ())
    return Queued(row.job, row.name, tuple(it.token for it in ours), bundled=bool(row.requests))
