"""What jobs used of what they asked for, why jobs failed, and what budgets had left. Pure.

Takes the columns of usage, and the charges of submissions; gives distributions and counts whose
size does not depend on the number of jobs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rowtui.core.base.lazy import np
from rowtui.core.clusters.model import BudgetLimit
from rowtui.core.submission.plan.charges import DatedCharge
from rowtui.core.usage.requested import Requested
from rowtui.core.usage.store import UsageColumns
from rowtui.core.usage.table import ended_well, groups_of, has_failed

BINS = 10
MOST_ACTIONS, MOST_CAUSES = 50, 50
WALLTIME, MEMORY, CPUS = "walltime", "memory", "CPUs"
_ROUNDING = 1e-3  # bins; times of single precision exceed 100 % by rounding


class UsedShare(NamedTuple):
    """The distribution of what jobs used, as shares of what they requested.

    `resource`: `walltime`, `memory` or `CPUs`; `action`: "" for all; `jobs`: where both amounts are
    known. `bins`: the jobs in each tenth of the request, and above it; then the least, the
    quartiles and the most.
    """

    resource: str
    action: str
    jobs: int
    bins: tuple[int, ...]
    least: float
    lower: float
    median: float
    upper: float
    most: float

    @property
    def over(self) -> int:
        """The jobs that used more than they requested."""
        return self.bins[BINS]


class CauseCount(NamedTuple):
    """The jobs that failed for one reason."""

    cause: str
    jobs: int


class BudgetPast(NamedTuple):
    """The CPU-hours of a budget that were left at the end of each interval. `cpu_hours`: all."""

    cluster: str
    cpu_hours: float
    left: tuple[float, ...]


def used_shares(columns: UsageColumns, actions: Iterable[str]) -> tuple[UsedShare, ...]:
    """Return the distributions of these actions ("" for all jobs); those without any job are left
    out.
    """
    wanted = Requested.of(columns)
    wall, cpu = (columns.column(name).astype(np.float64) for name in ("wall", "cpu"))
    memory = columns.column("memory").astype(np.float64)
    memory[memory == 0] = np.nan
    names, group = groups_of(columns, "action") if len(columns) else ([], np.zeros(0))
    found = []
    for action in actions:
        its = group == names.index(action) if action else group >= 0
        for resource, used, requested in (
            (WALLTIME, wall, wanted.walltime),
            (MEMORY, memory, wanted.memory),
            (CPUS, cpu, wanted.cpus * wall),
        ):
            known = its & (requested > 0) & ~np.isnan(used)
            share = used[known] / requested[known]
            if len(share):
                tenths = np.ceil(share * BINS - _ROUNDING).clip(1, BINS + 1).astype(np.int64) - 1
                bins = np.bincount(tenths, minlength=BINS + 1).tolist()
                spread = np.quantile(share, (0, 0.25, 0.5, 0.75, 1)).tolist()
                found.append(UsedShare(resource, action, len(share), tuple(bins), *spread))
    return tuple(found)


def past_shares(columns: UsageColumns) -> tuple[UsedShare, ...]:
    """Return the shares that completed jobs used: of all actions, then of each, by its jobs."""
    columns = columns.chosen(ended_well(columns))
    names, group = groups_of(columns, "action") if len(columns) else ([], np.zeros(0))
    most = Counter(group.tolist()).most_common(MOST_ACTIONS)
    return used_shares(columns, ["", *(names[int(at)] for at, _ in most)])


def cause_counts(columns: UsageColumns) -> tuple[CauseCount, ...]:
    """Return why jobs failed, the most frequent cause first."""
    failed = columns.chosen(has_failed(columns))
    names, causes = groups_of(failed, "reason") if len(failed) else ([], ())
    found = Counter(names[at] for at in map(int, causes))
    return tuple(CauseCount(*one) for one in found.most_common(MOST_CAUSES))


def budgets_left(
    budgets: Mapping[str, BudgetLimit], charges: Iterable[DatedCharge], ends: Sequence[float]
) -> tuple[BudgetPast, ...]:
    """Return the budgets in CPU-hours over time, the one with the smallest share left first.

    `ends`: of the intervals, epoch seconds.
    """
    spent: dict[str, list[DatedCharge]] = {name: [] for name in budgets}
    for charge in charges:
        if charge.cluster in spent:
            spent[charge.cluster].append(charge)
    found = []
    for name, budget in budgets.items():
        if budget.cpu_hours is None or not ends:
            continue
        times = np.array([charge.at for charge in spent[name]])
        hours = [charge.cost.cpu_hours for charge in spent[name]]
        place = np.searchsorted(np.array(ends), times, "left")
        sums = np.cumsum(np.bincount(place, hours, minlength=len(ends) + 1))[: len(ends)]
        found.append(BudgetPast(name, budget.cpu_hours, tuple((budget.cpu_hours - sums).tolist())))
    return tuple(sorted(found, key=lambda one: one.left[-1] / max(one.cpu_hours, 1e-9)))
