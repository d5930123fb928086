"""Check a packing and describe every fault in words. A correct packing has no faults.

The input is a problem and its bundles, and the output is a line for each fault. The check accepts
any input: numbers out of range are reported as faults and raise nothing. A node is over-committed
if the sum of the largest amounts of its lanes exceeds the node, since each lane reserves its
amounts for as long as the bundle runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from rowtui.core.base.text import visible
from rowtui.core.packing.cheapest_type import cost_of
from rowtui.core.packing.model import (
    Bundle,
    PackingProblem,
    PackResult,
    ResourceAmounts,
    UnplacedRequests,
    bundle_amounts,
    bundle_requests,
    bundle_seconds,
)

# There may be thousands of faults of one kind; a few are enough for the user to see what is wrong.
MOST_COMPLAINTS = 100
COST_ROUNDING = 1e-6  # relative error of costs, which are sums of floats


def complaints(packing: PackResult | tuple[PackingProblem, tuple[Bundle, ...]]) -> tuple[str, ...]:
    """Return the faults of a packing, at most `MOST_COMPLAINTS` lines; () if there are none.

    The costs and the unplaced requests of a `PackResult` are checked too. If only a problem and its
    bundles are given, every request has to be in one of the bundles.
    """
    if isinstance(packing, PackResult):
        lines = _result_complaints(packing)
    else:
        lines = _bundles_complaints(*packing, ())
    return tuple(line for _, line in zip(range(MOST_COMPLAINTS), lines, strict=False))


def _result_complaints(result: PackResult) -> Iterator[str]:
    yield from _bundles_complaints(result.problem, result.bundles, result.unplaced)
    if any(_strangers(bundle, result.problem) for bundle in result.bundles):
        return
    cost = cost_of(result.bundles, result.problem)
    if not math.isclose(cost, result.cost, rel_tol=COST_ROUNDING, abs_tol=COST_ROUNDING):
        yield f"the cost is {cost:g}, not {result.cost:g}"
    if result.cost < result.bound * (1 - COST_ROUNDING) - COST_ROUNDING:
        yield f"the cost {result.cost:g} is below the bound {result.bound:g}"


def _bundles_complaints(
    problem: PackingProblem, bundles: tuple[Bundle, ...], unplaced: tuple[UnplacedRequests, ...]
) -> Iterator[str]:
    placed = [0] * len(problem.demands)
    timed = problem.timed
    for number, bundle in enumerate(bundles):
        strangers = _strangers(bundle, problem)
        if strangers:
            yield f"bundle {number}: {strangers}"
            continue
        for line in _bundle_complaints(problem, bundle, timed):
            yield f"bundle {number}: {line}"
        for lane in bundle.lanes:
            for run in lane.runs:
                placed[run.demand] += run.times * lane.times * bundle.times
    yield from _count_complaints(problem, placed, unplaced)


def _strangers(bundle: Bundle, problem: PackingProblem) -> str:
    """Return why a bundle does not belong to the problem, or "" if the bundle belongs to it."""
    if not 0 <= bundle.node_type < len(problem.node_types):
        return f"there is no node type {bundle.node_type}"
    if bundle.times < 1:
        return f"it occurs {bundle.times} times"
    if not bundle.lanes or not all(lane.runs for lane in bundle.lanes):
        return "nothing is in it, or in one of its lanes"
    for lane in bundle.lanes:
        if lane.times < 1 or any(run.times < 1 for run in lane.runs):
            return "a lane or request is in it less than once"
        for run in lane.runs:
            if not 0 <= run.demand < len(problem.demands):
                return f"there is no class {run.demand}"
    return ""


def _bundle_complaints(problem: PackingProblem, bundle: Bundle, timed: bool) -> Iterator[str]:
    node_type = problem.node_types[bundle.node_type]
    name = visible(node_type.name)
    taken = bundle_amounts(bundle, problem.demands)
    for resource, asked, there in zip(
        ResourceAmounts._fields, taken, node_type.amounts, strict=True
    ):
        if asked > there:
            yield f"takes {asked} {resource}, a {name} has {there}"
    seconds = bundle_seconds(bundle, problem.demands)
    longest = node_type.longest_seconds
    if timed and longest is not None and seconds > longest:
        yield f"takes {seconds} s, on a {name} it may take {longest} s"
    if not timed and any(sum(times for _, times in lane.runs) > 1 for lane in bundle.lanes):
        yield "has requests one after another, though their run times are unknown"
    requests = bundle_requests(bundle)
    if problem.largest_bundle is not None and requests > problem.largest_bundle:
        yield f"has {requests} requests, at most {problem.largest_bundle} are allowed"
    if node_type.at_most == 0:
        yield f"is on a {name}, of which there is none"
    hints = {problem.demands[run.demand].hint for lane in bundle.lanes for run in lane.runs}
    for hint in sorted(hints - {"", node_type.name}):
        yield f"has requests for a {visible(hint)} on a {name}"


def _count_complaints(
    problem: PackingProblem, placed: list[int], unplaced: tuple[UnplacedRequests, ...]
) -> Iterator[str]:
    left = [0] * len(problem.demands)
    for one in unplaced:
        if not 0 <= one.demand < len(left) or one.requests < 1:
            yield f"{one.requests} requests of class {one.demand} are listed as unplaced"
            continue
        if not one.missing:
            yield f"no missing resource is listed for the unplaced requests of class {one.demand}"
        left[one.demand] += one.requests
    for demand, there in enumerate(problem.counts):
        if placed[demand] + left[demand] != there:
            yield (
                f"of class {demand} there are {there}, "
                f"and {placed[demand]} placed and {left[demand]} unplaced"
            )
