"""Instances sorted by their free room, to find the first instance that holds a need.

The order is that of the seed algorithm (`seed.least_room_first`, then the older instance). There
are few different numbers of GPUs and CPUs, so instances are in buckets by these two numbers; inside
of a bucket they are sorted by memory, disk and number. A lookup visits the buckets that have enough
GPUs and CPUs, in order.
"""

from __future__ import annotations

from bisect import bisect_left, insort

from rowtui.core.packing.model import Amounts

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
