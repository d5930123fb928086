"""Filling bins: everything once, nothing over-committed, and close to the bound."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from rowtui.core.packing.heuristics import pool
from rowtui.core.packing.heuristics.bins import Bin, Item, Pattern, Vectors, patterns_cost
from rowtui.core.packing.heuristics.fill import FIRST, LARGE, FillMethod, fill, pack
from rowtui.core.packing.heuristics.pool import Ground
from rowtui.core.packing.optimal.prices import best_prices

from bench import packing_cases
from tests.core.packing.drawn_vectors import assert_packed, drawn_vectors


def above_the_bound(vectors: Vectors, way: FillMethod) -> float:
    ground = Ground(vectors)
    numbers = {at: item.number for at, item in enumerate(vectors.items)}
    patterns = pack(ground, numbers, way, lambda: True)
    assert_packed(patterns, vectors)
    bound = best_prices(
        vectors.bins,
        [item.size for item in vectors.items],
        list(numbers.values()),
        [item.bin for item in vectors.items],
    ).bound
    return patterns_cost(patterns, vectors) / bound - 1


@given(drawn_vectors())
def test_every_item_is_packed_once_and_no_bin_is_over_committed(vectors: Vectors) -> None:
    assert_packed(fill(vectors, lambda: False), vectors)


@settings(deadline=None, max_examples=15)
@given(drawn_vectors())
def test_more_time_never_makes_it_dearer(vectors: Vectors) -> None:
    soon, late = fill(vectors, lambda: False), fill(vectors, lambda: True)

    assert_packed(late, vectors)
    assert patterns_cost(late, vectors) <= patterns_cost(soon, vectors)


@pytest.mark.parametrize(
    ("distribution", "most"), [("actions", 0.016), ("hpcmix", 0.008), ("uniform", 0.02)]
)
def test_a_thousand_requests_come_close_to_the_bound(distribution: str, most: float) -> None:
    assert above_the_bound(packing_cases.vectors(distribution, 1000), FIRST) <= most


def test_more_classes_than_a_window_holds_are_packed_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rowtui.core.packing.heuristics.fill.WINDOW", 150)

    assert above_the_bound(packing_cases.vectors("hpcmix", 3000), LARGE) <= 0.02


def test_sizes_that_are_rounded_up_never_over_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "MOST_SIZES", 5)
    vectors = packing_cases.vectors("uniform", 300)

    assert above_the_bound(vectors, FIRST) <= 0.15


def test_of_four_hundred_kinds_of_bins_those_are_used_that_pay() -> None:
    kinds = packing_cases.many_node_types(400)

    assert above_the_bound(packing_cases.vectors("hpcmix", 500, node_types=kinds), FIRST) <= 0.03


def test_the_same_vectors_are_packed_the_same_way() -> None:
    vectors = packing_cases.vectors("hpcmix", 80)

    assert fill(vectors, lambda: True) == fill(vectors, lambda: True)


def test_a_million_of_one_item_are_one_pattern_with_many_times() -> None:
    vectors = Vectors((Bin((8, 8), 1.0),), (Item((2, 1), 10**18),))

    assert fill(vectors, lambda: False) == (Pattern(0, ((0, 4),), 10**18 // 4),)


def test_what_fits_in_a_bin_for_nothing_goes_there_though_a_dear_one_could_be_filled() -> None:
    vectors = Vectors((Bin((4,), 0.0), Bin((100,), 1.0)), (Item((2,), 50), Item((1,), 7)))

    assert patterns_cost(fill(vectors, lambda: True), vectors) == 0


def test_a_bound_item_stays_in_its_bin_and_others_use_the_room_beside_it() -> None:
    vectors = Vectors((Bin((4,), 1.0), Bin((4,), 3.0)), (Item((2,), 5, 1), Item((2,), 5)))

    patterns = fill(vectors, lambda: True)

    assert_packed(patterns, vectors)
    assert patterns_cost(patterns, vectors) == 11  # three dear bins are not to be avoided


def test_items_without_size_join_a_bin_that_is_there_or_the_cheapest() -> None:
    some = Vectors((Bin((4,), 5.0), Bin((1,), 1.0)), (Item((4,), 3), Item((0,), 10**6)))
    none = Vectors((Bin((4,), 5.0), Bin((1,), 1.0)), (Item((0,), 10**6),))
    bound = Vectors((Bin((4,), 5.0), Bin((1,), 1.0)), (Item((0,), 2, 0),))

    assert patterns_cost(fill(some, lambda: False), some) == 15
    assert fill(none, lambda: False) == (Pattern(1, ((0, 10**6),)),)
    assert fill(bound, lambda: False) == (Pattern(0, ((0, 2),)),)
    assert_packed(fill(some, lambda: False), some)


def test_sizes_that_floats_cannot_tell_apart_are_told_apart() -> None:
    large = 2**62
    vectors = Vectors((Bin((large,), 1.0), Bin((large + 1,), 2.0)), (Item((large + 1,), 3),))

    assert fill(vectors, lambda: False) == (Pattern(1, ((0, 1),), 3),)


def test_no_items_need_no_bins() -> None:
    assert fill(Vectors((Bin((4,), 1.0),), ()), lambda: True) == ()
    assert fill(Vectors((), ()), lambda: True) == ()
    assert fill(Vectors((Bin((4,), 1.0),), (Item((2,), 0),)), lambda: True) == ()
