"""Mutable jobs and instances of the online engine, which no other module uses.

Other modules use the immutable values of `online_model`.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping

from rowtui.core.packing.model import Amounts
from rowtui.core.packing.seed import Job
from rowtui.core.packing.simulation.waiting import Rank

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

    def add(self, number: int, room: Amounts) -> None:
        """Add an instance with this free room."""
        cpus, memory, gpus, disk = room
        key = (gpus, cpus)
        bucket = self._buckets.get(key)
        if bucket is None:
            self._buckets[key] = [(memory, disk, number)]
            insort(self._keys, key)
        else:
            insort(bucket, (memory, disk, number))

    def remove(self, number: int, room: Amounts) -> None:
        """Remove an instance, which was added with this free room."""
        cpus, memory, gpus, disk = room
        key = (gpus, cpus)
        bucket = self._buckets[key]
        if len(bucket) == 1:
            del self._buckets[key]
            del self._keys[bisect_left(self._keys, key)]
        else:
            del bucket[bisect_left(bucket, (memory, disk, number))]

    def first(self, need: Amounts) -> int | None:
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


class Kind:
    """The data that all jobs with the same need and hint share.

    `node_type`: the number of the hinted type, or -1. `types`: the set of suitable types, as bits
    of the catalogue. `price`: the price of the cheapest of these types.
    """

    __slots__ = ("need", "node_type", "price", "types")

    def __init__(self, need: Amounts, node_type: int, types: int, price: float) -> None:
        self.need, self.node_type, self.types, self.price = need, node_type, types, price


class Task:
    """A job that has not ended."""

    __slots__ = ("arrival", "job", "machine", "need", "node_type", "rank", "restarts", "types")

    def __init__(self, job: Job, arrival: int, kind: Kind, rank: Rank, restarts: int) -> None:
        self.job, self.arrival, self.rank, self.restarts = job, arrival, rank, restarts
        self.need, self.node_type, self.types = kind.need, kind.node_type, kind.types
        self.machine: Machine | None = None


class Machine:
    """An allocated instance."""

    __slots__ = ("allocated_at", "node_type", "number", "ready", "room", "tasks")

    def __init__(self, number: int, node_type: int, room: Amounts, at: float) -> None:
        self.number, self.node_type, self.room, self.allocated_at = number, node_type, room, at
        self.ready = False
        self.tasks: dict[str, Task] = {}

    def put(self, task: Task) -> None:
        """Put the job on this instance."""
        (cpus, memory, gpus, disk), need = self.room, task.need
        self.room = Amounts(cpus - need[0], memory - need[1], gpus - need[2], disk - need[3])
        self.tasks[task.job.id] = task
        task.machine = self

    def take_off(self, task: Task) -> None:
        """Take the job off this instance."""
        (cpus, memory, gpus, disk), need = self.room, task.need
        self.room = Amounts(cpus + need[0], memory + need[1], gpus + need[2], disk + need[3])
        del self.tasks[task.job.id]
        task.machine = None


class Pool:
    """Instances that accept jobs, sorted by their room, for jobs with and without a hint."""

    __slots__ = ("_all", "_machines", "_of_type", "_ready")

    def __init__(self, machines: Mapping[int, Machine], ready: bool | None = None) -> None:
        """Use the instances that are ready (True), not ready (False), or all (None)."""
        self._machines, self._ready = machines, ready
        self._all = Rooms()
        self._of_type: dict[int, Rooms] = {}  # only of types that were the hint of a job

    def add(self, machine: Machine) -> None:
        """Add an instance with its present room."""
        self._all.add(machine.number, machine.room)
        if machine.node_type in self._of_type:
            self._of_type[machine.node_type].add(machine.number, machine.room)

    def remove(self, machine: Machine) -> None:
        """Remove an instance, whose room has not changed since `add`."""
        self._all.remove(machine.number, machine.room)
        if machine.node_type in self._of_type:
            self._of_type[machine.node_type].remove(machine.number, machine.room)

    def first(self, task: Task) -> Machine | None:
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
