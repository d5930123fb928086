"""Find the most valuable content of one bin, for given values of the items.

Column generation solves this problem thousands of times. The solution is a table over amounts of
each resource (dynamic programming, each item's copies in pieces of 1, 2, 4, ...). The table is
exact if amounts are multiples of something coarse (whole CPUs and GB). If the table would be too
large, amounts are rounded: sizes are rounded up to find contents that surely fit, and rounded down
to find a value that no content exceeds. Source: Gilmore and Gomory.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rowtui.core.packing.heuristics.bins import Size, Vectors
from rowtui.core.packing.model import GoOn
from rowtui.core.packing.optimal.solver import Effort, fill_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    Counts = NDArray[np.int64]

# A table of this many cells takes about 15 ms for 35 items, and one byte for each cell and piece.
MOST_CELLS = 70_000

# A mixture of resources consists of this many equal parts.
QUARTERS = 4

# Limits of HiGHS for the proven best content of one bin, which needs 10 to 100 nodes.
EFFORT = Effort(nodes=2000, asks=500)

# Factor that covers the rounding errors of floats in a value.
HAIR = 1 + 1e-9


class KnapsackContent(NamedTuple):
    """A content (item and number), its value, and an upper bound of the value of any content."""

    content: tuple[tuple[int, int], ...]
    value: float
    most: float


@dataclass(frozen=True, slots=True)
class _Grid:
    """Sizes and room in cells; a cell is one step of each resource."""

    sizes: list[tuple[int, ...]]
    room: tuple[int, ...]


class ValueBounds(NamedTuple):
    """Upper bounds of the value of contents, and of the copies in contents above a floor."""

    most: float
    copies: list[int]


@dataclass(frozen=True, slots=True)
class ValueTable:
    """The value of the best content of each room up to the room of the bin.

    `chosen[piece]`: the cells (as flat indexes) in which taking this piece was better; `pieces`:
    for each piece its item, its number of copies, and the distance in cells to the rest of the
    content.
    """

    cells: Numbers
    chosen: NDArray[np.bool_]
    pieces: list[tuple[int, int, int]]
    items: int

    @property
    def most(self) -> float:
        """The value of the best content of the whole bin."""
        return float(self.cells.flat[-1])

    def back(self, room: tuple[int, ...]) -> list[int]:
        """Return how many of each item make up the best content of this room."""
        counts = [0] * self.items
        at, last = (
            int(np.ravel_multi_index(room, self.cells.shape)) if room else 0,
            len(self.pieces),
        )
        while True:
            taken = np.flatnonzero(self.chosen[:last, at])
            if not len(taken):
                return counts
            last = int(taken[-1])
            place, times, down = self.pieces[last]
            counts[place] += times
            at -= down


class Knapsack:
    """One bin, and the items (their numbers) that may be in it."""

    def __init__(
        self,
        vectors: Vectors,
        at: int,
        most_cells: int = MOST_CELLS,
        smaller: Sequence[Size] = (),
    ) -> None:
        """Prepare the tables of a bin.

        `at`: the number of the bin. `smaller`: smaller rooms that `several` accepts too.
        """
        room = vectors.bins[at].size
        self._rooms = (room, *smaller)
        self._room = room
        self.items: list[int] = []
        self._copies: list[int] = []
        for number, item in enumerate(vectors.items):
            most = item.number if item.bin in {None, at} else 0
            for part, whole in zip(item.size, room, strict=True):
                most = min(most, whole // part) if part else most
            if most:
                self.items.append(number)
                self._copies.append(most)
        self._sizes = [vectors.items[number].size for number in self.items]
        axes = self._axes_that_count()
        self._shares = [
            [size[axis] / room[axis] for size in self._sizes] for axis in axes
        ]  # as parts of the room
        self._share = np.array([sum(part) for part in zip(*self._shares, strict=True)] or [0.0])
        self._share = np.maximum(self._share, 1e-12)
        huge = max((max(size, default=0) for size in self._sizes), default=0) >= 2**62
        width = len(room)
        self._array = np.array(self._sizes, object if huge else np.int64).reshape(-1, width)
        self._surrogates = self._all_surrogates()
        steps = [max(1, math.gcd(*(size[axis] for size in self._sizes))) for axis in axes]
        self._up, self._down = self._grids(axes, steps, most_cells)
        self._cells_of = {
            room: tuple(
                # A load that fits in this number of cells fits in the room.
                room[axis] // step * length // (self._room[axis] // step)
                for axis, step, length in zip(axes, steps, self._up.room, strict=True)
            )
            for room in self._rooms
        }
        self.exact = self._up is self._down

    def _axes_that_count(self) -> list[int]:
        """Return the resources that can run out, except those running out only after another."""
        axes = [
            axis
            for axis in range(len(self._room))
            if sum(n * size[axis] for n, size in zip(self._copies, self._sizes, strict=True))
            > min(room[axis] for room in self._rooms)
        ]
        for axis in list(axes):
            for other in axes:
                if other != axis and all(
                    size[axis] * room[other] <= size[other] * room[axis]
                    for size in self._sizes
                    for room in self._rooms
                ):
                    axes.remove(axis)
                    break
        return axes

    def _all_surrogates(self) -> Numbers:
        """Return the shares of each resource, and means of several.

        The shares in a bin's content add up to at most 1.
        """
        axes = np.array(self._shares).reshape(len(self._shares), len(self.items))
        mixtures = itertools.combinations_with_replacement(range(len(axes)), QUARTERS)
        return np.array([axes[list(mixture)].mean(axis=0) for mixture in mixtures] or [[]])

    def _grids(self, axes: list[int], steps: list[int], most_cells: int) -> tuple[_Grid, _Grid]:
        room = [self._room[axis] // step for axis, step in zip(axes, steps, strict=True)]
        table = list(room)
        while (cells := math.prod(part + 1 for part in table)) > most_cells:
            longest = max(range(len(table)), key=table.__getitem__)
            fitting = most_cells * (table[longest] + 1) // cells - 1
            table[longest] = max(fitting, table[longest] // 2, 1)
        up, down = [], []
        for size in self._sizes:
            # The ratio of cells to the cells of the table is the ratio of the amount to the room.
            parts = [
                (size[axis] // step * length, whole)
                for axis, step, whole, length in zip(axes, steps, room, table, strict=True)
            ]
            down.append(tuple(part // whole for part, whole in parts))
            up.append(tuple(-(-part // whole) for part, whole in parts))
        grid = _Grid(down, tuple(table))
        return (grid if table == room else _Grid(up, tuple(table))), grid

    # -- answers ---------------------------------------------------------------------------------

    def limits(self, worth: Numbers, floor: float) -> ValueBounds:
        """Return a quick upper bound of values, and of the copies in contents above `floor`.

        The bound is the smallest one over all mixtures of resources, with items that may be
        divided.
        """
        values = worth[self.items]
        copies = np.array(self._copies, np.float64)
        shares = self._surrogates
        if not shares.size:
            return ValueBounds(float(values @ copies) * HAIR, list(self._copies))
        with np.errstate(divide="ignore", invalid="ignore"):
            density = np.where(shares > 0, values / shares, np.inf)
        order = np.argsort(-density, axis=1, kind="stable")
        used = np.cumsum(np.take_along_axis(shares * copies, order, axis=1), axis=1)
        # The density of the item that uses up the room is the price of the room.
        last = np.take_along_axis(order, np.argmax(used >= 1, axis=1)[:, None], axis=1)
        edge = np.where(used[:, -1:] >= 1, np.take_along_axis(density, last, axis=1), 0.0)
        # A content is worth at most the room at this price, plus what each item is worth beyond it.
        gain = values - edge * shares
        most = (edge[:, 0] + np.maximum(gain, 0) @ copies) * HAIR
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            allowed = np.where(gain < 0, (most - floor)[:, None] / -gain + 1e-6, np.inf)
        highest = np.minimum(copies, np.maximum(0.0, allowed.min(axis=0)))
        return ValueBounds(
            float(most.min()),
            [min(int(part), whole) for part, whole in zip(highest, self._copies, strict=True)],
        )

    def table(self, worth: Numbers, copies: list[int] | None = None) -> ValueTable:
        """Return the best contents of all rooms, with at most `copies` of each item."""
        values = [float(value) for value in worth[self.items]]
        return self._table(self._up, values, copies or self._copies)

    def several(
        self, worth: Numbers, table: ValueTable, at_least: Numbers, room: Size | None = None
    ) -> list[KnapsackContent]:
        """Return the most valuable content, and for each item the best one above `at_least[item]`.

        The contents follow from the table for these values. `room` is a smaller room, or None for
        the whole bin.
        """
        values = [float(value) for value in worth[self.items]]
        whole = self._room if room is None else room
        cells = self._cells_of[whole]
        order = self._order(worth)
        found = [self._filled(table.back(cells), values, order, whole)]
        for place, (number, size) in enumerate(zip(self.items, self._up.sizes, strict=True)):
            left = tuple(map(int.__sub__, cells, size))
            if values[place] <= 0 or min(left, default=0) < 0:
                continue
            if values[place] + table.cells[left] > at_least[number]:
                counts = table.back(left)
                if counts[place] < self._copies[place]:
                    counts[place] += 1
                    found.append(self._filled(counts, values, order, whole))
        return found

    def surely(self, worth: Numbers, enough: float, go_on: GoOn) -> KnapsackContent:
        """Return a content worth more than `enough` if there is one, with a valid `most`.

        The result does not show how far contents are below `enough`.
        """
        most, copies = self.limits(worth, enough)
        values = [float(value) for value in worth[self.items]]
        nothing = KnapsackContent((), 0.0, min(most, enough))
        if most <= enough:
            return nothing
        table = self._table(self._up, values, copies)
        found = self._filled(table.back(self._up.room), values, self._order(worth), self._room)
        if self.exact:
            return found._replace(most=max(enough, table.most * HAIR))
        most = min(most, self._table(self._down, values, copies).most * HAIR)
        if most > enough and go_on():
            inside = dict(found.content)
            start = [inside.get(number, 0) for number in self.items]
            chosen = fill_whole(
                values, self._shares, self._copies, start=start, effort=EFFORT, go_on=go_on
            )
            most = min(most, chosen.bound * HAIR)
            counts = list(chosen.times)
            value = sum(there * each for there, each in zip(counts, values, strict=True))
            if value > found.value and self._holds(counts):
                found = KnapsackContent(self._content(counts), value, math.inf)
        return found._replace(most=max(most, found.value, enough))

    def _filled(
        self, counts: list[int], values: list[float], order: NDArray[np.intp], room: Size
    ) -> KnapsackContent:
        if not self.exact:
            self._fill_up(counts, order, room)
        value = sum(there * each for there, each in zip(counts, values, strict=True))
        return KnapsackContent(self._content(counts), value, math.inf)

    def _table(self, grid: _Grid, values: list[float], copies: list[int]) -> ValueTable:
        shape = tuple(whole + 1 for whole in grid.room)
        strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        pieces = [
            (place, times)
            for place, value in enumerate(values)
            if value > 0
            for times in _pieces(copies[place], grid.sizes[place], grid.room)
        ]
        cells = np.zeros(shape)
        # buffer for sums: allocating memory for each sum would take longer than the sum
        room = np.empty(shape)
        chosen = np.zeros((len(pieces), *shape), np.bool_)
        downs = []
        for number, (place, times) in enumerate(pieces):
            moved = [times * part for part in grid.sizes[place]]
            window = _window((part, None) for part in moved)
            target = cells[window]
            kept = zip(moved, shape, strict=True)
            source = cells[_window((0, length - part) for part, length in kept)]
            better = np.add(source, times * values[place], out=room[window])
            np.greater(better, target, out=chosen[number][window])
            np.maximum(better, target, out=target)
            downs.append(sum(part * cells_ for part, cells_ in zip(moved, strides, strict=True)))
        return ValueTable(
            cells,
            chosen.reshape(len(pieces), -1) if pieces else chosen.reshape(0, cells.size),
            [(*piece, down) for piece, down in zip(pieces, downs, strict=True)],
            len(self.items),
        )

    def _fill_up(self, counts: list[int], order: NDArray[np.intp], room: Size) -> None:
        """Fill the room that rounding left free with the items worth most for their size."""
        left = list(room)
        for there, size in zip(counts, self._sizes, strict=True):
            if there:
                left = [free - there * part for free, part in zip(left, size, strict=True)]
        limit = np.array(self._copies)
        while True:
            fits = (self._array <= np.array(left, self._array.dtype)).all(axis=1)
            fits &= np.array(counts) < limit
            fitting = order[fits[order]]
            if not len(fitting):
                return
            place = int(fitting[0])
            more = self._copies[place] - counts[place]
            for free, part in zip(left, self._sizes[place], strict=True):
                more = min(more, free // part) if part else more
            counts[place] += more
            left = [free - more * part for free, part in zip(left, self._sizes[place], strict=True)]

    def _order(self, worth: Numbers) -> NDArray[np.intp]:
        """Return the items of positive worth, most worth for their share of the bin first."""
        values = worth[self.items]
        order = np.argsort(-values / self._share, kind="stable")
        return order[values[order] > 0]

    def _holds(self, counts: list[int]) -> bool:
        return all(
            sum(there * size[axis] for there, size in zip(counts, self._sizes, strict=True)) <= room
            for axis, room in enumerate(self._room)
        ) and all(0 <= there <= most for there, most in zip(counts, self._copies, strict=True))

    def _content(self, counts: list[int]) -> tuple[tuple[int, int], ...]:
        return tuple(
            (number, there) for number, there in zip(self.items, counts, strict=True) if there
        )


def _window(parts: Iterable[tuple[int, int | None]]) -> tuple[EllipsisType | slice, ...]:
    """Return an index that gives a view, also of a table without axes."""
    return (..., *(slice(*part) for part in parts))


def _pieces(copies: int, size: tuple[int, ...], room: tuple[int, ...]) -> list[int]:
    """Return 1, 2, 4, ... and a rest: every number up to the largest that fits is a sum of them."""
    for part, whole in zip(size, room, strict=True):
        copies = min(copies, whole // part) if part else copies
    pieces = []
    piece = 1
    while copies > 0:
        pieces.append(min(piece, copies))
        copies -= piece
        piece *= 2
    return pieces
