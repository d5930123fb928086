"""What jobs used of each resource, as evidence for what they should request. Pure.

Takes the usage of jobs; gives columns of used and requested amounts, which jobs were killed at a
limit, and the sizes of jobs that may explain what they used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.base.lazy import np
from rowtui.core.base.text import plural
from rowtui.core.submission.plan.outcome import JobOutcome
from rowtui.core.usage.requested import Requested, of_kind
from rowtui.core.usage.store import UsageColumns
from rowtui.core.usage.table import ended_well, of_outcome

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST = 5
"""Fewer jobs are no basis for a recommendation."""
DIRECTORIES = "directories"
"""Name of the size that is the number of directories of a job."""

MEMORY, WALLTIME, CPUS = "memory", "walltime", "cpus"
_KILLED = {MEMORY: JobOutcome.OUT_OF_MEMORY, WALLTIME: JobOutcome.TIME_LIMIT, CPUS: None}


def killed_at_limit(columns: UsageColumns) -> NDArray[Any]:
    """Return which jobs were killed for memory or time."""
    return of_outcome(columns, lambda outcome: outcome in _KILLED.values())


def evidence(columns: UsageColumns, work_of: Callable[[str], object]) -> UsageColumns:
    """Return the jobs without the killed ones whose need a later attempt at the same work shows.

    That attempt ended well, or was killed for the same reason. `work_of`: the work, by token.
    """
    keep = ~killed_at_limit(columns)
    later: dict[object, set[JobOutcome]] = {}  # how attempts ended, by work
    for at, job in reversed(list(enumerate(columns.jobs()))):
        outcomes, its = later.setdefault(work_of(job.token), set()), job.end.outcome
        keep[at] |= outcomes.isdisjoint((JobOutcome.COMPLETED, its))
        outcomes.add(its)
    return columns.chosen(keep)


class JobValues(NamedTuple):
    """A number in the values of each job's directories: columns, NaN if it is not known.

    `total`: the sum over the job's directories, `most`: the largest of them.
    """

    pointer: str
    total: NDArray[Any]
    most: NDArray[Any]


def values_of_action(
    columns: UsageColumns, action: str, values: Sequence[JobValues]
) -> list[JobValues]:
    """Return the numbers of the jobs of the action with this name."""
    mask = _mask(columns, action)
    return [JobValues(it.pointer, it.total[mask], it.most[mask]) for it in values]


def of_one_action(columns: UsageColumns, action: str) -> UsageColumns:
    """Return the jobs of the action with this name."""
    return columns.chosen(_mask(columns, action))


def _mask(columns: UsageColumns, action: str) -> NDArray[Any]:
    return of_kind(columns, lambda kind: kind.action == action).astype(bool)


class UsedAmounts(NamedTuple):
    """What each job used of one resource: columns of equal length.

    `used`: NaN if unknown, the limit for a job that was killed at it; `killed`; `requested`: NaN if
    not stated. `unmeasured`: how many jobs that ended well have no value, if these are most of
    them. The values of the others are then no evidence, and are NaN too.
    """

    resource: str
    used: NDArray[Any]
    killed: NDArray[Any]
    requested: NDArray[Any]
    unmeasured: int

    @property
    def lacking(self) -> str:
        """Why there is no recommendation, if there is none."""
        if self.unmeasured:
            return (
                f"not measured in {plural(self.unmeasured, 'completed job')} (what srun, ssh "
                "or containers start needs a scheduler's accounts or control groups)"
            )
        counted = ~self.killed & (self.used == self.used)  # not NaN
        jobs = plural(int(counted.sum()), "completed job")
        return f"{jobs} measured: too few, at least {LEAST} are needed"


def amounts_of(columns: UsageColumns) -> Iterator[UsedAmounts]:
    """Yield what jobs used: MEMORY in KiB, WALLTIME in seconds, CPUS that worked on average."""
    wanted = Requested.of(columns)
    wall = columns.column("wall").astype(np.float64)
    cpu = columns.column("cpu").astype(np.float64)
    memory = columns.column("memory").astype(np.float64)
    memory[memory == 0] = np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        busy = np.ceil(np.where(wall >= 1, cpu / wall, np.nan) - 0.1)
    good = ended_well(columns)
    for resource, measured, used, asked in (
        (MEMORY, memory, memory, wanted.memory),
        (WALLTIME, wall, wall, wanted.walltime),
        (CPUS, cpu, np.maximum(busy, 1), wanted.cpus),
    ):
        without = int((good & np.isnan(measured)).sum())
        unmeasured = without if 2 * without > good.sum() else 0
        killed = of_outcome(columns, (_KILLED[resource],).__contains__)
        # It hit its limit, so it needed at least that, whatever was sampled before.
        values = np.where(
            killed, np.fmax(used, asked), np.where(good & (not unmeasured), used, np.nan)
        )
        yield UsedAmounts(resource, values, killed, asked, unmeasured)


def directories_of(columns: UsageColumns) -> NDArray[Any]:
    """Return the number of directories of each job."""
    return (columns.column("directories") & 0x7FFF).astype(np.float64)


def sizes_of(columns: UsageColumns, values: Sequence[JobValues]) -> list[tuple[str, NDArray[Any]]]:
    """Return the names and columns of all sizes of these jobs."""
    directories = directories_of(columns)
    sizes = [(DIRECTORIES, directories)]
    for pointer, total, most in values:
        if directories.max() <= 1:
            sizes.append((pointer, total))
        else:
            sizes += [(f"sum of {pointer}", total), (f"largest {pointer}", most)]
    return sizes


def rounded(resource: str, amount: float, unit: float = 0.0) -> float:
    """Return an amount that a person would write, never less: whole units of about 5 %.

    `unit`: the smallest unit; by default one MB, one minute, one CPU.
    """
    if resource == CPUS:
        return float(math.ceil(amount))
    unit = unit or (1024.0 if resource == MEMORY else 60.0)
    while unit * 40 <= amount:
        unit *= 2
    return math.ceil(amount / unit) * unit
