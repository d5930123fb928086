"""Vectors drawn by hypothesis: few and many resources, sizes and prices of zero, huge numbers."""

from __future__ import annotations

from collections import Counter

from hypothesis import strategies as st
from rowtui.core.packing.heuristics.bins import Bin, Item, Patterns, Vectors

AMOUNTS = st.one_of(st.integers(0, 8), st.integers(0, 300), st.sampled_from((0, 2**62, 2**62 + 1)))
PRICES = st.one_of(st.sampled_from((0.0, 1.0, 0.34)), st.floats(0.001, 1000))


@st.composite
def drawn_vectors(draw: st.DrawFn) -> Vectors:
    """Up to eight bins and twelve items, each of which fits in some bin or in its own."""
    resources = draw(st.integers(1, 5))
    size = st.tuples(*[AMOUNTS] * resources)
    bins = tuple(draw(st.lists(st.builds(Bin, size, PRICES), min_size=1, max_size=8)))
    items: dict[tuple[tuple[int, ...], int | None], int] = {}
    for _ in range(draw(st.integers(0, 12))):
        home = draw(st.integers(0, len(bins) - 1))
        shares = draw(st.tuples(*[st.integers(0, 6)] * resources))
        need = tuple(room * share // 6 for room, share in zip(bins[home].size, shares, strict=True))
        own = home if draw(st.booleans()) and draw(st.booleans()) else None
        items[need, own] = draw(st.one_of(st.integers(1, 5), st.integers(1, 10**6)))
    return Vectors(bins, tuple(Item(need, number, own) for (need, own), number in items.items()))


def assert_packed(patterns: Patterns, vectors: Vectors) -> None:
    """Each item exactly once, nothing over-committed, bound items only in their own bins."""
    packed: Counter[int] = Counter()
    for pattern in patterns:
        assert pattern.times > 0
        assert pattern.content
        room = vectors.bins[pattern.bin].size
        for axis, there in enumerate(room):
            taken = sum(vectors.items[at].size[axis] * number for at, number in pattern.content)
            assert taken <= there
        for at, number in pattern.content:
            assert number > 0
            assert vectors.items[at].bin in (None, pattern.bin)
            packed[at] += number * pattern.times
    assert packed == {at: item.number for at, item in enumerate(vectors.items) if item.number}
