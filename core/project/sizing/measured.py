"""How long the jobs of actions take and what they cost, from measured jobs that ended well.

The input is the usage of jobs as it was recorded; clusters are not asked. An action with fewer than
5 measured jobs has no result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import np
from rowtui.core.base.text import Cost

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.submission.plan.model import Plan
    from rowtui.core.workflow.model import Action

NEWEST = 200  # jobs of each action that a run time is taken from


class MeasuredTime(NamedTuple):
    """The median seconds of a directory (or of a job that takes all at once), of so many jobs."""

    seconds: float
    jobs: int


def measured_walltimes(project: OpenProject) -> dict[str, MeasuredTime]:
    """Return the run times of actions by name, from their newest measured jobs that ended well."""
    if not project.usage.store.stamp():
        return {}
    from rowtui.core.usage.amounts import LEAST, directories_of, of_one_action
    from rowtui.core.usage.table import ended_well

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
