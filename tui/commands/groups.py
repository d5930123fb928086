"""What can be done in the view Groups."""

from __future__ import annotations

from rowtui.tui.command import Command
from rowtui.tui.reasons import may_mark, may_resubmit_groups, may_submit_groups, with_action

COMMANDS: tuple[Command, ...] = (
    Command("groups.mark", "space", "mark", "mark or unmark this row", "groups", 1,
            enabled=may_mark),
    Command("groups.mark-all", "a", "all", "mark all rows, or none", "groups", 2,
            enabled=may_mark),
    Command("groups.submit", "s", "submit…", "submit what is marked, or this row", "groups",
            3, asks=True, enabled=may_submit_groups),
    Command("groups.resubmit", "R", "resubmit…", "resubmit marked groups, or this one", "groups",
            4, asks=True, enabled=may_resubmit_groups),
    Command("groups.directories", "d", "directories",
            "all directories of the action, or its groups", "groups", 5, enabled=with_action),
    Command("groups.filter", "t", "status", "next status: eligible, all, failed, ...", "groups", 5,
            enabled=with_action),
    Command("groups.next-action", "n", "next action", "groups of the next action", "groups", 6,
            enabled=with_action),
    Command("groups.previous-action", "N", "previous action", "groups of the previous action",
            "groups", enabled=with_action),
    Command("groups.explain", "x", "explain", "where this group's job goes, and why",
            "groups", 7, enabled=with_action),
    Command("groups.pane", "tab", "pane", "between groups and directories", "groups", 8),
)  # fmt: skip
