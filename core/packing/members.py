"""Assign each request to its bundle, its lane and its place in the lane.

The input is a packing of classes and the class of each request; the output is one bundle after
another with the requests of each lane. Requests of one class are identical, so they are assigned in
order: the first bundle has the first requests. The work grows only with the number of requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rowtui.core.packing.model import Bundle, PackResult


class Members(NamedTuple):
    """A single bundle (its `times` is ignored), and the requests of each of its lanes in order."""

    bundle: Bundle
    lanes: list[list[int]]


@dataclass(frozen=True, slots=True)
class PlacedRequests:
    """The place of each request. `by_class`: the requests of each class, placed requests first.

    `unplaced`: the requests of each class (by its number) that are in no bundle.
    """

    result: PackResult
    by_class: tuple[list[int], ...]
    unplaced: dict[int, list[int]]

    @property
    def bundles(self) -> Iterator[Members]:
        """Every single bundle, in order; each placed request is in one of them."""
        nexts = [0] * len(self.by_class)
        for bundle in self.result.bundles:
            for _ in range(bundle.times):
                yield Members(bundle, self._hand_out(bundle, nexts))

    def _hand_out(self, bundle: Bundle, nexts: list[int]) -> list[list[int]]:
        """Return the lanes of one bundle, with the next requests of each class."""
        lanes: list[list[int]] = []
        for runs, times in bundle.lanes:
            # every lane looks like this if time does not count
            if len(runs) == 1 and runs[0].times == 1:
                number = runs[0].demand
                at = nexts[number]
                nexts[number] = at + times
                lanes += [[one] for one in self.by_class[number][at : at + times]]
                continue
            for _ in range(times):
                lane: list[int] = []
                for number, there in runs:
                    at = nexts[number]
                    nexts[number] = at + there
                    lane += self.by_class[number][at : at + there]
                lanes.append(lane)
        return lanes


def assign(result: PackResult, classes: Sequence[int]) -> PlacedRequests:
    """Return the place of each request. `classes[i]`: the number of the class of request i.

    Raises: ValueError if the classes do not match the numbers of requests in the problem.
    """
    counts = result.problem.counts
    by_class = _by_class(classes, len(counts))
    if tuple(len(those) for those in by_class) != counts:
        raise ValueError("these are not the requests that were packed")
    unplaced = {}
    for one in result.unplaced:
        those = by_class[one.demand]
        unplaced[one.demand] = those[len(those) - one.requests :]
    return PlacedRequests(result, by_class, unplaced)


def _by_class(classes: Sequence[int], number: int) -> tuple[list[int], ...]:
    """Return the requests of each class, in their order."""
    import numpy as np

    column = np.asarray(classes, dtype=np.int64)
    if len(column) and not (column.min() >= 0 and column.max() < number):
        raise ValueError("a request is of a class that is not in the problem")
    order = np.argsort(column, kind="stable")
    ends = np.cumsum(np.bincount(column, minlength=number)).tolist()
    requests: list[int] = order.tolist()
    return tuple(requests[begin:end] for begin, end in zip([0, *ends], ends, strict=False))
