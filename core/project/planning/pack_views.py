"""Values that screens and commands show of a packing.

All are immutable; memory in MB, times in s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rowtui.core.clusters.model import NodeType
    from rowtui.core.packing.model import ResourceAmounts
    from rowtui.core.submission.plan.model import Packed, Plan, PlannedDestination


class PackChoice(NamedTuple):
    """The user's choices for packing. "", None or (): as in clusters.toml, else no limit.

    `largest_bundle`: jobs in one bundle; `longest_seconds`: of a bundle; `node_types`: the only
    node types to use; `time_factor`: factor by which each job's time is extended beyond its
    walltime; `budget`: seconds that may be spent on finding a better packing.
    """

    packer: str = ""
    largest_bundle: int | None = None
    longest_seconds: int | None = None
    node_types: tuple[str, ...] = ()
    time_factor: float | None = None
    budget: float = 2.0


class LaneView(NamedTuple):
    """Jobs that run one after another: their positions in the plan, and how long each may take."""

    amounts: ResourceAmounts
    jobs: tuple[int, ...]
    seconds: tuple[int, ...]


class BundleView(NamedTuple):
    """One bundle: the total amounts of its lanes, the walltime that it asks for and its cost.

    `node_type` is a position in the destination's list. `token`: see `InBundle`; "" for a job that
    is alone on its node.
    """

    token: str
    node_type: int
    used: ResourceAmounts
    seconds: int
    cost: float
    lanes: tuple[LaneView, ...]

    @property
    def busy_seconds(self) -> int:
        """Return the longest time of a lane in seconds, without the start and end of the bundle."""
        return max((sum(lane.seconds) for lane in self.lanes), default=0)

    @property
    def jobs(self) -> int:
        """Return the number of jobs in the bundle."""
        return sum(len(lane.jobs) for lane in self.lanes)


class LeftAlone(NamedTuple):
    """Jobs of a destination that are not packed, by their positions in the plan, and the reason."""

    jobs: tuple[int, ...]
    reason: str


class NodeUse(NamedTuple):
    """Shares, from 0 to 1, of what is paid for; null: there is none."""

    cpus: float | None
    memory: float | None
    gpus: float | None


def price_of(kind: NodeType) -> float:
    """Return the price of an hour; without a configured price, the number of cores."""
    return float(kind.cpus) if kind.price_per_hour is None else kind.price_per_hour


class PackedDestination(NamedTuple):
    """The packing of the jobs that go to one destination.

    `node_types`: with the time limit of the partition if they have none. `settings`: those that the
    packing used, of the user's choice and of clusters.toml.
    """

    destination: PlannedDestination
    packed: Packed
    node_types: tuple[NodeType, ...]
    bundles: tuple[BundleView, ...]
    left_alone: tuple[LeftAlone, ...] = ()
    proven: bool = False
    took: float = 0.0  # seconds
    settings: PackChoice = PackChoice()

    def used_of(self, node_type: int | None = None) -> NodeUse:
        """Return how full the bundles on one node type are over their time; None: on all types."""
        paid = [0.0, 0.0, 0.0]
        used = [0.0, 0.0, 0.0]
        for bundle in self.bundles:
            if node_type not in (None, bundle.node_type):
                continue
            kind = self.node_types[bundle.node_type]
            there = (kind.cpus, kind.memory_mb or 0, kind.gpus)
            for at in range(3):
                paid[at] += there[at] * (bundle.busy_seconds or 1)
            for lane in bundle.lanes:
                time = sum(lane.seconds) or 1
                for at in range(3):
                    used[at] += lane.amounts[at] * time
        shares = [used[at] / paid[at] if paid[at] else None for at in range(3)]
        return NodeUse(*shares)


class PackedPlan(NamedTuple):
    """A plan with its packing: one value for each destination that has node types.

    `packers`: (name, one line) of each packer that the user may choose.
    """

    plan: Plan
    destinations: tuple[PackedDestination, ...]
    packers: tuple[tuple[str, str], ...] = ()
