"""The interface of execution plug-ins, which turn the jobs of a run's rounds into plans.

`Execution` is the base class of the built-in plug-ins, and third-party plug-ins may use it: plans
are carried out like any plan of the project. `RoundWork` is what a plug-in gets for one round; its
methods block on the disk, so `in_turn` runs them in a thread. A plug-in decides which jobs go
together and when. The records and the journal decide what runs and that it runs once, so a faulty
plug-in loses nothing. Source: Fastr's documentation, ExecutionPlugin (lists run one after another
on one host; pilot jobs).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from rowtui.core.base.errors import RowtuiError
from rowtui.core.runs.execution.parts import MOST, Parts
from rowtui.core.runs.execution.rounds import Round, plan_parts

if TYPE_CHECKING:
    from rowtui.core.network.definition.spec import Schedule
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.project.planning.plan_submission import Pack
    from rowtui.core.runs.running import OpenRun
    from rowtui.core.submission.plan.model import Plan
    from rowtui.core.submission.sending.release_held import SendingProgress


FIRST_SECONDS = 1.0
LONGEST_SECONDS = 60.0
TRIES = 5


class _Rest(NamedTuple):
    """The attempts of a job: failed ones in a row, and how many of these a cluster refused."""

    tries: int = 0
    refusals: int = 0
    until: float = 0.0


@dataclass
class Resting:
    """The jobs of one run that rest because they could not be submitted or were refused.

    Times are seconds of any monotonic clock. The pause doubles with each attempt; after `TRIES`
    refusals in a row, the user has to act. A cluster that does not answer refuses nothing: its jobs
    are tried until it answers.
    """

    first: float = FIRST_SECONDS
    _jobs: dict[int, _Rest] = field(default_factory=dict)

    def refused(self, jobs: Iterable[int], now: float, *, by_silence: bool = False) -> None:
        """Record that these jobs could not be submitted.

        `by_silence`: their cluster does not answer.
        """
        for job in jobs:
            before = self._jobs.get(job, _Rest())
            tries = min(before.tries + 1, TRIES)  # the pause stops growing there
            refusals = before.refusals if by_silence else before.refusals + 1
            pause = min(LONGEST_SECONDS, self.first * 2 ** (tries - 1))
            self._jobs[job] = _Rest(tries, refusals, now + pause)

    def sent(self, jobs: Iterable[int]) -> None:
        """Record that these jobs were accepted."""
        for job in jobs:
            self._jobs.pop(job, None)

    def at(self, now: float) -> frozenset[int]:
        """Return the jobs that rest now, including jobs that are never tried again."""
        return frozenset(
            job for job, rest in self._jobs.items() if rest.refusals >= TRIES or now < rest.until
        )

    @property
    def will_be_tried(self) -> bool:
        """Whether some of the jobs will be tried again."""
        return any(rest.refusals < TRIES for rest in self._jobs.values())


T = TypeVar("T")


async def in_turn(turn: asyncio.Lock, what: Callable[[], T]) -> T:
    """Call a function on the project's records in a thread, while holding `turn`."""
    async with turn:
        return await asyncio.to_thread(what)


PILOT = -1  # job number under which a refused pilot rests


class ExecutionError(RowtuiError):
    """The execution plug-in does not exist or is not usable."""


@dataclass
class RoundWork:
    """One round of a run. `resting`: jobs of the graph that must not be submitted for a while.

    `turn`: the lock held while the project's records are used. `queue_is_full`: the limits allow no
    more jobs in the queue; jobs for an open pilot may still be submitted.
    """

    running: OpenRun
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    resting: frozenset[int] = frozenset()
    queue_is_full: bool = False

    @property
    def project(self) -> OpenProject:
        """Return the project of the jobs."""
        return self.running.project

    @property
    def schedule(self) -> Schedule:
        """Return the scheduling settings of the run's network.toml."""
        return self.running.growth.flow.network.schedule

    async def in_turn(self, what: Callable[[], T]) -> T:
        """See `in_turn`."""
        return await in_turn(self.turn, what)

    def parts(self, most: int = MOST) -> Parts:
        """Return the ready jobs as groups. Blocks on the disk. Raises: RowtuiError."""
        return Parts(self.running, most, self.resting)

    def plan(
        self, parts: Parts, numbers: Sequence[int] | None = None, pack: Pack | None = None
    ) -> Round:
        """Return the plan of these parts in their order; None means all parts. Blocks on the disk.

        `pack`: how planned jobs are packed (None: by the project's packing). Raises: PlanError if
        none of their actions can be submitted; RowtuiError.
        """
        return plan_parts(self.running, parts, numbers, pack)


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


class ExecutionPlugin(Protocol):
    """How a run's jobs run. One plug-in object is made each time a run is driven."""

    name: str
    summary: str  # one sentence, for the user

    async def plan(self, work: RoundWork) -> Round:
        """Return what to submit next. May be called again at any time. Raises: RowtuiError."""
        ...

    def carry_out(self, work: RoundWork, plan: Plan) -> AsyncGenerator[SendingProgress, None]:
        """Submit a plan, or a part of one, that `plan` returned and the limits or the
        user allow.
        """
        ...

    async def over(self, work: RoundWork) -> None:
        """Release what is still held after the run. Without this call, submitted jobs go on."""
        ...


class Execution:
    """Default methods for plug-ins."""

    name = ""
    summary = ""

    async def carry_out(self, work: RoundWork, plan: Plan) -> AsyncGenerator[SendingProgress, None]:
        """See `ExecutionPlugin`: submits like any plan."""
        steps = work.project.jobs.submit(plan)
        try:
            async for step in steps:
                yield step
        finally:
            await steps.aclose()

    async def over(self, work: RoundWork) -> None:
        """See `ExecutionPlugin`: holds nothing, so there is nothing to release."""
