"""The loop of CAVATICA's scheduler, for requests that become ready while allocations run.

The input is the open allocations with their room, the requests that are ready, and the node types.
The result is a place for each request on an open allocation, or on one that is to be opened. The
caller repeats it whenever requests became ready or ended. Function by function:

- `schedule(instances, jobs)`: `schedule`
- `prioritize_jobs(jobs)`: `prioritised`, the requests by the price of the cheapest node that holds
  each, the dearest first
- `fit_jobs(instances, jobs)`: `_fit`, each request to the first allocation with room for it; those
  with the least room come first, so that the others become empty
- `allocate_new_instances(jobs)`: `_opened`, one further node in each turn of the loop: the cheapest
  that holds the first request without a place, or the one that the request names
- `release_empty_instances(instances)`: `not_needed`

Source: CAVATICA's documentation, "Multi-instance scheduling algorithm".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rowtui.core.packing.model import FOR_EVER, Demand, InstanceType, ResourceAmounts, fits


class OpenNode(NamedTuple):
    """A node that an allocation holds. `free`: what no request takes now.

    `seconds_left`: the longest time that a request may take.
    """

    node_type: str
    free: ResourceAmounts
    seconds_left: int = FOR_EVER

    def suits(self, demand: Demand) -> bool:
        """Whether there is room for one such request, and time."""
        return (
            demand.hint in ("", self.node_type)
            and demand.seconds <= self.seconds_left
            and demand.amounts.fits(self.free)
        )


class Scheduled(NamedTuple):
    """`places`: the number of the allocation of each request that has one, by the request's number.

    `opened`: the node types (numbers) of the allocations to open, which are numbered after the open
    ones. `waiting`: requests for which there is no room, and none may be opened, in their order.
    `nowhere`: requests that no node type holds.
    """

    places: dict[int, int]
    opened: tuple[int, ...]
    waiting: tuple[int, ...]
    nowhere: tuple[int, ...] = ()


def schedule(
    allocations: Sequence[OpenNode],
    requests: Sequence[Demand],
    node_types: Sequence[InstanceType],
    further: int | None = None,
) -> Scheduled:
    """Place requests, and open allocations where none has room.

    `further`: how many may be opened at most, besides the limits of the node types; None: any
    number.
    """
    there = list(allocations)
    places: dict[int, int] = {}
    opened: list[int] = []
    waiting, nowhere = prioritised(requests, node_types)
    fresh = range(len(there))
    while waiting:
        waiting = _fit(there, fresh, waiting, requests, places)
        number = None
        if further is None or len(opened) < further:
            number = _opened(there, waiting, requests, node_types)
        if number is None:
            break
        kind = node_types[number]
        opened.append(number)
        there.append(OpenNode(kind.name, kind.amounts, kind.most_seconds))
        fresh = range(len(there) - 1, len(there))  # the others have refused what is left
    return Scheduled(places, tuple(opened), tuple(waiting), nowhere)


def prioritised(
    requests: Sequence[Demand], node_types: Sequence[InstanceType]
) -> tuple[list[int], tuple[int, ...]]:
    """Return the numbers of the requests, dearest first, and of those that no node type holds."""
    cheapest = {one: _cheapest(one, node_types, range(len(node_types))) for one in {*requests}}
    order: list[tuple[float, int]] = []
    nowhere: list[int] = []
    for number, one in enumerate(requests):
        kind = cheapest[one]
        if kind is None:
            nowhere.append(number)
        else:
            order.append((-node_types[kind].price, number))
    return [number for _, number in sorted(order)], tuple(nowhere)


def not_needed(allocations: Sequence[OpenNode], waiting: Iterable[Demand]) -> list[int]:
    """Return the numbers of those empty allocations that none of the waiting requests can use."""
    kinds = {*waiting}
    return [at for at, one in enumerate(allocations) if not any(map(one.suits, kinds))]


def _fit(
    there: list[OpenNode],
    among: Sequence[int],
    waiting: Sequence[int],
    requests: Sequence[Demand],
    places: dict[int, int],
) -> list[int]:
    """Put each request on the first allocation that suits, and return the others."""
    left: list[int] = []
    refused: set[Demand] = set()  # room only shrinks
    for number in waiting:
        one = requests[number]
        suiting = () if one in refused else [at for at in among if there[at].suits(one)]
        if not suiting:
            refused.add(one)
            left.append(number)
            continue
        at = min(suiting, key=lambda each: (_least_first(there[each].free), each))
        there[at] = there[at]._replace(free=there[at].free.plus(one.amounts, -1))
        places[number] = at
    return left


def _least_first(free: ResourceAmounts) -> tuple[int, int, int, int]:
    return (free.gpus, free.cpus, free.memory_mb, free.disk_mb)


def _opened(
    there: Sequence[OpenNode],
    waiting: Sequence[int],
    requests: Sequence[Demand],
    node_types: Sequence[InstanceType],
) -> int | None:
    """Return the node type for the first waiting request for which one may be opened."""
    in_use = [one.node_type for one in there]
    allowed = [
        number
        for number, kind in enumerate(node_types)
        if kind.at_most is None or in_use.count(kind.name) < kind.at_most
    ]
    tried: set[Demand] = set()
    for number in waiting:
        one = requests[number]
        if one not in tried:
            tried.add(one)
            if (found := _cheapest(one, node_types, allowed)) is not None:
                return found
    return None


def _cheapest(
    demand: Demand, node_types: Sequence[InstanceType], among: Iterable[int]
) -> int | None:
    """Return the cheapest of these node types that holds a request; of equal ones the first."""
    holding = (
        number
        for number in among
        if demand.hint in ("", node_types[number].name) and fits(demand, node_types[number])
    )
    return min(holding, key=lambda number: node_types[number].price, default=None)
