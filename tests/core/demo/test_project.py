"""The clusters of the large demo, as its configuration describes them."""

from __future__ import annotations

from pathlib import Path

from rowtui.core.clusters.config.load import load_clusters
from rowtui.core.clusters.config.node_types import node_types_for
from rowtui.core.demo.project import PLACES, environment, write_files


def test_every_place_of_the_demo_has_nodes_that_jobs_can_be_packed_on(tmp_path: Path) -> None:
    root = tmp_path / "demo"
    write_files(root)

    found = load_clusters(environment(root))

    assert found.problems == ()
    for name, partition, *_ in PLACES:
        cluster = next(cluster for cluster in found.clusters if cluster.name == name)
        (kind,) = node_types_for(cluster, partition)
        assert kind.price is not None
