"""A packing as rows: node types, beneath each its bundles, and the jobs that are not packed.

Bundles that are alike are one row with a count, so that a list of a thousand stays readable. The
input is the engine's `PackedPlan`; the output is values that are computed once for each answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.clusters.model import NodeType
from rowtui.core.packing.model import ResourceAmounts
from rowtui.tui.widgets.cells import percentage

if TYPE_CHECKING:
    from rowtui.core.project.planning.pack_views import (
        BundleView,
        LeftAlone,
        PackedDestination,
        PackedPlan,
    )
    from rowtui.core.submission.plan.model import PlannedJob

FINE = 10_000
"""The number of parts into which shares are divided."""

HALF = 0.5
"""Share of a node: a bundle that holds less than this share is highlighted."""

AXES = 3
"""Cores, memory and GPUs, for which bars are drawn. Local disks have no price of their own."""


class Share(NamedTuple):
    """The used share of a node: `busy` over the time that is paid for, `held` for any part."""

    busy: float
    held: float

    @property
    def percent(self) -> str:
        """The busy share as text for a bar: 100 % only if nothing is idle."""
        return percentage(round(self.busy * FINE), FINE).strip()


def capacity(kind: NodeType) -> ResourceAmounts:
    """Return all that a node has, including the reserved part; 0 for an unknown amount."""
    return ResourceAmounts(kind.cpus, kind.memory_mb or 0, kind.gpus, kind.disk_mb or 0)


# Of cores, memory and GPUs; None if the node has none, or the amount is unknown.
Shares = tuple[Share | None, ...]


class BundleRow(NamedTuple):
    """Bundles that are alike: one of them, their number, and their total cost."""

    key: tuple[str, str, int]
    bundle: BundleView
    times: int
    node_type: NodeType
    shares: Shares
    cost: float

    @property
    def jobs(self) -> int:
        """The number of jobs in all of these bundles."""
        return self.times * self.bundle.jobs


class TypeRow(NamedTuple):
    """A node type, and the totals of all bundles on it. `on`: jobs may be packed on this type."""

    key: tuple[str, str, int]
    node_type: NodeType
    on: bool
    nodes: int
    jobs: int
    shares: Shares
    seconds: int  # The time of the longest bundle.
    cost: float


class AloneRow(NamedTuple):
    """Jobs that are not packed, and the reason."""

    key: tuple[str, str, int]
    left: LeftAlone


Row = TypeRow | BundleRow | AloneRow


@dataclass(frozen=True, slots=True)
class BundleLook:
    """The packing at one destination, ready to be drawn."""

    of: PackedDestination
    known: tuple[NodeType, ...]  # All node types there, including those switched off.
    rows: tuple[Row, ...]
    nodes: tuple[tuple[str, int], ...]  # Name and number of nodes of each node type that is used.
    total: Shares


@dataclass(frozen=True, slots=True)
class Picture:
    """One answer of the packer."""

    packed: PackedPlan
    looks: tuple[BundleLook, ...]


Known = Mapping[str, tuple[NodeType, ...]]


def picture_of(packed: PackedPlan, known: Known) -> Picture:
    """Return all values that are drawn for a packing. `known` has the node types by destination."""
    jobs = packed.plan.jobs
    return Picture(packed, tuple(_look(there, jobs, known) for there in packed.destinations))


class _Sum:
    """The totals of bundles, weighted by their time."""

    def __init__(self) -> None:
        self.paid = [0.0] * AXES
        self.busy = [0.0] * AXES
        self.held = [0.0] * AXES

    def add(self, bundle: BundleView, node: ResourceAmounts, times: int = 1) -> None:
        seconds = (bundle.busy_seconds or 1) * times
        for at in range(AXES):
            busy = sum(lane.amounts[at] * (sum(lane.seconds) or 1) for lane in bundle.lanes) * times
            held = max(bundle.used[at], sum(lane.amounts[at] for lane in bundle.lanes))
            self.paid[at] += node[at] * seconds
            self.busy[at] += busy
            self.held[at] += max(busy, held * seconds)

    def merge(self, other: _Sum) -> None:
        for mine, theirs in (
            (self.paid, other.paid),
            (self.busy, other.busy),
            (self.held, other.held),
        ):
            for at in range(AXES):
                mine[at] += theirs[at]

    @property
    def shares(self) -> Shares:
        return tuple(
            Share(min(1.0, busy / paid), min(1.0, held / paid)) if paid else None
            for paid, busy, held in zip(self.paid, self.busy, self.held, strict=True)
        )


def _look(there: PackedDestination, jobs: Sequence[PlannedJob], known: Known) -> BundleLook:
    alike: dict[tuple[object, ...], list[BundleView]] = {}
    for bundle in there.bundles:
        alike.setdefault(_shape(bundle, jobs), []).append(bundle)
    by_type: dict[int, list[BundleRow]] = {}
    sums: dict[int, _Sum] = {}
    total = _Sum()
    for shape, those in alike.items():
        first, number = those[0], those[0].node_type
        node_type = there.node_types[number]
        own = _Sum()
        own.add(first, capacity(node_type), len(those))
        sums.setdefault(number, _Sum()).merge(own)
        total.merge(own)
        key = ("bundle", node_type.name, hash(shape))
        cost = sum(bundle.cost for bundle in those)
        row = BundleRow(key, first, len(those), node_type, own.shares, cost)
        by_type.setdefault(number, []).append(row)
    used: list[tuple[TypeRow, list[BundleRow]]] = []
    for number, bundles in by_type.items():
        bundles.sort(key=lambda row: (-row.times, -row.cost))
        used.append((_type_row(there.node_types[number], bundles, sums[number].shares), bundles))
    used.sort(key=lambda pair: -pair[0].cost)
    rows: list[Row] = []
    for type_row, bundles in used:
        rows += [type_row, *bundles]
    rows += [AloneRow(("alone", left.reason, 0), left) for left in there.left_alone]
    types = known.get(str(there.destination)) or there.node_types
    on = {one.name for one in there.node_types}
    seen = {there.node_types[number].name for number in by_type}
    rows += [
        TypeRow(_key(one), one, one.name in on, 0, 0, (None,) * AXES, 0, 0.0)
        for one in types
        if one.name not in seen
    ]
    nodes = tuple((row.node_type.name, row.nodes) for row, _ in used)
    return BundleLook(there, types, tuple(rows), nodes, total.shares)


def _shape(bundle: BundleView, jobs: Sequence[PlannedJob]) -> tuple[object, ...]:
    """Return a key that bundles with equal sizes, times and actions share."""
    lanes = sorted(
        (lane.amounts, lane.seconds, tuple(jobs[at].action for at in lane.jobs))
        for lane in bundle.lanes
    )
    return (bundle.node_type, bundle.used, bundle.seconds, tuple(lanes))


def _key(node_type: NodeType) -> tuple[str, str, int]:
    return ("type", node_type.name, 0)


def _type_row(node_type: NodeType, bundles: Iterable[BundleRow], shares: Shares) -> TypeRow:
    those = list(bundles)
    return TypeRow(
        _key(node_type),
        node_type,
        True,
        sum(row.times for row in those),
        sum(row.jobs for row in those),
        shares,
        max(row.bundle.seconds for row in those),
        sum(row.cost for row in those),
    )
