"""What ran when, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.core.base.json import VERSION
from rowtui.core.base.text import visible
from rowtui.core.engine.api.json.values import utc

if TYPE_CHECKING:
    from rowtui.core.base.json.history import HistoryJson
    from rowtui.core.usage.past import PastView


def history_of(past: PastView) -> HistoryJson:
    """Return the past of a project."""
    return {
        "version": VERSION,
        "first": utc(past.first),
        "last": utc(past.last),
        "seconds_each": past.seconds_each,
        "intervals": [
            {
                "start": utc(each.start),
                "jobs": each.jobs,
                "ended_well": each.ended_well,
                "failed": each.failed,
                "cancelled": each.cancelled,
                "cpu_hours": each.cpu_hours,
                "cpus_in_use": each.cpus,
            }
            for each in past.intervals
        ],
        "older_intervals_left_out": past.intervals_left_out,
        "waits": [
            {
                "partition": visible(row.partition),
                "jobs": row.jobs,
                "median_seconds": row.median,
                "most_of_seconds": row.most_of,
                "longest_seconds": row.longest,
            }
            for row in past.waits
        ],
        "partitions_left_out": past.partitions_left_out,
        "nodes": [
            {
                "node": visible(row.node),
                "jobs": row.jobs,
                "failed": row.failed,
                "expected": row.expected,
                "chance": row.chance,
                "stands_out": row.stands_out,
            }
            for row in past.nodes
        ],
        "nodes_left_out": past.nodes_left_out,
        "jobs": [
            {
                "id": job.label or None,
                "action": visible(job.action),
                "node": visible(job.node) or None,
                "started_at": utc(job.started_at),
                "ended_at": utc(job.ended_at),
                "state": job.state,
                "reason": visible(job.reason) or None,
            }
            for job in past.jobs
        ],
        "jobs_left_out": past.jobs_left_out,
        "job_count": past.chosen_jobs,
        "damaged_records": past.damaged,
    }
