"""The commands of the view Clusters, each with the reason why it cannot be used now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.tui.commands.command import Command

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session


def with_cluster(session: Session) -> str:
    """Return why there is no cluster to show, or ""."""
    return "" if session.clusters.chosen else "no cluster is known yet"


def may_ask_nodes(session: Session) -> str:
    """Return why the cluster under the cursor cannot be queried for its nodes, or ""."""
    if reason := with_cluster(session):
        return reason
    cluster = session.clusters.chosen
    assert cluster is not None
    if cluster.away:
        return f"{cluster.name} cannot be reached from here"
    if cluster.connected is False:
        return f"{cluster.name} is not connected: L logs in"
    if cluster.name in session.clusters.asking:
        return f"{cluster.name} is being asked"
    return ""


CLUSTERS: tuple[Command, ...] = (
    Command("clusters.jobs", "enter", "jobs", "the jobs on this cluster", "clusters",
            enabled=with_cluster),
    Command("clusters.nodes", "r", "ask now",
            "poll the queues now, and ask this cluster for its nodes", "clusters",
            enabled=with_cluster, twin="doctor --node-types"),
    Command("clusters.why", "w", "why", "the state of this cluster: login, polls, problems",
            "clusters", enabled=with_cluster),
    Command("clusters.pane", "tab", "pane", "between the list of clusters and the details of one",
            "clusters"),
)  # fmt: skip
"""The commands of the view Clusters."""
