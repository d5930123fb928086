"""Which of many sizes are within a limit, as sets of bits: the question that all packing asks.

Sizes stand in an order of the caller's; the first is the highest bit, so that the first of a set is
its `bit_length`, and sets get shorter by themselves as the first ones are used up.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

# Memory for the sets of one resource, in bytes. 20,000 sizes that all differ have room in it for
# a set of every third limit; what a set holds too much is then sorted out one by one.
_MOST_BYTES = 24_000_000


class Within:
    """For each resource and limit the set of sizes that are not above it.

    `all`: the set of all sizes. `exact`: whether `below` is; else it may hold a few too many.
    """

    def __init__(self, sizes: Sequence[Sequence[int]]) -> None:
        self.all = (1 << len(sizes)) - 1
        self.exact = True
        self._lowest: list[list[int]] = []
        self._sets: list[list[int]] = []
        most = max(16, _MOST_BYTES // (len(sizes) // 8 + 40))
        for resource in range(len(sizes[0]) if sizes else 0):
            values = [size[resource] for size in sizes]
            lowest = sorted(set(values))
            if len(lowest) > most:
                lowest = lowest[:: -(-len(lowest) // most)]
                self.exact = False
            self._lowest.append(lowest)
            self._sets.append(_running_sets(values, lowest))

    def below(self, resource: int, limit: int) -> int:
        """The sizes with at most so much of a resource; a few more where that is not exact."""
        at = bisect_right(self._lowest[resource], limit)
        return self._sets[resource][at]


def _running_sets(values: Sequence[int], lowest: list[int]) -> list[int]:
    """Set n: the values in the first n steps, each of which begins at its value of `lowest`."""
    members: list[list[int]] = [[] for _ in lowest]
    highest = len(values) - 1
    for at, value in enumerate(values):
        members[bisect_right(lowest, value) - 1].append(highest - at)
    sets, bits = [0], 0
    for step in members:
        if len(step) == 1:
            bits |= 1 << step[0]
        else:
            marks = bytearray(max(step, default=0) // 8 + 1)
            for bit in step:
                marks[bit >> 3] |= 1 << (bit & 7)
            bits |= int.from_bytes(marks, "little")
        sets.append(bits)
    return sets
