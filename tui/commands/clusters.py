"""The commands of the view Clusters, each with the reason why it cannot be used now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.tui.commands.command import Command

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session


def with_cluster(session: Session) -> str:
    """Return why there is no cluster to show, or ""."""
    return "" if session.clusters.chosen else "no cluster is known yet"


def may_log_in(session: Session) -> str:
    """Return why the cluster under the cursor waits for no login, or "" if one is possible."""
    if reason := with_cluster(session):
        return reason
    cluster = session.clusters.chosen
    assert cluster is not None
    if cluster.away:
        return f"{cluster.name} cannot be reached from here"
    if cluster.connected is None:
        return f"{cluster.name} is local and needs no login"
    return f"{cluster.name} is connected" if cluster.connected else ""


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
    Command("clusters.connect", "enter", "connect", "log in to this cluster", "clusters", 1,
            enabled=may_log_in, twin="connect"),
    Command("clusters.nodes", "n", "nodes", "ask this cluster for its nodes, now", "clusters", 2,
            enabled=may_ask_nodes, twin="doctor --node-types"),
    Command("clusters.jobs", "v", "jobs", "the jobs on this cluster", "clusters", 3,
            enabled=with_cluster),
    Command("clusters.pane", "tab", "pane", "between the list of clusters and the details of one",
            "clusters", 4),
)  # fmt: skip
"""The commands of the view Clusters."""
