"""A packing as JSON (docs/formats.md): memory in MB, times in seconds, prices by the hour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rowtui.core.project.pack_views import PackedDestination, PackedPlan
    from rowtui.core.submission.model import Destination, PlannedJob

VERSION = 1


def pack_json(packed: PackedPlan) -> dict[str, Any]:
    """All destinations. Jobs are named by their tokens, as in `rowtui plan --json`."""
    jobs = packed.plan.jobs
    return {
        "version": VERSION,
        "plan": packed.plan.id,
        "packers": [{"name": name, "summary": text} for name, text in packed.packers],
        "destinations": [_destination(there, jobs) for there in packed.destinations],
        "skipped": list(packed.plan.skipped),
    }


def place(destination: Destination) -> dict[str, str]:
    """Where jobs go."""
    return {"cluster": destination.cluster, "partition": destination.partition}


def _destination(there: PackedDestination, jobs: tuple[PlannedJob, ...]) -> dict[str, Any]:
    done = there.packed
    return {
        "destination": place(done.destination),
        "packer": done.packer,
        "jobs": done.jobs,
        "nodes": done.bundles,
        "cost": done.cost,
        "cost_alone": done.alone,
        "bound": done.bound,
        "gap": there.gap,
        "proven": there.proven,
        "unit": done.unit,
        "seconds": round(there.took, 3),
        "used": there.used_of()._asdict(),
        "node_types": _node_types(there),
        "bundles": _bundles(there, jobs),
        "alone": [
            {"jobs": [jobs[at].token for at in left.jobs], "reason": left.reason}
            for left in there.left_alone
        ],
    }


def _node_types(there: PackedDestination) -> list[dict[str, Any]]:
    return [
        {
            "name": kind.name,
            **kind.amounts._asdict(),
            "price": kind.price,
            "priced": kind.priced,
            "at_most": kind.at_most,
            "boot_seconds": kind.boot_seconds,
            "longest_seconds": kind.longest_seconds,
            "whole_node": kind.whole_node,
            "source": kind.source,
            "used": there.used_of(number)._asdict(),
        }
        for number, kind in enumerate(there.node_types)
    ]


def _bundles(there: PackedDestination, jobs: tuple[PlannedJob, ...]) -> list[dict[str, Any]]:
    return [
        {
            "token": bundle.token or None,
            "node_type": there.node_types[bundle.node_type].name,
            **bundle.used._asdict(),
            "seconds": bundle.seconds,
            "cost": bundle.cost,
            "lanes": [
                {
                    **lane.amounts._asdict(),
                    "jobs": [
                        {
                            "token": jobs[at].token,
                            "action": jobs[at].action,
                            "directories": list(jobs[at].directories),
                            "seconds": seconds,
                        }
                        for at, seconds in zip(lane.jobs, lane.seconds, strict=True)
                    ],
                }
                for lane in bundle.lanes
            ],
        }
        for bundle in there.bundles
    ]
