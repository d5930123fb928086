"""Conversion of a value file's text into Row's compact JSON, or a reason why not.

The input is the bytes of a file. The result is bytes with sorted keys and no blanks, in which
numbers look as serde_json prints them (as in Row 1.1: integers beyond 64 bits are doubles, `-0` is
`-0.0`, 1e5 is 100000.0; of duplicate keys the last wins).
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from rowtui.core.base.lazy import orjson

if TYPE_CHECKING:
    import re


# Row cannot read its own cache again if a value in it is nested deeper (tested with Row 1.1: its
# parser refuses 128 levels, and the cache adds two).
DEEPEST = 125


class NotJSONError(Exception):
    """The text is not a usable JSON document; the message states why and where."""


def parsed_value(text: bytes) -> Any:
    """Parse one JSON document as Row does. Raises: NotJSONError with line and column."""
    try:
        value = orjson.loads(text)
        if b"-0" in text and _negative_zero().search(text):
            return orjson.loads(_with_negative_zeros(text))
    except orjson.JSONDecodeError as error:
        raise NotJSONError(_why(text, error.msg, error.lineno, error.colno)) from None
    return value


def compact_values(values: Sequence[Any]) -> list[bytes | NotJSONError]:
    """Return the compact form of each of these values, or why it has none.

    The values are written together, which is ten times faster than one by one, and then split at a
    separator that no value can contain.
    """
    between = os.urandom(16).hex()
    woven = [between] * (2 * len(values) - 1)
    woven[::2] = values
    try:
        data = orjson.dumps(woven, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # orjson raises this for values nested deeper than 254 levels
        if len(values) == 1:
            return [NotJSONError(_TOO_DEEP)]
        return [compact for value in values for compact in compact_values([value])]
    written: list[bytes | NotJSONError] = []
    written += data[1:-1].split(b',"%b",' % between.encode()) if values else ()
    if len(data) > 2 * DEEPEST:
        for at, compact in enumerate(written):
            if len(compact) > 2 * DEEPEST and _is_too_deep(compact):  # type: ignore[arg-type]
                written[at] = NotJSONError(_TOO_DEEP)
    return written


def _is_too_deep(compact: bytes) -> bool:
    return compact.count(b"[") + compact.count(b"{") > DEEPEST and _depth(compact) > DEEPEST


_TOO_DEEP = f"it is nested deeper than {DEEPEST} levels"


def _why(text: bytes, message: str, line: int, column: int) -> str:
    try:
        text.decode()
    except UnicodeDecodeError as error:
        before = text[: error.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode()) + 1
        message = f"byte 0x{text[error.start]:02x} is not UTF-8"
    if not text.strip():
        return "it is empty"
    return f"line {line}, column {column}: {message}"


@cache
def _negative_zero() -> re.Pattern[bytes]:
    """Return a pattern for an integer `-0`, or similar text in a string (but not "run-01")."""
    # "-0" comes first, so that the search jumps from one occurrence to the next.
    return re.compile(rb"-0(?<![^\[,:\s]-0)(?![.\deE])")


def _with_negative_zeros(text: bytes) -> bytes:
    """Return valid JSON with each integer `-0` written as `-0.0`, as Row reads it."""
    return re.sub(
        rb'"(?:[^"\\]|\\.)*"|-0(?![.\deE])',
        lambda token: b"-0.0" if token[0] == b"-0" else token[0],
        text,
    )


def _depth(compact: bytes) -> int:
    depth = deepest = 0
    for bracket in re.findall(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', compact):
        if bracket in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif bracket in b"]}":
            depth -= 1
    return deepest
