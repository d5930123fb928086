"""Order, splits and chunks on rank columns are those of the exact comparison, errors included."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.errors import IncomparableError, RowtuiError
from rowtui.core.base.lazy import np
from rowtui.core.base.values import compare, resolve
from rowtui.core.groups import order as ordering
from rowtui.core.groups import wide
from rowtui.core.groups.form import cut_groups, group_sizes, sort_key
from rowtui.core.groups.order import (
    action_order,
    in_order,
    order_from_bytes,
    order_to_bytes,
)
from rowtui.core.state.model import bit_set

from tests.core.groups.memory import (
    MemoryDirectories,
    NoAnswerError,
    action,
    form_groups,
    is_incomparable,
    numbered,
    plainly_grouped,
    workspaces,
)

rules = st.fixed_dictionaries(
    {
        "sort_by": st.sampled_from(
            [("/a",), ("/b",), ("/a", "/b"), ("/b", "/a"), ("/a/0",), ("/a/1", "/a"), ("",), ()]
        ),
        "split_by_sort_key": st.booleans(),
        "reverse_sort": st.booleans(),
        "maximum_size": st.sampled_from([None, None, 1, 2, 3, 4]),
    }
)


@given(
    directories=workspaces(),
    rule=rules,
    data=st.data(),
    numpy_from=st.sampled_from([0, 10**9]),
    stored=st.booleans(),
    as_set=st.booleans(),
)
def test_groups_are_those_of_the_exact_comparison(
    directories: MemoryDirectories,
    rule: dict[str, Any],
    data: st.DataObject,
    numpy_from: int,
    stored: bool,
    as_set: bool,
) -> None:
    subject = action(**rule)
    listed: list[int] = []
    if len(directories):
        some = st.integers(0, len(directories) - 1)
        size = data.draw(st.sampled_from([0, 2, len(directories), len(directories)]))
        listed = data.draw(st.lists(some, min_size=min(size, len(directories)), unique=as_set))
    try:
        expected: list[tuple[int, ...]] | None = plainly_grouped(subject, directories, listed)
    except NoAnswerError:
        expected = None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordering, "NUMPY_FROM", numpy_from)
        order = action_order(subject.group.sort_by, directories) if stored else None
        members = bit_set(listed) if as_set else listed
        try:
            cut = cut_groups(subject, directories, members, order)
        except IncomparableError as error:
            assert expected is None
            assert_that_the_error_is_true(error, subject.group.sort_by, directories)
            return
        assert expected is not None
        assert [group.indices for group in cut.page()] == expected
        assert cut.sizes() == list(map(len, expected))
        assert len(cut) == len(expected)
        assert cut.directories == len(listed)
        assert group_sizes(subject, directories, members, order) == cut.sizes()
        assert all(type(position) is int for group in cut.page() for position in group.indices)


def assert_that_the_error_is_true(
    error: IncomparableError, sort_by: tuple[str, ...], directories: MemoryDirectories
) -> None:
    found = [directories.position(name) for name in error.directories]
    values = [directories.value(position) for position in found if position is not None]
    if is_incomparable(error):
        a, b = ([resolve(value, pointer) for pointer in sort_by] for value in values)
        assert compare(a, b) is None
    else:
        (value,) = values
        assert any(resolve(value, pointer) is resolve({}, "/q") for pointer in sort_by)


@given(directories=workspaces(), data=st.data(), numpy_from=st.sampled_from([0, 10**9]))
def test_an_order_survives_its_bytes(
    directories: MemoryDirectories, data: st.DataObject, numpy_from: int
) -> None:
    sort_by = data.draw(st.sampled_from([("/a",), ("/a", "/b"), ("",)]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordering, "NUMPY_FROM", numpy_from)
        order = action_order(sort_by, directories)
    again = order_from_bytes(order_to_bytes(order))
    assert list(again.permutation) == list(order.permutation)
    assert list(again.key_ids) == list(order.key_ids)
    assert (again.sort_by, again.sound) == (order.sort_by, order.sound)
    assert sorted(order.permutation) == list(range(len(directories)))


@given(st.binary(max_size=60) | st.binary(max_size=60).map(lambda tail: b"rowtui order 1\n" + tail))
def test_what_is_not_an_order_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        order_from_bytes(data)


def test_an_order_that_was_cut_short_is_refused() -> None:
    data = order_to_bytes(action_order(("/a",), numbered([{"a": 1}, {"a": 2}])))
    for end in range(len(data)):
        with pytest.raises(ValueError):
            order_from_bytes(data[:end])


def test_a_sound_order_is_one_where_nothing_is_missing_or_without_order() -> None:
    def sound(*values: Any) -> bool:
        return action_order(("/a",), numbered(values)).sound

    assert sound({"a": 1}, {"a": 2.0})
    assert sound({"a": [1, 2]}, {"a": [1, 3]})
    assert not sound({"a": 1}, {"a": "x"})
    assert not sound({"a": 1}, {})
    assert not sound({"a": {}}, {"a": {}})


def test_directories_that_are_set_aside_do_not_make_an_order_unsound() -> None:
    directories = MemoryDirectories({"a": {"v": 1}, "b": None, "c": {"v": 0}}, bad={"b": "torn"})
    order = action_order(("/v",), directories)
    assert order.sound
    assert in_order(
        action(sort_by=("/v",)), directories, directories.everything, order
    ).positions.tolist() == [2, 0]


@pytest.mark.parametrize("numpy_from", [0, 10**9])
def test_a_stored_order_of_other_pointers_is_not_used(
    numpy_from: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ordering, "NUMPY_FROM", numpy_from)
    directories = numbered([{"a": 1, "b": 2}, {"a": 2, "b": 1}])
    other = action_order(("/b",), directories)
    groups = form_groups(action(sort_by=("/a",)), directories, 3, other)
    assert [group.indices for group in groups] == [(0, 1)]


@pytest.mark.parametrize("numpy_from", [0, 10**9])
def test_ties_come_in_the_order_of_names_and_reversed_in_descending_order(
    numpy_from: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ordering, "NUMPY_FROM", numpy_from)
    directories = numbered([{"T": 2}, {"T": 1}, {"T": 2.0}, {"T": 1}])
    rule = {"sort_by": ("/T",), "split_by_sort_key": True}
    assert [g.indices for g in form_groups(action(**rule), directories, 15)] == [(1, 3), (0, 2)]
    reverse = action(**rule, reverse_sort=True)
    assert [g.indices for g in form_groups(reverse, directories, 15)] == [(2, 0), (3, 1)]


def test_a_pair_without_order_is_named_with_both_values() -> None:
    directories = numbered([{"T": "warm"}, {"T": 1}, {"T": "cold"}])
    with pytest.raises(IncomparableError) as caught:
        form_groups(action("run", sort_by=("/T",)), directories, 7)
    assert caught.value.directories == ("d001", "d002")
    assert caught.value.message == (
        "sort_by of action 'run': cannot compare 1 with \"cold\" at '/T' of directories"
        " 'd001' and 'd002'"
    )


def test_a_pair_without_order_that_is_never_reached_is_no_error() -> None:
    directories = numbered([{"a": 1, "b": "x"}, {"a": 2, "b": 7}])
    subject = action(sort_by=("/a", "/b"))
    assert [g.indices for g in form_groups(subject, directories, 3)] == [(0, 1)]


def test_one_object_alone_can_be_sorted_but_not_twice() -> None:
    directories = numbered([{"k": 1}])
    assert form_groups(action(sort_by=("",)), directories, [0])[0].indices == (0,)
    with pytest.raises(IncomparableError) as caught:
        form_groups(action(sort_by=("",)), directories, [0, 0])
    assert caught.value.directories == ("d000", "d000")


def test_a_missing_sort_key_is_an_error_even_for_one_directory() -> None:
    with pytest.raises(IncomparableError, match=r"'d000' has nothing at '/b' \(.* 2 more"):
        form_groups(action(sort_by=("/a", "/b")), numbered([{"a": 1}] * 3), 7)


def test_where_rows_relation_contradicts_itself_exact_values_decide() -> None:
    # 2.0**53 equals both integers for Row, and they are not equal to each other.
    directories = numbered([2**53 + 1, 2.0**53, 2**53])
    groups = form_groups(action(sort_by=("",), split_by_sort_key=True), directories, 7)
    assert [group.indices for group in groups] == [(2,), (1,), (0,)]


def test_a_maximum_size_of_zero_is_an_error_with_words() -> None:
    subject = action("tiny", maximum_size=0)
    for ask in (form_groups, group_sizes):
        with pytest.raises(RowtuiError, match=r"'tiny' has a group\.maximum_size of 0"):
            ask(subject, numbered([1]), 1)
        assert not ask(subject, numbered([1]), 0)


def test_sizes_without_splitting_need_no_sort() -> None:
    directories = numbered([{"T": 1}, {"T": "x"}, {}])
    subject = action(sort_by=("/T",), maximum_size=2)
    assert group_sizes(subject, directories, 7) == [2, 1]


def test_a_page_is_a_slice_of_all_groups() -> None:
    directories = numbered(list(range(10)))
    subject = action(maximum_size=3, reverse_sort=True)
    every = form_groups(subject, directories, 1023)
    assert [group.indices for group in every] == [(9, 8, 7), (6, 5, 4), (3, 2, 1), (0,)]
    for start in range(-1, 6):
        for length in range(5):
            assert (
                cut_groups(subject, directories, 1023, None).page(start, length)
                == (every[max(0, start) : max(0, start) + length])
            )


def test_python_and_numpy_agree_on_many_directories(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [{"a": (i * 7919) % 101, "b": ((i * 31) % 57) / 4} for i in range(5000)]
    directories = numbered(values)
    members = bit_set(i for i in range(5000) if i % 3)
    subject = action(
        sort_by=("/a", "/b"), split_by_sort_key=True, reverse_sort=True, maximum_size=2
    )
    plain = form_groups(subject, directories, members)
    order = action_order(("/a", "/b"), directories)
    assert form_groups(subject, directories, members, order) == plain

    monkeypatch.setattr(ordering, "NUMPY_FROM", 0)

    assert form_groups(subject, directories, members) == plain
    assert form_groups(subject, directories, members, order) == plain
    fast = action_order(("/a", "/b"), directories)
    assert list(fast.permutation) == list(order.permutation)
    assert list(fast.key_ids) == list(order.key_ids)
    assert [group.indices for group in plain] == plainly_grouped(
        subject, directories, [i for i in range(5000) if i % 3]
    )


def test_keys_of_many_wide_columns_do_not_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [[(i * p) % 997 for p in (7, 11, 13, 17, 19, 23, 29)] for i in range(1000)]
    directories = numbered(values)
    subject = action(sort_by=tuple(f"/{i}" for i in range(7)), split_by_sort_key=True)
    plain = form_groups(subject, directories, (1 << 1000) - 1)
    monkeypatch.setattr(ordering, "NUMPY_FROM", 0)
    assert form_groups(subject, directories, (1 << 1000) - 1) == plain


@given(st.data(), st.sampled_from([2, 1 << 16, 1 << 17, 1 << 33, 1 << 48, 1 << 50]))
def test_digit_by_digit_is_the_order_of_a_stable_sort(data: st.DataObject, span: int) -> None:
    some = data.draw(st.lists(st.integers(0, span - 1), min_size=1, max_size=5))
    keys = data.draw(st.lists(st.sampled_from(some), max_size=30))

    turn = wide._stable_turn(np.array(keys, dtype=np.int64), span).tolist()

    assert turn == sorted(range(len(keys)), key=keys.__getitem__)


def test_a_sort_key_is_shown_as_compact_json() -> None:
    directories = numbered([{"T": 1e-7, "kind": "lj"}])
    assert sort_key(action(), directories, 0) == ""
    assert sort_key(action(sort_by=("/T", "/kind")), directories, 0) == '[1e-7,"lj"]'
    assert sort_key(action(sort_by=("/q",)), directories, 0) == "[null]"
