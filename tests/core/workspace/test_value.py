"""Values as Row stores them."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.workspace.value import DEEPEST, NotJSONError, compact_values, parsed_value

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


# Each right side was printed by Row 1.1 for the left side.
def compact_value(text: bytes) -> bytes:
    """The compact form of one JSON document. Raises: NotJSONError."""
    (compact,) = compact_values([parsed_value(text)])
    if isinstance(compact, NotJSONError):
        raise compact
    return compact


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        (b' { "b" : 1.0 , "a" : [ 1 , 2 ] }\n', b'{"a":[1,2],"b":1.0}'),
        (b'{"a":1,"a":2}', b'{"a":2}'),
        (b"-0", b"-0.0"),
        (b"-0.0", b"-0.0"),
        (b"[ -0,\n-0\t,-0]", b"[-0.0,-0.0,-0.0]"),
        (b'["run-0 ,-0",":-0",-0]', b'["run-0 ,-0",":-0",-0.0]'),
        (b'[-0,"-0",-0.5,-01e0]'.replace(b"-01e0", b"-0e0"), b'[-0.0,"-0",-0.5,-0.0]'),
        (rb'{"\"-0":-0}', rb'{"\"-0":-0.0}'),
        (b"1e5", b"100000.0"),
        (b"1e15", b"1000000000000000.0"),
        (b"1e16", b"1e+16"),
        (b"1e-7", b"1e-7"),
        (b"0.00001", b"0.00001"),
        (b"123456789012345678901234567890", b"1.2345678901234568e+29"),
        (b"18446744073709551615", b"18446744073709551615"),
        (b"18446744073709551616", b"1.8446744073709552e+19"),
        (b"-9223372036854775808", b"-9223372036854775808"),
        (b"-9223372036854775809", b"-9.223372036854776e+18"),
        (b"5e-324", b"5e-324"),
        (rb'"\u00e9\u0001\u007f\/"', '"é\\u0001\x7f/"'.encode()),
    ],
)
def test_a_value_is_stored_as_row_stores_it(text: bytes, stored: bytes) -> None:
    assert compact_value(text) == stored


@given(json_values)
def test_compacting_keeps_the_value_and_is_stable(value: object) -> None:
    compact = compact_value(json.dumps(value, indent=1).encode())

    def same(a: object, b: object) -> bool:
        if isinstance(a, float) and isinstance(b, float):
            return a == b and math.copysign(1, a) == math.copysign(1, b)
        if isinstance(a, list) and isinstance(b, list):
            return len(a) == len(b) and all(map(same, a, b))
        if isinstance(a, dict) and isinstance(b, dict):
            return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
        return type(a) is type(b) and a == b

    assert same(json.loads(compact), value)
    assert compact_value(compact) == compact


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "empty"),
        (b" \n ", "empty"),
        (b"NaN", "line 1, column 1"),
        (b"[1,\n 2,\n oops]", "line 3, column 2"),
        (b"1e400", "line 1, column 1"),
        (b"[1] x", "line 1, column 5"),
        (b'{"a":1,}', "trailing comma"),
        (rb'"\ud800"', "surrogate"),
        (b"\xef\xbb\xbf1", "BOM"),
        (b'{\n"\xc3\xa9": "\xff"}', "line 2, column 7: byte 0xff is not UTF-8"),
        (b"{'a':1}", "line 1, column 2"),
        (b'{"a"', "line 1"),
    ],
)
def test_what_is_not_json_says_where(text: bytes, why: str) -> None:
    with pytest.raises(NotJSONError) as raised:
        compact_value(text)
    assert why in str(raised.value)


@pytest.mark.parametrize("opening", [b"[", b'{"[":'])
@pytest.mark.parametrize("depth", [DEEPEST + 1, 300, 100_000])
def test_a_value_that_row_could_not_read_back_is_refused(opening: bytes, depth: int) -> None:
    closing = b"]" if opening == b"[" else b"}"
    with pytest.raises(NotJSONError, match=r"deep|depth"):
        compact_value(opening * depth + b"1" + closing * depth)


def test_the_deepest_value_that_row_can_read_back_is_kept() -> None:
    deepest = b"[" * DEEPEST + b"]" * DEEPEST
    wide = b"[" + b"[]," * 1000 + b'"[[[{{{"]'
    assert compact_value(deepest) == deepest
    assert compact_value(wide) == wide
