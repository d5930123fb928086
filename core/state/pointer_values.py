"""The values of JSON pointers in the data just read, each distinct value once.

The input is parsed values, in chunks of any order. The result holds, for each pointer, the distinct
values and a code for each directory. A million directories then cost four bytes a pointer, and only
distinct values are ever compared (`columns.py`). Values with different notation are distinct: 1 is
not 1.0.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from rowtui.core.base.lazy import orjson
from rowtui.core.base.values import MISSING, Missing, compact, resolve
from rowtui.core.state.directories import StoredDirectories

if TYPE_CHECKING:
    from rowtui.core.state.columns import RankColumn
    from rowtui.core.state.model import Directories


# The texts of JSON pointers' values, for many directories.
#
# The input is directories and pointers; the result is compact JSON as `values.compact` writes it.
# If a pointer has a stored column, each distinct value is written once. A value is read from the
# directory itself only if the column may have replaced it by an equal one (1 for 1.0, 0.0 for
# -0.0).


_LOOK = ""  # a text that no value has: read the directory's own value
_KEPT = 1 << 15  # directories whose texts are kept: a table asks twice, for widths and for rows


class PointerTexts:
    """The texts of some pointers, for the requested directories."""

    def __init__(self, directories: Directories, pointers: Sequence[str]) -> None:
        self._directories = directories
        self._pointers = pointers
        self._columns: dict[str, RankColumn] = {}
        if isinstance(directories, StoredDirectories):
            for pointer in directories.pointers:
                if pointer in pointers:
                    self._columns[pointer] = directories.column(pointer)
        self._known: dict[str, dict[int, str | None]] = {it: {} for it in self._columns}
        self._kept: dict[tuple[int, ...], list[list[str | None]]] = {}
        self._count = 0

    def at(self, positions: Sequence[int]) -> list[list[str | None]]:
        """Return, for each pointer, one text for each position; None where there is no value."""
        if not self._pointers:
            return []
        key = tuple(positions)
        kept = self._kept.get(key)
        if kept is None:
            kept = self._at(positions)
            self._count += len(key)
            if self._count <= _KEPT:
                self._kept[key] = kept
        return kept

    def _at(self, positions: Sequence[int]) -> list[list[str | None]]:
        values: list[Any] = []
        found = []
        for pointer in self._pointers:
            if pointer in self._columns:
                found.append(self._of_column(pointer, positions))
                continue
            values = values or self._values(positions)
            found.append(_texts(resolved(values, pointer)))
        return found

    def _values(self, positions: Sequence[int]) -> list[Any]:
        """Return the values of directories; parsed together, which is much faster."""
        stored = self._directories
        if not isinstance(stored, StoredDirectories):
            return [stored.value(position) for position in positions]
        values: list[Any] = orjson.loads(b"[%b]" % b",".join(stored.json_at(positions)))
        return values

    def _of_column(self, pointer: str, positions: Sequence[int]) -> list[str | None]:
        column, known = self._columns[pointer], self._known[pointer]
        codes = list(map(column.codes.__getitem__, positions))
        for code in set(codes).difference(known):
            known[code] = None if code == column.missing else _text(column, column.distinct[code])
        texts = list(map(known.__getitem__, codes))
        at = -1
        for _ in range(texts.count(_LOOK)):
            at = texts.index(_LOOK, at + 1)
            texts[at] = self._look(column, positions[at])
        return texts

    def _look(self, column: RankColumn, position: int) -> str | None:
        stored = self._directories
        if column.uniform and isinstance(stored, StoredDirectories):  # the value is 0.0 or -0.0
            raw = stored.raw_value(position)
            if raw is not None and b"-0.0" not in raw:
                return "0.0"
        found = resolve(self._directories.value(position), column.pointer)
        return None if found is MISSING else compact(found)


def _texts(found: Sequence[Any]) -> list[str | None]:
    """Return the text of each value, None for no value."""
    if set(map(type, found)) == {float}:  # the usual case
        texts = list(map(repr, found))
        if "e" not in "".join(texts):
            return [*texts]
    return [None if value is MISSING else compact(value) for value in found]


def _text(column: RankColumn, value: Any) -> str:
    """Return the text of a distinct value, or `_LOOK` if the directory's notation may differ."""
    kind = type(value)
    if kind is float:
        sure = not value.is_integer() or (column.uniform and value != 0)
    elif kind is int:
        sure = column.uniform
    else:
        sure = value is None or kind in (str, bool)
    return compact(value) if sure else _LOOK


NOTHING: Final = 0xFFFFFFFF  # the code of a directory without the pointer

# (distinct values, one code for each directory as bytes of u32). The code after the last distinct
# value stands for no value. `marshal` can write this type.
Chunk = tuple[list[Any], bytes]

_SCALARS: Final = frozenset((type(None), bool, int, float, str))


class Pointed:
    """One pointer over the data read: `codes` are indices in `distinct`, or `NOTHING`."""

    __slots__ = ("_known", "codes", "distinct")

    def __init__(self, count: int) -> None:
        """Set up `count` directories; directories without a chunk have no value."""
        self.distinct: list[Any] = []
        self.codes = array("I", b"\xff" * (4 * count))
        self._known: dict[type, dict[Any, int]] = {}

    def put(self, start: int, chunk: Chunk) -> None:
        """Enter a chunk that begins at the directory `start`."""
        distinct, data = chunk
        kinds = set(map(type, distinct))
        if len(kinds) == 1 and kinds <= _SCALARS:  # the usual case
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
    """Return a chunk for each pointer. `unusable`: positions of `values` that have no value."""
    chunks: list[Chunk] = []
    for pointer in pointers:
        found = resolved(values, pointer)
        for at in unusable:
            found[at] = MISSING
        chunks.append(as_chunk(found))
    return chunks


def resolved(values: Sequence[Any], pointer: str) -> list[Any]:
    """Return a pointer's value in each of these values; `MISSING` for no value."""
    key = _top_key(pointer)
    if key is not None and set(map(type, values)) == {dict}:  # the usual case
        return [value.get(key, MISSING) for value in values]
    return [resolve(value, pointer) for value in values]


def as_chunk(found: Sequence[Any]) -> Chunk:
    """Return the found values, each distinct value once, in order of appearance."""
    types = set(map(type, found))
    types.discard(Missing)
    if len(types) < 2 and types <= _SCALARS:  # equal in Python, and therefore equal in notation
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
    """Return the key of the top object that a pointer names, None for other pointers."""
    if not pointer.startswith("/") or "~" in pointer or "/" in pointer[1:]:
        return None
    return pointer[1:]
