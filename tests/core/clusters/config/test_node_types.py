"""Which nodes a partition has, by a file, by its limits, or by this machine."""

from __future__ import annotations

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.config.builtin import CLUSTERS, LOCAL, NONE
from rowtui.core.clusters.config.node_types import node_types_for, packing_for
from rowtui.core.clusters.model import (
    Cluster,
    Identify,
    NodeType,
    PackingDefaults,
    Partition,
)

PARTITIONS = (
    Partition("cpu", cpus_per_node=16, memory_per_cpu_mb=4000, maximum_walltime_seconds=3600),
    Partition("gpu", cpus_per_node=32, gpus_per_node=4, memory_per_gpu_mb=50000),
    Partition("whole", require_cpus_multiple_of=128, memory_per_cpu="2G"),
    Partition("smt", cpus_per_node=64, require_cpus_multiple_of=2),
    Partition("unknown", maximum_cpus_per_job=1000, memory_per_cpu_mb=4000),
)
CLUSTER = Cluster("t", Identify(), "slurm", PARTITIONS)
EVERYWHERE = NodeType("any", "", 8, 16000, source="/clusters.toml")
IN_CPU = NodeType("c", "cpu", 16, 64000, longest_seconds=60, source="/clusters.toml")


def test_what_a_file_describes_for_the_partition_comes_in_its_order() -> None:
    cluster = CLUSTER._replace(node_types=(IN_CPU, EVERYWHERE))
    assert [kind.name for kind in node_types_for(cluster, "cpu")] == ["c", "any"]
    assert [kind.name for kind in node_types_for(cluster, "gpu")] == ["any"]
    assert [kind.name for kind in node_types_for(cluster, "cpu,gpu")] == ["c", "any"]


def test_a_job_may_take_as_long_as_the_type_says_else_as_the_partition_says() -> None:
    cluster = CLUSTER._replace(node_types=(IN_CPU, EVERYWHERE))
    assert [kind.longest_seconds for kind in node_types_for(cluster, "cpu")] == [60, 3600]
    assert [kind.longest_seconds for kind in node_types_for(cluster, "gpu")] == [None]


def test_without_a_description_the_limits_say_what_a_node_has() -> None:
    found = {name.name: node_types_for(CLUSTER, name.name) for name in PARTITIONS}
    assert found["cpu"] == (
        NodeType("cpu", "cpu", 16, 64000, longest_seconds=3600, source="partition"),
    )
    assert found["gpu"] == (NodeType("gpu", "gpu", 32, 200000, gpus=4, source="partition"),)
    assert found["whole"] == (
        NodeType("whole", "whole", 128, 262144, whole_node=True, source="partition"),
    )
    assert found["smt"] == (NodeType("smt", "smt", 64, source="partition"),)
    assert found["unknown"] == ()
    assert node_types_for(CLUSTER, "no such partition") == ()


def test_types_of_another_partition_leave_the_limits_to_speak() -> None:
    cluster = CLUSTER._replace(node_types=(IN_CPU,))
    assert [kind.source for kind in node_types_for(cluster, "gpu")] == ["partition"]


@pytest.mark.parametrize("cluster", [LOCAL, NONE])
def test_the_local_queue_has_this_machine(cluster: Cluster) -> None:
    stated = {
        "ROWTUI_LOCAL_CORES": "3",
        "ROWTUI_LOCAL_MEMORY_MB": "900",
        "ROWTUI_LOCAL_GPUS": "2",
    }
    (kind,) = node_types_for(cluster, cluster.partitions[0].name, stated)
    assert (kind.cpus, kind.memory_mb, kind.gpus, kind.at_most) == (3, 900, 2, 1)
    assert kind.source == "this machine"
    with pytest.raises(RowtuiError, match="ROWTUI_LOCAL_CORES"):
        node_types_for(cluster, "local", {"ROWTUI_LOCAL_CORES": "many"})


def test_this_machine_may_be_described_too() -> None:
    cluster = LOCAL._replace(node_types=(EVERYWHERE,))
    large = {"ROWTUI_LOCAL_CORES": "1000", "ROWTUI_LOCAL_MEMORY_MB": "9999999"}
    large["ROWTUI_LOCAL_GPUS"] = "99"
    assert node_types_for(cluster, "local", large) == (EVERYWHERE,)


def test_a_node_type_of_this_machine_offers_no_more_than_the_machine_has() -> None:
    cluster = LOCAL._replace(node_types=(NodeType("big", "", 8, 64_000, 2, price_per_hour=1.0),))
    stated = {"ROWTUI_LOCAL_CORES": "2", "ROWTUI_LOCAL_MEMORY_MB": "900", "ROWTUI_LOCAL_GPUS": "0"}
    (kind,) = node_types_for(cluster, "local", stated)
    assert (kind.name, kind.cpus, kind.memory_mb, kind.gpus) == ("big", 2, 900, 0)


def test_every_built_in_cluster_has_usable_types_or_none() -> None:
    for cluster in CLUSTERS:
        for partition in cluster.partitions:
            for kind in node_types_for(cluster, partition.name):
                assert kind.cpus > 0
                assert kind.memory_mb is None or kind.memory_mb > 0
    anvil = next(cluster for cluster in CLUSTERS if cluster.name == "anvil")
    assert [it.cpus for it in node_types_for(anvil, "wholenode")] == [128]


def test_packing_is_what_the_cluster_says_unless_the_partition_says_more() -> None:
    debug = PackingDefaults(enabled=False)
    packing = PackingDefaults(largest_bundle=7, partitions={"debug": debug})
    cluster = CLUSTER._replace(packing=packing)
    assert packing_for(CLUSTER, "cpu") is None
    assert packing_for(cluster, "cpu") == packing._replace(partitions={})
    assert packing_for(cluster, "debug") == debug
    assert packing_for(cluster, "cpu,debug") == debug
