"""Include on rank columns is include by the letter, errors and their names included."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rowtui.core.base.errors import IncomparableError
from rowtui.core.base.values import compare
from rowtui.core.groups import include
from rowtui.core.groups.include import included, verdicts_by_code
from rowtui.core.state.columns import rank_values
from rowtui.core.state.model import bit_set, positions

from tests.core.groups.memory import (
    MemoryDirectories,
    NoAnswerError,
    action,
    json_values,
    numbered,
    plainly_included,
    selector,
    workspaces,
)

OPERATORS = ("<", "<=", "==", "!=", ">=", ">")
conditions = st.tuples(st.sampled_from(["/a", "/b", ""]), st.sampled_from(OPERATORS), json_values)
selectors = st.lists(
    st.lists(conditions, max_size=3).map(lambda all_of: selector(*all_of)), max_size=3
).map(tuple)


@pytest.fixture(params=["one by one", "python", "numpy"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(include, "FEW", 10**9 if request.param == "one by one" else -1)
    monkeypatch.setattr(include, "NUMPY_FROM", 0 if request.param == "numpy" else 10**9)


@given(
    directories=workspaces(),
    rule=selectors,
    numpy_from=st.sampled_from([0, 10**9]),
    few=st.sampled_from([-1, 3, 10**9]),
)
def test_include_is_what_each_directory_alone_would_say(
    directories: MemoryDirectories, rule: tuple[Any, ...], numpy_from: int, few: int
) -> None:
    subject = action(include=rule)
    expected, faulty = set(), []
    for position in range(len(directories)):
        try:
            if plainly_included(subject, directories.value(position)):
                expected.add(position)
        except NoAnswerError:
            faulty.append(position)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(include, "NUMPY_FROM", numpy_from)
        patch.setattr(include, "FEW", few)
        if not faulty:
            found = included(subject, directories, directories.everything)
            assert set(positions(found)) == expected
            return
        with pytest.raises(IncomparableError) as caught:
            included(subject, directories, directories.everything)
    assert caught.value.directories == (directories.name(faulty[0]),)
    assert (f"{len(faulty) - 1} more" in caught.value.message) == (len(faulty) > 1)


@given(st.lists(json_values, max_size=8), st.sampled_from(OPERATORS), json_values)
@example(found=[2**53 + 3, 2**53 + 4, 2.0**53 + 4], operator="==", operand=2**53 + 3)
@settings(max_examples=100)
def test_a_verdict_is_the_comparison_with_each_distinct_value(
    found: list[Any], operator: str, operand: Any
) -> None:
    column = rank_values("/p", found)
    verdicts = verdicts_by_code(column, operator, operand)
    spread = {"<": {-1}, "<=": {-1, 0}, "==": {0}, "!=": {-1, 1}, ">=": {0, 1}, ">": {1}}
    accepted = spread[operator]
    for value, verdict in zip(column.distinct, verdicts, strict=False):
        order = compare(value, operand)
        assert verdict == (2 if order is None else order in accepted)
    assert len(verdicts) == len(column.distinct) + 1
    assert verdicts[-1] == 3


def test_only_directories_that_are_asked_about_count(either_way: None) -> None:
    directories = numbered([{"a": 1}, {"a": "x"}, {"a": 3}, {}])
    subject = action(include=(selector(("/a", ">", 0)),))
    assert included(subject, directories, bit_set([0, 2])) == bit_set([0, 2])
    assert included(subject, directories, bit_set([2])) == bit_set([2])
    assert included(subject, directories, 0) == 0


def test_a_later_condition_is_not_reached_where_an_earlier_one_is_false(either_way: None) -> None:
    directories = numbered([{"kind": "lj", "T": 1}, {"kind": "ideal"}])
    subject = action(include=(selector(("/kind", "==", "lj"), ("/T", "<", 2)),))
    assert included(subject, directories, 3) == 1


def test_a_later_selector_is_not_reached_where_an_earlier_one_holds(either_way: None) -> None:
    directories = numbered([{"old": True}, {"old": False, "T": 5}])
    subject = action(include=(selector(("/old", "==", True)), selector(("/T", "==", 5.0))))
    assert included(subject, directories, 3) == 3


def test_the_first_directory_by_name_is_named_whichever_condition_failed_it() -> None:
    directories = numbered([{"a": 0, "b": "x"}, {"b": 1}, {"a": 1}])
    subject = action("make", include=(selector(("/a", "==", 1)), selector(("/b", "==", 1))))

    with pytest.raises(IncomparableError) as caught:
        included(subject, directories, 7)

    assert caught.value.directories == ("d000",)
    assert caught.value.message == (
        "include of action 'make': cannot compare \"x\" with 1 at '/b' of directory 'd000'"
        " (and the like for 1 more directory)"
    )


def test_a_missing_pointer_says_so() -> None:
    with pytest.raises(IncomparableError, match=r"'d001' has nothing at '/a/0'\n"):
        included(action(include=(selector(("/a/0", "<", 1)),)), numbered([{"a": [0]}, {}]), 3)


def test_names_and_values_in_a_message_cannot_steer_a_terminal() -> None:
    directories = MemoryDirectories({"a\x1b[2J\n": {"v": "\x9b" + "long" * 1000}})
    with pytest.raises(IncomparableError) as caught:
        included(action("\x1b", include=(selector(("/v", "<", 1)),)), directories, 1)
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 250
    assert caught.value.directories == ("a\x1b[2J\n",)


@pytest.mark.parametrize("operand", [math.nan, math.inf, -math.inf])
def test_tomls_nan_and_inf_are_null(operand: float) -> None:
    subject = action(include=(selector(("/a", "==", operand)),))
    assert included(subject, numbered([{"a": None}]), 1) == 1
    with pytest.raises(IncomparableError, match="cannot compare 1 with null"):
        included(subject, numbered([{"a": 1}]), 1)


def test_an_empty_all_holds_and_no_include_is_everything() -> None:
    directories = numbered([1, "x"])
    assert included(action(include=(selector(),)), directories, 3) == 3
    assert included(action(), directories, 2) == 2
    assert included(action(include=(selector(("", "==", 1)),)), numbered([]), 0) == 0
