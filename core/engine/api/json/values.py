"""Plain values as JSON: times, costs, places and transfers; clusters as in clusters.toml."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from rowtui.core.base.text import Cost

if TYPE_CHECKING:
    from rowtui.core.base.json.clusters import (
        ClusterJson,
        EnergyJson,
        NodeKindJson,
        PackingDefaultsJson,
        PartitionJson,
    )
    from rowtui.core.base.json.directories import CostJson, PlaceJson
    from rowtui.core.base.json.plans import TransferJson
    from rowtui.core.clusters.model import Cluster, NodeType, PackingDefaults
    from rowtui.core.project.project import Project
    from rowtui.core.project.views.views import TransferView
    from rowtui.core.submission.plan.model import PlannedDestination


_CPU_HOURS = ("core-hours", "CPU-hours")  # the unit of packings without prices


_HOUR = 3600


def cost_of(cost: Cost, price: float | None = None, currency: str = "") -> CostJson:
    """A cost, with what it is in money where that is known."""
    return {
        "cpu_hours": cost.cpu_hours,
        "gpu_hours": cost.gpu_hours,
        "price": price,
        "currency": (currency or None) if price is not None else None,
    }


def cost_in(unit: str, value: float, hours: Cost) -> CostJson:
    """A cost that packing counts in `unit`: a currency, or CPU-hours. `hours`: of the same jobs."""
    if unit in _CPU_HOURS:
        return cost_of(Cost(value, hours.gpu_hours))
    return cost_of(hours, value, unit)


def place_of(destination: PlannedDestination) -> PlaceJson:
    """Where jobs go."""
    return {"cluster": destination.cluster, "partition": destination.partition or None}


def transfers_of(views: Sequence[TransferView]) -> list[TransferJson]:
    """What is copied to clusters."""
    return [cast("TransferJson", view._asdict()) for view in views]


def bad_of(project: Project) -> dict[str, str]:
    """The directories that are set aside, by name, and why."""
    directories = project.state.directories
    return {directories.name(position): why for position, why in directories.bad.items()}


# Clusters and node types as JSON, as clusters.toml describes them.


def node_kind_of(kind: NodeType) -> NodeKindJson:
    """A node type as clusters.toml describes it."""
    return {
        "name": kind.name,
        "partition": kind.partition or None,
        "cpus": kind.cpus,
        "memory_mb": kind.memory_mb,
        "gpus": kind.gpus,
        "disk_mb": kind.disk_mb,
        "price_per_hour": kind.price,
        "at_most": kind.at_most,
        "boot_seconds": kind.boot_seconds,
        "longest_seconds": kind.longest_seconds,
        "whole_node": kind.whole_node,
        "source": kind.source,
    }


def cluster_of(cluster: Cluster) -> ClusterJson:
    """A cluster as clusters.toml describes it."""
    remote, packing, budget = cluster.remote, cluster.packing, cluster.budget
    identify = cluster.identify
    return {
        "name": cluster.name,
        "identify": {
            "by_environment": identify.by_environment and [*identify.by_environment],
            "always": identify.always,
        },
        "scheduler": cluster.scheduler,
        "partitions": [cast("PartitionJson", each._asdict()) for each in cluster.partitions],
        "submit_options": [*cluster.submit_options],
        "slurm_gpus_per_task": cluster.slurm_gpus_per_task,
        "source": cluster.source,
        "remote": remote
        and {
            "host": remote.host,
            "user": remote.user,
            "port": remote.port,
            "transport": remote.transport,
            "paths": [{"local": pair.local, "remote": pair.remote} for pair in remote.paths],
            "mirror": remote.mirror,
            "config": [*remote.config],
        },
        "poll_seconds": cluster.poll_seconds,
        "query_seconds": cluster.query_seconds,
        "arrays": cluster.arrays,
        "maximum_array_size": cluster.maximum_array_size,
        "memory_resource": cluster.memory_resource,
        "gpu_resource": cluster.gpu_resource,
        "node_types": [node_kind_of(kind) for kind in cluster.node_types],
        "currency": cluster.currency or None,
        "packing": packing
        and {
            **_packing_defaults(packing),
            "partitions": {name: _packing_defaults(own) for name, own in packing.partitions},
        },
        "asked_partitions": cluster.asked_partitions,
        "budget": budget and {"cpu_hours": budget.cpu_hours, "gpu_hours": budget.gpu_hours},
        "energy": cluster.energy and cast("EnergyJson", cluster.energy._asdict()),
    }


def _packing_defaults(packing: PackingDefaults) -> PackingDefaultsJson:
    return {
        "enabled": packing.enabled,
        "packer": packing.packer,
        "largest_bundle": packing.largest_bundle,
        "longest_seconds": packing.longest_seconds,
        "time_factor": packing.time_factor,
    }
