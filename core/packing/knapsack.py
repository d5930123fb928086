"""The most valuable content of one bin, for given values of the items.

What column generation asks thousands of times for. The answer is a table over amounts of each
resource (dynamic programming, each item's copies in pieces of 1, 2, 4, ...), exact where amounts
are multiples of something coarse (whole cpus and GB). Where the table would be too large, amounts
are rounded: sizes up, for contents that surely fit; sizes down, for a value that none exceeds.
Source: Gilmore and Gomory.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rowtui.core.packing.model import GoOn
from rowtui.core.packing.solver import Effort, fill_whole
from rowtui.core.packing.vectors import Size, Vectors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    Counts = NDArray[np.int64]

# A table of so many cells takes some 15 ms for 35 items, and holds a byte for each cell and piece.
MOST_CELLS = 70_000

# Mixtures of resources are in so many equal parts.
QUARTERS = 4

# What HiGHS may do to find the best content of one bin for sure: it needs 10 to 100 nodes.
EFFORT = Effort(nodes=2000, asks=500)

# What rounding of floats may add to a value.
HAIR = 1 + 1e-9


class Filled(NamedTuple):
    """A content (item and how many), its value, and what no content of this bin exceeds."""

    content: tuple[tuple[int, int], ...]
    value: float
    most: float


@dataclass(frozen=True, slots=True)
class _Grid:
    """Sizes and room in cells: a step of each resource is one cell."""

    sizes: list[tuple[int, ...]]
    room: tuple[int, ...]


class Limits(NamedTuple):
    """What no content is worth more than, and how many of each item one above a floor may hold."""

    most: float
    copies: list[int]


@dataclass(frozen=True, slots=True)
class Table:
    """For each room up to the bin's, the value of its best content.

    `chosen[piece]`: in which cells (counted through) that piece was worth taking; `pieces`: of
    which item, how many, and how many cells further down the rest of the content is.
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
        """How many of each item make the value of that room."""
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
        """`at`: the number of the bin. `smaller`: rooms that `several` will be asked about too."""
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
        ]  # of the room
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
                # What fits in there by cells fits.
                room[axis] // step * length // (self._room[axis] // step)
                for axis, step, length in zip(axes, steps, self._up.room, strict=True)
            )
            for room in self._rooms
        }
        self.exact = self._up is self._down

    def _axes_that_count(self) -> list[int]:
        """Resources that can run out, and not only after another one has."""
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
        """Shares of one resource, and means of several: of each a bin's content has 1 at most."""
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
            # An amount is to the room as its cells are to the table's.
            parts = [
                (size[axis] // step * length, whole)
                for axis, step, whole, length in zip(axes, steps, room, table, strict=True)
            ]
            down.append(tuple(part // whole for part, whole in parts))
            up.append(tuple(-(-part // whole) for part, whole in parts))
        grid = _Grid(down, tuple(table))
        return (grid if table == room else _Grid(up, tuple(table))), grid

    # -- answers ---------------------------------------------------------------------------------

    def limits(self, worth: Numbers, floor: float) -> Limits:
        """What no content is worth more than, at once, and what those above `floor` can hold.

        By every mixture of resources alone, with items that may be cut.
        """
        values = worth[self.items]
        copies = np.array(self._copies, np.float64)
        shares = self._surrogates
        if not shares.size:
            return Limits(float(values @ copies) * HAIR, list(self._copies))
        with np.errstate(divide="ignore", invalid="ignore"):
            density = np.where(shares > 0, values / shares, np.inf)
        order = np.argsort(-density, axis=1, kind="stable")
        used = np.cumsum(np.take_along_axis(shares * copies, order, axis=1), axis=1)
        # Where the room is used up: what the last of it is worth.
        last = np.take_along_axis(order, np.argmax(used >= 1, axis=1)[:, None], axis=1)
        edge = np.where(used[:, -1:] >= 1, np.take_along_axis(density, last, axis=1), 0.0)
        # Every content is worth the room at that price, and for each item what it is worth more.
        gain = values - edge * shares
        most = (edge[:, 0] + np.maximum(gain, 0) @ copies) * HAIR
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            allowed = np.where(gain < 0, (most - floor)[:, None] / -gain + 1e-6, np.inf)
        highest = np.minimum(copies, np.maximum(0.0, allowed.min(axis=0)))
        return Limits(
            float(most.min()),
            [min(int(part), whole) for part, whole in zip(highest, self._copies, strict=True)],
        )

    def table(self, worth: Numbers, copies: list[int] | None = None) -> Table:
        """The best contents of all rooms, with so many of each item at most."""
        values = [float(value) for value in worth[self.items]]
        return self._table(self._up, values, copies or self._copies)

    def several(
        self, worth: Numbers, table: Table, at_least: Numbers, room: Size | None = None
    ) -> list[Filled]:
        """The most valuable content, and for each item the best that is worth `at_least[item]`.

        By the table for these values; of that (smaller) room, or of the whole bin.
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

    def surely(self, worth: Numbers, enough: float, go_on: GoOn) -> Filled:
        """A content worth more than `enough` if there is any, with a `most` that is true.

        How far contents are below `enough` is of no interest.
        """
        most, copies = self.limits(worth, enough)
        values = [float(value) for value in worth[self.items]]
        nothing = Filled((), 0.0, min(most, enough))
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
                found = Filled(self._content(counts), value, math.inf)
        return found._replace(most=max(most, found.value, enough))

    def _filled(
        self, counts: list[int], values: list[float], order: NDArray[np.intp], room: Size
    ) -> Filled:
        if not self.exact:
            self._fill_up(counts, order, room)
        value = sum(there * each for there, each in zip(counts, values, strict=True))
        return Filled(self._content(counts), value, math.inf)

    def _table(self, grid: _Grid, values: list[float], copies: list[int]) -> Table:
        shape = tuple(whole + 1 for whole in grid.room)
        strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        pieces = [
            (place, times)
            for place, value in enumerate(values)
            if value > 0
            for times in _pieces(copies[place], grid.sizes[place], grid.room)
        ]
        cells = np.zeros(shape)
        room = np.empty(shape)  # for sums: new memory for each would cost more than they do
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
        return Table(
            cells,
            chosen.reshape(len(pieces), -1) if pieces else chosen.reshape(0, cells.size),
            [(*piece, down) for piece, down in zip(pieces, downs, strict=True)],
            len(self.items),
        )

    def _fill_up(self, counts: list[int], order: NDArray[np.intp], room: Size) -> None:
        """What rounding left free, with what is worth most for what it takes."""
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
        """Items of some worth, most worth for their shares of the bin first."""
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
    """An index that gives a view, also of a table without axes."""
    return (..., *(slice(*part) for part in parts))


def _pieces(copies: int, size: tuple[int, ...], room: tuple[int, ...]) -> list[int]:
    """1, 2, 4, ... and a rest, of which every number up to all that fit is a sum."""
    for part, whole in zip(size, room, strict=True):
        copies = min(copies, whole // part) if part else copies
    pieces = []
    piece = 1
    while copies > 0:
        pieces.append(min(piece, copies))
        copies -= piece
        piece *= 2
    return pieces
