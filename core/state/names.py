"""The names of all directories, sorted by bytes, and sets of positions that survive a change.

Takes sorted names as one blob with offsets; gives a name by position, a position by name (bisect
on the blob, no objects per name), and the set of positions of many names at once. A `Remap` says
where positions go when directories come and go. A million names are looked up without a million
Python objects (docs/architecture.md).
"""

from __future__ import annotations

import os
import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from struct import iter_unpack

from rowtui.core.state.model import DirectorySet, bit_set
from rowtui.core.state.postcard import NameBlock

# From here on numpy's look-up is faster than bisect and dict by more than its import takes.
NUMPY_FROM = 50_000
# Where numpy is loaded already, as in a dashboard's engine.
LOADED_NUMPY_FROM = 100
# A dict of all names costs about 0.2 us a name, a bisect 3 us.
DICT_RATIO = 16


class NameTable(Sequence[bytes]):
    """Names sorted by bytes: `blob` is all of them, name i is `blob[offsets[i]:offsets[i + 1]]`."""

    __slots__ = ("blob", "offsets", "width")

    def __init__(self, blob: bytes | memoryview, offsets: Sequence[int], width: int) -> None:
        """`width` is the length that all names share, or 0."""
        self.blob = memoryview(blob)
        self.offsets = offsets
        self.width = width

    @classmethod
    def of(cls, names: Sequence[bytes]) -> NameTable:
        """The table of names that are sorted and differ."""
        offsets = array("I", accumulate(map(len, names), initial=0))
        return cls(b"".join(names), offsets, _shared_length(offsets))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> bytes:  # type: ignore[override]
        return bytes(self.blob[self.offsets[index] : self.offsets[index + 1]])

    def all(self) -> list[bytes]:
        """Every name in order."""
        if self.width:
            return [name for (name,) in iter_unpack(f"{self.width}s", self.blob)]
        blob = bytes(self.blob)
        return [blob[start:stop] for start, stop in pairwise(self.offsets)]

    def texts(self) -> list[str]:
        """Every name in order, as os.fsdecode gives it."""
        width, blob = self.width, bytes(self.blob)
        if not blob.isascii():
            return list(map(os.fsdecode, self.all()))
        text = blob.decode("ascii")
        if width:
            return [text[at : at + width] for at in range(0, len(text), width)]
        return [text[start:end] for start, end in pairwise(self.offsets)]

    def insertion(self, name: bytes, low: int = 0) -> int:
        """How many names are smaller; at least `low`."""
        blob, offsets, high = self.blob, self.offsets, len(self)
        while low < high:
            middle = (low + high) >> 1
            if bytes(blob[offsets[middle] : offsets[middle + 1]]) < name:
                low = middle + 1
            else:
                high = middle
        return low

    def position(self, name: bytes) -> int | None:
        """Where a name is, or None."""
        at = self.insertion(name)
        return at if at < len(self) and self[at] == name else None

    def find(
        self, names: Sequence[bytes], known: Mapping[bytes, int] | None = None
    ) -> tuple[DirectorySet, list[bytes]]:
        """The set of these names, and those that are unknown (not listed for very large blocks).

        `known` is what `by_name` gave, for whoever asks several times.
        """
        if isinstance(names, NameBlock) and names.width == self.width and _numpy_pays(len(names)):
            return self.find_block(names), []
        positions = self.positions(names, known)
        unknown = [name for name, at in zip(names, positions, strict=True) if at is None]
        return bit_set(at for at in positions if at is not None), unknown

    def positions(
        self, names: Sequence[bytes], known: Mapping[bytes, int] | None = None
    ) -> list[int | None]:
        """The position of each name, None where it is unknown. `known`: as for `find`."""
        if known is None:
            known = self.by_name(len(names))
        if known is None:
            return [self.position(name) for name in names]
        return list(map(known.get, names))

    def by_name(self, asked: int) -> dict[bytes, int] | None:
        """All positions by name, if that pays for so many names; else None."""
        if asked * DICT_RATIO < len(self):
            return None
        return dict(zip(self.all(), range(len(self)), strict=True))

    def find_block(self, names: NameBlock) -> DirectorySet:
        """The set of names that have the width of this table, through numpy."""
        from rowtui.core.lean_numpy import np

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
    """Whether numpy looks so many names up sooner, its import counted if there is one."""
    return asked >= NUMPY_FROM or (asked >= LOADED_NUMPY_FROM and "numpy" in sys.modules)


class Remap:
    """Where positions go when names vanish and others appear.

    `runs` are (old start, old stop, new start): neighbours that stay neighbours, ascending.
    """

    __slots__ = ("_starts", "new_size", "old_size", "runs")

    def __init__(self, runs: Iterable[tuple[int, int, int]], old_size: int, new_size: int) -> None:
        self.runs = tuple(runs)
        self.old_size = old_size
        self.new_size = new_size
        self._starts = [run[0] for run in self.runs]

    def position(self, old: int) -> int | None:
        """Where one position goes; None if its directory vanished."""
        at = bisect_right(self._starts, old) - 1
        if at < 0:
            return None
        start, stop, new = self.runs[at]
        return old - start + new if old < stop else None

    def __bool__(self) -> bool:
        """Whether anything moves."""
        same = ((0, self.old_size, 0),) if self.old_size else ()
        return self.runs != same or self.old_size != self.new_size


def remap(members: DirectorySet, mapping: Remap) -> DirectorySet:
    """The same directories after a change; those that vanished are dropped.

    Text of 0s and 1s is cut and joined: linear in the number of directories however many runs.
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
    """One byte for each of `count` positions, ascending: 1 if it is a member, else 0."""
    if not count:
        return b""
    return f"{members:0{count}b}"[::-1].encode().translate(_FLAGS)


_FLAGS = bytes.maketrans(b"01", b"\0\1")


def merge_names(
    old: NameTable, vanished: Iterable[bytes], added: Iterable[bytes]
) -> tuple[NameTable, Remap]:
    """The table without `vanished` and with `added` (which it must not have), and what moved."""
    gone = {at for name in vanished if (at := old.position(name)) is not None}
    fresh = sorted(set(added))
    if not len(old):
        return NameTable.of(fresh), Remap((), 0, len(fresh))
    # (where in the old order, 1 for a name that goes or 0 for one that comes, name)
    events: list[tuple[int, int, bytes]] = [(at, 1, b"") for at in gone]
    low = 0
    for name in fresh:
        low = old.insertion(name, low)
        events.append((low, 0, name))
    events.sort()
    offsets = array("I", [0])
    blob = bytearray()
    runs: list[tuple[int, int, int]] = []
    at = 0
    for place, goes, name in [*events, (len(old), 0, b"")]:
        if place > at:
            runs.append((at, place, len(offsets) - 1))
            shift = len(blob) - old.offsets[at]
            blob += old.blob[old.offsets[at] : old.offsets[place]]
            offsets.extend([end + shift for end in old.offsets[at + 1 : place + 1]])
            at = place
        if goes:
            at += 1
        elif name:
            blob += name
            offsets.append(len(blob))
    table = NameTable(bytes(blob), offsets, _shared_length(offsets))
    return table, Remap(_joined(runs), len(old), len(table))


def _shared_length(offsets: array[int]) -> int:
    """The length that all names share, or 0."""
    first, end = offsets[1] if len(offsets) > 1 else 0, offsets[-1]
    same = first and end == first * (len(offsets) - 1)
    return first if same and offsets == array("I", range(0, end + 1, first)) else 0


def _joined(runs: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Runs that touch on both sides become one."""
    joined: list[tuple[int, int, int]] = []
    for start, stop, new in runs:
        if joined and joined[-1][1] == start and joined[-1][2] + start - joined[-1][0] == new:
            joined[-1] = (joined[-1][0], stop, joined[-1][2])
        else:
            joined.append((start, stop, new))
    return joined
