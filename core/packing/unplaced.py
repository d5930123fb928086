"""Find requests that fit on no node type, the type nearest to them, and the missing resources.

The input is a problem; the output is an `UnplacedRequests` for each such class, and the problem of
the other requests. The nearest type is the one with the fewest missing resources, then the smallest
missing shares, then the lowest price. A hint is binding: with a hint, only its type counts. Source:
CAVATICA's documentation, "Multi-instance scheduling algorithm" (a hint that does not satisfy is an
error).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from rowtui.core.base.text import memory, plural, similar, visible
from rowtui.core.packing.model import (
    Bundle,
    Demand,
    InstanceType,
    Lane,
    PackingProblem,
    RequestRun,
    ResourceAmounts,
    UnplacedRequests,
    fits,
)
from rowtui.core.workflow.duration import format_duration

Whole = NDArray[np.int64]


def find_unplaced(problem: PackingProblem) -> tuple[UnplacedRequests, ...]:
    """Return the classes that fit nowhere, in their order, with the reason."""
    usable = [kind for kind in problem.node_types if kind.at_most != 0]
    best = most_capable(usable)
    by_name = {kind.name: kind for kind in reversed(problem.node_types)}
    free = [number for number, demand in enumerate(problem.demands) if not demand.hint]
    rooms = np.array([_capability(kind) for kind in best], np.int64)
    reasons = {
        number: _refused(problem.demands[number], best, rooms)
        for number in _homeless(problem.demands, free, best)
    }
    for number, demand in enumerate(problem.demands):
        if demand.hint:
            reason = _hint_refused(demand, by_name, usable)
            if reason is not None:
                reasons[number] = reason
    return tuple(
        UnplacedRequests(number, problem.counts[number], *reasons[number])
        for number in sorted(reasons)
        if problem.counts[number] > 0
    )


def without_unplaced(
    problem: PackingProblem, unplaced: Sequence[UnplacedRequests]
) -> tuple[PackingProblem, list[int]]:
    """Return the problem of the other requests, and the former number of each of its classes."""
    nowhere = {one.demand for one in unplaced}
    kept = [
        number for number, there in enumerate(problem.counts) if there and number not in nowhere
    ]
    rest = replace(
        problem,
        demands=tuple(problem.demands[number] for number in kept),
        counts=tuple(problem.counts[number] for number in kept),
    )
    return rest, kept


def renumbered(bundles: Sequence[Bundle], numbers: Sequence[int]) -> tuple[Bundle, ...]:
    """Return the bundles with the former numbers of the classes."""
    return tuple(
        Bundle(
            bundle.node_type,
            tuple(
                Lane(
                    tuple(RequestRun(numbers[run.demand], run.times) for run in lane.runs),
                    lane.times,
                )
                for lane in bundle.lanes
            ),
            bundle.times,
        )
        for bundle in bundles
    )


def most_capable(node_types: Sequence[InstanceType]) -> list[InstanceType]:
    """Return the types that no other type exceeds in amounts and time limit, largest first.

    A request that fits on any type fits on one of these.
    """
    cheapest: dict[tuple[int, ...], InstanceType] = {}
    for kind in sorted(node_types, key=lambda kind: kind.price):
        cheapest.setdefault(_capability(kind), kind)
    # In this order, a type comes after every type that exceeds it.
    ordered = sorted(cheapest, reverse=True)
    best = np.zeros((len(ordered), len(ResourceAmounts._fields) + 1), np.int64)
    chosen: list[InstanceType] = []
    for one in ordered:
        if not (best[: len(chosen)] >= one).all(axis=1).any():
            best[len(chosen)] = one
            chosen.append(cheapest[one])
    return chosen


_FOR_EVER = 2**63 - 1


def _capability(kind: InstanceType) -> tuple[int, ...]:
    longest = _FOR_EVER if kind.longest_seconds is None else kind.longest_seconds
    return tuple(min(number, _FOR_EVER) for number in (*kind.amounts, longest))


def _homeless(
    demands: Sequence[Demand], numbers: list[int], node_types: list[InstanceType]
) -> list[int]:
    """Return the classes that fit on none of the types, with one array operation for each type."""
    if not numbers:
        return []
    left = np.array(numbers)
    rows = [(*demands[number].amounts, demands[number].seconds) for number in numbers]
    asked = np.array([tuple(min(number, _FOR_EVER) for number in row) for row in rows], np.int64)
    for kind in node_types:
        refused = (asked > _capability(kind)).any(axis=1)
        left, asked = left[refused], asked[refused]
        if not len(left):
            break
    found: list[int] = left.tolist()
    return found


# -- reasons -------------------------------------------------------------------------------------

Reason = tuple[str, tuple[str, ...]]  # nearest type, missing resources


def _refused(demand: Demand, node_types: Sequence[InstanceType], rooms: Whole) -> Reason:
    """Return why no type is suitable. `rooms`: the amounts and the longest time of each type."""
    if not node_types:
        return "", ("there is no node type",)
    nearest = node_types[_nearest(demand, node_types, rooms)]
    return visible(nearest.name), _missing(demand, nearest)


def _nearest(demand: Demand, node_types: Sequence[InstanceType], rooms: Whole) -> int:
    """Return the index of the nearest type.

    This is the type with the fewest missing resources, then the smallest shares, then the lowest
    price.
    """
    asked = np.array((*demand.amounts, demand.seconds), float)
    lacks = np.maximum(0.0, (asked - rooms) / np.where(asked > 0, asked, 1))
    prices = np.array([kind.price for kind in node_types])
    return int(np.lexsort((prices, lacks.sum(axis=1), (lacks > 0).sum(axis=1)))[0])


def _hint_refused(
    demand: Demand, by_name: dict[str, InstanceType], usable: Sequence[InstanceType]
) -> Reason | None:
    hinted = by_name.get(demand.hint)
    name = visible(demand.hint)
    if hinted is None:
        near = similar(demand.hint, by_name)
        meant = f"; did you mean {visible(near[0])}?" if near else ""
        return "", (f"needs a {name}, and there is no such node type{meant}",)
    if fits(demand, hinted):
        return None
    if hinted.at_most == 0:
        return name, (f"there may be no {name}",)
    would_do = [kind for kind in usable if fits(demand, kind)]
    missing = _missing(demand, hinted)
    if would_do:
        cheapest = min(would_do, key=lambda kind: kind.price)
        missing = (*missing, f"{visible(cheapest.name)} would do")
    return name, missing


def _missing(demand: Demand, kind: InstanceType) -> tuple[str, ...]:
    amounts = zip(demand.amounts, kind.amounts, ("CPU", "of memory", "GPU", "of disk"), strict=True)
    lines = [
        f"needs {memory(asked)} {unit}, a {visible(kind.name)} has {memory(there)}"
        if unit.startswith("of")
        else f"needs {plural(asked, unit)}, a {visible(kind.name)} has {there:,}"
        for asked, there, unit in amounts
        if asked > there
    ]
    longest = kind.longest_seconds
    if longest is not None and demand.seconds > longest:
        lines.append(f"needs {format_duration(demand.seconds)}, at most {format_duration(longest)}")
    return tuple(lines)
