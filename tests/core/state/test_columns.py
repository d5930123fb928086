"""Rank columns: the order they claim, the two ways of building them, and their bytes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.values import MISSING, JsonKind, compact, compare, kind_of
from rowtui.core.state.columns import RankColumn, build_column, rank_values, total_key

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from([0.0, -0.0, 1.0, 0.5, -2.0])
    | st.sampled_from([2**53, 2**53 + 1, 2.0**53, 2**63, 2**63 + 1, 2.0**63, 2**63 - 1])
    | st.text("ab\0\uffff\U00010000", max_size=2)
)
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=4,
)
found = st.lists(values | st.just(MISSING), max_size=12)


@given(found)
def test_ranks_extend_rows_order(found: list[Any]) -> None:
    column = rank_values("/p", found)

    for a, rank in zip(found, column.codes, strict=True):
        if a is MISSING:
            assert rank == column.missing
            continue
        assert total_key(column.distinct[rank]) == total_key(a)
    for low, high in zip(column.distinct, column.distinct[1:], strict=False):
        assert total_key(low) < total_key(high)
        assert kind_of(low) <= kind_of(high)
        if not column.mixed:
            assert compare(low, high) == -1


@given(values, values, values)
def test_what_shares_a_rank_compares_alike_with_everything(a: Any, b: Any, other: Any) -> None:
    if total_key(a) == total_key(b):
        assert compare(a, other) == compare(b, other)


@given(st.lists(st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e15, 1e15)))
def test_a_column_of_ordinary_numbers_is_not_mixed(found: list[Any]) -> None:
    column = rank_values("/p", found)
    assert not column.mixed
    for a, i in zip(found, column.codes, strict=True):
        for b, j in zip(found, column.codes, strict=True):
            assert compare(a, b) == (i > j) - (i < j)


@pytest.mark.parametrize(
    ("found", "mixed"),
    [
        ([1, 1.0, 2], False),
        (["a", "b"], False),
        ([None, None], False),
        ([True, False, MISSING], False),
        ([MISSING], False),
        ([], False),
        ([2**60, 2**60 + 1], False),
        ([2.0**60, 1.5], False),
        ([2**60, 2.0**60], True),
        ([2**63, 2**63 + 1], True),
        ([1, "a"], True),
        ([True, 1], True),
        ([[1], [2]], True),
        ([{}], True),
    ],
)
def test_mixed_says_whether_ranks_alone_decide(found: list[Any], mixed: bool) -> None:
    assert rank_values("/p", found).mixed is mixed


def test_a_column_is_built_from_whole_values() -> None:
    column = build_column("/T", [{"T": 2}, {}, {"T": 1.0}, {"T": 1}, 7])
    assert list(column.codes) == [1, 2, 0, 0, 2]
    assert column.distinct == [1, 2]
    assert column.pointer == "/T"


def test_strings_that_differ_in_trailing_nuls_are_distinct() -> None:
    column = rank_values("/p", ["a", "a\0", "a\0\0"], numpy_from=0)
    assert list(column.codes) == [0, 1, 2]


def test_more_than_65535_distinct_values_need_wide_codes() -> None:
    column = rank_values("/p", list(range(65_536)))
    assert column.missing == 65_536
    again = RankColumn.from_bytes(column.to_bytes())
    assert list(again.codes) == list(range(65_536))
    assert rank_values("/p", list(range(65_535))).codes.itemsize == 2  # type: ignore[attr-defined]


def test_few_distinct_values_are_kept_in_a_byte_for_each_directory() -> None:
    for count, size in ((255, 1), (256, 2)):
        column = rank_values("/p", [*range(count), MISSING])
        again = RankColumn.from_bytes(column.to_bytes())
        assert again.codes.itemsize == size  # type: ignore[attr-defined]
        assert list(again.codes) == list(column.codes) == [*range(count + 1)]


@pytest.mark.parametrize("count", [3, 300])
def test_a_code_that_stands_for_nothing_is_refused(count: int) -> None:
    data = bytearray(rank_values("/p", list(range(count))).to_bytes())
    data[-1] = count + 1 & 0xFF if count < 256 else 0xFF
    with pytest.raises(ValueError, match="codes without a value"):
        RankColumn.from_bytes(bytes(data))


numbers = st.one_of(
    st.lists(st.integers(-5, 5)),
    st.lists(st.integers(-(2**65), 2**65)),
    st.lists(st.floats(allow_nan=False, allow_infinity=False)),
    st.lists(st.sampled_from([0.0, -0.0, 1.0, 2.0**53])),
    st.lists(st.integers(-5, 5) | st.floats(-5, 5)),
    st.lists(st.integers(-5, 5) | st.just(MISSING)),
    st.lists(st.text(max_size=2)),
)


@given(numbers)
def test_numpy_and_python_build_the_same_column(found: list[Any]) -> None:
    fast, plain = rank_values("/p", found, numpy_from=0), rank_values("/p", found)
    assert list(fast.codes) == list(plain.codes)
    assert list(fast.distinct) == list(plain.distinct)
    assert list(map(type, fast.distinct)) == list(map(type, plain.distinct))
    assert fast.mixed == plain.mixed


@given(found)
def test_a_column_survives_its_bytes(found: list[Any]) -> None:
    column = rank_values("/p/é\n", found)
    again = RankColumn.from_bytes(column.to_bytes())
    assert list(again.codes) == list(column.codes)
    assert list(map(compact, again.distinct)) == list(map(compact, column.distinct))
    assert (again.pointer, again.mixed, again.missing) == ("/p/é\n", column.mixed, column.missing)


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1)
    | st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1)
    | st.lists(st.integers(2**63, 2**64 - 1), min_size=1)
)
def test_packed_numbers_are_exact(found: list[Any]) -> None:
    again = RankColumn.from_bytes(rank_values("/p", found).to_bytes())
    assert [again.distinct[code] for code in again.codes] == found
    assert {type(value) for value in again.distinct} == {type(found[0])}


@given(found, st.integers(0, 200))
def test_a_column_that_was_cut_short_is_refused(found: list[Any], cut: int) -> None:
    data = rank_values("/p", [*found, 1]).to_bytes()
    with pytest.raises(ValueError):
        RankColumn.from_bytes(data[: max(0, len(data) - 1 - cut)])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"rowtui column 2\n{}\n[]\n",
        b"rowtui column 1\n[]\n[]",
        b"rowtui column 1\n{}\n[]",
        b"rowtui column 1\nx\n[]",
        b'rowtui column 1\n{"code":2,"count":0,"form":"json","size":2}\n{}',
        b'rowtui column 1\n{"code":2,"count":0,"form":"json","size":3}\n[]',
        b'rowtui column 1\n{"code":2,"count":2,"form":"json","size":-2}\n[]',
        b'rowtui column 1\n{"code":2,"count":0,"form":"d","size":2}\n[]',
        b'rowtui column 1\n{"code":2,"count":"1","form":"json","size":2}\n[]\x00\x00',
        b'rowtui column 1\n{"code":2,"count":1,"form":"json","size":2}\n[]\x01\x00',
    ],
)
def test_what_is_not_a_column_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        RankColumn.from_bytes(data)


def test_kinds_are_ranked_in_a_fixed_order() -> None:
    column = rank_values("/p", [{}, [1], "a", 1, True, None])
    assert [kind_of(value) for value in column.distinct] == list(JsonKind)
