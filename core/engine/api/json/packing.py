"""Packings as JSON, by destination."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rowtui.core.base.json import VERSION
from rowtui.core.engine.api.json.plans import bundle_of, packed_of, refused_of
from rowtui.core.engine.api.json.values import cost_in, cost_of
from rowtui.core.submission.plan.charges import bundle_charges

if TYPE_CHECKING:
    from rowtui.core.base.json.packing import (
        NodeTypeJson,
        PackedBundleJson,
        PackedDestinationJson,
        PackingJson,
        UtilisationJson,
    )
    from rowtui.core.project.planning.pack_views import (
        BundleView,
        NodeTypeView,
        NodeUse,
        PackedDestination,
        PackedPlan,
    )
    from rowtui.core.submission.plan.charges import Charge
    from rowtui.core.submission.plan.model import Plan, PlannedJob


def packing_of(packed: PackedPlan) -> PackingJson:
    """`pack`: all destinations. Jobs are named by their tokens, as in the plan."""
    charges = bundle_charges(packed.plan)
    return {
        "version": VERSION,
        "plan": packed.plan.id,
        "packers": [{"name": name, "summary": text} for name, text in packed.packers],
        "destinations": [
            _packed_destination(there, packed.plan, charges) for there in packed.destinations
        ],
        "refused": refused_of(packed.plan),
        "skipped": list(packed.plan.skipped),
    }


def _packed_destination(
    there: PackedDestination, plan: Plan, charges: Mapping[str, Charge]
) -> PackedDestinationJson:
    jobs = plan.jobs
    return {
        **packed_of(there.packed, plan),
        "gap": there.gap,
        "proven": there.proven,
        "packing_seconds": round(there.took, 3),
        "used": utilisation_of(there.used_of()),
        "node_types": [
            _node_type(kind, there.used_of(number)) for number, kind in enumerate(there.node_types)
        ],
        "bundles": [_packed_bundle(bundle, there, jobs, charges) for bundle in there.bundles],
        "alone": [
            {"jobs": [jobs[at].token for at in left.jobs], "reason": left.reason}
            for left in there.left_alone
        ],
    }


def utilisation_of(used: NodeUse) -> UtilisationJson:
    """Shares of what is paid for."""
    return {"cpus": used.cpus, "memory": used.memory, "gpus": used.gpus}


def _node_type(kind: NodeTypeView, used: NodeUse) -> NodeTypeJson:
    return {
        "name": kind.name,
        "cpus": kind.amounts.cpus,
        "memory_mb": kind.amounts.memory_mb or None,
        "gpus": kind.amounts.gpus,
        "disk_mb": kind.amounts.disk_mb or None,
        "price_per_hour": kind.price if kind.priced else None,
        "at_most": kind.at_most,
        "boot_seconds": kind.boot_seconds,
        "longest_seconds": kind.longest_seconds,
        "whole_node": kind.whole_node,
        "source": kind.source,
        "used": utilisation_of(used),
    }


def _packed_bundle(
    bundle: BundleView,
    there: PackedDestination,
    jobs: Sequence[PlannedJob],
    charges: Mapping[str, Charge],
) -> PackedBundleJson:
    """A bundle with its lanes: the amounts that its scheduler job asks for, as in the plan."""
    tokens = [at for lane in bundle.lanes for at in lane.jobs]
    sent = jobs[tokens[0]]
    if sent.bundle is not None:
        charge = charges[sent.bundle.token]
        amounts, hours = bundle_of(charge), charge.cost
    else:
        hours = sent.cost
        amounts = {
            "token": None,
            "node_type": None,
            "cpus": sent.cpus,
            "memory_mb": sent.memory_mb,
            "gpus": sent.gpus,
            "walltime_seconds": sent.walltime_seconds,
            "cost": cost_of(hours),
            "jobs": [],
        }
    return {
        **amounts,
        "node_type": there.node_types[bundle.node_type].name,
        "cost": cost_in(there.packed.unit, bundle.cost, hours),
        "jobs": [jobs[at].token for at in tokens],
        "lanes": [
            {
                "cpus": lane.amounts.cpus,
                "memory_mb": lane.amounts.memory_mb or None,
                "gpus": lane.amounts.gpus,
                "jobs": [
                    {
                        "token": jobs[at].token,
                        "action": jobs[at].action,
                        "directories": list(jobs[at].directories),
                        "directory_count": len(jobs[at].directories),
                        "walltime_seconds": seconds,
                    }
                    for at, seconds in zip(lane.jobs, lane.seconds, strict=True)
                ],
            }
            for lane in bundle.lanes
        ],
    }
