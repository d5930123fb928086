"""What measured jobs of an action need and how long they take, for what-ifs and estimates.

The input is the usage of jobs as it was recorded; clusters are not asked. The results are kept
until the records change. An action with fewer than 5 measured jobs has no result.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import np
from rowtui.core.base.text import Cost
from rowtui.core.mapping.model.request import Amounts, WhatIf
from rowtui.core.usage.amounts import CPUS, LEAST, MEMORY, WALLTIME, directories_of, of_one_action
from rowtui.core.usage.right_size import memory_gb, right_sized
from rowtui.core.usage.table import ended_well

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.submission.plan.model import Plan
    from rowtui.core.usage.store import UsageColumns
    from rowtui.core.workflow.model import Action, Resources

NEWEST = 200  # jobs of each action that a run time is taken from


class MeasuredNeed(NamedTuple):
    """What a job should request, as a what-if, None if that is what it requests already.

    `jobs`: the number of measured jobs; fewer than 5 are no basis.
    """

    what_if: WhatIf | None = None
    jobs: int = 0


class MeasuredNeeds:
    """The needs of the actions of one project, as long as the records stay as they are."""

    def __init__(self, project: OpenProject) -> None:
        self._project = project
        self._stamp: object = None
        self._columns: UsageColumns | None = None
        self._known: dict[tuple[str, Resources, int], MeasuredNeed] = {}

    def of(self, action: Action, directories: int) -> MeasuredNeed:
        """Return what a job of the action on so many directories needs. Blocks on the disk."""
        store = self._project.usage.store
        stamp = store.stamp()
        if self._columns is None or stamp != self._stamp:
            try:
                self._columns = self._project.usage.evidence(store.columns())
            except RowtuiError:  # `rowtui usage` reports the reason
                return MeasuredNeed()
            self._stamp = stamp
            self._known.clear()
        key = (action.name, action.resources, directories)
        if key not in self._known:
            self._known[key] = need_of(self._columns, action, directories)
        return self._known[key]


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


# Run times


class MeasuredTime(NamedTuple):
    """The median seconds of a directory (or of a job that takes all at once), of so many jobs."""

    seconds: float
    jobs: int


def measured_walltimes(project: OpenProject) -> dict[str, MeasuredTime]:
    """Return the run times of actions by name, from their newest measured jobs that ended well."""
    if not project.usage.store.stamp():
        return {}  # nothing was measured: numpy takes longer to load than the plan
    try:
        columns = project.usage.store.columns()
    except RowtuiError as error:
        project.notice(str(error))
        return {}
    found = {}
    for name in {columns.kind(line).action for line in columns.lines("kind")}:
        actions = project.workflow.named(name)
        if not actions:
            continue
        its = of_one_action(columns, name)
        its = its.chosen(ended_well(its) & np.isfinite(its.column("wall")))
        if len(its) < LEAST:
            continue
        walls, sizes = its.column("wall")[-NEWEST:], directories_of(its)[-NEWEST:]
        each = [
            float(wall) / one_by_one(actions[0], max(1, int(size)))
            for wall, size in zip(walls, sizes, strict=True)
        ]
        found[name] = MeasuredTime(float(np.median(each)), len(each))
    return found


def one_by_one(action: Action, directories: int) -> int:
    """Return how many directories a job processes one after another."""
    if "{directory}" in action.command or action.resources.walltime.per_directory:
        return directories
    return 1


class ExpectedCost(NamedTuple):
    """What `plan` expects the jobs to cost, by the median run times of `jobs` measured jobs."""

    cost: Cost
    jobs: int


def expected_cost(project: OpenProject, plan: Plan) -> ExpectedCost | None:
    """Return what the jobs of a plan are expected to cost; None if that is unknown of one.

    No cost is expected of jobs that share nodes: they are charged for the time of the longest.
    """
    if not plan.jobs or any(job.bundle is not None for job in plan.jobs):
        return None
    times = measured_walltimes(project)
    costs = []
    for job in plan.jobs:
        time, actions = times.get(job.action), project.workflow.named(job.action)
        if time is None or not actions or not job.walltime_seconds:
            return None
        seconds = time.seconds * one_by_one(actions[0], len(job.directories))
        costs.append(job.cost.times(min(1.0, seconds / job.walltime_seconds)))
    jobs = sum(times[name].jobs for name in {job.action for job in plan.jobs})
    return ExpectedCost(Cost.total(costs), jobs)
