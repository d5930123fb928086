"""The dependencies of a job graph in both directions, and the slots of its jobs, as plain arrays.

The dependencies of a job are consecutive, in the order of the jobs; dependencies added later are
kept separately. The dependents of a job are a chain of segments of `targets`: one for each
extension that added dependents. A target is the number of a job, or `~slot` where the dependency is
in a slot; the slot stores its job. Callers hold the graph's lock.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from rowtui.core.base.lazy import NDArray, np
from rowtui.core.network.graph.job_model import (
    GONE,
    GOOD,
    KIND,
    LOST,
    OPEN,
    DependencyColumns,
    JobBlock,
    JobGraphError,
)

if TYPE_CHECKING:
    from rowtui.core.network.graph.job_model import Ints


# Blocks of new jobs as checked arrays, and the effect of their dependencies on their states.


Int32: TypeAlias = "NDArray[np.int32]"


@dataclass(frozen=True, slots=True)
class NewJobs:
    """A block as arrays. The job at position `owner[e]` of the block needs `needs[e]`.

    `slots[e]` is the position of a slot of the block, or -1.
    """

    first: int
    count: int
    starts: Int32
    needs: Int32
    owner: Int32
    slots: Int32
    slot_jobs: Int32
    slot_least: Int32


class SlotCounts(NamedTuple):
    """For each slot of a block: its members, and how many of them are lost or gone."""

    members: Int32
    lost: Int32
    gone: Int32


class Outlook(NamedTuple):
    """The dependencies of each job of a block, counted.

    `unmet`: dependencies that the job waits for. `lost`, `gone`: dependencies and slots that are
    lost or gone.
    """

    unmet: Int32
    lost: Int32
    gone: Int32
    slots: SlotCounts


def new_jobs(block: JobBlock, first: int) -> NewJobs:
    """Return the block as checked arrays, with its jobs numbered from `first` on.

    Raises: JobGraphError.
    """
    count = block.count
    needs = _ints(block.dependencies)
    starts = _ints(block.starts) if len(block.starts) else np.zeros(count + 1, np.int32)
    slots = _ints(block.slots) if len(block.slots) else np.full(len(needs), -1, np.int32)
    slot_jobs, slot_least = _ints(block.slot_jobs), _ints(block.slot_least)
    if block.node < 0 or count < 0:
        raise JobGraphError(f"a block of {count} jobs of node {block.node} is none")
    if (
        len(starts) != count + 1
        or starts[0] != 0
        or starts[-1] != len(needs)
        or (count and int(np.diff(starts).min()) < 0)
    ):
        raise JobGraphError(
            f"the starts of a block of {count} jobs do not fit its {len(needs)} dependencies"
        )
    owner = np.repeat(np.arange(count, dtype=np.int32), np.diff(starts))
    if len(needs):
        wrong = (needs < 0) | (needs >= owner + first)
        if wrong.any():
            edge = int(wrong.argmax())
            raise JobGraphError(
                f"new job {first + int(owner[edge])} cannot need {int(needs[edge])}",
                "a new job can need existing jobs, or new jobs before it in the list",
            )
    _check_slots(slots, owner, slot_jobs, slot_least, count)
    return NewJobs(first, count, starts, needs, owner, slots, slot_jobs, slot_least)


def _check_slots(
    slots: Int32, owner: Int32, slot_jobs: Int32, slot_least: Int32, count: int
) -> None:
    if len(slots) != len(owner) or len(slot_jobs) != len(slot_least):
        raise JobGraphError("the slots of a block do not fit its dependencies")
    if len(slot_jobs) and not (
        int(slot_jobs.min()) >= 0 and int(slot_jobs.max()) < count and int(slot_least.min()) >= 0
    ):
        raise JobGraphError("a slot of a block is of no job of it, or asks for less than nothing")
    if not len(slots):
        return
    if int(slots.min()) < -1 or int(slots.max()) >= len(slot_jobs):
        raise JobGraphError("a dependency of a block is in a slot that the block does not have")
    tolerant = slots >= 0
    if (slot_jobs[slots[tolerant]] != owner[tolerant]).any():
        raise JobGraphError("a dependency of a block is in a slot of another job")


def outlook(jobs: NewJobs, states: NDArray[np.uint8]) -> Outlook:
    """Count the dependencies of new jobs by the states of earlier jobs; new jobs count as open."""
    known = np.zeros(len(jobs.needs), np.uint8)
    earlier = jobs.needs < jobs.first
    known[earlier] = np.frombuffer(KIND, np.uint8)[states[jobs.needs[earlier]]]
    strict = jobs.slots < 0
    if strict.all():
        unmet = _number(jobs, known != GOOD) if known.any() else np.diff(jobs.starts)
    else:
        unmet = _number(jobs, np.where(strict, known != GOOD, known == OPEN))
    lost = _number(jobs, strict & (known == LOST))
    gone = _number(jobs, strict & (known == GONE))
    counts = _slot_counts(jobs, known)
    left = counts.members - counts.lost - counts.gone
    broken = left < np.minimum(jobs.slot_least, counts.members)
    lost += _bincount(jobs.slot_jobs[broken & (counts.lost > 0)], jobs.count)
    gone += _bincount(jobs.slot_jobs[broken & (counts.lost == 0)], jobs.count)
    return Outlook(unmet.astype(np.int32), lost, gone, counts)


def _slot_counts(jobs: NewJobs, known: NDArray[np.uint8]) -> SlotCounts:
    number = len(jobs.slot_jobs)
    tolerant = jobs.slots >= 0
    slots, known = jobs.slots[tolerant], known[tolerant]
    return SlotCounts(
        _bincount(slots, number),
        _bincount(slots[known == LOST], number),
        _bincount(slots[known == GONE], number),
    )


def _number(jobs: NewJobs, which: NDArray[np.bool_]) -> Int32:
    """Return how many dependencies of each job are in `which`."""
    return _bincount(jobs.owner[which], jobs.count)


def _bincount(positions: Int32, number: int) -> Int32:
    return np.bincount(positions, minlength=number).astype(np.int32)


def _ints(numbers: Ints) -> Int32:
    """Return numbers as 32-bit integers. Raises: JobGraphError if one does not fit."""
    array: NDArray[Any] = np.asarray(numbers)
    if array.dtype == np.int32:
        return array
    if not array.size:
        return np.zeros(0, np.int32)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise JobGraphError("a block is made of whole numbers")
    if int(array.min()) < -(1 << 31) or int(array.max()) >= 1 << 31:
        raise JobGraphError("a number of a block does not fit 32 bits")
    return array.astype(np.int32)


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

    def columns(self) -> DependencyColumns:
        """Return a copy of all dependencies."""
        starts = np.frombuffer(self._starts, np.int32)
        jobs = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
        needs = np.array(self._needs, np.int32)
        if self._later:
            pairs = [(need, job) for job, added in self._later.items() for need, _ in added]
            later = np.array(pairs, np.int32)
            needs = np.concatenate((needs, later[:, 0]))
            jobs = np.concatenate((jobs, later[:, 1]))
        return DependencyColumns(needs, jobs)


def refuse_places(
    edges: JobEdges,
    job: int,
    others: Sequence[int],
    places: Sequence[int],
    least: Mapping[int, int],
) -> None:
    """Check that the slots of new dependencies exist, or are new and follow the existing ones.

    Raises: JobGraphError.
    """
    if len(places) != len(others):
        raise JobGraphError(f"{len(places)} slots for {len(others)} dependencies")
    number = len(edges.slots.of(job))
    named = sorted(least)
    new = [place for place in named if place >= number]
    after = number + len(new)
    if (
        new != list(range(number, after))
        or any(place < 0 or least[place] < 0 for place in named)
        or any(not NO_SLOT <= place < after for place in places)
    ):
        raise JobGraphError(
            f"job {job} has {number} slots: these cannot all be its: "
            + ", ".join(map(str, sorted({*places, *least}))),
            "slots count from 0, and a new one needs its least number of members",
        )


def refuse_circle(edges: JobEdges, job: int, others: Sequence[int]) -> None:
    """Check that none of the others needs the job. Raises: JobGraphError."""
    needed = set(others)
    seen, todo = {job}, [job]
    while todo:
        one = todo.pop()
        if one in needed:
            raise JobGraphError(f"job {job} cannot need {one}, which needs it")
        for other, _ in edges.forward(one):
            if other not in seen:
                seen.add(other)
                todo.append(other)


def _extend(column: array[int], numbers: NDArray[np.signedinteger]) -> None:
    column.frombytes(numbers.astype(np.int32, copy=False).tobytes())
