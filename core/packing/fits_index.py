"""Find the sizes within a limit, as sets of bits; all packers use this lookup.

The caller chooses the order of the sizes; the first size is the highest bit, so that the first size
of a set follows from its `bit_length`, and sets become shorter as the first sizes are used up.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

# Memory for the sets of one resource, in bytes. For 20,000 different sizes, this suffices for a set
# of every third limit; the surplus sizes of a set are then removed one by one.
_MOST_BYTES = 24_000_000


class Within:
    """For each resource and limit, the set of sizes that do not exceed the limit.

    `all`: the set of all sizes. `exact`: whether `below` is exact; otherwise it may contain a few
    too many sizes.
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
        """Return the sizes with at most this much of a resource, and a few more if not exact."""
        at = bisect_right(self._lowest[resource], limit)
        return self._sets[resource][at]


def _running_sets(values: Sequence[int], lowest: list[int]) -> list[int]:
    """Return running sets: set n has the values of the first n steps, which begin at `lowest`."""
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
