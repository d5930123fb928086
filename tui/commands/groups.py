"""The commands of the view Groups."""

from __future__ import annotations

from rowtui.tui.commands.command import Command
from rowtui.tui.shell.reasons import may_mark, may_retry_groups, may_submit_groups, with_action

COMMANDS: tuple[Command, ...] = (
    Command("groups.mark", "space", "mark", "mark or unmark this row", "groups", 1,
            enabled=may_mark),
    Command("groups.mark-all", "a", "all", "mark all rows, or none", "groups", 2,
            enabled=may_mark),
    Command("groups.submit", "s", "submit…", "submit what is marked, or this row", "groups",
            3, asks=True, enabled=may_submit_groups, twin="submit"),
    Command("groups.retry", "R", "retry…", "retry the marked failed groups, or this one", "groups",
            4, asks=True, enabled=may_retry_groups, twin="retry"),
    Command("groups.directories", "d", "directories",
            "all directories of the action, or its groups", "groups", 5, enabled=with_action,
            twin="show directories"),
    Command("groups.filter", "t", "status", "next status: eligible, all, failed, ...", "groups", 5,
            enabled=with_action),
    Command("groups.next-action", "n", "next action", "groups of the next action", "groups", 6,
            enabled=with_action),
    Command("groups.previous-action", "N", "previous action", "groups of the previous action",
            "groups", enabled=with_action),
    Command("groups.explain", "x", "explain", "where this group's job goes, and why",
            "groups", 7, enabled=with_action, twin="explain"),
    Command("groups.pane", "tab", "pane", "between groups and directories", "groups", 8),
)  # fmt: skip
