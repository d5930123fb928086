"""What the dashboard knows of the clusters themselves: the engine's last answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rowtui.core.engine import ClusterDetail, ClusterNodes, ClustersView


@dataclass
class ClustersLook:
    """The state of the view Clusters. `name`: of the cluster under the cursor.

    `nodes` and `refused`: what a cluster said when it was asked for its nodes, or why it did not.
    """

    view: ClustersView | None = None
    name: str = ""
    to_show: str = ""  # where the cursor goes as soon as the cluster is listed
    error: tuple[str, str] | None = None
    nodes: dict[str, ClusterNodes] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    asking: set[str] = field(default_factory=set)

    @property
    def chosen(self) -> ClusterDetail | None:
        """The cluster under the cursor, the first one until the person chose."""
        if self.view is None or not self.view.clusters:
            return None
        for cluster in self.view.clusters:
            if cluster.name == self.name:
                return cluster
        return self.view.clusters[0]
