"""A packing in words: what is packed, or why nothing is, and how good the result is.

The input is pictures and choices; the output is lines. The text always states whether the packing
is the best possible, or its largest distance from the best. After a changed choice, the figures of
the packing before are beside those of the present one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.core.base.text import plural, visible
from rowtui.core.engine.api.engine import ActionSummary
from rowtui.core.project.planning.pack_views import PackedDestination
from rowtui.tui.views.pack.bundle_cells import costs, price
from rowtui.tui.views.pack.bundles import BundleLook, Picture, Shares
from rowtui.tui.views.pack.state import Figures
from rowtui.tui.widgets.cells import Line, line

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
    """Return `packer seed: nodes 12 → 9, cost 41.0 → 38.2`, or that nothing has changed."""
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
        parts.append(("  ✓ cheaper" if cheaper else "  ▲ dearer", _style(cheaper)))
    return line(*parts)


def _style(good: bool) -> str:
    return "completed" if good else "warning"


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
    """Return `4 nodes, 2 kinds of bundles`."""
    if look is None:
        return ""
    nodes = sum(number for _, number in look.nodes)
    kinds = sum(1 for row in look.rows if row.key[0] == "bundle")
    text = plural(nodes, "node")
    if kinds < nodes:
        text += ", all alike" if kinds == 1 else f", {kinds:,} kinds of bundles"
    return text


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

MOST_NAMED = 3
"""The number of node types that the first line names; the others are counted."""


def head_lines(look: BundleLook) -> list[Line]:
    """Return `40 jobs on 3 nodes of large: 12.3 CPU-hours`, the quality, and the used shares."""
    packed, there = look.of.packed, look.of
    if not packed.jobs:
        return _nothing_packed(there)
    first = line(
        ("✓ ", "completed"),
        (f"{plural(packed.jobs, 'job')} on {_nodes(look)}: ", "title"),
        (costs(packed.cost, packed.unit), "title"),
        *_against_alone(there),
    )
    second = line("  ", *_how_good(there), *_how_full(look.total), *_left(there))
    return [first, second]


def _nothing_packed(there: PackedDestination) -> list[Line]:
    if not there.left_alone:
        return [line(("· ", "dim"), ("no job goes there", "dim"))]
    jobs = sum(len(left.jobs) for left in there.left_alone)
    return [
        line(("▲ ", "warning"), (f"{plural(jobs, 'job')} not packed: ", "warning"), left.reason)
        for left in there.left_alone[:2]
    ]


def _nodes(look: BundleLook) -> str:
    total = sum(number for _, number in look.nodes)
    nodes = plural(total, "node")
    if len(look.nodes) == 1:
        return f"{nodes} of {look.nodes[0][0]}"
    named = [f"{number:,} {name}" for name, number in look.nodes[:MOST_NAMED]]
    if more := look.nodes[MOST_NAMED:]:
        named.append(f"{sum(number for _, number in more):,} others")
    return f"{nodes} ({', '.join(named)})"


def _against_alone(there: PackedDestination) -> list[str | tuple[str, str]]:
    packed = there.packed
    text = f", alone {price(packed.alone)}"
    if packed.alone <= 0:
        return []
    less = 100 * (1 - packed.cost / packed.alone)
    if less >= 0.5:
        text += f" ({less:.0f} % less)"
    return [(text, "dim")]


def _how_good(there: PackedDestination) -> list[str | tuple[str, str]]:
    gap = there.gap
    if gap is None:
        return ["the distance from the optimum is unknown"]
    if there.proven or gap < LEAST_GAP:
        return [("✓ ", "completed"), "the best possible, proven"]
    text = f"within {_percent(gap)} of the best possible"
    return [text, (f" (≥ {price(there.packed.bound)})", "dim")]


def _percent(share: float) -> str:
    percent = 100 * share
    return "0.1 %" if percent < 0.1 else f"{percent:.1f} %" if percent < 10 else f"{percent:,.0f} %"


def _how_full(total: Shares) -> list[str | tuple[str, str]]:
    words = []
    for name, share in zip(("cores", "memory", "GPUs"), total, strict=True):
        if share is not None:
            words.append(f"{name} {share.percent}")
    return [(" · ", "dim"), "used " + ", ".join(words)] if words else []


def _left(there: PackedDestination) -> list[str | tuple[str, str]]:
    jobs = sum(len(left.jobs) for left in there.left_alone)
    return [(" · ", "dim"), (f"▲ {plural(jobs, 'job')} not packed", "warning")] if jobs else []


def scope(
    action: ActionSummary | None, everything: bool, groups: int | None, destination: str
) -> str:
    """Return `equilibrate · 3 groups · anvil/shared`, for a frame."""
    parts = ["all actions" if everything or action is None else action.name]
    if not everything:
        parts.append("all eligible groups" if groups is None else f"{plural(groups, 'group')}")
    return " · ".join([*parts, destination] if destination else parts)
