"""What always holds of a packing, whoever made it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.base.errors import RowtuiError
from rowtui.core.packing.heuristics import fill
from rowtui.core.packing.model import (
    Bundle,
    Demand,
    GoOn,
    InstanceType,
    Lane,
    PackingProblem,
    RequestRun,
    ResourceAmounts,
    bundle_cost,
)
from rowtui.core.packing.optimal import prices
from rowtui.core.packing.optimal.bound import worth
from rowtui.core.packing.pack import complaints, pack, packers
from rowtui.core.packing.packers import OURS

from bench.packing_cases import problem
from tests.core.packing.problems import placeable_problems, problems

NAMES = tuple(OURS)


def so_often(number: int) -> GoOn:
    """Yes so many times, then no."""
    left = iter(range(number))
    return lambda: next(left, None) is not None


@settings(max_examples=25)
@given(problem=problems(), name=st.sampled_from(NAMES), asked=st.integers(0, 20))
def test_nothing_is_ever_wrong_with_a_packing(
    problem: PackingProblem, name: str, asked: int
) -> None:
    result = pack(problem, name, so_often(asked))

    assert complaints(result) == ()
    assert result.cost == pytest.approx(
        sum(bundle.times * bundle_cost(bundle, problem) for bundle in result.bundles)
    )
    assert result.bound <= result.cost


@settings(max_examples=25)
@given(problem=placeable_problems(), name=st.sampled_from(NAMES), asked=st.integers(0, 20))
def test_no_packer_of_ours_needs_another_to_stand_in(
    problem: PackingProblem, name: str, asked: int
) -> None:
    assert complaints((problem, OURS[name].pack(problem, so_often(asked)))) == ()


@settings(max_examples=25)
@given(problem=problems(), asked=st.integers(0, 20))
def test_the_best_is_never_dearer_than_the_seed(problem: PackingProblem, asked: int) -> None:
    seed = pack(problem, "seed")

    best = pack(problem, "best", so_often(asked))

    assert best.cost <= seed.cost * (1 + 1e-9)
    assert best.unplaced == seed.unplaced


@settings(max_examples=25)
@given(problem=problems(), name=st.sampled_from(NAMES), asked=st.integers(0, 20))
def test_no_packing_costs_less_than_the_bound_of_another(
    problem: PackingProblem, name: str, asked: int
) -> None:
    one = pack(problem, name, so_often(asked))
    seed = pack(problem, "seed")
    one_by_one = pack(replace(problem, largest_bundle=1))

    assert max(one.bound, seed.bound) <= min(one.cost, seed.cost) * (1 + 1e-9)
    assert one.bound <= one_by_one.cost * (1 + 1e-9)


@settings(max_examples=25)
@given(problem=problems(), name=st.sampled_from(NAMES), asked=st.integers(0, 20))
def test_the_same_problem_gives_the_same_packing(
    problem: PackingProblem, name: str, asked: int
) -> None:
    assert pack(problem, name, so_often(asked)) == pack(problem, name, so_often(asked))


@settings(max_examples=25)
@given(problem=problems())
def test_what_is_unplaced_fits_on_no_type_and_the_rest_on_one(problem: PackingProblem) -> None:
    result = pack(problem, "seed")

    nowhere = {one.demand for one in result.unplaced}
    for number, (demand, there) in enumerate(zip(problem.demands, problem.counts, strict=True)):
        fits = any(
            demand.amounts.fits(kind.amounts)
            and demand.hint in {"", kind.name}
            and demand.seconds <= (kind.longest_seconds or demand.seconds)
            and kind.at_most != 0
            for kind in problem.node_types
        )
        assert (number in nowhere) == (there > 0 and not fits)
    assert all(one.missing and str(one) for one in result.unplaced)


SMALL = InstanceType("small", ResourceAmounts(4, 16), 1.0)
LARGE = InstanceType("large", ResourceAmounts(16, 64), 3.5)


def test_equal_requests_of_equal_length_are_all_packed_side_by_side_or_in_one_lane() -> None:
    problem = PackingProblem((SMALL,), (Demand(ResourceAmounts(2, 8), 3600),), (8,))

    result = pack(problem)

    assert result.cost == pytest.approx(4.0)
    assert result.cost == pytest.approx(result.bound)
    assert result.proven


def test_of_packings_that_cost_the_same_the_one_with_fewer_nodes_is_taken() -> None:
    kind = SMALL._replace(longest_seconds=4 * 3600)
    problem = PackingProblem((kind,), (Demand(ResourceAmounts(2, 8), 3600),), (16,))

    result = pack(problem)

    assert result.cost == pytest.approx(8.0)
    assert result.nodes == 2
    (bundle,) = result.bundles
    assert bundle.lanes == (Lane((RequestRun(0, 4),), 2),)


def test_short_requests_run_beside_a_long_one_that_is_paid_anyway() -> None:
    demands = (Demand(ResourceAmounts(3, 4), 36000), Demand(ResourceAmounts(1, 4), 3600))
    problem = PackingProblem((SMALL,), demands, (1, 3))

    result = pack(problem)

    assert result.cost == pytest.approx(10.0)
    assert result.nodes == 1


def test_a_bundle_ends_in_time_also_where_a_longer_one_would_be_cheaper() -> None:
    kind = SMALL._replace(longest_seconds=7200, boot_seconds=600)
    problem = PackingProblem((kind,), (Demand(ResourceAmounts(4, 1), 3600),), (5,))

    result = pack(problem)

    assert result.nodes == 3
    assert result.cost == pytest.approx((5 * 3600 + 3 * 600) / 3600)


def test_long_requests_go_where_they_may_run_although_it_is_dearer() -> None:
    short = SMALL._replace(longest_seconds=3600)
    problem = PackingProblem((short, LARGE), (Demand(ResourceAmounts(1, 1), 7200),), (1,))

    for name in NAMES:
        result = pack(problem, name)
        assert result.problem.node_types[result.bundles[0].node_type].name == "large"
        assert complaints(result) == ()


def test_the_seed_pays_an_instance_until_its_last_job_ends() -> None:
    demands = (Demand(ResourceAmounts(2, 8), 3600), Demand(ResourceAmounts(2, 8), 36000))
    problem = PackingProblem((SMALL,), demands, (2, 2))

    result = pack(problem, "seed")

    assert result.packer == "seed"
    assert all(lane.runs[0].times == 1 for bundle in result.bundles for lane in bundle.lanes)
    assert result.cost == pytest.approx(11.0)


def test_nothing_to_pack_costs_nothing() -> None:
    result = pack(PackingProblem((SMALL,), (), ()))

    assert (result.cost, result.bound, result.bundles) == (0, 0, ())


def test_free_machines_cost_nothing() -> None:
    for seconds in (0, 60):
        demand = Demand(ResourceAmounts(1, 1), seconds)
        result = pack(PackingProblem((SMALL._replace(price=0.0),), (demand,), (10,)))

        assert (result.cost, result.bound) == (0, 0)
        assert complaints(result) == ()


def test_a_million_requests_are_as_many_bundles_as_needed_and_few_kinds_of_them() -> None:
    problem = PackingProblem(
        (SMALL, LARGE),
        (Demand(ResourceAmounts(3, 5)), Demand(ResourceAmounts(1, 3))),
        (10**6, 10**6),
    )

    result = pack(problem)

    assert complaints(result) == ()
    assert len(result.bundles) < 20
    assert result.nodes >= 250_000


@dataclass
class TheirPacker:
    """A packer of somebody else."""

    does: Callable[[PackingProblem], tuple[Bundle, ...]]
    name: str = "theirs"
    summary: str = "one bundle for each"

    def pack(self, problem: PackingProblem, go_on: GoOn) -> tuple[Bundle, ...]:
        return self.does(problem)


def each_alone(problem: PackingProblem) -> tuple[Bundle, ...]:
    return tuple(
        Bundle(0, (Lane((RequestRun(number, 1),)),), there)
        for number, there in enumerate(problem.counts)
    )


TWO = PackingProblem(
    (LARGE,),
    (Demand(ResourceAmounts(1, 1)), Demand(ResourceAmounts(99, 1)), Demand(ResourceAmounts(2, 2))),
    (3, 1, 4),
)


def test_a_packer_of_somebody_else_packs_what_fits_with_numbers_of_its_own() -> None:
    theirs = {"theirs": TheirPacker(each_alone)}

    result = pack(TWO, "theirs", packers=theirs)

    assert result.packer == "theirs"
    assert result.nodes == 7
    assert {lane.runs[0].demand for bundle in result.bundles for lane in bundle.lanes} == {0, 2}
    assert ("theirs", "one bundle for each") in packers(theirs)


def fails(problem: PackingProblem) -> tuple[Bundle, ...]:
    raise OSError("no such solver")


def forgets_one(problem: PackingProblem) -> tuple[Bundle, ...]:
    return each_alone(problem)[1:]


def makes_none(problem: PackingProblem) -> Any:
    return [1, 2]


def counts_in_words(problem: PackingProblem) -> Any:
    return (Bundle("0", (Lane((RequestRun(0, 1),)),), 3),)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [fails, forgets_one, makes_none, counts_in_words])
def test_the_seed_stands_in_for_a_packer_that_fails_or_packs_wrongly(
    wrong: Callable[[PackingProblem], tuple[Bundle, ...]],
) -> None:
    result = pack(TWO, "theirs", packers={"theirs": TheirPacker(wrong)})

    assert result.packer == "seed"
    assert complaints(result) == ()


def test_a_packer_that_does_not_exist_is_named_with_those_that_do() -> None:
    with pytest.raises(RowtuiError) as raised:
        pack(TWO, "nobody\n")

    assert "nobody\\n" in raised.value.message
    assert "seed" in raised.value.hint


@settings(max_examples=20)
@given(problem=problems(), asked=st.integers(0, 60))
def test_the_best_is_never_dearer_than_filling_with_the_same_time(
    problem: PackingProblem, asked: int
) -> None:
    filled = pack(problem, "fill", so_often(asked))

    best = pack(problem, "best", so_often(asked))

    assert best.cost <= filled.cost * (1 + 1e-9)


@pytest.mark.parametrize("distribution", ["hpcmix", "uniform"])
@pytest.mark.parametrize("name", ["best", "columns"])
def test_a_dozen_requests_are_proven_even_without_time(distribution: str, name: str) -> None:
    for seed in range(1, 6):
        result = pack(problem(distribution, 12, seed=seed), name, so_often(0))

        assert result.proven


@pytest.mark.parametrize("number", [10, 15, 20])
def test_without_the_solver_a_few_requests_cost_little_more_than_the_least(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = problem("uniform", number, seed=number)
    least = pack(case, "best", so_often(1000))
    assert least.proven
    monkeypatch.setitem(sys.modules, "highspy", None)

    result = pack(case, "best", so_often(200))

    assert result.cost <= 1.07 * least.cost
    assert result.packer != "columns"
    assert result.bound <= least.cost * (1 + 1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_when_the_time_is_out_nothing_is_packed_with_care(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    careful = []
    look_ahead = fill._look_ahead
    monkeypatch.setattr(fill, "_look_ahead", lambda *a: careful.append(1) or look_ahead(*a))

    pack(problem("uniform", 1000, timed=True), name, so_often(0))

    assert len(careful) < 100  # with time to spare they are thousands


def test_a_bound_is_looked_for_no_longer_than_there_is_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(prices, "has_solver", lambda: False)
    case = problem("uniform", 300)
    rounds: list[int] = []
    einsum = np.einsum

    def counted(*args: Any) -> Any:
        rounds.append(1)
        return einsum(*args)

    monkeypatch.setattr(np, "einsum", counted)

    hurried = worth(case, so_often(5)).bound

    # Two for each of the rounds that are made whatever the time, and of those it was asked for.
    assert len(rounds) <= 2 * (prices.FEWEST_ROUNDS + 5)
    assert 0 < hurried <= worth(case).bound * (1 + 1e-9)
