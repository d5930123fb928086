"""The texts around a packing: why there is none, its state, the number of its nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.core.base.text import plural
from rowtui.tui.views.pack.packing import change_line
from rowtui.tui.widgets.cells import Line, line

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session
    from rowtui.tui.views.pack.bundles import Look
    from rowtui.tui.views.pack.state import Packing


def why_empty(session: Session) -> str:
    """Return the text in the place of bundles."""
    packing = session.packing
    if packing.error is not None:
        return "Nothing is packed."
    if packing.wanted is None:
        return "There is no action yet."
    if packing.shown is None:
        return "Packing…"
    if skipped := packing.shown.packed.plan.skipped:
        return "\n".join(skipped)
    return "No job goes there." if _has_eligible(session) else "Nothing is eligible."


def _has_eligible(session: Session) -> bool:
    """Whether the requested actions have eligible directories."""
    snapshot, wanted = session.snapshot, session.packing.wanted
    actions = snapshot.actions if snapshot is not None else ()
    return any(it.eligible for it in actions if wanted is None or wanted.action in (None, it.index))


def nodes_words(look: Look | None) -> str:
    """Return `4 nodes, 2 kinds of bundles`."""
    if look is None:
        return ""
    nodes = sum(number for _, number in look.nodes)
    kinds = sum(1 for row in look.rows if row.key[0] == "bundle")
    text = plural(nodes, "node")
    if kinds < nodes:
        text += ", all alike" if kinds == 1 else f", {kinds:,} kinds of bundles"
    return text


def state_line(packing: Packing) -> Line:
    """Return the current work or error, or the effect of the last change."""
    if packing.computing:
        before = "; this is the packing before" if packing.shown else ""
        change = f" ({packing.change})" if packing.change else ""
        return line(("◐ packing", "submitted"), f"{change}…", (before, "dim"))
    if packing.error is not None:
        message, hint = packing.error
        text = f"{message}. {hint}" if hint else message
        before = "  This is the packing before." if packing.shown else ""
        return line(("✗ ", "failed"), (text, "failed"), (before, "dim"))
    if packing.change and packing.before is not None and packing.shown is not None:
        return change_line(packing.change, packing.before, packing.shown)
    if (
        packing.shown is not None
        and packing.shown.packed.plan.jobs
        and packing.shown.packed.plan.skipped
    ):
        return line(("– ", "dim"), "; ".join(packing.shown.packed.plan.skipped))
    return ()
