"""The result of an ahead-of-time packing when jobs take their real times, for `pack --simulate`.

Each node is paid from its boot to the end of its longest lane. If there are fewer nodes of a type
than bundles, the bundles wait for a node, in their order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from heapq import heappush, heapreplace
from typing import NamedTuple

from rowtui.core.packing.model import HOUR, InstanceType, ResourceAmounts
from rowtui.core.packing.simulation.simulate import ResourceUse, TypeUse
from rowtui.core.project.planning.pack_views import BundleView


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
