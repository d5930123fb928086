"""Packings as JSON, by destination: the packing of a plan, and comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rowtui.cli.submit.json import (
    BundleJson,
    PackedSummaryJson,
    RefusedJson,
    bundle_of,
    packed_of,
    refused_of,
)
from rowtui.core.base.document import Flat
from rowtui.core.base.text import CostJson
from rowtui.core.project.planning.pack_views import (
    BundleView,
    NodeUse,
    PackedDestination,
    PackedPlan,
)
from rowtui.core.submission.plan.charges import Charge, bundle_charges, cost_in
from rowtui.core.submission.plan.model import Plan, PlannedDestination, PlannedJob


class NodeTypeJson(NamedTuple):
    """A node type that jobs are packed on. `price_per_hour`: null where none is known.

    `at_most`: how many there are. `used`: how full its nodes are.
    """

    name: str
    cpus: int
    memory_mb: int | None
    gpus: int
    disk_mb: int | None
    price_per_hour: float | None
    at_most: int | None
    boot_seconds: int
    longest_seconds: int | None
    whole_node: bool
    source: str
    used: NodeUse


class LaneJobJson(NamedTuple):
    """A job in a lane, and for how long it may run."""

    token: str
    action: str
    directories: Sequence[str]
    directory_count: int
    walltime_seconds: int


class LaneJson(NamedTuple):
    """Jobs one after another, and what the lane has of the node."""

    cpus: int
    memory_mb: int | None
    gpus: int
    jobs: Sequence[LaneJobJson]


class PackedBundleJson(NamedTuple):
    """A bundle with its lanes. `token`: null for a job that is alone on its node."""

    bundle: Flat[BundleJson]
    lanes: Sequence[LaneJson]


class LeftAloneJson(NamedTuple):
    """Jobs that are not packed, and why."""

    jobs: Sequence[str]
    reason: str


class PackedDestinationJson(NamedTuple):
    """The packing of the jobs of one destination. `gap`: at most so far above the least cost."""

    packed: Flat[PackedSummaryJson]
    gap: float | None
    proven: bool
    packing_seconds: float
    used: NodeUse
    node_types: Sequence[NodeTypeJson]
    bundles: Sequence[PackedBundleJson]
    alone: Sequence[LeftAloneJson]


class PackerNameJson(NamedTuple):
    """A packer that can be chosen."""

    name: str
    summary: str


class PackingJson(NamedTuple):
    """`pack`: how jobs would share nodes."""

    plan: str
    packers: Sequence[PackerNameJson]
    destinations: Sequence[PackedDestinationJson]
    refused: Sequence[RefusedJson]
    skipped: Sequence[str]


class PackerResultJson(NamedTuple):
    """What one packer did. `packer`: the one that the result is from."""

    name: str
    summary: str
    packer: str
    bundle_count: int
    cost: CostJson
    gap: float | None
    longest_seconds: int
    packing_seconds: float


class ComparedDestinationJson(NamedTuple):
    """The same jobs packed by every packer. `alone`: jobs that are not packed."""

    destination: PlannedDestination
    job_count: int
    unit: str
    cost_alone: CostJson
    lower_bound: float
    packers: Sequence[PackerResultJson]
    alone: int


class PackComparisonJson(NamedTuple):
    """`pack --compare`."""

    planning_seconds: float
    search_seconds: float
    destinations: Sequence[ComparedDestinationJson]
    skipped: Sequence[str]


def packing_document(packed: PackedPlan) -> PackingJson:
    """`pack`: all destinations. Jobs are named by their tokens, as in the plan."""
    plan, charges = packed.plan, bundle_charges(packed.plan)
    return PackingJson(
        plan.id,
        [PackerNameJson(*each) for each in packed.packers],
        [_packed_destination(there, plan, charges) for there in packed.destinations],
        refused_of(plan),
        plan.skipped,
    )


def _packed_destination(
    there: PackedDestination, plan: Plan, charges: Mapping[str, Charge]
) -> PackedDestinationJson:
    return PackedDestinationJson(
        packed_of(there.packed, plan),
        there.packed.gap,
        there.proven,
        round(there.took, 3),
        there.used_of(),
        [
            NodeTypeJson(kind.name, *kind[2:], there.used_of(at))
            for at, kind in enumerate(there.node_types)
        ],
        [_packed_bundle(bundle, there, plan.jobs, charges) for bundle in there.bundles],
        [
            LeftAloneJson([plan.jobs[at].token for at in left.jobs], left.reason)
            for left in there.left_alone
        ],
    )


def _packed_bundle(
    bundle: BundleView,
    there: PackedDestination,
    jobs: Sequence[PlannedJob],
    charges: Mapping[str, Charge],
) -> PackedBundleJson:
    """A bundle with its lanes: the amounts that its scheduler job asks for, as in the plan."""
    numbers = [at for lane in bundle.lanes for at in lane.jobs]
    sent = jobs[numbers[0]]
    if sent.bundle is not None:
        charge = charges[sent.bundle.token]
        amounts, hours = bundle_of(charge), charge.cost
    else:
        hours, seconds = sent.cost, sent.walltime_seconds
        asked = (sent.cpus, sent.memory_mb, sent.gpus, seconds)
        amounts = BundleJson(None, "", *asked, hours.as_document(), ())
    return PackedBundleJson(
        amounts._replace(
            node_type=there.node_types[bundle.node_type].name,
            cost=cost_in(there.packed.unit, bundle.cost, hours),
            jobs=[jobs[at].token for at in numbers],
        ),
        [
            LaneJson(
                lane.amounts.cpus,
                lane.amounts.memory_mb or None,
                lane.amounts.gpus,
                [
                    LaneJobJson(job.token, job.action, job.directories, len(job.directories), most)
                    for at, most in zip(lane.jobs, lane.seconds, strict=True)
                    for job in (jobs[at],)
                ],
            )
            for lane in bundle.lanes
        ],
    )
