"""What column generation promises: right packings, true bounds, and proofs only where there are."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys

from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.packing.heuristics.bins import Bin, Item, Patterns, Vectors, patterns_cost
from rowtui.core.packing.model import has_solver
from rowtui.core.packing.optimal.whole_bins import Generated, pack_whole


def always() -> bool:
    return True


def assert_right(patterns: Patterns, vectors: Vectors) -> None:
    """Each item is in it once, in its own bin if it has one, and no bin is over-committed."""
    left = [item.number for item in vectors.items]
    for pattern in patterns:
        kind = vectors.bins[pattern.bin]
        load = [0] * len(kind.size)
        assert pattern.times > 0
        assert pattern.content
        for number, there in pattern.content:
            item = vectors.items[number]
            assert there > 0
            assert item.bin in {None, pattern.bin}
            left[number] -= there * pattern.times
            load = [used + there * part for used, part in zip(load, item.size, strict=True)]
        assert all(map(int.__le__, load, kind.size))
    assert not any(left)


@st.composite
def packings(draw: st.DrawFn, most: int) -> Vectors:
    """A few kinds of items with up to `most` of each; some bound to a bin, some of size zero."""
    axes = draw(st.integers(1, 4))
    size = st.tuples(*[st.integers(0, 40)] * axes)
    price = st.one_of(st.integers(0, 9).map(float), st.floats(0, 5, width=32))
    bins = tuple(draw(st.lists(st.builds(Bin, size, price), min_size=1, max_size=4)))
    items = []
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(bins) - 1))
        part = tuple(draw(st.integers(0, room)) for room in bins[at].size)
        own = at if draw(st.booleans()) else None
        items.append(Item(part, draw(st.integers(0, most)), own))
    return Vectors(bins, tuple(items))


def cloud(seed: int, kinds: int, number: int, gb: int = 1024) -> Vectors:
    """Bins of three shapes in many sizes, and requests in powers of two with odd memory."""
    chance = random.Random(seed)
    bins = [
        Bin((cpus, cpus * each * 1024, gpus), cpus * price + gpus * 0.4)
        for (each, price), cpus in itertools.product(
            ((2, 0.0425), (4, 0.048), (8, 0.063)), (2, 4, 8, 16, 32, 48, 64, 96)
        )
        for gpus in ((0, 4) if cpus == 48 else (0,))
    ]
    items = {}
    while len(items) < kinds:
        cpus = 2 ** chance.choice((0, 0, 1, 1, 2, 3, 4, 5))
        memory = min(200, max(1, round(cpus * chance.lognormvariate(1.1, 0.7)))) * gb
        items[cpus, memory, chance.choice((0,) * 9 + (1,))] = max(1, number // (len(items) + 1))
    return Vectors(tuple(bins), tuple(Item(size, there) for size, there in items.items()))


def test_the_solver_is_installed_where_these_tests_run() -> None:
    assert has_solver()


@settings(max_examples=25, deadline=None)
@given(packings(most=10**6), st.integers(0, 30))
def test_packings_are_right_whenever_the_time_is_over(vectors: Vectors, answers: int) -> None:
    left = iter([True] * answers)

    generated = pack_whole(vectors, lambda: next(left, False))

    assert_right(generated.patterns, vectors)
    assert generated.bound <= patterns_cost(generated.patterns, vectors) * (1 + 1e-12)


def test_the_bound_of_many_items_is_below_what_the_best_of_few_scales_to() -> None:
    # The optimum of n times as many items is at most n times the optimum.
    few = cloud(seed=3, kinds=7, number=3)
    best = pack_whole(few, always)
    assert best.proven
    many = Vectors(few.bins, tuple(item._replace(number=item.number * 1000) for item in few.items))

    generated = pack_whole(many, always)

    assert_right(generated.patterns, many)
    scaled = 1000 * patterns_cost(best.patterns, few)
    assert generated.bound <= scaled * (1 + 1e-9)
    assert patterns_cost(generated.patterns, many) <= scaled * 1.0005


def test_a_million_items_of_twelve_kinds_are_packed_near_the_bound() -> None:
    vectors = cloud(seed=1, kinds=12, number=400_000)

    generated = pack_whole(vectors, always)

    assert_right(generated.patterns, vectors)
    assert patterns_cost(generated.patterns, vectors) <= 1.003 * generated.bound


def test_memory_that_is_a_multiple_of_nothing_is_packed_near_the_bound() -> None:
    chance = random.Random(1)
    whole = cloud(seed=1, kinds=5, number=100_000)
    items = [
        item._replace(size=(item.size[0], item.size[1] - chance.randrange(1000), *item.size[2:]))
        for item in whole.items
    ]
    vectors = Vectors(whole.bins[10:14], tuple(items))

    generated = pack_whole(vectors, always)

    assert_right(generated.patterns, vectors)
    assert patterns_cost(generated.patterns, vectors) <= 1.003 * generated.bound


def test_how_many_items_there_are_changes_little_about_the_work() -> None:
    # The patterns are about as many for a thousand times the items: nothing is done item by item.
    few, many = (cloud(seed=2, kinds=8, number=number) for number in (4_000, 4_000_000))

    one, other = pack_whole(few, always), pack_whole(many, always)

    assert len(other.patterns) <= 3 * len(one.patterns) + 10


def test_twenty_items_of_eight_kinds_are_proven() -> None:
    bins = (Bin((10, 10), 3.0), Bin((6, 6), 2.0))
    items = tuple(Item((1 + at, 8 - at), 2 + at % 2) for at in range(6))
    vectors = Vectors(bins, items)

    generated = pack_whole(vectors, always)

    assert_right(generated.patterns, vectors)
    assert generated.proven


def test_nothing_to_pack_costs_nothing() -> None:
    assert pack_whole(Vectors((Bin((4,), 1.0),), ()), always) == Generated((), 0.0, proven=True)
    assert pack_whole(Vectors((Bin((4,), 1.0),), (Item((9,), 0),)), always) == Generated(
        (), 0.0, proven=True
    )


def test_free_bins_cost_nothing_and_that_is_proven() -> None:
    vectors = Vectors((Bin((4, 4), 0.0), Bin((8, 8), 1.0)), (Item((1, 2), 1000), Item((3, 1), 999)))

    generated = pack_whole(vectors, always)

    assert_right(generated.patterns, vectors)
    assert (generated.bound, generated.proven) == (0.0, True)


def test_huge_numbers_and_huge_sizes_are_packed() -> None:
    huge = 2**62
    vectors = Vectors(
        (Bin((huge, huge), 1.0), Bin((huge // 2, 7), 0.3)),
        (Item((huge // 3, 1), huge), Item((1, huge // 5), 2**40 + 1), Item((0, 0), 5, 1)),
    )

    generated = pack_whole(vectors, always)

    assert_right(generated.patterns, vectors)
    # Most of the first need a bin of 0.3 each; beside so many the others are nothing.
    assert patterns_cost(generated.patterns, vectors) <= 0.3001 * huge
    assert 0 < generated.bound <= 0.3001 * huge


def test_an_item_bound_to_a_dear_bin_goes_there_in_any_number() -> None:
    vectors = Vectors(
        (Bin((8, 8), 1.0), Bin((8, 8), 5.0)), (Item((3, 2), 10_000, 1), Item((2, 3), 20_000))
    )

    generated = pack_whole(vectors, always)

    # Two of the bound ones fill a bin up to one of the others; 5,000 dear bins take 5,000 of
    # these, the other 15,000 need 7,500 bins (two side by side by the second resource).
    assert_right(generated.patterns, vectors)
    assert generated.proven
    assert patterns_cost(generated.patterns, vectors) == 5_000 * 5.0 + 7_500 * 1.0


def test_the_same_items_give_the_same_packing() -> None:
    vectors = cloud(seed=5, kinds=5, number=40)
    answers = (iter([True] * 300) for _ in range(2))

    one, other = (pack_whole(vectors, lambda left=left: next(left, False)) for left in answers)  # type: ignore[misc]

    assert one == other


def test_a_thousand_bins_that_none_betters_are_no_burden() -> None:
    bins = tuple(Bin((5 + at, 1_005 - at), 1 + at % 7 / 10) for at in range(1_000))
    vectors = Vectors(bins, (Item((90, 200), 600), Item((30, 300), 500)))
    answers = iter([True] * 400)

    generated = pack_whole(vectors, lambda: next(answers, False))

    assert_right(generated.patterns, vectors)


def test_importing_the_packers_imports_no_solver() -> None:
    code = "import sys; from rowtui.core.packing import packers; print('highspy' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert (done.stdout.strip(), done.stderr) == ("False", "")
