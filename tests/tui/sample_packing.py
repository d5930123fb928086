"""Node types for the sample project, and its jobs packed on them: what `SampleEngine.pack` gives.

Three small packers of our own, so that pictures and tests stay the same when the real ones get
better; `test_real_pack.py` has those. Memory in MB.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil

from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.model import NodeType
from rowtui.core.packing.model import ResourceAmounts
from rowtui.core.project.planning.pack_views import (
    BundleView,
    LaneView,
    LeftAlone,
    PackChoice,
    PackedDestination,
    PackedPlan,
    price_of,
)
from rowtui.core.submission.bundles.bundles import BundleLayout, with_bundles
from rowtui.core.submission.plan.model import Packed, Plan, PlannedDestination, PlannedJob
from rowtui.tui.views.pack.bundles import capacity

from tests.tui.sample import SampleAction, SampleEngine

GB = 1024
HOURS_48 = 48 * 3600
NEAR = 12  # of the nodes that were begun last: enough for few jobs, and quick for many
MEMORY = {"equilibrate": 24 * GB, "sample": 40 * GB, "analyze": 12 * GB}
PACKERS = (
    ("best", "the cheapest that any of these finds, improved as long as time is given"),
    ("fill", "nodes filled side by side, the longest jobs first"),
    ("seed", "the cheapest node for each job in turn, filled with what fits"),
)


def _node(
    name: str,
    amounts: ResourceAmounts,
    price: float,
    at_most: int | None = None,
    boot: int = 0,
    whole: bool = False,
) -> NodeType:
    cpus, memory, gpus, _ = amounts
    return NodeType(
        name, "", cpus, memory, gpus, None, price, at_most, boot, HOURS_48, whole, "clusters.toml"
    )


MEDIUM = _node("medium", ResourceAmounts(64, 128 * GB), 2.2)
TYPES: dict[str, tuple[NodeType, ...]] = {
    "local": (
        _node("large", ResourceAmounts(128, 256 * GB), 4.0, 40, whole=True),
        MEDIUM,
        _node("highmem", ResourceAmounts(64, 1024 * GB), 6.5, 4, boot=180),
        _node("gpu", ResourceAmounts(48, 192 * GB, 4), 11.0, 8),
    ),
    "pilot": (MEDIUM,),
}


@dataclass
class _Lane:
    amounts: ResourceAmounts
    jobs: list[int] = field(default_factory=list)
    seconds: list[int] = field(default_factory=list)
    long: int = 0


@dataclass
class _Node:
    """What its lanes come to is kept, for thousands of jobs."""

    kind: int
    view: NodeType
    lanes: list[_Lane] = field(default_factory=list)
    used: ResourceAmounts = ResourceAmounts()
    longest: int = 0
    jobs: int = 0

    def begin(self, amounts: ResourceAmounts, at: int, seconds: int) -> None:
        """A lane with this job."""
        self.lanes.append(_Lane(amounts))
        self.used = self.used.plus(amounts)
        self.go_on(self.lanes[-1], at, seconds)

    def go_on(self, lane: _Lane, at: int, seconds: int) -> None:
        """This job after those of a lane."""
        lane.jobs.append(at)
        lane.seconds.append(seconds)
        lane.long += seconds
        self.longest = max(self.longest, lane.long)
        self.jobs += 1

    @property
    def cost(self) -> float:
        return price_of(self.view) * (self.view.boot_seconds + self.longest) / 3600


def packed(plan: Plan, choice: PackChoice) -> PackedPlan:
    """The jobs of a plan, packed where they go. Raises: RowtuiError."""
    if choice.packer not in ("", *(name for name, _ in PACKERS)):
        raise RowtuiError(f"there is no packer '{choice.packer}'", "choose one of best, fill, seed")
    memories = [MEMORY.get(job.action, 2 * GB) for job in plan.jobs]
    jobs = tuple(
        job._replace(memory_mb=memory) for job, memory in zip(plan.jobs, memories, strict=True)
    )
    there: dict[PlannedDestination, list[int]] = {}
    for position, job in enumerate(jobs):
        there.setdefault(job.destination, []).append(position)
    found = {where: _pack_there(where, those, jobs, choice) for where, those in there.items()}
    layouts = [_layout(node) for nodes, _ in found.values() for node in nodes]
    after = with_bundles(jobs, layouts)
    order = {(job.action, job.directories): at for at, job in enumerate(after)}
    places = {at: order[job.action, job.directories] for at, job in enumerate(jobs)}
    destinations = tuple(
        _destination(where, nodes, left, (jobs, after, places), choice)
        for where, (nodes, left) in found.items()
    )
    whole = plan._replace(
        id=f"{plan.id}-packed",
        jobs=after,
        packed=tuple(one.packed for one in destinations if one.packed.jobs),
    )
    return PackedPlan(whole, destinations, PACKERS)


def _types(where: PlannedDestination, choice: PackChoice) -> tuple[NodeType, ...]:
    known = TYPES.get(where.cluster, ())
    return tuple(one for one in known if not choice.node_types or one.name in choice.node_types)


def _asks(job: PlannedJob) -> ResourceAmounts:
    return ResourceAmounts(job.cpus, job.memory_mb or 0, job.gpus)


def _pack_there(
    where: PlannedDestination,
    positions: Sequence[int],
    jobs: Sequence[PlannedJob],
    choice: PackChoice,
) -> tuple[list[_Node], list[LeftAlone]]:
    types = _types(where, choice)
    if not types:
        why = (
            f"{where} has no node types in clusters.toml "
            f"(`rowtui doctor --node-types {where.cluster}` finds them)"
        )
        return [], [LeftAlone(tuple(positions), why)]
    factor = choice.time_factor or 1.0
    limit = choice.longest_seconds or HOURS_48
    order = list(positions)
    if choice.packer != "seed":
        order.sort(key=lambda at: (-jobs[at].walltime_seconds, -jobs[at].cpus))
    nodes: list[_Node] = []
    left: dict[str, list[int]] = {}
    for at in order:
        job = jobs[at]
        seconds = ceil(job.walltime_seconds * factor)
        if job.depends_on:
            left.setdefault("it waits for other jobs", []).append(at)
        elif seconds > limit:
            left.setdefault("large: it takes longer than a bundle may", []).append(at)
        elif not any(_asks(job).fits(capacity(view)) for view in types):
            why = f"asks {job.cpus} CPUs, large has {types[0].cpus}"
            left.setdefault(why, []).append(at)
        else:
            _place(nodes, types, at, (_asks(job), seconds), choice)
    for node in nodes if choice.packer in ("", "best") else ():
        kinds = [kind for kind, view in enumerate(types) if node.used.fits(capacity(view))]
        node.kind = min(kinds, key=lambda kind: price_of(types[kind]))
        node.view = types[node.kind]
    return nodes, [LeftAlone(tuple(those), why) for why, those in left.items()]


def _place(
    nodes: list[_Node],
    types: Sequence[NodeType],
    at: int,
    asks: tuple[ResourceAmounts, int],
    choice: PackChoice,
) -> None:
    amounts, seconds = asks
    most = choice.largest_bundle or 10**6
    for node in nodes[-NEAR:]:
        if node.jobs >= most:
            continue
        if choice.packer in ("", "best"):
            for lane in node.lanes:
                if lane.long + seconds <= node.longest and amounts.fits(lane.amounts):
                    node.go_on(lane, at, seconds)
                    return
        if node.used.plus(amounts).fits(capacity(node.view)):
            node.begin(amounts, at, seconds)
            return

    def each_core(kind: int) -> float:
        price = price_of(types[kind])
        return price if choice.packer == "seed" else price / types[kind].cpus

    fitting = [kind for kind, view in enumerate(types) if amounts.fits(capacity(view))]
    kind = min(fitting, key=each_core)
    nodes.append(_Node(kind, types[kind]))
    nodes[-1].begin(amounts, at, seconds)


def _layout(node: _Node) -> BundleLayout:
    used = node.used
    return BundleLayout(
        node.view.name,
        used.cpus,
        used.memory_mb or None,
        used.gpus,
        node.view.whole_node,
        tuple(tuple(lane.jobs) for lane in node.lanes),
        tuple(tuple(lane.seconds) for lane in node.lanes),
    )


Jobs = tuple[Sequence[PlannedJob], Sequence[PlannedJob], dict[int, int]]  # before, after, places


def _destination(
    where: PlannedDestination,
    nodes: list[_Node],
    left: list[LeftAlone],
    of: Jobs,
    choice: PackChoice,
) -> PackedDestination:
    before, after, places = of
    types = _types(where, choice)
    bundles = []
    for node in nodes:
        first = after[places[node.lanes[0].jobs[0]]].bundle
        lanes = tuple(
            LaneView(lane.amounts, tuple(places[at] for at in lane.jobs), tuple(lane.seconds))
            for lane in node.lanes
        )
        token = first.token if first else ""
        bundles.append(BundleView(token, node.kind, node.used, node.longest, node.cost, lanes))
    those = [at for node in nodes for lane in node.lanes for at in lane.jobs]
    factor = choice.time_factor or 1.0

    def hours(at: int) -> float:
        return ceil(before[at].walltime_seconds * factor) / 3600

    alone = sum(
        min(price_of(one) for one in types if _asks(before[at]).fits(capacity(one))) * hours(at)
        for at in those
    )
    core = min((price_of(one) / one.cpus for one in types), default=0.0)
    cost = sum(node.cost for node in nodes)
    bound = min(cost, sum(core * before[at].cpus * hours(at) for at in those))
    done = Packed(where, choice.packer or "best", len(those), len(nodes), alone, cost, bound, "EUR")
    kept = tuple(LeftAlone(tuple(places[at] for at in one.jobs), one.reason) for one in left)
    proven = bool(those) and bound >= cost
    return PackedDestination(where, done, types, tuple(bundles), kept, proven, 0.2, choice)


class SpreadEngine(SampleEngine):
    """The sample project with jobs on three destinations: one of them has no node types."""

    def _planned(self, index: int, names: tuple[str, ...]) -> PlannedJob:
        job = super()._planned(index, names)
        where = {1: "local", 2: "pilot"}.get(index, "old")
        return job._replace(destination=PlannedDestination(where))


class PatchedEngine(SampleEngine):
    """The sample project with some jobs changed on the way into a plan."""

    def __init__(self, change: Callable[[PlannedJob], PlannedJob]) -> None:
        super().__init__()
        self._change = change

    def _planned(self, index: int, names: tuple[str, ...]) -> PlannedJob:
        return self._change(super()._planned(index, names))


def with_awkward_jobs() -> SampleEngine:
    """The sample project with jobs that wait for others, and some that fit nowhere."""

    def change(job: PlannedJob) -> PlannedJob:
        if job.directories[0].endswith("s2"):
            return job._replace(cpus=512, processes=512)
        return job._replace(depends_on=("x",)) if job.directories[0].endswith("s3") else job

    return PatchedEngine(change)


def with_many(directories: int = 3_000) -> SampleEngine:
    """A project whose packing has a thousand bundles, most of them alike."""
    actions = (
        SampleAction("short", "x", (), "a", 1, 24, 3_600),
        SampleAction("wide", "x", (), "b", 3, 40, 14_400),
    )
    return SampleEngine(actions=actions, directories=directories)
