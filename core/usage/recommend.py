"""Recommend what an action should request, from what its jobs used, with a stated risk. Pure.

If future jobs are like the measured ones, the next job exceeds the k-th largest of n values with
probability k / (n + 1), whatever their distribution is. So the recommendation for a risk of 1 % is
the value with the largest k that keeps k / (n + 1) below it. With fewer than 99 jobs even the
largest value is riskier: then the recommendation is the largest value, and says what it risks. A
job that was killed for memory or time would have used more than its limit; it counts as such.

Where use depends on the size of a job (its directories, or a number in their values), a line is
fitted, and the same rule holds for the distances from it. Source: order statistics of exchangeable
values (as in conformal prediction).

Only jobs that ended well count, and those that were killed for the resource in question: a job that
failed for another reason may have used little only because it ended early.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.usage.store import UsageColumns
from rowtui.core.usage.table import Requested, chosen_usage, ended_well, of_end

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST = 5
"""Fewer jobs are no basis for a recommendation."""

RISK = 0.01
"""Share of jobs that may exceed a recommendation, if there are enough jobs to promise that."""

EXPLAINS = 0.8
"""Share of the variance that a line must explain to be used."""


class Line(NamedTuple):
    """`value = offset + slope * size`. `explains`: R squared."""

    size: str
    offset: float
    slope: float
    explains: float


class Recommended(NamedTuple):
    """An amount for one job. `risk`: expected share of jobs that would exceed it.

    `jobs`: how many were measured; `censored`: of these, killed at their limit. `quantiles`: the
    least, median, 90 %, 99 % and most used. `counts`: jobs in equal parts between the least and
    the most. `line`: how the amount grows with a size; None if it does not.
    """

    amount: float
    risk: float
    jobs: int
    censored: int
    quantiles: tuple[float, float, float, float, float]
    counts: tuple[int, ...]
    line: Line | None = None

    def for_size(self, size: float) -> float:
        """Return the amount for a job of this size; the same for all sizes without a line."""
        if self.line is None:
            return self.amount
        return self.amount + self.line.offset + self.line.slope * size


def recommend(
    values: NDArray[Any],
    censored: NDArray[Any],
    sizes: Sequence[tuple[str, NDArray[Any]]] = (),
    *,
    risk: float = RISK,
) -> Recommended | None:
    """Return an amount that a job exceeds with this risk; None for fewer than 5 jobs.

    `values`: used by each job, NaN if unknown; `censored`: whether it was killed at this value, so
    that it needed more; `sizes`: names and columns of what may explain the values.
    """
    import numpy as np

    known = np.isfinite(values)
    used, killed = values[known].astype(np.float64), censored[known].astype(bool)
    if len(used) < LEAST or killed.all():
        return None
    line, over = None, used
    for name, column in sizes:
        found = fitted(name, column[known], used, killed)
        if found is not None and (line is None or found.explains > line.explains):
            line = found
            over = used - found.offset - found.slope * column[known]
    ordered = np.where(killed, np.inf, over)
    ordered.sort()
    count = len(ordered)
    exceed = min(max(1, math.floor(risk * (count + 1))), count)
    exceed = max(exceed, int(killed.sum()) + 1)
    amount = float(ordered[count - exceed])
    least, most = float(used.min()), float(used.max())
    counts, _ = np.histogram(used, bins=20, range=(least, most if most > least else least + 1))
    quantiles = tuple(float(it) for it in np.quantile(used, (0, 0.5, 0.9, 0.99, 1)))
    return Recommended(
        amount,
        exceed / (count + 1),
        count,
        int(killed.sum()),
        quantiles,  # type: ignore[arg-type]
        tuple(int(it) for it in counts),
        line,
    )


def fitted(name: str, sizes: NDArray[Any], used: NDArray[Any], killed: NDArray[Any]) -> Line | None:
    """Return the line through these points, if it explains most of how they differ."""
    import numpy as np

    good = np.isfinite(sizes) & ~killed
    if not np.isfinite(sizes).all() or good.sum() < 2 * LEAST or np.ptp(sizes[good]) == 0:
        return None
    x, y = sizes[good].astype(np.float64), used[good]
    slope, offset = np.polyfit(x, y, 1)
    spread = float(((y - y.mean()) ** 2).sum())
    left = float(((y - offset - slope * x) ** 2).sum())
    explains = 1 - left / spread if spread else 0.0
    if slope <= 0 or explains < EXPLAINS:
        return None
    return Line(name, float(offset), float(slope), explains)


MEMORY, WALLTIME, CPUS = "memory", "walltime", "cpus"
_KILLED = {MEMORY: "out of memory", WALLTIME: "time limit", CPUS: "nothing else"}


class ActionSize(NamedTuple):
    """A recommendation for one action. `resource`: MEMORY (KiB), WALLTIME (seconds), or CPUS.

    `requested`: the most that a job requested so far; None if none of them stated it.
    """

    action: str
    resource: str
    recommended: Recommended
    requested: float | None


def right_sizes(columns: UsageColumns) -> Iterator[ActionSize]:
    """Yield the recommendations for all actions of these jobs, by action."""
    for action in sorted({columns.kind(line).action for line in columns.lines("kind")}):
        its = chosen_usage(columns, actions=[_literal(action)])
        yield from _of_action(action, its)


def _of_action(action: str, columns: UsageColumns) -> Iterator[ActionSize]:
    import numpy as np

    wanted = Requested.of(columns)
    wall = columns.column("wall").astype(np.float64)
    cpu = columns.column("cpu").astype(np.float64)
    memory = columns.column("memory").astype(np.float64)
    memory[memory == 0] = np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        busy = np.ceil(np.where(wall >= 1, cpu / wall, np.nan) - 0.1)
    directories = (columns.column("directories") & 0x7FFF).astype(np.float64)
    sizes = [("directories", directories)]
    good = ended_well(columns)
    for resource, used, asked in (
        (MEMORY, memory, wanted.memory),
        (WALLTIME, wall, wanted.walltime),
        (CPUS, np.maximum(busy, 1), wanted.cpus),
    ):
        killed = of_end(columns, _KILLED[resource].__eq__)
        # It hit its limit, so it needed at least that, whatever was sampled before.
        values = np.where(killed, np.fmax(used, asked), np.where(good, used, np.nan))
        by_size = sizes if resource != CPUS else []
        found = recommend(values, killed, by_size)
        if found is not None:
            stated = asked[np.isfinite(asked)]
            most = float(stated.max()) if len(stated) else None
            yield ActionSize(action, resource, found, most)


def rounded(resource: str, amount: float) -> float:
    """Return an amount that a person would write, never less: whole units of about 5 %."""
    if resource == CPUS:
        return float(math.ceil(amount))
    unit = 1024.0 if resource == MEMORY else 60.0
    while unit * 40 <= amount:
        unit *= 2
    return math.ceil(amount / unit) * unit


def _literal(text: str) -> str:
    """Return a pattern that matches only this text."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in text)
