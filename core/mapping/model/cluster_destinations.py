"""Partitions as destinations, so that projects without a mapping file are mapped too.

The input is a cluster from clusters.toml; the output is destinations in the order of its
partitions, so that equally good partitions are tried in Row's order. Their limits are checked as
limits of the partitions. Source: docs/mapping.md, "Destinations".
"""

from __future__ import annotations

from rowtui.core.clusters.model import Cluster
from rowtui.core.clusters.schedulers.kind import kind_of
from rowtui.core.mapping.model.entities import Destination
from rowtui.core.mapping.model.origin import FilePosition, Origin

CLUSTER = "cluster"  # the kind of origin of such destinations


def destinations_of(cluster: Cluster) -> tuple[Destination, ...]:
    """Return a destination for each partition, or one for a cluster without partitions.

    Ids are `cluster/partition`, or the cluster's name.
    """
    place = FilePosition("" if cluster.source == "built-in" else cluster.source)
    if not kind_of(cluster).has_partitions:
        return (_destination(cluster.name, cluster.name, "", place),)
    return tuple(
        _destination(f"{cluster.name}/{each.name}", cluster.name, each.name, place)
        for each in cluster.partitions
    )


def _destination(name: str, runner: str, partition: str, place: FilePosition) -> Destination:
    destination = Destination(name, Origin(CLUSTER, name, place))
    destination.runner = runner
    if partition:
        destination.params = {"partition": partition}
    return destination
