"""New caches of the directories from what was read of the workspace, and from the cache before.

Takes names, what a reading found in them, and the old directories; gives the new directories in
memory (the store writes them) and a `Remap` for all sets of positions. Only arrays are copied, in
runs: a thousand new directories among a million cost no reading of the million.
"""

from __future__ import annotations

import json
import os
import sys
from array import array
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from rowtui.core.state.container import pack
from rowtui.core.state.directories import NO_VALUE, Segment, Stamp, StoredDirectories
from rowtui.core.state.model import DirectorySet, bit_set, positions
from rowtui.core.state.names import NameTable, Remap, merge_names, remap

if TYPE_CHECKING:
    from rowtui.core.state.columns import RankColumn

# Values are rewritten into one file when this many pile up, when more than this share of them is
# dead, or when all of them are so few that it costs nothing.
MOST_SEGMENTS = 8
DEAD_SHARE = 0.3
SMALL = 1 << 20
# From this share of all directories on (one in so many), a table of all is faster than sorting.
DENSE = 16


class Found(Protocol):
    """What a reading found, as columns aligned to the names that were read.

    `raw` is compact JSON, None for bad directories and without a value file. `bad` maps positions
    in this reading to reasons, `completed` actions to bit sets of such positions.
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
    found: Found,
    *,
    value_file: str | None,
    pointers: Sequence[str] = (),
    generation: int = 1,
) -> StoredDirectories:
    """The directories of a first reading. `pointers`: those whose columns are stored."""
    made, _ = merge_directories(
        empty_directories(),
        (),
        names,
        found,
        value_file=value_file,
        pointers=pointers,
        generation=generation,
    )
    return made


def merge_directories(
    old: StoredDirectories,
    vanished: Collection[bytes],
    names: Sequence[bytes],
    found: Found,
    *,
    value_file: str | None,
    pointers: Sequence[str] = (),
    generation: int = 1,
) -> tuple[StoredDirectories, Remap]:
    """`old` without `vanished`, with what was `found` in `names` (new, or read again).

    `generation` only goes into the names of new files. Vanished positions of `found` count as
    vanished. Raises: CorruptCacheError if `old` is damaged.
    """
    gone = {names[position] for position in found.vanished}
    known = old.table
    read = {name: at for at, name in enumerate(names) if name not in gone}
    fresh_names = (
        [name for name, at in zip(read, known.positions(list(read)), strict=True) if at is None]
        if len(old)
        else list(read)
    )
    table, mapping = merge_names(known, {*vanished, *gone} - read.keys(), fresh_names)
    where = dict(zip(read.values(), table.positions(list(read)), strict=True))
    placed = _in_order_of_position(where, len(table))
    cells = _Cells.moved(old, mapping, len(table))
    segments, unwritten = cells.put(old, found, placed, generation)
    bad_set = remap(old.bad_set, mapping) & ~bit_set(to for to, _ in placed)
    reasons = {
        to: why for at, why in old.reasons.items() if (to := mapping.position(at)) is not None
    }
    fresh = {to: found.bad[at] for at in found.bad if (to := where.get(at)) is not None}
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
    pointed = _pointed_to(found, placed, still, pointers)
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
    return made, mapping


def empty_directories() -> StoredDirectories:
    """No directories at all."""
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


def _in_order_of_position(where: Mapping[int, int | None], count: int) -> list[tuple[int, int]]:
    """(position of `count`, position in what was found) for each that has one, ascending."""
    if len(where) * DENSE < count:
        return sorted((to, at) for at, to in where.items() if to is not None)
    found_at = [-1] * count
    for at, to in where.items():
        if to is not None:
            found_at[to] = at
    return [(to, at) for to, at in enumerate(found_at) if at >= 0]


class _Cells:
    """Where each directory's value is and what its value file looked like, as arrays."""

    def __init__(self, count: int) -> None:
        self.starts = array("Q", bytes(8 * count))
        self.sizes = array("I", b"\xff" * (4 * count))
        self.times = array("q", bytes(8 * count))
        self.lengths = array("q", bytes(8 * count))

    @classmethod
    def moved(cls, old: StoredDirectories, mapping: Remap, count: int) -> _Cells:
        """The cells of `old` at their new positions."""
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
        self,
        old: StoredDirectories,
        found: Found,
        placed: Sequence[tuple[int, int]],
        generation: int,
    ) -> tuple[list[Segment], dict[str, bytes]]:
        """Enter what was found; returns the segments that hold all values, and the new ones.

        `placed`: (position, position in `found`), ascending: whoever reads all values later
        reads them from front to back.
        """
        segments = list(old.segments)
        base = sum(segment.size for segment in segments)
        parts: list[bytes] = []
        place = base
        raws, stamps = found.raw, found.stamps
        starts, sizes, times, lengths = self.starts, self.sizes, self.times, self.lengths
        for to, at in placed:
            raw = raws[at]
            times[to], lengths[to] = stamps[at]
            if raw is None:
                sizes[to] = NO_VALUE
                continue
            starts[to] = place
            sizes[to] = length = len(raw)
            parts.append(raw)
            place += length
        live = sum(sizes) - NO_VALUE * sizes.count(NO_VALUE)
        crowded = len(segments) >= MOST_SEGMENTS or (bool(segments) and live < SMALL)
        if crowded or place - live > DEAD_SHARE * place:
            fresh = b"".join(parts)
            parts = [
                fresh[start - base : start - base + length]
                if start >= base
                else old.raw_at(start, length)
                for start, length in zip(self.starts, self.sizes, strict=True)
                if length != NO_VALUE
            ]
            segments = []
            place = 0
            for at, length in enumerate(self.sizes):
                if length != NO_VALUE:
                    self.starts[at] = place
                    place += length
        if not parts:
            return segments, {}
        data = b"".join(parts)
        name = _file("values", generation)
        segments.append(Segment(name, len(data)))
        return segments, {name: data}


def _pointed_to(
    found: Found,
    fresh: Sequence[tuple[int, int]],
    bad: Collection[int],
    pointers: Sequence[str],
) -> dict[str, list[Any]]:
    """What each pointer points to in the values just read, each parsed once."""
    pointed: dict[str, list[Any]] = {pointer: [] for pointer in pointers}
    if not pointers:
        return pointed
    import orjson
    from rowtui.core.values import MISSING, resolve

    loads, raws = orjson.loads, found.raw
    for start in range(0, len(fresh), _PARSED_AT_ONCE):
        chunk = fresh[start : start + _PARSED_AT_ONCE]
        values: list[Any] = [None if (raw := raws[at]) is None else loads(raw) for _, at in chunk]
        plain = set(map(type, values)) == {dict}
        for pointer, into in pointed.items():
            key = _top_key(pointer)
            if plain and key is not None:  # nearly always: then that is all there is to do
                into += [value.get(key, MISSING) for value in values]
            else:
                into += [resolve(value, pointer) for value in values]
            if bad:
                for offset, (to, _) in enumerate(chunk, start):
                    if to in bad:
                        into[offset] = MISSING
    return pointed


_PARSED_AT_ONCE = 1 << 10  # values; they stay in the processor's cache


def _top_key(pointer: str) -> str | None:
    """The key of the top object that a pointer names, None if it is not so simple."""
    if not pointer.startswith("/") or "~" in pointer or "/" in pointer[1:]:
        return None
    return pointer[1:]


def _column(
    before: RankColumn,
    mapping: Remap,
    fresh: Sequence[tuple[int, int]],
    pointed: Sequence[Any],
    count: int,
) -> bytes:
    """The column of a pointer: old ranks are translated, only new values are ranked."""
    from rowtui.core.state.columns import rank_values

    used: list[int] = []
    if mapping.runs:
        moved = array("I", b"\xff" * (4 * count))
        for start, stop, new in mapping.runs:
            moved[new : new + stop - start] = array("I", before.codes[start:stop])
        for to, _ in fresh:
            moved[to] = NO_VALUE
        used = sorted(code for code in set(moved) if code < before.missing)
    ranked = rank_values(before.pointer, [*(before.distinct[code] for code in used), *pointed])
    if mapping.runs and list(ranked.distinct) == list(before.distinct):
        codes = moved  # no rank has changed
    elif mapping.runs:
        translated = dict(zip(used, ranked.codes, strict=False))
        translated[before.missing] = ranked.missing
        translated[NO_VALUE] = ranked.missing
        codes = array("I", map(translated.__getitem__, moved))
    else:
        codes = array("I", bytes(4 * count))
    for (to, _), code in zip(fresh, ranked.codes[len(used) :], strict=True):
        codes[to] = code
    narrow = array("H" if ranked.missing <= 0xFFFF else "I", codes)
    uniform = ranked.uniform and (before.uniform or not used)
    return type(before)(before.pointer, narrow, ranked.distinct, ranked.mixed, uniform).to_bytes()


def _still_unwritten(old: StoredDirectories, segments: Sequence[Segment]) -> dict[str, bytes]:
    used = {segment.file for segment in segments}
    return {file: data for file, data in old.unwritten.items() if file in used}


def _packed_reasons(reasons: Mapping[int, str]) -> bytes:
    """Reasons repeat: a table of texts, and which of them each bad directory has, in order."""
    texts = {text: at for at, text in enumerate(dict.fromkeys(reasons.values()))}
    of = [texts[reasons[position]] for position in sorted(reasons)]
    return json.dumps({"texts": list(texts), "of": of}, separators=(",", ":")).encode()


def _file(kind: str, generation: int) -> str:
    ending = "rtc" if kind == "dirs" else "bin"
    return f"{kind}.{generation}-{os.urandom(6).hex()}.{ending}"
