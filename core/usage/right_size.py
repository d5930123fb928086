"""Compute the settings of an action that give its jobs what they were measured to need. Pure.

Row's settings are amounts for a CPU, a GPU, a job, or a directory. So each setting is recommended
from the same ratio of the measured jobs: memory by the CPUs that the job will have, time by the
directories where the setting is per directory, CPUs by the processes. The promise of `recommend`
then holds for the setting itself, whatever the number of directories is.

The form of a setting stays, except that a time per submission becomes one per directory where a
line shows that time grows with the number of directories. Amounts are rounded up. A setting is
never less than a limit at which a measured job was killed.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.base.lazy import np
from rowtui.core.mapping.model.request import Amounts, WhatIf
from rowtui.core.usage.amounts import (
    CPUS,
    DIRECTORIES,
    LEAST,
    MEMORY,
    WALLTIME,
    JobValues,
    UsedAmounts,
    amounts_of,
    directories_of,
    of_one_action,
    rounded,
    sizes_of,
)
from rowtui.core.usage.recommend import RISK, Recommended, recommend
from rowtui.core.usage.table import ended_well
from rowtui.core.workflow.edit_amounts import Key, Settings
from rowtui.core.workflow.model import Resources, Walltime

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rowtui.core.usage.store import UsageColumns
    from rowtui.core.workflow.model import Action

RESOURCES = (CPUS, MEMORY, WALLTIME)
"""What can be written, in the order of its computation: memory is shared by the CPUs."""

_LEAST_CHANGE = 0.05  # an amount that is lower by less stays as it is


class SizedSetting(NamedTuple):
    """A changed setting of workflow.toml, in MB, seconds or CPUs. `before`: null if not set.

    `key`: as in workflow.toml, such as `walltime.per_directory`. `jobs` were measured, of which
    `killed` ended at their limit and `exceeding` would exceed the new setting. `risk`: the expected
    share of future jobs that exceed it; `largest_risk`: of the largest tenth of them.
    """

    action: str
    resource: str
    key: str
    before: int | None
    after: int
    jobs: int
    killed: int
    exceeding: int
    risk: float
    largest_risk: float


class KeptSize(NamedTuple):
    """Why settings of an action stay as they are."""

    action: str
    because: str


class RightSized(NamedTuple):
    """The settings of one action, what they change, and what stays."""

    settings: Settings
    changed: tuple[SizedSetting, ...]
    kept: tuple[KeptSize, ...]


class WrittenSizes(NamedTuple):
    """`usage --recommend --write`. `written`: whether workflow.toml has the change now."""

    written: bool
    diff: tuple[str, ...]
    settings: tuple[SizedSetting, ...]
    kept: tuple[KeptSize, ...]


def right_sized(
    action: str,
    resources: Resources,
    columns: UsageColumns,
    *,
    only: Collection[str] = RESOURCES,
    risk: float = RISK,
    keep_forms: bool = False,
    values: Sequence[JobValues] = (),
) -> RightSized:
    """Return the settings for the action with these resources, from the usage of its jobs.

    `keep_forms`: do not make a time per submission one per directory. `values`: numbers by which
    jobs may be larger than others.
    """
    work = _Work(action, resources, columns, risk, values)
    for resource in RESOURCES:
        if resource in only:
            work.size(resource, keep_forms=keep_forms)
    return RightSized(Settings(work.keys, work.resources), tuple(work.changed), tuple(work.kept))


class _Work:
    """The resources of one action, while they change."""

    def __init__(
        self,
        action: str,
        resources: Resources,
        columns: UsageColumns,
        risk: float,
        values: Sequence[JobValues],
    ) -> None:
        self.action = action
        self.resources = resources
        self.sizes = sizes_of(columns, values)
        self.risk = risk
        self.directories = directories_of(columns)
        self.amounts = {it.resource: it for it in amounts_of(columns)}
        self.keys: dict[Key, int | None] = {}
        self.changed: list[SizedSetting] = []
        self.kept: list[KeptSize] = []

    def size(self, resource: str, *, keep_forms: bool) -> None:
        """Change the setting of one resource, if its measured jobs differ from it."""
        if resource == CPUS:
            self._cpus()
        elif resource == MEMORY:
            self._memory()
        else:
            self._walltime(keep_forms=keep_forms)

    def _per_job(self, value: Any) -> NDArray[Any]:
        """Return a number for each job that depends on its number of directories."""
        found, place = np.unique(self.directories, return_inverse=True)
        numbers = np.array([max(1, value(int(size))) for size in found], np.float64)
        return np.asarray(numbers[place])

    def _found(self, used: UsedAmounts, per: NDArray[Any]) -> Recommended | None:
        sizes = self.sizes if used.resource != CPUS else ()
        found = recommend(used.used / per, used.killed, sizes, risk=self.risk, lines=False)
        if found is None:
            self._keep(used.resource, used.lacking)
        return found

    def _keep(self, resource: str, why: str) -> None:
        self.kept.append(KeptSize(self.action, f"{resource} is unchanged: {why}"))

    def _take(
        self,
        found: Recommended,
        used: UsedAmounts,
        per: NDArray[Any],
        *,
        key: Key,
        before: int | None,
        after: int,
    ) -> bool:
        """Set a key; False if the present value stays."""
        # Amounts in the unit of the setting: MB, seconds, CPUs.
        unit = 1024.0 if used.resource == MEMORY else 1.0
        ratio = used.used / per / unit
        if used.killed.any():
            after = max(after, math.ceil(float(np.nanmax(ratio[used.killed]))))
        lowered = before is not None and after < before
        if before is not None and (after == before or (
            lowered and before - after < before * _LEAST_CHANGE
        )):  # fmt: skip
            why = "jobs need about what they request"
            if found.killed:
                why = f"{_killed(found.killed, found.jobs)} at this limit: more is needed"
            self._keep(used.resource, why)
            return False
        known = np.isfinite(ratio)
        over = int(((ratio[known] > after) | used.killed[known]).sum())
        self.keys[key] = after
        self.changed.append(
            SizedSetting(
                self.action, used.resource, ".".join(key), before, after, int(known.sum()),
                found.killed, over, found.risk, found.largest_risk,
            )
        )  # fmt: skip
        return True

    def _cpus(self) -> None:
        used = self.amounts[CPUS]
        per = self._per_job(self.resources.processes.total)
        found = self._found(used, per)
        if found is None:
            return
        threads = max(1, math.ceil(found.amount - 1e-9))
        before = self.resources.threads_per_process
        if threads == (before or 1):
            self._keep(CPUS, "jobs need about what they request")
        elif self._take(
            found, used, per, key=("threads_per_process",), before=before, after=threads
        ):
            self.resources = self.resources._replace(threads_per_process=threads)

    def _memory(self) -> None:
        resources, used = self.resources, self.amounts[MEMORY]
        by_gpu = bool(resources.gpus_per_process)
        per = self._per_job(resources.total_gpus if by_gpu else resources.total_cpus)
        found = self._found(used, per)
        if found is None:
            return
        name = "memory_per_gpu_mb" if by_gpu else "memory_per_cpu_mb"
        amount = math.ceil(rounded(MEMORY, found.amount) / 1024)
        if self._take(found, used, per, key=(name,), before=getattr(resources, name), after=amount):
            after = self.keys[(name,)]
            self.resources = (
                resources._replace(memory_per_gpu_mb=after)
                if by_gpu
                else resources._replace(memory_per_cpu_mb=after)
            )

    def _walltime(self, *, keep_forms: bool) -> None:
        used, now = self.amounts[WALLTIME], self.resources.walltime
        per_directory = now.per_directory or (not keep_forms and self._grows(used))
        per = self._per_job(int if per_directory else _one)
        found = self._found(used, per)
        if found is None:
            return
        seconds = math.ceil(rounded(WALLTIME, found.amount, 1.0 if per_directory else 60.0))
        form = "per_directory" if per_directory else "per_submission"
        same = per_directory == now.per_directory
        key = ("walltime", form)
        if not self._take(
            found, used, per, key=key, before=now.seconds if same else None, after=max(1, seconds)
        ):
            return
        after = self.keys[key]
        assert after is not None
        if not same:
            self.keys["walltime", "per_submission"] = None
        self.resources = self.resources._replace(walltime=Walltime(after, per_directory))

    def _grows(self, used: UsedAmounts) -> bool:
        """Whether a line shows that time grows with the number of directories."""
        sizes = ((DIRECTORIES, self.directories),)
        found = recommend(used.used, used.killed, sizes, risk=self.risk)
        return found is not None and found.line is not None


def _one(_: int) -> int:
    return 1


def memory_gb(resources: Resources, directories: int) -> float:
    """Return the memory in GB of a job on this number of directories; 0 if it is not stated."""
    of_gpus = resources.total_gpus(directories)
    each = resources.memory_per_gpu_mb if of_gpus else resources.memory_per_cpu_mb
    return (each or 0) * (of_gpus or resources.total_cpus(directories)) / 1024


def words_of(setting: SizedSetting) -> Iterator[str]:
    """Yield sentences on the basis of a setting, and on what to expect of it."""
    if setting.killed:
        killed = _killed(setting.killed, setting.jobs)
        yield f"{killed} at their limit, and may need more than the new setting"
    if setting.resource == CPUS and setting.after < (setting.before or 1):
        yield "jobs that use more CPUs at some times may take longer"


def _killed(killed: int, jobs: int) -> str:
    return f"{killed:,} of {jobs:,} measured jobs {'was' if killed == 1 else 'were'} killed"


class MeasuredNeed(NamedTuple):
    """What a job should request, as a what-if, None if that is what it requests already.

    `jobs`: the number of measured jobs; fewer than 5 are no basis.
    """

    what_if: WhatIf | None = None
    jobs: int = 0


def need_of(columns: UsageColumns, action: Action, directories: int) -> MeasuredNeed:
    """Return what a job of the action on so many directories needs."""
    its = of_one_action(columns, action.name)
    jobs = int(ended_well(its).sum())
    if jobs < LEAST:
        return MeasuredNeed(None, jobs)
    sized = right_sized(action.name, action.resources, its, keep_forms=True)
    resources = sized.settings.resources
    changed = {it.resource for it in sized.changed}
    cores = resources.total_cpus(directories) if CPUS in changed else None
    # Rounded up: the edit of workflow.toml rounds each CPU's share down to MB.
    memory = math.ceil(memory_gb(resources, directories) * 1000) / 1000
    seconds = resources.walltime.total_seconds(directories) if WALLTIME in changed else None
    amounts = Amounts(None, cores, memory if MEMORY in changed else None)
    return MeasuredNeed(WhatIf(amounts, seconds) if changed else None, jobs)
