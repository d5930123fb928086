"""The clusters around this process, with the connections to them; with or without a project.

`Project` extends this class by a folder. Everything is computed on first use.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from rowtui.core.project.context.configured import ConfiguredClusters

if TYPE_CHECKING:
    from rowtui.core.clusters.model import Cluster, Identified
    from rowtui.core.project.context.connections import Connections


class ClusterContext(ConfiguredClusters):
    """The clusters as one process reaches them."""

    @cached_property
    def identified(self) -> Identified:
        """Return the cluster and why it was chosen. Raises: InvalidFileError, RowtuiError."""
        found = self.recognised
        if found.cluster.remote is None:  # its description is local
            return found
        return found._replace(cluster=self.connections.described(found.cluster))

    @property
    def cluster(self) -> Cluster:
        """Return the default cluster of jobs."""
        return self.identified.cluster

    @cached_property
    def connections(self) -> Connections:
        """Return the access to the clusters, and the connections to them."""
        from rowtui.core.project.context.connections import Connections

        return Connections(self)

    async def let_go(self) -> None:
        """Close the connections to clusters, if there are any."""
        connections: Connections | None = self.__dict__.get("connections")
        if connections is not None:
            await connections.close()


def cluster_named(around: ClusterContext, name: str) -> Cluster | None:
    """Return the cluster with this name to which jobs may go from here; None if there is none."""
    if around.cluster.name == name:
        return around.cluster
    return around.connections.known(name) or around.configured.named(name)
