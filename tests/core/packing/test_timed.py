"""Packing with times: near the bound, in time, with riders; mending never makes it dearer."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.packing.cheapest_type import cost_of, shrink
from rowtui.core.packing.heuristics.ruin_recreate import mend
from rowtui.core.packing.heuristics.slots import Riders, single
from rowtui.core.packing.model import (
    HOUR,
    Bundle,
    Demand,
    InstanceType,
    Lane,
    PackingProblem,
    RequestRun,
    ResourceAmounts,
)
from rowtui.core.packing.optimal.bound import lower_bound, worth
from rowtui.core.packing.pack import complaints, pack
from rowtui.core.packing.packers import MOST_TYPES, OURS, with_fewer_types
from rowtui.core.packing.unplaced import find_unplaced

from bench.packing_cases import problem as case
from tests.core.packing.problems import placeable_problems

NODE = InstanceType("node", ResourceAmounts(4, 16), 1.0)


def test_a_busy_clusters_requests_cost_less_than_a_tenth_above_the_bound() -> None:
    result = pack(case("hpcmix", 1000, timed=True), "fill")

    assert complaints(result) == ()
    assert result.cost / result.bound - 1 < 0.10


def test_a_workflows_requests_are_few_nodes_near_the_bound() -> None:
    problem = case("actions", 1000, timed=True)

    result = pack(problem, "fill", lambda: True)

    assert result.cost / result.bound - 1 < 0.05
    assert result.nodes * 4 < pack(problem, "seed").nodes


@settings(max_examples=25)
@given(problem=placeable_problems(timed=True), turns=st.integers(0, 30))
def test_mending_keeps_all_requests_and_never_costs_more(
    problem: PackingProblem, turns: int
) -> None:
    before = OURS["seed"].pack(problem, lambda: False)
    left = iter(range(turns))

    after = mend(problem, before, worth(problem), lambda: next(left, None) is not None)

    assert complaints((problem, after)) == ()
    assert cost_of(after, problem) <= cost_of(before, problem) * (1 + 1e-9)


def test_mending_finds_partners_that_the_seed_did_not() -> None:
    demands = tuple(
        Demand(ResourceAmounts(2, 8), minutes * 60) for minutes in (60, 1, 61, 2, 62, 3)
    )
    problem = PackingProblem((NODE,), demands, (1,) * 6)
    left = iter(range(100))
    before = OURS["seed"].pack(problem, lambda: False)

    after = mend(problem, before, worth(problem), lambda: next(left, None) is not None)

    assert cost_of(after, problem) < 0.75 * cost_of(before, problem)


def test_mending_a_few_requests_ends_when_nothing_better_is_found() -> None:
    demands = tuple(
        Demand(ResourceAmounts(2, 8), minutes * 60) for minutes in (60, 1, 61, 2, 62, 3)
    )
    problem = PackingProblem((NODE,), demands, (1,) * 6)
    before = OURS["seed"].pack(problem, lambda: False)
    turns = iter(range(20_000))

    after = mend(problem, before, worth(problem), lambda: next(turns, None) is not None)

    assert next(turns, None) is not None  # it ended by itself
    longer = mend(problem, after, worth(problem), lambda: next(turns, None) is not None)
    assert cost_of(longer, problem) == pytest.approx(cost_of(after, problem))


def test_riders_take_the_room_of_some_bundles_if_there_are_too_few_for_all() -> None:
    demands = (Demand(ResourceAmounts(3, 4), 3600), Demand(ResourceAmounts(1, 4), 60))
    problem = PackingProblem((NODE,), demands, (5, 2))
    lanes = single(problem)
    riders = Riders(lanes, [1.0, 1.0], problem)
    long = Bundle(0, (Lane((RequestRun(0, 1),)),), 5)

    boarded = riders.board([long], 1)

    both = (Lane((RequestRun(0, 1),)), Lane((RequestRun(1, 1),)))
    assert sorted((one.lanes, one.times) for one in boarded) == [(long.lanes, 3), (both, 2)]
    assert riders.left.tolist() == [5, 0]


def test_nobody_rides_for_longer_than_the_bundle_runs() -> None:
    demands = (Demand(ResourceAmounts(3, 4), 60), Demand(ResourceAmounts(1, 4), 61))
    problem = PackingProblem((NODE,), demands, (1, 1))
    riders = Riders(single(problem), [1.0, 1.0], problem)

    boarded = riders.board([Bundle(0, (Lane((RequestRun(0, 1),)),))], 1)

    assert len(boarded[0].lanes) == 1


@settings(max_examples=25)
@given(problem=placeable_problems())
def test_shrinking_counts_equal_bundles_once_and_none_becomes_dearer(
    problem: PackingProblem,
) -> None:
    before = OURS["seed"].pack(problem, lambda: False)

    after = shrink(before + before, problem)

    assert cost_of(after, problem) <= 2 * cost_of(before, problem) * (1 + 1e-9)
    assert len({(one.node_type, one.lanes) for one in after}) == len(after)
    assert sum(one.times for one in after) == 2 * sum(one.times for one in before)


def test_the_boot_is_part_of_the_bound_where_bundles_cannot_be_long() -> None:
    booting = NODE._replace(boot_seconds=600, longest_seconds=3600)
    problem = PackingProblem((booting,), (Demand(ResourceAmounts(4, 16), 3600),), (10,))

    assert abs(lower_bound(problem) - 10 * 4200 / 3600) < 1e-6
    assert pack(problem).proven


def test_of_a_great_many_node_types_some_are_kept_and_all_requests_fit() -> None:
    kinds = tuple(
        InstanceType(
            f"t{at}", ResourceAmounts(at + 1, 1000 - at), 1 + at / 1000, longest_seconds=3600
        )
        for at in range(1000)
    )
    demands = tuple(Demand(ResourceAmounts(at + 1, 990 - at), 60) for at in range(0, 900, 30))
    problem = PackingProblem(kinds, demands, (1,) * len(demands))

    fewer, value, kept = with_fewer_types(problem, worth(problem))

    assert len(fewer.node_types) == len(kept) == len(value.duals) < 1000
    assert len(kept) <= MOST_TYPES + len(demands)
    assert find_unplaced(fewer) == ()
    result = pack(problem)
    assert complaints(result) == ()
    assert result.packer == "best"


@pytest.mark.parametrize(
    ("number", "seconds", "limit", "nodes"),
    [(24, 122, 940, 1), (40, 62, 86_400, 1), (100, 3_600, 86_400, 5), (7, 100, None, 1)],
)
def test_as_few_nodes_as_cost_no_more_where_lanes_can_come_out_even(
    number: int, seconds: int, limit: int | None, nodes: int
) -> None:
    kind = InstanceType("half", ResourceAmounts(8, 16_000), 0.5, longest_seconds=limit)
    problem = PackingProblem((kind,), (Demand(ResourceAmounts(2, 200), seconds),), (number,))
    result = pack(problem, "best")
    assert result.nodes == nodes
    assert result.cost == pytest.approx(0.5 * seconds * -(-number // 4) / HOUR)
