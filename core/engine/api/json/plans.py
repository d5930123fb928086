"""Plans as JSON: their jobs, bundles, refusals and packings, and what was sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rowtui.core.base.json import VERSION
from rowtui.core.base.text import Cost
from rowtui.core.engine.api.json.jobs import job_of, unsent_job
from rowtui.core.engine.api.json.values import cost_in, cost_of, place_of, transfers_of

if TYPE_CHECKING:
    from pathlib import Path

    from rowtui.core.base.json.jobs import JobJson
    from rowtui.core.base.json.plans import (
        BundleJson,
        PackedSummaryJson,
        PlanJson,
        RefusedJson,
        SentJson,
    )
    from rowtui.core.project.views.views import TransferView
    from rowtui.core.submission.plan.model import InBundle, Packed, Plan, PlannedJob
    from rowtui.core.submission.plan.record import JobRecord


_HOUR = 3600


def plan_of(plan: Plan, *, scripts: bool = False) -> PlanJson:
    """A plan. `scripts`: with the script of each job."""
    return {
        "version": VERSION,
        "id": plan.id,
        "created": plan.created,
        "user": plan.user,
        "cluster": plan.cluster,
        "scheduler": plan.scheduler,
        "jobs": [
            {**unsent_job(job, plan), "script": job.script if scripts else None}
            for job in plan.jobs
        ],
        "bundles": bundles_of(plan.jobs),
        "refused": refused_of(plan),
        "skipped": list(plan.skipped),
        "cost": cost_of(plan.cost),
        "packed": [packed_of(packed, plan.jobs) for packed in plan.packed],
        "warnings": list(plan.warnings),
    }


def sent_of(
    plan: Plan | None,
    answers: Mapping[str, str],
    records: Iterable[JobRecord],
    root: Path,
    transfers: Sequence[TransferView] = (),
) -> SentJson:
    """What became of a plan. `answers`: errors by token, "" for what is about no single job."""
    known = {record.token: record for record in records}
    jobs: list[JobJson] = []
    for job in plan.jobs if plan is not None else ():
        record = known.get(job.token)
        if record is not None:
            jobs.append(job_of(record, root))
        elif plan is not None:
            why = answers.get(job.token, "")
            jobs.append(unsent_job(job, plan, state="never sent", reason=why))
    return {
        "version": VERSION,
        "plan": None if plan is None or not plan.jobs else plan.id,
        "jobs": jobs,
        "refused": [] if plan is None else refused_of(plan),
        "skipped": [] if plan is None else list(plan.skipped),
        "errors": [error for error in answers.values() if error],
        "transfers": transfers_of(transfers),
    }


def refused_of(plan: Plan) -> list[RefusedJson]:
    """The directories that a plan leaves out, with the reason."""
    return [
        {
            "stage": it.stage.value,
            "action": it.action,
            "jobs": len(it.jobs),
            "directories": (names := [name for job in it.jobs for name in job]),
            "directory_count": len(names),
            "reason": it.reason,
            "hint": it.hint or None,
        }
        for it in plan.refused
    ]


def bundles_of(jobs: Iterable[PlannedJob]) -> list[BundleJson]:
    """The bundles of these jobs, in their order."""
    found: dict[str, BundleJson] = {}
    for job in jobs:
        if job.bundle is None:
            continue
        if job.bundle.token not in found:
            found[job.bundle.token] = bundle_of(job.bundle)
        found[job.bundle.token]["jobs"].append(job.token)
    return list(found.values())


def bundle_of(bundle: InBundle) -> BundleJson:
    return {
        "token": bundle.token,
        "node_type": bundle.node_type or None,
        "cpus": bundle.cpus,
        "memory_mb": bundle.memory_mb,
        "gpus": bundle.gpus,
        "walltime_seconds": bundle.seconds,
        "cost": cost_of(hours_of(bundle)),
        "jobs": [],
    }


def hours_of(bundle: InBundle) -> Cost:
    """What a bundle holds of its node, for as long as it may last."""
    hours = bundle.seconds / _HOUR
    return Cost(bundle.cpus * hours, bundle.gpus * hours)


def packed_of(packed: Packed, jobs: Iterable[PlannedJob]) -> PackedSummaryJson:
    """What packing did at one destination. `jobs`: of the whole plan."""
    alone, together = Cost(), Cost()
    bundles: dict[str, InBundle] = {}
    for job in jobs:
        if job.destination == packed.destination:
            alone = alone.plus(job.cost)
            if job.bundle is None:
                together = together.plus(job.cost)
            else:
                bundles[job.bundle.token] = job.bundle
    for bundle in bundles.values():
        together = together.plus(hours_of(bundle))
    return {
        "destination": place_of(packed.destination),
        "packer": packed.packer,
        "job_count": packed.jobs,
        "bundle_count": packed.bundles,
        "cost": cost_in(packed.unit, packed.cost, together),
        "cost_alone": cost_in(packed.unit, packed.alone, alone),
        "lower_bound": packed.bound,
        "unit": packed.unit,
    }
