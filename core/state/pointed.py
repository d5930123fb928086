"""What JSON pointers point to in the values just read, each distinct value once.

Takes parsed values, chunk by chunk and in any order; gives for each pointer the distinct values and
a code for each directory. A million directories then cost four bytes a pointer, and only what is
distinct is ever compared (`columns.py`). Values are told apart as they are written: 1 is not 1.0.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from rowtui.core.values import MISSING, Missing, resolve

NOTHING: Final = 0xFFFFFFFF  # the code where the pointer points to nothing

# (distinct values, one code for each directory as bytes of u32); the code behind the last distinct
# value stands for nothing. `marshal` can write it.
Chunk = tuple[list[Any], bytes]

_SCALARS: Final = frozenset((type(None), bool, int, float, str))


class Pointed:
    """One pointer over what was read: `codes` are places in `distinct`, or `NOTHING`."""

    __slots__ = ("_known", "codes", "distinct")

    def __init__(self, count: int) -> None:
        """Of `count` directories; those that no chunk speaks of have nothing."""
        self.distinct: list[Any] = []
        self.codes = array("I", b"\xff" * (4 * count))
        self._known: dict[type, dict[Any, int]] = {}

    def put(self, start: int, chunk: Chunk) -> None:
        """Enter a chunk that begins at the directory `start`."""
        distinct, data = chunk
        kinds = set(map(type, distinct))
        if len(kinds) == 1 and kinds <= _SCALARS:  # nearly always
            known = self._known.setdefault(kinds.pop(), {})
            places: list[Any] = list(map(known.get, distinct))
            if None in places:
                places = [self._place(known, value, value) for value in distinct]
        else:
            places = [
                self._place(self._known.setdefault(kind, {}), key, value)
                for (kind, key), value in zip(map(_written, distinct), distinct, strict=True)
            ]
        codes = array("I", data)
        count = len(codes)
        if places == list(range(len(places))) and len(places) not in codes:
            self.codes[start : start + count] = codes
            return
        places.append(NOTHING)
        self.codes[start : start + count] = array("I", map(places.__getitem__, codes))

    def _place(self, known: dict[Any, int], key: Any, value: Any) -> int:
        place = known.get(key)
        if place is None:
            place = known[key] = len(self.distinct)
            self.distinct.append(value)
        return place


def pointed_to(
    values: Sequence[Any], pointers: Iterable[str], unusable: Collection[int] = ()
) -> list[Chunk]:
    """A chunk for each pointer. `unusable`: positions of `values` that have nothing."""
    chunks: list[Chunk] = []
    for pointer in pointers:
        found = resolved(values, pointer)
        for at in unusable:
            found[at] = MISSING
        chunks.append(as_chunk(found))
    return chunks


def resolved(values: Sequence[Any], pointer: str) -> list[Any]:
    """What a pointer points to in each of these values, `MISSING` where nothing."""
    key = _top_key(pointer)
    if key is not None and set(map(type, values)) == {dict}:  # nearly always
        return [value.get(key, MISSING) for value in values]
    return [resolve(value, pointer) for value in values]


def as_chunk(found: Sequence[Any]) -> Chunk:
    """What was found, each distinct value once, in the order in which they come."""
    types = set(map(type, found))
    types.discard(Missing)
    if len(types) < 2 and types <= _SCALARS:  # equal to Python, equal as they are written
        present = dict.fromkeys(found)
        present.pop(MISSING, None)
        distinct = list(present)
        ranks = dict(zip(distinct, range(len(distinct)), strict=True))
        ranks[MISSING] = len(distinct)
        return distinct, array("I", map(ranks.__getitem__, found)).tobytes()
    keys = list(map(_written, found))
    first = dict(zip(reversed(keys), reversed(found), strict=True))
    nothing = _written(MISSING)
    order = [key for key in dict.fromkeys(keys) if key != nothing]
    ranks = {key: rank for rank, key in enumerate(order)}
    ranks[nothing] = len(order)
    return [first[key] for key in order], array("I", map(ranks.__getitem__, keys)).tobytes()


def _written(value: Any) -> tuple[type, Any]:
    kind = type(value)
    return kind, value if kind in _SCALARS or kind is Missing else repr(value)


def _top_key(pointer: str) -> str | None:
    """The key of the top object that a pointer names, None if it is not so simple."""
    if not pointer.startswith("/") or "~" in pointer or "/" in pointer[1:]:
        return None
    return pointer[1:]
