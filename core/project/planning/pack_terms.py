"""Jobs and nodes as packers see them, and the result of a packing as a view.

The input is planned jobs and the node types of clusters.toml. The result is demands and node types,
from which the overhead of a bundle is deducted: time for the start of the bundle and of each job,
and memory for the bundle's script.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.config.node_types import node_types_for
from rowtui.core.clusters.model import NodeType
from rowtui.core.packing.model import HOUR, Demand, InstanceType, PackingProblem, ResourceAmounts
from rowtui.core.project.context.cluster_context import cluster_named
from rowtui.core.project.planning.pack_views import (
    BundleView,
    LaneView,
    LeftAlone,
    PackChoice,
    PackedDestination,
    price_of,
)
from rowtui.core.submission.bundles.bundles import (
    SCRIPT_MB,
    START_SECONDS,
    STEP_SECONDS,
    WATCH_MB,
    BundleLayout,
)
from rowtui.core.submission.plan.charges import Money, bundle_prices, charges_of
from rowtui.core.submission.plan.model import CPU_HOURS, Packed, PlannedDestination, PlannedJob

if TYPE_CHECKING:
    from rowtui.core.project.project import Project
    from rowtui.core.submission.plan.model import Plan


# Prices of a plan's jobs in money, if the node types of their destinations have prices.
#
# The input is a plan; the result is amounts by the token of a job or bundle. A bundle costs what
# packing computed for it. Any other job, list or pilot costs the charge of the cheapest node type
# of its destination that holds it, for the longest time that the job may run.


def prices_of(project: Project, plan: Plan) -> dict[str, Money]:
    """Return the price of each job and bundle of a plan; those without a price are left out.

    The plan must be as it was packed: a part of the plan still holds the packing costs of all
    bundles.
    """
    found = bundle_prices(plan)
    known: dict[PlannedDestination, tuple[tuple[NodeType, ...], str]] = {}
    for unit in charges_of(plan):
        job, there = unit.jobs[0], unit.destination
        token = job.token if job.bundle is None else job.bundle.token
        if unit.paid or token in found:
            continue
        if there not in known:
            known[there] = _kinds(project, there)
        kinds, currency = known[there]
        held = job if job.bundle is None else job.bundle
        asked = ResourceAmounts(held.cpus, held.memory_mb or 0, held.gpus)
        seconds = job.walltime_seconds if job.bundle is None else job.bundle.seconds
        price = price_on_cheapest(kinds, asked, seconds, held.node_type)
        if price is not None:
            found[token] = Money(price, currency)
    return found


def _kinds(project: Project, there: PlannedDestination) -> tuple[tuple[NodeType, ...], str]:
    cluster = cluster_named(project, there.cluster)
    if cluster is None:
        return (), ""
    return node_types_for(cluster, there.partition, project.environment), cluster.currency


# MB. The memory of the node is unknown, so that packing must not limit it.
UNKNOWN_MEMORY = 1 << 50


def core_share_mb(kinds: Sequence[NodeType]) -> float:
    """Return the smallest memory per core among the node types; 0 if no memory is known."""
    shares = (usable_mb(kind) / kind.cpus for kind in kinds if kind.memory_mb is not None)
    return min(shares, default=0.0)


def demand_of(job: PlannedJob, core_mb: float, factor: float) -> Demand:
    """Return what a job asks of a node.

    A job without stated memory asks `core_mb` for each core.
    """
    memory = job.memory_mb
    if memory is None:
        memory = math.floor(core_mb * job.cpus)
    seconds = seconds_of(job, factor) + STEP_SECONDS
    return Demand(ResourceAmounts(job.cpus, memory, job.gpus), seconds, job.node_type)


def node_type_of(kind: NodeType, longest: int | None, partition: int | None) -> InstanceType:
    """Return a node type as packers see it.

    Its limits leave time for a bundle's own start and end.
    """
    limits = [it for it in (kind.longest_seconds or partition, longest) if it is not None]
    return InstanceType(
        name=kind.name,
        amounts=ResourceAmounts(kind.cpus, usable_mb(kind), kind.gpus, kind.disk_mb or 0),
        price=price_of(kind),
        at_most=kind.at_most,
        boot_seconds=kind.boot_seconds,
        longest_seconds=max(0, min(limits) - START_SECONDS) if limits else None,
    )


def usable_mb(kind: NodeType) -> int:
    """Return a node's memory for jobs, without what a bundle needs with one slot for each core."""
    if kind.memory_mb is None:
        return UNKNOWN_MEMORY
    return max(0, kind.memory_mb - SCRIPT_MB - WATCH_MB * kind.cpus)


def unit_of(kinds: Sequence[NodeType], currency: str) -> str:
    """Return the unit of these node types' prices."""
    if any(kind.price_per_hour is None for kind in kinds):
        return CPU_HOURS
    return currency


def seconds_of(job: PlannedJob, factor: float) -> int:
    """Return how many seconds a job may take."""
    return max(1, math.ceil(job.walltime_seconds * factor))


def by_cpus(kinds: Sequence[NodeType]) -> bool:
    """Whether some of these node types are charged by the CPUs that jobs ask for."""
    return any(kind.price_per_hour is None and not kind.whole_node for kind in kinds)


def cpu_hours(demand: Demand) -> float:
    """Return the CPU-hours of one such request for the CPUs that it asks for."""
    return demand.amounts.cpus * demand.seconds / HOUR


def charge(kind: NodeType, amounts: ResourceAmounts, seconds: int) -> float:
    """Return the charge for a job with these amounts and this duration on this node type.

    A node with a price is charged as a whole. A node without a price is charged by the CPUs that
    the job asks for, as in any plan, unless the job gets the whole node.
    """
    price = float(amounts.cpus) if by_cpus([kind]) else price_of(kind)
    return price * (kind.boot_seconds + seconds) / HOUR


def alone_cost(
    demand: Demand, seconds: int, problem: PackingProblem, kinds: Sequence[NodeType]
) -> float:
    """Return the cost of one such request as a job of its own, on the cheapest node.

    `seconds`: the time limit of that job; `kinds`: the node types of the problem, in their order.
    """
    prices = [
        charge(kind, demand.amounts, seconds)
        for kind, node_type in zip(kinds, problem.node_types, strict=True)
        if demand.amounts.fits(node_type.amounts)
        and demand.hint in ("", node_type.name)
        and (node_type.longest_seconds is None or demand.seconds <= node_type.longest_seconds)
    ]
    return min(prices, default=0.0)


def price_on_cheapest(
    kinds: Sequence[NodeType], asked: ResourceAmounts, seconds: int, hint: str = ""
) -> float | None:
    """Return the charge for a job on the cheapest of these node types that holds the job.

    Returns None if no type holds the job, or if a type that holds it has no price, because the job
    may run there. `hint`: the node type that the job must run on, "" for any.
    """
    holding = [it for it in kinds if asked.fits(_whole(it)) and hint in ("", it.name)]
    if any(kind.price_per_hour is None for kind in holding):
        return None
    return min((charge(kind, asked, seconds) for kind in holding), default=None)


def _whole(kind: NodeType) -> ResourceAmounts:
    memory = UNKNOWN_MEMORY if kind.memory_mb is None else kind.memory_mb
    return ResourceAmounts(kind.cpus, memory, kind.gpus, kind.disk_mb or 0)


# The result of packing the jobs of one destination, and the view of the result for users.


class PackedBundle(NamedTuple):
    """One bundle: the index of its node type, its cost, and the amounts of each lane."""

    layout: BundleLayout
    node_type: int
    cost: float
    lanes: tuple[ResourceAmounts, ...]


@dataclass
class PackedThere:
    """The packing result for the jobs of one destination.

    Positions are in the list that was packed.
    """

    destination: PlannedDestination
    kinds: tuple[NodeType, ...]
    unit: str
    packer: str = ""
    jobs: int = 0
    bundles: int = 0
    alone: float = 0.0
    cost: float = 0.0
    bound: float = 0.0
    proven: bool = True
    took: float = 0.0
    settings: PackChoice = PackChoice()
    made: list[PackedBundle] = field(default_factory=list)
    left: list[tuple[tuple[int, ...], str]] = field(default_factory=list)

    def summary(self) -> Packed:
        """Return the result in the form that a plan stores."""
        return Packed(
            destination=self.destination,
            packer=self.packer,
            jobs=self.jobs,
            bundles=self.bundles,
            alone=self.alone,
            cost=self.cost,
            bound=self.bound,
            unit=self.unit,
        )

    def warnings(self, before: Sequence[PlannedJob]) -> Iterator[str]:
        """Yield a sentence for each reason for which jobs are not packed."""
        for positions, why in self.left:
            first = visible(before[positions[0]].name)
            jobs = plural(len(positions), "job")
            start = f"pack: {visible(str(self.destination))}: {jobs} not packed"
            yield f"{start}, from {first} on: {why}"

    def view(
        self, jobs: Sequence[PlannedJob], after: Sequence[int], limit: int | None
    ) -> PackedDestination:
        """Return the result for users. `after`: where each packed job is among `jobs`.

        `limit`: the seconds that a job may run in the partition.
        """
        bundles = []
        for layout, kind, cost, amounts in self.made:
            lanes = tuple(
                LaneView(own, tuple(after[position] for position in lane), times)
                for own, lane, times in zip(amounts, layout.lanes, layout.seconds, strict=True)
            )
            first = jobs[lanes[0].jobs[0]]
            bundles.append(
                BundleView(
                    token=first.bundle.token if first.bundle else "",
                    node_type=kind,
                    used=ResourceAmounts(layout.cpus, layout.memory_mb or 0, layout.gpus),
                    # As submitted: a job that is alone on its node is an ordinary job.
                    seconds=first.bundle.seconds if first.bundle else first.walltime_seconds,
                    cost=cost,
                    lanes=lanes,
                )
            )
        return PackedDestination(
            destination=self.destination,
            packed=self.summary(),
            node_types=tuple(
                kind._replace(longest_seconds=kind.longest_seconds or limit) for kind in self.kinds
            ),
            bundles=tuple(bundles),
            left_alone=tuple(
                LeftAlone(tuple(after[position] for position in those), why)
                for those, why in self.left
            ),
            proven=self.proven and self.jobs > 0,
            took=self.took,
            settings=self.settings,
        )
