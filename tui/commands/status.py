"""The commands of the view Status."""

from __future__ import annotations

from rowtui.tui.commands.command import Command
from rowtui.tui.shell.reasons import (
    may_retry_need,
    may_submit,
    may_submit_all,
    with_action_or_need,
    with_failures,
)

COMMANDS: tuple[Command, ...] = (
    Command("status.open", "enter", "open", "groups of this action; next step of what needs you",
            "status", 1, enabled=with_action_or_need),
    Command("status.submit", "s", "submit…", "submit all eligible groups of this action", "status",
            2, asks=True, enabled=may_submit, twin="submit"),
    Command("status.submit-all", "S", "submit all…", "submit all eligible groups of every action",
            "status", asks=True, enabled=may_submit_all, twin="submit"),
    Command("status.failed", "x", "failed", "directories of this action that failed", "status", 3,
            enabled=with_failures, twin="show directories --failed"),
    Command("status.pane", "tab", "needs you", "between actions and what needs you", "status", 4),
    Command("status.retry", "R", "retry…", "try what failed alike again, of what needs you",
            "status", 5, asks=True, enabled=may_retry_need, twin="retry"),
)  # fmt: skip
