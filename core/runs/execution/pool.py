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
import math
import time
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.text import plural
from rowtui.core.network.definition.network_keys import PILOT_HINT
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.project.context.pilots import OpenPilots, open_pilots
from rowtui.core.project.planning.pool_packing import (
    AHEAD,
    Load,
    Opening,
    PoolPacking,
    PoolSizes,
    by_records,
    empty_without_use,
    opening_plan,
)
from rowtui.core.project.queue.verbs import cancel_jobs
from rowtui.core.runs.execution.execution import (
    PILOT,
    Execution,
    ExecutionError,
    PoolNeeds,
    RoundWork,
    in_turn,
)
from rowtui.core.runs.execution.rounds import Round
from rowtui.core.runs.limits.limits import MOST_ALLOCATIONS, RunLimits
from rowtui.core.submission.bundles.pilot_model import Allocation, is_pilot

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.project.planning.plan_submission import Pack
    from rowtui.core.submission.plan.model import Plan, PlannedJob
    from rowtui.core.submission.sending.release_held import SendingProgress

AHEAD_SECONDS = 5.0  # for so long short requests should suffice; looks take time
MOST_AHEAD = 64
# Consecutive allocations that may end although no job was completed in between.
FRUITLESS = 3
EMPTY_SECONDS = 5.0  # the next requests may follow from those that just ended
ASK_SECONDS = 15.0  # between two polls of the pilots
LATE_SECONDS = 60.0  # allocations that have not begun by then are reported


class _Seen(NamedTuple):
    """The open allocations at the last poll of their schedulers. `pilots`: by the records."""

    at: float
    pilots: frozenset[str]
    found: OpenPilots


class NodePool:
    """The allocations of one run."""

    def __init__(self, project: OpenProject, sizes: PoolSizes) -> None:
        self.project = project
        self.sizes = sizes
        self._done = -1  # completed jobs when the last allocations were opened
        self._fruitless = 0
        self.stuck = ""  # why no more are opened
        self.late_at: float | None = None  # when to report that none has begun; infinite: reported
        self._ended: deque[tuple[float, int]] = deque()  # when so many had completed
        self._blocked: tuple[str, ...] = ()
        self._alone: dict[str, str] = {}  # the first sentence for each reason
        self._kept_back: list[PlannedJob] = []
        self._empty_since: dict[str, float] = {}
        self._seen: _Seen | None = None

    async def place(self, needs: PoolNeeds) -> Round:
        """Return the requests that have a place now, or the allocations to open.

        Raises: RowtuiError.
        """
        loads = await in_turn(needs.turn, partial(by_records, self.project))
        ahead = self._ahead(needs.completed, loads)
        views, gone = await self._open_now(loads)
        loads = {token: load for token, load in loads.items() if token not in gone}
        ours = needs.ours & loads.keys()
        if len(ours) >= self.sizes.most and all(it.is_full(ahead) for it in loads.values()):
            return Round(None, self._blocked, waits=True)
        sizes, may_open = self.sizes, needs.may_open
        packing = PoolPacking(self.project, sizes, views, loads, needs.ours, may_open, ahead)
        found = await needs.plan(sizes.most_jobs(views, len(ours), ahead), packing)
        alone = (self._alone.setdefault(*each) for each in packing.alone.items())
        self._blocked = (*found.blocked, *alone)
        waits = bool(packing.kept_back)
        found = found._replace(blocked=self._blocked)
        if found.plan is None and packing.openings:
            return await self._opened(packing.openings, needs, found)
        self._kept_back += packing.kept_back
        return found._replace(again=bool(found.plan and packing.openings), waits=waits)

    def _ahead(self, completed: int, loads: Mapping[str, Load]) -> int:
        """Return the multiple of the allocations that may be handed to them, by what ended."""
        now = time.monotonic()
        self._ended.append((now, completed))
        while len(self._ended) > 2 and now - self._ended[0][0] > 2 * AHEAD_SECONDS:
            self._ended.popleft()
        (since, before), cpus = self._ended[0], sum(it.pilot.cpus for it in loads.values())
        rate = (completed - before) / max(1.0, now - since)
        return min(MOST_AHEAD, max(AHEAD, 1 + math.ceil(AHEAD_SECONDS * rate / max(1, cpus))))

    def forget(self) -> None:
        """Poll the allocations again before the next use, as after one refused a request."""
        self._seen = None

    def late(self) -> tuple[str, ...]:
        """Return, once, that no allocation has begun for a while, and why."""
        if self._seen is None or self.late_at is None or time.monotonic() < self.late_at:
            return ()
        self.late_at = math.inf
        why = ", ".join({it.reason or "no reason is known": None for it in self._seen.found.views})
        return (f"none of the pool's allocations has begun: {why}",)

    async def release(
        self, ours: AbstractSet[str], turn: asyncio.Lock, *, more: bool = True
    ) -> bool:
        """Release the run's allocations that are empty, and that none of the requests can use which
        were kept back since the last call; return whether others are empty.

        `more`: other requests may follow, so that an allocation stays for some seconds. Call it
        when what was placed is submitted.
        """
        after = EMPTY_SECONDS if more else 0.0
        waiting, self._kept_back = self._kept_back, []
        if not any(map(is_pilot, ours)):
            return False
        loads = await in_turn(turn, partial(by_records, self.project))
        asked = map(self.sizes.demand, waiting)
        views = (await self._open_now(loads)).views
        now, since = time.monotonic(), self._empty_since
        empty = empty_without_use(views, loads, ours, asked)
        self._empty_since = {token: since.get(token, now) for token in empty}
        over = [token for token, at in self._empty_since.items() if now - at >= after]
        if over:
            await cancel_jobs(self.project, over, for_run=True)
        return len(over) < len(empty)

    async def _open_now(self, loads: Mapping[str, Load]) -> OpenPilots:
        """Return the open allocations; poll their schedulers again after a while, or if they
        changed.
        """
        now, seen = time.monotonic(), self._seen
        if seen is None or seen.pilots != loads.keys() or now - seen.at > ASK_SECONDS:
            found = await open_pilots(self.project)
            self._seen = seen = _Seen(now, frozenset(loads), found)
            if not found.views or any(it.begun for it in found.views):
                self.late_at = None
            elif self.late_at is None:
                self.late_at = now + LATE_SECONDS
        since = int(now - seen.at)
        views = (it._replace(seconds_left=it.seconds_left - since) for it in seen.found.views)
        return seen.found._replace(views=tuple(views))

    async def _opened(self, openings: Sequence[Opening], needs: PoolNeeds, found: Round) -> Round:
        if needs.completed != self._done:
            self._fruitless, self._done = 0, needs.completed
        if self._fruitless >= self.sizes.most + FRUITLESS:
            many = plural(self._fruitless, "allocation")
            self.stuck = f"{many} in a row were refused, or ended without a completed job"
            return found._replace(blocked=(*found.blocked, self.stuck))
        self._fruitless += 1
        plan = await in_turn(needs.turn, partial(opening_plan, self.project, self.sizes, openings))
        return Round(plan, found.blocked, again=True)


def pool_sizes(limits: RunLimits) -> PoolSizes:
    """Return the sizes of a run's allocations, from the node types of the clusters."""
    return PoolSizes(limits.allocations or MOST_ALLOCATIONS)


def pool_of(project: OpenProject, sizes: PoolSizes, before: NodePool | None) -> NodePool:
    """Return the pool of a run with these sizes; `before`: the one that it has."""
    pool = before or NodePool(project, sizes)
    pool.sizes = sizes
    return pool


class _Pooled(Execution):
    """An execution plug-in with a pool."""

    def __init__(self) -> None:
        self._pool: NodePool | None = None

    def sizes(self, work: RoundWork) -> PoolSizes:
        """Return the sizes of the allocations. Raises: ExecutionError."""
        return pool_sizes(work.running.run.limits)

    async def plan(self, work: RoundWork) -> Round:
        """See `ExecutionPlugin`. Raises: RowtuiError."""
        pool = self._pool = pool_of(work.project, self.sizes(work), self._pool)

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
        found = await pool.place(PoolNeeds(work.turn, tokens, completed, may_open, planned))
        if found.plan is None and await pool.release(tokens, work.turn):
            return found._replace(waits=True)
        return found

    async def carry_out(self, work: RoundWork, plan: Plan) -> AsyncGenerator[SendingProgress, None]:
        """See `ExecutionPlugin`. After a refusal the allocations are polled again."""
        async with aclosing(super().carry_out(work, plan)) as steps:
            async for step in steps:
                if step.error and self._pool is not None:
                    self._pool.forget()
                yield step

    async def over(self, work: RoundWork) -> None:
        """See `ExecutionPlugin`."""
        pool = self._pool or NodePool(work.project, pool_sizes(work.running.run.limits))
        await pool.release(work.running.tokens, work.turn, more=False)


class PooledJobs(_Pooled):
    """The execution plug-in for a pool of the clusters' node types."""

    name = "pool"
    summary = "allocations are opened for ready jobs, filled densely, and released when empty"


class Pilots(_Pooled):
    """The execution plug-in for allocations of the one size that network.toml describes."""

    name = "pilot"
    summary = "pilots hold an allocation, and run ready jobs until the allocation ends"

    def sizes(self, work: RoundWork) -> PoolSizes:
        """See `_Pooled`."""
        pilot = work.schedule.pilot
        if pilot is None:
            raise ExecutionError("the pilot has no size", PILOT_HINT)
        size = Allocation(
            pilot.cpus, pilot.memory_mb, pilot.gpus, pilot.walltime_seconds, pilot.idle_seconds
        )
        return PoolSizes(pilot.number, size)
