"""Reasons why a command on the cluster under the cursor cannot be used now: "" if it can."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session


def with_cluster(session: Session) -> str:
    """Return why there is no cluster to show, or ""."""
    return "" if session.clusters.chosen else "no cluster is known yet"


def may_log_in(session: Session) -> str:
    """Return why the cluster under the cursor does not wait for a login, or "" if a login is
    possible.
    """
    if reason := with_cluster(session):
        return reason
    cluster = session.clusters.chosen
    assert cluster is not None
    if cluster.away:
        return f"{cluster.name} cannot be reached from here"
    if cluster.connected is None:
        return f"{cluster.name} is here: nobody has to log in"
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
