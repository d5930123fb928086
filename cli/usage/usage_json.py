"""What jobs requested and used, for programs: the JSON of `usage`, and a CSV row for each job."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TextIO

from rowtui.cli.usage.running import RunningUse, UsedStep, running_job
from rowtui.core.base.document import Moment, TextOrNull, document
from rowtui.core.base.spreadsheet import in_csv
from rowtui.core.base.text import visible
from rowtui.core.clusters.schedulers.base import job_label
from rowtui.core.clusters.schedulers.measured import MeasuredBy
from rowtui.core.submission.plan.outcome import JobOutcome
from rowtui.core.usage.costs import JobCost, JobCosts
from rowtui.core.usage.model import JobUsage
from rowtui.core.usage.recommend import ActionSize
from rowtui.core.usage.right_size import WrittenSizes
from rowtui.core.usage.store import UsageColumns
from rowtui.core.usage.table import UsageRow, total_row, usage_table

if TYPE_CHECKING:
    from rowtui.core.clusters.schedulers.measured import MeasuredStep
    from rowtui.core.submission.plan.record import JobRecord
    from rowtui.core.usage.running import UsageNow


class UsedJob(NamedTuple):
    """What one job requested and used. `outcome`: as in `Job`. `reason`: null if it ended well.

    `..._source`: `job script`, `control group` (includes cached files), `scheduler`, or null.
    `charged_money`, `used_money`: by the prices of node types. `carbon_g`: CO2e.
    """

    id: str | None
    token: str
    action: str
    cluster: str
    partition: TextOrNull
    user: TextOrNull
    node: TextOrNull
    attempt: int
    directory_count: int
    outcome: JobOutcome
    reason: TextOrNull
    exit_code: int | None
    signal: TextOrNull
    submitted_at: Moment
    started_at: Moment
    ended_at: Moment
    cpus: int
    gpus: int
    requested_memory_kib: float | None
    requested_wall_seconds: int
    wall_seconds: float | None
    wall_source: TextOrNull
    cpu_seconds: float | None
    cpu_source: TextOrNull
    memory_kib: int | None
    memory_source: TextOrNull
    gpu_seconds: float | None
    gpu_memory_kib: int | None
    gpu_source: TextOrNull
    charged_money: float | None
    used_money: float | None
    currency: str | None
    energy_kwh: float | None
    carbon_g: float | None


class UsageDocument(NamedTuple):
    """`usage`. `jobs` (ended), their `steps` and `running`: only of named jobs; `recommended`: only
    with `--recommend`; `write`: only with `--write`. `unmeasured_jobs`: ended jobs without a
    record, which are in no other number.
    """

    by: str
    groups: Sequence[UsageRow]
    total: UsageRow | None
    jobs: Sequence[UsedJob]
    running: Sequence[RunningUse]
    steps: Sequence[UsedStep]
    recommended: Sequence[ActionSize]
    write: WrittenSizes | None
    damaged_records: int
    unmeasured_jobs: int


class ShownUsage(NamedTuple):
    """What a call shows beside the table. `ended`: the named jobs, with their places."""

    ended: Sequence[tuple[int, JobUsage]]
    running: Sequence[tuple[JobRecord, UsageNow | None]]
    steps: Mapping[str, Sequence[MeasuredStep]]
    older: int
    sizes: Sequence[ActionSize] = ()
    written: WrittenSizes | None = None


def write_csv(columns: UsageColumns, costs: JobCosts, file: TextIO) -> None:
    """Write a row for each job, with the fields of the JSON form.

    Texts are safe for spreadsheets and for a terminal, to which --csv may write.
    """
    writer = None
    for at, job in enumerate(columns.jobs()):
        row = document(used_job(job, costs.of(at)))
        if writer is None:
            writer = csv.DictWriter(file, list(row), lineterminator="\n")
            writer.writeheader()
        cells = ((name, in_csv(value)) for name, value in row.items())
        writer.writerow({name: visible(it) if isinstance(it, str) else it for name, it in cells})


def usage_document(
    by: str, columns: UsageColumns, costs: JobCosts, shown: ShownUsage
) -> UsageDocument:
    """Return everything that `usage` prints."""
    return UsageDocument(
        by,
        usage_table(columns, by, costs),
        total_row(columns, costs) if len(columns) else None,
        [used_job(job, costs.of(at)) for at, job in shown.ended],
        [running_job(view, now) for view, now in shown.running if now is not None],
        [
            UsedStep(job_label(job.job_id, job.token), job.token, *step)
            for _, job in shown.ended
            for step in shown.steps.get(job.token, ())
        ],
        shown.sizes,
        shown.written,
        columns.damaged,
        shown.older,
    )


def used_job(job: JobUsage, cost: JobCost) -> UsedJob:
    """Return one job for `--json` and `--csv`."""
    kind, used = job.kind, job.used
    return UsedJob(
        job_label(job.job_id, job.token),
        job.token,
        kind.action,
        kind.cluster,
        kind.partition,
        kind.user,
        used.node,
        kind.attempt,
        job.directories,
        job.end.outcome,
        job.end.cause,
        job.end.exit_code,
        job.end.signal,
        job.submitted_at,
        job.started_at,
        job.ended_at,
        kind.cpus,
        kind.gpus,
        None if kind.memory_mb is None else kind.memory_mb * 1024,
        kind.walltime_seconds,
        _digits(used.wall),
        _source(used.wall_by),
        _digits(used.cpu),
        _source(used.cpu_by),
        used.memory,
        _source(used.memory_by),
        _digits(used.gpu),
        used.gpu_memory,
        _source(used.gpu_by),
        _fine(cost.charged),
        _fine(cost.used),
        cost.currency,
        _fine(cost.energy_kwh),
        _fine(cost.carbon_g),
    )


def _digits(value: float | None) -> float | None:
    """Return a value of a stored 32-bit number without digits that mean nothing."""
    return None if value is None else round(value, 2)


def _fine(value: float | None) -> float | None:
    """Return a small amount that is added up later, with digits enough for that."""
    return None if value is None else float(f"{value:.9g}")


def _source(by: MeasuredBy) -> str:
    return "" if by is MeasuredBy.UNKNOWN else by.words
