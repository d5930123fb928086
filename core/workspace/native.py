"""The reading of directories by the optional package `rowtui-fast`, in a fraction of the time.

The package decides nothing: directories with anything unusual (a missing value file, a value that
is no JSON) come back as unsure, and are read as without it, by what alone states what is wrong.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from rowtui.core.base.lazy import orjson
from rowtui.core.workspace.completion import FEW, Products

VERSION = 2  # of the package's functions
_MOST_BITS = 64  # products, and actions: one bit each
_NOTHING = 0xFFFFFFFF  # the code of a directory without a pointer

Column = tuple[list[bytes], bytes]  # distinct values as JSON, and a code for each directory
# Values, times, sizes, a set of directories for each action, a column for each pointer, unsure
# positions.
Raw = tuple[list[bytes | None], bytes, bytes, list[bytes], list[Column], list[int]]


class Search(NamedTuple):
    """What the package reads, in the open folder `root`.

    `inodes` give the order of reading (empty: as the names are). `values`: whether the content of
    value files is wanted, of at most `limit` bytes. `listed`, `named`: the bits of names in
    listings, and of paths to be looked at. `needs`: the bits of each action (0: never complete).
    """

    root: int
    inodes: Sequence[int]
    value_file: bytes | None
    values: bool
    limit: int
    listed: Mapping[bytes, int]
    named: Mapping[bytes, int]
    needs: Sequence[int]
    pointers: Sequence[str]


class NativeReader(Protocol):
    """The module `rowtui_fast`, described in `fast/src/lib.rs`."""

    def folders(self, fd: int) -> tuple[list[bytes], bytes]: ...

    def read(
        self,
        names: Sequence[bytes],
        search: Search,
        threads: int,
        progress: Callable[[int], object],
    ) -> Raw: ...


@cache
def native_reader() -> NativeReader | None:
    """Return the package if it is installed and has these functions."""
    try:
        module: Any = import_module("rowtui_fast")
    except ImportError:
        return None
    return module if getattr(module, "VERSION", 0) == VERSION else None


class Wanted(NamedTuple):
    """What to read: the arguments of `read_directories`."""

    workspace: bytes
    inodes: Sequence[int]
    value_file: str | None
    stamped: bool
    limit: int
    products: Mapping[str, tuple[str, ...]]
    pointers: tuple[str, ...]


# Reads directories without the package: (position of the first, what `Reader` returns).
_Rest = Callable[[Sequence[bytes]], Iterable[tuple[int, tuple[Any, ...]]]]


def read_natively(
    wanted: Wanted,
    names: Sequence[bytes],
    threads: int,
    progress: Callable[[int], object],
    rest: _Rest,
) -> tuple[Any, ...] | None:
    """Return what `Reader` returns for all names; None if the package cannot read them.

    `progress` is called with the number of directories read. `rest` reads the unsure directories.
    """
    native = native_reader()
    if native is None:
        return None
    products = Products(wanted.products, FEW)
    listed, named, needs = products.as_bits()
    value_file = wanted.value_file
    if (
        max(len(listed) + len(named), len(needs)) > _MOST_BITS
        or not (listed or value_file)
        or (value_file or "").startswith("/")
    ):
        return None
    try:
        root = os.open(wanted.workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        search = Search(
            root,
            wanted.inodes,
            None if value_file is None else os.fsencode(value_file),
            not wanted.stamped,
            wanted.limit,
            listed,
            {b"." * path.startswith(b"/") + path: bit for path, bit in named.items()},
            needs,
            () if wanted.stamped or value_file is None else wanted.pointers,
        )
        raw = native.read(names, search, threads, progress)
    finally:
        os.close(root)
    found = _Found(raw, products)
    unsure = raw[5]
    for start, part in rest([names[at] for at in unsure]) if unsure else ():
        found.enter(unsure[start : start + (len(part[1]) >> 3)], part)
    return found.all()


class _Found:
    """What was read, with the unsure directories at their positions."""

    def __init__(self, raw: Raw, products: Products) -> None:
        self.products = products
        self.raw, times, sizes, sets, columns, _ = raw
        self.stamps = array("q", times), array("q", sizes)
        self.sets = list(map(bytearray, sets))  # the complete directories of each action
        self.distinct: list[list[Any]] = [
            orjson.loads(b"[%b]" % b",".join(texts)) for texts, _ in columns
        ]
        self.codes = [array("I", codes) for _, codes in columns]
        self.bad: dict[int, str] = {}
        self.vanished: list[int] = []

    def enter(self, places: Sequence[int], part: tuple[Any, ...]) -> None:
        """Enter what `Reader` returned for the directories at these places."""
        raw, times, sizes, bad, vanished, completed, columns = part
        for into, cells in zip(self.stamps, (times, sizes), strict=True):
            for place, cell in zip(places, array("q", cells), strict=True):
                into[place] = cell
        for place, text in zip(places, raw, strict=False):
            self.raw[place] = text
        self.bad |= {places[at]: reason for at, reason in bad.items()}
        self.vanished += [places[at] for at in vanished]
        for cells, members in zip(self.sets, completed.values(), strict=False):
            for at, place in enumerate(places):
                cells[place >> 3] |= (members >> at & 1) << (place & 7)
        for known, codes, (more, own) in zip(self.distinct, self.codes, columns, strict=False):
            for place, code in zip(places, array("I", own), strict=True):
                if code < len(more):
                    codes[place] = len(known) + code
            known.extend(more)

    def all(self) -> tuple[Any, ...]:
        """Return it in the form in which `Reader` returns its part."""
        actions = zip(self.products.actions, self.sets, strict=False)  # or no sets
        completed = {action: int.from_bytes(cells, "little") for action, cells in actions}
        columns = [
            (known, _of_chunk(codes, len(known)).tobytes())
            for known, codes in zip(self.distinct, self.codes, strict=True)
        ]
        stamps = [cells.tobytes() for cells in self.stamps]
        return self.raw, *stamps, self.bad, self.vanished, completed, columns


def _of_chunk(codes: array[int], none: int) -> array[int]:
    """Return the codes as a chunk has them: the code after the last value is for no value."""
    if _NOTHING not in codes:
        return codes
    return array("I", [none if code == _NOTHING else code for code in codes])
