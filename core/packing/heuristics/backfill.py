"""Put shorter lanes in the free room of longer bundles, at no cost.

A bundle is paid until its longest lane ends, regardless of the other lanes on its node. The input
is bundles and the lanes that are still to be packed, all of them shorter; the output is the bundles
with these riders, and `left` counts the lanes that remain. The lanes that are worth most come
first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rowtui.core.packing.heuristics.slots import LaneKind
from rowtui.core.packing.model import (
    Bundle,
    Lane,
    Problem,
    bundle_amounts,
    bundle_requests,
    bundle_seconds,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Whole = NDArray[np.int64]

# Numbers compared for all bundles of one packing: about half a second.
MOST_WORK = 40_000_000


class Riders:
    """Lanes that are still to be packed, the longest first, and how many of each."""

    def __init__(self, lanes: Sequence[LaneKind], worth: Sequence[float], problem: Problem) -> None:
        """`worth`: of one lane each, in any unit."""
        import numpy as np

        self.left = np.array([lane.number for lane in lanes], np.int64)
        self._lanes = lanes
        self._problem = problem
        self._worth = np.array(worth, float)
        self._sizes = np.array([(*lane.amounts, lane.requests) for lane in lanes], np.int64)
        self._home = np.array(
            [-1 if lane.node_type is None else lane.node_type for lane in lanes], np.int64
        )
        self._work = MOST_WORK

    def board(self, bundles: Sequence[Bundle], begin: int) -> list[Bundle]:
        """Return the bundles with riders from the lanes from `begin` on.

        A rider is a lane in the free room of a bundle, and is never longer than its bundle.
        """
        if begin >= len(self._lanes):
            return list(bundles)
        boarded: list[Bundle] = []
        least = self._sizes[begin:].min(axis=0)
        for bundle in bundles:
            room = self._room(bundle)
            if (least <= room).all() and self._work > 0:
                boarded.extend(self._fill(bundle, room, begin))
            else:
                boarded.append(bundle)
        return boarded

    def _room(self, bundle: Bundle) -> Whole:
        import numpy as np

        problem = self._problem
        there = problem.node_types[bundle.node_type].amounts
        amounts = there.plus(bundle_amounts(bundle, problem.demands), -1)
        most = problem.largest_bundle
        places = 2**62 if most is None else most - bundle_requests(bundle)
        return np.array((*amounts, places), np.int64)

    def _fill(self, bundle: Bundle, room: Whole, begin: int) -> list[Bundle]:
        """Fill one kind of bundle with all riders that fit; split it if there are too few riders.

        Some of the bundles then have no copy of the rider.
        """
        import numpy as np

        seconds = bundle_seconds(bundle, self._problem.demands)
        lanes = list(bundle.lanes)
        fits = (self._sizes[begin:] <= room).all(axis=1) & (self.left[begin:] > 0)
        fits &= (self._home[begin:] < 0) | (self._home[begin:] == bundle.node_type)
        among = np.flatnonzero(fits) + begin
        self._work -= len(fits)
        times = bundle.times
        filled: list[Bundle] = []
        while len(among):
            at = int(among[self._worth[among].argmax()])
            lane = self._lanes[at]
            if lane.seconds > seconds:
                among = among[among != at]
                continue
            size = self._sizes[at]
            number = int((room[size > 0] // size[size > 0]).min())
            if self.left[at] < times:  # only some of the bundles can have this lane
                some = int(self.left[at])
                filled.append(Bundle(bundle.node_type, tuple(lanes), times - some))
                times = some
            number = min(number, int(self.left[at]) // times)
            lanes.append(Lane(lane.runs, number))
            self.left[at] -= number * times
            room = room - number * size
            among = among[(self._sizes[among] <= room).all(axis=1) & (self.left[among] > 0)]
            self._work -= len(among)
        filled.append(Bundle(bundle.node_type, tuple(lanes), times))
        return filled
