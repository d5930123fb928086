"""Rank columns: the values of one JSON pointer over all directories, as small integers.

The input is the directories' values and a pointer. The result holds, for every directory, the rank
of its value among the distinct values. These are sorted in an order that extends Row's comparison:
null, booleans, numbers, strings, arrays (by length, then by element), objects. Filters compare with
each distinct value once, and sorts compare ranks. Source: docs/background/state.md.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Iterable, Sequence
from typing import Any, Final

from rowtui.core.base.lazy import np
from rowtui.core.base.values import (
    MISSING,
    JsonKind,
    Missing,
    as_double,
    compact,
    is_double,
    kind_of,
    resolve,
)

# numpy sorts at least this many distinct numbers faster, including the time of its import.
NUMPY_FROM: Final = 200_000
# An integer below this and the double of the same value compare alike with every number.
_EXACT_BELOW: Final = 1 << 53
_MAGIC: Final = b"rowtui column 1\n"

Key = tuple[Any, ...]


class RankColumn:
    """One JSON pointer over all directories, rank-encoded.

    `codes[i]`, of 8, 16 or 32 bits, is the rank of directory i's value among `distinct`, which is
    sorted in an order that extends Row's comparison (kind, then value; equal values share a rank).
    `mixed`: some two distinct values have no order in Row's sense, so that code that orders by this
    column must compare exactly; also set if an array, or a number that may stand for both an
    integer and a double, requires an exact comparison. `uniform`: all values are scalars of one
    type, so that no value is replaced by an equal one that is written differently (1 and 1.0).
    """

    __slots__ = ("codes", "distinct", "mixed", "pointer", "uniform")

    def __init__(
        self,
        pointer: str,
        codes: Sequence[int],
        distinct: Sequence[Any],
        mixed: bool,
        uniform: bool = False,
    ) -> None:
        self.pointer = pointer
        self.codes = codes
        self.distinct = distinct
        self.mixed = mixed
        self.uniform = uniform

    @property
    def missing(self) -> int:
        """Return the code of directories whose value does not contain the pointer."""
        return len(self.distinct)

    def to_bytes(self) -> bytes:
        """Return magic, a header line (JSON), the distinct values, and the codes; little-endian.

        The distinct values are packed if all are doubles ("d") or all 64-bit integers ("q"), else
        they are a JSON array. Reading a million packed values takes no longer than copying them.
        """
        codes = self.codes if isinstance(self.codes, array) else _narrow(self.codes, self.missing)
        short = single_bytes(codes, self.missing + 1)
        if short is not None:
            codes = array("B", short)
        form, distinct = _packed(self.distinct)
        header = {
            "pointer": self.pointer,
            "mixed": self.mixed,
            "uniform": self.uniform,
            "code": codes.itemsize,
            "count": len(codes),
            "form": form,
            "size": len(distinct),
        }
        return b"".join((_MAGIC, json.dumps(header).encode(), b"\n", distinct, _little(codes)))

    @classmethod
    def from_bytes(cls, data: bytes) -> RankColumn:
        """Return the column from the bytes of `to_bytes`.

        Raises: ValueError if the bytes are not a column, or are cut short.
        """
        end = data.find(b"\n", len(_MAGIC))
        if not data.startswith(_MAGIC) or end < 0:
            raise ValueError("not a column")
        header = json.loads(data[len(_MAGIC) : end])
        if not isinstance(header, dict):
            raise ValueError("a column with a strange header")
        count, size = header.get("count"), header.get("size")
        code = {1: "B", 2: "H"}.get(header.get("code", 0), "I")
        body = memoryview(data)[end + 1 :]
        if not isinstance(count, int) or not isinstance(size, int) or not 0 <= size <= len(body):
            raise ValueError("a column with a strange header")
        if len(body) - size != array(code).itemsize * count:
            raise ValueError("a column that is cut short")
        distinct = _unpacked(str(header.get("form")), body[:size])
        codes = _from_little(code, body[size:])
        if not _all_at_most(codes, len(distinct)):
            raise ValueError("a column with codes without a value")
        mixed, uniform = bool(header.get("mixed")), bool(header.get("uniform"))
        return cls(str(header.get("pointer")), codes, distinct, mixed, uniform)


def _all_at_most(codes: array[Any], largest: int) -> bool:
    """Whether no code is larger. With one byte for each code the check is twenty times faster."""
    if codes.itemsize == 1:
        return largest >= 0xFF or not codes.tobytes().translate(None, bytes(range(largest + 1)))
    if codes.itemsize == 2 and largest < 0x100:
        raw = codes.tobytes()
        high = raw[1::2] if sys.byteorder == "little" else raw[0::2]
        low = single_bytes(codes, largest + 1) or b""
        return high == bytes(len(high)) and not low.translate(None, bytes(range(largest + 1)))
    return not codes or max(codes) <= largest


def single_bytes(codes: Sequence[int], count: int) -> bytes | None:
    """Return the codes, all below `count`, as a byte each; None if one byte is too small."""
    if count > 0x100 or not isinstance(codes, array) or codes.itemsize > 2:
        return None
    if codes.itemsize == 1:
        return codes.tobytes()
    return codes.tobytes()[sys.byteorder == "big" :: 2]


def _packed(distinct: Sequence[Any]) -> tuple[str, bytes]:
    types = set(map(type, distinct))
    if types == {float}:
        return "d", _little(array("d", distinct))
    if types == {int} and not any(map(is_double, (min(distinct), max(distinct)))):
        return "q", _little(array("q", distinct))
    return "json", json.dumps(list(distinct), separators=(",", ":")).encode()


def _unpacked(form: str, raw: memoryview) -> Sequence[Any]:
    if form in {"d", "q"}:
        return _from_little(form, raw)
    distinct = json.loads(bytes(raw))
    if not isinstance(distinct, list):
        raise ValueError("a column whose distinct values are not an array")
    return distinct


def _little(numbers: array[Any]) -> bytes:
    if sys.byteorder == "big":
        numbers = numbers[:]
        numbers.byteswap()
    return numbers.tobytes()


def _from_little(typecode: str, raw: memoryview) -> array[Any]:
    numbers: array[Any] = array(typecode)
    numbers.frombytes(raw)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def build_column(pointer: str, values: Iterable[Any]) -> RankColumn:
    """Return the column of `pointer` over `values`, the whole values of all directories.

    `values` are in the order of the directories.
    """
    return rank_values(pointer, [resolve(value, pointer) for value in values])


def rank_values(pointer: str, found: Sequence[Any], *, numpy_from: int = NUMPY_FROM) -> RankColumn:
    """Return the column of the pointer's value for each directory; `MISSING` stands for no value.

    Scalars of one kind, the usual case, never build a sort key for each directory.
    """
    types = set(map(type, found))
    every = Missing not in types
    types.discard(Missing)
    kinds = {_SCALARS.get(kind) for kind in types}
    if len(kinds) > 1 or None in kinds:
        return _rank_by_key(pointer, found)
    # Equal scalars of one kind are also equal in Python, so a set holds the distinct ones. (Strings
    # are not passed to numpy: its fixed-width strings lose trailing NULs.)
    present: set[Any] = set(found)
    present.discard(MISSING)
    if len(present) >= numpy_from and every and types in ({float}, {int}):
        column = _rank_numbers(pointer, found, types)
        if column is not None:
            return column
    distinct: list[Any] = [None] if kinds == {JsonKind.NULL} else sorted(present)
    if kinds == {JsonKind.NUMBER} and not _are_plain(distinct, types):
        return _rank_by_key(pointer, found)
    ranks = {value: rank for rank, value in enumerate(distinct)}
    ranks[MISSING] = len(distinct)
    codes = array(_typecode(len(distinct)), map(ranks.__getitem__, found))
    return RankColumn(pointer, codes, distinct, mixed=False, uniform=len(types) == 1)


_SCALARS: Final = {
    type(None): JsonKind.NULL,
    bool: JsonKind.BOOL,
    int: JsonKind.NUMBER,
    float: JsonKind.NUMBER,
    str: JsonKind.STRING,
}


def _are_plain(ordered: Sequence[float], types: set[type]) -> bool:
    """Whether Python's order and equality of these numbers equal Row's, for all their types."""
    if types == {float}:
        return True
    ends = (ordered[0], ordered[-1])
    return not any(map(is_double if types == {int} else is_wide, ends))


def _rank_by_key(pointer: str, found: Sequence[Any]) -> RankColumn:
    """Rank any mixture of values, with one sort key for each value that is written differently."""
    written = [
        (kind, value if kind in _SCALARS or kind is Missing else repr(value))
        for kind, value in zip(map(type, found), found, strict=True)
    ]
    different = dict(zip(written, found, strict=True))
    keys = {one: total_key(value) for one, value in different.items() if value is not MISSING}
    first: dict[Key, Any] = {}
    for one, key in keys.items():
        first.setdefault(key, different[one])
    order = sorted(first)
    distinct = [first[key] for key in order]
    ranks = {key: rank for rank, key in enumerate(order)}
    codes_of: dict[Any, int] = {one: ranks[key] for one, key in keys.items()}
    codes_of[Missing, MISSING] = len(distinct)
    codes = array(_typecode(len(distinct)), map(codes_of.__getitem__, written))
    return RankColumn(pointer, codes, distinct, mixed=_needs_exact(distinct))


def _needs_exact(distinct: Sequence[Any]) -> bool:
    """Whether two values may be without order, or equal in Row but not in `total_key`."""
    kinds = set(map(kind_of, distinct))
    if len(kinds) > 1 or not kinds.isdisjoint({JsonKind.ARRAY, JsonKind.OBJECT}):
        return True
    return (
        kinds == {JsonKind.NUMBER} and any(map(is_wide, distinct)) and any(map(is_double, distinct))
    )


def _rank_numbers(pointer: str, found: Sequence[Any], types: set[type]) -> RankColumn | None:
    """Rank only doubles or only integers with numpy; None if an integer does not fit 64 bits."""
    numbers: Any
    try:
        numbers = np.array(found, dtype=np.float64 if float in types else np.int64)
    except OverflowError:
        return None
    unique, codes = np.unique(numbers, return_inverse=True)
    packed = array(_typecode(len(unique)))
    packed.frombytes(codes.astype(np.uint16 if packed.itemsize == 2 else np.uint32).tobytes())
    return RankColumn(pointer, packed, unique.tolist(), mixed=False, uniform=True)


def total_key(value: Any, merged: frozenset[float] = frozenset()) -> Key:
    """Return a sort key of a total order on JSON values that extends `values.compare`.

    Two values have the same key if every comparison with a third value has the same result: this
    holds for 1 and 1.0, but not for 2**60 and 2.0**60, because only one of the latter is compared
    as an integer. Wide numbers whose double is in `merged` have the key of their double.
    """
    kind = kind_of(value)
    if kind is JsonKind.NUMBER:
        if not is_wide(value):
            return (kind, value, False)
        if merged and as_double(value) in merged:
            return (kind, as_double(value), False)
        return (kind, value, is_double(value))
    if kind is JsonKind.STRING or kind is JsonKind.BOOL:
        return (kind, value)
    if kind is JsonKind.ARRAY:
        return (kind, len(value), *[total_key(element, merged) for element in value])
    return (kind, compact(value) if kind is JsonKind.OBJECT else "")


def is_wide(number: float) -> bool:
    """Whether a number is so large that neighbouring integers share a double."""
    return not -_EXACT_BELOW < number < _EXACT_BELOW


def wide_numbers(value: Any) -> Iterable[float]:
    """Yield the wide numbers in a value, including those in arrays (objects are never compared)."""
    kind = kind_of(value)
    if kind is JsonKind.NUMBER:
        if is_wide(value):
            yield value
    elif kind is JsonKind.ARRAY:
        for element in value:
            yield from wide_numbers(element)


def _narrow(codes: Sequence[int], largest: int) -> array[int]:
    return array(_typecode(largest), codes)


def _typecode(largest: int) -> str:
    """Return `H` (16 bits) if every code fits, including the missing code; else `I` (32 bits)."""
    return "H" if largest <= 0xFFFF else "I"
