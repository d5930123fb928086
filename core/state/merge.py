"""New caches of the directories, from a reading of the workspace and from the previous cache.

The input is names, the data that a reading found in them, and the old directories. The result is
the new directories in memory (the store writes them) and a `Remap` for all sets of positions. Only
arrays are copied, in runs: adding a thousand directories to a million reads none of the million.
"""

from __future__ import annotations

import json
import os
import sys
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate, islice, repeat
from operator import eq, lt
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from rowtui.core.base.lazy import orjson
from rowtui.core.base.values import MISSING
from rowtui.core.state.columns import rank_values
from rowtui.core.state.container import pack
from rowtui.core.state.directories import NO_VALUE, Segment, Stamp, StoredDirectories
from rowtui.core.state.model import DirectorySet, bit_set, positions
from rowtui.core.state.names import NameTable, Remap, merge_names, remap
from rowtui.core.state.pointer_values import NOTHING, Pointed, pointed_to

if TYPE_CHECKING:
    from rowtui.core.state.columns import RankColumn

# Values are rewritten into one file if there are this many segments, if more than this share of
# bytes is dead, or if all values together are small.
MOST_SEGMENTS = 8
DEAD_SHARE = 0.3
SMALL = 1 << 20

T = TypeVar("T")


class ReadColumns(Protocol):
    """The result of a reading, as columns aligned to the names that were read.

    `raw` is compact JSON, None for bad directories and without a value file. `bad` maps positions
    in this reading to reasons, `completed` actions to bit sets of such positions. There may also be
    a mapping `pointed`: the values' pointers that were resolved already (`pointer_values.py`).
    """

    @property
    def raw(self) -> Sequence[bytes | None]: ...
    @property
    def stamps(self) -> Sequence[Stamp]: ...
    @property
    def bad(self) -> Mapping[int, str]: ...
    @property
    def vanished(self) -> Sequence[int]: ...
    @property
    def completed(self) -> Mapping[str, DirectorySet]: ...


def build_directories(
    names: Sequence[bytes],
    found: ReadColumns,
    *,
    value_file: str | None,
    pointers: Sequence[str] = (),
) -> StoredDirectories:
    """Return the directories of a first reading. `pointers`: those whose columns are stored."""
    return merge_directories(
        empty_directories(),
        (),
        names,
        found,
        value_file=value_file,
        pointers=pointers,
    ).directories


class Merged(NamedTuple):
    """Merged directories, the new places of old positions, and the position of each name read."""

    directories: StoredDirectories
    mapping: Remap
    where: Sequence[int | None]


def merge_directories(
    old: StoredDirectories,
    vanished: Collection[bytes],
    names: Sequence[bytes],
    found: ReadColumns,
    *,
    value_file: str | None,
    pointers: Sequence[str] = (),
    generation: int = 1,
) -> Merged:
    """Return `old` without `vanished`, with the data `found` in `names` (new, or read again).

    `generation` only goes into the names of new files. Vanished positions of `found` count as
    vanished, and are None in `Merged.where`. Raises: CorruptCacheError if `old` is damaged.
    """
    table, mapping, placed, where = _places(old, vanished, names, frozenset(found.vanished))
    cells = _Cells.moved(old, mapping, len(table))
    segments, unwritten = cells.put(old, found, placed, generation)
    bad_set = remap(old.bad_set, mapping)
    if bad_set:
        bad_set &= ~bit_set(placed.to)
    reasons = (
        {to: why for at, why in old.reasons.items() if (to := mapping.position(at)) is not None}
        if old.bad_set
        else {}
    )
    fresh = {to: found.bad[at] for at in found.bad if (to := where[at]) is not None}
    bad_set |= bit_set(fresh)
    still = frozenset(positions(bad_set))
    reasons = {at: why for at, why in {**reasons, **fresh}.items() if at in still}
    sections: dict[str, bytes | memoryview] = {
        "names": table.blob,
        "offsets": memoryview(array("I", table.offsets)).cast("B"),
        "value_start": memoryview(cells.starts).cast("B"),
        "value_size": memoryview(cells.sizes).cast("B"),
        "stamp_time": memoryview(cells.times).cast("B"),
        "stamp_size": memoryview(cells.lengths).cast("B"),
        "reasons": _packed_reasons(reasons),
    }
    pointed = _pointed(found, len(names), pointers)
    for index, pointer in enumerate(pointers):
        sections[f"column{index}"] = _column(
            old.column(pointer), mapping, placed, pointed[pointer], len(table)
        )
    meta = {
        "kind": "dirs",
        "order": sys.byteorder,
        "count": len(table),
        "width": table.width,
        "value_file": value_file,
        "values": segments,
    }
    made = StoredDirectories(
        _file("dirs", generation),
        len(table),
        bad_set,
        pointers,
        packed=pack(meta, sections),
        unwritten={**_still_unwritten(old, segments), **unwritten},
        folder=old.folder,
    )
    return Merged(made, mapping, where)


class _Placed(NamedTuple):
    """Found data by position: the positions, ascending, and the index of each in `found`."""

    to: Sequence[int]
    at: Sequence[int]


def _places(
    old: StoredDirectories,
    vanished: Collection[bytes],
    names: Sequence[bytes],
    lost: Collection[int],
) -> tuple[NameTable, Remap, _Placed, Sequence[int | None]]:
    """Return the new table, the moves, and the places of the read data.

    `lost` vanished during the reading.
    """
    if not len(old) and not lost and all(map(lt, names, islice(names, 1, None))):
        every = range(len(names))
        return NameTable.of(names), Remap((), 0, len(names)), _Placed(every, every), every
    if not len(old):
        order = sorted(range(len(names)), key=names.__getitem__)
        if lost:
            order = [at for at in order if at not in lost]
        ordered = list(map(names.__getitem__, order))
        if not any(map(eq, ordered, islice(ordered, 1, None))):
            everywhere: list[int | None] = [None] * len(names)
            for to, at in enumerate(order):
                everywhere[at] = to
            table = NameTable.of(ordered)
            placed = _Placed(range(len(order)), order)
            return table, Remap((), 0, len(order)), placed, everywhere
    known = old.table
    gone = {names[position] for position in lost}
    read = {name: at for at, name in enumerate(names) if name not in gone}
    asked = list(read)
    fresh = [name for name, at in zip(asked, known.positions(asked), strict=True) if at is None]
    table, mapping = merge_names(known, {*vanished, *gone} - read.keys(), fresh)
    found_at = sorted(zip(table.positions(asked), read.values(), strict=True))
    placed = _Placed([to for to, _ in found_at if to is not None], [at for _, at in found_at])
    where: list[int | None] = [None] * len(names)
    for to, at in zip(*placed, strict=True):
        where[at] = to
    return table, mapping, placed, where


def empty_directories() -> StoredDirectories:
    """Return an empty set of directories."""
    cells = _Cells(0)
    meta = {"kind": "dirs", "order": sys.byteorder, "count": 0, "width": 0}
    sections: dict[str, bytes | memoryview] = {
        "names": b"",
        "offsets": memoryview(NameTable.of([]).offsets).cast("B"),  # type: ignore[arg-type]
        "value_start": memoryview(cells.starts).cast("B"),
        "value_size": memoryview(cells.sizes).cast("B"),
        "stamp_time": memoryview(cells.times).cast("B"),
        "stamp_size": memoryview(cells.lengths).cast("B"),
        "reasons": _packed_reasons({}),
    }
    packed = pack({**meta, "value_file": None, "values": []}, sections)
    return StoredDirectories("", 0, 0, (), packed=packed)


class _Cells:
    """The place of each directory's value, and the stamp of its value file, as arrays."""

    def __init__(self, count: int) -> None:
        self.starts = array("Q", bytes(8 * count))
        self.sizes = array("I", b"\xff" * (4 * count))
        self.times = array("q", bytes(8 * count))
        self.lengths = array("q", bytes(8 * count))

    @classmethod
    def moved(cls, old: StoredDirectories, mapping: Remap, count: int) -> _Cells:
        """Return the cells of `old` at their new positions."""
        cells = cls(count)
        pairs = (
            (cells.starts, old.value_starts),
            (cells.sizes, old.value_sizes),
            (cells.times, old.stamp_times),
            (cells.lengths, old.stamp_sizes),
        )
        for to, source in pairs:
            target, origin = memoryview(to), source
            for start, stop, new in mapping.runs:
                target[new : new + stop - start] = origin[start:stop]
        return cells

    def put(
        self, old: StoredDirectories, found: ReadColumns, placed: _Placed, generation: int
    ) -> tuple[list[Segment], dict[str, bytes]]:
        """Enter the found data; return the segments that hold all values, and the new segments.

        The data is in order of position, so that a later reading of all values is sequential.
        """
        segments = list(old.segments)
        base = sum(segment.size for segment in segments)
        parts: Sequence[bytes | memoryview] = [
            b"" if raw is None else raw for raw in _taken(found.raw, placed.at)
        ]
        lengths = array("I", map(len, parts))
        starts = array("Q", accumulate(lengths, initial=base))
        place = starts.pop()
        if not all(parts):
            for index, part in enumerate(parts):
                if not part:  # no JSON is that short
                    lengths[index], starts[index] = NO_VALUE, 0
        times, sizes = _stamp_columns(found.stamps)
        for into, column in (
            (self.starts, starts),
            (self.sizes, lengths),
            (self.times, array("q", _taken(times, placed.at))),
            (self.lengths, array("q", _taken(sizes, placed.at))),
        ):
            if len(column) == len(into):
                into[:] = column
                continue
            for to, cell in zip(placed.to, column, strict=True):
                into[to] = cell
        live = sum(self.sizes) - NO_VALUE * self.sizes.count(NO_VALUE)
        crowded = len(segments) >= MOST_SEGMENTS or (bool(segments) and live < SMALL)
        if crowded or place - live > DEAD_SHARE * place:
            parts = old.cells_with(b"".join(parts), self.starts, self.sizes)
            segments = []
            place = 0
            for at, length in enumerate(self.sizes):
                if length != NO_VALUE:
                    self.starts[at] = place
                    place += length
        data = b"".join(parts)
        if not data:
            return segments, {}
        name = _file("values", generation)
        segments.append(Segment(name, len(data)))
        return segments, {name: data}


def _taken(cells: Sequence[T], at: Sequence[int]) -> Iterable[T]:
    """Return the cells at these indices."""
    return cells if at == range(len(cells)) else map(cells.__getitem__, at)


def _stamp_columns(stamps: Sequence[Stamp]) -> tuple[Sequence[int], Sequence[int]]:
    times, sizes = getattr(stamps, "times", None), getattr(stamps, "sizes", None)
    if isinstance(times, array) and isinstance(sizes, array):  # already columns
        return times, sizes
    return [time for time, _ in stamps], [size for _, size in stamps]


def _pointed(found: ReadColumns, count: int, pointers: Sequence[str]) -> Mapping[str, Pointed]:
    """Return each pointer's values in the data just read; unresolved pointers are parsed."""
    known: Mapping[str, Pointed] = getattr(found, "pointed", {})
    rest = [pointer for pointer in pointers if pointer not in known]
    if not rest:
        return known
    loads, raws = orjson.loads, found.raw
    columns = [Pointed(count) for _ in rest]
    for start in range(0, count, _PARSED_AT_ONCE):
        some = raws[start : start + _PARSED_AT_ONCE]
        values: list[Any] = [None if raw is None else loads(raw) for raw in some]
        bad = [at for at in range(len(some)) if start + at in found.bad] if found.bad else []
        for column, chunk in zip(columns, pointed_to(values, rest, bad), strict=True):
            column.put(start, chunk)
    return {**known, **dict(zip(rest, columns, strict=True))}


_PARSED_AT_ONCE = 1 << 10  # values; a number that fits into the processor's cache


def _column(
    before: RankColumn, mapping: Remap, placed: _Placed, pointed: Pointed, count: int
) -> bytes:
    """Return the column of a pointer: old ranks are translated, only new values are ranked."""
    kept = sum(stop - start for start, stop, _ in mapping.runs)
    if kept == mapping.old_size and kept + len(placed.to) == count:  # directories were only added
        used: Sequence[int] = range(before.missing)
    else:
        moved = _moved(array("I", before.codes), mapping, count, NO_VALUE)
        for to in placed.to:
            moved[to] = NO_VALUE
        used = sorted(code for code in set(moved) if code < before.missing)
    fresh = list(_taken(pointed.codes, placed.at))
    kinds = dict.fromkeys(fresh)  # in the order in which a full reading would meet them
    values = [MISSING if kind == NOTHING else pointed.distinct[kind] for kind in kinds]
    ranked = rank_values(before.pointer, [*(before.distinct[code] for code in used), *values])
    ranks = dict(zip(kinds, ranked.codes[len(used) :], strict=True))
    codes: array[int]
    if len(fresh) == count:
        codes = array("I", map(ranks.__getitem__, fresh))
    elif isinstance(before.codes, array) and list(ranked.distinct) == list(before.distinct):
        codes = _moved(before.codes, mapping, count, before.missing)  # no rank has changed
    else:
        translated = dict(zip(used, ranked.codes, strict=False))
        translated[before.missing] = ranked.missing
        there = _translated(before.codes, translated, ranked.missing)
        codes = _moved(there, mapping, count, ranked.missing)
    if len(fresh) < count:
        for to, code in zip(placed.to, fresh, strict=True):
            codes[to] = ranks[code]
    largest = ranked.missing
    fits = codes.typecode == "B" and largest <= 0xFF
    kind = "B" if fits else "H" if largest <= 0xFFFF else "I"
    narrow = codes if codes.typecode == kind else array(kind, codes)
    uniform = ranked.uniform and (before.uniform or not used)
    return type(before)(before.pointer, narrow, ranked.distinct, ranked.mixed, uniform).to_bytes()


def _translated(codes: Sequence[int], to: Mapping[int, int], missing: int) -> array[int]:
    """Return the new code of each code; `missing` where there is none."""
    if isinstance(codes, array) and codes.typecode == "B" and missing <= 0xFF:
        table = bytes(to.get(code, missing) for code in range(0x100))
        return array("B", codes.tobytes().translate(table))
    return array("I", map(to.get, codes, repeat(missing)))


def _moved(cells: array[int], mapping: Remap, count: int, empty: int) -> array[int]:
    """Return the cells at their new positions; `empty` where there is none."""
    moved = array(cells.typecode, [empty]) * count
    for start, stop, new in mapping.runs:
        moved[new : new + stop - start] = cells[start:stop]
    return moved


def _still_unwritten(old: StoredDirectories, segments: Sequence[Segment]) -> dict[str, bytes]:
    used = {segment.file for segment in segments}
    return {file: data for file, data in old.unwritten.items() if file in used}


def _packed_reasons(reasons: Mapping[int, str]) -> bytes:
    """Return the reasons as a table of texts, and the text's index for each bad directory."""
    texts = {text: at for at, text in enumerate(dict.fromkeys(reasons.values()))}
    of = [texts[reasons[position]] for position in sorted(reasons)]
    return json.dumps({"texts": list(texts), "of": of}, separators=(",", ":")).encode()


def _file(kind: str, generation: int) -> str:
    ending = "rtc" if kind == "dirs" else "bin"
    return f"{kind}.{generation}-{os.urandom(6).hex()}.{ending}"
