"""Find the node types that hold a size, the cheapest of them, and the sizes within a limit.

The input is sizes and prices of node types; the output is their numbers, as sets of bits for many
lookups.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

# Memory for the sets of one resource, in bytes. For 20,000 different sizes, this suffices for a set
# of every third limit; the surplus sizes of a set are then removed one by one.
_MOST_BYTES = 24_000_000


class Within:
    """For each resource and limit, the set of sizes that do not exceed the limit, as bits.

    The caller chooses the order of the sizes; the first size is the highest bit, so that the first
    size of a set follows from its `bit_length`, and sets become shorter as the first sizes are used
    up.

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


class Catalogue:
    """Kinds of machines by price. Sets of them are bits, with the cheapest as the highest bit.

    Of equally cheap kinds the first counts as the cheaper one. `bits`: the bit of each kind.
    """

    def __init__(self, kinds: Sequence[tuple[Sequence[int], float]]) -> None:
        """`kinds`: (size, price) of each; all sizes have as many numbers."""
        self._by_price = sorted(range(len(kinds)), key=lambda number: kinds[number][1])
        self._sizes = [kinds[number][0] for number in self._by_price]
        # A size is at least as large as another one if its negative is at most the other's
        # negative.
        self._turned = Within([tuple(-amount for amount in size) for size in self._sizes])
        self.bits = [0] * len(kinds)
        for at, number in enumerate(reversed(self._by_price)):
            self.bits[number] = 1 << at

    def holding(self, size: Sequence[int]) -> int:
        """Return the set of all kinds that hold such a size."""
        bits = self._turned.all
        for resource, amount in enumerate(size):
            if not bits:
                return 0
            bits &= self._turned.below(resource, -amount)
        return bits if self._turned.exact else self._checked(bits, size)

    def cheapest(self, bits: int) -> int:
        """Return the number of the cheapest kind of a set that is not empty."""
        return self._by_price[-bits.bit_length()]

    def _checked(self, bits: int, size: Sequence[int]) -> int:
        kept = bits
        while bits:
            at = bits.bit_length()
            bits ^= 1 << (at - 1)
            room = self._sizes[-at]
            if any(amount > there for amount, there in zip(size, room, strict=True)):
                kept ^= 1 << (at - 1)
        return kept
