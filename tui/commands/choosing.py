"""The commands of the views Status, Groups and Explain, in which the user chooses what to submit.

Each command has the reason why it cannot be used now above it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rowtui.tui.commands.command import CHANGE_KEYS, Command, may_change, with_action

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session


# Status


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


def with_failures(session: Session) -> str:
    """Return why there is no failed directory to show, or ""."""
    if session.snapshot and any(action.failed for action in session.snapshot.actions):
        return ""
    return "nothing failed"


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
    Command("status.open", "enter", "open", "groups of this action; or the next step of the list",
            "status", 1, enabled=with_action_or_need),
    Command("status.submit", "s", "submit…", "submit all eligible groups of this action", "status",
            2, asks=True, enabled=may_submit, twin="submit"),
    Command("status.submit-all", "S", "submit all…", "submit all eligible groups of every action",
            "status", asks=True, enabled=may_submit_all, twin="submit"),
    Command("status.failed", "x", "failed", "directories of this action that failed", "status", 3,
            enabled=with_failures, twin="show directories --failed"),
    Command("status.pane", "tab", "needs you", "between actions and next steps", "status", 4),
    Command("status.retry", "R", "retry…", "retry the directories with the same failure",
            "status", 5, asks=True, enabled=may_retry_need, twin="retry"),
)  # fmt: skip
"""The commands of the view Status."""


# Groups


def may_submit_groups(session: Session) -> str:
    """Return why the groups on the screen cannot be submitted, or "" if it lists eligible ones."""
    if reason := may_submit(session):
        return reason
    if session.filter.word not in ("eligible", "all"):
        return "only eligible groups can be submitted: press t until the list shows them"
    return ""


def may_retry_groups(session: Session) -> str:
    """Return why the groups on the screen cannot be retried, or "" if it lists failed ones."""
    if reason := may_change(session) or with_action(session):
        return reason
    action = session.action
    if action and not action.failed:
        return f"no directory failed at {action.name}"
    if session.filter.word != "failed":
        return "only failed groups can be retried: press t until the list shows them"
    return ""


def may_mark(session: Session) -> str:
    """Return why no group can be marked, or "": marks serve only submissions and retries."""
    if session.filter.word not in ("eligible", "failed", "all"):
        return "only eligible or failed groups can be marked: press t until the list shows them"
    return with_action(session)


GROUPS: tuple[Command, ...] = (
    Command("groups.mark", "space", "mark", "mark or unmark this row", "groups", 1,
            enabled=may_mark),
    Command("groups.mark-all", "a", "all", "mark all rows, or none", "groups", 2,
            enabled=may_mark),
    Command("groups.submit", "s", "submit…", "submit the marked rows, or this row", "groups",
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
"""The commands of the view Groups."""


# Explain


def with_decision(session: Session) -> str:
    """Return why there is no decision to show, or ""."""
    if session.explanation is None:
        return "nothing is explained yet"
    return "" if session.explanation.decision else "there is no group to explain"


def with_groups(session: Session) -> str:
    """Return why there is no other group to show, or ""."""
    many = session.explanation is not None and session.explanation.groups > 1
    return "" if many else "there is no other group"


def may_reset(session: Session) -> str:
    """Return why there is no what-if to reset, or ""."""
    return "" if session.what_if else "there is no what-if"


def with_measured(session: Session) -> str:
    """Return why there is no recommendation from measured jobs to try, or ""."""
    if reason := with_decision(session):
        return reason
    found = session.explanation
    if found is None or found.measured is not None:
        return ""
    if found.measured_jobs >= 5:
        return "its measured jobs need about what it requests"
    return "fewer than 5 measured jobs ended well"


def may_write(session: Session) -> str:
    """Return why the what-if cannot be written to a file, or ""."""
    return may_change(session) or may_reset(session)


def may_undo_write(session: Session) -> str:
    """Return why the last write cannot be undone, or "": the file must be unchanged since."""
    if reason := may_change(session):
        return reason
    return "" if session.written else "nothing was written from here, or it was changed since"


def may_make_change(number: int) -> Callable[[Session], str]:
    """Return a function for the reason why the destination under the cursor lacks a change with
    this number, counted from 0.
    """

    def enabled(session: Session) -> str:
        if reason := with_decision(session):
            return reason
        if session.refusal is None:
            return "this destination takes the job"
        if not session.refusal.changes:
            return "no change of resources would help"
        known = len(session.refusal.changes)
        return "" if number < known else "there is no further change"

    return enabled


EXPLAIN: tuple[Command, ...] = (
    Command("explain.what-if", "e", "what if", "try other amounts, tags, user or roles",
            "explain", 1, enabled=with_decision, twin="explain --cpus"),
    Command("explain.reset", "u", "undo what-if", "discard the what-if",
            "explain", 2, enabled=may_reset),
    *(
        Command(f"explain.change-{letter}", letter, "try change",
                f"try change {letter} that admits the job there", "explain",
                3 if not number else 0, enabled=may_make_change(number))
        for number, letter in enumerate(CHANGE_KEYS)
    ),
    Command("explain.next-group", "n,right_square_bracket", "next group",
            "the job of the next group", "explain", 4, enabled=with_groups),
    Command("explain.previous-group", "N,left_square_bracket", "previous group",
            "the job of the previous group", "explain", enabled=with_groups),
    Command("explain.measured", "m", "as measured", "try what the measured jobs of the action need",
            "explain", enabled=with_measured),
    Command("explain.sources", "enter", "sources",
            "open the deciding rule: the file at its line", "explain", 5,
            enabled=with_decision),
    Command("explain.page", "i", "job's story", "the destination's reasons or the story",
            "explain", 5, enabled=with_decision),
    Command("explain.fold", "z", "fold", "leave the destinations that refuse the job out, or not",
            "explain", 7, enabled=with_decision),
    Command("explain.filter", "t", "status", "next status: eligible, all, failed, ...", "explain",
            enabled=with_action),
    Command("explain.write", "W", "write…",
            "write the what-if to workflow.toml, after a look at the changes", "explain",
            asks=True, enabled=may_write, twin="explain --write"),
    Command("explain.undo-write", "U", "undo write…",
            "take the last write to workflow.toml back", "explain", asks=True,
            enabled=may_undo_write, twin="explain --undo"),
    Command("explain.lines", "w", "lines to add",
            "the text that realises the what-if, to copy", "explain",
            enabled=may_reset),
    Command("explain.json", "J", "copy JSON", "copy it as `rowtui explain --json` writes it",
            "explain", enabled=with_decision, twin="explain --json"),
    Command("explain.pane", "tab", "pane", "between destinations and reasons", "explain", 6),
)  # fmt: skip
"""The commands of the view Explain."""
