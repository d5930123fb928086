"""Conversion of a value file's text into Row's compact JSON, or a reason why not.

The input is the bytes of a file. The result is bytes with sorted keys and no blanks, in which
numbers look as serde_json prints them (as in Row 1.1: integers beyond 64 bits are doubles, `-0` is
`-0.0`, 1e5 is 100000.0; of duplicate keys the last wins).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from rowtui.core.base.values import MISSING
from rowtui.core.state.pointer_values import Chunk, as_chunk, resolved

if TYPE_CHECKING:
    import re


# The values of a chunk of directories: parsed one by one, written together in compact form.
#
# The input is the text of value files by position. The result is compact JSON, the values of the
# pointers, and why a value cannot be used. The values are written together because writing a
# thousand values costs little more than writing one.


# Parsed values take ten times the memory of their text, so this limits the values held at once.
AT_ONCE = 1 << 20  # bytes of text


class ValueBatch:
    """Values of `count` directories. `raw` and `bad` (reasons) are complete after `close`."""

    def __init__(self, count: int, pointers: Sequence[str] = ()) -> None:
        self.raw: list[bytes | None] = [None] * count
        self.bad: dict[int, str] = {}
        self._pointers = pointers
        self._pointed = {pointer: [MISSING] * count for pointer in pointers}
        self._positions: list[int] = []
        self._values: list[Any] = []
        self._size = 0

    def add(self, position: int, text: bytes) -> None:
        """Enter the text of one value file. Raises: NotJSONError."""
        self._values.append(parsed_value(text))
        self._positions.append(position)
        self._size += len(text)
        if self._size > AT_ONCE:
            self._write()

    def close(self) -> list[Chunk]:
        """Write the remaining values; return a chunk of a `Pointed` for each pointer."""
        self._write()
        return [as_chunk(found) for found in self._pointed.values()]

    def _write(self) -> None:
        if not self._values:
            return
        raw = self.raw
        for position, compact in zip(self._positions, compact_values(self._values), strict=True):
            if isinstance(compact, bytes):
                raw[position] = compact
            else:
                self.bad[position] = str(compact)
        for pointer, found in self._pointed.items():
            chosen = resolved(self._values, pointer)
            if len(chosen) == len(found) and not self.bad:
                self._pointed[pointer] = chosen
                continue
            for position, value in zip(self._positions, chosen, strict=True):
                if position not in self.bad:
                    found[position] = value
        self._positions, self._values, self._size = [], [], 0


# Row cannot read its own cache again if a value in it is nested deeper (tested with Row 1.1: its
# parser refuses 128 levels, and the cache adds two).
DEEPEST = 125


class NotJSONError(Exception):
    """The text is not a usable JSON document; the message states why and where."""


def parsed_value(text: bytes) -> Any:
    """Parse one JSON document as Row does. Raises: NotJSONError with line and column."""
    import orjson

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
    import orjson

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
    import re

    # "-0" comes first, so that the search jumps from one occurrence to the next.
    return re.compile(rb"-0(?<![^\[,:\s]-0)(?![.\deE])")


def _with_negative_zeros(text: bytes) -> bytes:
    """Return valid JSON with each integer `-0` written as `-0.0`, as Row reads it."""
    import re

    return re.sub(
        rb'"(?:[^"\\]|\\.)*"|-0(?![.\deE])',
        lambda token: b"-0.0" if token[0] == b"-0" else token[0],
        text,
    )


def _depth(compact: bytes) -> int:
    import re

    depth = deepest = 0
    for bracket in re.findall(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', compact):
        if bracket in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif bracket in b"]}":
            depth -= 1
    return deepest
