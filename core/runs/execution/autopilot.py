"""The driver of a network: its ready jobs, as an execution plug-in plans them, round after round.

Source: Fastr's documentation (network execution: callbacks make jobs ready).
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rowtui.core.base.errors import InvalidFileError, RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.project.retry_policy import NO_RETRIES, RetryPolicy
from rowtui.core.runs.execution.after_failure import NetworkRetries, cancel_unneeded
from rowtui.core.runs.execution.driver import (
    STOPPED_ELSEWHERE,
    Driver,
    DriverMessage,
    MessageKind,
    Pace,
    SentPlan,
)
from rowtui.core.runs.execution.execution import (
    PILOT,
    ExecutionError,
    ExecutionPlugin,
    Resting,
    RoundWork,
)
from rowtui.core.runs.execution.lists import SeparateJobs
from rowtui.core.runs.execution.open_work import FIRST_ATTEMPTS, RetryPlan
from rowtui.core.runs.execution.permission import Ask
from rowtui.core.runs.execution.plug_ins import find_execution
from rowtui.core.runs.execution.rounds import Round
from rowtui.core.runs.limits.limits import Spent
from rowtui.core.runs.model import Event, RunStatus
from rowtui.core.runs.redo import said, stale_results
from rowtui.core.submission.bundles.pilot_model import is_pilot
from rowtui.core.submission.sending.release_held import SendingProgress

if TYPE_CHECKING:
    from rowtui.core.runs.running import OpenRun, RunUpdate
    from rowtui.core.submission.plan.charges import Money
    from rowtui.core.submission.plan.model import Plan

_ROUNDS = 100  # at most, one after another without a poll between them
LOOK_SECONDS = 1.0  # the shortest wait between two looks while no change is announced


class Autopilot(Driver):
    """Drives the run of a network. `by_step`: ask before every plan.

    `policy`: which failed jobs are submitted again, and with which change. See `Driver`.
    """

    def __init__(
        self,
        running: OpenRun,
        ask: Ask | None,
        *,
        by_step: bool = False,
        look_seconds: float = LOOK_SECONDS,
        turn: asyncio.Lock | None = None,
        ask_queues: Callable[[], Awaitable[None]] | None = None,
        policy: RetryPolicy = NO_RETRIES,
    ) -> None:
        """Find the execution plug-in. Raises: ExecutionError."""
        super().__init__(
            running.project,
            running.run,
            ask,
            policy,
            look_seconds=look_seconds,
            turn=turn,
            ask_queues=ask_queues,
        )
        self.running = running
        running.policy = policy
        self.by_step = by_step
        self.confirmed = self._forget_failures
        self.resting = Resting()
        self.execution: ExecutionPlugin = find_execution(running.execution)
        self.retries = NetworkRetries(running, policy, self.resting)
        self._blocked: tuple[str, ...] = ()
        self._stale = ""  # the stale results that were reported
        self._sent = False
        self._sent_now = False  # in the last planned round
        self._again = False  # more can be planned once the last plan was submitted
        self._waits = False  # the plug-in reports that something will end without submissions

    async def drive(self) -> AsyncGenerator[DriverMessage, None]:
        """Run until nothing is left or the user has to decide. Raises: RowtuiError.

        The caller holds the lock of the run (`Run.hold`).
        """
        running = self.running
        try:
            async with self.turn:
                made = await asyncio.to_thread(running.begin, self._refuse_if_stopped)
        except _StoppedError:
            return  # directories made until now are complete
        yield DriverMessage(MessageKind.BEGUN, begun_text(running, len(made.made)))
        async for message in self._new_stale():
            yield message
        async for message in self.turns():
            yield message

    async def _new_stale(self) -> AsyncGenerator[DriverMessage, None]:
        stale = said(await asyncio.to_thread(stale_results, self.running))
        if stale not in ("", self._stale):
            yield DriverMessage(MessageKind.PROBLEM, stale)
        self._stale = stale

    async def one_turn(self) -> AsyncGenerator[DriverMessage, None]:
        """See `Driver`."""
        running = self.running
        await self.look()
        async with self.turn:
            happened = await asyncio.to_thread(running.look)
        if happened:
            yield DriverMessage(MessageKind.HAPPENED, happened_text(happened), happened)
        if self.run.status is RunStatus.STOPPED and not self.stopping:
            yield DriverMessage(MessageKind.PAUSED, STOPPED_ELSEWHERE, success=False)
            return
        if happened.stopped:
            await cancel_unneeded(running, happened.stopped)
        self._sent = False
        async for message in self._retry(happened):
            yield message
        if running.graph.is_over and self.retries.due_at is None:
            async for message in self._new_stale():
                yield message
            over = self._over()
            await self._give_back()
            yield over
            return
        async for message in self._send():
            yield message
        self.pace = self._pace(happened)

    def _refuse_if_stopped(self, _: int) -> None:
        if self.stopping:
            raise _StoppedError

    async def _send(self) -> AsyncGenerator[DriverMessage, None]:
        """Plan and submit what may be submitted, and repeat while more can be planned at once."""
        for _ in range(_ROUNDS):
            self._sent_now = self._again = False
            async for message in self._send_round():
                yield message
            if not (self._again and self._sent_now) or self.stopping:
                return

    async def _send_round(self) -> AsyncGenerator[DriverMessage, None]:
        running = self.running
        full = running.run.limits.is_full(await self.spent())
        resting = self.resting.at(time.monotonic())
        work = RoundWork(running, self.turn, resting, full)
        try:
            found = await self._planned(work)
        except InvalidFileError as error:
            found = Round(None, tuple(str(problem) for problem in error.problems))
        except ExecutionError as error:
            yield self.paused(str(error))
            return
        plan = found.plan
        self._waits, self._again = found.waits, found.again
        said = found.blocked if plan is None else (*plan.skipped, *found.blocked)
        for each in self._problems(said, keep=bool(resting)):
            yield each
        if plan is None or not plan.jobs:
            return
        async for each in self._send_permitted(work, plan, self.execution):
            yield each

    async def _send_permitted(
        self,
        work: RoundWork,
        plan: Plan,
        execution: ExecutionPlugin,
        retried: RetryPlan = FIRST_ATTEMPTS,
    ) -> AsyncGenerator[DriverMessage, None]:
        """Submit what the limits or the user allow. `retried`: why the jobs are tried again."""
        permission = await self.permitted(plan)
        part = permission.part
        if permission.pause:
            yield self.paused(permission.pause, plan)
        elif part is not None and not self.stopping:
            reasons: dict[int, str] = {}
            for each in retried.messages:
                yield each
            if retried.whys:
                reasons = await work.in_turn(lambda: self.retries.reopen(part, retried))
            async for message in self._carry_out(work, part, permission.money, execution):
                yield message
            self.retries.close_unsent(reasons)

    def note(self, *events: Event) -> None:
        """See `Driver`: the graph takes the events, too."""
        self.running.note(*events)

    def _forget_failures(self) -> None:
        self.running.failures_in_a_row = 0

    async def _retry(self, happened: RunUpdate) -> AsyncGenerator[DriverMessage, None]:
        """Submit again the failed jobs that the policy retries now."""
        work = RoundWork(self.running, self.turn)
        for each in await work.in_turn(lambda: self.retries.plans(happened)):
            skipped = (each.problem,) if each.plan is None else each.plan.skipped
            for entry in self._problems(skipped, keep=True):
                yield entry
            if each.plan is not None and each.plan.jobs:
                async for entry in self._send_permitted(work, each.plan, SeparateJobs(), each):
                    yield entry

    async def spent(self) -> Spent:
        """See `Driver`."""
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
    ) -> AsyncGenerator[DriverMessage, None]:
        async with self.turn:
            await asyncio.to_thread(self.running.prepare, plan)
        sending = await self.submit(plan, money, _steps(execution, work, plan))
        sent = await asyncio.to_thread(self._settle_plan, plan, sending)
        if sent:
            self._sent = self._sent_now = True
            yield self.sent(sent, plan)
        for each in self._problems(sending.errors, keep=True):
            yield each
        if sending.stopped:
            yield self.paused(sending.stopped)

    def _settle_plan(self, plan: Plan, sending: SentPlan) -> int:
        """Let the jobs that were not submitted rest; return the number of the others."""
        now = time.monotonic()
        for job in plan.jobs:
            running = self.running
            jobs = [PILOT] if is_pilot(job.token) else running.jobs_of(job.action, job.directories)
            if job.token in sending.unsent:
                self.resting.refused(jobs, now, by_silence=sending.silent)
            else:
                self.resting.sent(jobs)
        return len(plan.jobs) - len(sending.unsent)

    def _problems(self, texts: Sequence[str], *, keep: bool = False) -> list[DriverMessage]:
        """Return messages for new problems. `keep`: earlier problems still hold."""
        before = self._blocked if keep else ()
        self._blocked = tuple(dict.fromkeys((*before, *texts)))
        return list(self.problems(self._blocked))

    def _pace(self, happened: RunUpdate) -> Pace:
        counts = self.running.graph.counts()
        active = any(each[GraphJobState.SUBMITTED] for each in counts)
        goes_on = bool(self._sent or happened or self.resting.will_be_tried or self._waits)
        due_at = self.retries.due_at
        idle = not (goes_on or self._blocked) and self.ask_queues is None
        return Pace(goes_on or active or due_at is not None, idle, due_at)

    async def nothing_left(self) -> DriverMessage:
        """See `Driver`."""
        return self.paused("; ".join(self._blocked) or "nothing is eligible and nothing runs")

    def _over(self) -> DriverMessage:
        lost = self.running.finish()
        return DriverMessage(MessageKind.OVER, over_text(self.running, lost), success=not lost)

    async def _give_back(self) -> None:
        """Release what the plug-in still holds. The run is over even if this fails."""
        try:
            with _separate_errors(self.execution, RowtuiError):
                await self.execution.over(RoundWork(self.running, self.turn))
        except (RowtuiError, OSError) as error:
            self.project.notice(str(error))


async def _steps(
    execution: ExecutionPlugin, work: RoundWork, plan: Plan
) -> AsyncGenerator[SendingProgress, None]:
    """Yield the steps of the plug-in. Raises: RowtuiError, also if a third-party plug-in fails."""
    with _separate_errors(execution, RowtuiError):
        async with contextlib.aclosing(execution.carry_out(work, plan)) as steps:
            async for step in steps:
                yield step


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


def begun_text(running: OpenRun, made: int) -> str:
    """Return the size of a run that begins. `made`: directories made now."""
    samples = plural(len(running.graph), "sample")
    return f"{samples}, {plural(made, 'new directory', 'new directories')}"


def happened_text(happened: RunUpdate) -> str:
    """Return what a poll found."""
    parts = []
    if happened.completed:
        parts.append(f"{plural(happened.completed, 'sample')} completed")
    if happened.failed:
        parts.append(f"{plural(len(happened.failed), 'sample')} failed")
    if happened.continued:
        parts.append(plural(len(happened.continued), "sample continues", "samples continue"))
    if happened.blocked:
        parts.append(f"{happened.blocked:,} blocked")
    if happened.new:
        parts.append(f"{plural(happened.new, 'new sample')}")
    if happened.published:
        parts.append(f"{happened.published:,} published")
    return ", ".join(parts)


def over_text(running: OpenRun, lost: int) -> str:
    """Return how a run ended. `lost`: jobs that are not complete."""
    if not lost:
        return "all jobs are completed"
    counts = running.graph.counts()
    failed = sum(each[GraphJobState.FAILED] for each in counts)
    cancelled = sum(each[GraphJobState.CANCELLED] for each in counts)
    more = lost - failed - cancelled
    what = [f"{plural(failed, 'sample')} failed"] if failed or not cancelled else []
    if cancelled:
        what.append(f"{plural(cancelled, 'sample was', 'samples were')} cancelled")
    return f"nothing is left to do: {', '.join(what)}" + (
        f", and {more:,} that depend on their results cannot run" if more else ""
    )
