"""Packs a problem: what fits nowhere is named, the rest goes into bundles, the best is bounded.

Takes a problem, the name of a packer and a `GoOn`; gives a `PackResult` that has been checked.
A packing that is wrong is never given: the seed's takes its place.
Source: DESIGN's contracts; fastr_packing G7 (never worse than the seed, always with a bound).
"""

from __future__ import annotations

from collections.abc import Sequence

from rowtui.core.errors import RowtuiError
from rowtui.core.packing.check import complaints
from rowtui.core.packing.model import GoOn, Packer, PackResult, Problem, total_cost
from rowtui.core.packing.packers import OURS, Found, portfolio
from rowtui.core.packing.unplaced import find_unplaced, renumbered, without_unplaced

BEST = "best"


def packers(others: Sequence[Packer] = ()) -> tuple[tuple[str, str], ...]:
    """Name and summary of every packer there is, ours first."""
    named = [(BEST, "the cheapest that any of them finds, improved as long as time is given")]
    named += [(one.name, one.summary) for one in OURS]
    named += [(one.name, one.summary) for one in others]
    return tuple(named)


def pack(
    problem: Problem,
    packer: str = BEST,
    go_on: GoOn = lambda: False,
    others: Sequence[Packer] = (),
) -> PackResult:
    """The packing by that packer, with what it costs and at least has to cost.

    `others`: packers that are not ours, from `plug_ins.installed_packers`.
    Raises: RowtuiError for a packer that does not exist.
    """
    unplaced = find_unplaced(problem)
    rest, numbers = without_unplaced(problem, unplaced)
    found = _found(rest, packer, go_on, others) if rest.demands else Found((), packer)
    bundles = renumbered(found.bundles, numbers)
    cost = total_cost(bundles, problem)
    return PackResult(
        problem, found.packer, bundles, cost, min(found.bound, cost), unplaced, found.proven
    )


def _found(problem: Problem, packer: str, go_on: GoOn, others: Sequence[Packer]) -> Found:
    if packer == BEST:
        return portfolio(problem, go_on)
    by_name: dict[str, Packer] = {one.name: one for one in (*others, *OURS)}
    if packer not in by_name:
        known = ", ".join(name for name, _ in packers(others))
        raise RowtuiError(f"there is no packer '{packer}'", f"choose one of {known}")
    bundles = by_name[packer].pack(problem, go_on)
    if complaints((problem, bundles)):
        return Found(OURS[0].pack(problem, go_on), "seed")
    return Found(bundles, packer)
