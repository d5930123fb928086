"""The autopilot: ready -> ordered -> mapped -> packed -> planned -> submitted, round after round.

It stays within limits that the user has confirmed, and asks before it exceeds them. It reports each
step as it happens. It can be interrupted at any moment and started again. Source: Fastr's
documentation (network execution: callbacks make jobs ready).
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from rowtui.core.base.errors import InvalidFileError, RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.project.planning.pack_terms import prices_of
from rowtui.core.project.retry_policy import NO_RETRIES, RetryPolicy
from rowtui.core.project.review.budgets import balances_of
from rowtui.core.project.views.follow import Changes
from rowtui.core.runs.execution.after_failure import NetworkRetries, cancel_unneeded
from rowtui.core.runs.execution.execution import (
    PILOT,
    ExecutionError,
    ExecutionPlugin,
    LookPause,
    Resting,
    RoundWork,
)
from rowtui.core.runs.execution.lists import SeparateJobs
from rowtui.core.runs.execution.permission import permitted_part
from rowtui.core.runs.execution.plug_ins import find_execution
from rowtui.core.runs.execution.rounds import (
    STOPPED_ELSEWHERE,
    Ask,
    AutopilotMessage,
    MessageKind,
    Round,
    begun_text,
    happened_text,
    over_text,
    until_writable,
)
from rowtui.core.runs.limits.limits import Fit, Spent, fits
from rowtui.core.runs.limits.spending import not_sent_events, submitted_events, unsent_of
from rowtui.core.runs.model import Paused, RunStatus, Stopped
from rowtui.core.runs.redo import said, stale_results
from rowtui.core.submission.bundles.pilot_model import is_pilot
from rowtui.core.submission.plan.charges import Charge, Money, charges_of
from rowtui.core.submission.sending.send import SilentClusterError

if TYPE_CHECKING:
    from rowtui.core.runs.running import OpenRun, RunUpdate
    from rowtui.core.submission.plan.model import Plan

_IDLE_LOOKS = 2
_ROUNDS = 100  # at most, one after another without a poll between them
LOOK_SECONDS = 1.0  # the shortest wait between two looks while no change is announced


@dataclass
class Autopilot:
    """Drive one run. `ask` gets the plan and the reasons why the user must confirm it.

    `by_step`: ask before every plan. `look_seconds`: the shortest wait between two looks. `turn`:
    the lock held while the project's records are used. `ask_queues`: polls the schedulers and
    records their answers, if another component polls them as well. `policy`: which failed jobs are
    submitted again, and with which change.
    """

    running: OpenRun
    ask: Ask
    by_step: bool = False
    look_seconds: float = LOOK_SECONDS
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    ask_queues: Callable[[], Awaitable[None]] | None = None
    policy: RetryPolicy = NO_RETRIES
    resting: Resting = field(default_factory=Resting)
    _blocked: tuple[str, ...] = ()
    execution: ExecutionPlugin = field(init=False)
    retries: NetworkRetries = field(init=False)
    _sent: bool = False
    _sent_now: bool = False  # in the last planned round
    _again: bool = False  # more can be planned once the last plan was submitted
    _waits: bool = False  # the plug-in reports that something will end without further submissions
    _idle: int = 0  # consecutive polls after which there was nothing to do
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        """Find the execution plug-in. Raises: ExecutionError."""
        self.execution = find_execution(self.running.execution)
        self.retries = NetworkRetries(self.running, self.policy, self.resting)

    async def drive(self) -> AsyncGenerator[AutopilotMessage, None]:
        """Run until nothing is left or the user has to decide. Raises: RowtuiError.

        The caller holds the lock of the run (`Run.hold`).
        """
        running = self.running
        project = running.project
        try:
            async with self.turn:
                made = await asyncio.to_thread(running.begin, self._refuse_if_stopped)
        except _StoppedError:
            return  # directories made until now are complete
        yield AutopilotMessage(MessageKind.BEGUN, begun_text(running, len(made.made)))
        stale = said(await asyncio.to_thread(stale_results, running))
        if stale:
            yield AutopilotMessage(MessageKind.PROBLEM, stale)
        changes = Changes(project)
        listening = asyncio.create_task(self._listen(changes))
        pause = LookPause(running.run, self._changed, self.look_seconds)
        try:
            turns = partial(self._turns, pause, stale)
            async for told in until_writable(turns, self._stop):
                yield told
        finally:
            changes.close()
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    async def _turns(self, pause: LookPause, stale: str) -> AsyncGenerator[AutopilotMessage, None]:
        running = self.running
        while not self._stop.is_set():
            self._changed.clear()
            happened = await self._look()
            if happened:
                yield AutopilotMessage(MessageKind.HAPPENED, happened_text(happened), happened)
            if running.run.status is RunStatus.STOPPED and not self._stop.is_set():
                yield AutopilotMessage(MessageKind.PAUSED, STOPPED_ELSEWHERE, success=False)
                return
            if happened.stopped:
                await cancel_unneeded(running, happened.stopped)
            self._sent = False
            async for told in self._retry(happened):
                yield told
                if told.kind is MessageKind.PAUSED:
                    return
            if running.graph.is_over and self.retries.due_at is None:
                stale_now = said(await asyncio.to_thread(stale_results, running))
                if stale_now not in ("", stale):
                    yield AutopilotMessage(MessageKind.PROBLEM, stale_now)
                yield self._over()
                await self._give_back()
                return
            async for told in self._send():
                yield told
                if told.kind is MessageKind.PAUSED:
                    return
            if self._stop.is_set():
                return
            if self._stuck(happened):
                why = "; ".join(self._blocked) or "nothing is eligible and nothing runs"
                yield self._paused(why)
                return
            await pause.wait(idle=self._is_idle(happened), until=self.retries.due_at)

    def _refuse_if_stopped(self, _: int) -> None:
        if self._stop.is_set():
            raise _StoppedError

    async def _listen(self, changes: Changes) -> None:
        async for _ in changes.words():
            self._changed.set()

    async def _look(self) -> RunUpdate:
        """Poll the schedulers that are due, and derive what happened to the run."""
        project = self.running.project
        if self.ask_queues is not None:
            await self.ask_queues()
        elif project.has_jobs_to_ask_for():
            await project.jobs.entered(await project.jobs.queues.ask(may_send=True))
        async with self.turn:
            await asyncio.to_thread(project.synchronise)
            return await asyncio.to_thread(self.running.look)

    async def _send(self) -> AsyncGenerator[AutopilotMessage, None]:
        """Plan and submit what may be submitted, and repeat while more can be planned at once."""
        for _ in range(_ROUNDS):
            self._sent_now = self._again = False
            async for told in self._send_round():
                yield told
            if not (self._again and self._sent_now) or self._stop.is_set():
                return

    async def _send_round(self) -> AsyncGenerator[AutopilotMessage, None]:
        running = self.running
        limits = running.run.limits
        spent = await self._spent()
        full = limits.jobs_in_queue is not None and spent.jobs_in_queue >= limits.jobs_in_queue
        resting = self.resting.at(time.monotonic())
        work = RoundWork(running, self.turn, resting, full)
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
        async for told in self._send_permitted(work, plan, self.execution):
            yield told

    async def _send_permitted(
        self, work: RoundWork, plan: Plan, execution: ExecutionPlugin, whys: Sequence[str] = ()
    ) -> AsyncGenerator[AutopilotMessage, None]:
        """Submit what the limits or the user allow. `whys`: reasons to retry the jobs of a plan."""
        run = self.running.run
        project = self.running.project
        async with self.turn:  # for the whole plan: a part has the costs of all of its bundles
            money = await asyncio.to_thread(prices_of, project, plan)
            balances = await asyncio.to_thread(balances_of, project, plan)

        async def fit() -> Fit:
            spent = await self._spent()
            return fits(run.limits, spent, plan, time.time(), money, balances=balances)

        permission = await permitted_part(
            run, plan, fit, self.ask, self._forget_failures, by_step=self.by_step
        )
        part = permission.part
        if permission.pause:
            yield self._paused(permission.pause, plan)
        elif part is not None and not self._stop.is_set():
            for why in whys:
                yield AutopilotMessage(MessageKind.RETRY, why)
            reasons: dict[int, str] = {}
            if whys:
                reasons = await work.in_turn(lambda: self.retries.reopen(part, "; ".join(whys)))
            async for told in self._carry_out(work, part, money, execution):
                yield told
            self.retries.close_unsent(reasons)

    def _forget_failures(self) -> None:
        self.running.failures_in_a_row = 0

    async def _retry(self, happened: RunUpdate) -> AsyncGenerator[AutopilotMessage, None]:
        """Submit again the failed jobs that the policy retries now."""
        work = RoundWork(self.running, self.turn)
        for each in await work.in_turn(lambda: self.retries.plans(happened.failed)):
            skipped = (each.problem,) if each.plan is None else each.plan.skipped
            for told in self._problems(skipped, keep=True):
                yield told
            if each.plan is not None and each.plan.jobs:
                async for told in self._send_permitted(work, each.plan, SeparateJobs(), each.whys):
                    yield told
                    if told.kind is MessageKind.PAUSED:
                        return

    async def _spent(self) -> Spent:
        async with self.turn:
            return await asyncio.to_thread(self.running.spent)

    async def _planned(self, work: RoundWork) -> Round:
        """Return what the plug-in would submit.

        Raises: RowtuiError, also if a third-party plug-in fails.
        """
        with _separate_errors(self.execution, RowtuiError):
            return await self.execution.plan(work)

    async def _carry_out(
        self, work: RoundWork, plan: Plan, money: Mapping[str, Money], execution: ExecutionPlugin
    ) -> AsyncGenerator[AutopilotMessage, None]:
        running = self.running
        units = tuple(charges_of(plan, money))
        async with self.turn:
            await asyncio.to_thread(running.prepare, plan)
        await asyncio.to_thread(running.note, *submitted_events(plan.id, units))
        errors: list[str] = []
        failed = ""
        silent = False
        try:
            with _separate_errors(execution, RowtuiError):
                async with contextlib.aclosing(execution.carry_out(work, plan)) as steps:
                    async for step in steps:
                        if step.error and step.error not in errors:
                            errors.append(step.error)
                        if self._stop.is_set():
                            break
        except ExecutionError as error:
            failed = str(error)
        # nothing was submitted, or what was submitted is in the journal
        except RowtuiError as error:
            silent = isinstance(error, SilentClusterError)
            errors.append(str(error))
        sent = await asyncio.to_thread(self._settle_plan, plan, units, silent)
        if sent:
            self._sent = self._sent_now = True
            yield AutopilotMessage(MessageKind.SENT, f"sent {plural(sent, 'job')}", plan=plan)
        for told in self._problems((*self._blocked, *errors)):
            yield told
        if failed:
            yield self._paused(failed)

    def _settle_plan(self, plan: Plan, units: Sequence[Charge], silent: bool) -> int:
        """Find which jobs of a plan were submitted, and return their number.

        Jobs that were not submitted rest and are refunded. A partly submitted bundle is charged in
        full. `silent`: a cluster did not answer, and nothing was submitted.
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

    def _problems(self, said: Sequence[str], *, keep: bool = False) -> list[AutopilotMessage]:
        """Return messages for new problems; report each problem once.

        `keep`: problems that were reported before still hold.
        """
        fresh = [why for why in dict.fromkeys(said) if why not in self._blocked]
        self._blocked = (*self._blocked, *fresh) if keep else tuple(dict.fromkeys(said))
        return [AutopilotMessage(MessageKind.PROBLEM, why, success=False) for why in fresh]

    def _paused(self, why: str, plan: Plan | None = None) -> AutopilotMessage:
        self.running.run.append(Paused(time.time(), why))
        return AutopilotMessage(MessageKind.PAUSED, why, plan=plan, success=False)

    def _stuck(self, happened: RunUpdate) -> bool:
        """Return whether nothing can happen any more without a decision of the user.

        The condition must hold at two polls in a row, because other programs submit jobs as well.
        """
        counts = self.running.graph.counts()
        active = sum(each[GraphJobState.SUBMITTED] for each in counts)
        waits = self._sent or active or happened or self.resting.will_be_tried or self._waits
        waits = waits or self.retries.due_at is not None
        self._idle = 0 if waits else self._idle + 1
        return self._idle >= _IDLE_LOOKS

    def _is_idle(self, happened: RunUpdate) -> bool:
        """Return whether all that is left to do is to wait for submitted jobs."""
        busy = self._sent or happened or self._blocked or self.resting.will_be_tried or self._waits
        return not busy and self.ask_queues is None

    def _over(self) -> AutopilotMessage:
        lost = self.running.finish()
        return AutopilotMessage(MessageKind.OVER, over_text(self.running, lost), success=not lost)

    async def _give_back(self) -> None:
        """Release what the plug-in still holds. The run is over even if this fails."""
        try:
            with _separate_errors(self.execution, RowtuiError):
                await self.execution.over(RoundWork(self.running, self.turn))
        except (RowtuiError, OSError) as error:
            self.running.project.notice(str(error))

    def stop(self, why: str = "") -> None:
        """Make `drive` end soon, and record that the user stopped it. Submitted jobs go on."""
        self._stop.set()
        self._changed.set()
        if self.running.status is RunStatus.RUNNING:
            self.running.run.append(Stopped(time.time(), why))


class _StoppedError(Exception):
    """The user stopped the run while directories were made."""


@contextlib.contextmanager
def _separate_errors(execution: ExecutionPlugin, *theirs: type[Exception]) -> Iterator[None]:
    """Raise an unexpected error of a third-party plug-in as an `ExecutionError`.

    The message names only the type of the original error, not its text.
    """
    try:
        yield
    except theirs:
        raise
    except Exception as error:
        if execution.__class__.__module__.startswith("rowtui.core."):
            raise
        raise ExecutionError(
            f"the execution plug-in '{visible(execution.name)}' failed with {type(error).__name__}",
            "submitted jobs continue; correct the plug-in, or choose another with --execution",
        ) from error
