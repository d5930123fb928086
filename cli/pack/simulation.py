"""`rowtui pack --simulate`: the plan's jobs arrive while nodes boot, fail and are released.

The input is a packed plan. The output is the cost and the waiting times of each policy of the
online engine, beside the ahead-of-time packing if this can be compared (all jobs are present, no
node fails). Policies do not use the real run times. Each destination is simulated separately; no
new policy is started after `MOST_SECONDS`.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from heapq import heappush, heapreplace
from typing import NamedTuple

from rowtui.cli.output.output import Output, TextColumn, table_lines
from rowtui.cli.output.progress import Busy
from rowtui.cli.pack.json import (
    PackSimulationJson,
    PolicyResultJson,
    SimulatedDestinationJson,
    TypeUseJson,
)
from rowtui.cli.pack.text import Cells, number
from rowtui.core.base.text import Cost, plural, visible
from rowtui.core.clusters.model import NodeType
from rowtui.core.packing.model import HOUR, InstanceType, ResourceAmounts
from rowtui.core.packing.simulation.online_model import Policy
from rowtui.core.packing.simulation.simulate import (
    Arrival,
    Faults,
    PackingSimulation,
    ResourceUse,
    TypeUse,
    simulate,
    usual_policies,
)
from rowtui.core.project.planning.pack_terms import core_share_mb, demand_of, node_type_of
from rowtui.core.project.planning.pack_views import (
    BundleView,
    NodeTypeView,
    NodeUse,
    PackedDestination,
    PackedPlan,
)
from rowtui.core.submission.plan.charges import cost_in
from rowtui.core.submission.plan.model import PlannedJob

# The result of an ahead-of-time packing when jobs take their real times, for `pack --simulate`.
#
# Each node is paid from its boot to the end of its longest lane. If there are fewer nodes of a type
# than bundles, the bundles wait for a node, in their order.


class Ahead(NamedTuple):
    """As `simulate.Simulation`. Times in seconds."""

    cost: float
    makespan: float
    mean_wait: float
    p95_wait: float
    utilisation: ResourceUse
    types: tuple[TypeUse, ...]

    @property
    def peak(self) -> int:
        """Return the most nodes at a time, of all types together."""
        return sum(use.peak for use in self.types)

    @property
    def nodes(self) -> int:
        """Return the total number of nodes."""
        return sum(use.total for use in self.types)


def carried_out(
    bundles: Sequence[BundleView],
    node_types: Sequence[InstanceType],
    jobs: Mapping[int, tuple[ResourceAmounts, float]],
) -> Ahead:
    """Simulate all bundles, with all jobs present from the beginning.

    `jobs`: by position, what each takes and for how many seconds it really runs.
    """
    # the time until which each existing node runs
    nodes: list[list[float]] = [[] for _ in node_types]
    total, lasted = [0] * len(node_types), [0.0] * len(node_types)
    busy = [0.0] * 4
    waits: list[float] = []
    end = 0.0
    for bundle in bundles:
        kind, there = node_types[bundle.node_type], nodes[bundle.node_type]
        wanted = kind.at_most is not None and len(there) >= max(1, kind.at_most)
        began = there[0] if wanted else 0.0
        longest = 0.0
        for lane in bundle.lanes:
            at = 0.0
            for job in lane.jobs:
                amounts, seconds = jobs[job]
                waits.append(began + kind.boot_seconds + at)
                at += seconds
                busy = [sum_ + amounts[of] * seconds for of, sum_ in enumerate(busy)]
            longest = max(longest, at)
        length = kind.boot_seconds + longest
        (heapreplace if wanted else heappush)(there, began + length)
        total[bundle.node_type] += 1
        lasted[bundle.node_type] += length
        end = max(end, began + length)
    waits.sort()
    types = tuple(
        TypeUse(
            kind.name,
            len(nodes[at]),
            total[at],
            lasted[at] / HOUR,
            lasted[at] / HOUR * kind.price,
        )
        for at, kind in enumerate(node_types)
        if total[at]
    )
    paid = [
        sum(kind.amounts[of] * lasted[at] for at, kind in enumerate(node_types)) for of in range(4)
    ]
    return Ahead(
        cost=sum(use.cost for use in types),
        makespan=end,
        mean_wait=math.fsum(waits) / len(waits) if waits else 0.0,
        p95_wait=waits[math.ceil(0.95 * len(waits)) - 1] if waits else 0.0,
        utilisation=ResourceUse(*(busy[of] / paid[of] if paid[of] else 0.0 for of in range(4))),
        types=types,
    )


MOST_JOBS = 100_000  # of one destination: a million would take minutes for each policy
MOST_SECONDS = 60.0
AHEAD = "packed ahead"
SEED = "seed"


class PolicyResult(NamedTuple):
    """The result of a policy, or of an ahead-of-time packing. Times in seconds."""

    policy: str
    found: PackingSimulation | Ahead
    peak: int
    nodes: int
    restarts: int = 0
    lost: int = 0
    refused: int = 0
    not_ended: int = 0


class Course(NamedTuple):
    """One simulated destination. `left_out`: policies for which no time remained."""

    there: PackedDestination
    jobs: int
    of: int
    outcomes: list[PolicyResult]
    left_out: list[str]


def simulate_packing(args: argparse.Namespace, out: Output, packed: PackedPlan) -> int:
    """Print a table for each destination, or JSON."""
    deadline = time.monotonic() + MOST_SECONDS
    with Busy(out, "Simulating") as busy:
        courses = [
            _course(args, there, packed.plan.jobs, busy, deadline)
            for there in packed.destinations
            if there.packed.jobs
        ]
    if args.json:
        out.json(_document(args, courses))
        return 0
    if not courses:
        out.print("There are no jobs that could be packed.")
    for at, course in enumerate(courses):
        if at:
            out.print()
        _print(args, course, out)
    return 0


# -- one destination -----------------------------------------------------------------------------


def _course(
    args: argparse.Namespace,
    there: PackedDestination,
    jobs: Sequence[PlannedJob],
    busy: Busy,
    deadline: float,
) -> Course:
    kinds = [_kind(view) for view in there.node_types]
    node_types = [node_type_of(kind, None, None) for kind in kinds]
    positions = sorted(at for bundle in there.bundles for lane in bundle.lanes for at in lane.jobs)
    everyone = len(positions)
    step = -(-everyone // MOST_JOBS)
    positions = positions[::step]
    chance = random.Random(args.seed)
    core_mb = core_share_mb(kinds)
    arrivals = []
    clock = 0.0
    for at in positions:
        demand = demand_of(jobs[at], core_mb, 1.0)
        seconds = _real_seconds(jobs[at], args.spread, chance)
        arrivals.append(Arrival(clock, demand.amounts, seconds, demand.hint))
        if args.per_hour:
            clock += chance.expovariate(args.per_hour / HOUR)
    outcomes = []
    if not args.per_hour and not args.failures and step == 1:
        real = {at: (it.amounts, it.seconds) for at, it in zip(positions, arrivals, strict=True)}
        ahead = carried_out(there.bundles, node_types, real)
        outcomes.append(PolicyResult(AHEAD, ahead, ahead.peak, ahead.nodes))
    left_out = []
    faults = Faults(args.failures, seed=args.seed)
    where = visible(str(there.packed.destination))
    coming = _policies(node_types, arrivals, 0)
    done: set[str] = set()
    while coming:
        name, policy = coming.popitem()
        done.add(name)
        if time.monotonic() > deadline:
            left_out.append(name)
            continue
        busy.title = f"Simulating {where}: {name}"
        found = simulate(node_types, arrivals, policy, faults)
        outcomes.append(_outcome(name, found))
        if name == SEED:  # half of its peak number of nodes, refilled
            more = _policies(node_types, arrivals, found.peak // 2)
            coming = {it: policy for it, policy in more.items() if it not in done}
    return Course(there, len(positions), everyone, outcomes, left_out)


def _policies(
    node_types: Sequence[InstanceType], arrivals: Sequence[Arrival], machines: int
) -> dict[str, Policy]:
    """Return the policies that differ here, in reverse order: without boots, some are equal."""
    told = usual_policies(node_types, arrivals, machines)
    boots = any(each.boot_seconds for each in node_types)
    different: dict[Policy, str] = {}
    for name, policy in told.items():
        same = policy if boots else replace(policy, grace_seconds=0.0, bind_while_booting=True)
        different.setdefault(same, name)
    return {name: told[name] for name in reversed(different.values())}


def _kind(view: NodeTypeView) -> NodeType:
    return NodeType(
        name=view.name,
        partition="",
        cpus=view.amounts.cpus,
        memory_mb=view.amounts.memory_mb or None,
        gpus=view.amounts.gpus,
        disk_mb=view.amounts.disk_mb or None,
        price_per_hour=view.price if view.priced else None,
        at_most=view.at_most,
        boot_seconds=view.boot_seconds,
        longest_seconds=None,
    )


def _real_seconds(job: PlannedJob, spread: float, chance: random.Random) -> float:
    """Return the time that the job asks for, or less: half of a log-normal distribution."""
    return max(1.0, job.walltime_seconds * math.exp(-abs(chance.gauss(0.0, spread))))


def _outcome(name: str, found: PackingSimulation) -> PolicyResult:
    return PolicyResult(
        policy=name,
        found=found,
        peak=found.peak,
        nodes=found.instances,
        restarts=found.restarts,
        lost=found.lost,
        refused=sum(jobs for _, jobs in found.refused),
        not_ended=found.not_ended,
    )


# -- what is shown -------------------------------------------------------------------------------


def _print(args: argparse.Namespace, course: Course, out: Output) -> None:
    packed = course.there.packed
    where = visible(str(packed.destination))
    jobs = plural(course.jobs, "job")
    some = f" (of {course.of:,}: every {-(-course.of // MOST_JOBS):,}th)" * (
        course.jobs < course.of
    )
    costs = f", costs in {visible(packed.unit)}" if packed.unit else ""
    out.print(out.style(f"{where}: {jobs}{some}, {_how(args)}{costs}", "bold"))
    fails = any(one.lost for one in course.outcomes)
    columns = [
        TextColumn("Policy", style="bold"),
        TextColumn("Cost", right=True),
        TextColumn("All done", right=True),
        TextColumn("Wait", right=True),
        TextColumn("95 %", right=True),
        TextColumn("Cores", right=True),
        TextColumn("Nodes", right=True),
        *[TextColumn("Lost", right=True), TextColumn("Restarts", right=True)] * fails,
    ]
    rows: list[Cells] = []
    for one in course.outcomes:
        found = one.found
        row: Cells = [
            one.policy,
            number(found.cost),
            span(found.makespan),
            span(found.mean_wait),
            span(found.p95_wait),
            f"{100 * found.utilisation.cpus:.0f}%",
            f"{one.peak:,} of {one.nodes:,}",
        ]
        rows.append(row + [f"{one.lost:,}", f"{one.restarts:,}"] * fails)
    out.lines(table_lines(columns, rows, out))
    for one in course.outcomes:
        if one.refused or one.not_ended:
            gave_up = plural(one.refused, "job was", "jobs were")
            stuck = f"{one.not_ended:,} never ended"
            out.print(f"! {one.policy}: {gave_up} given up, {stuck}.")
    for name in course.left_out:
        out.print(f"! {name}: not simulated, {MOST_SECONDS:g} s were over.")
    for left in course.there.left_alone:
        out.print(f"Without {plural(len(left.jobs), 'job')}: {visible(left.reason)}")
    out.print("Wait: until jobs run, on average and for all but 5 %. Nodes: at most, in all.")


def _how(args: argparse.Namespace) -> str:
    parts = [f"{args.per_hour:,g} an hour" if args.per_hour else "all at once"]
    if args.spread:
        parts.append(f"shorter than asked for (sigma {args.spread:g})")
    if args.failures:
        parts.append(f"{args.failures:g} failures of a node an hour")
    return ", ".join(parts)


def span(seconds: float) -> str:
    """Return a time in a few characters: `45 s`, `12 min`, `2.5 h`, `3.2 d`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 100 * 60:
        return f"{seconds / 60:.0f} min"
    if seconds < 100 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:,.1f} d"


def _document(args: argparse.Namespace, courses: Sequence[Course]) -> PackSimulationJson:
    found = [
        SimulatedDestinationJson(
            course.there.packed.destination,
            course.jobs,
            course.of,
            course.there.packed.unit,
            [_policy(one, course) for one in course.outcomes],
            course.left_out,
        )
        for course in courses
    ]
    return PackSimulationJson(args.per_hour, args.failures, args.spread, args.seed, found)


def _policy(one: PolicyResult, course: Course) -> PolicyResultJson:
    found, unit = one.found, course.there.packed.unit
    sizes = {kind.name: kind.amounts for kind in course.there.node_types}
    hours = [
        Cost(sizes[use.node_type].cpus * use.hours, sizes[use.node_type].gpus * use.hours)
        for use in found.types
    ]
    total = Cost()
    for each in hours:
        total = total.plus(each)
    return PolicyResultJson(
        one.policy,
        cost_in(unit, found.cost, total),
        found.makespan,
        found.mean_wait,
        found.p95_wait,
        NodeUse(*found.utilisation[:3]),
        one.peak,
        one.nodes,
        one.restarts,
        one.lost,
        one.refused,
        one.not_ended,
        [
            TypeUseJson(*use[:4], cost_in(unit, use.cost, each))
            for use, each in zip(found.types, hours, strict=True)
        ],
    )
