"""Jobs and nodes in the packer's terms: what a job asks of a node, what a node has for jobs.

Takes planned jobs and the node types of clusters.toml; gives demands and node types, with what
running a bundle takes set aside: time for its start and each job's, memory for its script.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rowtui.core.clusters.model import NodeKind
from rowtui.core.packing.model import HOUR, Amounts, Demand, NodeType, Problem
from rowtui.core.project.pack_views import NodeTypeView
from rowtui.core.submission.bundles import SCRIPT_MB, START_SECONDS, STEP_SECONDS, WATCH_MB
from rowtui.core.submission.model import PlannedJob

CORE_HOURS = "core-hours"
UNKNOWN_MEMORY = 1 << 50  # MB: nobody knows how much a node has, so that it cannot be counted


def core_share_mb(kinds: Sequence[NodeKind]) -> float:
    """The memory that goes with a core where it is scarcest; 0 where nobody knows any."""
    shares = (usable_mb(kind) / kind.cpus for kind in kinds if kind.memory_mb is not None)
    return min(shares, default=0.0)


def demand_of(job: PlannedJob, core_mb: float, factor: float) -> Demand:
    """What a job asks of a node. Where nobody states its memory: `core_mb` for each core."""
    memory = job.memory_mb
    if memory is None:
        memory = math.floor(core_mb * job.cpus)
    seconds = seconds_of(job, factor) + STEP_SECONDS
    return Demand(Amounts(job.cpus, memory, job.gpus), seconds, job.node_type)


def node_type_of(kind: NodeKind, longest: int | None, partition: int | None) -> NodeType:
    """A node type as packers see it; limits leave time for a bundle's own start and end."""
    limits = [it for it in (kind.longest_seconds or partition, longest) if it is not None]
    return NodeType(
        name=kind.name,
        amounts=Amounts(kind.cpus, usable_mb(kind), kind.gpus, kind.disk_mb or 0),
        price=price_of(kind),
        at_most=kind.at_most,
        boot_seconds=kind.boot_seconds,
        longest_seconds=max(0, min(limits) - START_SECONDS) if limits else None,
    )


def type_view(kind: NodeKind, partition: int | None) -> NodeTypeView:
    """A node type as people see it: all that it has, also what is set aside."""
    return NodeTypeView(
        name=kind.name,
        amounts=Amounts(kind.cpus, kind.memory_mb or 0, kind.gpus, kind.disk_mb or 0),
        price=price_of(kind),
        priced=kind.price is not None,
        at_most=kind.at_most,
        boot_seconds=kind.boot_seconds,
        longest_seconds=kind.longest_seconds or partition,
        whole_node=kind.whole_node,
        source=kind.source,
    )


def usable_mb(kind: NodeKind) -> int:
    """The memory of a node for jobs, besides what a bundle needs for as many lanes as cores."""
    if kind.memory_mb is None:
        return UNKNOWN_MEMORY
    return max(0, kind.memory_mb - SCRIPT_MB - WATCH_MB * kind.cpus)


def price_of(kind: NodeKind) -> float:
    """For an hour; where nobody says one, its cores."""
    return float(kind.cpus) if kind.price is None else kind.price


def unit_of(kinds: Sequence[NodeKind], currency: str) -> str:
    """What prices of these are in."""
    if any(kind.price is None for kind in kinds):
        return CORE_HOURS
    return currency


def seconds_of(job: PlannedJob, factor: float) -> int:
    """How long a job may take."""
    return max(1, math.ceil(job.walltime_seconds * factor))


def by_cpus(kinds: Sequence[NodeKind]) -> bool:
    """Whether some of these are paid by the CPUs that jobs ask for."""
    return any(kind.price is None and not kind.whole_node for kind in kinds)


def cpu_hours(demand: Demand) -> float:
    """What one such request uses of the CPUs that it asks for."""
    return demand.amounts.cpus * demand.seconds / HOUR


def charge(kind: NodeKind, amounts: Amounts, seconds: int) -> float:
    """What the scheduler charges for a job that asks so much of such a node for so long.

    A node with a price is paid as a whole. A node without a price is paid by the CPUs that the job
    asks for, as in any plan, unless the job gets the whole node.
    """
    price = float(amounts.cpus) if by_cpus([kind]) else price_of(kind)
    return price * (kind.boot_seconds + seconds) / HOUR


def alone_cost(demand: Demand, problem: Problem, kinds: Sequence[NodeKind]) -> float:
    """What one such request costs as a job of its own, on the cheapest node.

    `kinds`: the node types of the problem, in their order.
    """
    prices = [
        charge(kind, demand.amounts, demand.seconds)
        for kind, node_type in zip(kinds, problem.node_types, strict=True)
        if demand.amounts.fits(node_type.amounts)
        and demand.hint in ("", node_type.name)
        and (node_type.longest_seconds is None or demand.seconds <= node_type.longest_seconds)
    ]
    return min(prices, default=0.0)
