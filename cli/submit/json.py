"""Plans as JSON: their jobs, bundles, refusals and packings, and what was sent. Runs as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rowtui.cli.jobs.json import JobJson, job_document, unsent_job
from rowtui.core.base.document import Moment, OrAbsent, TextOrNull
from rowtui.core.base.text import Cost, CostJson
from rowtui.core.project.sizing.measured import ExpectedCost
from rowtui.core.project.views.views import TransferView
from rowtui.core.runs.model import RunStatus
from rowtui.core.submission.plan.charges import Charge, bundle_charges, charges_of, cost_in
from rowtui.core.submission.plan.model import Packed, Plan, PlannedDestination, RefusedAt
from rowtui.core.submission.plan.record import JobRecord


class RefusedJson(NamedTuple):
    """Directories that a plan leaves out.

    `stage`: group, mapping, machine, partition, script, limit or budget. `jobs`: how many they
    would be.
    """

    stage: RefusedAt
    action: str
    jobs: int
    directories: Sequence[str]
    directory_count: int
    reason: str
    hint: TextOrNull


class BundleJson(NamedTuple):
    """One scheduler job that runs several jobs on one node: what all of it asks for.

    `jobs`: tokens, lane after lane. `walltime_seconds`: with the time to start and end.
    """

    token: str | None
    node_type: TextOrNull
    cpus: int
    memory_mb: int | None
    gpus: int
    walltime_seconds: int
    cost: CostJson
    jobs: Sequence[str]


class PackedSummaryJson(NamedTuple):
    """What packing did for the jobs of one destination. `cost_alone`: of the jobs one by one.

    `lower_bound`: no packing costs less; in `unit` (a currency, or CPU-hours).
    """

    destination: PlannedDestination
    packer: str
    job_count: int
    bundle_count: int
    cost: CostJson
    cost_alone: CostJson
    lower_bound: float
    unit: str


class PlanJson(NamedTuple):
    """What would be submitted: `plan`, and `submit --dry-run`. `skipped`: sentences for people."""

    id: str
    created: str
    user: str
    cluster: str
    scheduler: str
    jobs: Sequence[JobJson]
    bundles: Sequence[BundleJson]
    refused: Sequence[RefusedJson]
    skipped: Sequence[str]
    cost: Cost
    packed: Sequence[PackedSummaryJson]
    warnings: Sequence[str]
    transfers: OrAbsent[Sequence[TransferView]] = None
    expected: OrAbsent[ExpectedCost] = None


class SentJson(NamedTuple):
    """What `submit` and `retry` sent. `plan`: its id, null without a plan.

    `errors`: sentences. Jobs that were not sent have the state `never sent` or `refused`.
    """

    plan: str | None
    jobs: Sequence[JobJson]
    refused: Sequence[RefusedJson]
    skipped: Sequence[str]
    errors: Sequence[str]
    transfers: Sequence[TransferView]


def plan_document(plan: Plan, *, scripts: bool = False) -> PlanJson:
    """A plan. `scripts`: with the script of each job."""
    return PlanJson(
        plan.id,
        plan.created,
        plan.user,
        plan.cluster,
        plan.scheduler,
        [
            unsent_job(job, plan)._replace(script=job.script if scripts else None)
            for job in plan.jobs
        ],
        [bundle_of(charge) for charge in bundle_charges(plan).values()],
        refused_of(plan),
        plan.skipped,
        plan.cost,
        [packed_of(packed, plan) for packed in plan.packed],
        plan.warnings,
    )


def sent_document(
    plan: Plan | None,
    answers: Mapping[str, str],
    records: Iterable[JobRecord],
    root: Path,
    transfers: Sequence[TransferView] = (),
) -> SentJson:
    """What became of a plan. `answers`: errors by token, "" for what is about no single job."""
    errors = [error for error in answers.values() if error]
    if plan is None:
        return SentJson(None, (), (), (), errors, transfers)
    known = {record.token: record for record in records}
    jobs = [
        job_document(record, root)
        if (record := known.get(job.token)) is not None
        else unsent_job(job, plan, "never sent", answers.get(job.token, ""))
        for job in plan.jobs
    ]
    identity = plan.id if plan.jobs else None
    return SentJson(identity, jobs, refused_of(plan), plan.skipped, errors, transfers)


def refused_of(plan: Plan) -> list[RefusedJson]:
    """The directories that a plan leaves out, with the reason."""
    found = []
    for it in plan.refused:
        names = [name for job in it.jobs for name in job]
        counts = (len(it.jobs), names, len(names))
        found.append(RefusedJson(it.stage, it.action, *counts, it.reason, it.hint))
    return found


def bundle_of(charge: Charge) -> BundleJson:
    """A bundle, and what it is charged."""
    bundle = charge.jobs[0].bundle
    assert bundle is not None
    return BundleJson(
        bundle.token,
        bundle.node_type,
        bundle.cpus,
        bundle.memory_mb,
        bundle.gpus,
        bundle.seconds,
        charge.price,
        [job.token for job in charge.jobs],
    )


def packed_of(packed: Packed, plan: Plan) -> PackedSummaryJson:
    """What packing did at one destination of a plan."""
    here = [it for it in charges_of(plan) if it.destination == packed.destination]
    together = Cost.total(it.cost for it in here)
    alone = Cost.total(job.cost for it in here for job in it.jobs)
    return PackedSummaryJson(
        packed.destination,
        packed.packer,
        packed.jobs,
        packed.bundles,
        cost_in(packed.unit, packed.cost, together),
        cost_in(packed.unit, packed.alone, alone),
        packed.bound,
        packed.unit,
    )


class RetryRuleJson(NamedTuple):
    """A rule. `attempts`: at most, in all. `line`: in rowtui.toml, null for a default rule.

    `continues`: how often the same job is sent again at most, 0 for a rule about failures.
    `progress`: a pattern of files; one of them must have changed. `decides`: how many of the last
    failures it decides, by what it does: `retried`, `continues`, `attempts used up`.
    """

    action: str
    on: Sequence[str]
    attempts: int
    change: TextOrNull
    wait_seconds: float
    line: int | None
    continues: int
    progress: TextOrNull
    decides: Mapping[str, int]


class RetryRulesJson(NamedTuple):
    """`run --rules`: the first rule that matches a failure decides.

    `failures`: how many of the last failed jobs were compared with the rules. `unmatched`: those
    that no rule matches, by cause.
    """

    rules: Sequence[RetryRuleJson]
    failures: int
    unmatched: Mapping[str, int]


class RetriedDirectories(NamedTuple):
    """A retry that a run decided. `why`: the cause, the attempt and the change.

    `continues`: the jobs did not fail; the same attempt goes on.
    """

    at: Moment
    action: str
    directories: tuple[str, ...]
    why: str
    continues: bool


class ProjectRunDocument(NamedTuple):
    """`run --status`: the newest run. `driven_by`: the process, null if none drives it.

    `cpu_hours`, `gpu_hours`: what its jobs asked for. `submitted`, `failed`: numbers of jobs.
    """

    id: str
    status: RunStatus
    why: TextOrNull
    driven_by: TextOrNull
    submitted: int
    failed: int
    cpu_hours: float
    gpu_hours: float
    limits: tuple[str, ...]
    retried: Sequence[RetriedDirectories]
