"""The dependencies of a job graph in both directions, and the slots of its jobs, as plain arrays.

The dependencies of a job are consecutive, in the order of the jobs; dependencies added later are
kept separately. The dependents of a job are a chain of segments of `targets`: one for each
extension that added dependents. A target is the number of a job, or `~slot` where the dependency is
in a slot; the slot stores its job. Callers hold the graph's lock.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from rowtui.core.network.graph.job_block import NewJobs, SlotCounts
from rowtui.core.network.graph.job_model import GONE, LOST, Edges

NO_SLOT = -1
_END = -1  # end of a chain


class JobSlots:
    """Inputs that need only some of their members. All columns but `_chain` are by slot."""

    def __init__(self) -> None:
        self.job = array("i")
        self.least = array("i")
        self.members = array("i")
        self.lost = array("i")
        self.gone = array("i")
        self.place = array("i")  # position among the slots of its job
        self._next = array("i")
        self._chain = array("i")  # by job: its latest slot

    def __len__(self) -> int:
        return len(self.job)

    def broken(self, slot: int) -> int:
        """Return LOST or GONE if too few members are left, otherwise 0."""
        members, lost = self.members[slot], self.lost[slot]
        if members - lost - self.gone[slot] >= min(self.least[slot], members):
            return 0
        return LOST if lost else GONE

    def of(self, job: int) -> list[int]:
        """Return the slots of a job, in their order."""
        found: list[int] = []
        slot = self._chain[job]
        while slot != _END:
            found.append(slot)
            slot = self._next[slot]
        return found[::-1]

    def add(self, job: int, least: int) -> int:
        """Add a slot to a job; return the slot's number."""
        before = self._chain[job]
        place = 0 if before == _END else self.place[before] + 1
        slot = len(self.job)
        columns = (self.job, self.least, self.members, self.lost, self.gone, self.place, self._next)
        for column, value in zip(columns, (job, least, 0, 0, 0, place, before), strict=True):
            column.append(value)
        self._chain[job] = slot
        return slot

    def append(self, jobs: NewJobs, counts: SlotCounts) -> None:
        """Add the slots of new jobs, which have no slots yet."""
        _extend(self._chain, np.full(jobs.count, _END, np.int32))
        for job, least in zip(jobs.slot_jobs.tolist(), jobs.slot_least.tolist(), strict=True):
            self.add(job + jobs.first, least)
        base = len(self.job) - len(jobs.slot_jobs)
        for column, numbers in zip((self.members, self.lost, self.gone), counts, strict=True):
            np.frombuffer(column, np.int32)[base:] = numbers


class JobEdges:
    """The dependencies of jobs in both directions."""

    def __init__(self) -> None:
        self.slots = JobSlots()
        self.head = array("i")  # by job: its latest segment
        self.segment_start = array("i")
        self.segment_end = array("i")
        self.segment_next = array("i")
        self.targets = array("i")
        self._starts = array("i", [0])
        self._needs = array("i")
        self._need_slots = array("i")
        self._later: dict[int, list[tuple[int, int]]] = {}

    @property
    def number(self) -> int:
        """Return the number of dependencies."""
        return len(self.targets)

    def append(self, jobs: NewJobs, counts: SlotCounts) -> None:
        """Add the dependencies and slots of new jobs."""
        base, slot_base = len(self._needs), len(self.slots)
        self.slots.append(jobs, counts)
        _extend(self.head, np.full(jobs.count, _END, np.int32))
        _extend(self._starts, jobs.starts[1:] + np.int32(base))
        _extend(self._needs, jobs.needs)
        slots = np.where(jobs.slots < 0, np.int32(NO_SLOT), jobs.slots + np.int32(slot_base))
        _extend(self._need_slots, slots)
        if len(jobs.needs):
            targets = np.where(slots < 0, jobs.owner + np.int32(jobs.first), ~slots)
            self._append_segments(jobs.needs, targets)

    def _append_segments(self, needs: NDArray[np.int32], targets: NDArray[np.int32]) -> None:
        if (needs[1:] < needs[:-1]).any():
            order = np.argsort(needs, kind="stable")
            needs, targets = needs[order], targets[order]
        changes = np.flatnonzero(needs[1:] != needs[:-1]) + 1
        starts = np.concatenate(([0], changes)) + len(self.targets)
        ends = np.concatenate((starts[1:], [len(self.targets) + len(needs)]))
        owners = needs[np.concatenate(([0], changes))]
        first = len(self.segment_start)
        head = np.frombuffer(self.head, np.int32)
        _extend(self.segment_next, head[owners])
        head[owners] = np.arange(first, first + len(owners), dtype=np.int32)
        _extend(self.segment_start, starts)
        _extend(self.segment_end, ends)
        _extend(self.targets, targets)

    def add(self, job: int, needed: int, slot: int) -> None:
        """Add a dependency to an existing job; `slot` is NO_SLOT for a strict dependency."""
        self._later.setdefault(job, []).append((needed, slot))
        self.segment_start.append(len(self.targets))
        self.targets.append(job if slot == NO_SLOT else ~slot)
        self.segment_end.append(len(self.targets))
        self.segment_next.append(self.head[needed])
        self.head[needed] = len(self.segment_start) - 1
        if slot != NO_SLOT:
            self.slots.members[slot] += 1

    def backward(self, job: int) -> Iterator[tuple[int, int]]:
        """Yield the dependencies of a job: numbers with their slots (NO_SLOT for strict ones)."""
        start, end = self._starts[job], self._starts[job + 1]
        yield from zip(self._needs[start:end], self._need_slots[start:end], strict=True)
        yield from self._later.get(job, ())

    def forward(self, job: int) -> Iterator[tuple[int, int]]:
        """Yield the dependents of a job: numbers with their slots (NO_SLOT for strict ones)."""
        segment = self.head[job]
        while segment != _END:
            for target in self.targets[self.segment_start[segment] : self.segment_end[segment]]:
                yield (target, NO_SLOT) if target >= 0 else (self.slots.job[~target], ~target)
            segment = self.segment_next[segment]

    def columns(self) -> Edges:
        """Return a copy of all dependencies."""
        starts = np.frombuffer(self._starts, np.int32)
        jobs = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
        needs = np.array(self._needs, np.int32)
        if self._later:
            pairs = [(need, job) for job, added in self._later.items() for need, _ in added]
            later = np.array(pairs, np.int32)
            needs = np.concatenate((needs, later[:, 0]))
            jobs = np.concatenate((jobs, later[:, 1]))
        return Edges(needs, jobs)


def _extend(column: array[int], numbers: NDArray[np.signedinteger]) -> None:
    column.frombytes(numbers.astype(np.int32, copy=False).tobytes())
