"""The effect of a changed choice: the figures of a packing beside those of the packing before."""

from __future__ import annotations

from typing import NamedTuple

from rowtui.core.base.text import visible
from rowtui.tui.views.pack.bundle_cells import price
from rowtui.tui.views.pack.bundles import Picture
from rowtui.tui.widgets.cells import Line, line


class Figures(NamedTuple):
    """A packing in numbers, over all destinations."""

    jobs: int
    nodes: int
    cost: float
    unit: str


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
    told = []
    if old.jobs != new.jobs:
        told.append(f"jobs packed {old.jobs:,} → {new.jobs:,}")
    told.append(f"nodes {old.nodes:,} → {new.nodes:,}" if old.nodes != new.nodes else "")
    if price(old.cost) != price(new.cost):
        told.append(f"cost {price(old.cost)} → {price(new.cost)}")
    words = ", ".join(text for text in told if text)
    if not words:
        return line(*parts, ("= the same nodes and cost", "dim"))
    parts.append(words)
    if old.jobs == new.jobs and price(old.cost) != price(new.cost):
        cheaper = new.cost < old.cost
        parts.append(("  ✓ cheaper" if cheaper else "  ▲ dearer", _style(cheaper)))
    return line(*parts)


def _style(good: bool) -> str:
    return "completed" if good else "warning"
