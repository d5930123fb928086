"""The commands of the view Status, each with the reason why it cannot be used now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.tui.commands.command import Command, may_change, with_action

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session


def with_action_or_need(session: Session) -> str:
    """Return why there is nothing to open, or "": an action, or an item that waits for the user."""
    return "" if session.need else with_action(session)


def may_retry_need(session: Session) -> str:
    """Return why the item under the cursor is not a failure that can be retried, or ""."""
    if reason := may_change(session):
        return reason
    if session.need is None or not session.need.cause:
        return "put the cursor on failed directories in the list of next steps (Tab)"
    return ""


def may_submit(session: Session) -> str:
    """Return why the chosen action has nothing to submit, or ""."""
    if reason := may_change(session) or with_action(session):
        return reason
    action = session.action
    if action and not action.eligible:
        return f"no directory is eligible for {action.name}"
    return ""


def may_submit_all(session: Session) -> str:
    """Return why no action has anything to submit, or ""."""
    if reason := may_change(session):
        return reason
    if session.snapshot and any(action.eligible for action in session.snapshot.actions):
        return ""
    return "no directory is eligible"


STATUS: tuple[Command, ...] = (
    Command("status.open", "enter", "groups", "groups of this action; or the next step of the list",
            "status", enabled=with_action_or_need),
    Command("status.submit", "s", "submit…", "submit all eligible groups of this action", "status",
            asks=True, enabled=may_submit, twin="submit"),
    Command("status.submit-all", "S", "submit all…", "submit all eligible groups of every action",
            "status", asks=True, enabled=may_submit_all, twin="submit"),
    Command("status.failed", "d", "directories",
            "directories of this action: those that failed, if any did", "status",
            enabled=with_action, twin="show directories --failed"),
    Command("status.why", "w", "why", "where the jobs of this action go, and why", "status",
            enabled=with_action, twin="explain"),
    Command("status.pane", "tab", "pane", "between actions and next steps", "status"),
    Command("status.retry", "R", "retry…", "retry the directories with the same failure", "status",
            asks=True, enabled=may_retry_need, twin="retry"),
)  # fmt: skip
"""The commands of the view Status."""
