"""Taking bins apart and packing them anew: never dearer, cheaper where it can be."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from hypothesis import example, given, settings
from hypothesis import strategies as st
from rowtui.core.packing.heuristics.bins import (
    Bin,
    Item,
    Pattern,
    Patterns,
    Vectors,
    patterns_cost,
)
from rowtui.core.packing.heuristics.fill import fill
from rowtui.core.packing.heuristics.improve import improve

from bench import packing_cases
from tests.core.packing.drawn_vectors import assert_packed, drawn_vectors


def rounds(number: int) -> Callable[[], bool]:
    asked = count()
    return lambda: next(asked) < number


def each_alone(vectors: Vectors) -> Patterns:
    """Every item in the first bin that holds it, with nothing beside it."""
    return tuple(
        Pattern(
            next(
                at
                for at, kind in enumerate(vectors.bins)
                if item.bin in (None, at) and all(map(int.__le__, item.size, kind.size))
            ),
            ((number, 1),),
            item.number,
        )
        for number, item in enumerate(vectors.items)
    )


HALF = 1 << 62
# A size that floats take for its neighbour, which is too large for every bin.
NEIGHBOURS = Vectors(
    (Bin((0, HALF + 1), 1.0), Bin((0, HALF), 0.0), Bin((HALF, 0), 0.0)),
    (Item((0, 0), 1, 0), Item((0, HALF + 1), 1), Item((HALF // 6, 0), 1)),
)


@settings(deadline=None, max_examples=25)
@given(drawn_vectors(), st.integers(0, 8), st.booleans())
@example(NEIGHBOURS, 2, False)
def test_whatever_was_packed_stays_packed_and_is_never_dearer(
    vectors: Vectors, times: int, filled: bool
) -> None:
    before = fill(vectors, lambda: False) if filled else each_alone(vectors)

    after = improve(vectors, before, rounds(times))

    assert_packed(after, vectors)
    assert patterns_cost(after, vectors) <= patterns_cost(before, vectors)


def test_a_bin_that_is_too_large_is_changed_for_a_smaller_one_without_any_time() -> None:
    vectors = Vectors((Bin((8,), 5.0), Bin((4,), 1.0)), (Item((3,), 2), Item((2,), 1, 0)))
    before = (Pattern(0, ((0, 1),), 2), Pattern(0, ((1, 1),)))

    after = improve(vectors, before, lambda: False)

    assert after == (Pattern(1, ((0, 1),), 2), Pattern(0, ((1, 1),)))


def test_items_alone_in_their_bins_are_put_together() -> None:
    vectors = packing_cases.vectors("hpcmix", 60)
    before = each_alone(vectors)

    after = improve(vectors, before, rounds(60))

    assert_packed(after, vectors)
    assert patterns_cost(after, vectors) < patterns_cost(before, vectors)
    assert after == improve(vectors, before, rounds(60))


def test_more_rounds_find_cheaper_bins_also_for_a_good_packing() -> None:
    vectors = packing_cases.vectors("uniform", 150)
    before = fill(vectors, lambda: False)

    after = improve(vectors, before, rounds(150))

    assert_packed(after, vectors)
    assert patterns_cost(after, vectors) < patterns_cost(before, vectors)


def test_of_a_pattern_with_a_million_copies_many_are_changed_at_once() -> None:
    # Alone each wastes half a bin; two of them fill one.
    vectors = Vectors((Bin((4,), 1.0),), (Item((2,), 10**6), Item((1,), 10**6)))
    before = (Pattern(0, ((0, 1),), 10**6), Pattern(0, ((1, 1),), 10**6))

    after = improve(vectors, before, rounds(300))

    assert_packed(after, vectors)
    assert patterns_cost(after, vectors) < 800_000
