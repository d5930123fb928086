"""Each request is in one place, and the places are those that the packing says."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
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
    assign,
)
from rowtui.core.packing.pack import pack

from tests.core.packing.problems import problems

KIND = InstanceType("node", ResourceAmounts(8, 8), 1.0)
TWO = PackingProblem(
    (KIND,), (Demand(ResourceAmounts(1, 1), 60), Demand(ResourceAmounts(2, 1), 120)), (5, 4)
)
MIXED = Bundle(0, (Lane((RequestRun(0, 2), RequestRun(1, 1))), Lane((RequestRun(1, 1),))), 2)
RESULT = PackResult(TWO, "x", (MIXED,), 0.0, 0.0, (UnplacedRequests(0, 1, "", ("a thing",)),))


def test_requests_are_handed_out_in_their_order() -> None:
    placed = assign(RESULT, [1, 0, 0, 1, 1, 0, 0, 0, 1])

    assert [lanes for _, lanes in placed.bundles] == [[[1, 2, 0], [3]], [[5, 6, 4], [8]]]
    assert [bundle for bundle, _ in placed.bundles] == [MIXED, MIXED]
    assert placed.unplaced == {0: [7]}


@pytest.mark.parametrize("classes", [[0] * 9, [0] * 5 + [1] * 3, [0] * 5 + [2] * 4, [-1] * 9])
def test_other_requests_than_those_that_were_packed_are_refused(classes: list[int]) -> None:
    with pytest.raises(ValueError, match="request"):
        assign(RESULT, classes)


def test_nothing_is_in_no_bundle() -> None:
    placed = assign(PackResult(PackingProblem((KIND,), (), ()), "x", (), 0.0, 0.0), [])

    assert list(placed.bundles) == []
    assert placed.unplaced == {}


@settings(max_examples=25)
@given(problem=problems(), name=st.sampled_from(["fill", "seed"]), seed=st.integers(0, 9))
def test_every_request_is_in_one_place_only_and_lanes_hold_what_they_say(
    problem: PackingProblem, name: str, seed: int
) -> None:
    result = pack(problem, name)
    classes = [number for number, there in enumerate(problem.counts) for _ in range(there)]
    Random(seed).shuffle(classes)

    placed = assign(result, classes)

    everywhere = [one for _, lanes in placed.bundles for lane in lanes for one in lane]
    everywhere += [one for those in placed.unplaced.values() for one in those]
    assert sorted(everywhere) == list(range(len(classes)))
    for bundle, lanes in placed.bundles:
        said = [lane.runs for lane in bundle.lanes for _ in range(lane.times)]
        assert len(said) == len(lanes)
        for runs, lane in zip(said, lanes, strict=True):
            there = Counter(classes[one] for one in lane)
            asked: Counter[int] = Counter()
            for number, times in runs:
                asked[number] += times
            assert there == asked
