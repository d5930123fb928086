"""The autopilot: ready -> ordered -> mapped -> packed -> planned -> sent, round after round.

It stays within limits that a person has confirmed, and asks at anything outside of them. What it
does it tells as it goes; it can be cut off at any moment and begun again.
Source: Fastr's design (network execution: callbacks make jobs ready); the issue's limits.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.errors import InvalidFileError
from rowtui.core.network.job_model import JobState
from rowtui.core.project.follow import Changes
from rowtui.core.runs.limits import Breach, Limits, fits, money_of, units_of
from rowtui.core.runs.model import Finished, Paused, PlanSubmitted, RunStatus, Stopped
from rowtui.core.runs.rounds import next_round, part_of
from rowtui.core.text import plural

if TYPE_CHECKING:
    from rowtui.core.runs.running import Happened, Running
    from rowtui.core.submission.model import Plan

LOOK_SECONDS = 1.0  # how long nothing is looked at, at most, while nothing is heard


class Kind(enum.Enum):
    """What is told."""

    BEGUN = "begun"
    HAPPENED = "happened"  # jobs ended, lists came
    SENT = "sent"
    PROBLEM = "problem"
    PAUSED = "paused"
    OVER = "over"


class Told(NamedTuple):
    """One thing that the autopilot says. `happened`: what a look found; `plan`: what was sent."""

    kind: Kind
    sentence: str
    happened: Happened | None = None
    plan: Plan | None = None
    success: bool = True


class Answer(NamedTuple):
    """What a person says to a plan that the limits do not allow, or that is to be confirmed.

    `send`: this plan, as it is, once. `limits`: from now on, if not None. Neither: it pauses.
    """

    send: bool = False
    limits: Limits | None = None


Ask = Callable[["Plan", tuple[Breach, ...]], Awaitable[Answer]]


@dataclass
class Autopilot:
    """Drives one run. `ask` is called with what would be sent and why it needs a person.

    `by_step`: every plan is asked about. `look_seconds`: how long to wait between looks, at most.
    `turn`: held while the project's records are used; `ask_queues`: who asks schedulers and enters
    what they say, where somebody else does so as well.
    """

    running: Running
    ask: Ask
    by_step: bool = False
    look_seconds: float = LOOK_SECONDS
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    ask_queues: Callable[[], Awaitable[None]] | None = None
    _blocked: tuple[str, ...] = ()
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def drive(self) -> AsyncGenerator[Told, None]:
        """Go on until nothing is left, or a person has to decide. Raises: RowtuiError.

        The caller holds the run (`Run.hold`).
        """
        running = self.running
        project = running.project
        async with self.turn:
            made = await asyncio.to_thread(running.begin)
        yield Told(Kind.BEGUN, _begun(running, len(made.made)))
        changes = Changes(project)
        listening = asyncio.create_task(self._listen(changes))
        try:
            while True:
                self._changed.clear()
                happened = await self._look()
                if happened:
                    yield Told(Kind.HAPPENED, _happened(happened), happened)
                if happened.stopped:
                    await self._take_back(happened.stopped)
                if running.graph.is_over:
                    yield self._over()
                    return
                paused = False
                async for told in self._send():
                    yield told
                    paused = paused or told.kind is Kind.PAUSED
                if paused or self._stuck():
                    if not paused:
                        why = "; ".join(self._blocked) or "nothing is ready and nothing runs"
                        running.run.append(Paused(time.time(), why))
                        yield Told(Kind.PAUSED, why, success=False)
                    return
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), self.look_seconds)
        finally:
            changes.close()
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    async def _listen(self, changes: Changes) -> None:
        async for _ in changes.words():
            self._changed.set()

    async def _look(self) -> Happened:
        """Ask the schedulers where it is due, and see what that means."""
        project = self.running.project
        if self.ask_queues is not None:
            await self.ask_queues()
        elif project.has_jobs_to_ask_for():
            await project.jobs.entered(await project.jobs.queues.ask())
        async with self.turn:
            await asyncio.to_thread(project.synchronise)
            return await asyncio.to_thread(self.running.look)

    async def _send(self) -> AsyncGenerator[Told, None]:
        """Plan what is ready, and send what may be sent."""
        running = self.running
        spent = running.spent()
        limits = running.run.limits
        if limits.jobs_in_queue is not None and spent.jobs_in_queue >= limits.jobs_in_queue:
            return
        try:
            async with self.turn:
                found = await asyncio.to_thread(next_round, running)
        except InvalidFileError as error:
            self._blocked = tuple(str(problem) for problem in error.problems)
            found = None
        if found is None:
            yield Told(Kind.PROBLEM, "; ".join(self._blocked), success=False)
            return
        if found.blocked != self._blocked:
            self._blocked = found.blocked
            for why in found.blocked:
                yield Told(Kind.PROBLEM, why, success=False)
        plan = found.plan
        if plan is None or not plan.jobs:
            for why in () if plan is None else plan.skipped:
                yield Told(Kind.PROBLEM, why, success=False)
            return
        fit = fits(limits, spent, plan, time.time())
        asked = tuple(it for it in fit.breaches if not it.passes)
        if asked or self.by_step:
            answer = await self.ask(plan, asked)
            if answer.limits is not None:
                running.run.confirm(answer.limits, time.time())
                fit = fits(answer.limits, self.running.spent(), plan, time.time())
            if answer.send:
                fit = fit._replace(jobs=plan.jobs, breaches=())
            asked = tuple(it for it in fit.breaches if not it.passes)
            if asked or not (answer.send or answer.limits):
                why = (
                    "; ".join(it.sentence for it in asked) or "nobody confirmed what would be sent"
                )
                running.run.append(Paused(time.time(), why))
                yield Told(Kind.PAUSED, why, plan=plan, success=False)
                return
        if fit.jobs:
            part = part_of(plan, frozenset(job.token for job in fit.jobs))
            async for told in self._carry_out(part):
                yield told

    async def _carry_out(self, plan: Plan) -> AsyncGenerator[Told, None]:
        running = self.running
        event = submitted_event(plan)
        await asyncio.to_thread(running.run.append, event)
        running.tokens.update(event.jobs)
        errors: list[str] = []
        async for step in running.project.jobs.submit(plan):
            if step.error and step.error not in errors:
                errors.append(step.error)
        yield Told(Kind.SENT, f"sent {plural(len(plan.jobs), 'job')}", plan=plan)
        for error in errors:
            yield Told(Kind.PROBLEM, error, success=False)

    async def _take_back(self, jobs: tuple[int, ...]) -> None:
        """Cancel what is with a scheduler for nothing."""
        running = self.running
        submitted = running.project.state.submitted
        tokens: set[str] = set()
        for job in jobs:
            node = running.growth.flow.network.node(running.growth.where(job).node)
            position = running.project.state.directories.position(running.growth.directory(job))
            if node is None or position is None:
                continue
            found = submitted.get(node.action, {}).get(position)
            if found is not None and found.token in running.tokens:
                tokens.add(found.token)
        if tokens:
            await running.project.jobs.cancel(sorted(tokens))

    def _stuck(self) -> bool:
        """Whether nothing will happen by itself any more."""
        counts = self.running.graph.counts()
        active = sum(each[JobState.ACTIVE] for each in counts)
        return not active and bool(self._blocked)

    def _over(self) -> Told:
        running = self.running
        counts = running.graph.counts()
        lost = sum(each[JobState.FAILED] + each[JobState.CANCELLED] for each in counts)
        running.run.append(Finished(time.time(), success=not lost))
        failed = sum(each[JobState.FAILED] for each in counts)
        if not lost:
            return Told(Kind.OVER, "all is done")
        more = lost - failed
        sentence = f"nothing is left to do: {plural(failed, 'job')} failed" + (
            f", and {more:,} that need their results cannot run" if more else ""
        )
        return Told(Kind.OVER, sentence, success=False)

    def stop(self, why: str = "") -> None:
        """Write down that a person stopped it. Jobs that were sent go on."""
        if self.running.status is RunStatus.RUNNING:
            self.running.run.append(Stopped(time.time(), why))


def submitted_event(plan: Plan) -> PlanSubmitted:
    """What is written down before a plan is carried out."""
    units = list(units_of(plan, money_of(plan)))
    paid = [unit.money for unit in units if unit.money is not None]
    return PlanSubmitted(
        time.time(),
        plan.id,
        tuple(job.token for job in plan.jobs),
        sum(unit.core_hours for unit in units),
        sum(unit.gpu_hours for unit in units),
        sum(it.amount for it in paid),
        paid[0].currency if paid else "",
    )


def _begun(running: Running, made: int) -> str:
    jobs = plural(len(running.graph), "job")
    return f"{jobs}, {plural(made, 'new directory', 'new directories')}"


def _happened(happened: Happened) -> str:
    parts = []
    if happened.completed:
        parts.append(f"{plural(happened.completed, 'job')} done")
    if happened.failed:
        parts.append(f"{plural(len(happened.failed), 'job')} failed")
    if happened.cancelled:
        parts.append(f"{happened.cancelled:,} cannot run for that")
    if happened.new:
        parts.append(f"{plural(happened.new, 'new job')}")
    if happened.published:
        parts.append(f"{happened.published:,} published")
    return ", ".join(parts)
