"""Pointers, comparison and text of JSON values, against the table that they follow."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.values import MISSING, compact, compare, resolve

I64 = 1 << 63

numbers = (
    st.integers(-3, 3)
    | st.integers(-(1 << 64), 1 << 64)
    | st.sampled_from([0.0, -0.0, 1.0, 0.5, 2.0**53, 2.0**63, 2**53 + 1, I64 - 1, I64, -I64])
    | st.floats(allow_nan=False, allow_infinity=False)
)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | numbers | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


def table(a: Any, b: Any) -> int | None:
    """The comparison, row by row as the reference's table has it."""
    if isinstance(a, str) and isinstance(b, str):
        left, right = a.encode("utf-8", "surrogatepass"), b.encode("utf-8", "surrogatepass")
        return 0 if left == right else -1 if left < right else 1
    if isinstance(a, bool) and isinstance(b, bool):
        return 0 if a == b else -1 if not a else 1
    if a is None and b is None:
        return 0
    a_number = isinstance(a, (int, float)) and not isinstance(a, bool)
    b_number = isinstance(b, (int, float)) and not isinstance(b, bool)
    if a_number and b_number:
        if not all(isinstance(x, int) and -I64 <= x < I64 for x in (a, b)):
            a, b = float(a), float(b)
        return 0 if a == b else -1 if a < b else 1
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for x, y in zip(a, b, strict=True):
            order = table(x, y)
            if order is None or order:
                return order
        return 0
    return None


@given(json_values, json_values)
def test_compare_is_the_table(a: Any, b: Any) -> None:
    assert compare(a, b) == table(a, b)


@given(json_values, json_values)
def test_compare_is_antisymmetric(a: Any, b: Any) -> None:
    forward, backward = compare(a, b), compare(b, a)
    assert forward == (None if backward is None else -backward)


@pytest.mark.parametrize(
    ("a", "b", "order"),
    [
        (5, 5.0, 0),
        (True, 1, None),
        (None, None, 0),
        (None, 0, None),
        ("Z", "a", -1),
        ("\uffff", "\U00010000", -1),  # code points, not UTF-16 units
        (2**53, 2**53 + 1, -1),
        (2.0**53, 2**53 + 1, 0),
        (2**63, 2**63 + 1, 0),
        (2**63 - 1, 2**63, 0),
        (-0.0, 0, 0),
        ([1, "a"], [2, None], -1),
        ([1, "a"], [1, None], None),
        ([], [], 0),
        ([1], [2, 3], None),
        ({}, {}, None),
        ([{}], [{}], None),
        ([1, {}], [2, {}], -1),
        (10**400, 1.0, 1),
        (-(10**400), 1.0, -1),
    ],
)
def test_compare_of(a: Any, b: Any, order: int | None) -> None:
    assert compare(a, b) == order


def test_a_toml_date_has_no_order() -> None:
    import datetime

    day = datetime.date(2024, 1, 1)
    assert compare(day, day) is None
    assert compare(day, "2024-01-01") is None
    assert compact(day) == '"2024-01-01"'


DOCUMENT = {"p": 1, "/": 2, "": 3, "~": 4, "m~n": 5, "a": [10, 20, [30]], "~1": 6, "n": None}


@pytest.mark.parametrize(
    ("pointer", "found"),
    [
        ("", DOCUMENT),
        ("/", 3),
        ("/p", 1),
        ("/~1", 2),
        ("/~0", 4),
        ("/~01", 6),
        ("/m~0n", 5),
        ("/m~n", 5),
        ("/n", None),
        ("/a/0", 10),
        ("/a/2/0", 30),
        *((pointer, MISSING) for pointer in ("p", "/q", "/a/3", "/a/00", "/a/01", "/a/+1")),
        *((pointer, MISSING) for pointer in ("/a/-", "/a/-1", "/a/", "/a/1 ", "/a/１", "/a/²")),
        *((pointer, MISSING) for pointer in ("/p/0", "/n/x", "/a/0/", "/~2", "//")),
        ("/a/" + "9" * 5000, MISSING),
    ],
)
def test_resolve(pointer: str, found: Any) -> None:
    assert resolve(DOCUMENT, pointer) == found


@pytest.mark.parametrize("document", [7, "text", None, True])
def test_a_step_into_a_scalar_is_missing(document: Any) -> None:
    assert resolve(document, "/0") is MISSING
    assert resolve(document, "") == document


@pytest.mark.parametrize(
    ("value", "text"),
    [  # as printed by Row 1.1.0, `show directories -a X --value ""`
        (1e16, "1e+16"),
        (1e15, "1000000000000000.0"),
        (1.2345678901234567e20, "1.2345678901234567e+20"),
        (1e300, "1e+300"),
        (1e-4, "0.0001"),
        (1e-5, "0.00001"),
        (4.35e-5, "0.0000435"),
        (-1.234567890123e-5, "-0.00001234567890123"),
        (1e-6, "1e-6"),
        (9.99e-6, "9.99e-6"),
        (-1e-7, "-1e-7"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (0.1, "0.1"),
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (2**64 - 1, "18446744073709551615"),
        (True, "true"),
        (None, "null"),
        ('é \x00\x01\x1f\x7f\x80\u2028"\\/\b\f\n\r\t😀', None),
        ({"b": 1, "a": {"z": [], "y": {}}, "é": [1.0, True, None], "\n": "x"}, None),
        ({"\ue000": 1, "😀": 2, "a\0": 3, "a": 4}, '{"a":4,"a\\u0000":3,"\ue000":1,"😀":2}'),
        ([1, [2, [3.0, {"p": 1e-9, "o": "e-"}]]], '[1,[2,[3.0,{"o":"e-","p":1e-9}]]]'),
        (["1e-07", 1], '["1e-07",1]'),
        (math.nan, "null"),
        ([math.inf, 1], "[null,1]"),
    ],
)
def test_compact_prints_what_row_prints(value: Any, text: str | None) -> None:
    expected = {
        "é": '"é \\u0000\\u0001\\u001f\x7f\x80\u2028\\"\\\\/\\b\\f\\n\\r\\t😀"',
        "{": '{"\\n":"x","a":{"y":{},"z":[]},"b":1,"é":[1.0,true,null]}',
    }
    assert compact(value) == (text or expected["é" if isinstance(value, str) else "{"])


@given(json_values)
def test_compact_is_json_of_the_same_value(value: Any) -> None:
    text = compact(value)
    assert "\n" not in text
    assert json.loads(text) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_compact_of_a_double_reads_back_exactly_alone_and_inside(number: float) -> None:
    assert json.loads(compact(number)) == number
    assert compact([number]) == f"[{compact(number)}]"
