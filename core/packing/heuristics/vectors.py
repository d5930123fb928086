"""Packing without time: vectors into bins of several sizes and prices.

The packers that ignore time share this form (`seed`, `fill`, `improve`, `columns`, `exact`).
`timed.py` and `lanes.py` reduce timed problems to this form: the items are then lanes of similar
length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from rowtui.core.packing.model import GoOn

Size = tuple[int, ...]


class Bin(NamedTuple):
    """Bins of one kind, in any number."""

    size: Size
    price: float


class Item(NamedTuple):
    """`number` identical items; `bin`: the index of the only kind that they may be in, or None."""

    size: Size
    number: int
    bin: int | None = None


@dataclass(frozen=True, slots=True)
class Vectors:
    """The items and bins. All sizes have the same length and no negative number; items differ.

    Every item fits in some bin (in its own bin, if it has one).
    """

    bins: tuple[Bin, ...]
    items: tuple[Item, ...]


class Pattern(NamedTuple):
    """`times` bins of kind `bin` with the same content: (index of the item, number)."""

    bin: int
    content: tuple[tuple[int, int], ...]
    times: int = 1


Patterns = tuple[Pattern, ...]
VectorPacker = Callable[[Vectors, GoOn], Patterns]


def patterns_cost(patterns: Patterns, vectors: Vectors) -> float:
    """Return the cost of all of these bins."""
    return sum(pattern.times * vectors.bins[pattern.bin].price for pattern in patterns)
