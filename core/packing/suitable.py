"""Find the node types that a job may run on, and the cheapest of them.

The input is amounts, a hint and a catalogue; the output is node types. There is a direct form that
follows CAVATICA's text, and a fast form for many lookups (`Catalogue`). Source: CAVATICA's
documentation, "Multi-instance scheduling algorithm" (the cheapest instance that satisfies, the
InstanceType hint).
"""

from __future__ import annotations

from collections.abc import Sequence

from rowtui.core.packing.fits_index import Within
from rowtui.core.packing.model import Amounts, Demand, NodeType, Problem, Unplaced
from rowtui.core.packing.unplaced import find_unplaced


def suitable(amounts: Amounts, hint: str, node_types: Sequence[NodeType]) -> list[NodeType]:
    """Return the node types that hold the job and match its hint, if it has one."""
    return [
        each
        for each in node_types
        if amounts.fits(each.amounts) and each.at_most != 0 and hint in {"", each.name}
    ]


def cheapest(amounts: Amounts, hint: str, node_types: Sequence[NodeType]) -> NodeType | None:
    """Return the cheapest suitable node type; of equally cheap types the first of the catalogue."""
    return min(suitable(amounts, hint, node_types), key=lambda each: each.price, default=None)


def why_nowhere(amounts: Amounts, hint: str, node_types: Sequence[NodeType]) -> Unplaced:
    """Return why a job has no suitable node type."""
    return find_unplaced(Problem(tuple(node_types), (Demand(amounts, 0, hint),), (1,)))[0]


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
