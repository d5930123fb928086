"""The result of packing the jobs of one destination, and the view of the result for users."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.model import NodeType
from rowtui.core.packing.model import ResourceAmounts
from rowtui.core.project.planning.pack_terms import type_view
from rowtui.core.project.planning.pack_views import (
    BundleView,
    LaneView,
    LeftAlone,
    PackedDestination,
)
from rowtui.core.submission.bundles.bundles import BundleLayout
from rowtui.core.submission.plan.model import Packed, PlannedDestination, PlannedJob


class PackedBundle(NamedTuple):
    """One bundle: the index of its node type, its cost, and the amounts of each lane."""

    layout: BundleLayout
    node_type: int
    cost: float
    lanes: tuple[ResourceAmounts, ...]


@dataclass
class PackedThere:
    """The packing result for the jobs of one destination.

    Positions are in the list that was packed.
    """

    destination: PlannedDestination
    kinds: tuple[NodeType, ...]
    unit: str
    packer: str = ""
    jobs: int = 0
    bundles: int = 0
    alone: float = 0.0
    cost: float = 0.0
    bound: float = 0.0
    proven: bool = True
    took: float = 0.0
    made: list[PackedBundle] = field(default_factory=list)
    left: list[tuple[tuple[int, ...], str]] = field(default_factory=list)

    def summary(self) -> Packed:
        """Return the result in the form that a plan stores."""
        return Packed(
            destination=self.destination,
            packer=self.packer,
            jobs=self.jobs,
            bundles=self.bundles,
            alone=self.alone,
            cost=self.cost,
            bound=self.bound,
            unit=self.unit,
        )

    def warnings(self, before: Sequence[PlannedJob]) -> Iterator[str]:
        """Yield a sentence for each reason for which jobs are not packed."""
        for positions, why in self.left:
            first = visible(before[positions[0]].name)
            jobs = plural(len(positions), "job")
            start = f"pack: {visible(str(self.destination))}: {jobs} not packed"
            yield f"{start}, from {first} on: {why}"

    def view(
        self, jobs: Sequence[PlannedJob], after: Sequence[int], limit: int | None
    ) -> PackedDestination:
        """Return the result for users. `after`: where each packed job is among `jobs`.

        `limit`: the seconds that a job may run in the partition.
        """
        bundles = []
        for layout, kind, cost, amounts in self.made:
            lanes = tuple(
                LaneView(own, tuple(after[position] for position in lane), times)
                for own, lane, times in zip(amounts, layout.lanes, layout.seconds, strict=True)
            )
            first = jobs[lanes[0].jobs[0]]
            bundles.append(
                BundleView(
                    token=first.bundle.token if first.bundle else "",
                    node_type=kind,
                    used=ResourceAmounts(layout.cpus, layout.memory_mb or 0, layout.gpus),
                    # As submitted: a job that is alone on its node is an ordinary job.
                    seconds=layout.longest if first.bundle else first.walltime_seconds,
                    cost=cost,
                    lanes=lanes,
                )
            )
        return PackedDestination(
            destination=self.destination,
            packed=self.summary(),
            node_types=tuple(type_view(kind, limit) for kind in self.kinds),
            bundles=tuple(bundles),
            left_alone=tuple(
                LeftAlone(tuple(after[position] for position in those), why)
                for those, why in self.left
            ),
            proven=self.proven and self.jobs > 0,
            took=self.took,
        )
