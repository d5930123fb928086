"""Amounts that jobs will ask for, as a plan of the jobs would state them. All cost forecasts use
them.

The input is job requests. The result holds the amounts of each job after the mapping files changed
them, or the reason why the mapping files refuse the job. The module makes no plan: it writes no
script and reserves nothing in a pool.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import Cost, visible
from rowtui.core.clusters.schedulers.kind import is_this_machine, kind_of
from rowtui.core.clusters.schedulers.local.machine import machine_capacity
from rowtui.core.groups.form import cut_groups, job_requests
from rowtui.core.groups.model import ActionStatus, Group, JobRequest
from rowtui.core.groups.status import chosen_from
from rowtui.core.mapping.model.decision import MappingOutcome
from rowtui.core.mapping.model.sentences import outcome_sentence, what_to_do
from rowtui.core.submission.plan.apply_placement import placed
from rowtui.core.submission.plan.planner import applied_limit, job_memory_mb

if TYPE_CHECKING:
    from rowtui.core.clusters.model import Cluster
    from rowtui.core.groups.form import GroupCut
    from rowtui.core.groups.order import Members
    from rowtui.core.mapping.engine.mapper import Mapper
    from rowtui.core.project.mapping import ProjectMapping
    from rowtui.core.project.project import Project
    from rowtui.core.state.model import Directories
    from rowtui.core.workflow.model import Action, Resources

# Number of jobs of one action that are mapped one by one. With more jobs, evenly spaced jobs are
# mapped and stand for the others.
MOST_MAPPED = 1_000


class AskedAmounts(NamedTuple):
    """Amounts that one job asks for. `memory_mb` is None when no memory is stated. `refused` is the
    reason why the job may not run, or "".
    """

    cpus: int = 1
    memory_mb: int | None = None
    gpus: int = 0
    walltime_seconds: int = 0
    cost: Cost = Cost()
    refused: str = ""


class AmountsOfJobs:
    """Computes the amounts of the jobs of one project. An instance must not be shared between
    threads.

    `mapping`: None if no mapping files decide where jobs go. `directories`: the directories that
    groups index, if they are not those of the workspace.
    """

    def __init__(
        self,
        project: Project,
        mapping: ProjectMapping | None,
        directories: Directories | None = None,
    ) -> None:
        self._project = project
        self._mapping = mapping
        self._directories = directories
        self._alike: dict[
            tuple[int, int], AskedAmounts
        ] = {}  # by action index and number of directories

    @property
    def maps(self) -> bool:
        """Whether the project has mapping files that take part in the placement of jobs."""
        return self._mapping is not None

    def are_alike(self, action: Action) -> bool:
        """Whether the jobs of an action differ only by their number of directories."""
        return self._mapping is None or not self._mapping.reads_directories(_any_job(action, 1))

    def of_size(self, action: Action, directories: int) -> AskedAmounts:
        """Return the amounts of a job on this many directories; the action's jobs must be alike."""
        key = action.index, directories
        if key not in self._alike:
            self._alike[key] = self.of(_any_job(action, directories))
        return self._alike[key]

    def of_each(self, requests: Sequence[JobRequest]) -> list[AskedAmounts]:
        """Return the amounts of several jobs of one action; equal jobs are looked up once."""
        if requests and self.are_alike(requests[0].action):
            return [
                self.of_size(it.action, len(it.group.indices)) if it.attempt == 1 else self.of(it)
                for it in requests
            ]
        return list(map(self.of, requests))

    def of(self, request: JobRequest) -> AskedAmounts:
        """Return the amounts of one job."""
        if self._mapping is None:
            size = len(request.group.indices)
            cluster = self._project.here()
            if cluster and (why := machine_refusal(cluster, request.action.resources, size)):
                return AskedAmounts(refused=why)
            return _asked(request, job_memory_mb(request, None), cluster)

        placement = self._mapping.expected(request, self._directories)
        # the job runs later, and its amounts are not known yet
        if placement.outcome is MappingOutcome.WAITS:
            return _asked(request, job_memory_mb(request, None))
        if not placement.chosen:
            hint = what_to_do(placement)
            refused = outcome_sentence(placement) + (f"; {hint}" if hint else "")
            return AskedAmounts(refused=refused)
        try:
            place = placed(request, placement, self._mapping.cluster_of(placement))
        except RowtuiError as error:
            return AskedAmounts(refused=error.message + (f"; {error.hint}" if error.hint else ""))
        memory_mb = job_memory_mb(place.request, place.partition)
        return _asked(place.request, memory_mb, place.cluster)

    def cost_of(self, action: Action, cut: GroupCut) -> Cost:
        """Return the cost of the jobs of these groups. Refused jobs cost nothing."""
        if self.are_alike(action):
            sizes = cut.counted_sizes
            return Cost.total(self.of_size(action, size).cost.times(n) for size, n in sizes)
        step = spacing(len(cut))
        costs = []
        for first in range(0, len(cut), step):
            (request,) = job_requests([cut[first]])
            costs.append(self.of(request).cost.times(min(step, len(cut) - first)))
        return Cost.total(costs)


class MappedCosts:
    """Status table rows with the costs that a plan of their directories would state."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[ActionStatus, Mapper, ActionStatus]] = {}  # by action

    def of(
        self,
        project: Project,
        mapping: ProjectMapping,
        rows: Sequence[ActionStatus],
        among: Sequence[int] | None = None,
    ) -> tuple[ActionStatus, ...]:
        """Return the rows with mapped costs.

        The costs stay as the actions ask while the cluster or the mapping is not known yet. The
        method sends no request to a cluster.
        """
        try:
            project.connections.described(project.recognised.cluster, ask=False)
            amounts, mapper = AmountsOfJobs(project, mapping), mapping.mapper
            return tuple(self._row(project, amounts, mapper, row, among) for row in rows)
        except RowtuiError:
            return tuple(rows)

    def _row(
        self,
        project: Project,
        amounts: AmountsOfJobs,
        mapper: Mapper,
        row: ActionStatus,
        among: Sequence[int] | None,
    ) -> ActionStatus:
        index = row.action.index
        known = self._known.get(index)
        if among is None and known is not None and known[0] is row and known[1] is mapper:
            return known[2]
        unfinished = row.submitted | row.eligible | row.waiting
        members: Members = unfinished if among is None else chosen_from(among, unfinished)
        if row.problem or not members:
            return row
        cut = cut_groups(row.action, project.state.directories, members, project.order(row.action))
        found = row._replace(remaining_cost=amounts.cost_of(row.action, cut))
        if among is None:
            self._known[index] = (row, mapper, found)
        return found


def machine_refusal(cluster: Cluster, resources: Resources, directories: int) -> str:
    """Return why this machine's own queue can never run a job on this many directories, or ""."""
    if not is_this_machine(cluster):
        return ""

    cpus, gpus = resources.total_cpus(directories), resources.total_gpus(directories)
    each = resources.memory_per_gpu_mb if gpus else resources.memory_per_cpu_mb
    memory_mb = None if each is None else each * (gpus or cpus)
    why = machine_capacity().refusal(cpus, memory_mb, gpus)
    return f"{visible(cluster.name)}: {why}" if why else ""


def spacing(jobs: int) -> int:
    """Return the step between mapped jobs: one job of each such step is mapped for all of them."""
    return max(1, math.ceil(jobs / MOST_MAPPED))


def _any_job(action: Action, directories: int) -> JobRequest:
    """Return a job on this many directories, without regard to their names."""
    (request,) = job_requests([Group(action, tuple(range(directories)))])
    return request


def shown_amounts(
    project: Project, mapping: ProjectMapping | None, requests: Sequence[JobRequest]
) -> list[AskedAmounts]:
    """Return the amounts that a list shows for these jobs of one action.

    While the mapping files or the cluster cannot be read, these are the amounts that the action
    itself asks for.
    """
    try:
        return AmountsOfJobs(project, mapping).of_each(requests)
    except RowtuiError:
        return list(map(as_asked, requests))


def as_asked(request: JobRequest) -> AskedAmounts:
    """Return the amounts that the action itself asks for."""
    return _asked(request, job_memory_mb(request, None))


def _asked(
    request: JobRequest, memory_mb: int | None, cluster: Cluster | None = None
) -> AskedAmounts:
    seconds, cost = request.walltime_seconds, request.cost
    if cluster is not None:
        seconds, cost = applied_limit(kind_of(cluster), seconds, cost)
    return AskedAmounts(request.cpus, memory_mb, request.gpus, seconds, cost)
