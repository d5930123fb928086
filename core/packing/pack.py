"""Pack a problem: report what fits nowhere, bundle the rest, bound the cost, check the packing.

The input is a problem, the name of a packer and a `GoOn`; the output is a `PackResult` that has
been checked. If the packing of a packer is wrong, the result contains the packing of the seed
algorithm instead.

The check describes every fault in a line and accepts any input: numbers out of range are reported
as faults and raise nothing. A node is over-committed if the sum of the largest amounts of its lanes
exceeds the node, since each lane reserves its amounts for as long as the bundle runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.plug_ins import PlugInError, PlugIns, has_texts
from rowtui.core.base.text import visible
from rowtui.core.packing.cheapest_type import cost_of
from rowtui.core.packing.model import (
    Bundle,
    GoOn,
    Lane,
    Packer,
    PackingProblem,
    PackResult,
    RequestRun,
    ResourceAmounts,
    UnplacedRequests,
    bundle_amounts,
    bundle_requests,
    bundle_seconds,
)
from rowtui.core.packing.optimal.bound import lower_bound
from rowtui.core.packing.packers import BEST, OURS, SEED, PackerAnswer
from rowtui.core.packing.unplaced import find_unplaced, renumbered, without_unplaced

PLUG_INS = PlugIns("rowtui.packers", "packer", lambda made: has_texts(made, "pack"))

# There may be thousands of faults of one kind; a few are enough for the user to see what is wrong.
MOST_COMPLAINTS = 100
COST_ROUNDING = 1e-6  # relative error of costs, which are sums of floats


class Installed(NamedTuple):
    """The packers that are not built in, by name, and the plug-ins that were left out."""

    packers: dict[str, Packer]
    left_out: tuple[PlugInError, ...]


def installed_packers() -> Installed:
    """Return the packers of the installed packages, in the order of their names.

    The project loads them before it packs, since engines read nothing by themselves.
    """
    made, left_out = PLUG_INS.load_all(OURS)
    packers: dict[str, Packer] = {}
    for one in made:
        packers.setdefault(one.name, one)
    return Installed(packers, tuple(left_out))


ROUNDING = 1e-9  # relative difference below which two costs are equal


def packers(others: Mapping[str, Packer] | None = None) -> tuple[tuple[str, str], ...]:
    """Return the name and summary of every packer, the built-in packers first."""
    ours = tuple((one.name, one.summary) for one in OURS.values())
    taken = set(OURS)
    return ours + tuple(
        (name, one.summary) for name, one in (others or {}).items() if name not in taken
    )


def pack(
    problem: PackingProblem,
    packer: str = BEST,
    go_on: GoOn = lambda: False,
    packers: Mapping[str, Packer] | None = None,
) -> PackResult:
    """Return the packing of this packer, with its cost and a lower bound of any cost.

    `packers`: the packers that are not built in, by name (`installed_packers`). Raises:
    RowtuiError for a packer that does not exist.
    """
    unplaced = find_unplaced(problem)
    rest, numbers = without_unplaced(problem, unplaced)
    others = packers or {}
    if packer not in OURS and packer not in others:
        known = ", ".join(visible(name) for name in (*OURS, *others))
        raise RowtuiError(f"there is no packer '{visible(packer)}'", f"choose one of {known}")
    if not rest.demands:
        return PackResult(problem, packer, (), 0.0, 0.0, unplaced, proven=True)
    found = _checked(rest, _found(rest, packer, go_on, others), go_on)
    same = len(numbers) == len(problem.demands)
    bundles = found.bundles if same else renumbered(found.bundles, numbers)
    cost = cost_of(bundles, problem)
    bound = (
        found.bound if found.proven or found.bounded else max(found.bound, lower_bound(rest, go_on))
    )
    proven = found.proven or bound >= cost * (1 - ROUNDING)
    bound = cost if proven else bound
    return PackResult(problem, found.packer, bundles, cost, bound, unplaced, proven)


def _found(
    problem: PackingProblem, packer: str, go_on: GoOn, others: Mapping[str, Packer]
) -> PackerAnswer:
    if packer in OURS:
        return OURS[packer].find(problem, go_on)
    try:
        bundles = tuple(others[packer].pack(problem, go_on))
        if all(map(_is_bundle, bundles)):
            return PackerAnswer(bundles, packer)
    except Exception:  # if a plug-in fails in any way, the jobs are packed by the seed algorithm
        pass
    return OURS[SEED].find(problem, go_on)


def _is_bundle(bundle: object) -> bool:
    """Whether the object has the structure of a bundle, with any numbers. Raises: any exception."""
    if not isinstance(bundle, Bundle) or not all(isinstance(it, Lane) for it in bundle.lanes):
        return False
    runs = [run for lane in bundle.lanes for run in lane.runs]
    numbers = [bundle.node_type, bundle.times, *(lane.times for lane in bundle.lanes)]
    numbers += [number for demand, times in runs for number in (demand, times)]
    return all(isinstance(run, RequestRun) for run in runs) and all(
        type(it) is int for it in numbers
    )


def _checked(problem: PackingProblem, found: PackerAnswer, go_on: GoOn) -> PackerAnswer:
    """Return the packing found if it has no faults, else the packing of the seed algorithm."""
    if found.packer != SEED and complaints((problem, found.bundles)):
        return OURS[SEED].find(problem, go_on)
    return found


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
