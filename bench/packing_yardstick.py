"""The exact assignment bound of a problem, slowly and by a solver: what bounds are compared with.

Requests are spread over the node types that they fit, in fractions, and so are nodes. The dual is
solved by cutting planes: for prices of each type's resources, every class goes where it is
cheapest, and that assignment, a group of classes at a time, is a cut. Kept until the cuts and what
the prices are really worth agree to a hundred-thousandth; what is given is always a true bound.
Source: J. E. Kelley (The cutting-plane method for solving convex programs, 1960).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rowtui.core.packing.model import HOUR, PackingProblem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

CLOSE = 1e-5
MOST_ROUNDS = 200


def assignment_bound(problem: PackingProblem) -> float | None:
    """No packing costs less; None without the solver (highspy). Boots and hints do not count."""
    try:
        import highspy
    except ImportError:
        return None
    sizes = np.array([demand.amounts for demand in problem.demands], float)
    weights = np.array(problem.counts, float)
    if problem.timed:
        weights *= np.array([demand.seconds for demand in problem.demands]) / HOUR
    sizes, weights = _merged(sizes, weights)
    kinds = np.array([kind.amounts for kind in problem.node_types], float)
    prices = np.array([kind.price for kind in problem.node_types])
    kept = _needed(kinds, prices)
    kinds, prices = kinds[kept], prices[kept]
    used = sizes.any(axis=0)
    sizes, kinds = sizes[:, used], kinds[:, used]
    # In shares of the largest amount, so that the solver meets numbers of one order.
    scale = sizes.max(axis=0)
    sizes, kinds = sizes / scale, kinds / scale
    fits = (sizes[:, None, :] <= kinds[None] * (1 + 1e-12)).all(axis=2)
    groups = _groups(sizes, fits)
    number, width = len(kinds), kinds.shape[1]
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    # Prices of each type's resources; then what the requests of each group are worth.
    most = np.where(kinds > 0, prices[:, None] / np.where(kinds > 0, kinds, 1), 0.0)
    for at in range(number * width):
        solver.addVar(0.0, float(most.flat[at]))
    least = _cheapest(sizes, weights, fits, most / width)[1]
    top = float(weights @ np.where(fits, prices[None], np.inf).min(axis=1))
    for _ in range(groups.max() + 1):
        solver.addVar(0.0, top)
    worth = np.concatenate([np.zeros(number * width), -np.ones(groups.max() + 1)])
    for at, value in enumerate(worth):
        solver.changeColCost(at, float(value))
    for at in range(number):
        where = np.arange(at * width, (at + 1) * width, dtype=np.int32)
        solver.addRow(-highspy.kHighsInf, float(prices[at]), width, where, kinds[at])
    best = least
    given = most / width
    for _ in range(MOST_ROUNDS):
        chosen, value = _cheapest(sizes, weights, fits, given)
        best = max(best, value)
        _add_cuts(solver, sizes * weights[:, None], chosen, groups, number)
        solver.run()
        given = np.array(solver.getSolution().col_value[: number * width]).reshape(number, width)
        ceiling = -solver.getObjectiveValue()
        if ceiling - best <= CLOSE * ceiling:
            break
    return float(best)


def _cheapest(
    sizes: Floats, weights: Floats, fits: NDArray[np.bool_], given: Floats
) -> tuple[NDArray[np.int64], float]:
    """Where each class is worth least at these prices, and what all are worth."""
    each = np.where(fits, sizes @ given.T, np.inf)
    chosen = each.argmin(axis=1)
    return chosen, float(weights @ each[np.arange(len(sizes)), chosen])


def _add_cuts(
    solver: object, loads: Floats, chosen: NDArray[np.int64], groups: NDArray[np.int64], number: int
) -> None:
    """No group is worth more than what it costs where its classes went."""
    import highspy

    assert isinstance(solver, highspy.Highs)
    width, many = loads.shape[1], int(groups.max()) + 1
    flat = np.zeros((many * number, width))
    np.add.at(flat, groups * number + chosen, loads)
    for group, row in enumerate(flat.reshape(many, number * width)):
        where = np.flatnonzero(row).astype(np.int32)
        places = np.append(where, np.int32(number * width + group)).astype(np.int32)
        values = np.append(-row[where], 1.0)
        solver.addRow(-highspy.kHighsInf, 0.0, len(places), places, values)


def _merged(sizes: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Classes of the same amounts as one."""
    alike, where = np.unique(sizes, axis=0, return_inverse=True)
    together = np.zeros(len(alike))
    np.add.at(together, where.ravel(), weights)
    return alike, together


def _needed(kinds: Floats, prices: Floats) -> list[int]:
    """Node types that no other betters."""
    order = np.lexsort((*(-kinds.T), prices))
    kept: list[int] = []
    for at in order:
        if not (kinds[kept] >= kinds[at]).all(axis=1).any():
            kept.append(int(at))
    return kept


def _groups(sizes: Floats, fits: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Classes that will mostly go to the same types: of about the same shape and size."""
    shares = np.log2(np.where(sizes > 0, sizes, 1e-9) / np.maximum(sizes[:, :1], 1e-9))
    key = np.column_stack([np.round(shares[:, 1:]), fits.sum(axis=1) // 4])
    _, groups = np.unique(key, axis=0, return_inverse=True)
    return groups.ravel().astype(np.int64)
