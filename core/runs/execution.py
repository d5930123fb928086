"""How the jobs of a run's rounds become plans, and how these are carried out: what a plug-in is.

`Execution` is what ours have in common, and what others may begin with: plans are carried out as
any plan of the project is. `Work` is what a plug-in gets for one round; it waits for the disk in a
thread. A plug-in decides which jobs go together and when; what runs, and that it runs once, is the
records' and the journal's, so nothing is lost whatever it does. Source: Fastr's documentation,
ExecutionPlugin (lists run one after another on one host; pilot jobs).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from rowtui.core.errors import RowtuiError
from rowtui.core.runs.parts import MOST, Parts

if TYPE_CHECKING:
    from rowtui.core.network.spec import Schedule
    from rowtui.core.project.planning import Pack
    from rowtui.core.project.project import Project
    from rowtui.core.runs.running import Running
    from rowtui.core.submission.carry_out import Progress
    from rowtui.core.submission.model import Plan

T = TypeVar("T")
PILOT = -1  # rests as if it were a job of the graph, when a pilot was refused


class ExecutionError(RowtuiError):
    """There is no such execution plug-in, or it is of no use."""


class Round(NamedTuple):
    """What could be submitted now. `plan` None: nothing. `blocked`: ready jobs that cannot be.

    `again`: once this was sent, there is more to plan at once. `waits`: something will end by
    itself, and then there is more.
    """

    plan: Plan | None
    blocked: tuple[str, ...] = ()
    again: bool = False
    waits: bool = False


@dataclass
class Work:
    """One round of a run. `resting`: jobs of the graph that are left alone for a while.

    `turn` is held while the project's records are used. `queue_is_full`: the limits allow no more
    jobs in the queue; what goes into a pilot that is there still may.
    """

    running: Running
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    resting: frozenset[int] = frozenset()
    queue_is_full: bool = False

    @property
    def project(self) -> Project:
        """Whose jobs they are."""
        return self.running.project

    @property
    def schedule(self) -> Schedule:
        """What the run's network.toml says of how jobs run."""
        return self.running.growth.flow.network.schedule

    async def in_turn(self, what: Callable[[], T]) -> T:
        """Do something with the project's records, in a thread."""
        async with self.turn:
            return await asyncio.to_thread(what)

    def parts(self, most: int = MOST) -> Parts:
        """The jobs that are ready, as groups. Waits for the disk. Raises: RowtuiError."""
        return Parts(self.running, most, self.resting)

    def plan(
        self, parts: Parts, numbers: Sequence[int] | None = None, pack: Pack | None = None
    ) -> Round:
        """The plan of these parts (all of them), in their order. Waits for the disk.

        `pack` says what becomes of the planned jobs (None: what the project's packing says).
        Raises: PlanError if none of their actions can be submitted; RowtuiError.
        """
        from rowtui.core.runs.rounds import plan_parts

        return plan_parts(self.running, parts, numbers, pack)


class ExecutionPlugin(Protocol):
    """How a run's jobs run. One is made for each time that a run is driven."""

    name: str
    summary: str  # one sentence, for people

    async def plan(self, work: Work) -> Round:
        """What to submit next. It may be asked again at any time. Raises: RowtuiError."""
        ...

    def carry_out(self, work: Work, plan: Plan) -> AsyncGenerator[Progress, None]:
        """Submit (a part of) what `plan` gave, with the limits' or a person's consent."""
        ...

    async def over(self, work: Work) -> None:
        """The run is over: give back what is still held. Jobs go on when it is not called."""
        ...


class Execution:
    """What plug-ins need not say again."""

    name = ""
    summary = ""

    async def carry_out(self, work: Work, plan: Plan) -> AsyncGenerator[Progress, None]:
        """See `ExecutionPlugin`: as any plan is."""
        steps = work.project.jobs.submit(plan)
        try:
            async for step in steps:
                yield step
        finally:
            await steps.aclose()

    async def over(self, work: Work) -> None:
        """See `ExecutionPlugin`: nothing is held."""
