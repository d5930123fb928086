"""The autopilot: ready -> ordered -> mapped -> packed -> planned -> sent, round after round.

It stays within limits that a person has confirmed, and asks at anything outside of them. What it
does it tells as it goes; it can be cut off at any moment and begun again. Source: Fastr's
documentation (network execution: callbacks make jobs ready).
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import time
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.errors import InvalidFileError, RowtuiError
from rowtui.core.network.job_model import JobState
from rowtui.core.project.follow import Changes
from rowtui.core.runs.execution import PILOT, ExecutionError, ExecutionPlugin, Round, Work
from rowtui.core.runs.execution_plug_ins import find_execution
from rowtui.core.runs.limits import Breach, Limits, Money, Spent, Unit, fits, money_of, units_of
from rowtui.core.runs.model import Paused, RunStatus, Stopped
from rowtui.core.runs.redo import said, stale_results
from rowtui.core.runs.resting import Resting
from rowtui.core.runs.rounds import part_of
from rowtui.core.runs.spending import not_sent_events, submitted_events, unsent_of
from rowtui.core.submission.in_queue import SilentClusterError
from rowtui.core.submission.pilot_model import is_pilot
from rowtui.core.text import plural, visible

if TYPE_CHECKING:
    from rowtui.core.runs.running import Happened, Running
    from rowtui.core.submission.model import Plan

_IDLE_LOOKS = 2
_ROUNDS = 100  # one after another without a look at what happened meanwhile
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
    resting: Resting = field(default_factory=Resting)
    _blocked: tuple[str, ...] = ()
    execution: ExecutionPlugin = field(init=False)
    _sent: bool = False
    _sent_now: bool = False  # in the round that was planned last
    _again: bool = False  # there is more to plan once that was sent
    _waits: bool = False  # something will end by itself, says the plug-in
    _idle: int = 0  # looks, one after another, after which there was nothing to do
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        """Find who says how jobs run. Raises: ExecutionError."""
        self.execution = find_execution(self.running.execution)

    async def drive(self) -> AsyncGenerator[Told, None]:
        """Go on until nothing is left, or a person has to decide. Raises: RowtuiError.

        The caller holds the run (`Run.hold`).
        """
        running = self.running
        project = running.project
        try:
            async with self.turn:
                made = await asyncio.to_thread(running.begin, self._refuse_if_stopped)
        except _StoppedError:
            return  # the directories that were made are whole
        yield Told(Kind.BEGUN, _begun(running, len(made.made)))
        stale = said(await asyncio.to_thread(stale_results, running))
        if stale:
            yield Told(Kind.PROBLEM, stale)
        changes = Changes(project)
        listening = asyncio.create_task(self._listen(changes))
        try:
            while not self._stop.is_set():
                self._changed.clear()
                happened = await self._look()
                if happened:
                    yield Told(Kind.HAPPENED, _happened(happened), happened)
                if happened.stopped:
                    await self._take_back(happened.stopped)
                if running.graph.is_over:
                    stale_now = said(await asyncio.to_thread(stale_results, running))
                    if stale_now not in ("", stale):
                        yield Told(Kind.PROBLEM, stale_now)
                    yield self._over()
                    await self._give_back()
                    return
                self._sent = False
                async for told in self._send():
                    yield told
                    if told.kind is Kind.PAUSED:
                        return
                if self._stop.is_set():
                    return
                if self._stuck(happened):
                    why = "; ".join(self._blocked) or "nothing is ready and nothing runs"
                    yield self._paused(why)
                    return
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), self.look_seconds)
        finally:
            changes.close()
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    def _refuse_if_stopped(self, _: int) -> None:
        if self._stop.is_set():
            raise _StoppedError

    async def _listen(self, changes: Changes) -> None:
        async for _ in changes.words():
            self._changed.set()

    async def _look(self) -> Happened:
        """Ask the schedulers where it is due, and see what that means."""
        project = self.running.project
        if self.ask_queues is not None:
            await self.ask_queues()
        elif project.has_jobs_to_ask_for():
            await project.jobs.entered(await project.jobs.queues.ask(may_send=True))
        async with self.turn:
            await asyncio.to_thread(project.synchronise)
            return await asyncio.to_thread(self.running.look)

    async def _send(self) -> AsyncGenerator[Told, None]:
        """Plan what is ready, and send what may be sent; and go on while there is more at once."""
        for _ in range(_ROUNDS):
            self._sent_now = self._again = False
            async for told in self._send_round():
                yield told
            if not (self._again and self._sent_now) or self._stop.is_set():
                return

    async def _send_round(self) -> AsyncGenerator[Told, None]:
        running = self.running
        limits = running.run.limits
        spent = await self._spent()
        full = limits.jobs_in_queue is not None and spent.jobs_in_queue >= limits.jobs_in_queue
        resting = self.resting.at(time.monotonic())
        work = Work(running, self.turn, resting, full)
        try:
            found = await self._planned(work)
        except InvalidFileError as error:
            found = Round(None, tuple(str(problem) for problem in error.problems))
        except ExecutionError as error:
            yield self._paused(str(error))
            return
        plan = found.plan
        self._waits, self._again = found.waits, found.again
        said = found.blocked if plan is None else (*plan.skipped, *found.blocked)
        for told in self._problems(said, keep=bool(resting)):
            yield told
        if plan is None or not plan.jobs:
            return
        fit = fits(limits, spent, plan, time.time())
        money = money_of(plan)  # of the whole: a part of it does not know what its bundles cost
        asked = tuple(it for it in fit.breaches if not it.passes)
        # What is allowed goes first; a person is asked when only the rest is left.
        if self.by_step or (asked and not fit.jobs):
            answer = await self.ask(plan, asked)
            if answer.limits is not None:
                running.run.confirm(answer.limits, time.time())
                running.failures_in_a_row = 0
                fit = fits(answer.limits, await self._spent(), plan, time.time())
            if answer.send:
                fit = fit._replace(jobs=plan.jobs, breaches=())
            asked = tuple(it for it in fit.breaches if not it.passes)
            if asked or not (answer.send or answer.limits):
                why = (
                    "; ".join(it.sentence for it in asked) or "nobody confirmed what would be sent"
                )
                yield self._paused(why, plan)
                return
        if fit.jobs and not self._stop.is_set():
            part = part_of(plan, frozenset(job.token for job in fit.jobs))
            async for told in self._carry_out(work, part, money):
                yield told

    async def _spent(self) -> Spent:
        async with self.turn:
            return await asyncio.to_thread(self.running.spent)

    async def _planned(self, work: Work) -> Round:
        """What the plug-in would send. Raises: RowtuiError, also if another's plug-in fails."""
        with _told_apart(self.execution, RowtuiError):
            return await self.execution.plan(work)

    async def _carry_out(
        self, work: Work, plan: Plan, money: Mapping[str, Money]
    ) -> AsyncGenerator[Told, None]:
        running = self.running
        units = tuple(units_of(plan, money))
        await asyncio.to_thread(running.note, *submitted_events(plan.id, units))
        errors: list[str] = []
        failed = ""
        silent = False
        try:
            with _told_apart(self.execution, RowtuiError):
                async with contextlib.aclosing(self.execution.carry_out(work, plan)) as steps:
                    async for step in steps:
                        if step.error and step.error not in errors:
                            errors.append(step.error)
                        if self._stop.is_set():
                            break
        except ExecutionError as error:
            failed = str(error)
        except RowtuiError as error:  # nothing of it was sent, or what was is on record
            silent = isinstance(error, SilentClusterError)
            errors.append(str(error))
        sent = await asyncio.to_thread(self._settle_plan, plan, units, silent)
        if sent:
            self._sent = self._sent_now = True
            yield Told(Kind.SENT, f"sent {plural(sent, 'job')}", plan=plan)
        for told in self._problems((*self._blocked, *errors)):
            yield told
        if failed:
            yield self._paused(failed)

    def _settle_plan(self, plan: Plan, units: Sequence[Unit], silent: bool) -> int:
        """See what of a plan was sent: how many jobs. The others rest, and cost nothing.

        A bundle of which anything was sent costs what all of it does. `silent`: a cluster did not
        answer, and nothing was sent.
        """
        running = self.running
        unsent = unsent_of(plan, running.project.jobs.journal)
        now = time.monotonic()
        for job in plan.jobs:
            jobs = [PILOT] if is_pilot(job.token) else running.jobs_of(job.action, job.directories)
            if job.token in unsent:
                self.resting.refused(jobs, now, by_silence=silent)
            else:
                self.resting.sent(jobs)
        if free := not_sent_events(plan.id, units, unsent):
            running.note(*free)
        return len(plan.jobs) - len(unsent)

    def _problems(self, said: Sequence[str], *, keep: bool = False) -> list[Told]:
        """What is wrong now, told once. `keep`: what was wrong before still is."""
        fresh = [why for why in dict.fromkeys(said) if why not in self._blocked]
        self._blocked = (*self._blocked, *fresh) if keep else tuple(dict.fromkeys(said))
        return [Told(Kind.PROBLEM, why, success=False) for why in fresh]

    def _paused(self, why: str, plan: Plan | None = None) -> Told:
        self.running.run.append(Paused(time.time(), why))
        return Told(Kind.PAUSED, why, plan=plan, success=False)

    async def _take_back(self, jobs: tuple[int, ...]) -> None:
        """Cancel what is with a scheduler for nothing: jobs all of whose directories are."""
        running = self.running
        state = running.project.state
        meant: dict[str, set[tuple[str, int]]] = {}
        given_up: set[str] = set()  # for their own sake, not for what they need
        for job in jobs:
            node = running.growth.flow.network.node(running.growth.where(job).node)
            position = state.directories.position(running.growth.directory(job))
            if node is None or position is None:
                continue
            found = state.submitted.get(node.action, {}).get(position)
            if found is not None and found.token in running.tokens:
                meant.setdefault(found.token, set()).add((node.action, position))
                if job in running.graph.root_causes(job):
                    given_up.add(found.token)
        # What waits for others there is cancelled by who keeps the order, and has not failed.
        if meant:
            await asyncio.to_thread(running.project.jobs.records)
            planned = running.project.jobs.planned()
            for token in meant.keys() - given_up:
                if token in planned and planned[token].depends_on:
                    del meant[token]
        for action, submitted in state.submitted.items() if meant else ():
            for position, each in submitted.items():
                if each.token in meant and (action, position) not in meant[each.token]:
                    del meant[each.token]
        if meant:
            await running.project.jobs.cancel(sorted(meant))

    def _stuck(self, happened: Happened) -> bool:
        """Whether nothing will happen by itself any more. Seen twice: others send jobs as well."""
        counts = self.running.graph.counts()
        active = sum(each[JobState.ACTIVE] for each in counts)
        waits = self._sent or active or happened or self.resting.will_be_tried or self._waits
        self._idle = 0 if waits else self._idle + 1
        return self._idle >= _IDLE_LOOKS

    def _over(self) -> Told:
        running = self.running
        lost = running.finish()
        failed = sum(each[JobState.FAILED] for each in running.graph.counts())
        if not lost:
            return Told(Kind.OVER, "all is done")
        more = lost - failed
        sentence = f"nothing is left to do: {plural(failed, 'job')} failed" + (
            f", and {more:,} that need their results cannot run" if more else ""
        )
        return Told(Kind.OVER, sentence, success=False)

    async def _give_back(self) -> None:
        """What the plug-in still holds. Whatever comes of it, the run is over."""
        try:
            with _told_apart(self.execution, RowtuiError):
                await self.execution.over(Work(self.running, self.turn))
        except (RowtuiError, OSError) as error:
            self.running.project.notice(str(error))

    def stop(self, why: str = "") -> None:
        """End `drive` soon, and write down that a person did. Jobs that were sent go on."""
        self._stop.set()
        self._changed.set()
        if self.running.status is RunStatus.RUNNING:
            self.running.run.append(Stopped(time.time(), why))


class _StoppedError(Exception):
    """A person stopped it while directories were made."""


@contextlib.contextmanager
def _told_apart(execution: ExecutionPlugin, *theirs: type[Exception]) -> Iterator[None]:
    """What goes wrong in another's plug-in is told as its own. Its own words are not repeated."""
    try:
        yield
    except theirs:
        raise
    except Exception as error:
        if execution.__class__.__module__.startswith("rowtui.core."):
            raise
        raise ExecutionError(
            f"the execution plug-in '{visible(execution.name)}' failed with {type(error).__name__}",
            "what was sent goes on; mend it, or choose another with --execution",
        ) from error


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
