"""JSON values as in Row: pointers into them, their comparison, their text.

Every comparison of values in the project follows `compare`; every faster form (rank columns) is
tested against it. The text is the same as serde_json's.
"""

from __future__ import annotations

import enum
import json
import math
from collections.abc import Iterator
from typing import Any, Final

_I64_MIN: Final = -(1 << 63)
_I64_MAX: Final = (1 << 63) - 1


class Missing(enum.Enum):
    """The type of `MISSING`: the result of a pointer without a target. JSON's null is a value."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING


class JsonKind(enum.IntEnum):
    """The kinds of JSON values, in the order in which columns rank them."""

    NULL = 0
    BOOL = 1
    NUMBER = 2
    STRING = 3
    ARRAY = 4
    OBJECT = 5


_KINDS: Final[dict[type, JsonKind]] = {
    type(None): JsonKind.NULL,
    bool: JsonKind.BOOL,
    int: JsonKind.NUMBER,
    float: JsonKind.NUMBER,
    str: JsonKind.STRING,
    list: JsonKind.ARRAY,
    tuple: JsonKind.ARRAY,
}


def kind_of(value: Any) -> JsonKind:
    """Return the kind of a JSON value; one outside of JSON (a TOML date) counts as an object."""
    return _KINDS.get(type(value), JsonKind.OBJECT)


def resolve(value: Any, pointer: str) -> Any:
    """Return the value at an RFC 6901 pointer in `value`, or `MISSING`.

    `""` is the whole value; array indices are decimal without sign or leading zeros; `-`, a step
    into a scalar, and a pointer that does not begin with `/` have no target.
    """
    if not pointer:
        return value
    if pointer[0] != "/":
        return MISSING
    for token in pointer[1:].split("/"):
        if "~" in token:
            token = token.replace("~1", "/").replace("~0", "~")  # noqa: PLW2901
        if isinstance(value, dict):
            if token not in value:
                return MISSING
            value = value[token]
        elif isinstance(value, list):
            index = _index(token)
            if index is None or index >= len(value):
                return MISSING
            value = value[index]
        else:
            return MISSING
    return value


def _index(token: str) -> int | None:
    if not (token.isascii() and token.isdigit()) or (token[0] == "0" and len(token) > 1):
        return None
    return int(token) if len(token) <= 20 else None  # no array is longer than 2**64


def compare(a: Any, b: Any) -> int | None:
    """Return -1, 0 or 1 as `a` is less than, equal to or greater than `b`; None without an order.

    Objects have no order, not even with themselves; neither have arrays of different length or
    values of different kinds. Numbers are compared as integers when both fit 64 signed bits,
    otherwise as doubles.
    """
    kind = kind_of(a)
    if kind is not kind_of(b):
        return None
    if kind is JsonKind.NUMBER:
        return _compare_numbers(a, b)
    if kind is JsonKind.STRING or kind is JsonKind.BOOL:
        return int(a > b) - int(a < b)
    if kind is JsonKind.NULL:
        return 0
    if kind is JsonKind.ARRAY:
        return compare_sequences(a, b)
    return None


def compare_sequences(a: Any, b: Any) -> int | None:
    """Compare two arrays or two tuples of sort keys: the first unequal element decides."""
    if len(a) != len(b):
        return None
    for left, right in zip(a, b, strict=True):
        order = compare(left, right)
        if order != 0:
            return order
    return 0


def is_double(number: float) -> bool:
    """Whether Row compares this number as a double with any other (not a 64-bit integer)."""
    return type(number) is float or not _I64_MIN <= number <= _I64_MAX


def as_double(number: float) -> float:
    """Return the nearest double; infinite for integers that are too large for a double."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _compare_numbers(a: float, b: float) -> int | None:
    if is_double(a) or is_double(b):
        a, b = as_double(a), as_double(b)
        if a != a or b != b:  # noqa: PLR0124  not a number: never in JSON, and never ordered
            return None
    return (a > b) - (a < b)


def compact(value: Any) -> str:
    """Return a value on one line as serde_json prints it: no spaces, sorted keys, `1.0`, `1e+16`.

    Only quotes, backslashes and characters below U+0020 are escaped. Before the text is shown, pass
    it to `rowtui.core.base.text.visible`.
    """
    kind = type(value)
    if kind is float:
        return _float_text(value)
    try:
        text = _encode(value)
    except ValueError:  # NaN or an infinity, which serde_json prints as null
        return _compact_slowly(value)
    return _compact_slowly(value) if "e-" in text and kind is not str else text


_encode = json.JSONEncoder(
    ensure_ascii=False,
    allow_nan=False,
    sort_keys=True,
    separators=(",", ":"),
    check_circular=False,
    default=str,
).encode


def _compact_slowly(value: Any) -> str:
    """Format without the C encoder, for negative exponents, which Python prints differently."""
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_compact_slowly, value)) + "]"
    if isinstance(value, dict):
        items = (f"{_encode(key)}:{_compact_slowly(value[key])}" for key in sorted(value))
        return "{" + ",".join(items) + "}"
    return _encode(value)


def _float_text(value: float) -> str:
    """Format a double with the fewest digits, as serde_json: `1e-05` is 0.00001, `1e-07` 1e-7."""
    if not math.isfinite(value):
        return "null"
    text = repr(value)
    digits, exponent, power = text.partition("e-")
    if not exponent:
        return text
    if int(power) > 5:
        return f"{digits}e-{int(power)}"
    sign = "-" if digits[0] == "-" else ""
    return f"{sign}0.0000{digits.lstrip('-').replace('.', '')}"


def scalar_pointers(value: object) -> Iterator[str]:
    """Yield the pointers to the numbers, texts and truth values of an object."""
    for key, item in value.items() if isinstance(value, dict) else ():
        if isinstance(item, str | int | float):
            yield "/" + key.replace("~", "~0").replace("/", "~1")
