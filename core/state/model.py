"""What is known of a project at one generation: an immutable snapshot.

Directories are positions 0..n-1 in the list of names sorted by bytes. A set of directories is a
Python integer used as a bit set (bit i is position i): `&`, `|`, `~` and `bit_count` on a million
directories take microseconds and need no numpy (measured: docs/architecture.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

DirectorySet = int
T = TypeVar("T")


class Column(Protocol):
    """One JSON pointer over all directories, rank-encoded.

    `codes[i]` is the rank of directory i's value among `distinct`, which is sorted in an order
    that extends Row's comparison (kind, then value; equal values share a rank); `missing` is the
    code of directories that do not have the pointer. `mixed` says that some two distinct values
    have no order in Row's sense, so that whoever orders by this column must compare exactly.
    """

    pointer: str
    codes: Sequence[int]
    distinct: Sequence[Any]
    mixed: bool

    @property
    def missing(self) -> int:
        """`len(distinct)`."""
        ...


class Directories(Protocol):
    """The directories of a workspace as columns: names sorted by bytes, and their values."""

    @property
    def bad(self) -> Mapping[int, str]:
        """Directories that are set aside, and why (unreadable value file, ...)."""
        ...

    def __len__(self) -> int:
        """How many directories there are, bad ones included."""
        ...

    def name(self, position: int) -> str:
        """The name; bytes that are not UTF-8 appear as surrogates (os.fsdecode)."""
        ...

    def names(self) -> Sequence[str]:
        """All names in order."""
        ...

    def position(self, name: str) -> int | None:
        """Where a name is, or None."""
        ...

    def value(self, position: int) -> Any:
        """The directory's JSON value; None without a value file."""
        ...

    def column(self, pointer: str) -> Column:
        """The column of a JSON pointer; computed when it is not stored."""
        ...


class Submitted(NamedTuple):
    """One (action, directory) that is with a scheduler. `job_id` 0: reserved, id not yet known."""

    cluster: str
    job_id: int
    token: str = ""


class Failure(NamedTuple):
    """Why an (action, directory) is shown as failed: how its last job ended."""

    cluster: str
    job_id: int
    token: str
    reason: str  # e.g. "exit code 2", "time limit", "cancelled", "ended without a word"


class State(NamedTuple):
    """A project's records at one generation. Positions refer to `directories`.

    Every action name of the workflow has an entry in `completed` (maybe 0). `failed` only holds
    directories whose last job ended without making their products.
    """

    generation: int
    directories: Directories
    completed: Mapping[str, DirectorySet]
    submitted: Mapping[str, Mapping[int, Submitted]] = {}
    failed: Mapping[str, Mapping[int, Failure]] = {}

    @property
    def everything(self) -> DirectorySet:
        """All directories that are not set aside."""
        every = (1 << len(self.directories)) - 1
        return every & ~bit_set(self.directories.bad)

    def submitted_set(self, action: str) -> DirectorySet:
        """The directories with a submitted record for the action, on any cluster."""
        return bit_set(self.submitted.get(action, {}))

    def failed_set(self, action: str) -> DirectorySet:
        """The directories whose last job for the action failed."""
        return bit_set(self.failed.get(action, {}))


def bit_set(positions: Iterable[int]) -> DirectorySet:
    """The set of these positions. O(n + max/8), not O(n * max)."""
    listed = list(positions)
    if not listed:
        return 0
    last = max(listed)
    if len(listed) * 16 > last:  # dense: marks are quicker than bits
        marks = bytearray(b"0" * (last + 1))
        for position in listed:
            marks[last - position] = 0x31
        return int(marks, 2)
    cells = bytearray((last >> 3) + 1)
    for position in listed:
        cells[position >> 3] |= 1 << (position & 7)
    return int.from_bytes(cells, "little")


def positions(members: DirectorySet) -> list[int]:
    """The positions in a set, ascending. Where there are none, many are passed over at once."""
    found = []
    data = members.to_bytes((members.bit_length() + 7) >> 3, "little")
    for start in range(0, len(data), len(_NOBODY)):
        cells = data[start : start + len(_NOBODY)]
        if cells == _NOBODY:
            continue
        base = start << 3
        for cell in cells:
            if cell:
                found.extend([base + bit for bit in _BITS[cell]])
            base += 8
    return found


def among(members: DirectorySet, asked: Iterable[int]) -> frozenset[int]:
    """Those of the positions `asked` that are members. O(asked + members/8), not the product."""
    return frozenset(positions(members & bit_set(asked)))


def without_members(records: Mapping[int, T], members: DirectorySet) -> dict[int, T]:
    """The records whose positions are not in a set."""
    taken = among(members, records)
    return {at: record for at, record in records.items() if at not in taken}


_BITS = tuple(tuple(bit for bit in range(8) if cell >> bit & 1) for cell in range(256))
_NOBODY = bytes(512)
