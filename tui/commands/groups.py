"""The commands of the view Groups, each with the reason why it cannot be used now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.tui.commands.command import Command, may_change, with_action
from rowtui.tui.commands.status import may_submit, may_submit_all

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session


def may_submit_groups(session: Session) -> str:
    """Return why the groups on the screen cannot be submitted, or "" if it lists eligible ones."""
    if reason := may_submit(session):
        return reason
    if session.filter.word not in ("eligible", "all"):
        return "only eligible groups can be submitted: press f until the list shows them"
    return ""


def may_retry_groups(session: Session) -> str:
    """Return why the groups on the screen cannot be retried, or "" if it lists failed ones."""
    if reason := may_change(session) or with_action(session):
        return reason
    action = session.action
    if action and not action.failed:
        return f"no directory failed at {action.name}"
    if session.filter.word != "failed":
        return "only failed groups can be retried: press f until the list shows them"
    return ""


def may_mark(session: Session) -> str:
    """Return why no group can be marked, or "": marks serve only submissions and retries."""
    if session.filter.word not in ("eligible", "failed", "all"):
        return "only eligible or failed groups can be marked: f lists them"
    return with_action(session)


GROUPS: tuple[Command, ...] = (
    Command("groups.open", "enter", "open", "directories of a group, files of a directory",
            "groups", enabled=with_action),
    Command("groups.mark", "space", "mark", "mark or unmark this row", "groups", enabled=may_mark),
    Command("groups.mark-all", "a", "all", "mark all rows, or none", "groups", enabled=may_mark),
    Command("groups.submit", "s", "submit…", "submit the marked rows, or this row", "groups",
            asks=True, enabled=may_submit_groups, twin="submit"),
    Command("groups.submit-all", "S", "submit all…", "submit all eligible groups of every action",
            "groups", asks=True, enabled=may_submit_all, twin="submit"),
    Command("groups.retry", "R", "retry…", "retry the marked failed groups, or this one", "groups",
            asks=True, enabled=may_retry_groups, twin="retry"),
    Command("groups.directories", "d", "directories",
            "all directories of the action, or its groups", "groups", enabled=with_action,
            twin="show directories"),
    Command("groups.filter", "f", "state", "next state: eligible, all, failed, ...", "groups",
            enabled=with_action),
    Command("groups.filter-before", "F", "state before", "the state before", "groups",
            enabled=with_action),
    Command("groups.next-action", "right_square_bracket", "next action",
            "groups of the next action", "groups", enabled=with_action),
    Command("groups.previous-action", "left_square_bracket", "previous action",
            "groups of the previous action", "groups", enabled=with_action),
    Command("groups.explain", "w", "why", "where this group's job goes, and why", "groups",
            enabled=with_action, twin="explain"),
    Command("groups.pane", "tab", "pane", "between groups and directories", "groups"),
)  # fmt: skip
"""The commands of the view Groups."""
