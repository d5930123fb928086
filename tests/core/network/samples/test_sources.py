"""What is written as a source's values becomes samples: exact, each once, and not too many."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.errors import RowtuiError
from rowtui.core.network.definition.spec import SourceRows, Values
from rowtui.core.network.samples.domain import value_key
from rowtui.core.network.samples.model import SourceError
from rowtui.core.network.samples.sources import (
    NotSpacedError,
    expand_values,
    in_range,
    linspace,
    logspace,
)


def samples(rows: SourceRows) -> list[tuple[Any, ...]]:
    """Every sample's values, in order."""
    if rows.codes is None:
        return list(itertools.product(*rows.values))
    return [
        tuple(values[code] for values, code in zip(rows.values, row, strict=True))
        for row in zip(*rows.codes, strict=True)
    ]


def test_eleven_points_from_one_to_two_are_as_one_would_write_them() -> None:
    rows = expand_values(Values({"t": {"linspace": [1.0, 2.0, 11]}}), "s")

    assert rows.values == ((1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0),)
    assert rows.codes is None
    assert rows.count == 11


decimals = st.decimals(-1000, 1000, places=3).map(float)


@given(decimals, decimals, st.integers(0, 50))
def test_linspace_gives_the_doubles_nearest_to_the_exact_numbers(
    start: float, stop: float, number: int
) -> None:
    first, last = Fraction(str(start)), Fraction(str(stop))

    values = linspace(start, stop, number)

    steps = max(number - 1, 1)
    assert values == [float(first + (last - first) * at / steps) for at in range(number)]


@given(st.floats(1e-300, 1e300), st.floats(1e-300, 1e300), st.integers(2, 30))
def test_logspace_begins_and_ends_where_it_says_and_keeps_its_ratio(
    start: float, stop: float, number: int
) -> None:
    values = logspace(start, stop, number)

    assert (values[0], values[-1], len(values)) == (start, stop, number)
    step = (math.log(stop) - math.log(start)) / (number - 1)
    for left, right in itertools.pairwise(values):
        assert math.isclose(math.log(right) - math.log(left), step, abs_tol=1e-11)


def test_powers_of_ten_are_exact() -> None:
    assert logspace(1e-6, 1e-2, 5) == [1e-06, 1e-05, 0.0001, 0.001, 0.01]
    assert logspace(1, 1000, 4) == [1.0, 10.0, 100.0, 1000.0]
    assert logspace(5, 7, 1) == [5.0]


@given(st.integers(-50, 50), st.integers(-50, 50), st.integers(-7, 7).filter(bool))
def test_a_range_of_integers_is_pythons(start: int, stop: int, step: int) -> None:
    values = in_range([start, stop, step])

    assert values == list(range(start, stop, step))
    assert all(type(value) is int for value in values)
    rows = expand_values(Values({"x": {"range": [start, stop, step]}}), "s")
    assert rows.count == len(values)


def test_a_range_of_decimal_numbers_stops_before_its_end() -> None:
    assert in_range([0.0, 1.0, 0.1]) == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    assert in_range(3) == [0, 1, 2]
    assert in_range([2, 4]) == [2, 3]


@pytest.mark.parametrize(
    "make",
    [
        lambda: in_range([0, 5, 0]),
        lambda: in_range(math.inf),
        lambda: linspace(math.nan, 1.0, 3),
        lambda: logspace(0.0, 1.0, 3),
        lambda: logspace(1.0, -1.0, 3),
    ],
)
def test_steps_that_lead_nowhere_are_refused(make: Any) -> None:
    with pytest.raises(NotSpacedError):
        make()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"range": [0, 5, 0]}, "source 's': t: the step of range is 0"),
        ({"logspace": [-6, -2, 5]}, "no exponents"),
        ({"linspace": [1.0, 1.0, 3]}, "t has 1.0 twice"),
        ([1, 2, 1.0], "t has 1.0 twice (values 1 and 3)"),
        ([1, [2]], "t: [2] cannot be the value of a dimension"),
        ([math.nan], "nan cannot be the value"),
        ([2**64], "cannot be the value"),
        ([10**6000], "an integer of 19932 bits cannot be the value"),
        (["\udcff\x1b"], "cannot be the value"),
    ],
)
def test_values_that_are_none_are_refused_by_name(spec: Any, message: str) -> None:
    with pytest.raises(SourceError) as error:
        expand_values(Values({"t": spec}), "s")

    assert message in error.value.message
    assert error.value.source == "s"
    assert "\x1b" not in str(error.value)


def test_different_kinds_of_values_stand_side_by_side() -> None:
    rows = expand_values(Values({"x": [1, "1", True, "true", 0, False, 1.5, ""]}), "s")

    assert rows.count == 8


def test_a_product_is_told_without_making_it() -> None:
    rows = expand_values(Values({"a": {"range": 10_000}, "b": {"range": 13_000}}), "s")

    assert rows.codes is None
    assert rows.count == 130_000_000


def test_too_many_samples_are_refused_before_they_are_made() -> None:
    values = Values({"a": {"range": 10**6}, "b": {"range": 10**4}})

    with pytest.raises(SourceError, match="it has 10,000,000,000 samples") as error:
        expand_values(values, "s")

    assert "a 1,000,000 x b 10,000" in error.value.message
    assert "134,217,728" in error.value.message


def test_too_many_values_of_one_dimension_are_refused_before_they_are_made() -> None:
    with pytest.raises(SourceError, match="t has 1,000,000,000,000 values"):
        expand_values(Values({"t": {"range": 10**12}}), "s")
    with pytest.raises(SourceError, match="t has 100,000,000 values"):
        expand_values(Values({"t": {"linspace": [0.0, 1.0, 10**8]}}), "s")


def test_zipped_dimensions_go_together_and_are_crossed_with_the_others() -> None:
    values = Values({"a": [1, 2], "x": ["p", "q"], "b": [5, 5]}, zipped=(("a", "b"),))

    rows = expand_values(values, "s")

    assert rows.dimensions == ("a", "x", "b")
    assert rows.values == ((1, 2), ("p", "q"), (5,))
    assert samples(rows) == [(1, "p", 5), (1, "q", 5), (2, "p", 5), (2, "q", 5)]


def test_zipped_dimensions_of_different_lengths_are_refused_with_both() -> None:
    with pytest.raises(SourceError, match="a has 2 values, but b has 3"):
        expand_values(Values({"a": [1, 2], "b": [1, 2, 3]}, (("a", "b"),)), "s")


def test_zipped_values_may_come_again_but_not_together() -> None:
    assert expand_values(Values({"a": [1, 1], "b": [1, 2]}, (("a", "b"),)), "s").count == 2
    with pytest.raises(SourceError, match=r"a and b have 1 and 2 twice \(values 1 and 3\)"):
        expand_values(Values({"a": [1, 1, 1], "b": [2, 3, 2]}, (("a", "b"),)), "s")


def test_zip_of_a_dimension_that_is_none_asks_whether_another_was_meant() -> None:
    with pytest.raises(SourceError) as error:
        expand_values(Values({"temperature": [1], "b": [2]}, (("temprature", "b"),)), "s")

    assert error.value.hint == "did you mean 'temperature'?"


def test_a_dimension_without_values_makes_no_samples() -> None:
    assert expand_values(Values({"a": [], "b": [1]}), "s").count == 0
    assert expand_values(Values({"a": [], "b": [], "c": [1]}, (("a", "b"),)), "s").count == 0


@given(
    st.lists(st.lists(st.integers(0, 9), max_size=4, unique=True), min_size=1, max_size=4),
    st.data(),
)
def test_samples_are_the_product_with_zipped_dimensions_as_one(
    columns: list[list[int]], data: Any
) -> None:
    # Given neighbours of equal length, some of them zipped
    names = [f"d{at}" for at in range(len(columns))]
    alike = [
        (left, right)
        for left, right in itertools.combinations(names, 2)
        if len(columns[int(left[1])]) == len(columns[int(right[1])])
    ]
    zipped = (data.draw(st.sampled_from(alike)),) if alike and data.draw(st.booleans()) else ()

    rows = expand_values(Values(dict(zip(names, columns, strict=True)), zipped), "s")

    # Then samples are those positions in which zipped dimensions agree
    positions = itertools.product(*(range(len(column)) for column in columns))
    expected = [
        tuple(column[at] for column, at in zip(columns, index, strict=True))
        for index in positions
        if all(index[int(left[1])] == index[int(right[1])] for left, right in zipped)
    ]
    assert samples(rows) == expected
    assert rows.count == len(expected)
    assert (rows.codes is None) == (not zipped)


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([1.0, 0.0, -0.0, 2.5, "1", "True", "", 2**53, 2.0**53, 2**53 + 1])
)


@given(scalars, scalars)
def test_two_values_are_the_same_if_they_are_equal_numbers_or_the_same_otherwise(
    one: Any, other: Any
) -> None:
    def kind(value: Any) -> str:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return "number" if number else type(value).__name__

    same = kind(one) == kind(other) and one == other

    assert (value_key(one) == value_key(other)) == same
    assert not same or hash(value_key(one)) == hash(value_key(other))


@pytest.mark.parametrize("value", [math.nan, math.inf, [], {}, 2**64, b"x", "\ud800"])
def test_what_cannot_be_matched_has_no_key(value: Any) -> None:
    with pytest.raises(RowtuiError, match="cannot be the value of a dimension"):
        value_key(value)
