"""Plans as JSON: their jobs, bundles, refusals and packings, and what was sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rowtui.core.base.json import VERSION
from rowtui.core.base.text import Cost
from rowtui.core.engine.api.json.jobs import job_of, unsent_job
from rowtui.core.engine.api.json.values import cost_in, cost_of, place_of, transfers_of
from rowtui.core.submission.plan.charges import bundle_charges, charges_of

if TYPE_CHECKING:
    from pathlib import Path

    from rowtui.core.base.json.directories import CostJson
    from rowtui.core.base.json.jobs import JobJson
    from rowtui.core.base.json.plans import (
        BundleJson,
        PackedSummaryJson,
        PlanJson,
        RefusedJson,
        SentJson,
    )
    from rowtui.core.project.views.views import TransferView
    from rowtui.core.submission.plan.charges import Charge
    from rowtui.core.submission.plan.model import Packed, Plan
    from rowtui.core.submission.plan.record import JobRecord


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
        "bundles": [bundle_of(charge) for charge in bundle_charges(plan).values()],
        "refused": refused_of(plan),
        "skipped": list(plan.skipped),
        "cost": cost_of(plan.cost),
        "packed": [packed_of(packed, plan) for packed in plan.packed],
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


def bundle_of(charge: Charge) -> BundleJson:
    """A bundle, and what it is charged."""
    bundle = charge.jobs[0].bundle
    assert bundle is not None
    return {
        "token": bundle.token,
        "node_type": bundle.node_type or None,
        "cpus": bundle.cpus,
        "memory_mb": bundle.memory_mb,
        "gpus": bundle.gpus,
        "walltime_seconds": bundle.seconds,
        "cost": price_of(charge),
        "jobs": [job.token for job in charge.jobs],
    }


def price_of(charge: Charge) -> CostJson:
    """What jobs are charged, in hours and, where a node type has a price, in money."""
    money = charge.money
    return cost_of(charge.cost, money and money.amount, money.currency if money else "")


def packed_of(packed: Packed, plan: Plan) -> PackedSummaryJson:
    """What packing did at one destination of a plan."""
    here = [it for it in charges_of(plan) if it.destination == packed.destination]
    together = Cost.total(it.cost for it in here)
    alone = Cost.total(job.cost for it in here for job in it.jobs)
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
