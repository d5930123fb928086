"""The language of filters: what it says, what it refuses; it agrees with a plain reading."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.filter import (
    FilterError,
    number_of,
    parse_filter,
    places,
    row_matches,
    with_known_fields,
)
from rowtui.core.base.values import MISSING

ROWS = [
    {"name": "T0.7-s1", "status": "failed", "dirs": 12, "why": "exit code 2"},
    {"name": "T0.9-s2", "status": "eligible", "dirs": 128, "why": ""},
    {"name": "old run", "status": "Completed", "dirs": 0, "elapsed": "01:30:00"},
]


def chosen(text: str) -> list[int]:
    return [at for at, row in enumerate(ROWS) if row_matches(parse_filter(text), row)]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("", [0, 1, 2]),
        ("t0", [0, 1]),
        ("T0 s1", [0]),
        ("t0 !s1", [1]),
        ("completed", [2]),
        ("COMPLETED", []),  # a capital means capitals
        ('"old run"', [2]),
        ('!"old run"', [0, 1]),
        ("name=t0.7-s1", [0]),
        ("status!=failed", [1, 2]),
        ("!status!=failed", [0]),
        ("dirs>12", [1]),
        ("dirs>=12 dirs<=12", [0]),
        ("dirs=0.12k dirs<1k", []),
        ("dirs=128", [1]),
        ("elapsed>1h", [2]),
        ("elapsed<=01:30:00", [2]),
        ("why=", [1, 2]),
        ("~s[12]$", [0, 1]),
        ("name~^old", [2]),
        ('name~"d r"', [2]),
        ("!~^T", [2]),
        ("nothing=1", []),
        ("nothing!=1", [0, 1, 2]),
    ],
)
def test_a_filter_takes_the_rows_that_it_says(text: str, rows: list[int]) -> None:
    assert chosen(text) == rows


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("!", "! needs a condition"),
        ('a "b c', "quote is not closed (at character 3)"),
        ("dirs<many", "'many' is not a number (at character 6)"),
        ("dirs<", "the number is missing"),
        ("name~(", "unterminated subpattern (at character 6)"),
        ("~" + "a" * 201, "at most 200"),
        ("a" * 401, "at most 400"),
        ("~(a+)+$", "could take forever"),
        ("~(a|aa)+$", "could take forever"),
        ("~(.*)(.*)(.*)x", "could take forever"),
        (r"~(a)\1", "could take forever"),
        ("~" + "a?" * 40, "could take forever"),
        ("~" + "(" * 80 + ")" * 80 + "a{99999999999}", "too"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_place(text: str, says: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse_filter(text)
    assert says in caught.value.message


@pytest.mark.parametrize("text", ["~^(lj|wca)-[0-9]+.*x", "~a?b+c{2,3}", "~(ab){3}", "~(?i:x)y*"])
def test_ordinary_patterns_are_taken(text: str) -> None:
    assert parse_filter(text).terms


def test_a_field_that_the_list_does_not_have_is_named_with_those_it_has() -> None:
    known = {"name": "name", "dirs": "size", "size": "size"}
    assert with_known_fields(parse_filter("Dirs>2"), known).fields == ("size",)
    with pytest.raises(FilterError, match="no column 'nmae'") as caught:
        with_known_fields(parse_filter("nmae=x"), known)
    assert "did you mean name?" in caught.value.hint
    assert with_known_fields(parse_filter("T=0.7 /a/b=1"), known, pointers=True).fields == (
        "/T",
        "/a/b",
    )


def test_the_places_of_a_match_are_where_it_is_seen() -> None:
    wanted = parse_filter("t0 name~s\\d !x status=failed")
    assert places(wanted, "name", "T0.7-s1 T0") == [(0, 2), (5, 7), (8, 10)]
    assert places(wanted, "status", "failed") == [(0, 6)]
    assert places(wanted, "other", "s1 failed") == []


def test_numbers_are_read_as_people_write_them() -> None:
    assert [number_of(text) for text in ("1,200", "2k", "1.5h", "1-00:00:00", "0:05", "-3e2")] == [
        1200, 2000, 5400, 86_400, 300, -300,
    ]  # fmt: skip
    assert [number_of(text) for text in ("", "x", "1.2.3", ",", "1:2:3", "²")] == [None] * 6


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()


@given(st.text(max_size=60), st.dictionaries(st.sampled_from("abc"), SCALARS))
def test_any_text_is_a_filter_or_an_error_that_says_why(text: str, row: dict[str, object]) -> None:
    try:
        wanted = parse_filter(text)
    except FilterError:
        return  # with a message, always: see above
    assert row_matches(wanted, row) in (True, False)


WORDS = st.text(st.sampled_from("abAB0. "), min_size=1, max_size=4)
CONDITIONS = st.tuples(
    st.booleans(), st.sampled_from(["", "x", "y"]), st.sampled_from(["", "=", "~"]), WORDS
)
TEXT_ROWS = st.fixed_dictionaries({"x": WORDS, "y": WORDS | st.just("")})


@given(st.lists(CONDITIONS, max_size=3), TEXT_ROWS)
def test_texts_agree_with_a_plain_reading(
    conditions: list[tuple[bool, str, str, str]], row: dict[str, str]
) -> None:
    def fits(negated: bool, field: str, operator: str, word: str) -> bool:
        texts = [row[field]] if field else list(row.values())
        if word == word.lower():
            texts = [text.lower() for text in texts]
        if operator == "=":
            return any(text == word for text in texts) != negated
        return any(word in text for text in texts) != negated

    conditions = [
        (negated, field, operator if field else operator.replace("=", ""), word)
        for negated, field, operator, word in conditions
        if not (field and not operator)
    ]
    parts = [
        ("!" if negated else "")
        + field
        + operator
        + '"{}"'.format(re.escape(word).replace("\\ ", " ") if operator == "~" else word)
        for negated, field, operator, word in conditions
    ]
    expected = all(fits(*condition) for condition in conditions)
    assert row_matches(parse_filter(" ".join(parts)), row) == expected


@given(
    st.sampled_from(["<", "<=", ">", ">=", "=", "!="]),
    st.integers(-5, 5) | st.floats(-5, 5),
    st.integers(-5, 5) | st.floats(-5, 5) | st.booleans() | st.text(max_size=2) | st.just(MISSING),
)
def test_numbers_agree_with_python(operator: str, asked: float, value: object) -> None:
    found = row_matches(parse_filter(f"x{operator}{asked!r}"), {"x": value})
    if isinstance(value, bool) or not isinstance(value, int | float):
        number = number_of(value) if isinstance(value, str) else None
        if operator in ("=", "!="):
            assert found == ((value == repr(asked)) == (operator == "="))
            return
        if number is None:
            assert not found
            return
        value = number
    plain = {
        "<": value < asked, "<=": value <= asked, ">": value > asked, ">=": value >= asked,
        "=": value == asked, "!=": value != asked,
    }  # fmt: skip
    assert found == plain[operator]


def test_the_slowest_pattern_that_is_taken_ends_soon() -> None:
    wanted = parse_filter("~a*a*b")
    began = time.process_time()
    assert not row_matches(wanted, {"x": "a" * 5000})
    assert time.process_time() - began < 30  # an endless one would take years
