"""What is said of bins: the cheapest for a load, those worth a look, the steps of costs."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.packing.heuristics.bins import (
    Bin,
    BinFinder,
    Item,
    Vectors,
    price_step,
    stepped_up,
    worthwhile,
)

SIZES = st.tuples(st.integers(0, 6), st.integers(0, 6))
BINS = st.lists(st.builds(Bin, SIZES, st.integers(0, 5).map(float)), min_size=1, max_size=8)


@given(BINS, SIZES)
def test_the_cheapest_bin_is_the_one_that_a_search_through_all_finds(
    bins: list[Bin], load: tuple[int, int]
) -> None:
    holding = [kind.price for kind in bins if all(map(int.__le__, load, kind.size))]

    found = BinFinder(tuple(bins)).cheapest(load)

    assert (None if found is None else bins[found].price) == min(holding, default=None)
    the_first = next(
        (
            at
            for at, kind in enumerate(bins)
            if kind.price == min(holding, default=None) and all(map(int.__le__, load, kind.size))
        ),
        None,
    )
    assert BinFinder(tuple(bins), first=True).cheapest(load) == the_first
    for at, kind in enumerate(bins):
        holds = all(map(int.__le__, load, kind.size))
        assert BinFinder(tuple(bins)).cheapest(load, at) == (at if holds else None)


@given(BINS, st.lists(SIZES, max_size=4))
def test_leaving_out_bins_makes_no_load_dearer(
    bins: list[Bin], sizes: list[tuple[int, int]]
) -> None:
    vectors = Vectors(tuple(bins), tuple(Item(size, 1) for size in sizes))
    every = BinFinder(vectors.bins)
    some = BinFinder(vectors.bins, worthwhile(vectors))
    load = tuple(map(sum, zip((0, 0), *sizes, strict=True)))

    for wanted in [*sizes, load]:
        before, after = every.cheapest(wanted), some.cheapest(wanted)
        assert (before is None) == (after is None)
        if before is not None and after is not None:
            assert bins[before].price == bins[after].price


def test_a_dear_bin_stays_for_the_items_that_are_bound_to_it() -> None:
    bins = (Bin((4,), 1.0), Bin((4,), 2.0), Bin((4,), 3.0))

    assert worthwhile(Vectors(bins, (Item((1,), 1, 1), Item((2,), 1)))) == [0, 1]


def test_of_bins_larger_than_all_items_only_the_cheapest_stays() -> None:
    bins = (Bin((8,), 3.0), Bin((16,), 4.0), Bin((32,), 3.5))

    assert worthwhile(Vectors(bins, (Item((2,), 3),))) == [0]


def test_costs_grow_by_the_common_divisor_of_the_prices() -> None:
    assert price_step([0.096, 0.126, 0.085]) == 0.001
    assert price_step([3.0, 0.0, 4.5]) == 1.5
    assert price_step([1 / 3, 1.0]) == 0.0
    assert price_step([0.0]) == 0.0
    assert price_step([]) == 0.0
    assert price_step([math.inf, 2.0]) == 2.0


def test_a_bound_is_rounded_up_to_a_step_and_never_above_one() -> None:
    assert math.isclose(stepped_up(2.31, 0.5), 2.5)
    assert stepped_up(2.5, 0.5) == 2.5
    assert stepped_up(2.5 + 1e-12, 0.5) == 2.5 + 1e-12
    assert stepped_up(0.3, 0.0) == 0.3
    assert stepped_up(1e9 + 0.2, 0.5) == 1e9 + 0.2
