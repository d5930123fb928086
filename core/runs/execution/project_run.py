"""The driver of a project without a network: eligible directories, and retries of failed work.

Takes a run of `RunStore(root, PROJECT_RUNS)`, whose limits the user confirmed, and the project's
retry policy.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from rowtui.core.base.errors import InvalidFileError, RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.schedulers.base import token_in_queue
from rowtui.core.project.retry_policy import RetryPolicy
from rowtui.core.project.views.mapping_trust import untrusted_files
from rowtui.core.runs.execution.driver import (
    STOPPED_ELSEWHERE,
    Driver,
    DriverMessage,
    MessageKind,
    Pace,
    SentPlan,
)
from rowtui.core.runs.execution.execution import LONGEST_SECONDS, PoolNeeds
from rowtui.core.runs.execution.open_work import (
    FIRST_ATTEMPTS,
    OpenWork,
    RetryPlan,
    by_change,
    open_work,
    plan_fresh,
    plan_retries,
    together,
)
from rowtui.core.runs.execution.permission import Ask
from rowtui.core.runs.execution.result import (
    NOT_PLACEABLE,
    EndedJobs,
    Pair,
    left_out_by,
    run_result,
)
from rowtui.core.runs.execution.rounds import Round
from rowtui.core.runs.execution.run_messages import (
    PROJECT_COMMANDS,
    has_budget,
    report_budget,
    report_run,
    reported_driver,
)
from rowtui.core.runs.limits.limits import Spent
from rowtui.core.runs.model import (
    Finished,
    JobFailed,
    NotSent,
    PlanSubmitted,
    Resumed,
    Retried,
    RunStarted,
    RunStatus,
)
from rowtui.core.runs.run import TERMINATED, Run
from rowtui.core.submission.plan.charges import Money
from rowtui.core.submission.plan.model import Plan
from rowtui.core.submission.plan.planner import PlanError
from rowtui.core.workflow.find import matching_actions

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.project.planning.plan_submission import Pack
    from rowtui.core.runs.execution.pool import NodePool
    from rowtui.core.runs.service import DriverJob
    from rowtui.core.workflow.model import Action

LOOK_SECONDS = 1.0
STUCK_SECONDS = 600.0  # without a plan that could be sent: the run pauses, or reports the silence


class ProjectRun(Driver):
    """Drives a run of the actions of a project that match `pattern`. See `Driver`."""

    def __init__(
        self,
        project: OpenProject,
        run: Run,
        policy: RetryPolicy,
        pattern: str | None = None,
        *,
        ask: Ask | None = None,
        look_seconds: float = LOOK_SECONDS,
        job: DriverJob | None = None,
    ) -> None:
        """Read the journal. `job`: the job that this process is, if any. Raises: RowtuiError."""
        super().__init__(project, run, ask, policy, look_seconds=look_seconds)
        self.pattern = pattern
        self.job = job
        self._tokens: set[str] = set()  # of jobs that this run submitted
        self._tried: set[str] = set()  # and of those that no scheduler took
        self._ends = EndedJobs()  # of these
        self._due: dict[str, float] = {}  # see `found_retries`
        self._left_out: dict[Pair, str] = {}  # by the last plans, with the reasons
        self._stuck_since = 0.0  # monotonic seconds: since then no plan was sent; 0: one was
        self._silent = False  # since a cluster does not answer
        self._rest = 0.0  # seconds to wait after a submission that failed
        self._rest_until = 0.0
        self._resting: object = None  # what the last look saw, if nothing was left but to wait
        self._work: OpenWork | None = None  # of the last turn
        self._pool: NodePool | None = None
        self._no_room = False  # more can be sent when jobs end
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

    async def drive(self) -> AsyncGenerator[DriverMessage, None]:
        """Run until nothing is left or the user must decide. Raises: RowtuiError, RunHeldError."""
        job, messages = self.job, self.project.messages
        held = self.run.hold("" if job is None else job.record.name_at)
        with held, reported_driver(messages, self.run, PROJECT_COMMANDS):
            begun = await asyncio.to_thread(self._begin)
            yield DriverMessage(MessageKind.BEGUN, begun)
            if job is not None:
                asyncio.get_running_loop().call_later(job.seconds, self._hand_over)
            async for message in self.turns():
                await asyncio.to_thread(self._report, message)
                yield message
            if job is not None and not self.run.may_go_on:
                await job.end()

    def _hand_over(self) -> None:
        """End before the time limit of the job, so that its successor goes on."""
        with contextlib.suppress(RowtuiError):
            self.stop(TERMINATED)

    def _report(self, message: DriverMessage) -> None:
        """Report what a user who is away wants to know of the run."""
        messages = self.project.messages
        if messages is None:
            return
        report_run(messages, self.run, message, time.time(), PROJECT_COMMANDS)
        if message.kind is MessageKind.SENT and has_budget(self.run):
            report_budget(messages, self.run, self._spent())

    def _begin(self) -> str:
        run, now = self.run, time.time()
        run.append(RunStarted(now) if run.status is RunStatus.NEW else Resumed(now))
        directories = len(self.project.state.directories)
        actions = plural(len({action.name for action in self.actions}), "action")
        return f"{actions} on {plural(directories, 'directory', 'directories')}"

    async def one_turn(self) -> AsyncGenerator[DriverMessage, None]:
        """See `Driver`."""
        for problem in self.problems(await asyncio.to_thread(self._reload)):
            yield problem
        await self.look()
        for problem in self.problems(await self.job.follow() if self.job is not None else ()):
            yield problem
        seen = await asyncio.to_thread(self._seen)
        later = self.pace.until
        if seen == self._resting and (later is None or time.monotonic() < later):
            return
        happened = await asyncio.to_thread(self._take_ends)
        if happened is not None:
            yield happened
        if self.run.status is RunStatus.STOPPED:
            yield DriverMessage(MessageKind.PAUSED, STOPPED_ELSEWHERE, success=False)
            return
        work = self._work = await asyncio.to_thread(self._open_work)
        for problem in self.problems((*work.problems, *work.left)):
            yield problem
        sent = self._no_room = False
        if time.monotonic() >= self._rest_until:
            async for message in self._send(work):
                yield message
                sent = sent or message.kind is MessageKind.SENT
        goes_on = bool(sent or happened or time.monotonic() < self._rest_until)
        active = goes_on or self._no_room
        waits = bool(active or work.running or work.later is not None)
        idle = bool(work.running and not (active or work.fresh or work.again))
        full = self._no_room and self._pool is None and not goes_on  # until one of its jobs ends
        self._resting = seen if idle or full else None
        late_at = None if self._pool is None else self._pool.late_at
        self.pace = Pace(waits, idle, min(filter(None, (work.later, late_at)), default=None))

    def _reload(self) -> list[str]:
        """Use workflow.toml as it is now; return why its last usable form is used instead."""
        try:
            self.project.reload_workflow_if_changed()
        except InvalidFileError as error:
            return [f"not used as it is now: {error.problems[0]}"]
        return []

    def _seen(self) -> tuple[object, ...]:
        """Return what decides about open work; equal until a record or the workflow changes."""
        project = self.project
        stamp = project.jobs.journal.stamp()
        return project.state.generation, stamp, project.workflow, self.run.stamp()

    def _take_ends(self) -> DriverMessage | None:
        """Record failures of this run's jobs that ended since the last look."""
        records = self.project.jobs.records()
        new = self._ends.take(records, self._tokens, self.project.workflow, self.policy)
        if new.events:
            self.run.append(*new.events)
        if not new.sentence:
            return None
        bad = len(new.events)
        return DriverMessage(
            MessageKind.HAPPENED, new.sentence, success=not bad, completed=new.good, failed=bad
        )

    def _open_work(self) -> OpenWork:
        tried = [it for it in self.project.jobs.records() if it.token in self._tried]
        given = self.project, self.actions, tried, self.policy
        return open_work(*given, due=self._due, left_out=self._left_out)

    async def _send(self, work: OpenWork) -> AsyncGenerator[DriverMessage, None]:
        """Submit retries, each change as a plan, then what is eligible."""
        pooled = self.run.limits.allocations is not None
        self._no_room = not pooled and self.run.limits.is_full(await self.spent())
        if not (work.fresh or work.again):
            self._stuck_since = 0.0
        if self._no_room:
            return
        for alike in by_change(work.again):
            async for message in self._send_planned(partial(plan_retries, self.project, alike)):
                yield message
        for actions, among in together(self.project, self.actions, work.fresh):
            try:
                fresh = partial(plan_fresh, self.project, actions, among)
                async for message in self._send_planned(fresh):
                    yield message
            except PlanError as error:  # the other actions go on
                name = self.project.state.directories.name
                pairs = [(action.name, name(at)) for action in actions for at in among]
                self._left_out |= dict.fromkeys(pairs, error.problems[0].message)
                for problem in self.problems(map(str, error.problems)):
                    yield problem
        if pooled:
            more = bool(work.running or work.fresh or work.again or work.later)  # may follow
            pool = self._the_pool()
            self._no_room |= await pool.release(self._tokens, self.turn, more=more)
            for problem in self.problems(pool.late()):
                yield problem

    async def _send_planned(
        self, make: Callable[[int | None, Pack | None], RetryPlan]
    ) -> AsyncGenerator[DriverMessage, None]:
        """Submit what `make` plans, to the pool if the run has one. Raises: PlanError."""
        if self.run.limits.allocations is None:
            made = await asyncio.to_thread(make, None, None)
            for problem in self._unplanned(made):
                yield problem
            if made.plan is not None:
                async for message in self._carry_out(made.plan, made):
                    yield message
            return
        pool = self._the_pool()
        made = FIRST_ATTEMPTS

        async def planned(most: int, pack: Pack) -> Round:
            nonlocal made
            made = await asyncio.to_thread(make, most, pack)
            plan = made.plan
            if plan is None:
                return Round(None)
            self._left_out |= left_out_by(plan)
            return Round(plan if plan.jobs else None, plan.skipped)

        again = True
        while again and not self.stopping:
            may_open = not self.run.limits.is_full(await self.spent())
            needs = PoolNeeds(self.turn, self._tokens, self._ends.good, may_open, planned)
            found = await pool.place(needs)
            again = found.again
            self._no_room = self._no_room or found.waits
            for problem in (*self._unplanned(made), *self.problems(found.blocked)):
                yield problem
            if pool.stuck:
                yield self.paused(pool.stuck)
            if found.plan is None:
                return
            sent = False
            retried = made if found.plan is made.plan else FIRST_ATTEMPTS  # else: allocations
            async for message in self._carry_out(found.plan, retried):
                sent = sent or message.kind is MessageKind.SENT
                yield message
            if not sent:
                pool.forget()
                return

    def _unplanned(self, made: RetryPlan) -> list[DriverMessage]:
        """Return messages of retries for which there is no plan, and note them."""
        if made.plan is not None or not made.problem:
            return []
        self._left_out |= dict.fromkeys(made.pairs, made.problem)
        return [*self.problems((made.problem,))]

    def _the_pool(self) -> NodePool:
        from rowtui.core.runs.execution.pool import pool_of, pool_sizes  # numpy; few have a pool

        self._pool = pool_of(self.project, pool_sizes(self.run.limits), self._pool)
        return self._pool

    async def _carry_out(
        self, plan: Plan, retried: RetryPlan = FIRST_ATTEMPTS
    ) -> AsyncGenerator[DriverMessage, None]:
        for problem in self.problems(plan.skipped):
            yield problem
        for job in plan.jobs:
            for name in job.directories:
                self._left_out.pop((job.action, name), None)
        self._left_out |= left_out_by(plan)
        if not plan.jobs or self.stopping:
            return
        permission = await self.permitted(plan)
        if permission.pause:
            yield self.paused(permission.pause, plan)
            return
        part = permission.part
        if part is None:
            self._no_room = self._no_room or (await self.spent()).jobs_in_queue > 0
            return
        for message in retried.messages:
            yield message
        sending = await self._submit(part, permission.money, retried)
        if number := len(part.jobs) - len(sending.unsent):
            yield self.sent(number, part)
        for problem in self.problems(sending.errors):
            yield problem
        if not self._stuck_since or time.monotonic() - self._stuck_since < STUCK_SECONDS:
            return
        why = f"nothing can be sent: {sending.errors[-1]}"
        if not self._silent:
            yield self.paused(why)
        elif not self.logins_needed:  # which was reported
            for message in self.problems((why,), MessageKind.WAITING):
                yield message

    async def spent(self) -> Spent:
        """See `Driver`."""
        return await asyncio.to_thread(self._spent)

    def _spent(self) -> Spent:
        submitted = self.project.state.submitted.values()
        ours = {it.token for jobs in submitted for it in jobs.values()} & self._tokens
        failures = self._ends.failures_in_a_row(self.run.about.limits_at or 0.0)
        return self.run.standing.spent(len(set(map(token_in_queue, ours))), failures)

    async def _submit(self, plan: Plan, money: Mapping[str, Money], retried: RetryPlan) -> SentPlan:
        """Submit a plan; `retried`: why its jobs are tried again."""
        tokens = {job.token for job in plan.jobs}
        self._tokens |= tokens
        self._tried |= tokens
        names: dict[str, list[str]] = {}
        for job in plan.jobs if retried.whys else ():
            names.setdefault(job.action, []).extend(job.directories)
        now, how = time.time(), ("; ".join(retried.whys), retried.continues)
        before = [Retried(now, action, tuple(it), *how) for action, it in names.items()]
        sending = await self.submit(plan, money, self.project.jobs.submit(plan), before)
        self._tokens -= sending.unsent
        if sending.failed:
            self._silent = sending.silent
            self._stuck_since = self._stuck_since or time.monotonic()
        if len(sending.unsent) < len(plan.jobs):
            self._stuck_since = 0.0
        rest = min(LONGEST_SECONDS, max(LOOK_SECONDS, 2 * self._rest)) if sending.unsent else 0.0
        self._rest, self._rest_until = rest, time.monotonic() + rest if rest else 0.0
        return sending

    async def nothing_left(self) -> DriverMessage:
        """See `Driver`."""
        assert self._work is not None
        if self._pool is not None:
            await self._pool.release(self._tokens, self.turn, more=False)
        return await asyncio.to_thread(self._over, self._work)

    def _over(self, work: OpenWork) -> DriverMessage:
        result = run_result(
            self.project, self.actions, self._left_out, work.refused, work.ended_well
        )
        if NOT_PLACEABLE in result.rest and (files := untrusted_files(self.project)):
            return self.paused(f"{visible(files[0].name)} is not trusted; {result.sentence}")
        self.run.append(Finished(time.time(), result.success, result.sentence))
        return DriverMessage(MessageKind.OVER, result.sentence, success=result.success)
