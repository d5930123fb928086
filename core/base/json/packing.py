"""JSON objects of packings: destinations, bundles, comparisons and simulations."""

from __future__ import annotations

from typing import TypedDict

from rowtui.core.base.json.directories import CostJson, PlaceJson
from rowtui.core.base.json.plans import BundleJson, PackedSummaryJson, RefusedJson


class UtilisationJson(TypedDict):
    """Shares, from 0 to 1, of what is paid for; null: there is none."""

    cpus: float | None
    memory: float | None
    gpus: float | None


class NodeTypeJson(TypedDict):
    """A node type that jobs are packed on. `price_per_hour`: null where none is known.

    `at_most`: how many there are. `used`: how full its nodes are.
    """

    name: str
    cpus: int
    memory_mb: int | None
    gpus: int
    disk_mb: int | None
    price_per_hour: float | None
    at_most: int | None
    boot_seconds: int
    longest_seconds: int | None
    whole_node: bool
    source: str
    used: UtilisationJson


class LaneJobJson(TypedDict):
    """A job in a lane, and for how long it may run."""

    token: str
    action: str
    directories: list[str]
    directory_count: int
    walltime_seconds: int


class LaneJson(TypedDict):
    """Jobs one after another, and what the lane has of the node."""

    cpus: int
    memory_mb: int | None
    gpus: int
    jobs: list[LaneJobJson]


class PackedBundleJson(BundleJson):
    """A bundle with its lanes. `token`: null for a job that is alone on its node."""

    lanes: list[LaneJson]


class LeftAloneJson(TypedDict):
    """Jobs that are not packed, and why."""

    jobs: list[str]
    reason: str


class PackedDestinationJson(PackedSummaryJson):
    """The packing of the jobs of one destination. `gap`: at most so far above the least cost."""

    gap: float | None
    proven: bool
    packing_seconds: float
    used: UtilisationJson
    node_types: list[NodeTypeJson]
    bundles: list[PackedBundleJson]
    alone: list[LeftAloneJson]


class PackerNameJson(TypedDict):
    """A packer that can be chosen."""

    name: str
    summary: str


class PackingJson(TypedDict):
    """`pack`: how jobs would share nodes."""

    version: int
    plan: str
    packers: list[PackerNameJson]
    destinations: list[PackedDestinationJson]
    refused: list[RefusedJson]
    skipped: list[str]


class PackerResultJson(TypedDict):
    """What one packer did. `packer`: the one that the result is from."""

    name: str
    summary: str
    packer: str
    bundle_count: int
    cost: CostJson
    gap: float | None
    longest_seconds: int
    packing_seconds: float


class ComparedDestinationJson(TypedDict):
    """The same jobs packed by every packer. `alone`: jobs that are not packed."""

    destination: PlaceJson
    job_count: int
    unit: str
    cost_alone: CostJson
    lower_bound: float
    packers: list[PackerResultJson]
    alone: int


class PackComparisonJson(TypedDict):
    """`pack --compare`."""

    version: int
    planning_seconds: float
    search_seconds: float
    destinations: list[ComparedDestinationJson]
    skipped: list[str]


class TypeUseJson(TypedDict):
    """Nodes of one type in a simulation: `peak` at a time, `total` in all, for so many `hours`."""

    node_type: str
    peak: int
    total: int
    hours: float
    cost: CostJson


class PolicyResultJson(TypedDict):
    """What a policy comes to. `peak`: nodes at a time. Jobs `lost` by failing nodes."""

    policy: str
    cost: CostJson
    makespan_seconds: float
    mean_wait_seconds: float
    p95_wait_seconds: float
    used: UtilisationJson
    peak: int
    nodes: int
    restarts: int
    lost: int
    refused: int
    not_ended: int
    node_types: list[TypeUseJson]


class SimulatedDestinationJson(TypedDict):
    """One destination: `job_count` jobs of `of`; `left_out`: policies not simulated."""

    destination: PlaceJson
    job_count: int
    of: int
    unit: str
    policies: list[PolicyResultJson]
    left_out: list[str]


class PackSimulationJson(TypedDict):
    """`pack --simulate`: jobs arrive `per_hour` (null or 0: all at once)."""

    version: int
    per_hour: float | None
    failures: float
    spread: float
    seed: int
    destinations: list[SimulatedDestinationJson]
