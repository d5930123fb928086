"""The commands of the view Clusters."""

from __future__ import annotations

from rowtui.tui.commands.command import Command
from rowtui.tui.views.clusters.reasons import may_ask_nodes, may_log_in, with_cluster

COMMANDS: tuple[Command, ...] = (
    Command("clusters.connect", "enter", "connect", "log in to this cluster", "clusters", 1,
            enabled=may_log_in, twin="connect"),
    Command("clusters.nodes", "n", "nodes", "ask this cluster for its nodes, now", "clusters", 2,
            enabled=may_ask_nodes, twin="doctor --node-types"),
    Command("clusters.jobs", "v", "jobs", "the jobs on this cluster", "clusters", 3,
            enabled=with_cluster),
    Command("clusters.pane", "tab", "pane", "between clusters and what is known of one",
            "clusters", 4),
)  # fmt: skip
