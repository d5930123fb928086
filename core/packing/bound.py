"""What any packing of a problem has to cost at least.

Where time counts, a request is as many small pieces as it has seconds, and an hour of a node
type is a bin: no bundle holds more than that for as long as it runs. The boot is part of it as
far as no bundle can be long enough to make it nothing.
Source: fastr_packing B2.1 (assignment bound), B2.5 (its price times the own runtime).
"""

from __future__ import annotations

from rowtui.core.packing.model import HOUR, NodeType, Problem
from rowtui.core.packing.static import Kind, Row, form, numbers_by_name
from rowtui.core.packing.vectors import Vectors


def lower_bound(problem: Problem) -> float:
    """No packing of these requests costs less. Every request has to fit somewhere."""
    vectors = _as_vectors(problem)
    return _volume(vectors)


def _as_vectors(problem: Problem) -> Vectors:
    """The problem without time, its cost no higher: a piece for each second of each request."""
    by_name = numbers_by_name(problem)
    weights: dict[tuple[tuple[int, ...], int | None], int] = {}
    for demand, there in zip(problem.demands, problem.counts, strict=True):
        key = (tuple(demand.amounts), by_name[demand.hint] if demand.hint else None)
        weights[key] = weights.get(key, 0) + there * (demand.seconds if problem.timed else 1)
    rows = [Row(size, weight, node_type) for (size, node_type), weight in weights.items() if weight]
    if not rows:
        return Vectors((), ())
    longest = _longest_bundle(problem)
    kinds = [
        Kind(number, kind.amounts, _price(kind, longest) if problem.timed else kind.price)
        for number, kind in enumerate(problem.node_types)
        if kind.at_most != 0
    ]
    return form(kinds, rows, problem.largest_bundle).vectors


def _price(kind: NodeType, longest: int) -> float:
    """What a second costs on a bundle that is as long as it can be, with its part of the boot."""
    limit = longest if kind.longest_seconds is None else min(longest, kind.longest_seconds)
    return kind.price / HOUR * (1 + kind.boot_seconds / max(1, limit))


def _longest_bundle(problem: Problem) -> int:
    """No bundle takes longer than so many of the longest requests one after another."""
    everything = zip(problem.demands, problem.counts, strict=True)
    left = sum(problem.counts) if problem.largest_bundle is None else problem.largest_bundle
    total = 0
    for demand, there in sorted(everything, key=lambda each: -each[0].seconds):
        fit = min(left, there)
        total += fit * demand.seconds
        left -= fit
        if not left:
            break
    return total


def _volume(vectors: Vectors) -> float:
    """The weakest bound: of each resource so much is needed, and it costs so much at least."""
    best = 0.0
    for axis in range(len(vectors.bins[0].size) if vectors.bins else 0):
        needed = sum(item.number * item.size[axis] for item in vectors.items)
        rates = [kind.price / kind.size[axis] for kind in vectors.bins if kind.size[axis]]
        if needed and rates:
            best = max(best, needed * min(rates))
    return best
