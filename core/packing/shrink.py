"""Each bundle on the cheapest node type that holds it, and equal bundles counted once."""

from __future__ import annotations

from rowtui.core.packing.model import (
    HOUR,
    Bundle,
    NodeType,
    Problem,
    bundle_amounts,
    bundle_seconds,
)


def shrink(bundles: tuple[Bundle, ...], problem: Problem) -> tuple[Bundle, ...]:
    """The same bundles, none dearer than it was; those that have become equal are one."""
    kinds = sorted(
        (number for number, kind in enumerate(problem.node_types) if kind.at_most != 0),
        key=lambda number: problem.node_types[number].price,
    )
    times: dict[Bundle, int] = {}
    for bundle in bundles:
        smaller = _cheapest(bundle, kinds, problem)
        times[smaller] = times.get(smaller, 0) + bundle.times
    return tuple(Bundle(bundle.node_type, bundle.lanes, number) for bundle, number in times.items())


def _cheapest(bundle: Bundle, kinds: list[int], problem: Problem) -> Bundle:
    """One such bundle where it costs least. `kinds` come with the lowest price first."""
    amounts = bundle_amounts(bundle, problem.demands)
    seconds = bundle_seconds(bundle, problem.demands)
    best = bundle.node_type
    least = _cost(problem.node_types[best], seconds, problem.timed)
    hinted = any(problem.demands[run.demand].hint for lane in bundle.lanes for run in lane.runs)
    hours = seconds / HOUR if problem.timed else 1.0
    for number in () if hinted else kinds:
        kind = problem.node_types[number]
        if kind.price * hours >= least:
            break  # those that follow cost more for an hour
        cost = _cost(kind, seconds, problem.timed)
        longest = kind.longest_seconds
        in_time = not problem.timed or longest is None or seconds <= longest
        if cost < least and in_time and amounts.fits(kind.amounts):
            best, least = number, cost
    return Bundle(best, bundle.lanes)


def _cost(kind: NodeType, seconds: int, timed: bool) -> float:
    return kind.price * (kind.boot_seconds + seconds) / HOUR if timed else kind.price
