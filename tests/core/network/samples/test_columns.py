"""Whole columns of samples: their order, groups, pairs, and keys beyond 64 bits."""

from __future__ import annotations

from itertools import product as every_combination
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.network.samples.columns import (
    Columns,
    codes_on,
    columns,
    group,
    joint_keys,
    match,
    product,
    ranges,
)
from rowtui.core.network.samples.domain import Domain
from rowtui.core.network.samples.model import Dimension

LARGE = 1 << 22  # three of these are more positions than a number of 64 bits can tell apart


def wide(name: str) -> Domain:
    """A dimension of so many values that nobody wants to see them written, nor to keep them."""
    domain = Domain(name, ())
    domain.values = range(LARGE)  # type: ignore[assignment]
    return domain


BIG = tuple(wide(name) for name in "ABC")
SMALL = tuple(Domain(name, range(4)) for name in "ABC")

tables = st.lists(st.tuples(*[st.integers(0, 3)] * 3), max_size=30, unique=True)


def table_of(rows: list[tuple[int, ...]], axes: tuple[Domain, ...]) -> Columns:
    last = len(axes[0]) - 4
    codes = [[row[at] + (last if row[at] > 1 else 0) for row in rows] for at in range(3)]
    return columns(axes, codes, len(rows))[0]


def test_a_product_has_every_combination_the_last_axis_fastest() -> None:
    axes = [Domain("A", "ab"), Domain("B", [1]), Domain("C", [1.5, True, None])]

    table = product(axes)

    assert table.dimensions == (Dimension("A", 2), Dimension("B", 1), Dimension("C", 3))
    assert [table.index(row) for row in range(table.count)] == list(
        every_combination(range(2), range(1), range(3))
    )
    assert table.id(0) == ("a", "1", "1.5")
    assert table.id(5) == ("b", "1", "null")


def test_a_product_with_an_empty_axis_is_empty_and_one_of_no_axes_is_one_sample() -> None:
    assert product([Domain("A", "ab"), Domain("B", ())]).count == 0
    assert product([Domain("B", ()), Domain("A", "ab")]).count == 0
    one = product([])
    assert (one.count, one.index(0), one.id(0)) == (1, (), ())


def test_rows_are_brought_into_the_order_of_their_indexes() -> None:
    table, moved = columns(SMALL[:2], [[2, 0, 2], [0, 3, 1]])

    assert [table.index(row) for row in range(3)] == [(0, 3), (2, 0), (2, 1)]
    assert moved is not None
    assert moved.tolist() == [1, 0, 2]
    assert columns(SMALL[:2], [[0, 2], [3, 0]])[1] is None


@settings(max_examples=100, deadline=None)
@given(tables, st.sampled_from([SMALL, BIG]))
def test_rows_are_in_the_order_of_their_indexes(
    rows: list[tuple[int, ...]], axes: tuple[Domain, ...]
) -> None:
    table = table_of(rows, axes)

    assert table.count == len(rows)
    indexes = [table.index(row) for row in range(table.count)]
    assert indexes == sorted(indexes)


@settings(max_examples=100, deadline=None)
@given(tables, st.sampled_from([SMALL, BIG]), st.sets(st.integers(0, 2)))
def test_groups_are_the_rows_that_agree(
    rows: list[tuple[int, ...]], axes: tuple[Domain, ...], on: set[int]
) -> None:
    table = table_of(rows, axes)
    wanted: dict[tuple[int, ...], list[int]] = {}
    for row in range(table.count):
        key = tuple(table.index(row)[at] for at in sorted(on))
        wanted.setdefault(key, []).append(row)

    found = group(table, sorted(on))

    parts = [part.tolist() for part in np.split(found.members, found.starts[1:-1])]
    assert (parts if table.count else []) == [wanted[key] for key in sorted(wanted)]
    assert [int(row) for row in found.first] == [wanted[key][0] for key in sorted(wanted)]


numbers = st.lists(st.integers(0, 5) | st.integers(0, 1 << 60), max_size=20)


@given(numbers, numbers)
def test_all_pairs_of_equal_keys_are_found(left: list[int], right: list[int]) -> None:
    lefts, rights = match(np.array(left, dtype=np.int64), np.array(right, dtype=np.int64))

    found = list(zip(lefts.tolist(), rights.tolist(), strict=True))
    wanted = [(i, j) for i, one in enumerate(left) for j, two in enumerate(right) if one == two]
    assert sorted(found) == wanted
    assert lefts.tolist() == sorted(lefts.tolist())


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 3)), max_size=10))
def test_ranges_follow_one_another(parts: list[tuple[int, int]]) -> None:
    begin, many = (np.array([it[at] for it in parts], dtype=np.int64) for at in range(2))

    found = ranges(begin, many)

    assert found.tolist() == [first + at for first, number in parts for at in range(number)]


@given(
    st.lists(st.tuples(*[st.sampled_from([0, 1, 7, LARGE - 1])] * 4), max_size=12),
    st.lists(st.tuples(*[st.sampled_from([0, 1, 7, LARGE - 1])] * 4), min_size=1, max_size=12),
    st.sampled_from([8, LARGE]),
)
def test_joint_keys_are_equal_and_ordered_as_the_codes_are_also_beyond_64_bits(
    one: list[tuple[int, ...]], two: list[tuple[int, ...]], size: int
) -> None:
    tables_ = [
        [np.array([min(row[at], size - 1) for row in rows], dtype=np.int32) for at in range(4)]
        for rows in (one, two)
    ]

    keys = joint_keys(tables_, [size] * 4)

    every = [key for its in keys for key in its.tolist()]
    codes = [
        tuple(code[at] for code in codes_) for codes_ in tables_ for at in range(len(codes_[0]))
    ]
    assert len(every) == len(codes)
    for (a, key), (b, other) in every_combination(zip(codes, every, strict=True), repeat=2):
        assert (a < b) == (key < other)
        assert (a == b) == (key == other)


# Domains


values = st.one_of(
    st.booleans(),
    st.none(),
    st.integers(-2, 3),
    st.sampled_from([0.0, 1.0, 2.5]),
    st.sampled_from(["", "1", "1.0", "true", "null", "a", "A", "a,b=1", "é", "%31"]),
)


@given(st.lists(values, max_size=8), st.lists(values, max_size=8))
def test_values_are_one_if_they_are_equal_and_labels_tell_all_others_apart(
    some: list[Any], more: list[Any]
) -> None:
    domain = Domain("A", ()).extended(some)
    longer = domain.extended(more)

    assert longer.values[: len(domain)] == domain.values
    assert len(set(longer.labels)) == len(longer) <= len(some) + len(more)
    for value in some + more:
        code = longer.code(value)
        same = longer.values[code]
        assert same == value
        assert isinstance(same, bool) == isinstance(value, bool)
    for code, label in enumerate(longer.labels):
        assert longer.label(code) == label
        assert longer.extended(some) is longer


@given(st.lists(values, max_size=6), st.lists(values, max_size=6))
def test_codes_of_one_domain_are_found_in_another_by_value(
    some: list[Any], other: list[Any]
) -> None:
    here, there = Domain("A", ()).extended(some), Domain("A", ()).extended(other)

    codes, size = codes_on(here, there, np.arange(len(there), dtype=np.int32))

    known = set(range(len(here)))
    for value, code in zip(there.values, codes.tolist(), strict=True):
        try:
            assert code == here.code(value)
        except KeyError:
            assert code not in known
    assert len(set(codes.tolist())) == len(there)
    assert all(code < size for code in codes.tolist())
    assert size >= len(here)


def test_a_domain_can_have_labels_of_its_own() -> None:
    domain = Domain("A", [1, 2], ["one", "two"]).extended([3, 1])

    assert domain.labels == ("one", "two", "3")
    assert repr(domain) == "Domain('A', 3)"
    with pytest.raises(KeyError):
        domain.code(4)


def test_a_domain_that_was_extended_keeps_the_codes_of_the_one_before() -> None:
    short = Domain("A", range(1000, 1300))
    long = short.extended(range(900, 2000))

    assert short.codes_in(long) is None
    assert long.codes_in(short) is None
    again = Domain("A", range(1000, 1300))  # equal, but other objects
    assert again.codes_in(short) == list(range(300))
