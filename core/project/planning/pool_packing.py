"""Placing the jobs of a plan in a pool: on open allocations, or on such that are to be opened.

The input is planned jobs, the open allocations with what was handed to them, and the sizes that
allocations may have. The result is the jobs that have a place now, as requests of an allocation,
and the allocations to open. Source: `core/packing/arriving.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import Cost, plural, visible
from rowtui.core.clusters.config.node_types import node_types_for
from rowtui.core.clusters.schedulers.base import token_in_queue
from rowtui.core.network.definition.spec import IDLE_SECONDS
from rowtui.core.packing.arriving import OpenNode, not_needed, schedule
from rowtui.core.packing.model import Demand, InstanceType, PackingProblem, ResourceAmounts
from rowtui.core.packing.unplaced import find_unplaced
from rowtui.core.project.context.cluster_context import cluster_named
from rowtui.core.project.context.pilots import PilotView, into_pilot, start_pilots
from rowtui.core.project.planning.pack_terms import UNKNOWN_MEMORY, node_type_of
from rowtui.core.project.planning.packing import NO_NODE_TYPES, refuse_small_hints
from rowtui.core.project.planning.plan_submission import plan_submission
from rowtui.core.submission.bundles.bundles import START_SECONDS
from rowtui.core.submission.bundles.pilot import WantedPilot
from rowtui.core.submission.bundles.pilot_model import (
    Allocation,
    is_in_pilot,
    is_pilot,
)
from rowtui.core.submission.bundles.pilot_script import END_SECONDS, REPORT_SECONDS, refuse_pilots
from rowtui.core.submission.plan.charges import held_cost
from rowtui.core.submission.plan.dependencies import cannot_share
from rowtui.core.submission.plan.model import (
    JobStep,
    PackedJobs,
    Plan,
    PlannedDestination,
    PlannedJob,
)
from rowtui.core.submission.scripts.parts import options_for

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.workflow.model import Action

AHEAD = 2  # multiple of an allocation that may be handed to it, at least
PLANNED = 4096  # ready requests for which allocations are opened at a time


@dataclass
class Load:
    """What was handed to an open allocation and has not ended."""

    pilot: PlannedJob
    cpus: int = 0
    gpus: int = 0
    memory_mb: int = 0

    def is_full(self, ahead: int) -> bool:
        """Whether so many times the CPUs of the allocation are handed out."""
        return self.cpus >= ahead * self.pilot.cpus

    def free(self, times: int = 1) -> ResourceAmounts:
        """Return what is left of so many times the allocation."""
        pilot = self.pilot
        memory = UNKNOWN_MEMORY if pilot.memory_mb is None else pilot.memory_mb
        return ResourceAmounts(
            times * pilot.cpus - self.cpus,
            times * memory - self.memory_mb,
            times * pilot.gpus - self.gpus,
        )

    def take(self, job: PlannedJob) -> None:
        """Count a job that is handed out."""
        self.cpus += max(1, job.cpus)
        self.gpus += job.gpus
        self.memory_mb += job.memory_mb or 0

    def node(self, seconds_left: int, times: int = 1) -> OpenNode:
        """Return what is left for the loop."""
        return OpenNode(self.pilot.node_type, self.free(times), seconds_left)


class Opening(NamedTuple):
    """An allocation to open for these jobs, which fit beside each other. `kind`: its node type."""

    jobs: tuple[PlannedJob, ...]
    kind: InstanceType
    seconds: int


class PoolSizes(NamedTuple):
    """The sizes of a run's allocations. `only`: the one size; None: the clusters' node types.

    `most`: at a time; of each destination for one size, of the whole run otherwise.
    """

    most: int
    only: Allocation | None = None

    def most_jobs(self, views: Sequence[PilotView], ours: int, ahead: int) -> int:
        """Return how many ready requests are planned in a round; others could not begin at once."""
        if self.only is not None:
            return ahead * self.only.cpus * (self.most + len(views)) + 1
        return ahead * sum(it.job.cpus for it in views) + (PLANNED if ours < self.most else 1)

    def demand(self, job: PlannedJob) -> Demand:
        """Return what a job asks of an allocation. One size is no node type to be named."""
        amounts = ResourceAmounts(max(1, job.cpus), job.memory_mb or 0, job.gpus)
        return Demand(amounts, job.walltime_seconds, "" if self.only else job.node_type)

    def kinds(self, project: OpenProject, there: PlannedDestination) -> tuple[InstanceType, ...]:
        """Return the node types of a destination, with the time that a request may take.

        Raises: RowtuiError if there are none.
        """
        cluster = cluster_named(project, there.cluster)
        if cluster is None:
            raise RowtuiError(f"there is no cluster '{visible(there.cluster)}'")
        refuse_pilots(cluster)
        if (only := self.only) is not None:
            memory = UNKNOWN_MEMORY if only.memory_mb is None else only.memory_mb
            amounts = ResourceAmounts(only.cpus, memory, only.gpus)
            longest = only.seconds - END_SECONDS - REPORT_SECONDS
            return (InstanceType("", amounts, 1.0, longest_seconds=longest),)
        described = node_types_for(cluster, there.partition, project.environment)
        if not described:
            raise RowtuiError(NO_NODE_TYPES.format(visible(str(there)), visible(there.cluster)))
        limits = (it for it in cluster.partitions if it.name == there.partition)
        partition = next((it.maximum_walltime_seconds for it in limits), None)
        kinds = (node_type_of(kind, None, partition) for kind in described)
        return tuple(
            it
            if it.longest_seconds is None
            else it._replace(longest_seconds=max(0, it.longest_seconds - END_SECONDS))
            for it in kinds
        )


@dataclass
class PoolPacking:
    """Place the jobs of one plan: see `Setting.pack`. `views`, `loads`: the open allocations.

    `ours`: tokens of the run's jobs. `may_open`: whether the queue takes further jobs of the run.
    `ahead`: how many times the allocations may be handed out once no more may be opened.

    Afterwards `openings` has what is to be opened, `kept_back` the jobs that wait for it or for
    room, `alone` sentences on why jobs are submitted alone, by the reason.
    """

    project: OpenProject
    sizes: PoolSizes
    views: Sequence[PilotView] = ()
    loads: Mapping[str, Load] = field(default_factory=dict)
    ours: AbstractSet[str] = frozenset()
    may_open: bool = True
    ahead: int = AHEAD
    openings: list[Opening] = field(default_factory=list)
    kept_back: list[PlannedJob] = field(default_factory=list)
    alone: dict[str, str] = field(default_factory=dict)
    _alone: list[PlannedJob] = field(default_factory=list)
    _why_alone: Counter[str] = field(default_factory=Counter)
    _handed: dict[str, list[PlannedJob]] = field(default_factory=dict)  # by token of an allocation
    _after: dict[str, Load] = field(default_factory=dict)

    def __call__(self, jobs: tuple[PlannedJob, ...]) -> PackedJobs:
        """Return the jobs that have a place now, as requests, and those that are sent alone.

        Raises: PlanError for a job that does not fit on the node type on which it must run.
        """
        self._after = {token: replace(load) for token, load in self.loads.items()}
        self.openings, self.kept_back, self._alone, self._handed = [], [], [], {}
        self._why_alone.clear()
        there: dict[PlannedDestination, list[PlannedJob]] = {}
        for job in jobs:
            there.setdefault(job.destination, []).append(job)
        for destination, those in there.items():
            try:
                kinds = self.sizes.kinds(self.project, destination)
            except RowtuiError as error:
                for job in those:
                    self._send_alone(job, error.message)
            else:
                self._place(destination, kinds, those)
        takers = {it.token: into_pilot(self.project, it) for it in self.views}
        handed = self._handed.items()
        made = [it for token, those in handed for it in takers[token](tuple(those)).jobs]
        self.alone = {
            why: f"pool: {plural(count, 'job goes', 'jobs go')} alone: {why}"
            for why, count in self._why_alone.items()
        }
        sent_alone = self._alone if self.may_open else ()
        return PackedJobs((*made, *sent_alone), warnings=tuple(self.alone.values()))

    def _send_alone(self, job: PlannedJob, why: str) -> None:
        self._why_alone[why] += 1
        self._alone.append(job)

    def _place(
        self, there: PlannedDestination, kinds: Sequence[InstanceType], jobs: Sequence[PlannedJob]
    ) -> None:
        if self.sizes.only is None:
            refuse_small_hints(self.project, kinds, jobs)
        sharing = []
        for job in jobs:
            if why := cannot_share(job):
                self._send_alone(job, why)
            else:
                sharing.append(job)
        views = [it for it in self.views if it.token in self._after and it.job.destination == there]
        nodes = [self._after[it.token].node(it.seconds_left) for it in views]
        demands = [self.sizes.demand(job) for job in sharing]
        placed = schedule(nodes, demands, kinds, self._further(views))
        begins: list[list[PlannedJob]] = [[] for _ in placed.opened]
        for number, at in placed.places.items():
            if at < len(views):
                self._hand(sharing[number], views[at])
            else:
                begins[at - len(views)].append(sharing[number])
        for number in placed.nowhere:
            problem = PackingProblem(tuple(kinds), (demands[number],), (1,))
            self._send_alone(sharing[number], str(find_unplaced(problem)[0]))
        waiting = [sharing[number] for number in placed.waiting]
        if not placed.opened:
            waiting = [job for job in waiting if not self._hand_ahead(job, views)]
        self.kept_back += [*(job for those in begins for job in those), *waiting]
        self._open([kinds[at] for at in placed.opened], begins, waiting)

    def _further(self, views: Sequence[PilotView]) -> int:
        """Return how many allocations may be opened."""
        if not self.may_open:
            return 0
        one_size = self.sizes.only is not None
        counted = {it.token for it in views} if one_size else self.loads.keys()
        return max(0, self.sizes.most - len(counted & self.ours) - len(self.openings))

    def _hand(self, job: PlannedJob, view: PilotView) -> None:
        self._after[view.token].take(job)
        self._handed.setdefault(view.token, []).append(job)

    def _hand_ahead(self, job: PlannedJob, views: Sequence[PilotView]) -> bool:
        """Hand a job to an allocation that has no room yet; return whether one takes it."""
        demand = self.sizes.demand(job)
        suiting = [
            it
            for it in views
            if self._after[it.token].node(it.seconds_left, self.ahead).suits(demand)
            and demand.amounts.fits(Load(it.job).free())
        ]
        if suiting:
            self._hand(job, min(suiting, key=lambda it: self._after[it.token].cpus / it.job.cpus))
        return bool(suiting)

    def _open(
        self,
        kinds: Sequence[InstanceType],
        begins: Sequence[Sequence[PlannedJob]],
        waiting: Sequence[PlannedJob],
    ) -> None:
        """Record the allocations to open, each long enough for its share of all that waits.

        A quarter more than the longest job lets jobs of that length follow for a while.
        """
        every = [*(job for those in begins for job in those), *waiting]
        work = sum(max(1, job.cpus) * job.walltime_seconds for job in every)
        share = -(-work // (sum(kind.amounts.cpus for kind in kinds) or 1))
        for kind, those in zip(kinds, begins, strict=True):
            seconds = max(share, *(job.walltime_seconds * 5 // 4 for job in those))
            if kind.longest_seconds is not None:
                seconds = min(seconds, kind.longest_seconds)
            # Its jobs come some seconds after its begin; the limits of node types leave this time.
            seconds += START_SECONDS + END_SECONDS
            if self.sizes.only is not None:
                seconds = self.sizes.only.seconds
            self.openings.append(Opening(tuple(those), kind, seconds))


def opening_plan(project: OpenProject, sizes: PoolSizes, openings: Sequence[Opening]) -> Plan:
    """Return the plan that opens allocations. Raises: RowtuiError where pilots cannot run."""
    idle = IDLE_SECONDS if sizes.only is None else sizes.only.idle_seconds
    wanted = []
    for (job, *_), kind, seconds in openings:
        action = next(it for it in project.workflow.actions if it.index == job.action_index)
        there = job.destination
        memory = None if kind.amounts.memory_mb >= UNKNOWN_MEMORY else kind.amounts.memory_mb
        size = Allocation(kind.amounts.cpus, memory, kind.amounts.gpus, seconds, idle)
        options = options_for(action, there.cluster)
        wanted.append(WantedPilot(size, there.cluster, there.partition, options, kind.name))
    return start_pilots(project, wanted)


def pool_cost(project: OpenProject, actions: Sequence[Action]) -> Cost:
    """Return the cost of the allocations that eligible jobs begin in, where all begin at once.

    Raises: RowtuiError where no job can be planned.
    """
    pool = PoolPacking(project, PoolSizes(PLANNED))
    plan_submission(project, actions, limit=PLANNED, packing=pool)
    held = ((it.kind.amounts, it.seconds) for it in pool.openings)
    return Cost.total(held_cost(node.cpus, node.gpus, seconds) for node, seconds in held)


def by_records(project: OpenProject) -> dict[str, Load]:
    """Return the load of each open allocation, by the project's records. Waits for the disk."""
    records = project.jobs.records()
    planned = {it.token: it.planned for it in records if it.planned is not None}
    found = {
        it.token: Load(planned[it.token])
        for it in records
        if is_pilot(it.token) and it.step is JobStep.ACCEPTED and it.token in planned
    }
    tokens = {
        it.token for jobs in project.state.submitted.values() for it in jobs.values() if it.token
    }
    for token in filter(is_in_pilot, tokens & planned.keys()):
        if token_in_queue(token) in found:
            found[token_in_queue(token)].take(planned[token])
    return found


def empty_without_use(
    views: Iterable[PilotView],
    loads: Mapping[str, Load],
    ours: AbstractSet[str],
    waiting: Iterable[Demand],
) -> list[str]:
    """Return the tokens of the run's empty allocations that no waiting request can use."""
    empty = [it for it in views if it.token in ours and it.token in loads]
    empty = [it for it in empty if not loads[it.token].cpus]
    nodes = [loads[it.token].node(it.seconds_left) for it in empty]
    return [empty[at].token for at in not_needed(nodes, waiting)]
