"""Recommend what an action should request, from what its jobs used, with a stated risk. Pure.

If future jobs are like the measured ones, the next job exceeds the k-th largest of n values with
probability k / (n + 1), whatever their distribution is. So the recommendation for a risk of 1 % is
the value with the largest k that keeps k / (n + 1) below it. With fewer than 99 jobs even the
largest value is riskier: then the recommendation is the largest value, and says what it risks. A
job that was killed for memory or time would have used more than its limit; it counts as such.

Where use depends on the size of a job (its directories, or a number in their values), a line is
fitted, and the same rule holds for the distances from it. The distance of a job is taken from the
line through all other jobs, because a line through the job itself is too close to it. Source: order
statistics of exchangeable values (as in conformal prediction and its jackknife form).

A line is used only if it is clearly better than one amount for all jobs: it predicts at least 80 %
of the variance of jobs that it was not fitted to, its slope is positive, and there are at least 10
jobs of 3 different sizes; 20 jobs for a number in values, because many numbers are tried there.

Large jobs may differ more than small ones, or need more than a line says. So the same rule holds
for the largest tenth of the jobs by themselves, by the size that explains most, and the larger
amount counts. The largest tenth of fewer than 990 jobs is too small to promise 1 %: then the
recommendation states the risk of these jobs, too.

Only jobs that ended well count, and those that were killed for the resource in question: a job that
failed for another reason may have used little only because it ended early. A killed job does not
count if a later attempt at its work shows the need, which would count twice (`evidence`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.base.document import Flat
from rowtui.core.base.lazy import np
from rowtui.core.usage.amounts import (
    CPUS,
    DIRECTORIES,
    LEAST,
    JobValues,
    amounts_of,
    of_one_action,
    sizes_of,
    values_of_action,
)
from rowtui.core.usage.store import UsageColumns

if TYPE_CHECKING:
    from numpy.typing import NDArray

RISK = 0.01
"""Share of jobs that may exceed a recommendation, if there are enough jobs to promise that."""

EXPLAINS = 0.8
"""Share of the variance of other jobs that a line must predict to be used."""

_LARGEST = 0.9  # share of the jobs that are not among the largest
_DEPENDS = 0.05  # share of the variance from which on need is taken to depend on a size
_BETTER = 0.05  # by so much a value must predict more than the number of directories
_KNOWN = 0.9  # share of the jobs whose size must be known
_JOBS = {True: 2 * LEAST, False: 4 * LEAST}  # least jobs for a line: by directories, by a value


class SizeLine(NamedTuple):
    """A job needs `base + size * slope`, in the unit of the resource.

    `size`: `directories`, or a JSON pointer of a number in the values of the job's directory, or
    `sum of` or `largest` and a pointer for jobs of several. `r_squared`: the share of the variance
    that the line predicts of jobs that it was not fitted to. `..._residual`: used, less the line.
    """

    size: str
    base: float
    slope: float
    r_squared: float
    least_residual: float
    median_residual: float
    most_residual: float


class Recommended(NamedTuple):
    """An amount for one job, of any size; see `ActionSize`.

    `largest_risk` is `risk` if need does not depend on a known size. `jobs`: how many are known.
    """

    amount: float
    risk: float
    largest_risk: float
    jobs: int
    killed: int
    quantiles: tuple[float, ...]
    counts: tuple[int, ...]
    line: SizeLine | None = None


def recommend(
    values: NDArray[Any],
    censored: NDArray[Any],
    sizes: Sequence[tuple[str, NDArray[Any]]] = (),
    *,
    risk: float = RISK,
    lines: bool = True,
) -> Recommended | None:
    """Return an amount that a job exceeds with this risk; None for fewer than 5 jobs.

    `values`: used by each job, NaN if unknown; `censored`: whether it was killed at this value, so
    that it needed more; `sizes`: names and columns of what may explain the values. `lines`: whether
    the amount may depend on a size.
    """
    known = np.isfinite(values)
    used, killed = values[known].astype(np.float64), censored[known].astype(bool)
    if len(used) < LEAST or killed.all():
        return None
    best = clearest = None
    # The number of directories comes first: workflow.toml can express amounts for each of them.
    for name, column in sorted(sizes, key=lambda size: size[0] != DIRECTORIES):
        found = _fitted(name, column[known].astype(np.float64), used, killed)
        if found is None:
            continue
        if clearest is None or found.line.r_squared > clearest.line.r_squared:
            clearest = found
        if not lines or found.line.r_squared < EXPLAINS:
            continue
        handicap = _BETTER if best is not None and best.line.size == DIRECTORIES else 0.0
        if best is None or found.line.r_squared > best.line.r_squared + handicap:
            best = found
    largest = clearest.largest if clearest is not None else np.zeros(len(used), bool)
    amount, exceeding, theirs = _held_by_all(risk, used, killed, largest)
    count, line = len(used), None
    if best is not None:
        rows = best.rows
        above, exceeding, theirs = _held_by_all(risk, best.over, killed[rows], best.largest[rows])
        count, line = len(best.over), best.line._replace(base=best.line.base + above)
    least, most = float(used.min()), float(used.max())
    counts, _ = np.histogram(used, bins=20, range=(least, most if most > least else least + 1))
    return Recommended(
        amount,
        exceeding,
        theirs,
        count,
        int(killed.sum()),
        tuple(float(it) for it in np.quantile(used, (0, 0.5, 0.9, 0.99, 1))),
        tuple(int(it) for it in counts),
        line,
    )


def _held_by_all(
    risk: float, used: NDArray[Any], killed: NDArray[Any], largest: NDArray[Any]
) -> tuple[float, float, float]:
    """Return an amount that all jobs, and the largest ones alone, exceed with at most this risk.

    Then its risk, and that of the largest jobs; there may be none.
    """
    amount, exceeding = _exceeded_with(risk, used, killed)
    if not largest.any():
        return amount, exceeding, exceeding
    if not killed[largest].all():
        theirs, _ = _exceeded_with(risk, used[largest], killed[largest])
        if theirs > amount:
            amount, exceeding = theirs, _risk_of(theirs, used, killed)
    return amount, exceeding, _risk_of(amount, used[largest], killed[largest])


def _risk_of(amount: float, used: NDArray[Any], killed: NDArray[Any]) -> float:
    """Return the probability that the next job exceeds one of the known amounts."""
    return (int(((used > amount) | killed).sum()) + 1) / (len(used) + 1)


def _exceeded_with(risk: float, used: NDArray[Any], killed: NDArray[Any]) -> tuple[float, float]:
    """Return the least known amount that a job exceeds with at most this risk, and its risk."""
    ordered = np.where(killed, np.inf, used)
    ordered.sort()
    count = len(ordered)
    exceed = min(max(1, math.floor(risk * (count + 1))), count)
    exceed = max(exceed, int(killed.sum()) + 1)
    return float(ordered[count - exceed]), exceed / (count + 1)


class _Fit(NamedTuple):
    """A line, the jobs (`rows`: mask) whose size is known, and their distances from the line.

    `line.base`: of the line through the jobs, not of one above them. `largest`: which of all jobs
    are the largest tenth.
    """

    line: SizeLine
    rows: NDArray[Any]
    over: NDArray[Any]
    largest: NDArray[Any]


def _fitted(
    name: str, sizes: NDArray[Any], used: NDArray[Any], killed: NDArray[Any]
) -> _Fit | None:
    """Return the line through these points, if it predicts some of how other jobs differ."""
    rows = np.isfinite(sizes)
    good = rows & ~killed
    count = int(good.sum())
    if count < _JOBS[name == DIRECTORIES] or rows.mean() < _KNOWN:
        return None
    x, y = sizes[good], used[good]
    if len(np.unique(x)) < 3:
        return None
    away = x - x.mean()
    width = float((away**2).sum())
    spread = float(((y - y.mean()) ** 2).sum())
    if not 0 < width < math.inf or not spread:
        return None
    slope = float((away * y).sum()) / width
    offset = float(y.mean() - slope * x.mean())
    # Leaving a job out moves the line; its distance then follows from its weight in the fit.
    weight = 1 / count + away**2 / width
    if (weight > 1 - 1e-9).any():
        return None
    left = (y - offset - slope * x) / (1 - weight)
    # A constant is judged in the same way: by the mean of the other jobs.
    explains = 1 - float((left**2).sum()) / (spread * (count / (count - 1)) ** 2)
    if slope <= 0 or not explains >= _DEPENDS:
        return None
    over = np.full(len(used), np.inf)
    over[good] = left
    least, median, most = (float(it) for it in np.quantile(left, (0, 0.5, 1)))
    line = SizeLine(name, offset, slope, explains, least, median, most)
    largest = rows & (sizes >= np.quantile(sizes[rows], _LARGEST, method="lower"))
    return _Fit(line, rows, over[rows], largest)


class ActionSize(NamedTuple):
    """What the jobs of an action should request. `risk`: share of jobs that would exceed it;
    `largest_risk`: share of the largest tenth of the jobs.

    `resource`: `memory` (KiB), `walltime` (seconds) or `cpus`. `killed`: jobs that ended at their
    limit. With `per_directory`, a job of n directories needs `amount + n * per_directory`. `line`:
    how the amount grows with a size of the job, if it does; `amount` is for jobs of all sizes if
    the size is a number in the values of directories. `quantiles`: the least, median, 90 %, 99 %
    and most used; `counts`: jobs in equal parts between the least and the most.
    """

    action: str
    resource: str
    requested: float | None
    per_directory: float | None
    found: Flat[Recommended]


def right_sizes(
    columns: UsageColumns, values: Sequence[JobValues] = (), *, risk: float = RISK
) -> Iterator[ActionSize]:
    """Yield the recommendations for all actions of these jobs, by action.

    `values`: numbers that may explain what jobs used, one for each job of `columns`.
    """
    for action in sorted({columns.kind(line).action for line in columns.lines("kind")}):
        its = values_of_action(columns, action, values)
        yield from _of_action(action, of_one_action(columns, action), its, risk)


def not_recommended(columns: UsageColumns) -> Iterator[tuple[str, str]]:
    """Yield actions, and a sentence on the resources that lack measurements."""
    for action in sorted({columns.kind(line).action for line in columns.lines("kind")}):
        amounts = amounts_of(of_one_action(columns, action))
        lacking = [it for it in amounts if recommend(it.used, it.killed) is None]
        for why in dict.fromkeys(it.lacking for it in lacking):
            *others, last = (it.resource for it in lacking if it.lacking == why)
            names = f"{', '.join(others)} and {last}" if others else last
            yield action, f"nothing is recommended for {names}: {why}"


def _of_action(
    action: str, columns: UsageColumns, values: Sequence[JobValues], risk: float
) -> Iterator[ActionSize]:
    sizes = sizes_of(columns, values)
    for resource, used, killed, asked, _ in amounts_of(columns):
        found = recommend(used, killed, sizes if resource != CPUS else (), risk=risk)
        if found is not None:
            stated = asked[np.isfinite(asked)]
            most_asked, per_directory = float(stated.max()) if len(stated) else None, None
            if (line := found.line) is not None and line.size == DIRECTORIES:
                found, per_directory = found._replace(amount=line.base), line.slope
            yield ActionSize(action, resource, most_asked, per_directory, found)
