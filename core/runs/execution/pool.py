"""The pool: allocations that a run opens, fills with its ready requests, and releases.

An allocation is a pilot: a scheduler job that runs the requests that are sent to it while it runs.
Ready requests are placed by the loop of `core/packing/arriving.py`: on the open allocation with the
least room that has enough; where none has, one on the cheapest node type that holds the request is
opened. Once as many are open as the run may have, they get requests ahead of time, so that they
have work when a request ends. An empty allocation that no waiting request can use is released. A
job that no allocation could ever take is submitted alone.

`execution = "pilot"` is the same with one node type, which network.toml describes. Source:
CAVATICA's documentation, "Multi-instance scheduling algorithm"; Fastr's documentation,
ExecutionPlugin (pilot jobs).
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.config.node_types import node_types_for
from rowtui.core.clusters.schedulers.base import token_in_queue
from rowtui.core.network.definition.network_keys import PILOT_HINT
from rowtui.core.network.definition.spec import IDLE_SECONDS, Pilot
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.packing.arriving import OpenNode, not_needed, schedule
from rowtui.core.packing.model import Demand, InstanceType, PackingProblem, ResourceAmounts
from rowtui.core.packing.unplaced import find_unplaced
from rowtui.core.project.context.cluster_context import cluster_named
from rowtui.core.project.context.pilots import PilotView, into_pilot, open_pilots, start_pilots
from rowtui.core.project.planning.pack_terms import UNKNOWN_MEMORY, node_type_of
from rowtui.core.project.planning.packing import NO_NODE_TYPES, refuse_small_hints
from rowtui.core.project.queue.verbs import cancel_jobs
from rowtui.core.runs.execution.execution import (
    PILOT,
    Execution,
    ExecutionError,
    RoundWork,
    in_turn,
)
from rowtui.core.runs.execution.rounds import Round
from rowtui.core.submission.bundles.pilot import WantedPilot
from rowtui.core.submission.bundles.pilot_model import Allocation, is_in_pilot, is_pilot
from rowtui.core.submission.bundles.pilot_script import END_SECONDS, refuse_pilots
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
    from rowtui.core.project.planning.plan_submission import Pack
    from rowtui.core.submission.sending.release_held import SendingProgress

MOST_ALLOCATIONS = 8
"""Allocations that a pool may have at a time, if nothing else is confirmed."""
AHEAD = 2  # multiple of an allocation that may be handed to it
PLANNED = 4096  # ready requests for which allocations are opened at a time
# Consecutive allocations that may end although no job was completed in between.
FRUITLESS = 3
ASK_SECONDS = 15.0  # between two polls of the pilots


class Opening(NamedTuple):
    """An allocation to open, for `job` and others that fit beside it. `kind`: its node type."""

    job: PlannedJob
    kind: InstanceType
    seconds: int


class PoolNeeds(NamedTuple):
    """What a run asks of its pool in one round.

    `ours`: tokens of the run's jobs. `completed`: number of its jobs that ended well.
    `may_open`: whether the queue takes more jobs of the run. `plan` returns the plan of the first
    so many ready requests, packed. `turn`: see `Driver`.
    """

    turn: asyncio.Lock
    ours: AbstractSet[str]
    completed: int
    may_open: bool
    plan: Callable[[int, Pack], Awaitable[Round]]


@dataclass
class _Load:
    """What was handed to an open allocation and has not ended."""

    pilot: PlannedJob
    cpus: int = 0
    gpus: int = 0
    memory_mb: int = 0

    @property
    def is_full(self) -> bool:
        return self.cpus >= AHEAD * self.pilot.cpus

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
        asked = _amounts(job)
        self.cpus += asked.cpus
        self.gpus += asked.gpus
        self.memory_mb += asked.memory_mb


def _amounts(job: PlannedJob) -> ResourceAmounts:
    return ResourceAmounts(max(1, job.cpus), job.memory_mb or 0, job.gpus)


def _demand(job: PlannedJob) -> Demand:
    return Demand(_amounts(job), job.walltime_seconds, job.node_type)


class Sizes(NamedTuple):
    """The sizes of a run's allocations. `pilot`: the one size; None: the clusters' node types.

    `most`: at a time; of each destination for a pilot, of the whole run otherwise.
    """

    most: int = MOST_ALLOCATIONS
    pilot: Pilot | None = None

    @property
    def idle_seconds(self) -> int:
        """Return after which time without a request an allocation ends by itself."""
        return IDLE_SECONDS if self.pilot is None else self.pilot.idle_seconds

    def most_jobs(self, views: Sequence[PilotView], ours: int) -> int:
        """Return how many ready requests are planned in a round; others could not begin at once."""
        if self.pilot is not None:
            return AHEAD * self.pilot.cpus * (self.most + len(views)) + 1
        return AHEAD * sum(it.job.cpus for it in views) + (PLANNED if ours < self.most else 1)

    def kinds(self, project: OpenProject, there: PlannedDestination) -> tuple[InstanceType, ...]:
        """Return the node types of a destination. Raises: RowtuiError if there are none."""
        cluster = cluster_named(project, there.cluster)
        if cluster is None:
            raise RowtuiError(f"there is no cluster '{visible(there.cluster)}'")
        refuse_pilots(cluster)
        if (pilot := self.pilot) is not None:
            memory = UNKNOWN_MEMORY if pilot.memory_mb is None else pilot.memory_mb
            amounts = ResourceAmounts(pilot.cpus, memory, pilot.gpus)
            longest = pilot.walltime_seconds - END_SECONDS
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
class Handing:
    """Place the jobs of one plan: `Setting.pack`. `openings`: what has to be opened for others.

    `alone`: why jobs are submitted alone. `kept_back`: jobs that wait for room.
    """

    project: OpenProject
    sizes: Sizes
    views: Sequence[PilotView] = ()
    loads: dict[str, _Load] = field(default_factory=dict)
    ours: AbstractSet[str] = frozenset()
    may_open: bool = True
    openings: list[Opening] = field(default_factory=list)
    alone: tuple[str, ...] = ()
    kept_back: list[PlannedJob] = field(default_factory=list)

    def __call__(self, jobs: tuple[PlannedJob, ...]) -> PackedJobs:
        """Return the jobs that have a place now, as requests, and those that are sent alone.

        Raises: PlanError for a job that does not fit on the node type on which it must run.
        """
        there: dict[PlannedDestination, list[PlannedJob]] = {}
        for job in jobs:
            there.setdefault(job.destination, []).append(job)
        handed: dict[str, list[PlannedJob]] = {}
        alone: list[PlannedJob] = []
        why_alone: Counter[str] = Counter()
        self.openings, self.kept_back = [], []
        for destination, those in there.items():
            for job, token in self._place(destination, those, why_alone):
                if token:
                    handed.setdefault(token, []).append(job)
                elif self.may_open:
                    alone.append(job)
        takers = {it.token: into_pilot(self.project, it) for it in self.views}
        made = [job for token, those in handed.items() for job in takers[token](tuple(those)).jobs]
        self.alone = tuple(
            f"pool: {plural(count, 'job goes', 'jobs go')} alone: {why}"
            for why, count in why_alone.items()
        )
        return PackedJobs((*made, *alone), warnings=self.alone)

    def _place(
        self, there: PlannedDestination, jobs: list[PlannedJob], why_alone: Counter[str]
    ) -> Iterable[tuple[PlannedJob, str]]:
        """Yield the jobs with the tokens of their allocations, "" for those that go alone."""
        try:
            kinds = self.sizes.kinds(self.project, there)
        except RowtuiError as error:
            why_alone[error.message] += len(jobs)
            return [(job, "") for job in jobs]
        if self.sizes.pilot is None:
            refuse_small_hints(self.project, kinds, jobs)
        found: list[tuple[PlannedJob, str]] = []
        sharing = []
        for job in jobs:
            if why := cannot_share(job):
                why_alone[why] += 1
                found.append((job, ""))
            else:
                sharing.append(job)
        views = [it for it in self.views if it.token in self.loads and it.job.destination == there]
        nodes = [
            OpenNode(it.job.node_type, self.loads[it.token].free(), it.seconds_left) for it in views
        ]
        demands = [_demand(job) for job in sharing]
        if self.sizes.pilot is not None:  # its name in network.toml is no node type
            demands = [it._replace(hint="") for it in demands]
        placed = schedule(nodes, demands, kinds, self._further(views))
        firsts: dict[int, list[PlannedJob]] = {}
        for number, at in placed.places.items():
            job = sharing[number]
            if at < len(views):
                self.loads[views[at].token].take(job)
                found.append((job, views[at].token))
            else:
                firsts.setdefault(at - len(views), []).append(job)
                self.kept_back.append(job)
        for number in placed.nowhere:
            problem = PackingProblem(tuple(kinds), (demands[number],), (1,))
            why_alone[str(find_unplaced(problem)[0])] += 1
            found.append((sharing[number], ""))
        waiting = [sharing[number] for number in placed.waiting]
        if not placed.opened:
            waiting = [job for job in waiting if not self._ahead(job, views, found)]
        self.kept_back += waiting
        self._open(kinds, placed.opened, firsts, waiting, len(views))
        return found

    def _further(self, views: Sequence[PilotView]) -> int:
        """Return how many allocations may be opened."""
        if not self.may_open:
            return 0
        counted = {it.token for it in views} if self.sizes.pilot is not None else self.loads.keys()
        return max(0, self.sizes.most - len(counted & self.ours) - len(self.openings))

    def _ahead(
        self, job: PlannedJob, views: Sequence[PilotView], found: list[tuple[PlannedJob, str]]
    ) -> bool:
        """Hand a job to an allocation that has no room yet; return whether one takes it."""
        demand = _demand(job)
        if self.sizes.pilot is not None:
            demand = demand._replace(hint="")
        suiting = [
            it
            for it in views
            if OpenNode(it.job.node_type, self.loads[it.token].free(AHEAD), it.seconds_left).suits(
                demand
            )
            and demand.amounts.fits(_Load(it.job).free())
        ]
        if not suiting:
            return False
        best = min(suiting, key=lambda it: self.loads[it.token].cpus / it.job.cpus)
        self.loads[best.token].take(job)
        found.append((job, best.token))
        return True

    def _open(
        self,
        kinds: Sequence[InstanceType],
        opened: Sequence[int],
        firsts: dict[int, list[PlannedJob]],
        waiting: Sequence[PlannedJob],
        there: int,
    ) -> None:
        """Record the allocations to open, each long enough for its share of all that waits."""
        every = [job for those in firsts.values() for job in those]
        every += waiting
        work = sum(max(1, job.cpus) * job.walltime_seconds for job in every)
        cpus = sum(kinds[at].amounts.cpus for at in opened) or 1
        for number, at in enumerate(opened):
            kind = kinds[at]
            seconds = max(*(job.walltime_seconds for job in firsts[number]), -(-work // cpus))
            if (pilot := self.sizes.pilot) is not None:
                seconds = pilot.walltime_seconds - END_SECONDS
            elif kind.longest_seconds is not None:
                seconds = min(seconds, kind.longest_seconds)
            self.openings.append(Opening(firsts[number][0], kind, seconds + END_SECONDS))


class _Seen(NamedTuple):
    """The open allocations at the last poll of their schedulers. `pilots`: by the records."""

    at: float
    pilots: frozenset[str]
    views: tuple[PilotView, ...]


class Pool:
    """The allocations of one run."""

    def __init__(self, project: OpenProject, sizes: Sizes) -> None:
        self.project = project
        self.sizes = sizes
        self._done = -1  # completed jobs when the last allocations were opened
        self._fruitless = 0
        self._blocked: tuple[str, ...] = ()
        self._seen: _Seen | None = None

    async def place(self, needs: PoolNeeds) -> Round:
        """Return the requests that have a place now, or the allocations to open.

        Raises: RowtuiError.
        """
        loads = await in_turn(needs.turn, partial(_loads, self.project))
        ours = needs.ours & loads.keys()
        if len(ours) >= self.sizes.most and all(it.is_full for it in loads.values()):
            return Round(None, self._blocked, waits=True)
        views = await self._views(loads)
        sizes, may_open = self.sizes, needs.may_open
        handing = Handing(self.project, sizes, views, loads, needs.ours, may_open)
        found = await needs.plan(sizes.most_jobs(views, len(ours)), handing)
        self._blocked = (*found.blocked, *handing.alone)
        waits = bool(handing.kept_back)
        found = found._replace(blocked=self._blocked)
        if found.plan is None and handing.openings:
            return await self._opened(handing.openings, needs, found)
        await self._release(views, loads, ours, handing.kept_back)
        return found._replace(again=bool(found.plan and handing.openings), waits=waits)

    def forget(self) -> None:
        """Poll the allocations again before the next use, as after one refused a request."""
        self._seen = None

    async def release(self, ours: AbstractSet[str], turn: asyncio.Lock) -> None:
        """Release the empty allocations of a run that has nothing to place."""
        if any(map(is_pilot, ours)):
            loads = await in_turn(turn, partial(_loads, self.project))
            await self._release(await self._views(loads), loads, ours, ())

    async def _views(self, loads: dict[str, _Load]) -> tuple[PilotView, ...]:
        """Return the open allocations; poll their schedulers again after a while, or if they
        changed.
        """
        now, seen = time.monotonic(), self._seen
        if seen is None or seen.pilots != loads.keys() or now - seen.at > ASK_SECONDS:
            views = await open_pilots(self.project)
            self._seen = seen = _Seen(now, frozenset(loads), views)
        since = int(now - seen.at)
        return tuple(it._replace(seconds_left=it.seconds_left - since) for it in seen.views)

    async def _opened(self, openings: Sequence[Opening], needs: PoolNeeds, found: Round) -> Round:
        self._fruitless = self._fruitless + 1 if needs.completed == self._done else 0
        self._done = needs.completed
        if self._fruitless >= self.sizes.most + FRUITLESS:
            why = f"{plural(self._fruitless, 'allocation')} ended, and no job in them completed"
            return found._replace(blocked=(*found.blocked, why))
        plan = await in_turn(needs.turn, partial(opening_plan, self.project, self.sizes, openings))
        return Round(plan, found.blocked, again=True)

    async def _release(
        self,
        views: Sequence[PilotView],
        loads: dict[str, _Load],
        ours: AbstractSet[str],
        waiting: Sequence[PlannedJob],
    ) -> None:
        """Cancel the empty allocations of this run that none of the waiting requests can use."""
        empty = [
            it
            for it in views
            if it.token in ours and it.token in loads and not loads[it.token].cpus
        ]
        nodes = [
            OpenNode(it.job.node_type, loads[it.token].free(), it.seconds_left) for it in empty
        ]
        if done := [empty[at].token for at in not_needed(nodes, map(_demand, waiting))]:
            await cancel_jobs(self.project, done, for_run=True)


def opening_plan(project: OpenProject, sizes: Sizes, openings: Sequence[Opening]) -> Plan:
    """Return the plan that opens allocations. Raises: RowtuiError where pilots cannot run."""
    wanted = []
    for job, kind, seconds in openings:
        action = next(it for it in project.workflow.actions if it.index == job.action_index)
        there = job.destination
        memory = None if kind.amounts.memory_mb >= UNKNOWN_MEMORY else kind.amounts.memory_mb
        size = Allocation(kind.amounts.cpus, memory, kind.amounts.gpus, seconds, sizes.idle_seconds)
        options = options_for(action, there.cluster)
        wanted.append(WantedPilot(size, there.cluster, there.partition, options, kind.name))
    return start_pilots(project, wanted)


class _Pooled(Execution):
    """An execution plug-in with a pool."""

    def __init__(self) -> None:
        self._pool: Pool | None = None

    def sizes(self, work: RoundWork) -> Sizes:
        """Return the sizes of the allocations. Raises: ExecutionError."""
        return Sizes(work.running.run.limits.allocations or MOST_ALLOCATIONS)

    async def plan(self, work: RoundWork) -> Round:
        """See `ExecutionPlugin`. Raises: RowtuiError."""
        sizes = self.sizes(work)
        if self._pool is None:
            self._pool = Pool(work.project, sizes)
        self._pool.sizes = sizes

        async def planned(most: int, pack: Pack) -> Round:
            parts = await work.in_turn(work.parts)
            if not len(parts):
                return Round(None, parts.blocked)
            numbers = range(min(len(parts), most))
            return await work.in_turn(lambda: work.plan(parts, numbers, pack))

        counts = work.running.graph.counts()
        completed = sum(each[GraphJobState.COMPLETED] for each in counts)
        may_open = not (work.queue_is_full or PILOT in work.resting)
        tokens = work.running.tokens
        return await self._pool.place(PoolNeeds(work.turn, tokens, completed, may_open, planned))

    async def carry_out(self, work: RoundWork, plan: Plan) -> AsyncGenerator[SendingProgress, None]:
        """See `ExecutionPlugin`. After a refusal the allocations are polled again."""
        async with aclosing(super().carry_out(work, plan)) as steps:
            async for step in steps:
                if step.error and self._pool is not None:
                    self._pool.forget()
                yield step

    async def over(self, work: RoundWork) -> None:
        """See `ExecutionPlugin`."""
        pool = self._pool or Pool(work.project, Sizes())
        await pool.release(work.running.tokens, work.turn)


class PooledJobs(_Pooled):
    """The execution plug-in for a pool of the clusters' node types."""

    name = "pool"
    summary = "allocations are opened for ready jobs, filled densely, and released when empty"


class Pilots(_Pooled):
    """The execution plug-in for allocations of the one size that network.toml describes."""

    name = "pilot"
    summary = "pilots hold an allocation, and run ready jobs until the allocation ends"

    def sizes(self, work: RoundWork) -> Sizes:
        """See `_Pooled`."""
        pilot = work.schedule.pilot
        if pilot is None:
            raise ExecutionError("the pilot has no size", PILOT_HINT)
        return Sizes(pilot.number, pilot)


def _loads(project: OpenProject) -> dict[str, _Load]:
    """Return the load of each open allocation, by the project's records."""
    records = project.jobs.records()
    planned = {it.token: it.planned for it in records if it.planned is not None}
    found = {
        it.token: _Load(planned[it.token])
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
