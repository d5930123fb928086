"""The commands of the view Pack."""

from __future__ import annotations

from rowtui.tui.commands.command import Command
from rowtui.tui.shell.reasons import (
    may_reset_packing,
    may_submit_packing,
    may_toggle_node_type,
    with_action,
    with_destinations,
    with_packing,
)
from rowtui.tui.views.pack.reasons import may_compare

COMMANDS: tuple[Command, ...] = (
    Command("pack.submit", "s", "submit…", "submit the jobs as they are packed here", "pack", 1,
            asks=True, enabled=may_submit_packing, twin="submit --pack"),
    Command("pack.packer", "right_square_bracket", "packer", "pack with the next packer", "pack",
            2, enabled=with_packing, twin="pack --packer"),
    Command("pack.packer-before", "left_square_bracket", "packer before",
            "pack with the packer before", "pack", enabled=with_packing),
    Command("pack.compare", "P", "compare", "pack with every packer, and show what each comes to",
            "pack", 5, enabled=may_compare, twin="pack --compare"),
    Command("pack.time", "t", "time", "the lanes of the bundle over time", "pack",
            enabled=with_packing),
    Command("pack.cores", "c", "cores", "which lane has which cores of the node", "pack", 10,
            enabled=with_packing),
    Command("pack.memory", "m", "memory", "which lane has what of the node's memory", "pack",
            enabled=with_packing),
    Command("pack.limits", "e", "limits", "jobs in a bundle, longest bundle, time factor", "pack",
            3, twin="pack --longest"),
    Command("pack.node-type", "space", "node type", "pack without this node type, or with it again",
            "pack", 4, enabled=may_toggle_node_type, twin="pack --node-type"),
    Command("pack.reset", "u", "as configured", "forget what was chosen here", "pack", 5,
            enabled=may_reset_packing),
    Command("pack.longer", "b", "look longer", "take more time to find a better packing", "pack",
            6, enabled=with_packing, twin="pack --search"),
    Command("pack.next-destination", "n", "next destination",
            "the packing at the next destination", "pack", 7, enabled=with_destinations),
    Command("pack.previous-destination", "N", "previous destination",
            "the packing at the destination before", "pack", enabled=with_destinations),
    Command("pack.all-actions", "a", "all actions",
            "pack the jobs of all actions together, or of this one", "pack", 8,
            enabled=with_action),
    Command("pack.pane", "tab", "pane", "between bundles and the lanes of one", "pack", 9),
)  # fmt: skip
