"""The names of all directories, sorted by bytes, and sets of positions that survive changes.

The input is sorted names as one blob with offsets. The result gives a name by position, a position
by name (bisect on the blob, no objects per name), and the set of positions of many names at once. A
`Remap` maps positions when directories are added or removed. A million names are looked up without
a million Python objects (docs/background/state.md).
"""

from __future__ import annotations

import os
import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, compress, pairwise
from struct import iter_unpack

from rowtui.core.base.lazy import np
from rowtui.core.state.model import DirectorySet, bit_set
from rowtui.core.state.row.postcard import NameBlock

# From this number on, numpy's look-up saves more time over bisect and dict than its import takes.
NUMPY_FROM = 50_000
# The same limit if numpy is loaded already, as in a dashboard's engine.
LOADED_NUMPY_FROM = 100
# A dict of all names costs about 0.2 us a name, a bisect 3 us.
DICT_RATIO = 16


class NameTable(Sequence[bytes]):
    """Names sorted by bytes.

    `blob` holds all of them; name i is `blob[offsets[i]:offsets[i + 1]]`.
    """

    __slots__ = ("blob", "offsets", "width")

    def __init__(self, blob: bytes | memoryview, offsets: Sequence[int], width: int) -> None:
        """Set up the table. `width` is the length that all names share, or 0."""
        self.blob = memoryview(blob)
        self.offsets = offsets
        self.width = width

    @classmethod
    def of(cls, names: Sequence[bytes]) -> NameTable:
        """Return the table of names that are sorted and distinct."""
        offsets = array("I", accumulate(map(len, names), initial=0))
        return cls(b"".join(names), offsets, _shared_length(offsets))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> bytes:  # type: ignore[override]
        return bytes(self.blob[self.offsets[index] : self.offsets[index + 1]])

    def all(self) -> list[bytes]:
        """Return every name in order."""
        if self.width:
            return [name for (name,) in iter_unpack(f"{self.width}s", self.blob)]
        blob = bytes(self.blob)
        return [blob[start:stop] for start, stop in pairwise(self.offsets)]

    def texts(self) -> list[str]:
        """Return every name in order, in the form of os.fsdecode."""
        width, blob = self.width, bytes(self.blob)
        if not blob.isascii():
            return list(map(os.fsdecode, self.all()))
        text = blob.decode("ascii")
        if width:
            return [text[at : at + width] for at in range(0, len(text), width)]
        return [text[start:end] for start, end in pairwise(self.offsets)]

    def insertion(self, name: bytes, low: int = 0) -> int:
        """Return how many names are smaller; at least `low`."""
        blob, offsets, high = self.blob, self.offsets, len(self)
        while low < high:
            middle = (low + high) >> 1
            if bytes(blob[offsets[middle] : offsets[middle + 1]]) < name:
                low = middle + 1
            else:
                high = middle
        return low

    def position(self, name: bytes) -> int | None:
        """Return the position of a name, or None."""
        at = self.insertion(name)
        return at if at < len(self) and self[at] == name else None

    def find(
        self, names: Sequence[bytes], known: Mapping[bytes, int] | None = None
    ) -> tuple[DirectorySet, list[bytes]]:
        """Return the set of these names, and the unknown names (not listed for very large blocks).

        `known` is the result of `by_name`, for a caller with several requests.
        """
        if isinstance(names, NameBlock) and names.width == self.width and _numpy_pays(len(names)):
            return self.find_block(names), []
        positions = self.positions(names, known)
        unknown = [name for name, at in zip(names, positions, strict=True) if at is None]
        return bit_set(at for at in positions if at is not None), unknown

    def positions(
        self, names: Sequence[bytes], known: Mapping[bytes, int] | None = None
    ) -> Sequence[int | None]:
        """Return the position of each name, None if it is unknown. `known`: as for `find`.

        The result for all names in order is a `range`, which `to_positions` uses.
        """
        if len(names) == len(self) and names == self.all():
            return range(len(self))
        if known is None:
            known = self.by_name(len(names))
        if known is None:
            return [self.position(name) for name in names]
        return list(map(known.get, names))

    def by_name(self, asked: int) -> dict[bytes, int] | None:
        """Return all positions by name, if that is worthwhile for so many names; else None."""
        if asked * DICT_RATIO < len(self):
            return None
        return dict(zip(self.all(), range(len(self)), strict=True))

    def find_block(self, names: NameBlock) -> DirectorySet:
        """Return the set of names that have the width of this table, with numpy."""
        kind = f"S{self.width}"
        known = np.frombuffer(self.blob, dtype=kind)
        rows = np.frombuffer(names.block, dtype=np.uint8).reshape(-1, self.width + 1)
        asked = np.ascontiguousarray(rows[:, 1:]).view(kind).ravel()
        # Neighbouring look-ups then touch neighbouring memory: five times faster than unsorted.
        asked = np.sort(asked)
        found = np.searchsorted(known, asked)
        found[found == len(known)] = 0
        found = found[known[found] == asked] if len(known) else found[:0]
        if len(found) * 16 < len(known):
            return bit_set(found.tolist())
        flags = np.zeros(len(known), dtype=np.uint8)
        flags[found] = 1
        return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def _numpy_pays(asked: int) -> bool:
    """Whether numpy looks up so many names sooner, including its import if it is not loaded."""
    return asked >= NUMPY_FROM or (asked >= LOADED_NUMPY_FROM and "numpy" in sys.modules)


class Remap:
    """The new positions after names vanished and others appeared.

    `runs` are (old start, old stop, new start) of neighbours that stay neighbours, ascending.
    """

    __slots__ = ("_starts", "new_size", "old_size", "runs")

    def __init__(self, runs: Iterable[tuple[int, int, int]], old_size: int, new_size: int) -> None:
        self.runs = tuple(runs)
        self.old_size = old_size
        self.new_size = new_size
        self._starts = [run[0] for run in self.runs]

    def position(self, old: int) -> int | None:
        """Return the new place of one position; None if its directory vanished."""
        at = bisect_right(self._starts, old) - 1
        if at < 0:
            return None
        start, stop, new = self.runs[at]
        return old - start + new if old < stop else None

    def __bool__(self) -> bool:
        """Whether any position changes."""
        same = ((0, self.old_size, 0),) if self.old_size else ()
        return self.runs != same or self.old_size != self.new_size


def remap(members: DirectorySet, mapping: Remap) -> DirectorySet:
    """Return the same directories after a change; vanished directories are dropped.

    Text of 0s and 1s is cut and joined: linear in the number of directories for any number of runs.
    """
    if not members or not mapping:
        return members
    old = f"{members:0{mapping.old_size}b}"[::-1]
    pieces: list[str] = []
    at = 0
    for start, stop, new in mapping.runs:
        pieces += ("0" * (new - at), old[start:stop])
        at = new + stop - start
    return int("".join(pieces)[::-1] or "0", 2)


def flags(members: DirectorySet, count: int) -> bytes:
    """Return one byte for each of `count` positions, ascending: 1 for a member, else 0."""
    if not count:
        return b""
    return f"{members:0{count}b}"[::-1].encode().translate(_FLAGS)


_FLAGS = bytes.maketrans(b"01", b"\0\1")


def to_positions(members: DirectorySet, where: Sequence[int | None]) -> DirectorySet:
    """Convert a set of indices into `where` to the set of the positions at these indices."""
    if where == range(len(where)):
        return members
    chosen = list(compress(where, flags(members, len(where))))
    return bit_set([at for at in chosen if at is not None])


def merge_names(
    old: NameTable, vanished: Iterable[bytes], added: Iterable[bytes]
) -> tuple[NameTable, Remap]:
    """Return the table without `vanished` and with `added`, and the remap.

    `added` must not contain a name of the table.
    """
    gone = {at for name in vanished if (at := old.position(name)) is not None}
    fresh = sorted(set(added))
    if not len(old):
        return NameTable.of(fresh), Remap((), 0, len(fresh))
    # (position in the old order, 1 for a removed name or 0 for an added one, name)
    events: list[tuple[int, int, bytes]] = [(at, 1, b"") for at in gone]
    low = 0
    for name in fresh:
        low = old.insertion(name, low)
        events.append((low, 0, name))
    events.sort()
    width = old.width if {len(name) for name in fresh} <= {old.width} else 0
    offsets = array("I", [0])
    blob = bytearray()
    runs: list[tuple[int, int, int]] = []
    at = count = 0
    for place, goes, name in [*events, (len(old), 0, b"")]:
        if place > at:
            runs.append((at, place, count))
            shift = len(blob) - old.offsets[at]
            blob += old.blob[old.offsets[at] : old.offsets[place]]
            if not width:
                offsets.extend([end + shift for end in old.offsets[at + 1 : place + 1]])
            count += place - at
            at = place
        if goes:
            at += 1
        elif name:
            blob += name
            offsets.append(len(blob))
            count += 1
    if width and blob:
        offsets = array("I", range(0, len(blob) + 1, width))
    else:
        width = _shared_length(offsets)
    table = NameTable(bytes(blob), offsets, width)
    return table, Remap(_joined(runs), len(old), len(table))


def _shared_length(offsets: array[int]) -> int:
    """Return the length that all names share, or 0."""
    first, end = offsets[1] if len(offsets) > 1 else 0, offsets[-1]
    same = first and end == first * (len(offsets) - 1)
    return first if same and offsets == array("I", range(0, end + 1, first)) else 0


def _joined(runs: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Join runs that touch on both sides."""
    joined: list[tuple[int, int, int]] = []
    for start, stop, new in runs:
        if joined and joined[-1][1] == start and joined[-1][2] + start - joined[-1][0] == new:
            joined[-1] = (joined[-1][0], stop, joined[-1][2])
        else:
            joined.append((start, stop, new))
    return joined
