"""Partitions as destinations, so that a project without any mapping file is mapped all the same.

Takes a cluster as clusters.toml describes it; gives destinations in the order of its partitions, so
that equals are tried in Row's order. Their limits are checked as those of the partitions themselves
(`destinations.py`). Source: docs/mapping.md, "Destinations".
"""

from __future__ import annotations

from rowtui.core.clusters.model import Cluster
from rowtui.core.mapping.entities import Destination
from rowtui.core.mapping.origin import Origin
from rowtui.core.mapping.place import Place

CLUSTER = "cluster"  # the kind of origin of such destinations


def destinations_of(cluster: Cluster) -> tuple[Destination, ...]:
    """One destination for each partition; one for a cluster without partitions.

    Ids are `cluster/partition`, or the cluster's name.
    """
    place = Place("" if cluster.source == "built-in" else cluster.source)
    if not cluster.has_partitions:
        return (_destination(cluster.name, cluster.name, "", place),)
    return tuple(
        _destination(f"{cluster.name}/{each.name}", cluster.name, each.name, place)
        for each in cluster.partitions
    )


def _destination(name: str, runner: str, partition: str, place: Place) -> Destination:
    destination = Destination(name, Origin(CLUSTER, name, place))
    destination.runner = runner
    if partition:
        destination.params = {"partition": partition}
    return destination
