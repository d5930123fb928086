"""The records of a project at one generation, as an immutable snapshot.

Directories are positions 0..n-1 in the list of names sorted by bytes. A set of directories is a
Python integer used as a bit set (bit i is position i): `&`, `|`, `~` and `bit_count` on a million
directories take microseconds and need no numpy (measured: docs/background/state.md).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from rowtui.core.state.columns import RankColumn

DirectorySet = int
T = TypeVar("T")


class Directories(Protocol):
    """The directories of a workspace as columns: names sorted by bytes, and their values."""

    @property
    def bad(self) -> Mapping[int, str]:
        """Return the directories that are set aside, with reasons (unreadable value file, ...)."""
        ...

    def __len__(self) -> int:
        """Return the number of directories, including bad ones."""
        ...

    def name(self, position: int) -> str:
        """Return the name; bytes that are not UTF-8 appear as surrogates (os.fsdecode)."""
        ...

    def names(self) -> Sequence[str]:
        """Return all names in order."""
        ...

    def position(self, name: str) -> int | None:
        """Return the position of a name, or None."""
        ...

    def value(self, position: int) -> Any:
        """Return the directory's JSON value; None without a value file."""
        ...

    def column(self, pointer: str) -> RankColumn:
        """Return the column of a JSON pointer; it is computed if it is not stored."""
        ...


class Submitted(NamedTuple):
    """One (action, directory) in a scheduler's queue. `job_id` 0: reserved, id not yet known."""

    cluster: str
    job_id: int
    token: str = ""


class LastOutcome(enum.Enum):
    """The end of a directory's last job, if that job did not complete the directory.

    FAILED needs evidence: an exit code, a signal, the scheduler's report, or missing products of an
    action that has products. NOT_REACHED: the job ended at another directory of its group before
    this directory was processed. CANCELLED: the user cancelled the job. RETRIED: the user asked a
    run to try the directory again, and the run has not sent it yet.
    """

    FAILED = "failed"
    NOT_REACHED = "not reached"
    CANCELLED = "cancelled"
    RETRIED = "retried"


MISSING_PRODUCTS = "it ended well, but products are missing"
"""The reason of a failure that does not count for an action without products."""

# How the reasons of jobs begin that ended by themselves, or never began.
_NOT_DIED = ("exit code ", MISSING_PRODUCTS, "it did not start", "not begun", "lost")


class LastEnd(NamedTuple):
    """The end of the last job of an (action, directory). `reason`: text for the user."""

    cluster: str
    job_id: int
    token: str
    reason: str  # e.g. "exit code 2", "time limit", "cancelled", "ended without a word"
    outcome: LastOutcome = LastOutcome.FAILED

    @property
    def failed(self) -> bool:
        """Whether the end counts as failed."""
        return self.outcome is LastOutcome.FAILED

    @property
    def died(self) -> bool:
        """Whether the job may have been stopped here, so that its products may be half written."""
        return self.outcome is not LastOutcome.NOT_REACHED and not self.reason.startswith(_NOT_DIED)


class State(NamedTuple):
    """A project's records at one generation. Positions refer to `directories`.

    Every action name of the workflow has an entry in `completed` (maybe 0). `ends` only holds
    directories whose last job ended and did not complete them.
    """

    generation: int
    directories: Directories
    completed: Mapping[str, DirectorySet]
    submitted: Mapping[str, Mapping[int, Submitted]] = {}
    ends: Mapping[str, Mapping[int, LastEnd]] = {}

    @property
    def everything(self) -> DirectorySet:
        """Return all directories that are not set aside."""
        every = (1 << len(self.directories)) - 1
        return every & ~bit_set(self.directories.bad)

    @property
    def set_aside(self) -> dict[str, str]:
        """Return why directories are set aside, by their names."""
        return {self.directories.name(at): why for at, why in self.directories.bad.items()}

    def submitted_set(self, action: str) -> DirectorySet:
        """Return the directories with a submitted record for the action, on any cluster."""
        return bit_set(self.submitted.get(action, {}))

    def ended_sets(self, action: str) -> dict[LastOutcome, DirectorySet]:
        """Return the directories whose last job for the action ended in each way."""
        ends = self.ends.get(action, {})
        rest = [
            (at, end.outcome) for at, end in ends.items() if end.outcome is not LastOutcome.FAILED
        ]
        others: dict[LastOutcome, DirectorySet] = {
            outcome: bit_set(at for at, its in rest if its is outcome)
            for outcome in LastOutcome
            if outcome is not LastOutcome.FAILED
        }
        failed = bit_set(ends)
        for members in others.values():
            failed &= ~members
        return {LastOutcome.FAILED: failed, **others}


def bit_set(positions: Iterable[int]) -> DirectorySet:
    """Return the set of these positions. O(n + max/8), not O(n * max)."""
    listed = list(positions)
    if not listed:
        return 0
    last = max(listed)
    if len(listed) * 16 > last:  # dense: byte marks are faster than bits
        marks = bytearray(b"0" * (last + 1))
        for position in listed:
            marks[last - position] = 0x31
        return int(marks, 2)
    cells = bytearray((last >> 3) + 1)
    for position in listed:
        cells[position >> 3] |= 1 << (position & 7)
    return int.from_bytes(cells, "little")


def positions(members: DirectorySet) -> list[int]:
    """Return the positions in a set, ascending. Runs of empty bytes are skipped at once."""
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
    """Return the positions of `asked` that are members. O(asked + members/8), not the product."""
    return frozenset(positions(members & bit_set(asked)))


def without_members(records: Mapping[int, T], members: DirectorySet) -> dict[int, T]:
    """Return the records whose positions are not in a set."""
    taken = among(members, records)
    return {at: record for at, record in records.items() if at not in taken}


_BITS = tuple(tuple(bit for bit in range(8) if cell >> bit & 1) for cell in range(256))
_NOBODY = bytes(512)
