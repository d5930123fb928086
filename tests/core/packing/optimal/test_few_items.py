"""Column generation proves the best packing of few items, and is never wrong about it."""

from __future__ import annotations

import itertools
import math

from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.packing.heuristics.bins import Bin, Item, Patterns, Vectors, patterns_cost
from rowtui.core.packing.optimal.contents import list_contents
from rowtui.core.packing.optimal.whole_bins import pack_whole

from tests.core.packing.optimal.test_columns import always, assert_right


def prove(vectors: Vectors) -> Patterns:
    """The packing, which has to be proven."""
    generated = pack_whole(vectors, always)
    assert generated.proven
    return generated.patterns


@st.composite
def few_items(draw: st.DrawFn) -> Vectors:
    """At most nine items that all fit somewhere; some bound to a bin, some of size zero."""
    axes = draw(st.integers(1, 3))
    size = st.tuples(*[st.integers(0, 12)] * axes)
    price = st.one_of(st.integers(0, 9).map(float), st.floats(0, 5, width=32))
    bins = tuple(draw(st.lists(st.builds(Bin, size, price), min_size=1, max_size=4)))
    items = []
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(bins) - 1))
        part = tuple(draw(st.integers(0, most)) for most in bins[at].size)
        number = draw(st.integers(0, 3 if len(items) < 4 else 1))
        items.append(Item(part, number, at if draw(st.booleans()) else None))
    while sum(item.number for item in items) > 9:
        items.pop()
    return Vectors(bins, tuple(items))


def lowest_cost(vectors: Vectors) -> float:
    """By trying every division of the items."""
    single = [item for item in vectors.items for _ in range(item.number)]
    alone = [math.inf] * (1 << len(single))
    for chosen in range(1, len(alone)):
        inside = [item for place, item in enumerate(single) if chosen >> place & 1]
        load = [sum(parts) for parts in zip(*(item.size for item in inside), strict=True)]
        for at, kind in enumerate(vectors.bins):
            allowed = all(item.bin in {None, at} for item in inside)
            if allowed and all(map(int.__le__, load, kind.size)):
                alone[chosen] = min(alone[chosen], kind.price)
    best = [0.0, *alone[1:]]
    for chosen in range(1, len(best)):
        first = chosen & -chosen
        others = rest = chosen ^ first
        while rest:
            rest = (rest - 1) & others
            best[chosen] = min(best[chosen], alone[rest | first] + best[others ^ rest])
    return best[-1]


@settings(max_examples=60, deadline=None)
@given(few_items())
def test_few_items_cost_what_trying_everything_finds(vectors: Vectors) -> None:
    generated = pack_whole(vectors, always)

    cost, least = patterns_cost(generated.patterns, vectors), lowest_cost(vectors)
    assert_right(generated.patterns, vectors)
    assert generated.proven
    assert generated.bound <= least * (1 + 1e-9)
    assert math.isclose(cost, least, rel_tol=2e-6, abs_tol=1e-12)


def test_the_greedy_choice_is_not_taken_where_it_is_not_the_best() -> None:
    # Filling the bin with 6 + 3 leaves 5 and 4 + 2, which then need two more bins.
    vectors = Vectors((Bin((10,), 1.0),), tuple(Item((size,), 1) for size in (6, 5, 4, 3, 2)))

    patterns = prove(vectors)

    assert patterns_cost(patterns, vectors) == 2.0


def test_ten_different_items_that_all_fit_together_in_part_are_proven() -> None:
    items = tuple(Item((61 + 7 * place, 97 - 5 * place), 1) for place in range(10))
    bins = tuple(Bin((100 * size, 90 * size), size**0.9) for size in range(1, 9))

    patterns = prove(Vectors(bins, items))

    assert_right(patterns, Vectors(bins, items))


def test_thirty_items_of_two_kinds_are_proven() -> None:
    vectors = Vectors((Bin((7, 9), 2.0), Bin((3, 4), 1.0)), (Item((2, 3), 15), Item((3, 1), 15)))

    patterns = prove(vectors)

    # One bin after another: the cheapest way to what is left of both kinds.
    best = {(0, 0): 0.0}
    for left in itertools.product(range(16), range(16)):
        for taken in itertools.product(range(left[0] + 1), range(left[1] + 1)):
            load = (2 * taken[0] + 3 * taken[1], 3 * taken[0] + taken[1])
            fits = [kind.price for kind in vectors.bins if all(map(int.__le__, load, kind.size))]
            if any(taken) and fits:
                rest = best[left[0] - taken[0], left[1] - taken[1]]
                best[left] = min(best.get(left, math.inf), min(fits) + rest)
    assert_right(patterns, vectors)
    assert patterns_cost(patterns, vectors) == best[15, 15]


def test_an_item_bound_to_a_dear_bin_is_put_there_and_others_join_it() -> None:
    vectors = Vectors((Bin((4,), 1.0), Bin((4,), 5.0)), (Item((3,), 1, 1), Item((1,), 1)))

    assert prove(vectors) == ((1, ((0, 1), (1, 1)), 1),)


def test_more_contents_than_wanted_are_not_listed() -> None:
    items = tuple(Item((1 + place,), 1) for place in range(24))

    assert list_contents(Vectors((Bin((250,), 1.0),), items), always, most=100) is None


def test_a_content_is_not_listed_if_one_more_item_costs_the_same() -> None:
    vectors = Vectors((Bin((5,), 1.0),), (Item((2,), 2), Item((3,), 1)))

    assert list_contents(vectors, always, most=100) == [((0, 1), (1, 1)), ((0, 2),)]


def test_huge_numbers_and_free_bins_are_packed() -> None:
    huge = 2**62
    vectors = Vectors(
        (Bin((huge, huge), 0.0), Bin((huge, 1), 3.0)),
        (Item((huge - 1, 1), 2), Item((1, huge - 1), 2), Item((0, 0), 3, 1)),
    )

    patterns = prove(vectors)

    assert_right(patterns, vectors)
    assert patterns_cost(patterns, vectors) == 3.0
