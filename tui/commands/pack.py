"""The commands of the view Pack, each with the reason why it cannot be used now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.tui.commands.command import NO_KEY, Command, may_change, with_action

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session


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
    Command("pack.submit", "s", "submit…", "submit the jobs as they are packed here", "pack",
            asks=True, enabled=may_submit_packing, twin="submit --pack"),
    Command("pack.packer", NO_KEY, "packer", "pack with the next packer", "pack",
            enabled=with_packing, twin="pack --packer"),
    Command("pack.compare", "equals_sign", "compare",
            "pack with every packer, and compare the results", "pack", enabled=may_compare,
            twin="pack --compare"),
    Command("pack.picture", "i", "picture",
            "the slots of the node over time, its CPUs or its memory", "pack",
            enabled=with_packing),
    Command("pack.limits", "e", "settings", "packer, jobs on a node, longest time, time factor",
            "pack", twin="pack --longest"),
    Command("pack.node-type", "space", "use type", "pack without this node type, or with it again",
            "pack", enabled=may_toggle_node_type, twin="pack --node-type"),
    Command("pack.reset", NO_KEY, "as configured", "discard the choices of this screen", "pack",
            enabled=may_reset_packing),
    Command("pack.longer", NO_KEY, "look longer", "take more time to find a better packing", "pack",
            enabled=with_packing, twin="pack --search"),
    Command("pack.next-destination", "right_square_bracket", "action",
            "the next destination; then the next action, and all actions together", "pack",
            enabled=with_action),
    Command("pack.previous-destination", "left_square_bracket", "action before",
            "the destination before; then the action before", "pack", enabled=with_action),
    Command("pack.pane", "tab", "pane", "between the nodes and the slots of one", "pack"),
)  # fmt: skip
"""The commands of the view Pack."""
