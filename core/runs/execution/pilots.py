"""Pilots: scheduler jobs that hold an allocation, and receive a run's ready jobs while they run.

Jobs are handed to a pilot as long as they ask for less than twice its allocation in total. The
pilot then has work when a job ends, and other pilots get a share. Where no pilot has room a new one
is started, up to the number that network.toml allows for each destination. A job that no pilot
could ever take is submitted alone. Source: Fastr's documentation, ExecutionPlugin (pilot jobs).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.schedulers.base import token_in_queue
from rowtui.core.network.definition.network_keys import PILOT_HINT
from rowtui.core.network.definition.spec import Pilot
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.project.context.cluster_context import cluster_named
from rowtui.core.project.context.pilots import PilotView, into_pilot, open_pilots, start_pilot
from rowtui.core.project.queue.verbs import cancel_jobs
from rowtui.core.runs.execution.execution import PILOT, Execution, ExecutionError, RoundWork
from rowtui.core.runs.execution.rounds import Round
from rowtui.core.submission.bundles.pilot import IntoPilot
from rowtui.core.submission.bundles.pilot_model import Allocation, is_in_pilot, is_pilot
from rowtui.core.submission.plan.model import (
    JobStep,
    PackedJobs,
    Plan,
    PlannedDestination,
    PlannedJob,
)
from rowtui.core.submission.scripts.parts import options_for

if TYPE_CHECKING:
    from rowtui.core.submission.sending.release_held import SendingProgress

AHEAD = 2  # multiple of its allocation that may be handed to a pilot
# Consecutive pilots that may end although no job was completed in between.
FRUITLESS = 3
ASK_SECONDS = 15.0  # between two polls of the pilots


class _Seen(NamedTuple):
    """The open pilots at the last poll of their schedulers.

    `pilots`: their tokens by the records.
    """

    at: float
    pilots: frozenset[str]
    views: tuple[PilotView, ...]


class _NewPilot(NamedTuple):
    """A pilot that is to be started, for a job like this one."""

    job: PlannedJob


@dataclass
class _Load:
    """The load of a pilot: jobs handed to it that have not ended."""

    pilot: PlannedJob
    cpus: int = 0
    gpus: int = 0
    memory_mb: int = 0

    @property
    def is_full(self) -> bool:
        return self.cpus >= AHEAD * self.pilot.cpus

    def has_room(self, job: PlannedJob) -> bool:
        pilot = self.pilot
        if not self.cpus:
            return True
        return (
            self.cpus + job.cpus <= AHEAD * pilot.cpus
            and self.gpus + job.gpus <= AHEAD * pilot.gpus
            and (
                pilot.memory_mb is None
                or self.memory_mb + (job.memory_mb or 0) <= AHEAD * pilot.memory_mb
            )
        )

    def take(self, job: PlannedJob) -> None:
        self.cpus += max(1, job.cpus)
        self.gpus += job.gpus
        self.memory_mb += job.memory_mb or 0


@dataclass
class _Handing:
    """Hand the jobs of one plan to pilots: `Setting.pack`."""

    work: RoundWork
    pilot: Pilot
    views: Sequence[PilotView]
    loads: Mapping[str, _Load]
    wishes: dict[PlannedDestination, _NewPilot] = field(default_factory=dict)
    kept_back: int = 0
    alone: tuple[str, ...] = ()  # why jobs are submitted alone
    _fresh: dict[PlannedDestination, IntoPilot | str] = field(default_factory=dict)

    def __call__(self, jobs: tuple[PlannedJob, ...]) -> PackedJobs:
        handed: dict[str, list[PlannedJob]] = {}
        alone: list[PlannedJob] = []
        why_alone: Counter[str] = Counter()
        takers = {it.token: into_pilot(self.work.project, it) for it in self.views}
        usable: dict[PlannedDestination, set[str]] = {}
        for job in jobs:
            if why := self._never(job):
                if not self.work.queue_is_full:
                    alone.append(job)
                    why_alone[why] += 1
                continue
            fitting = [
                it
                for it in self.views
                if it.token in self.loads
                and it.job.destination == job.destination
                and not takers[it.token].refusal(job)
            ]
            mine = usable.setdefault(job.destination, set())
            mine.update(it.token for it in fitting if it.token in self.work.running.tokens)
            free = [it for it in fitting if self.loads[it.token].has_room(job)]
            if free:
                best = min(free, key=lambda it: self.loads[it.token].cpus / it.job.cpus)
                self.loads[best.token].take(job)
                handed.setdefault(best.token, []).append(job)
            else:
                self.kept_back += 1
                if len(mine) < self.pilot.number:
                    self.wishes.setdefault(job.destination, _NewPilot(job))
        made = [job for token, those in handed.items() for job in takers[token](tuple(those)).jobs]
        self.alone = tuple(
            f"pilot: {plural(count, 'job goes', 'jobs go')} alone: {why}"
            for why, count in why_alone.items()
        )
        return PackedJobs((*made, *alone), warnings=self.alone)

    def _never(self, job: PlannedJob) -> str:
        """Return why not even a new pilot could take a job, "" if it could."""
        there = job.destination
        if there not in self._fresh:
            try:
                plan = new_pilot(self.work, self.pilot, job)
            except RowtuiError as error:
                self._fresh[there] = error.message
            else:
                self._fresh[there] = IntoPilot(plan.jobs[0], range)
        fresh = self._fresh[there]
        return fresh if isinstance(fresh, str) else fresh.refusal(job)


def new_pilot(work: RoundWork, pilot: Pilot, job: PlannedJob) -> Plan:
    """Return the plan of a pilot that could take a job.

    Raises: RowtuiError if the destination has no pilots.
    """
    project, there = work.project, job.destination
    action = next(it for it in project.workflow.actions if it.index == job.action_index)
    allocation = Allocation(
        pilot.cpus, pilot.memory_mb, pilot.gpus, pilot.walltime_seconds, pilot.idle_seconds
    )
    if cluster_named(project, there.cluster) is None:
        raise RowtuiError(f"there is no cluster '{visible(there.cluster)}'")
    return start_pilot(
        project,
        allocation,
        cluster=there.cluster,
        partition=there.partition,
        options=options_for(action, there.cluster),
    )


class Pilots(Execution):
    """The execution plug-in for pilots (see the module docstring)."""

    name = "pilot"
    summary = "pilots hold an allocation, and run ready jobs until the allocation ends"

    def __init__(self) -> None:
        self._done = -1  # completed jobs when the last pilot was started
        self._fruitless = 0
        self._blocked: tuple[str, ...] = ()
        self._seen: _Seen | None = None

    async def plan(self, work: RoundWork) -> Round:
        """See `ExecutionPlugin`.

        Raises: RowtuiError, also if no setting defines a pilot's allocation.
        """
        pilot = work.schedule.pilot
        if pilot is None:
            raise ExecutionError("the pilot has no size", PILOT_HINT)
        loads = await work.in_turn(partial(_loads, work))
        ours = work.running.tokens & loads.keys()
        if len(ours) >= pilot.number and all(it.is_full for it in loads.values()):
            return Round(None, self._blocked, waits=True)
        found = await self._planned(work, pilot, loads)
        self._blocked = found.blocked
        return found

    async def carry_out(self, work: RoundWork, plan: Plan) -> AsyncGenerator[SendingProgress, None]:
        """See `ExecutionPlugin`. After a refusal the pilots are polled again."""
        async with aclosing(super().carry_out(work, plan)) as steps:
            async for step in steps:
                if step.error:
                    self._seen = None
                yield step

    async def _planned(self, work: RoundWork, pilot: Pilot, loads: Mapping[str, _Load]) -> Round:
        parts = await work.in_turn(work.parts)
        if not len(parts):
            return Round(None, parts.blocked)
        views = await self._views(work, loads)
        handing = _Handing(work, pilot, views, loads)
        # Jobs that no pilot could start at once are not planned in this round.
        most = AHEAD * pilot.cpus * (pilot.number + len(views)) + 1
        numbers = range(min(len(parts), most))
        found = await work.in_turn(lambda: work.plan(parts, numbers, handing))
        wishes = handing.wishes
        found = found._replace(blocked=(*found.blocked, *handing.alone))
        if found.plan is not None:
            return found._replace(again=bool(wishes), waits=bool(handing.kept_back))
        if not wishes:
            return found._replace(waits=bool(handing.kept_back))
        return await self._start(work, pilot, next(iter(wishes.values())), found)

    async def _views(self, work: RoundWork, loads: Mapping[str, _Load]) -> tuple[PilotView, ...]:
        """Return the open pilots; poll their schedulers again after a while, or if pilots
        changed.
        """
        now, seen = time.monotonic(), self._seen
        if seen is None or seen.pilots != loads.keys() or now - seen.at > ASK_SECONDS:
            views = await open_pilots(work.project)
            self._seen = seen = _Seen(now, frozenset(loads), views)
        since = int(now - seen.at)
        return tuple(it._replace(seconds_left=it.seconds_left - since) for it in seen.views)

    async def _start(self, work: RoundWork, pilot: Pilot, wish: _NewPilot, found: Round) -> Round:
        if PILOT in work.resting or work.queue_is_full:
            return found
        counts = work.running.graph.counts()
        done = sum(each[GraphJobState.COMPLETED] for each in counts)
        self._fruitless = self._fruitless + 1 if done == self._done else 0
        self._done = done
        if self._fruitless >= pilot.number + FRUITLESS:
            why = f"{plural(self._fruitless, 'pilot')} ended, and no job in them completed"
            return found._replace(blocked=(*found.blocked, why))
        plan = await work.in_turn(lambda: new_pilot(work, pilot, wish.job))
        return Round(plan, found.blocked, again=True)

    async def over(self, work: RoundWork) -> None:
        """See `ExecutionPlugin`: ends idle pilots of this run."""
        if not any(map(is_pilot, work.running.tokens)):
            return
        loads = await work.in_turn(partial(_loads, work))
        views = await open_pilots(work.project)
        idle = [
            it.token
            for it in views
            if it.token in work.running.tokens and not (it.running or it.waiting)
        ]
        wanted = [token for token in idle if token in loads and not loads[token].cpus]
        if wanted:
            await cancel_jobs(work.project, wanted, for_run=True)


def _loads(work: RoundWork) -> dict[str, _Load]:
    """Return the load of each open pilot, by the project's records."""
    project = work.project
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
