"""The waiting jobs, and the first of them that fits in some room.

Jobs with the same need and rank form one line with a head, since a workflow has a few dozen needs
and a million jobs. Lines are in blocks, each with the sets of bits that `within` makes; a few new
lines are in no block, and blocks of similar size are merged (so that a line is moved log n times).
A lookup finds in each block the set of its lines that fit. The lines of a block are in the order
that their heads had when the block was made. Heads only get later, so the search for the best line
usually ends soon, and a block with too many fruitless steps is made again. Source: CAVATICA's
documentation, "Multi-instance scheduling algorithm" (prioritise, fit).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping
from heapq import heappop, heappush
from typing import Generic, Protocol, TypeVar

from rowtui.core.packing.model import ResourceAmounts
from rowtui.core.packing.node_types import Within
from rowtui.core.packing.seed import SeedJob

# Mutable jobs and instances of the online engine, which no other module uses.
#
# Other modules use the immutable values of `model`.


# Instances sorted by their free room, to find the first instance that holds a need.
#
# The order is that of the seed algorithm (`seed.least_room_first`, then the older instance). There
# are few different numbers of GPUs and CPUs, so instances are in buckets by these two numbers;
# inside of a bucket they are sorted by memory, disk and number. A lookup visits the buckets that
# have enough GPUs and CPUs, in order.

_Row = tuple[int, int, int]  # memory, disk, number of the instance


class Rooms:
    """The free room of instances, by their numbers."""

    __slots__ = ("_buckets", "_keys")

    def __init__(self) -> None:
        self._keys: list[tuple[int, int]] = []  # (gpus, cpus) of the buckets, sorted
        self._buckets: dict[tuple[int, int], list[_Row]] = {}

    def add(self, number: int, room: ResourceAmounts) -> None:
        """Add an instance with this free room."""
        cpus, memory, gpus, disk = room
        key = (gpus, cpus)
        bucket = self._buckets.get(key)
        if bucket is None:
            self._buckets[key] = [(memory, disk, number)]
            insort(self._keys, key)
        else:
            insort(bucket, (memory, disk, number))

    def remove(self, number: int, room: ResourceAmounts) -> None:
        """Remove an instance, which was added with this free room."""
        cpus, memory, gpus, disk = room
        key = (gpus, cpus)
        bucket = self._buckets[key]
        if len(bucket) == 1:
            del self._buckets[key]
            del self._keys[bisect_left(self._keys, key)]
        else:
            del bucket[bisect_left(bucket, (memory, disk, number))]

    def first(self, need: ResourceAmounts) -> int | None:
        """Return the number of the first instance with enough room, or None."""
        cpus, memory, gpus, disk = need
        keys, buckets = self._keys, self._buckets
        at, end = bisect_left(keys, (gpus, cpus)), len(keys)
        while at < end:
            key = keys[at]
            if key[1] < cpus:  # more GPUs, fewer CPUs: skip to the buckets with enough of both
                at = bisect_left(keys, (key[0], cpus), at)
                continue
            bucket = buckets[key]
            if bucket[-1][0] >= memory:
                for row in range(bisect_left(bucket, (memory, disk)), len(bucket)):
                    found = bucket[row]
                    if found[1] >= disk:
                        return found[2]
            at += 1
        return None


class OnlineJobKind:
    """The data that all jobs with the same need and hint share.

    `node_type`: the number of the hinted type, or -1. `types`: the set of suitable types, as bits
    of the catalogue. `price`: the price of the cheapest of these types.
    """

    __slots__ = ("need", "node_type", "price", "types")

    def __init__(self, need: ResourceAmounts, node_type: int, types: int, price: float) -> None:
        self.need, self.node_type, self.types, self.price = need, node_type, types, price


class OnlineTask:
    """A job that has not ended."""

    __slots__ = ("arrival", "job", "machine", "need", "node_type", "rank", "restarts", "types")

    def __init__(
        self, job: SeedJob, arrival: int, kind: OnlineJobKind, rank: Rank, restarts: int
    ) -> None:
        self.job, self.arrival, self.rank, self.restarts = job, arrival, rank, restarts
        self.need, self.node_type, self.types = kind.need, kind.node_type, kind.types
        self.machine: OnlineInstance | None = None


class OnlineInstance:
    """An allocated instance."""

    __slots__ = ("allocated_at", "node_type", "number", "ready", "room", "tasks")

    def __init__(self, number: int, node_type: int, room: ResourceAmounts, at: float) -> None:
        self.number, self.node_type, self.room, self.allocated_at = number, node_type, room, at
        self.ready = False
        self.tasks: dict[str, OnlineTask] = {}

    def put(self, task: OnlineTask) -> None:
        """Put the job on this instance."""
        (cpus, memory, gpus, disk), need = self.room, task.need
        self.room = ResourceAmounts(
            cpus - need[0], memory - need[1], gpus - need[2], disk - need[3]
        )
        self.tasks[task.job.id] = task
        task.machine = self

    def take_off(self, task: OnlineTask) -> None:
        """Take the job off this instance."""
        (cpus, memory, gpus, disk), need = self.room, task.need
        self.room = ResourceAmounts(
            cpus + need[0], memory + need[1], gpus + need[2], disk + need[3]
        )
        del self.tasks[task.job.id]
        task.machine = None


class InstancePool:
    """Instances that accept jobs, sorted by their room, for jobs with and without a hint."""

    __slots__ = ("_all", "_machines", "_of_type", "_ready")

    def __init__(self, machines: Mapping[int, OnlineInstance], ready: bool | None = None) -> None:
        """Use the instances that are ready (True), not ready (False), or all (None)."""
        self._machines, self._ready = machines, ready
        self._all = Rooms()
        self._of_type: dict[int, Rooms] = {}  # only of types that were the hint of a job

    def add(self, machine: OnlineInstance) -> None:
        """Add an instance with its present room."""
        self._all.add(machine.number, machine.room)
        if machine.node_type in self._of_type:
            self._of_type[machine.node_type].add(machine.number, machine.room)

    def remove(self, machine: OnlineInstance) -> None:
        """Remove an instance, whose room has not changed since `add`."""
        self._all.remove(machine.number, machine.room)
        if machine.node_type in self._of_type:
            self._of_type[machine.node_type].remove(machine.number, machine.room)

    def first(self, task: OnlineTask) -> OnlineInstance | None:
        """Return the first instance that suits the job, in the order of the seed algorithm."""
        rooms = self._all if task.node_type < 0 else self._rooms_of(task.node_type)
        number = rooms.first(task.need)
        return None if number is None else self._machines[number]

    def _rooms_of(self, node_type: int) -> Rooms:
        rooms = self._of_type.get(node_type)
        if rooms is None:
            rooms = self._of_type[node_type] = Rooms()
            for machine in self._machines.values():
                if machine.node_type == node_type and self._ready in {None, machine.ready}:
                    rooms.add(machine.number, machine.room)
        return rooms


Rank = tuple[float, ...]  # smaller ranks come first


class MayWait(Protocol):
    """A job that may wait. `arrival`: unique; `node_type`: the only one allowed, or -1."""

    @property
    def need(self) -> ResourceAmounts:
        """The room that the job needs."""

    @property
    def rank(self) -> Rank:
        """The rank; smaller ranks come first."""

    @property
    def arrival(self) -> int:
        """The number of the arrival; of the same rank, smaller numbers come first."""

    @property
    def node_type(self) -> int:
        """The number of the only node type that the job may be on, or -1."""


W = TypeVar("W", bound=MayWait)

# So few lines are checked one by one outside of blocks, which costs less than sets.
_FEW = 24

# A block is made again after this many fruitless checks for each of its lines.
_PATIENCE = 4

_Key = tuple[ResourceAmounts, Rank, int]
_Head = tuple[Rank, int]


class _Line(Generic[W]):
    """The jobs with the same need and rank, in the order of their arrival."""

    __slots__ = ("block", "head", "key", "members", "need", "node_type", "place", "rank")

    def __init__(self, first: W, key: _Key) -> None:
        self.key = key
        self.need, self.rank, self.node_type = first.need, first.rank, first.node_type
        self.members: list[tuple[int, int, W]] = []  # arrival, ticket, job
        self.head: _Head | None = None  # rank and arrival of the first member, None without members
        self.block: _Block[W] | None = None  # None: the line is in no block
        self.place = 0

    def fits(self, room: ResourceAmounts, node_type: int) -> bool:
        """Whether the members fit in this room, on an instance of this type."""
        return self.node_type in {-1, node_type} and self.need.fits(room)


class _Block(Generic[W]):
    """Lines in an earlier order of their heads, and sets of them."""

    __slots__ = ("_bound", "_free", "_within", "alive", "lines", "no_sooner", "vain")

    def __init__(self, lines: list[_Line[W]]) -> None:
        self.lines = sorted(lines, key=_head_of)
        self.no_sooner = [_head_of(line) for line in self.lines]
        self.vain = 0  # checks of lines that were not the best
        self._within = Within([line.need for line in self.lines])
        self._free, self._bound = 0, dict[int, int]()
        self.alive = self._within.all
        for place, line in enumerate(self.lines):
            line.block, line.place = self, place
            if line.node_type >= 0:
                before = self._bound.get(line.node_type, 0)
                self._bound[line.node_type] = before | self.bit(place)
                self._free |= self.bit(place)
        self._free ^= self.alive

    def bit(self, place: int) -> int:
        """Return the bit of a line."""
        return 1 << (len(self.lines) - 1 - place)

    def first(
        self, room: ResourceAmounts, node_type: int, best: _Line[W] | None
    ) -> _Line[W] | None:
        """Return the line with the best head that fits, or `best` if that line is better."""
        fitting = self.alive & (self._free | self._bound.get(node_type, 0))
        for resource, there in enumerate(room):
            if not fitting:
                return best
            fitting &= self._within.below(resource, there)
        best_head = None if best is None else best.head
        last = len(self.lines) - 1
        while fitting:
            highest = fitting.bit_length() - 1
            place = last - highest
            if best_head is not None and best_head < self.no_sooner[place]:
                break
            line = self.lines[place]
            head = line.head
            if (
                head is not None
                and (best_head is None or head < best_head)
                and (self._within.exact or line.fits(room, node_type))
            ):
                best, best_head = line, head
            self.vain += 1
            fitting ^= 1 << highest
        return best


class WaitingJobs(Generic[W]):
    """The waiting jobs, in the order of rank and arrival."""

    def __init__(self) -> None:
        self._lines: dict[_Key, _Line[W]] = {}
        self._few: list[_Line[W]] = []
        self._blocks: list[_Block[W]] = []
        # Arrival -> ticket of the waiting jobs. Lines may still hold entries with other tickets,
        # which are removed when they become the head.
        self._there: dict[int, int] = {}
        self._tickets = 0

    def __len__(self) -> int:
        """Return the number of waiting jobs."""
        return len(self._there)

    def __bool__(self) -> bool:
        """Whether any job waits."""
        return bool(self._there)

    def add(self, one: W) -> None:
        """Add a waiting job."""
        key = (one.need, one.rank, one.node_type)
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = _Line(one, key)
            self._few.append(line)
        self._tickets += 1
        self._there[one.arrival] = self._tickets
        heappush(line.members, (one.arrival, self._tickets, one))
        self._set_head(line)
        if len(self._few) > _FEW:
            self._tidy()

    def remove(self, one: W) -> None:
        """Remove a waiting job."""
        del self._there[one.arrival]
        self._set_head(self._lines[one.need, one.rank, one.node_type])

    def first(self, room: ResourceAmounts, node_type: int) -> W | None:
        """Return the first job that fits in this room on an instance of this type (its number)."""
        if not self._there:
            return None
        best: _Line[W] | None = None
        for line in self._few:
            head = line.head
            if (
                head is not None
                and (best is None or best.head is None or head < best.head)
                and line.fits(room, node_type)
            ):
                best = line
        for at, block in enumerate(self._blocks):
            best = block.first(room, node_type, best)
            if block.vain > _PATIENCE * len(block.lines):
                self._blocks[at] = _Block(self._alive(block.lines))
        return None if best is None else best.members[0][2]

    def heads(self) -> Iterator[W]:
        """Yield the first job of each line, in no particular order."""
        for lines in (self._few, *(block.lines for block in self._blocks)):
            for line in lines:
                if line.head is not None:
                    yield line.members[0][2]

    def _set_head(self, line: _Line[W]) -> None:
        members = line.members
        while members and self._there.get(members[0][0]) != members[0][1]:
            heappop(members)
        head = (line.rank, members[0][0]) if members else None
        block = line.block
        if block is not None:
            if (head is None) != (line.head is None):
                block.alive ^= block.bit(line.place)
            if head is not None and head < block.no_sooner[line.place]:
                # The head is sooner than ever before, so the line cannot keep its place.
                block.alive ^= block.bit(line.place)
                block.lines[line.place] = _Line(members[0][2], line.key)
                line.block = None
                self._few.append(line)
        line.head = head

    def _tidy(self) -> None:
        """Make a block of the lines without a block, and merge it with blocks of similar size."""
        lines = self._alive(self._few)
        self._few = lines
        if len(lines) > _FEW // 2:
            while self._blocks and len(self._blocks[-1].lines) < 2 * len(lines):
                lines = [*self._alive(self._blocks.pop().lines), *lines]
            self._blocks.append(_Block(lines))
            self._few = []

    def _alive(self, lines: list[_Line[W]]) -> list[_Line[W]]:
        """Return the lines that have members, and remove the others."""
        for line in lines:
            if line.head is None and self._lines.get(line.key) is line:
                del self._lines[line.key]
        return [line for line in lines if line.head is not None]


def _head_of(line: _Line[W]) -> _Head:
    if line.head is None:
        raise ValueError("a line without members has no place in a block")
    return line.head
