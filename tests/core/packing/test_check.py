"""Every way in which a packing can be wrong is found and named."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rowtui.core.packing.model import (
    Bundle,
    Demand,
    InstanceType,
    Lane,
    PackingProblem,
    PackResult,
    RequestRun,
    ResourceAmounts,
    UnplacedRequests,
)
from rowtui.core.packing.pack import MOST_COMPLAINTS, complaints

SMALL = InstanceType("small", ResourceAmounts(4, 16, 0, 0), 1.0, longest_seconds=7200)
LARGE = InstanceType("large", ResourceAmounts(16, 64, 2, 0), 3.5, at_most=0)
DEMANDS = (
    Demand(ResourceAmounts(2, 8), 3600),
    Demand(ResourceAmounts(1, 12), 1800),
    Demand(ResourceAmounts(1, 1), 600, hint="large"),
)
TIMED = PackingProblem((SMALL, LARGE), DEMANDS, (2, 1, 0), largest_bundle=3)
ONE = Lane((RequestRun(0, 1),))
GOOD = (Bundle(0, (Lane((RequestRun(0, 1),), 2),)), Bundle(0, (Lane((RequestRun(1, 1),)),)))


def test_there_is_nothing_wrong_with_a_packing_that_is_right() -> None:
    assert complaints((TIMED, GOOD)) == ()


@pytest.mark.parametrize(
    ("bundles", "said"),
    [
        ((Bundle(0, (Lane((RequestRun(0, 1),), 3),)), GOOD[1]), "takes 6 cpus, a small has 4"),
        ((Bundle(0, (ONE, Lane((RequestRun(1, 1),)))), Bundle(0, (ONE,))), "takes 20 memory_mb"),
        (
            (Bundle(0, (Lane((RequestRun(0, 2), RequestRun(1, 1))),)),),
            "takes 9000 s, on a small it may",
        ),
        (
            (Bundle(0, (Lane((RequestRun(0, 1), RequestRun(0, 1))), Lane((RequestRun(0, 2),)))),),
            "has 4 requests",
        ),
        ((*GOOD, Bundle(0, (Lane((RequestRun(2, 1),)),))), "for a large on a small"),
        ((Bundle(1, (ONE, ONE)), GOOD[1]), "on a large, of which there is none"),
        (GOOD[:1], "of class 1 there are 1, and 0 placed and 0 unplaced"),
        ((*GOOD, GOOD[1]), "of class 1 there are 1, and 2 placed"),
        ((Bundle(7, (ONE,)),), "there is no node type 7"),
        ((Bundle(-1, (ONE,)),), "there is no node type -1"),
        ((Bundle(0, (Lane((RequestRun(9, 1),)),)),), "there is no class 9"),
        ((Bundle(0, (ONE,), 0),), "it occurs 0 times"),
        ((Bundle(0, ()),), "nothing is in it"),
        ((Bundle(0, (Lane(()),)),), "nothing is in it"),
        ((Bundle(0, (Lane((RequestRun(0, -1),)),)),), "less than once"),
    ],
)
def test_what_is_wrong_with_bundles_is_said(bundles: tuple[Bundle, ...], said: str) -> None:
    assert any(said in line for line in complaints((TIMED, bundles)))


def test_a_lane_takes_the_most_of_each_resource_for_as_long_as_it_runs() -> None:
    # 2 cpus and 8 MB, then 1 cpu and 12 MB: 2 cpus and 12 MB are kept for it all the time.
    lane = Lane((RequestRun(0, 1), RequestRun(1, 1)))
    problem = replace(TIMED, counts=(2, 1, 0))

    found = complaints((problem, (Bundle(0, (lane, ONE)),)))

    assert found == ("bundle 0: takes 20 memory_mb, a small has 16",)


def test_requests_follow_each_other_only_where_their_times_are_known() -> None:
    problem = PackingProblem((SMALL,), (Demand(ResourceAmounts(1, 1)),), (2,))

    found = complaints((problem, (Bundle(0, (Lane((RequestRun(0, 2),)),)),)))

    assert "one after another" in found[0]


def test_a_result_is_held_to_its_costs_and_to_what_it_says_of_the_unplaced() -> None:
    result = PackResult(TIMED, "x", GOOD, 1.5, 1.2)
    missing = UnplacedRequests(1, 1, "small", ("needs a lot",))

    assert complaints(result) == ()
    assert "the cost is 1.5, not 9" in complaints(replace(result, cost=9.0))
    assert any("below the bound" in line for line in complaints(replace(result, bound=2.0)))
    assert complaints(replace(result, unplaced=(missing,)))
    assert (
        complaints(replace(result, bundles=GOOD[:1], cost=1.0, bound=1.0, unplaced=(missing,)))
        == ()
    )
    silent = replace(result, unplaced=(missing._replace(missing=()),))
    assert any("no missing resource is listed" in line for line in complaints(silent))
    assert any(
        "class 8" in line
        for line in complaints(replace(result, unplaced=(missing._replace(demand=8),)))
    )


def test_of_a_great_many_complaints_some_are_enough() -> None:
    bundles = tuple(Bundle(0, (Lane((RequestRun(0, 1),), 9),)) for _ in range(1000))

    assert len(complaints((TIMED, bundles))) == MOST_COMPLAINTS
