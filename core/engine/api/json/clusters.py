"""Clusters and node types as JSON, as clusters.toml describes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from rowtui.core.base.json.clusters import (
        ClusterJson,
        NodeKindJson,
        PackingDefaultsJson,
        PartitionJson,
    )
    from rowtui.core.clusters.model import Cluster, NodeType, PackingDefaults


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
    }


def _packing_defaults(packing: PackingDefaults) -> PackingDefaultsJson:
    return {
        "enabled": packing.enabled,
        "packer": packing.packer,
        "largest_bundle": packing.largest_bundle,
        "longest_seconds": packing.longest_seconds,
        "time_factor": packing.time_factor,
    }
