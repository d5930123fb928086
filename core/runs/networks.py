"""Commands on the network of a project and its runs: start, drive, submit, retry, give up.

One object serves one project, and answers the queries of `NetworkQueries` as well.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.schedulers.base import token_in_queue
from rowtui.core.network.graph.job_model import GraphChange
from rowtui.core.project.planning.pack_terms import prices_of
from rowtui.core.project.retry_policy import RetryPolicy, load_policy
from rowtui.core.runs.directories.readiness import is_sent_ahead
from rowtui.core.runs.execution.autopilot import Autopilot
from rowtui.core.runs.execution.driver import DriverMessage, MessageKind
from rowtui.core.runs.execution.execution import RoundWork
from rowtui.core.runs.execution.permission import Ask, part_of
from rowtui.core.runs.execution.plug_ins import find_execution
from rowtui.core.runs.execution.run_messages import (
    has_budget,
    report_budget,
    report_run,
    reported_driver,
)
from rowtui.core.runs.limits.limits import RunLimits, fits, with_currency
from rowtui.core.runs.limits.spending import (
    not_sent_events,
    submitted_events,
    unsent_of,
)
from rowtui.core.runs.limits.times import unknown_clusters
from rowtui.core.runs.lock import RunHeldError
from rowtui.core.runs.model import BY_HAND, Cancelled, Paused, PlanSubmitted, Retried, RunStatus
from rowtui.core.runs.network_views import NetworkQueries
from rowtui.core.runs.redo import Redone, redo, said, stale_results, with_what_follows
from rowtui.core.runs.running import OpenRun
from rowtui.core.runs.snapshot import read_study, wanted_directories
from rowtui.core.runs.store import BadRun, Run
from rowtui.core.submission.plan.charges import Charge, charges_of
from rowtui.core.submission.plan.model import OPEN

if TYPE_CHECKING:
    from rowtui.core.submission.plan.model import Plan

T = TypeVar("T")
_NAMED = 20  # directories named in one notice
_BY_HAND = "jobs were submitted by hand: 'rowtui network run' goes on"


class Advanced(NamedTuple):
    """How many jobs wait for inputs, and whether only completions and failures change
    that number.
    """

    waiting: int
    settled: bool


class Networks(NetworkQueries):
    """The network of a project and its runs. All methods except `drive` block on the disk."""

    def begin(
        self,
        limits: RunLimits | None = None,
        *,
        anew: bool = False,
        name: str | None = None,
        plug_ins: Mapping[str, str] | None = None,
    ) -> Run:
        """Return the run to resume: the run of this name, the newest open run, or a new one.

        `limits`: confirmed by the user, from now on. `anew`: make a new run in any case. Raises:
        RowtuiError, also for a limit to an unknown cluster.
        """
        limits = limits and with_currency(limits, self.project.cluster)
        patterns = limits.destinations if limits is not None else None
        if patterns and (wrong := unknown_clusters(patterns, self.clusters)):
            raise RowtuiError(wrong, "write the name of a cluster, or CLUSTER/PARTITION")
        run = None if anew else self.run(name)
        if run is None or (name is None and run.status.is_over):
            study = read_study(self.project)
            return self.store.create(
                study.network,
                study.rows.values(),
                limits=limits,
                cluster=self.project.cluster_name or "",
                plug_ins=plug_ins,
            )
        if limits is not None:
            run.confirm(limits, time.time())
        return run

    def advance(self) -> Advanced | None:
        """Make the directories of jobs that became ready when the jobs before them completed.

        The network is that of the newest open run, otherwise that of network.toml. An open run
        whose jobs are all complete is finished. Returns None if another process drives the run,
        because that process does all of this. Raises: RowtuiError.
        """
        run = self.run()
        if run is not None and not run.status.is_over and run.holder() is not None:
            return None
        now = self._now()
        made = now.advance()
        for conflict in made.conflicts[:_NAMED]:
            self.project.notice(f"{visible(conflict.name)}: {conflict.why}")
        ahead = is_sent_ahead(now.growth, now.facts, self.project.state)
        waiting = self.waiting()
        # A run that was made this moment is driven the next.
        ends = isinstance(now, OpenRun) and now.status is not RunStatus.NEW and now.is_complete
        if ends:
            assert run is not None
            try:
                self._finish(run)
            except RunHeldError:
                return None
        return Advanced(waiting, not (ahead or ends))

    def _finish(self, run: Run) -> None:
        """Publish what sinks of a run lack and end the run, as the process does that drives a run.

        Nothing is done if another process has ended the run before, or while the run has pilots.
        Raises: RowtuiError, RunHeldError.
        """
        with run.hold():
            if run.status.is_over:
                return
            running = OpenRun(self.project, run)
            published = running.look().published
            self._running = None
            if not running.is_complete or running.pilots():
                return
            if stale := said(stale_results(running)):
                self.project.notice(stale)
            running.finish()
            more = f"; {plural(published, 'result')} published" if published else ""
            self.project.notice(f"run {run.id} is finished: all its jobs are complete{more}")

    async def drive(
        self,
        run: Run,
        ask: Ask | None = None,
        *,
        by_step: bool = False,
        turn: asyncio.Lock | None = None,
        ask_queues: Callable[[], Awaitable[None]] | None = None,
        policy: RetryPolicy | None = None,
    ) -> AsyncGenerator[DriverMessage, None]:
        """Drive a run until it is over or the user has to decide. Raises: RowtuiError.

        Without `ask`, a plan beyond the limits pauses the run. `policy`: None for the rules of the
        project. `turn`, `ask_queues`: see `Autopilot`.
        """
        if policy is None:
            policy = await asyncio.to_thread(load_policy, self.project.root)
        turn = turn or asyncio.Lock()
        with run.hold(), reported_driver(self.project.messages, run):
            async with turn:
                running = await asyncio.to_thread(OpenRun, self.project, run)
            self.driving = Autopilot(
                running,
                ask,
                by_step=by_step,
                turn=turn,
                ask_queues=ask_queues,
                policy=policy,
            )
            try:
                async with aclosing(self.driving.drive()) as telling:
                    async for message in telling:
                        await self._report(run, running, message, turn)
                        yield message
            finally:
                self.driving = None
                self._running = None

    async def _report(
        self, run: Run, running: OpenRun, told: DriverMessage, turn: asyncio.Lock
    ) -> None:
        """Report what a user who is away wants to know of the run."""
        messages = self.project.messages
        if messages is None:
            return
        report_run(messages, run, told, time.time())
        if told.kind is MessageKind.SENT and has_budget(run):
            async with turn:
                spent = await asyncio.to_thread(running.spent)
            report_budget(messages, run, spent)

    async def next_plan(self, run: Run) -> tuple[Plan | None, tuple[str, ...]]:
        """Return what a run would submit now, for confirmation; and why some jobs cannot be
        submitted.

        Raises: PlanError; RowtuiError; RunHeldError.
        """
        with run.hold():
            running = await asyncio.to_thread(OpenRun, self.project, run)
            await asyncio.to_thread(running.begin)
            found = await find_execution(running.execution).plan(RoundWork(running))
            if running.graph.is_over:
                await asyncio.to_thread(running.finish)
            self._running = None
        return found.plan, found.blocked

    def note_submitted(self, run: Run, plan: Plan) -> None:
        """Record that a plan of a run is about to be submitted. Raises: RowtuiError."""
        directories = self.project.state.directories
        if any(directories.position(it) is None for job in plan.jobs for it in job.directories):
            running = OpenRun(self.project, run)
            running.look()
            running.prepare(plan)
        run.append(*submitted_events(plan.id, self._charges(plan)))
        self._running = None

    def note_unsent(self, run: Run, plan: Plan) -> None:
        """Record which jobs of a plan were not submitted: they are refunded.

        Raises: RowtuiError.
        """
        unsent = unsent_of(plan, self.project.jobs.journal)
        if free := not_sent_events(plan.id, self._charges(plan), unsent):
            run.append(*free)
        self._running = None

    def take_plan(self, plan: Plan) -> tuple[Run, Plan] | None:
        """Record that the user submits a plan as a step of the run; start a run if there is none.

        Returns the run and the part of the plan that belongs to the network; None if there is no
        such part, or if a run has the plan already. Raises: RowtuiError if the run's limits do not
        allow the plan.
        """
        run = self.run()
        for each in () if run is None else (run, *(it for it in self.runs() if it.id != run.id)):
            if isinstance(each, Run) and _has_plan(each, plan):
                return None
        if run is not None and run.status.is_over and self.has_changed(run):
            run = None
        growth = self.unstarted().growth
        running = None if run is None else self.running(run.id)
        if running is not None:
            growth = running.growth
        jobs = {job.token: growth.jobs_of(job.action, job.directories) for job in plan.jobs}
        ours = part_of(plan, [token for token, its in jobs.items() if its])
        if not ours.jobs:
            return None
        if run is None or running is None:
            run = self.begin(anew=True)
            running = OpenRun(self.project, run, drives=False)
        now = time.time()
        prices = prices_of(self.project, plan)
        fit = fits(run.limits, running.spent(), ours, now, prices)
        if fit.breaches:
            raise RowtuiError(
                f"run {run.id} does not allow this: "
                + "; ".join(it.sentence for it in fit.breaches),
                "'rowtui network run' asks whether to allow more; -n submits fewer jobs",
            )
        lost = (it for its in jobs.values() for it in its if running.graph.root_causes(it) == [it])
        again: dict[str, list[str]] = {}
        for job in lost:
            again.setdefault(growth.where(job).node, []).append(growth.directory(job))
        run.append(*(Retried(now, node, tuple(names)) for node, names in again.items()))
        run.append(*submitted_events(ours.id, charges_of(ours, prices)))
        if run.status is RunStatus.NEW or run.status.is_over:
            run.append(Paused(now, _BY_HAND))
        return run, ours

    def take_cancelled(self, tokens: Collection[str]) -> None:
        """Make the newest run, if it is open, leave alone the jobs that the user cancels.

        Raises: RowtuiError.
        """
        run = self.run()
        if run is None or run.status.is_over:
            return
        running = self.running()
        assert running is not None
        growth = running.growth
        names: dict[str, list[str]] = {}
        for record in self.project.jobs.records():
            # or the token of its pilot
            meant = {record.token, token_in_queue(record.token)} & set(tokens)
            if meant and record.step in OPEN and record.token in running.tokens:
                for job in growth.jobs_of(record.action, record.directories):
                    names.setdefault(growth.where(job).node, []).append(growth.directory(job))
        if names:
            now = time.time()
            run.append(*(Cancelled(now, node, tuple(its), BY_HAND) for node, its in names.items()))
            count = plural(sum(map(len, names.values())), "job")
            self.project.notice(f"run {run.id} leaves {count} alone until 'rowtui network retry'")

    def _charges(self, plan: Plan) -> tuple[Charge, ...]:
        return tuple(charges_of(plan, prices_of(self.project, plan)))

    def retry(self, jobs: Sequence[int], name: str | None = None) -> GraphChange:
        """Try failed jobs again. Raises: RowtuiError, RunHeldError."""
        return self._decide(name, lambda running: running.retry(jobs))

    def give_up(self, jobs: Sequence[int], why: str = "", name: str | None = None) -> GraphChange:
        """Give up jobs and the jobs that depend on them. Raises: RowtuiError, RunHeldError."""
        return self._decide(name, lambda running: running.cancel(jobs, why))

    def redo(self, jobs: Sequence[int], name: str | None = None) -> Redone:
        """Run complete jobs again, and all jobs that used their results.

        Their products are moved to the trash. Raises: RowtuiError, RunHeldError.
        """
        return self._decide(name, lambda it: redo(it, with_what_follows(it, jobs)))

    def _decide(self, name: str | None, what: Callable[[OpenRun], T]) -> T:
        if self.driving is not None:
            return what(self.driving.running)
        run = self.run(name)
        if run is None:
            raise RowtuiError("there is no run of this network", "'rowtui network run' starts one")
        with run.hold():
            running = OpenRun(self.project, run)
            running.look()
            self._running = None
            done = what(running)
            if running.status.is_over and not running.graph.is_over:
                run.append(Paused(time.time(), "jobs are to run again"))
            return done


def _has_plan(run: Run, plan: Plan) -> bool:
    """Whether the journal of a run records the submission of this plan."""
    return any(isinstance(it, PlanSubmitted) and it.plan_id == plan.id for it in run.events())


def unneeded_directories(networks: Networks) -> tuple[list[str], dict[str, str]]:
    """Return retired directories that no run needs, and the needed ones with their run's name.

    Raises: RowtuiError.
    """
    retired = networks.retired()
    wanted: dict[str, str] = {}
    for run in networks.runs() if retired else ():
        if isinstance(run, BadRun) or run.status.is_over:
            continue
        flow = OpenRun(networks.project, run, drives=False).growth.flow
        names = {name for name, _ in wanted_directories(flow)}
        wanted.update((name, run.id) for name in retired if name in names)
    return [name for name in retired if name not in wanted], wanted
