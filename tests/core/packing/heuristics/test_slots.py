"""Lanes are of similar requests, as long as they may be, and hold every request once."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.packing.heuristics.slots import LaneKind, chain, single, storeys
from rowtui.core.packing.model import (
    Demand,
    InstanceType,
    Lane,
    PackingProblem,
    RequestRun,
    ResourceAmounts,
    fits,
    lane_amounts,
    lane_seconds,
)

from tests.core.packing.problems import placeable_problems

NODE = InstanceType("node", ResourceAmounts(8, 64), 1.0, longest_seconds=3600)


def requests_in(lanes: list[LaneKind]) -> Counter[int]:
    found: Counter[int] = Counter()
    for lane in lanes:
        for run in lane.runs:
            found[run.demand] += run.times * lane.number
    return found


@settings(max_examples=25)
@given(
    problem=placeable_problems(timed=True),
    length=st.integers(60, 20000),
    alike=st.sampled_from([0.5, 0.9, 1.0]),
)
def test_chained_lanes_hold_every_request_once_and_fit_somewhere(
    problem: PackingProblem, length: int, alike: float
) -> None:

    lanes = chain(problem, length, alike)

    assert requests_in(lanes) == Counter(dict(enumerate(problem.counts)))
    for lane in lanes:
        plain = Lane(lane.runs)
        assert lane.amounts == lane_amounts(plain, problem.demands)
        assert lane.seconds == lane_seconds(plain, problem.demands)
        assert lane.requests == 1 or lane.seconds <= length
        assert lane.requests <= (problem.largest_bundle or lane.requests)
        hint = "" if lane.node_type is None else problem.node_types[lane.node_type].name
        asked = Demand(lane.amounts, lane.seconds, hint)
        assert any(fits(asked, kind) and hint in {"", kind.name} for kind in problem.node_types)
        least = min(problem.demands[run.demand].amounts.memory_mb for run in lane.runs)
        assert least >= alike * lane.amounts.memory_mb


def test_a_lane_is_filled_with_what_still_has_room() -> None:
    demands = (Demand(ResourceAmounts(1, 4), 2400), Demand(ResourceAmounts(1, 4), 600))
    problem = PackingProblem((NODE,), demands, (3, 6))

    lanes = chain(problem, 3600, 0.9)

    assert [(lane.runs, lane.seconds, lane.number) for lane in lanes] == [
        ((RequestRun(0, 1), RequestRun(1, 2)), 3600, 3)
    ]


def test_a_million_requests_are_chained_as_quickly_as_ten() -> None:
    problem = PackingProblem(
        (NODE,), (Demand(ResourceAmounts(1, 4), 600), Demand(ResourceAmounts(1, 4), 60)), (10**6, 5)
    )

    lanes = chain(problem, 3600, 0.9)

    assert len(lanes) <= 4
    assert requests_in(lanes) == Counter({0: 10**6, 1: 5})


def test_requests_with_other_cpus_or_hints_or_much_less_memory_do_not_share_a_lane() -> None:
    demands = (
        Demand(ResourceAmounts(1, 40), 60),
        Demand(ResourceAmounts(1, 10), 60),
        Demand(ResourceAmounts(2, 40), 60),
        Demand(ResourceAmounts(1, 40), 60, hint="node"),
    )

    lanes = chain(PackingProblem((NODE,), demands, (1, 1, 1, 1)), 3600, 0.9)

    assert len(lanes) == 4


@settings(max_examples=25)
@given(problem=placeable_problems(timed=True), factor=st.sampled_from([1.0, 1.1, 2.0]))
def test_the_lanes_of_a_part_are_alike_in_length_and_fit_the_same_limits(
    problem: PackingProblem, factor: float
) -> None:
    limits = [kind.most_seconds for kind in problem.node_types]

    parts = storeys(single(problem), limits, factor)

    assert sum((requests_in(part) for part in parts), Counter()) == Counter(
        dict(enumerate(problem.counts))
    )
    lengths = [lane.seconds for part in parts for lane in part]
    assert lengths == sorted(lengths, reverse=True)
    for part in parts:
        longest, shortest = part[0].seconds, part[-1].seconds
        assert shortest * factor >= longest * (1 - 1e-12)
        assert not any(shortest <= limit < longest for limit in limits)
