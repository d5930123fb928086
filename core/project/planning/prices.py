"""Prices of a plan's jobs in money, if the node types of their destinations have prices.

The input is a plan; the result is amounts by the token of a job or bundle. A bundle costs what
packing computed for it. Any other job, list or pilot costs the charge of the cheapest node type of
its destination that holds it, for the longest time that the job may run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.core.clusters.config.node_types import node_types_for
from rowtui.core.packing.model import Amounts
from rowtui.core.project.planning.pack_terms import price_on_cheapest
from rowtui.core.submission.plan.charges import Money, bundle_prices, charges_of

if TYPE_CHECKING:
    from rowtui.core.clusters.model import Cluster, NodeKind
    from rowtui.core.project.project import Project
    from rowtui.core.submission.plan.model import Destination, Plan


def prices_of(project: Project, plan: Plan) -> dict[str, Money]:
    """Return the price of each job and bundle of a plan; those without a price are left out.

    The plan must be as it was packed: a part of the plan still holds the packing costs of all
    bundles.
    """
    found = bundle_prices(plan)
    known: dict[Destination, tuple[tuple[NodeKind, ...], str]] = {}
    for unit in charges_of(plan):
        job, there = unit.jobs[0], unit.destination
        token = job.token if job.bundle is None else job.bundle.token
        if unit.paid or token in found:
            continue
        if there not in known:
            known[there] = _kinds(project, there)
        kinds, currency = known[there]
        held = job if job.bundle is None else job.bundle
        asked = Amounts(held.cpus, held.memory_mb or 0, held.gpus)
        seconds = job.walltime_seconds if job.bundle is None else job.bundle.seconds
        price = price_on_cheapest(kinds, asked, seconds, held.node_type)
        if price is not None:
            found[token] = Money(price, currency)
    return found


def cluster_named(project: Project, name: str) -> Cluster | None:
    """Return the cluster with this name to which jobs of the project may go."""
    if project.cluster.name == name:
        return project.cluster
    return project.reach.known(name) or project.configured.named(name)


def _kinds(project: Project, there: Destination) -> tuple[tuple[NodeKind, ...], str]:
    cluster = cluster_named(project, there.cluster)
    if cluster is None:
        return (), ""
    return node_types_for(cluster, there.partition, project.environment), cluster.currency
