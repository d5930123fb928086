"""Choose the node types that matter for the requests of a problem with times.

Catalogues of clouds have thousands of types, and lanes are packed part by part and in several
ways, each with all types. The result is the problem with the types that a packing without time
uses most, and with one type for each request that fits on none of these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from rowtui.core.packing.cheapest_type import CheapestType
from rowtui.core.packing.heuristics.fill import fill
from rowtui.core.packing.model import Bundle, Demand, InstanceType, PackingProblem
from rowtui.core.packing.optimal.bound import PriceBound
from rowtui.core.packing.static import form_of, numbers_by_name
from rowtui.core.packing.unplaced import fits

# Number of classes of requests from which the good types are chosen.
MOST_CLASSES = 1_000

# Up to this many types are all kept; of more types, about this many are kept.
MOST_TYPES = 100


def with_fewer_types(
    problem: PackingProblem, value: PriceBound
) -> tuple[PackingProblem, PriceBound, list[int]]:
    """Return the problem on fewer types, the worth of these types, and their former numbers.

    The problem has times. No packing on fewer types is better than the best one on all types, so
    the bound stays valid.
    """
    usable = [at for at, kind in enumerate(problem.node_types) if kind.at_most != 0]
    if len(usable) <= MOST_TYPES:
        return problem, value, list(range(len(problem.node_types)))
    chosen = set(_most_used(problem))
    by_name = numbers_by_name(problem)
    chosen |= {by_name[demand.hint] for demand in problem.demands if demand.hint}
    finder = CheapestType(problem, timed=True)
    last: InstanceType | None = None
    for demand in problem.demands:
        if demand.hint or (last is not None and fits(demand, last)):
            continue
        home = next((at for at in chosen if fits(demand, problem.node_types[at])), None)
        if home is None:
            home = finder.for_load((*demand.amounts, demand.seconds), -1)
            chosen.add(home)
        last = problem.node_types[home]
    kept = sorted(chosen)
    place = {at: row for row, at in enumerate(usable)}
    fewer = replace(problem, node_types=tuple(problem.node_types[at] for at in kept))
    worth = value.on([place[at] for at in kept])
    return fewer, worth, kept


def on_types_before(bundles: Sequence[Bundle], kept: Sequence[int]) -> tuple[Bundle, ...]:
    """Return the bundles with the former numbers of the types."""
    return tuple(Bundle(kept[one.node_type], one.lanes, one.times) for one in bundles)


def _most_used(problem: PackingProblem) -> list[int]:
    """Return the types on which the requests with most hours are packed if time does not count."""
    order = sorted(
        range(len(problem.demands)),
        key=lambda at: (-problem.demands[at].seconds * problem.counts[at], at),
    )
    counts: Counter[Demand] = Counter()
    for at in order[:MOST_CLASSES]:
        counts[problem.demands[at]._replace(seconds=0)] += problem.counts[at]
    timeless = replace(problem, demands=tuple(counts), counts=tuple(counts.values()))
    form = form_of(timeless)
    paid: Counter[int] = Counter()
    for pattern in fill(form.vectors, lambda: False):
        number = form.node_types[pattern.bin]
        paid[number] += pattern.times
    return [at for at, _ in paid.most_common(MOST_TYPES)]
