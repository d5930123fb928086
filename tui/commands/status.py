"""What can be done in the view Status."""

from __future__ import annotations

from rowtui.tui.command import Command
from rowtui.tui.reasons import may_submit, may_submit_all, with_action, with_failures

COMMANDS: tuple[Command, ...] = (
    Command("status.open", "enter", "groups", "groups of this action", "status", 1,
            enabled=with_action),
    Command("status.submit", "s", "submit…", "submit all eligible groups of this action", "status",
            2, asks=True, enabled=may_submit),
    Command("status.submit-all", "S", "submit all…", "submit all eligible groups of every action",
            "status", asks=True, enabled=may_submit_all),
    Command("status.failed", "x", "failed", "directories of this action that failed", "status", 3,
            enabled=with_failures),
)  # fmt: skip
