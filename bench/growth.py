"""What ten times as much costs: from rows of several sizes, for each thing that was measured.

A cost is a time or a memory; a rate or a share is none. Two neighbouring sizes are compared; where
they are not ten times apart, the growth between them is taken as if it went on alike.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bench.measured import Measured

MOST = 11.0
COSTS = ("cpu s", "cpu ms", "cpu us", "user s", "build s", "named s", "first page ms", "us each")
EACH = " each"  # a figure for each of the things that the size counts
LEAST_STEP = 2.0  # sizes that are closer tell nothing


class Growth(NamedTuple):
    """`times`: the cost at ten times the size over that at once."""

    suite: str
    what: str
    variant: str
    figure: str
    smaller: int
    larger: int
    from_value: float
    to_value: float
    times: float
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
                all_of_them = larger / smaller if figure.endswith(EACH) else 1.0
                times = at_ten_times(smaller, larger, before, after * all_of_them)
                reason = reasons.get((suite, what), "")
                one = (suite, what, variant, figure, smaller, larger, before, after)
                found.append(Growth(*one, times, reason))
    return found


def at_ten_times(smaller: int, larger: int, before: float, after: float) -> float:
    """The multiple for ten times the size."""
    return float((after / before) ** (1 / math.log10(larger / smaller)))
