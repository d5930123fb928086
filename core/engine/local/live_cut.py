"""The groups of an action, updated with its directories; a page costs as much as its rows.

Takes the order of an action's directories and a set of them; gives the same groups as
`groups.form.cut_groups`, formed only for requested pages. The order is divided into bins, which
end where the sort key changes (if the action splits there) and after `BIN` directories; a cut
stores how many of its directories each bin has. When a thousand directories change, only their bins
are counted again (`moved`). `tests/core/test_live_cut.py` compares both forms.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from rowtui.core.base.lazy import np
from rowtui.core.groups.form import GroupCut
from rowtui.core.groups.model import Group
from rowtui.core.groups.order import ActionOrder
from rowtui.core.state.model import DirectorySet
from rowtui.core.workflow.model import Action

BIN = 4096
"""Directories of one bin: a page reads a few bins, an event changes the counts of some."""


class Bins:
    """All directories in an order, divided into bins.

    `permutation` None: by name, forwards or backwards. `starts`: where each bin begins in the
    order, and the end; `segments`: the first bin of each run of directories that groups do not
    cross.
    """

    def __init__(self, count: int, order: ActionOrder | None, split: bool, reverse: bool) -> None:
        self.count = count
        self.reverse = reverse
        self.permutation: Any = None
        begins = np.zeros(1 if count else 0, dtype=np.int64)
        if order is not None:
            self.permutation = _array(order.permutation)[:: -1 if reverse else 1]
            if split:
                keys = _array(order.key_ids)[:: -1 if reverse else 1]
                changes = np.flatnonzero(keys[1:] != keys[:-1]) + 1
                begins = np.concatenate((begins, changes))
        lengths = np.diff(begins, append=count)
        pieces = -(-lengths // BIN)
        self.segments = np.cumsum(pieces) - pieces
        starts = np.repeat(begins, pieces)
        starts += BIN * (np.arange(len(starts)) - np.repeat(self.segments, pieces))
        self.starts = np.append(starts, count)

    def __len__(self) -> int:
        """Return the number of bins."""
        return len(self.starts) - 1

    def order_of(self, begin: int, end: int) -> Any:
        """Return the positions at these places of the order."""
        if self.permutation is not None:
            return self.permutation[begin:end]
        if self.reverse:
            return np.arange(self.count - 1 - begin, self.count - 1 - end, -1, dtype=np.uint32)
        return np.arange(begin, end, dtype=np.uint32)

    @cached_property
    def _bin_of(self) -> Any:
        """Return the bin of each directory."""
        narrow = np.uint16 if len(self) <= 1 << 16 else np.uint32
        found = np.empty(self.count, dtype=narrow)
        found[self.permutation] = np.repeat(
            np.arange(len(self), dtype=narrow), np.diff(self.starts)
        )
        return found

    def bins_of(self, positions: Any) -> Any:
        """Return the bin of each of these directories."""
        if self.permutation is not None:
            return self._bin_of[positions]
        places = self.count - 1 - positions if self.reverse else positions
        return places // BIN

    def counted(self, positions: Any) -> Any:
        """Return how many of these directories each bin has."""
        return np.bincount(self.bins_of(positions), minlength=len(self)).astype(np.int32)

    @property
    def nbytes(self) -> int:
        """Return the memory of the object without the permutation."""
        known = self.__dict__.get("_bin_of")
        own = 0 if known is None else known.nbytes
        return int(own + self.starts.nbytes + self.segments.nbytes)


class _Groups(NamedTuple):
    """For each segment: groups up to its end, its groups, its members, rank of its first."""

    ends: Any
    many: Any
    members: Any
    ranks: Any


class LiveCut(GroupCut):
    """A `GroupCut` that is counted, not listed. A rank is a place in the list of members."""

    def __init__(
        self,
        action: Action,
        bins: Bins,
        members: DirectorySet,
        cells: Any = None,
        counts: Any = None,
    ) -> None:
        """Create a cut. `cells`: the members as bytes of bits; `counts`: how many each bin has."""
        self.action = action
        self.bins = bins
        self.members = members
        self._cells = _cells_of(members, bins.count) if cells is None else cells
        self._counts = bins.counted(_members_of(self._cells)) if counts is None else counts

    def moved(self, members: DirectorySet) -> LiveCut:
        """Return the cut of other members of the same directories."""
        changes = self.members ^ members
        if not changes:
            return self
        cells = _cells_of(changes, self.bins.count)
        changed = _members_of(cells)
        went = self._has(changed)
        counts = self._counts + self.bins.counted(changed[~went])
        if went.any():
            counts -= self.bins.counted(changed[went])
        return LiveCut(self.action, self.bins, members, self._cells ^ cells, counts)

    def _has(self, positions: Any) -> Any:
        return (self._cells[positions >> 3] >> (positions & 7).astype(np.uint8) & 1).view(np.bool_)

    @property
    def nbytes(self) -> int:
        """Return the memory of the cut without the bins."""
        return int(2 * len(self._cells) + 40 * len(self._counts))

    @cached_property
    def _ranks(self) -> Any:
        """Return the rank of the first member of each bin, and the number of members."""
        return np.concatenate((np.zeros(1, np.int64), np.cumsum(self._counts, dtype=np.int64)))

    @cached_property
    def _groups(self) -> _Groups:
        segments = self.bins.segments
        ranks = self._ranks[segments]
        members = np.diff(ranks, append=self.directories)
        most = self.action.group.maximum_size
        many = (members > 0).astype(np.int64) if most is None else -(-members // most)
        return _Groups(np.cumsum(many), many, members, ranks)

    def __len__(self) -> int:
        """Return how many groups there are."""
        ends = self._groups.ends
        return int(ends[-1]) if len(ends) else 0

    @property
    def directories(self) -> int:
        """Return how many directories there are in all groups."""
        return int(self._ranks[-1])

    def placed(self, numbers: Sequence[int]) -> list[tuple[int, int]]:
        """Return (rank of the first member, size) of each of these groups."""
        at = np.asarray(numbers, dtype=np.int64)
        groups, most = self._groups, self.action.group.maximum_size
        segment = np.searchsorted(groups.ends, at, side="right")
        within = (at - groups.ends[segment] + groups.many[segment]) * (most or 0)
        left = groups.members[segment] - within
        sizes = left if most is None else np.minimum(left, most)
        return list(zip((groups.ranks[segment] + within).tolist(), sizes.tolist(), strict=True))

    def firsts(self, numbers: Sequence[int]) -> list[tuple[int, int]]:
        """Return (first directory, size) of each of these groups."""
        placed = self.placed(numbers)
        ranks = np.asarray([rank for rank, _ in placed], dtype=np.int64)
        bins = np.searchsorted(self._ranks, ranks, side="right") - 1
        listed = {at: self._bin(at) for at in set(bins.tolist())}
        within = (ranks - self._ranks[bins]).tolist()
        return [
            (int(listed[at][offset]), size)
            for at, offset, (_, size) in zip(bins.tolist(), within, placed, strict=True)
        ]

    def _bin(self, at: int) -> Any:
        positions = self.bins.order_of(int(self.bins.starts[at]), int(self.bins.starts[at + 1]))
        return positions[self._has(positions)]

    def span(self, begin: int, end: int) -> Any:
        """Return the members of these ranks: an array."""
        begin, end = max(0, begin), min(end, self.directories)
        if begin >= end:
            return np.zeros(0, np.int64)
        first = int(np.searchsorted(self._ranks, begin, side="right")) - 1
        last = int(np.searchsorted(self._ranks, end, side="left"))
        positions = self.bins.order_of(int(self.bins.starts[first]), int(self.bins.starts[last]))
        base = int(self._ranks[first])
        return positions[self._has(positions)][begin - base : end - base]

    def __getitem__(self, number: int) -> Group:
        """Return group `number`, from 0."""
        ((rank, size),) = self.placed((range(len(self))[number],))
        return Group(self.action, tuple(self.span(rank, rank + size).tolist()))

    def page(self, start: int = 0, length: int | None = None) -> tuple[Group, ...]:
        """Return at most `length` groups from `start` on (from 0)."""
        if length is None:
            return super().page(start)
        numbers = range(len(self))[max(0, start) : max(0, start) + max(0, length)]
        return tuple(self[number] for number in numbers)

    def number_of(self, first: int) -> int | None:
        """Return the number of the group that begins with this directory; None if there is none."""
        one = np.asarray([first], dtype=np.int64)
        if not 0 <= first < self.bins.count or not self._has(one)[0]:
            return None
        at = int(self.bins.bins_of(one)[0])
        rank = int(self._ranks[at]) + int(np.flatnonzero(self._bin(at) == first)[0])
        segment = int(np.searchsorted(self.bins.segments, at, side="right")) - 1
        groups, most = self._groups, self.action.group.maximum_size
        within = rank - int(groups.ranks[segment])
        number, rest = divmod(within, most) if most is not None else (0, within)
        before = int(groups.ends[segment] - groups.many[segment])
        return None if rest else before + number

    @cached_property
    def counted_sizes(self) -> tuple[tuple[int, int], ...]:
        """Return how many groups there are of each size, ascending."""
        groups, most = self._groups, self.action.group.maximum_size
        if most is None:
            rests, full = groups.members, 0
        else:
            rests, full = groups.members % most, int((groups.members // most).sum())
        sizes, times = np.unique(rests[rests > 0], return_counts=True)
        found = list(zip(sizes.tolist(), times.tolist(), strict=True))
        return (*found, (most, full)) if most is not None and full else tuple(found)

    def sizes(self) -> list[int]:
        """Return the size of each group."""
        return [end - begin for begin, end in pairwise(self.begins)]

    # The whole list, for filters and sorts.

    @property
    def positions(self) -> Any:
        """Return all members in order."""
        everyone = self.bins.order_of(0, self.bins.count)
        return everyone[self._has(everyone)]

    @property
    def begins(self) -> Any:  # type: ignore[override]
        """Return the rank of each group's first member, and the number of members."""
        groups, most = self._groups, self.action.group.maximum_size
        first = np.repeat(groups.ranks, groups.many)
        within = np.arange(len(first)) - np.repeat(groups.ends - groups.many, groups.many)
        return np.append(first + within * (most or 0), self.directories)


def _array(numbers: Any) -> Any:
    """Return a view of packed numbers, not a copy."""
    return np.asarray(memoryview(numbers))


def _cells_of(members: DirectorySet, count: int) -> Any:
    """Return the bits of a set, eight in a byte, padded to a multiple of eight bytes."""
    return np.frombuffer(members.to_bytes((count + 63) >> 6 << 3, "little"), np.uint8)


def _members_of(cells: Any) -> Any:
    """Return the positions of the bits that are set."""
    words = np.flatnonzero(cells.view(np.uint64))  # if few members changed, nearly all words are 0
    if len(words) * 16 < len(cells):
        near = (words[:, None] * 8 + np.arange(8)).ravel()
        filled = near[cells[near] != 0]
        bits = np.unpackbits(cells[filled], bitorder="little").reshape(-1, 8)
        row, bit = np.nonzero(bits)
        return filled[row] * 8 + bit
    return np.flatnonzero(np.unpackbits(cells, bitorder="little"))
