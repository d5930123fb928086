"""The commands of the view Explain, each with the reason why it cannot be used now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.tui.commands.command import NO_KEY, Command, may_change, with_action

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session


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
    return "fewer than 5 measured jobs completed"


def may_write(session: Session) -> str:
    """Return why the what-if cannot be written to a file, or ""."""
    return may_change(session) or may_reset(session)


def may_undo_write(session: Session) -> str:
    """Return why the last write cannot be undone, or "": the file must be unchanged since."""
    if reason := may_change(session):
        return reason
    return "" if session.written else "nothing was written from here, or it was changed since"


def may_make_change(session: Session) -> str:
    """Return why no change admits the job to the destination under the cursor, or ""."""
    if reason := with_decision(session):
        return reason
    if session.refusal is None:
        return "this destination takes the job"
    return "" if session.refusal.changes else "no change of resources would help"


EXPLAIN: tuple[Command, ...] = (
    Command("explain.what-if", "e", "change", "try other amounts, tags, user or roles", "explain",
            enabled=with_decision, twin="explain --cpus"),
    Command("explain.reset", NO_KEY, "drop what-if", "discard the what-if", "explain",
            enabled=may_reset),
    Command("explain.change", NO_KEY, "try change",
            "try the next change that admits the job to this destination", "explain",
            enabled=may_make_change),
    Command("explain.next-group", "right_square_bracket", "next group", "the job of the next group",
            "explain", enabled=with_groups),
    Command("explain.previous-group", "left_square_bracket", "previous group",
            "the job of the previous group", "explain", enabled=with_groups),
    Command("explain.measured", NO_KEY, "as measured",
            "try what the measured jobs of the action need", "explain", enabled=with_measured),
    Command("explain.sources", "enter", "source",
            "open the deciding rule at its line; on a change, try it", "explain",
            enabled=with_decision),
    Command("explain.page", "i", "page", "the next page: reasons, values, all destinations",
            "explain", enabled=with_decision),
    Command("explain.fold", "z", "refused", "leave out the destinations that refuse the job",
            "explain", enabled=with_decision),
    Command("explain.filter", "f", "state", "next state: eligible, all, failed, ...", "explain",
            enabled=with_action),
    Command("explain.filter-before", "F", "state before", "the state before", "explain",
            enabled=with_action),
    Command("explain.write", "W", "write…",
            "write the what-if to workflow.toml, after a look at the changes", "explain", asks=True,
            enabled=may_write, twin="explain --write"),
    Command("explain.undo-write", NO_KEY, "undo write…",
            "take the last write to workflow.toml back", "explain", asks=True,
            enabled=may_undo_write, twin="explain --undo"),
    Command("explain.lines", NO_KEY, "lines to add", "the text that realises the what-if, to copy",
            "explain", enabled=may_reset),
    Command("explain.json", NO_KEY, "copy JSON", "copy it as `rowtui explain --json` writes it",
            "explain", enabled=with_decision, twin="explain --json"),
    Command("explain.pane", "tab", "pane", "to the changes, to the page, and back", "explain"),
)  # fmt: skip
"""The commands of the view Explain."""
