"""Prices of resources: always a bound, and a good one."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.packing.heuristics.bins import Bin, BinFinder, Item, Size, Vectors, patterns_cost
from rowtui.core.packing.heuristics.fill import fill
from rowtui.core.packing.optimal.prices import (
    Prices,
    best_prices,
)

from bench import packing_cases
from tests.core.packing.drawn_vectors import drawn_vectors


def dearest_item(
    bins: Sequence[Bin],
    sizes: Sequence[Size],
    weights: Sequence[float],
    allowed: Sequence[int | None],
) -> float:
    """The price of the cheapest bin for the item that needs the dearest: a bound for few items."""
    finder = BinFinder(tuple(bins))
    most = 0.0
    for size, weight, own in zip(sizes, weights, allowed, strict=True):
        home = finder.cheapest(size, own) if weight > 0 else None
        if home is not None:
            most = max(most, bins[home].price)
    return most


def arguments(vectors: Vectors) -> tuple[object, ...]:
    items = vectors.items
    return (
        vectors.bins,
        [item.size for item in items],
        [item.number for item in items],
        [item.bin for item in items],
    )


def without_solver(vectors: Vectors) -> Prices:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rowtui.core.packing.optimal.prices.has_solver", lambda: False)
        return best_prices(*arguments(vectors))


def assert_valid(prices: Prices, vectors: Vectors) -> None:
    """In exact arithmetic: no bin holds more than it costs, and the sum is no more than it is."""
    duals = [[Fraction(dual) for dual in row] for row in prices.duals]
    for kind, row in zip(vectors.bins, duals, strict=True):
        assert all(dual >= 0 for dual in row)
        assert sum(map(Fraction.__mul__, row, map(Fraction, kind.size))) <= Fraction(kind.price)
    total = Fraction(0)
    for item in vectors.items:
        total += item.number * min(
            sum(map(Fraction.__mul__, row, map(Fraction, item.size)), Fraction(0))
            for at, (kind, row) in enumerate(zip(vectors.bins, duals, strict=True))
            if item.bin in (None, at) and all(map(int.__le__, item.size, kind.size))
        )
    assert Fraction(prices.bound) <= total
    assert prices.bound >= 0


@settings(deadline=None, max_examples=12)
@given(drawn_vectors())
def test_whatever_is_asked_for_the_bound_is_one_in_exact_arithmetic(vectors: Vectors) -> None:
    assert_valid(without_solver(vectors), vectors)
    assert_valid(best_prices(*arguments(vectors)), vectors)


@settings(deadline=None, max_examples=25)
@given(drawn_vectors(), st.data())
def test_no_packing_costs_less_than_the_bounds(vectors: Vectors, data: st.DataObject) -> None:
    cost = patterns_cost(fill(vectors, lambda: False), vectors)

    assert best_prices(*arguments(vectors)).bound <= cost
    assert dearest_item(*arguments(vectors)) <= cost


def test_a_full_bin_is_worth_what_it_costs_and_the_bound_is_met_where_all_are_full() -> None:
    # Three of one and one of the other fill a bin; only both together use it up.
    vectors = Vectors((Bin((6, 10), 2.0), Bin((1, 1), 9.0)), (Item((1, 3), 30), Item((3, 1), 10)))

    for prices in (without_solver(vectors), best_prices(*arguments(vectors))):
        assert prices.bound == pytest.approx(20.0, rel=2e-3)
        assert patterns_cost(fill(vectors, lambda: False), vectors) == 20.0


def test_weights_may_be_hours_instead_of_numbers() -> None:
    bins = (Bin((4,), 1.0),)

    prices = best_prices(bins, [(1,), (2,)], [2.5, 0.25], [None, None])

    assert prices.bound == pytest.approx((2.5 + 2 * 0.25) / 4)
    assert prices.values == pytest.approx((0.25, 0.5))


def test_an_item_bound_to_a_dear_bin_is_worth_what_it_costs_there() -> None:
    bins = (Bin((4, 4), 1.0), Bin((4, 4), 8.0))

    prices = best_prices(bins, [(2, 1), (2, 1)], [10, 10], [None, 1])

    assert prices.bound == pytest.approx(5 + 40)


def test_a_bin_that_another_betters_has_prices_too() -> None:
    bins = (Bin((4, 4), 2.0), Bin((8, 8), 1.0))

    prices = best_prices(bins, [(2, 1)], [10], [None])

    assert prices.duals[0] == prices.duals[1]
    assert prices.bound == pytest.approx(2.5)


def test_what_fits_in_a_bin_for_nothing_is_worth_nothing_and_the_rest_is_still_bounded() -> None:
    bins = (Bin((2,), 0.0), Bin((8,), 4.0))

    prices = best_prices(bins, [(1,), (4,)], [10, 3], [None, None])

    assert prices.values == pytest.approx((0.0, 2.0))
    assert prices.bound == pytest.approx(6.0)


def test_nothing_to_pack_costs_nothing() -> None:
    assert best_prices((), [], [], []) == Prices((), (), 0.0)
    assert best_prices((Bin((1,), 1.0),), [], [], []).bound == 0
    assert best_prices((Bin((), 1.0),), [()], [5], [None]).bound == 0


@pytest.mark.parametrize("distribution", packing_cases.DISTRIBUTIONS)
def test_without_a_solver_the_bound_is_a_fifth_of_a_per_cent_lower_at_most(
    distribution: str,
) -> None:
    vectors = packing_cases.vectors(distribution, 300)
    exact = best_prices(*arguments(vectors))

    assert 0.998 * exact.bound <= without_solver(vectors).bound <= exact.bound * (1 + 1e-4)


def test_too_large_a_case_has_the_prices_that_it_has_without_a_solver(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vectors = packing_cases.vectors("hpcmix", 300)
    monkeypatch.setattr("rowtui.core.packing.optimal.prices.MOST_COLUMNS", 10)

    prices = best_prices(*arguments(vectors))
    assert prices == without_solver(vectors)
    assert prices.bound > 0
