"""Rows of tables, files and directories become samples, or an error that says which and where."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.values import MISSING
from rowtui.core.network.definition.spec import Existing, SourceRows, TableSource
from rowtui.core.network.samples.model import SourceError
from rowtui.core.runs.directories.source_files import (
    made_by_network,
    rows_from_directories,
    rows_from_files,
)
from rowtui.core.runs.directories.source_tables import MoreOfRows, rows_from_table, typed_column

from tests.core.network.sample_names import sample_name


def csv(header: list[str], *rows: list[str], dimensions: tuple[str, ...] = ()) -> SourceRows:
    lines = range(2, len(rows) + 2)
    return rows_from_table("s", TableSource("t.csv", "csv", dimensions), header, rows, lines)


def objects(header: list[str], *rows: list[Any], dimensions: tuple[str, ...] = ()) -> SourceRows:
    lines = range(1, len(rows) + 1)
    return rows_from_table("s", TableSource("t.json", "json", dimensions), header, rows, lines)


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1", "-2", " +3 "], [1, -2, 3]),
        (["1", "2.5"], [1.0, 2.5]),
        (["1e3", ".5", "1."], [1000.0, 0.5, 1.0]),
        (["1", "x"], ["1", "x"]),
        (["007", "8"], ["007", "8"]),
        (["1", "nan"], ["1", "nan"]),
        (["1", "1e999"], ["1", "1e999"]),
        (["1_000"], ["1_000"]),
        (["١"], ["١"]),
        (["99999999999999999999"], ["99999999999999999999"]),
        (["18446744073709551615"], [2**64 - 1]),
        (["9" * 5000], ["9" * 5000]),
        (["true", "False", "TRUE"], [True, False, True]),
        (["true", "1"], ["true", "1"]),
        (["1", ""], [1, None]),
        (["", " "], [None, None]),
        (["x", " "], ["x", None]),
        ([], []),
    ],
)
def test_a_column_is_of_one_kind(cells: list[str], values: list[Any]) -> None:
    typed = typed_column(cells)

    assert typed == values
    assert list(map(type, typed)) == list(map(type, values))


@given(
    st.lists(st.integers(-(2**63), 2**64 - 1))
    | st.lists(st.floats(allow_nan=False, allow_infinity=False))
)
def test_numbers_that_were_written_come_back(numbers: list[Any]) -> None:
    assert list(map(repr, typed_column(list(map(repr, numbers))))) == list(map(repr, numbers))


def test_the_first_column_is_the_dimension_and_the_others_are_keys() -> None:
    rows = csv(["scan", "age", "note"], ["a", "30", ""], ["b", "41", "late"])

    assert (rows.dimensions, rows.values) == (("scan",), (("a", "b"),))
    assert rows.codes is not None
    assert list(rows.codes[0]) == [0, 1]
    assert list(rows.more) == [{"age": 30, "note": None}, {"age": 41, "note": "late"}]
    assert rows.count == 2
    assert rows.missing == frozenset()


def test_values_are_in_the_order_in_which_they_come() -> None:
    rows = csv(["x", "y"], ["2", "b"], ["1", "b"], ["2", "a"], dimensions=("y", "x"))

    assert rows.values == (("b", "a"), (2, 1))
    assert rows.codes is not None
    assert [list(codes) for codes in rows.codes] == [[0, 0, 1], [0, 1, 0]]
    assert rows.more == ()


def test_rows_that_are_equal_are_named_with_what_would_tell_them_apart() -> None:
    with pytest.raises(SourceError) as error:
        csv(["t", "rep"], ["1", "a"], ["2", "b"], ["1.0", "c"])

    assert error.value.message == "source 's': t.csv:4 has the same t as line 2"
    assert 'dimensions = ["t", "rep"]' in error.value.hint


def test_a_column_missing_says_which_samples_are_absent() -> None:
    rows = csv(["scan", "missing"], ["a", ""], ["b", "true"], ["c", "false"])

    assert rows.missing == {1}
    assert rows.more == ()


def test_a_column_missing_with_something_else_in_it_is_an_error() -> None:
    with pytest.raises(
        SourceError, match=r"t\.csv:3: `missing` is 1, but can only be true or false"
    ):
        csv(["scan", "missing"], ["a", ""], ["b", "1"])


def test_missing_may_be_a_dimension() -> None:
    rows = csv(["scan", "missing"], ["a", "1"], ["a", "2"], dimensions=("scan", "missing"))

    assert rows.missing == frozenset()
    assert rows.values == (("a",), (1, 2))


@pytest.mark.parametrize(
    ("header", "dimensions", "message"),
    [
        (["a", ""], (), "column 2 ('') is empty"),
        (["a", "node"], (), "column 2 ('node') is reserved"),
        (["a", "x\x1by"], (), "control characters"),
        (["a", "b", "a"], (), "two columns 'a'"),
        (["scan", "age"], ("scann",), "no column 'scann'; it has scan, age"),
    ],
)
def test_a_header_that_cannot_be_used_says_which_column(
    header: list[str], dimensions: tuple[str, ...], message: str
) -> None:
    with pytest.raises(SourceError) as error:
        csv(header, dimensions=dimensions)

    assert message in error.value.message
    assert "\x1b" not in str(error.value)


def test_a_table_of_no_rows_has_no_samples() -> None:
    assert csv(["a", "b"]).count == 0
    assert csv(["a", "b"]).values == ((),)
    assert objects([], dimensions=("x",)).count == 0
    with pytest.raises(SourceError, match="is empty, so that"):
        objects([])


def test_objects_keep_what_they_have_and_no_more() -> None:
    rows = objects(["id", "a", "b"], ["1", [1, 2], MISSING], [1, MISSING, None])

    assert rows.values == (("1", 1),)
    assert list(rows.more) == [{"a": [1, 2]}, {"b": None}]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([MISSING], "t.json: entry 2 has no `id`"),
        ([[1]], "t.json: entry 2: id: [1] cannot be the value"),
        ([1.0], "t.json: entry 2 has the same id as entry 1"),
    ],
)
def test_an_object_without_a_usable_dimension_is_named(row: list[Any], message: str) -> None:
    with pytest.raises(SourceError) as error:
        objects(["id"], [1], row)

    assert message in error.value.message


def test_more_of_rows_reads_like_a_list() -> None:
    more = MoreOfRows({"a": [1, MISSING, 3]}, 3)

    assert more == [{"a": 1}, {}, {"a": 3}]
    assert more[-1] == {"a": 3}
    assert more[1:] == [{}, {"a": 3}]
    assert more != [{}]
    with pytest.raises(IndexError):
        more[3]


def test_each_path_is_a_sample() -> None:
    rows = rows_from_files("s", ["a/1", "a/2"], "scan", digest="d")

    assert (rows.dimensions, rows.values, rows.codes) == (("scan",), (("a/1", "a/2"),), None)
    assert (rows.count, rows.digest) == (2, "d")


def test_directories_are_samples_by_the_keys_of_their_values() -> None:
    names = ["a", "b", "c"]
    values = [
        {"x": 1, "deep": {"y": "p"}},
        {"x": 1, "deep": {"y": "q"}},
        {"x": 2, "deep": {"y": "p"}},
    ]

    rows, notices = rows_from_directories("s", Existing(("x", "deep/y")), names, values)

    assert rows.values == ((1, 2), ("p", "q"))
    assert rows.codes is not None
    assert [list(codes) for codes in rows.codes] == [[0, 0, 1], [0, 1, 0]]
    assert rows.names == ("a", "b", "c")
    assert notices == ()


def test_without_dimensions_directories_are_samples_by_name() -> None:
    rows, _ = rows_from_directories("old", Existing((), ("b*",)), ["a", "b1", "b2"], [None] * 3)

    assert (rows.dimensions, rows.values, rows.names) == (("old",), (("b1", "b2"),), ("b1", "b2"))


def test_directories_without_a_key_are_set_aside_and_told() -> None:
    names = ["a", "b\x1b", "c", "d\udcff"]
    values = [{"x": 1}, {}, {"x": [1]}, {"x": 3}]

    rows, notices = rows_from_directories("s", Existing(("x",)), names, values)

    assert rows.names == ("a",)
    assert len(notices) == 3
    assert "no /x" in notices[0]
    assert "[1] cannot be the value" in notices[1]
    assert "not UTF-8" in notices[2]
    assert "\x1b" not in "".join(notices)


def test_a_thousand_notices_are_a_few_and_a_number() -> None:
    names = [f"d{at:04}" for at in range(1000)]

    rows, notices = rows_from_directories("s", Existing(("x",)), names, [None] * 1000)

    assert rows.count == 0
    assert len(notices) == 21
    assert notices[-1] == "980 more are not counted"


def test_directories_that_cannot_be_told_apart_are_named() -> None:
    with pytest.raises(SourceError, match="directories a and c have the same x"):
        rows_from_directories(
            "s", Existing(("x",)), ["a", "b", "c"], [{"x": 1}, {"x": 2}, {"x": 1.0}]
        )


def test_directories_of_networks_are_no_samples() -> None:
    names = ["average,t=1", "average", "plain", "mine"]
    values = [{"node": "average", "t": 1}, {"node": "average"}, {"t": 1}, {"node": "gpu"}]

    rows, notices = rows_from_directories("s", Existing(), names, values)

    assert rows.names == ("plain", "mine")
    assert notices == ()


@given(st.text(min_size=1, max_size=300), st.text(max_size=300))
def test_whatever_a_network_names_is_known_as_its_own(home: str, value: str) -> None:
    assert made_by_network(sample_name(home, ["d"], [value]), {"node": home, "d": value})
    assert made_by_network(sample_name(home, [], []), {"node": home})
