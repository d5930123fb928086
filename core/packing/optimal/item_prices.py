"""Prices of items that no content of a bin exceeds, for the lower bound of the exact search.

The prices are the duals of the linear program over all contents, which is small enough here for a
simplex tableau in numpy. The module is separate from `exact` so that `exact` loads without numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rowtui.core.packing.model import GoOn

if TYPE_CHECKING:
    from rowtui.core.packing.optimal.exact import Content

Numbers = NDArray[np.float64]


def item_prices(contents: Sequence[Content], numbers: list[int], go_on: GoOn) -> list[float]:
    """Return a price for each item so that no content is worth more than it costs.

    The sum of `numbers` times these prices is then a lower bound, and it is nearly the best one.
    Every item has to be in some content. When `go_on` returns False, the prices are lower, and so
    is the bound.
    """
    counts = np.array([content.counts for content in contents], np.float64)
    costs = np.array([content.price for content in contents], np.float64)
    worth = np.maximum(0, _simplex(counts, costs, np.array(numbers, np.float64), go_on))
    # The tableau has rounding errors. Prices that no content exceeds are a valid bound.
    values = counts @ worth
    exceeding = values > costs
    if exceeding.any():
        worth *= float((costs[exceeding] / values[exceeding]).min())
    return [float(price) for price in worth]


def _simplex(counts: Numbers, costs: Numbers, numbers: Numbers, go_on: GoOn) -> Numbers:
    """Maximise numbers * x where counts * x <= costs and x >= 0, starting from x = 0.

    Every step gives a valid x, so the search may stop after any step.
    """
    rows, columns = counts.shape
    table = np.zeros((rows + 1, columns + 1))
    table[:rows, :columns] = counts
    # Equal prices make ties, and ties can make the simplex cycle, so each price is changed a
    # little.
    table[:rows, columns] = costs + (costs.max() or 1.0) * 1e-9 * np.arange(1, rows + 1) / rows
    table[rows, :columns] = -numbers
    basic = list(range(columns, columns + rows))
    free = list(range(columns))
    for _ in range(50 * columns):
        enters = int(table[rows, :columns].argmin())
        if table[rows, enters] > -1e-9 or not go_on():
            break
        column = table[:rows, enters]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(column > 1e-9, table[:rows, columns] / column, np.inf)
        leaves = int(ratios.argmin())
        if not np.isfinite(ratios[leaves]):
            break
        pivot = table[leaves, enters]
        row = table[leaves] / pivot
        column = table[:, enters] / pivot
        table -= np.outer(table[:, enters], row)
        table[leaves] = row
        table[:, enters] = -column
        table[leaves, enters] = 1 / pivot
        basic[leaves], free[enters] = free[enters], basic[leaves]
    worth = np.zeros(columns)
    for row_number, name in enumerate(basic):
        if name < columns:
            worth[name] = table[row_number, columns]
    return worth
