"""The dashboard's copy of the engine's last answers about the clusters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rowtui.core.engine.api.engine import ClusterDetail, ClusterNodes, ClustersView


@dataclass
class ClustersLook:
    """The state of the view Clusters. `name` is the cluster under the cursor.

    `nodes` has the nodes that a cluster reported; `refused` has the reason why a cluster reported
    none.
    """

    view: ClustersView | None = None
    name: str = ""
    to_show: str = ""  # The cursor moves to this cluster as soon as the cluster is listed.
    error: tuple[str, str] | None = None
    nodes: dict[str, ClusterNodes] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    asking: set[str] = field(default_factory=set)

    @property
    def chosen(self) -> ClusterDetail | None:
        """The cluster under the cursor; the first cluster until the user has chosen one."""
        if self.view is None or not self.view.clusters:
            return None
        for cluster in self.view.clusters:
            if cluster.name == self.name:
                return cluster
        return self.view.clusters[0]
