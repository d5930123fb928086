"""A packing in words: what is packed, or why nothing is, and how good the result is.

The input is pictures and choices; the output is lines. The text always states how far the cost is
above the least possible one at most. After a changed choice, the figures of the packing before are
beside those of the present one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.core.base.text import plural, price, visible
from rowtui.core.engine.api.snapshot import ActionSummary
from rowtui.tui.views.pack.bundles import BundleLook, Picture, Shares, TypeRow
from rowtui.tui.views.pack.state import Figures
from rowtui.tui.widgets.cells import Line, line
from rowtui.tui.widgets.short_text import limit

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session
    from rowtui.tui.views.pack.state import PackingState


def figures_of(picture: Picture) -> Figures:
    """Return the numbers by which two packings are compared."""
    packed = [look.of.packed for look in picture.looks]
    units = {one.unit for one in packed}
    return Figures(
        sum(one.jobs for one in packed),
        sum(one.bundles for one in packed),
        sum(one.cost for one in packed),
        units.pop() if len(units) == 1 else "",
    )


def change_line(change: str, before: Picture, now: Picture) -> Line:
    """Return `packer seed: nodes 12 → 9, cost 41.00 → 38.20`, or that nothing has changed."""
    old, new = figures_of(before), figures_of(now)
    parts: list[str | tuple[str, str]] = [(f"  {visible(change)}: ", "key")]
    pieces = []
    if old.jobs != new.jobs:
        pieces.append(f"jobs packed {old.jobs:,} → {new.jobs:,}")
    pieces.append(f"nodes {old.nodes:,} → {new.nodes:,}" if old.nodes != new.nodes else "")
    if price(old.cost) != price(new.cost):
        pieces.append(f"cost {price(old.cost)} → {price(new.cost)}")
    words = ", ".join(text for text in pieces if text)
    if not words:
        return line(*parts, ("= the same nodes and cost", "dim"))
    parts.append(words)
    if old.jobs == new.jobs and price(old.cost) != price(new.cost):
        cheaper = new.cost < old.cost
        parts.append(("  ✓ cheaper", "completed") if cheaper else ("  ▲ dearer", "warning"))
    return line(*parts)


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


def nodes_words(look: BundleLook | None) -> str:
    """Return `2 nodes, 11 jobs, 12 h at most`."""
    if look is None:
        return ""
    nodes = sum(number for _, number in look.nodes)
    longest = max((row.seconds for row in look.rows if isinstance(row, TypeRow)), default=0)
    jobs = plural(look.of.packed.jobs, "job")
    return f"{plural(nodes, 'node')}, {jobs}" + (f", {limit(longest)} at most" if longest else "")


def state_line(packing: PackingState) -> Line:
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


CONFIGURED = "as configured"
"""The name of the packer that clusters.toml sets, or of the default."""

LEAST_GAP = 1e-6
"""Below this relative distance from the bound, a packing counts as the best: sums are rounded."""


def head_lines(look: BundleLook) -> list[Line]:
    """Return what the packing costs, how good that is and how full the nodes are, and the jobs
    that are not packed.
    """
    packed, there = look.of.packed, look.of
    lines = []
    if packed.jobs:
        quality = packed.quality(proven=there.proven or (there.packed.gap or 1.0) < LEAST_GAP)
        lines = [
            line(("✓ ", "completed"), (packed.saving, "title")),
            line(f"  {quality[0].upper()}{quality[1:]}.{_how_full(look.total)}"),
        ]
    for left in there.left_alone[:2]:
        many = len(left.jobs)
        words = f"{plural(many, 'job')} {'is' if many == 1 else 'are'} not packed: "
        lines.append(line(("▲ ", "warning"), (words, "warning"), left.reason))
    return lines or [line(("· ", "dim"), ("no job goes there", "dim"))]


def head_title(look: BundleLook | None) -> str:
    """Return `11 jobs on 2 nodes`."""
    if look is None or not look.of.packed.jobs:
        return "Packing"
    return f"{plural(look.of.packed.jobs, 'job')} on {plural(look.of.packed.bundles, 'node')}"


def _how_full(total: Shares) -> str:
    words = [
        f"{name} {share.percent.replace('%', ' %')}"
        for name, share in zip(("CPUs", "memory", "GPUs"), total, strict=True)
        if share is not None
    ]
    if words:
        words[0] += " used"
    return f"  {', '.join(words)}." if words else ""


def scope(
    action: ActionSummary | None, everything: bool, groups: int | None, destination: str
) -> str:
    """Return `equilibrate, 3 groups, on anvil/shared`, for a frame."""
    parts = ["all actions" if everything or action is None else action.name]
    if not everything:
        parts.append("all eligible groups" if groups is None else f"{plural(groups, 'group')}")
    return ", ".join([*parts, f"on {destination}"] if destination else parts)
