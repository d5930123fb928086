"""Packing where time does not count: vectors into bins of several sizes and prices.

The form that the packers of one moment share (`seed`, `fill`, `improve`, `columns`, `exact`).
Timed problems become such ones in `lanes.py`: the items are then lanes of about the same length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from rowtui.core.packing.model import GoOn

Size = tuple[int, ...]


class Bin(NamedTuple):
    """Bins of one kind, as many as wanted."""

    size: Size
    price: float


class Item(NamedTuple):
    """`number` identical items; `bin`: the index of the only kind that they may be in, or None."""

    size: Size
    number: int
    bin: int | None = None


@dataclass(frozen=True, slots=True)
class Vectors:
    """What is to be packed. All sizes have as many numbers, none is negative; items differ.

    Every item fits in some bin (in its own, if it has one).
    """

    bins: tuple[Bin, ...]
    items: tuple[Item, ...]


class Pattern(NamedTuple):
    """`times` bins of kind `bin` with the same content: (index of the item, how many)."""

    bin: int
    content: tuple[tuple[int, int], ...]
    times: int = 1


Patterns = tuple[Pattern, ...]
VectorPacker = Callable[[Vectors, GoOn], Patterns]


def patterns_cost(patterns: Patterns, vectors: Vectors) -> float:
    """What all of these bins cost."""
    return sum(pattern.times * vectors.bins[pattern.bin].price for pattern in patterns)
