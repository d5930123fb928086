"""Return the node types of a partition and its packing settings from all known sources.

The node types of a partition are described in a file, else derived from the limits of the
partition, else unknown. This machine is the only node of its own queue, so that a node type there
offers at most what the machine has. Source: Row's `clusters.toml`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rowtui.core.clusters.config.load_node_types import memory_mb
from rowtui.core.clusters.model import Cluster, NodeType, PackingDefaults, Partition
from rowtui.core.clusters.schedulers.kind import kind_of
from rowtui.core.clusters.schedulers.local.machine import machine_capacity

FROM_PARTITION = "partition"
FROM_MACHINE = "this machine"


def node_types_for(
    cluster: Cluster, partition: str, environment: Mapping[str, str] | None = None
) -> tuple[NodeType, ...]:
    """Return the node types of one partition, in the order of their description; () if unknown.

    `source` of each is a file, `FROM_PARTITION` or `FROM_MACHINE`. `environment`: default is that
    of this process. Raises: RowtuiError if a number for this machine in `environment` is invalid.
    """
    described = tuple(kind for kind in cluster.node_types if _is_in(kind.partition, partition))
    if described:
        limit = _named(cluster, partition)
        longest = limit.maximum_walltime_seconds if limit is not None else None
        kinds = tuple(
            kind if kind.longest_seconds is not None else kind._replace(longest_seconds=longest)
            for kind in described
        )
        return _of_this_machine(kinds, environment) if kind_of(cluster).runs_here else kinds
    if kind_of(cluster).runs_here:
        return (this_machine(environment),)
    limits = _named(cluster, partition)
    kind = None if limits is None else node_of(limits)
    return () if kind is None else (kind,)


def packing_for(cluster: Cluster, partition: str) -> PackingDefaults | None:
    """Return the packing settings of one partition; None if there are none."""
    packing = cluster.packing
    if packing is None:
        return None
    special = (it for name, it in packing.partitions.items() if _is_in(name, partition))
    return next(special, packing._replace(partitions={}))


def node_of(partition: Partition) -> NodeType | None:
    """Return the node that the limits of a partition describe; None if they are insufficient.

    The node counts as whole only if the partition requires multiples of its CPUs. Its memory is the
    sum over its CPUs, or GPUs; None if the partition states no memory for either.
    """
    whole = partition.require_cpus_multiple_of
    cpus = partition.cpus_per_node or whole
    if not cpus:
        return None
    gpus = partition.gpus_per_node or 0
    of_cpus = _memory(partition.memory_per_cpu_mb, partition.memory_per_cpu, cpus)
    of_gpus = _memory(partition.memory_per_gpu_mb, partition.memory_per_gpu, gpus)
    return NodeType(
        name=partition.name,
        partition=partition.name,
        cpus=cpus,
        memory_mb=of_cpus if of_cpus is not None else of_gpus,
        gpus=gpus,
        longest_seconds=partition.maximum_walltime_seconds,
        whole_node=whole is not None and whole % cpus == 0,
        source=FROM_PARTITION,
    )


def this_machine(environment: Mapping[str, str] | None = None) -> NodeType:
    """Return this machine as one node, which its own queue may use. Raises: RowtuiError."""
    capacity = machine_capacity(environment)
    return NodeType(
        name="this-machine",
        partition="",
        cpus=capacity.cores,
        memory_mb=capacity.memory_mb,
        gpus=len(capacity.gpus),
        at_most=1,
        source=FROM_MACHINE,
    )


def _of_this_machine(
    kinds: Iterable[NodeType], environment: Mapping[str, str] | None
) -> tuple[NodeType, ...]:
    """Return the node types with no more than this machine has, whose queue refuses larger jobs."""
    here = this_machine(environment)
    assert here.memory_mb is not None
    return tuple(
        kind._replace(
            cpus=min(kind.cpus, here.cpus),
            memory_mb=min(kind.memory_mb or here.memory_mb, here.memory_mb),
            gpus=min(kind.gpus, here.gpus),
        )
        for kind in kinds
    )


def _is_in(named: str, partition: str) -> bool:
    """Whether a name includes this partition; Slurm's `a,b` includes both."""
    return named in ("", partition) or named in partition.split(",")


def _named(cluster: Cluster, name: str) -> Partition | None:
    return next((it for it in cluster.partitions if it.name == name), None)


def _memory(each: int | None, as_written: str | None, number: int) -> int | None:
    if each is None and as_written is not None:
        each = int(as_written) if as_written.isdecimal() else memory_mb(as_written)
    return None if each is None or not number else each * number
