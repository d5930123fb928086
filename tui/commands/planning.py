"""The commands of the views Pack and Submit, in which a plan is made and confirmed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.tui.commands.command import Command, may_change, with_action

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session


# Pack


def with_packing(session: Session) -> str:
    """Return why there is no packing on the screen, or ""."""
    return "" if session.packing.look else "nothing is packed yet"


def may_submit_packing(session: Session) -> str:
    """Return why the packing cannot be submitted, or "" if it has jobs by the current choice."""
    if reason := may_change(session) or with_packing(session):
        return reason
    packing = session.packing
    if packing.computing:
        return "the jobs are being packed"
    if packing.error is not None or packing.shown is None:
        return "the shown packing does not match the choice"
    return "" if packing.shown.packed.plan.jobs else "the plan has no jobs"


def may_toggle_node_type(session: Session) -> str:
    """Return why the node type under the cursor cannot be switched, or ""; one must stay on."""
    packing = session.packing
    if reason := with_packing(session):
        return reason
    # A late import, because the module loads the packing code.
    from rowtui.tui.views.pack.bundles import TypeRow

    if not isinstance(packing.row, TypeRow):
        return "the cursor is not on a node type"
    if packing.shown and sum(1 for look in packing.shown.looks if look.known) > 1:
        return "the jobs go to several destinations; mark groups of one"
    if packing.row.on and sum(1 for one in packing.chosen_types) == 1:
        return "it is the only node type that is left"
    return ""


def may_reset_packing(session: Session) -> str:
    """Return why there is no choice to reset, or ""."""
    return "" if session.packing.chosen else "it is packed as configured"


def with_destinations(session: Session) -> str:
    """Return why there is no other destination to show, or ""."""
    shown = session.packing.shown
    return "" if shown and len(shown.looks) > 1 else "there is no other destination"


def may_compare(session: Session) -> str:
    """Return why packers cannot be compared, or "": a packing and several packers are needed."""
    if reason := with_packing(session):
        return reason
    packing = session.packing
    if packing.comparing:
        return "they are being compared"
    many = len(packing.shown.packed.packers) if packing.shown else 0
    return "" if many > 1 else "there is no other packer"


PACK: tuple[Command, ...] = (
    Command("pack.submit", "s", "submit…", "submit the jobs as they are packed here", "pack", 1,
            asks=True, enabled=may_submit_packing, twin="submit --pack"),
    Command("pack.packer", "right_square_bracket", "packer", "pack with the next packer", "pack",
            2, enabled=with_packing, twin="pack --packer"),
    Command("pack.packer-before", "left_square_bracket", "packer before",
            "pack with the packer before", "pack", enabled=with_packing),
    Command("pack.compare", "V", "compare", "pack with every packer, and compare the results",
            "pack", 5, enabled=may_compare, twin="pack --compare"),
    Command("pack.time", "t", "time", "the lanes of the bundle over time", "pack",
            enabled=with_packing),
    Command("pack.cores", "c", "cores", "which lane has which cores of the node", "pack", 10,
            enabled=with_packing),
    Command("pack.memory", "m", "memory", "the share of the node's memory in each lane", "pack",
            enabled=with_packing),
    Command("pack.limits", "e", "limits", "jobs in a bundle, longest bundle, time factor", "pack",
            3, twin="pack --longest"),
    Command("pack.node-type", "space", "node type", "pack without this node type, or with it again",
            "pack", 4, enabled=may_toggle_node_type, twin="pack --node-type"),
    Command("pack.reset", "u", "as configured", "discard the choices of this screen", "pack", 5,
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
"""The commands of the view Pack."""


# Submit


NO_PLAN = "there is no plan: mark groups in 2 and press s"


def with_plan(session: Session) -> str:
    """Return why there is no plan with jobs, or ""."""
    if session.sending is None:
        return NO_PLAN
    return "" if session.sending.plan.jobs else "the plan has no jobs"


def may_write_plan(session: Session) -> str:
    """Return why no plan can be written to files, or ""."""
    if session.read_only:
        return "the project was opened read-only"
    return with_plan(session)


def may_switch(session: Session) -> str:
    """Return why the plan's jobs cannot be switched on and off, or ""."""
    if reason := with_plan(session):
        return reason
    assert session.sending is not None
    return "" if session.sending.phase == "review" else "this plan was already confirmed"


def may_confirm(session: Session) -> str:
    """Return why no plan waits for a confirmation, or ""."""
    if session.read_only:
        return "the project was opened read-only"
    if reason := may_switch(session):
        return reason
    assert session.sending is not None
    if conflict := session.sending.copying.conflict:
        return conflict
    return "" if session.sending.chosen.requests else "every job is switched off"


def may_stop(session: Session) -> str:
    """Return why no submission can be stopped, or "" while a plan is being sent."""
    if session.sending and session.sending.phase == "sending":
        return ""
    if session.sending and session.sending.phase == "stopping":
        return "it stops after this job"
    return "nothing is being sent"


SUBMIT: tuple[Command, ...] = (
    Command("submit.confirm", "s,enter", "confirm…", "type the yes for this plan", "submit", 1,
            asks=True, enabled=may_confirm, twin="submit"),
    Command("submit.toggle", "space", "on/off", "leave this job out, or take it in again",
            "submit", 3, enabled=may_switch),
    Command("submit.toggle-all", "a", "all", "all jobs that are shown on, or off", "submit",
            enabled=may_switch),
    Command("submit.stop", "x", "stop", "send no more jobs after the current one", "submit", 2,
            enabled=may_stop),
    Command("submit.diff", "d", "diff/full", "changes since the last script, or all of it",
            "submit", 4, enabled=with_plan, twin="plan --diff"),
    Command("submit.fold", "z", "fold", "show or hide lines that are unchanged", "submit",
            enabled=with_plan),
    Command("submit.next", "n", "next script", "script of the next job", "submit", 5),
    Command("submit.previous", "N", "previous script", "script of the previous job", "submit"),
    Command("submit.explain", "w", "why", "where this job goes, and why, in Explain", "submit", 6,
            enabled=with_plan, twin="explain"),
    Command("submit.open", "e", "open", "this script in your pager, to read it", "submit",
            enabled=with_plan),
    Command("submit.export", "D", "to files…", "write all scripts and plan.json to a folder",
            "submit", asks=True, enabled=may_write_plan),
    Command("submit.pane", "tab", "pane", "between jobs, script and checks", "submit", 7),
)  # fmt: skip
"""The commands of the view Submit."""
