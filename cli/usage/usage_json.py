"""What jobs requested and used, for programs: the JSON of `usage`, and a CSV row for each job."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, TextIO

from rowtui.cli.usage.recommended import size_json
from rowtui.cli.usage.running import running_json, steps_json
from rowtui.core.base.json import VERSION
from rowtui.core.base.spreadsheet import in_csv
from rowtui.core.base.text import visible
from rowtui.core.clusters.schedulers.base import job_label
from rowtui.core.clusters.schedulers.measured import MeasuredBy
from rowtui.core.usage.costs import CostRow, JobCost, JobCosts, cost_table, total_costs
from rowtui.core.usage.model import JobUsage
from rowtui.core.usage.recommend import ActionSize
from rowtui.core.usage.store import UsageColumns
from rowtui.core.usage.table import UsageRow, total_row, usage_table

if TYPE_CHECKING:
    from rowtui.core.base.json import usage as to
    from rowtui.core.clusters.schedulers.measured import MeasuredStep
    from rowtui.core.submission.plan.record import JobRecord
    from rowtui.core.usage.running import UsageNow


class ShownUsage(NamedTuple):
    """What a call shows beside the table. `ended`: the named jobs, with their places."""

    ended: Sequence[tuple[int, JobUsage]]
    running: Sequence[tuple[JobRecord, UsageNow | None]]
    steps: Mapping[str, Sequence[MeasuredStep]]
    older: int
    sizes: Sequence[ActionSize] = ()
    written: to.WrittenSizesJson | None = None


def write_csv(columns: UsageColumns, costs: JobCosts, file: TextIO) -> None:
    """Write a row for each job, with the names of the JSON form, safe for spreadsheets."""
    writer = None
    for at, job in enumerate(columns.jobs()):
        row = job_json(job, costs.of(at))
        if writer is None:
            writer = csv.DictWriter(file, list(row), lineterminator="\n")
            writer.writeheader()
        writer.writerow({name: in_csv(value) for name, value in row.items()})


def usage_json(
    args: argparse.Namespace,
    columns: UsageColumns,
    costs: JobCosts,
    shown: ShownUsage,
) -> to.UsageJson:
    """Return everything that `usage` knows."""
    by = args.by or "action"
    by_name = {row.name: row for row in cost_table(columns, costs, by)}
    return {
        "version": VERSION,
        "by": by,
        "groups": [_row_json(row, by_name[row.name]) for row in usage_table(columns, by)],
        "total": _row_json(total_row(columns), total_costs(costs)) if len(columns) else None,
        "jobs": [job_json(job, costs.of(at)) for at, job in shown.ended],
        "running": [running_json(view, now) for view, now in shown.running if now is not None],
        "steps": steps_json([job for _, job in shown.ended], shown.steps),
        "recommended": [size_json(size) for size in shown.sizes],
        "write": shown.written,
        "damaged_records": columns.damaged,
        "unmeasured_jobs": shown.older,
    }


def _row_json(row: UsageRow, cost: CostRow) -> to.UsageOfJobsJson:
    return {
        "name": visible(row.name),
        "jobs": row.jobs,
        "failed": row.failed,
        "cancelled": row.cancelled,
        "charged_cpu_hours": row.charged_cpu_hours,
        "charged_gpu_hours": row.charged_gpu_hours,
        "used_cpu_hours": row.used_cpu_hours,
        "measured_cpu_hours": row.measured_cpu_hours,
        "used_gpu_hours": row.used_gpu_hours,
        "measured_gpu_hours": row.measured_gpu_hours,
        "gpu_share": row.gpu_share,
        "cpu_share": row.cpu_share,
        "median_wall_seconds": row.wall_median,
        "longest_wall_seconds": row.wall_most,
        "requested_wall_seconds": row.walltime,
        "wall_share": row.wall_share,
        "median_memory_kib": row.memory_median,
        "most_memory_kib": row.memory_most,
        "requested_memory_kib": row.memory,
        "memory_share": row.memory_share,
        "money": [
            {
                "currency": visible(it.currency),
                "jobs": it.jobs,
                "charged": it.charged,
                "used": it.used,
                "measured": it.measured,
            }
            for it in cost.money
        ],
        "energy_jobs": cost.energy_jobs,
        "energy_kwh": cost.energy_kwh,
        "carbon_g": cost.carbon_g,
    }


def job_json(job: JobUsage, cost: JobCost) -> to.JobUsageJson:
    """Return one job for `--json` and `--csv`."""
    kind, used = job.kind, job.used
    return {
        "id": job_label(job.job_id, job.token),
        "token": job.token,
        "action": visible(kind.action),
        "cluster": visible(kind.cluster),
        "partition": visible(kind.partition) or None,
        "user": visible(kind.user) or None,
        "node": visible(used.node) or None,
        "attempt": kind.attempt,
        "directory_count": job.directories,
        "outcome": job.end.outcome.value,
        "reason": visible(job.end.cause) or None,
        "exit_code": job.end.exit_code,
        "signal": job.end.signal or None,
        "submitted_at": _iso(job.submitted_at),
        "started_at": _iso(job.started_at),
        "ended_at": _iso(job.ended_at),
        "cpus": kind.cpus,
        "gpus": kind.gpus,
        "requested_memory_kib": None if kind.memory_mb is None else kind.memory_mb * 1024,
        "requested_wall_seconds": kind.walltime_seconds,
        "wall_seconds": _digits(used.wall),
        "wall_source": _source(used.wall_by),
        "cpu_seconds": _digits(used.cpu),
        "cpu_source": _source(used.cpu_by),
        "memory_kib": used.memory,
        "memory_source": _source(used.memory_by),
        "gpu_seconds": _digits(used.gpu),
        "gpu_memory_kib": used.gpu_memory,
        "gpu_source": _source(used.gpu_by),
        "charged_money": _fine(cost.charged),
        "used_money": _fine(cost.used),
        "currency": None if cost.currency is None else visible(cost.currency),
        "energy_kwh": _fine(cost.energy_kwh),
        "carbon_g": _fine(cost.carbon_g),
    }


def _iso(at: float) -> str | None:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds") if at else None


def _digits(value: float | None) -> float | None:
    """Return a value of a stored 32-bit number without digits that mean nothing."""
    return None if value is None else round(value, 2)


def _fine(value: float | None) -> float | None:
    """Return a small amount that is added up later, with digits enough for that."""
    return None if value is None else float(f"{value:.9g}")


def _source(by: MeasuredBy) -> str | None:
    return None if by is MeasuredBy.UNKNOWN else by.words
