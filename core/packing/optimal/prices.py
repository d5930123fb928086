"""Compute prices of resources on each kind of bin, and the lower bound that follows from them.

The assignment LP divides every item into arbitrarily small parts, sends each part to its cheapest
bin, and rents fractions of bins; no packing costs less. The duals of the LP are prices of
resources, one for each kind of bin and resource, under which no bin holds more than it costs. An
item is then worth its cost on the cheapest bin that it fits in, and the sum of these costs is a
bound **for any** valid duals. The duals are therefore computed on a few thousand cells of similar
items (exactly by HiGHS if it is installed, else by an exponentiated sub-gradient method), and the
bound is then computed on the real items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from rowtui.core.packing.heuristics.bins import Bin, BinFinder, Size
from rowtui.core.packing.model import GoOn, has_solver

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

    Whole = NDArray[np.int64]

# Numbers in the table cells x bins x resources, which limits the cost of a round (4 ms).
MOST_NUMBERS = 600_000
MOST_CELLS = 2500
FEW_ITEMS = 40  # up to this many items, each item is a cell

# Numbers that all rounds together may process (about half a second).
MOST_WORK = 120_000_000
QUICK_WORK = 15_000_000

# This many rounds are made even without time.
FEWEST_ROUNDS = 60

# HiGHS needs about a second for this many columns.
MOST_COLUMNS = 80_000
QUICK_COLUMNS = 20_000

# Factor that covers the rounding error of a sum of a million floats.
HAIR = 1 - 1e-12


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of resources (`duals[bin][resource]`) and the worth of items (`values[item]`).

    The prices of a bin's size add up to no more than the bin's price; the value of an item is its
    lowest cost on a bin that it fits in. `bound`: the sum of values by weights; no packing costs
    less.
    """

    duals: tuple[tuple[float, ...], ...]
    values: tuple[float, ...]
    bound: float


def best_prices(
    bins: Sequence[Bin],
    sizes: Sequence[Size],
    weights: Sequence[float],
    allowed: Sequence[int | None],
    *,
    evenly: float = 0.0,
    quick: bool = False,
    go_on: GoOn = lambda: True,
) -> Prices:
    """Return exact prices if HiGHS can compute them, and good prices otherwise.

    `evenly`: this share of every bin's price is spread evenly on its resources. The bound is then a
    little lower, but no resource that items use is free, which helps packers. `quick`: the time
    limit is a tenth of a second; the same limit applies when `go_on` returns False.
    """
    quick = quick or not go_on()
    case = _Case(bins, sizes, weights, allowed)
    columns = QUICK_COLUMNS if quick else MOST_COLUMNS
    cells = case.cells(columns)
    shares = _by_highs(cells, columns) if has_solver() else None
    if shares is None:
        shares = _by_rounds(cells, QUICK_WORK if quick else MOST_WORK, go_on)
    return case.prices(shares * (1 - evenly) + evenly * case.even_shares())


# -- the case in arrays --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Cells:
    """Cells of similar items.

    `costs[cell][bin][share]`: the cost of one item if only this resource is paid. `closed`: inf if
    the cell does not fit the bin, else 0. `prices`: of the bins.
    """

    costs: Floats
    closed: Floats
    weights: Floats
    prices: Floats


class _Case:
    """Bins and items as floats. A bin that another bin dominates is replaced by the other one."""

    def __init__(
        self,
        bins: Sequence[Bin],
        sizes: Sequence[Size],
        weights: Sequence[float],
        allowed: Sequence[int | None],
    ) -> None:
        self.bins = bins
        resources = len(sizes[0]) if sizes else len(bins[0].size) if bins else 0
        bound = {own for own in allowed if own is not None}
        finder = BinFinder(tuple(bins))
        better = [finder.cheapest(kind.size) for kind in bins]
        self.kept = [at for at, by in enumerate(better) if by == at or at in bound]
        place = {at: row for row, at in enumerate(self.kept)}
        self.stands_for = [
            place[at] if at in place else place[by] if by is not None else 0
            for at, by in enumerate(better)
        ]
        self.room = np.array([bins[at].size for at in self.kept], float)
        self.room = self.room.reshape(len(self.kept), resources)
        self.price = np.array([bins[at].price for at in self.kept], float)
        self.sizes = np.array(sizes, float).reshape(len(sizes), resources)
        self.weights = np.array(weights, float)
        self.own = np.array([-1 if own is None else place[own] for own in allowed], np.int64)

    def cells(self, columns: int) -> _Cells:
        """Group similar items by a few ranges of each resource and by the sizes of bins."""
        kinds, resources = self.room.shape
        most = min(MOST_CELLS, MOST_NUMBERS // max(1, kinds * resources), columns // max(1, kinds))
        most = max(FEW_ITEMS, most)
        if len(self.sizes) <= FEW_ITEMS:
            return self._cells_by(np.arange(len(self.sizes)), len(self.sizes))
        for levels, with_rooms in ((8, 1), (5, 1), (3, 1), (6, 0), (3, 0), (1, 0)):
            cell = self._cell_of_each(levels, bool(with_rooms))
            number = int(cell.max(initial=-1)) + 1
            if number <= most:
                break
        return self._cells_by(cell, number)

    def _cells_by(self, cell: Whole, number: int) -> _Cells:
        """Return the cells, given the cell of each item."""
        resources = self.room.shape[1]
        weights: Floats = np.bincount(cell, self.weights, number).astype(float)
        count = np.bincount(cell, minlength=number).clip(1)
        some = np.where(weights > 0, weights, 1)
        shape = (number, resources)
        mean, largest = np.zeros(shape), np.zeros(shape)
        for axis in range(resources):
            mean[:, axis] = np.bincount(cell, self.weights * self.sizes[:, axis], number) / some
        np.maximum.at(largest, cell, self.sizes)
        # the same for all items of a cell
        own = (np.bincount(cell, self.own, number) / count).astype(np.int64)
        fits = self._fits(largest, own)
        fits |= ~fits.any(axis=1, keepdims=True) & self._fits(mean, own)
        # Items that fit in a free bin, or in no bin, do not affect prices.
        free = (fits & (self.price <= 0)).any(axis=1) | ~fits.any(axis=1) | (weights <= 0)
        mean, fits, weights = mean[~free], fits[~free], weights[~free]
        room = np.where(self.room > 0, self.room, 1)
        costs = mean[:, None, :] / room * self.price[:, None]
        return _Cells(costs, np.where(fits, 0.0, np.inf), weights, self.price)

    def _cell_of_each(self, levels: int, with_rooms: bool) -> Whole:
        cell = self.own + 1
        for axis in range(self.sizes.shape[1]):
            column = self.sizes[:, axis]
            some = column[column > 0]
            if not some.size:
                continue
            edges = np.quantile(some, np.linspace(0, 1, levels + 1))
            rooms = self.room[:, axis] if with_rooms else edges
            edges = np.unique(np.concatenate((edges, rooms, [0.0])))
            cell = cell * (len(edges) + 1) + np.searchsorted(edges, column)
            cell = np.unique(cell, return_inverse=True)[1].reshape(-1)
        return np.unique(cell, return_inverse=True)[1].reshape(-1)

    def _fits(self, sizes: Floats, own: Whole) -> Flags:
        fits = np.ones((len(sizes), len(self.room)), bool)
        for axis in range(sizes.shape[1]):
            fits &= sizes[:, axis, None] <= self.room[None, :, axis]
        bound = own >= 0
        if bound.any():
            fits[bound] &= own[bound, None] == np.arange(len(self.room))
        return fits

    def even_shares(self) -> Floats:
        """Return equal shares for all resources that a bin has and items use."""
        used = (self.room > 0) & (self.sizes > 0).any(axis=0)
        shares: Floats = used / used.sum(axis=1, keepdims=True).clip(1)
        return shares

    def prices(self, shares: Floats) -> Prices:
        """Return the prices that follow from the shares of each bin's price among its resources."""
        duals = shares * self.price[:, None] / np.where(self.room > 0, self.room, 1)
        duals = np.where(self.room > 0, duals, 0) * HAIR
        values = np.zeros(len(self.sizes))
        step = max(1, 4_000_000 // max(1, len(self.room)))
        for start in range(0, len(values), step):
            part = slice(start, start + step)
            costs = self.sizes[part] @ duals.T
            costs[~self._fits(self.sizes[part], self.own[part])] = np.inf
            least = costs.min(axis=1, initial=np.inf)
            values[part] = np.where(np.isfinite(least), least, 0)
        rows: list[list[float]] = duals.tolist()
        return Prices(
            tuple(tuple(rows[row]) for row in self.stands_for),
            tuple(values.tolist()),
            float((values * self.weights).sum()) * HAIR,
        )


# -- the best shares of each bin's price among its resources ---------------------------------------


def _by_rounds(
    cells: _Cells,
    most_work: int,
    go_on: GoOn,
) -> Floats:
    """Use exponentiated sub-gradients with momentum; the choice of bins sharpens with time."""
    number, kinds, resources = cells.costs.shape
    shares = np.full((kinds, resources), 1 / max(1, resources))
    if not number:
        return shares
    rounds = min(3000, max(FEWEST_ROUNDS, most_work // max(1, cells.costs.size)))
    stride = 0.1 * max(1, rounds / 250)
    best, best_bound = shares, -1.0
    momentum = np.zeros_like(shares)
    for turn in range(rounds):
        if turn >= FEWEST_ROUNDS and not go_on():
            break
        costs = np.einsum("ctr,tr->ct", cells.costs, shares) + cells.closed
        least = costs.min(axis=1).clip(1e-300)
        bound = float(cells.weights @ least)
        if bound > best_bound:
            best, best_bound = shares, bound
        heat = 0.1 * 0.02 ** (turn / rounds)
        chosen = np.exp((1 - costs / least[:, None]) / heat)
        chosen *= (cells.weights / chosen.sum(axis=1))[:, None]
        use = np.einsum("ct,ctr->tr", chosen, cells.costs)
        paid = (use * shares).sum(axis=1, keepdims=True)
        slope = use / np.maximum(paid, 1e-12 * bound + 1e-300) - 1
        momentum = 0.8 * momentum + 0.2 * slope.clip(-1e3, 1e3)
        logs = np.log(shares) + stride * (1 - turn / rounds) * momentum
        shares = np.exp(logs - logs.max(axis=1, keepdims=True)).clip(1e-9)
        shares /= shares.sum(axis=1, keepdims=True)
    return best


def _by_highs(cells: _Cells, most_columns: int) -> Floats | None:
    """Solve the assignment LP of the cells by HiGHS, and return its duals; None if too large."""
    import highspy

    number, kinds, resources = cells.costs.shape
    cell, kind = np.nonzero(np.isfinite(cells.closed))
    if len(cell) > most_columns:
        return None
    even = np.full((kinds, resources), 1 / max(1, resources))
    if not number or not resources:
        return even
    unit = float(cells.prices.max())
    price = cells.prices / unit
    used = np.where(price[kind, None] > 0, cells.costs[cell, kind], 0.0)
    used /= np.where(price > 0, cells.prices, 1)[kind, None]
    infinity = highspy.kHighsInf
    lp = highspy.HighsLp()
    columns, rows = len(cell) + kinds, number + kinds * resources
    lp.num_col_, lp.num_row_ = columns, rows
    lp.col_cost_ = np.concatenate((np.zeros(len(cell)), price))
    lp.col_lower_, lp.col_upper_ = np.zeros(columns), np.full(columns, infinity)
    everything = cells.weights / cells.weights.sum()
    none = np.zeros(kinds * resources)
    lp.row_lower_ = np.concatenate((everything, none - infinity))
    lp.row_upper_ = np.concatenate((everything, none))
    limits = (number + kind[:, None] * resources + np.arange(resources)).astype(np.int32)
    rented = number + np.arange(kinds * resources, dtype=np.int32)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = np.concatenate(
        (
            np.arange(len(cell)) * (resources + 1),
            len(cell) * (resources + 1) + np.arange(kinds + 1) * resources,
        )
    ).astype(np.int32)
    lp.a_matrix_.index_ = np.concatenate((np.column_stack((cell, limits)).ravel(), rented)).astype(
        np.int32
    )
    ones = np.ones((len(cell), 1))
    lp.a_matrix_.value_ = np.concatenate(
        (np.column_stack((ones, used)).ravel(), np.full(len(rented), -1.0))
    )
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.silent()
    solver.passModel(lp)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    duals = -np.array(solver.getSolution().row_dual[number:]).reshape(kinds, resources)
    shares: Floats = np.maximum(duals, 0)
    total = shares.sum(axis=1, keepdims=True)
    return np.where(total > 1e-12, shares / np.where(total > 1e-12, total, 1), even)
