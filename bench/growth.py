"""How costs grow with the size: from rows of several sizes, for each thing that was measured.

A cost is a time or a memory; a rate or a share is none. Two neighbouring sizes are compared: the
exponent is 0 for a cost that stays, 1 for one that is proportional to the size, 2 for its square.
What a start costs is a part of each figure, so that the exponent of small sizes is too low.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bench.measured import Measured

MOST = 1.05  # 11.2 times the cost for ten times the size
COSTS = ("cpu s", "cpu ms", "cpu us", "user s", "build s", "named s", "first page ms", "us each")
EACH = " each"  # a figure for each of the things that the size counts
LEAST_STEP = 2.0  # sizes that are closer tell nothing


class Growth(NamedTuple):
    """`exponent`: of the size, in the cost between the two sizes."""

    suite: str
    what: str
    variant: str
    figure: str
    smaller: int
    larger: int
    from_value: float
    to_value: float
    exponent: float
    reason: str


def growth(rows: Sequence[Measured], reasons: Mapping[tuple[str, str], str]) -> list[Growth]:
    """For each thing of rowtui's with several sizes; `reasons` by suite and name."""
    series: dict[tuple[str, str, str], list[Measured]] = {}
    for row in rows:
        if row.tool == "rowtui" and row.size > 0 and row.best:
            series.setdefault((row.suite, row.what, row.variant), []).append(row)
    found = []
    for (suite, what, variant), its in series.items():
        for figure in (name for name in COSTS if all(name in row.best for row in its)):
            sizes = {row.size: row.best[figure] for row in its}
            ordered = sorted(sizes)
            for smaller, larger in itertools.pairwise(ordered):
                before, after = sizes[smaller], sizes[larger]
                if larger / smaller < LEAST_STEP or before <= 0 or after <= 0:
                    continue
                exponent = math.log(after / before) / math.log(larger / smaller)
                exponent += figure.endswith(EACH)
                reason = reasons.get((suite, what), "")
                one = (suite, what, variant, figure, smaller, larger, before, after)
                found.append(Growth(*one, exponent, reason))
    return found
