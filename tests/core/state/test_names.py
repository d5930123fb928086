from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.state.model import bit_set, positions
from rowtui.core.state.names import NameTable, Remap, merge_names, remap
from rowtui.core.state.row.postcard import NameBlock, decode_completed

from tests.core.state.encoding import encode_completed

names = st.sets(
    st.binary(min_size=1, max_size=4).filter(lambda name: b"\0" not in name), max_size=40
)


def table_of(found: set[bytes]) -> NameTable:
    return NameTable.of(sorted(found))


@given(st.sets(st.integers(0, 50_000)))
def test_a_set_gives_its_positions_also_where_they_are_few_and_far_apart(chosen: set[int]) -> None:
    assert positions(bit_set(chosen)) == sorted(chosen)


@given(names, names)
def test_a_name_has_its_place_in_the_order_of_bytes(there: set[bytes], other: set[bytes]) -> None:
    table = table_of(there)
    ordered = sorted(there)
    assert table.all() == list(table) == ordered
    for name in there | other:
        assert table.position(name) == (ordered.index(name) if name in there else None)
    asked = sorted(there | other)
    members, unknown = table.find(asked)
    assert [ordered[at] for at in positions(members)] == sorted(there & (there | other))
    assert set(unknown) == other - there


@given(names, names, st.randoms(use_true_random=False))
def test_a_merge_is_the_sorted_set_and_sets_keep_their_directories(
    before: set[bytes], after: set[bytes], rng: random.Random
) -> None:
    old = table_of(before)
    new, mapping = merge_names(old, before - after, after - before)

    assert new.all() == sorted(after)
    lengths = set(map(len, after))
    assert new.width == (lengths.pop() if len(lengths) == 1 else 0)
    chosen = {name for name in before if rng.random() < 0.5}
    moved = remap(bit_set(sorted(before).index(name) for name in chosen), mapping)
    assert {new[at] for at in positions(moved)} == chosen & after
    for at, name in enumerate(old.all()):
        to = mapping.position(at)
        assert (new[to] if to is not None else None) == (name if name in after else None)


@given(names, names)
def test_neighbours_that_stay_neighbours_are_one_run(before: set[bytes], after: set[bytes]) -> None:
    _, mapping = merge_names(table_of(before), before - after, after - before)
    for one, two in zip(mapping.runs, mapping.runs[1:], strict=False):
        assert (one[1], one[2] + one[1] - one[0]) != (two[0], two[2])
    assert bool(mapping) == (before != after)


def test_remap_of_a_large_set_with_many_runs_is_exact() -> None:
    rng = random.Random(1)
    before = {b"%07d" % rng.randrange(10**7) for _ in range(20_000)}
    after = {name for name in before if rng.random() < 0.7} | {b"x%d" % at for at in range(999)}
    old = table_of(before)
    new, mapping = merge_names(old, before - after, after - before)
    members = bit_set(range(0, len(old), 3))
    assert [new[at] for at in positions(remap(members, mapping))] == [
        name for name in old.all()[::3] if name in after
    ]


@pytest.mark.parametrize("shuffled", [False, True])
def test_the_look_up_through_numpy_finds_what_bisect_finds(shuffled: bool) -> None:
    rng = random.Random(2)
    there = sorted({b"%032x" % rng.getrandbits(128) for _ in range(3000)})
    table = NameTable.of(there)
    asked = there[::2] + [b"%032x" % rng.getrandbits(128) for _ in range(500)]
    asked += [b"0" * 32, b"f" * 32]
    block = decode_completed(encode_completed({"a": asked}))["a"]
    assert isinstance(block, NameBlock)
    if shuffled:
        rng.shuffle(asked)
        block = NameBlock(b"".join(b"\x20" + name for name in asked), 32)
    expected = bit_set(at for at in map(table.position, asked) if at is not None)
    assert table.find_block(block) == expected
    assert table.find(block)[0] == expected
    assert NameTable.of([]).find(block)[0] == 0


def test_an_empty_table_knows_nothing() -> None:
    table = NameTable.of([])
    assert (len(table), table.all(), table.position(b"a")) == (0, [], None)
    assert not Remap([], 0, 0).runs
