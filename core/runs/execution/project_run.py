"""Drive a project without a network to the end: submit eligible work, retry what may be retried.

Takes a run of `RunStore(root, PROJECT_RUNS)`, whose limits the user confirmed, and the project's
retry policy. Gives a message for each step, as the autopilot of networks does. A turn polls the
queues that are due, reads the records, submits what the limits allow, and waits for a change. Every
decision is in the run's journal before its effect, so that a run which was interrupted at any
moment goes on with the next `rowtui run`.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.schedulers.base import token_in_queue
from rowtui.core.clusters.transports.login import PASSING, LoginError
from rowtui.core.project.planning.pack_terms import prices_of
from rowtui.core.project.planning.plan_submission import plan_submission
from rowtui.core.project.retry_policy import RetryPolicy
from rowtui.core.project.review.budgets import balances_of
from rowtui.core.project.views.follow import Changes
from rowtui.core.project.views.mapping_trust import untrusted_files
from rowtui.core.runs.execution.execution import LONGEST_SECONDS, LookPause
from rowtui.core.runs.execution.open_work import OpenWork, open_work, plan_retries
from rowtui.core.runs.execution.permission import permitted_part
from rowtui.core.runs.execution.result import (
    NOT_PLACEABLE,
    EndedJobs,
    Pair,
    left_out_by,
    run_result,
)
from rowtui.core.runs.execution.rounds import (
    STOPPED_ELSEWHERE,
    Ask,
    AutopilotMessage,
    MessageKind,
    until_writable,
)
from rowtui.core.runs.execution.run_messages import (
    PROJECT_COMMANDS,
    has_budget,
    report_budget,
    report_run,
    reported_driver,
)
from rowtui.core.runs.limits.limits import Fit, Spent, fits
from rowtui.core.runs.limits.spending import (
    never_begun,
    not_sent_events,
    submitted_events,
    unsent_of,
)
from rowtui.core.runs.model import (
    Finished,
    JobFailed,
    NotSent,
    Paused,
    PlanSubmitted,
    Resumed,
    Retried,
    RunStarted,
    RunStatus,
    Stopped,
)
from rowtui.core.runs.run import Run
from rowtui.core.state.model import bit_set, positions
from rowtui.core.submission.plan.charges import charges_of
from rowtui.core.submission.plan.model import Plan
from rowtui.core.submission.plan.planner import PlanError
from rowtui.core.submission.sending.send import SilentClusterError
from rowtui.core.workflow.find import matching_actions

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.workflow.model import Action

LOOK_SECONDS = 1.0
STUCK_SECONDS = 600.0  # without a plan that could be sent: the run pauses, or reports the silence
_IDLE_LOOKS = 2


@dataclass
class ProjectRun:
    """One run of the actions that match `pattern`. `ask`: see `Ask`; None pauses the run instead.

    `look_seconds`: the shortest wait between two looks. Only `drive` is asynchronous.
    """

    project: OpenProject
    run: Run
    policy: RetryPolicy
    pattern: str | None = None
    ask: Ask | None = None
    look_seconds: float = LOOK_SECONDS
    _tokens: set[str] = field(default_factory=set)  # of jobs that this run submitted
    _tried: set[str] = field(default_factory=set)  # and of those that no scheduler took
    _ends: EndedJobs = field(default_factory=EndedJobs)  # of these
    _due: dict[str, float] = field(default_factory=dict)  # see `found_retries`
    _reported: set[str] = field(default_factory=set)
    _left_out: dict[Pair, str] = field(default_factory=dict)  # by the last plans, with the reasons
    _stuck_since: float = 0.0  # monotonic seconds: since then no plan could be sent; 0: one could
    _silent: bool = False  # since a cluster does not answer
    _rest: float = 0.0  # seconds to wait after a submission that failed
    _rest_until: float = 0.0
    _idle: int = 0
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        """Read the journal. Raises: RowtuiError."""
        for event in self.run.events():
            if isinstance(event, PlanSubmitted):
                self._tokens.update(event.jobs)
                self._tried.update(event.jobs)
            elif isinstance(event, NotSent):
                self._tokens.difference_update(event.jobs)
            elif isinstance(event, JobFailed):
                self._ends.noted.add(event.token)

    @property
    def actions(self) -> tuple[Action, ...]:
        """Return the actions, as workflow.toml is now."""
        return matching_actions(self.project.workflow, self.pattern)

    @property
    def stopping(self) -> bool:
        """Whether the run is about to end because somebody stopped it."""
        return self._stop.is_set()

    def stop(self, why: str = "") -> None:
        """Make `drive` end soon, and record that the user stopped it. Submitted jobs go on."""
        self._stop.set()
        self._changed.set()
        if self.run.status is RunStatus.RUNNING:
            self.run.append(Stopped(time.time(), why))

    async def drive(self) -> AsyncGenerator[AutopilotMessage, None]:
        """Run until nothing is left or the user must decide. Raises: RowtuiError, RunHeldError."""
        with self.run.hold(), reported_driver(self.project.messages, self.run, PROJECT_COMMANDS):
            begun = await asyncio.to_thread(self._begin)
            yield AutopilotMessage(MessageKind.BEGUN, begun)
            changes = Changes(self.project)
            listening = asyncio.create_task(self._listen(changes))
            try:
                async for message in until_writable(self._turns, self._stop):
                    await asyncio.to_thread(self._report, message)
                    yield message
            finally:
                changes.close()
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)

    def _report(self, message: AutopilotMessage) -> None:
        """Report what a user who is away wants to know of the run."""
        messages = self.project.messages
        if messages is None:
            return
        report_run(messages, self.run, message, time.time(), PROJECT_COMMANDS)
        if message.kind is MessageKind.SENT and has_budget(self.run):
            report_budget(messages, self.run, self.spent())

    def _begin(self) -> str:
        run, now = self.run, time.time()
        is_new = run.status is RunStatus.NEW
        run.append(RunStarted(now) if is_new else Resumed(now))
        directories = len(self.project.state.directories)
        actions = plural(len({action.name for action in self.actions}), "action")
        return f"{actions} on {plural(directories, 'directory', 'directories')}"

    def _refund(self) -> None:
        """Record that jobs were not sent which the journal has as about to be sent."""
        if unsent := never_begun(self.run.events(), self.project.jobs.journal):
            self.run.append(*unsent)

    async def _listen(self, changes: Changes) -> None:
        async for _ in changes.words():
            self._changed.set()

    async def _turns(self) -> AsyncGenerator[AutopilotMessage, None]:
        resting: object = None  # what the last look saw, if there was nothing to do but to wait
        later: float | None = None
        pause = LookPause(self.run, self._changed, self.look_seconds)
        await asyncio.to_thread(self._refund)
        while not self._stop.is_set():
            self._changed.clear()
            await self._look()
            seen = await asyncio.to_thread(self._seen)
            if seen == resting and (later is None or time.monotonic() < later):
                await pause.wait(idle=True, until=later)
                continue
            happened = await asyncio.to_thread(self._take_ends)
            if happened is not None:
                yield happened
            if self.run.status is RunStatus.STOPPED:
                yield AutopilotMessage(MessageKind.PAUSED, STOPPED_ELSEWHERE, success=False)
                return
            work = await asyncio.to_thread(self._open_work)
            for problem in self._new_problems((*work.problems, *work.left)):
                yield AutopilotMessage(MessageKind.PROBLEM, problem, success=False)
            sent = False
            if time.monotonic() >= self._rest_until:
                async for message in self._send(work):
                    yield message
                    sent = sent or message.kind is MessageKind.SENT
                    if message.kind is MessageKind.PAUSED:
                        return
            rests = time.monotonic() < self._rest_until
            waits = sent or happened or rests or work.running or work.later is not None
            self._idle = 0 if waits else self._idle + 1
            if self._idle >= _IDLE_LOOKS:  # other programs submit and complete work as well
                yield await asyncio.to_thread(self._over, work)
                return
            later = work.later
            idle = work.running and not (sent or happened or rests or work.fresh or work.again)
            resting = seen if idle else None
            await pause.wait(idle=bool(idle), until=later)

    def _seen(self) -> tuple[object, ...]:
        """Return what decides about open work; equal until a record or the workflow changes."""
        project = self.project
        stamp = project.jobs.journal.stamp()
        return project.state.generation, stamp, project.workflow, self.run.stamp()

    async def _look(self) -> None:
        """Poll the schedulers that are due, and read the records."""
        project = self.project
        if project.has_jobs_to_ask_for():
            await project.jobs.entered(await project.jobs.queues.ask(may_send=True))
        await asyncio.to_thread(project.synchronise)
        if project.has_jobs_to_ask_for() and project.jobs.unsaved is not None:
            raise project.jobs.unsaved

    def _take_ends(self) -> AutopilotMessage | None:
        """Record failures of this run's jobs that ended since the last look."""
        records = self.project.jobs.records()
        new = self._ends.take(records, self._tokens, self.project.root, self.policy)
        if new.events:
            self.run.append(*new.events)
        if not new.sentence:
            return None
        bad = len(new.events)
        return AutopilotMessage(
            MessageKind.HAPPENED, new.sentence, success=not bad, completed=new.good, failed=bad
        )

    def _open_work(self) -> OpenWork:
        tried = [it for it in self.project.jobs.records() if it.token in self._tried]
        given = self.project, self.actions, tried, self.policy
        return open_work(*given, due=self._due, left_out=self._left_out)

    def _new_problems(self, problems: Iterable[str]) -> Iterator[str]:
        """Yield what is wrong, each sentence once in the run."""
        for text in problems:
            if text not in self._reported:
                self._reported.add(text)
                yield text

    # Submission

    async def _send(self, work: OpenWork) -> AsyncGenerator[AutopilotMessage, None]:
        """Submit retries, each change as a plan, then what is eligible."""
        if not (work.fresh or work.again):
            self._stuck_since = 0.0
        for each in await asyncio.to_thread(lambda: [*plan_retries(self.project, work.again)]):
            self._left_out |= dict.fromkeys(each.pairs if each.plan is None else (), each.problem)
            for text in self._new_problems((each.problem,) if each.plan is None else ()):
                yield AutopilotMessage(MessageKind.PROBLEM, text, success=False)
            if each.plan is not None:
                async for message in self._carry_out(each.plan, each.whys):
                    yield message
        for actions, among in self._together(work.fresh):
            try:
                plan = await asyncio.to_thread(plan_submission, self.project, actions, among)
            except PlanError as error:  # the other actions go on
                name = self.project.state.directories.name
                pairs = [(action.name, name(at)) for action in actions for at in among]
                self._left_out |= dict.fromkeys(pairs, error.problems[0].message)
                for text in self._new_problems(str(problem) for problem in error.problems):
                    yield AutopilotMessage(MessageKind.PROBLEM, text, success=False)
                continue
            async for message in self._carry_out(plan):
                yield message

    def _together(self, fresh: dict[int, list[int]]) -> Iterator[tuple[list[Action], list[int]]]:
        """Yield actions with the directories to submit: in one plan where all are to be submitted
        for all of these actions, so that jobs of several actions can share nodes.
        """
        actions = [it for it in self.actions if it.index in fresh]
        every = bit_set(at for those in fresh.values() for at in those)
        if all(
            self.project.status_row(it).eligible & every == bit_set(fresh[it.index])
            for it in actions
        ):
            if actions:
                yield actions, positions(every)
            return
        for action in actions:
            yield [action], fresh[action.index]

    async def _carry_out(
        self, plan: Plan, retried: Sequence[str] = ()
    ) -> AsyncGenerator[AutopilotMessage, None]:
        for text in self._new_problems(plan.skipped):
            yield AutopilotMessage(MessageKind.PROBLEM, text, success=False)
        for job in plan.jobs:
            for name in job.directories:
                self._left_out.pop((job.action, name), None)
        self._left_out |= left_out_by(plan)
        if not plan.jobs or self._stop.is_set():
            return
        fit = partial(asyncio.to_thread, self._fit, plan)
        permission = await permitted_part(self.run, plan, fit, self.ask)
        if permission.pause:
            yield self._paused(permission.pause, plan)
            return
        part = permission.part
        if part is None:
            return
        for why in retried:
            yield AutopilotMessage(MessageKind.RETRY, why)
        errors: list[str] = []
        number = await self._submit(part, retried, errors)
        if number:
            yield AutopilotMessage(MessageKind.SENT, f"sent {plural(number, 'job')}", plan=part)
        for text in self._new_problems(dict.fromkeys(errors)):
            yield AutopilotMessage(MessageKind.PROBLEM, text, success=False)
        if not self._stuck_since or time.monotonic() - self._stuck_since < STUCK_SECONDS:
            return
        why = f"nothing can be sent: {errors[-1]}"
        if not self._silent:
            yield self._paused(why)
        for text in self._new_problems((why,) if self._silent else ()):
            yield AutopilotMessage(MessageKind.WAITING, text, success=False)

    def _paused(self, why: str, plan: Plan | None = None) -> AutopilotMessage:
        self.run.append(Paused(time.time(), why))
        return AutopilotMessage(MessageKind.PAUSED, why, plan=plan, success=False)

    def _fit(self, plan: Plan) -> Fit:
        prices, balances = prices_of(self.project, plan), balances_of(self.project, plan)
        return fits(self.run.limits, self.spent(), plan, time.time(), prices, balances=balances)

    def spent(self) -> Spent:
        """Return what the run has spent, by its journal and by what is submitted now."""
        submitted = self.project.state.submitted.values()
        ours = {it.token for jobs in submitted for it in jobs.values()} & self._tokens
        failures = self._ends.failures_in_a_row(self.run.about.limits_at or 0.0)
        return self.run.standing.spent(len(set(map(token_in_queue, ours))), failures)

    async def _submit(self, plan: Plan, retried: Sequence[str], errors: list[str]) -> int:
        """Submit a plan, journalled before and after; return how many jobs were accepted."""
        units = tuple(charges_of(plan, prices_of(self.project, plan)))
        self._tokens.update(job.token for job in plan.jobs)
        self._tried.update(job.token for job in plan.jobs)
        now = time.time()
        names: dict[str, list[str]] = {}
        for job in plan.jobs if retried else ():
            names.setdefault(job.action, []).extend(job.directories)
        events = [
            Retried(now, action, tuple(it), "; ".join(retried)) for action, it in names.items()
        ]
        await asyncio.to_thread(self.run.append, *events, *submitted_events(plan.id, units))
        try:
            async with contextlib.aclosing(self.project.jobs.submit(plan)) as steps:
                async for step in steps:
                    if step.error:
                        errors.append(step.error)
                    if self._stop.is_set():
                        break
        except RowtuiError as error:  # nothing was submitted, or what was is in the journal
            errors.append(str(error))
            passes = isinstance(error, LoginError) and error.trouble in PASSING
            self._silent = passes or isinstance(error, SilentClusterError)
            self._stuck_since = self._stuck_since or time.monotonic()
        unsent = unsent_of(plan, self.project.jobs.journal)
        if free := not_sent_events(plan.id, units, unsent):
            await asyncio.to_thread(self.run.append, *free)
        self._tokens -= unsent
        if len(unsent) < len(plan.jobs):
            self._stuck_since = 0.0
        self._rest = min(LONGEST_SECONDS, max(LOOK_SECONDS, 2 * self._rest)) if unsent else 0.0
        self._rest_until = time.monotonic() + self._rest if unsent else 0.0
        return len(plan.jobs) - len(unsent)

    def _over(self, work: OpenWork) -> AutopilotMessage:
        result = run_result(
            self.project, self.actions, self._left_out, work.refused, work.ended_well
        )
        if NOT_PLACEABLE in result.rest and (files := untrusted_files(self.project)):
            return self._paused(f"{visible(files[0].name)} is not trusted; {result.sentence}")
        self.run.append(Finished(time.time(), result.success, result.sentence))
        return AutopilotMessage(MessageKind.OVER, result.sentence, success=result.success)
