"""An open run: its graph, updated from the project's records, and what the run writes to disk.

Every decision is written to the run's journal first. All steps can be repeated: after a crash, the
same state is found in the journal and in the project's records. The methods block on the disk, so
call them in a thread if the event loop must continue.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import Cost, visible
from rowtui.core.clusters.schedulers.base import token_in_queue
from rowtui.core.network.definition.spec import JSON
from rowtui.core.network.graph.dynamic_graph import Growth
from rowtui.core.network.graph.job_model import GraphChange, GraphJobState
from rowtui.core.network.samples.sample_flow import ListKey
from rowtui.core.runs.directories.directories import Made, make_directories
from rowtui.core.runs.directories.dynamic_lists import TakenLists
from rowtui.core.runs.directories.inputs import write_inputs
from rowtui.core.runs.directories.needs import inputs_of, look_for_lost
from rowtui.core.runs.directories.publishing import Publishing
from rowtui.core.runs.directories.readiness import (
    UNUSABLE,
    bring_directories,
    left_out,
    make_ready,
    own_nodes,
    refused,
)
from rowtui.core.runs.execution.order import ranks_of
from rowtui.core.runs.limits.asked import GraphAmounts
from rowtui.core.runs.limits.limits import Spent
from rowtui.core.runs.limits.run_times import seconds_of_job
from rowtui.core.runs.limits.spending import given_up_of, never_begun, not_sent_events
from rowtui.core.runs.model import (
    BY_HAND,
    Cancelled,
    Event,
    Finished,
    Grew,
    JobFailed,
    MadeEntry,
    NotSent,
    PlanSubmitted,
    Published,
    Resumed,
    Retried,
    RunStarted,
    RunStatus,
)
from rowtui.core.runs.observed_states import ObservedStates
from rowtui.core.runs.store import Run
from rowtui.core.runs.study import make_study, source_directories
from rowtui.core.submission.bundles.pilot_model import is_in_pilot, is_pilot
from rowtui.core.submission.plan.charges import charges_of
from rowtui.core.submission.plan.model import OPEN, JobStep, JournalEntry, Plan

if TYPE_CHECKING:
    from rowtui.core.project.project import Project

_NAMED = 20  # directories named in one notice
# A job may be returned this many times without a reason (it was refused, or did not find its
# inputs) before it counts as failed.
_RETURNS = 5
_GIVEN_BACK = (
    f"it was sent {_RETURNS} times, and given back each time without having run: see the notices"
)

_NO_PRODUCTS = "it is not complete, and cannot be: its action has no products in workflow.toml"


class Happened(NamedTuple):
    """The result of one update: numbers of jobs."""

    completed: int = 0
    failed: tuple[int, ...] = ()
    cancelled: int = 0
    new: int = 0
    published: int = 0
    stopped: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything happened."""
        return any(self)


class OpenRun:
    """One run, opened by the process that drives it or views it."""

    def __init__(self, project: Project, run: Run, *, drives: bool = True) -> None:
        """Build the graph from the snapshot and the journal. Raises: RowtuiError.

        `drives`: a viewing process (False) writes nothing and makes nothing.
        """
        self.project = project
        self.run = run
        self.drives = drives
        self.priority = run.about.plug_ins.get("priority", run.network.schedule.priority)
        self.execution = run.about.plug_ins.get("execution", run.network.schedule.execution)
        self._taken = TakenLists(run.network)
        self.tokens: set[str] = set()  # of jobs that this run submitted: their failures count
        # Node, directory, token: of failures that are to be tried again and no longer count.
        self._again: set[tuple[str, str, str]] = set()
        self._plan_of: dict[str, str] = {}  # plan ids by token
        self._plan_order: dict[str, int] = {}  # by plan id: how many plans were submitted before
        # By node and directory: how many plans were submitted before the user cancelled the job.
        self._cancelled: dict[tuple[str, str], int] = {}
        self._settled: set[str] = set()  # plans for which no refund can follow
        self._used: dict[str, Cost] = {}  # by token, of jobs that ended
        self._used_of: set[str] = set()  # plans whose jobs are all in `_used`
        self._used_at: tuple[tuple[str, int], ...] | None = None
        self._given_back: set[str] = set()  # tokens of refunded jobs
        self.failures_in_a_row = 0
        self._publishing = Publishing(project, run)
        self._failed: set[tuple[str, str, str]] = set()  # node, directory, token: in the journal
        self._own: set[Event] = set()  # decisions that this process wrote
        self._unusable: dict[tuple[str, str], str] = {}  # why, by node and directory
        self._returned: Counter[int] = Counter()  # by job: how often it was returned
        self._looked = False
        self._ahead = False  # directories were made before their inputs were complete
        self._made_ready: list[str] = []  # by the last update
        events = run.events()
        self.events = len(events)  # the number of journal events processed
        self.is_new = not any(isinstance(it, RunStarted) for it in events)
        for event in events:
            self._remember(event)
        rows = {its.source: its for its in run.rows}
        study = make_study(project, run.network, rows, self.lists)
        self.problems = study.problems
        self.growth = Growth(study.flow)
        self.graph = self.growth.graph
        self.facts = ObservedStates(self.growth)
        self.asked = GraphAmounts(project, self.growth)
        for event in events:
            if isinstance(event, Cancelled):
                self._tell_cancelled(event.node, event.samples, event.why)
            elif isinstance(event, Retried):
                self._retry_known(event.node, event.samples)
        self._fail_unusable()
        self._set_priorities()

    def _write(self, *events: Event) -> None:
        if self.drives:
            self.run.append(*events)

    def note(self, *events: Event) -> None:
        """Append events to the journal and process them. Raises: RowtuiError."""
        self.run.append(*events)
        for event in events:
            self._remember(event)

    def _remember(self, event: Event) -> None:
        if isinstance(event, Grew):
            self._taken.remember(event)
        elif isinstance(event, PlanSubmitted):
            self.tokens.update(event.jobs)
            self._plan_of.update(dict.fromkeys(event.jobs, event.plan_id))
            self._plan_order.setdefault(event.plan_id, len(self._plan_order))
        elif isinstance(event, NotSent):
            self._given_back.update(event.jobs)
        elif isinstance(event, JobFailed):
            if event.reason.startswith(UNUSABLE):
                self._unusable[event.node, event.sample] = event.reason
            self._failed.add((event.node, event.sample, event.token))
        elif isinstance(event, Cancelled):
            names = ((event.node, name) for name in event.samples)
            self._cancelled.update(dict.fromkeys(names, len(self._plan_order)))
        elif isinstance(event, Retried):
            again = set(event.samples)
            theirs = {it for it in self._failed if it[0] == event.node and it[1] in again}
            self._again |= theirs
            self._failed -= {it for it in theirs if not it[2]}
            for name in event.samples:
                self._unusable.pop((event.node, name), None)
        elif isinstance(event, Published):
            self._publishing.remember(event)

    def follow(self, events: Sequence[Event]) -> bool:
        """Process new events of the driving process; False: a new object must be built."""
        for event in events:
            if isinstance(event, Cancelled | Retried) or not self._taken.has(event):
                return False
        for event in events:
            self._remember(event)
        self.events += len(events)
        self._fail_unusable()
        return True

    # Beginning

    def begin(self, progress: Callable[[int], None] = lambda _: None) -> Made:
        """Record that the run started or resumed, make the directories, and update the graph.

        Raises: RowtuiError.
        """
        now = time.time()
        unsent = never_begun(self.run.events(), self.project.jobs.journal)
        self.note(*unsent, RunStarted(now) if self.is_new else Resumed(now))
        self.is_new = False
        made = self._make(source_directories(self.growth.flow), progress)
        self._take_usable({it.name for it in made.conflicts})
        self._looked = False
        self.look()
        self._refuse(made)
        made.made.extend(self._made_ready)
        return made

    def _make(
        self,
        wanted: Iterable[tuple[str, Mapping[str, object]]],
        progress: Callable[[int], None] = lambda _: None,
    ) -> Made:
        if not self.drives:
            return Made([], [], [])
        made = make_directories(self.project, wanted, self.run.note_made, progress)
        if made.made:
            self.project.synchronise()
        return made

    def _refuse(self, made: Made) -> None:
        """Report which directories cannot be used, and record that their jobs failed."""
        for conflict in made.conflicts[:_NAMED]:
            self.project.notice(f"{visible(conflict.name)}: {conflict.why}")
        self._note_unusable(refused(self.growth, made.conflicts))

    def _fail_left_out(self) -> list[int]:
        """Fail ready jobs whose edited directories their actions no longer include."""
        found = left_out(self.project, self.growth, self.facts)
        self._note_unusable(found)
        return list(found)

    def _note_unusable(self, jobs: Mapping[int, str]) -> None:
        now = time.time()
        events: list[Event] = []
        for job, why in jobs.items():
            node, directory = self.growth.where(job).node, self.growth.directory(job)
            if self._unusable.get((node, directory)) != why:
                events.append(JobFailed(now, node, directory, why))
        self._write(*events)
        for event in events:
            self._remember(event)
        self._fail_unusable()

    def _take_usable(self, not_these: Collection[str]) -> None:
        """Retry jobs whose directories could not be used and are usable by now."""
        flow = self.growth.flow
        usable = [
            job
            for node, name in self._unusable
            if name not in not_these
            and node in flow.runs
            and (job := self.growth.job_in(node, name)) is not None
        ]
        self.graph.retry(usable)
        now = time.time()
        events = [Retried(now, node, tuple(it)) for node, it in self._by_node(usable).items()]
        self._own.update(events)
        self.note(*events)

    def _fail_unusable(self) -> None:
        for (node, name), why in self._unusable.items():
            if node in self.growth.flow.runs:
                job = self.growth.job_in(node, name)
                self.graph.fail([] if job is None else [job], why)

    def _bring_directories(self) -> None:
        """Make the directories of jobs that became ready, and move away those of jobs that wait
        again.
        """
        self._ahead = False
        made = bring_directories(
            self.project, self.growth, self.facts, self.lists, self.run.note_made
        )
        self._refuse(made)
        if made.made:
            self.project.synchronise()
        self._made_ready = made.made

    def advance(self) -> Made:
        """Make the directories of jobs that became ready when the jobs before them completed.

        This is for runs that no process drives. Raises: RowtuiError.
        """
        graph = self.graph
        made = bring_directories(
            self.project,
            self.growth,
            self.facts,
            self.lists,
            self.run.note_made,
            those=lambda job: bool(graph.dependencies(job)),
        )
        for job, why in refused(self.growth, made.conflicts).items():
            graph.fail(job, why)
        if made.made:
            self.project.synchronise()
        return made

    def prepare(self, plan: Plan) -> None:
        """Make the directories of jobs that are submitted before their inputs are complete.

        Raises: RowtuiError.
        """
        directories = self.project.state.directories
        lacking = [
            job
            for planned in plan.jobs
            for job in self.jobs_of(planned.action, planned.directories)
            if directories.position(self.growth.directory(job)) is None
        ]
        own = frozenset(own_nodes(self.growth))
        wanted = [job for job in lacking if self.growth.where(job).node in own]
        if wanted:
            self._ahead = True  # directories of jobs that are not submitted are moved away again
            make_ready(self.project, self.growth, self.lists, wanted, self.run.note_made)
            self.project.synchronise()

    # Updating

    def look(self) -> Happened:
        """Update the graph from the project's records, and act on the changes.

        Raises: RowtuiError if the journal cannot be written.
        """
        if self.drives:
            self._take_appended()
        news = self.facts.news(self.project.state, self._counts)
        if not (news or self._ahead) and self._looked:
            return Happened(failed=tuple(self._fail_left_out()))
        if self.drives and (news.back or not self._looked):
            self._give_back_unstarted()
        self._looked = True
        graph = self.graph
        for node, names in self._by_node(news.gone).items():
            self._publishing.withdraw(self.growth, node, names)
        graph.reopen(news.gone)
        graph.activate(news.active)
        graph.release(news.back)
        before = len(graph)
        broken = self._take_lists(news.complete) if news.complete else {}
        new = len(graph) - before
        if news.unsaid and self.drives:
            look_for_lost(self.project, self.growth, news.unsaid)  # reported by the next update
        failed = [(it.job, it.failure.reason, it.failure.token) for it in news.failed]
        failed += [(job, why, "") for job, why in broken.items()]
        failed += [(job, why, "") for job, why in self._cannot_complete(news.unsaid)]
        cancelled: set[int] = set()
        stopped: set[int] = set(news.strays)
        if news.complete:
            self.failures_in_a_row = 0
        self._write_failures(failed)
        for change in (
            graph.complete([job for job in news.complete if job not in broken]),
            *(graph.fail(job, why) for job, why, _ in failed),
        ):
            cancelled.update(change.cancelled)
            stopped.update(change.stopped)
        if new:
            self._set_priorities()
        left_out = self._fail_left_out()
        if self.drives:
            self._bring_directories()
        return Happened(
            completed=len(news.complete) - len(broken),
            failed=(*(job for job, _, _ in failed), *left_out),
            cancelled=len(cancelled),
            new=new,
            published=self._publishing.publish(self.growth) if self.drives else 0,
            stopped=tuple(stopped),
        )

    def _take_appended(self) -> None:
        """Process events of other processes: plans that the user submitted, and cancelled jobs."""
        events = self.run.events()
        for event in events[self.events :]:
            if isinstance(event, PlanSubmitted | NotSent):
                self._remember(event)
            elif isinstance(event, Cancelled | Retried) and event not in self._own:
                jobs = [
                    job
                    for name in event.samples
                    if event.node in self.growth.flow.runs
                    and (job := self.growth.job_in(event.node, name)) is not None
                ]
                self._remember(event)
                if isinstance(event, Cancelled):
                    self.graph.cancel(jobs, event.why)
                    continue
                self.facts.forget(jobs)
                self.graph.retry([job for job in jobs if self.graph.root_causes(job) == [job]])
        self.events = len(events)

    def _give_back_unstarted(self) -> None:
        """Refund the hours of jobs that left the queue without having run.

        An example is a job that was queued ahead of a job that failed.
        """
        project = self.project
        done = frozenset(project.jobs.journal.done_plan_ids())
        for plan_id in {*self._plan_of.values()} - self._settled:
            try:
                plan = project.jobs.plan(plan_id)
            except RowtuiError:  # the plan was removed: its hours stay counted
                continue
            unsent = given_up_of(plan_id, project.jobs.journal) - self._given_back
            # Money stays counted: the cost of a bundle is known only for a whole plan.
            events = not_sent_events(plan_id, tuple(charges_of(plan)), unsent)
            self.note(*events)
            if plan_id in done:
                self._settled.add(plan_id)

    def _cannot_complete(self, jobs: Sequence[int]) -> Iterator[tuple[int, str]]:
        """Yield returned jobs that must not be submitted again, and why."""
        # A job that waited for a failed one was not returned because of a fault of its own.
        self._returned.update(
            job for job in jobs if self.graph.state(job) is GraphJobState.ELIGIBLE
        )
        for job in jobs:
            if not self._has_products(job):
                yield job, _NO_PRODUCTS
            elif self._returned[job] >= _RETURNS:
                yield job, _GIVEN_BACK

    def _has_products(self, job: int) -> bool:
        node = self.growth.flow.network.node(self.growth.where(job).node)
        assert node is not None
        return any(action.products for action in self.project.workflow.named(node.action))

    def jobs_of(self, action: str, directories: Iterable[str]) -> list[int]:
        """Return the jobs of the graph that an action's job in these directories carries out."""
        return self.growth.jobs_of(action, directories)

    def _counts(self, job: int, token: str) -> bool:
        """Whether a recorded failure belongs to this run and was not retried.

        The end of a job that the user cancelled may be recorded only after the user retried the
        job, and is no failure of the new attempt.
        """
        if token not in self.tokens:
            return False
        name = self.growth.where(job).node, self.growth.directory(job)
        if self._plan_order[self._plan_of[token]] < self._cancelled.get(name, 0):
            return False
        return (*name, token) not in self._again

    def _write_failures(self, failed: Iterable[tuple[int, str, str]]) -> None:
        """Record failed jobs with reason and token, except failures recorded before."""
        now = time.time()
        fresh: list[JobFailed] = []
        for job, reason, token in failed:
            node, directory = self.growth.where(job).node, self.growth.directory(job)
            if (node, directory, token) not in self._failed:
                self._failed.add((node, directory, token))
                fresh.append(JobFailed(now, node, directory, reason, token))
        if fresh:
            self._write(*fresh)
            self.failures_in_a_row += len(fresh)

    # Lists

    @property
    def lists(self) -> Mapping[ListKey, Mapping[str, Sequence[MadeEntry]]]:
        """Return the known lists by the product that they come from."""
        return self._taken.known

    def makes_unknown_list(self, job: int) -> bool:
        """Whether a job makes a list that is not known yet, so its collecting jobs are
        not either.
        """
        return self._taken.lacks(self.growth, job)

    def _take_lists(self, jobs: Sequence[int]) -> dict[int, str]:
        """Read the lists of complete jobs and grow the graph; return jobs with invalid lists, and
        why.
        """
        came = self._taken.take(self.growth, self.project.workflow.workspace, jobs)
        if came.grew:
            self._write(*came.grew)
        return came.broken

    # Inputs of jobs

    def write_inputs(self, jobs: Iterable[int]) -> list[int]:
        """Write inputs.json of these jobs; return the jobs whose file could not be written."""
        wanted = {}
        for job in jobs:
            found = inputs_of(self.growth, self.lists, job)
            if found is not None:
                wanted[found.directory] = (job, found)
        workspace = self.project.workflow.workspace
        written = write_inputs(workspace, [found for _, found in wanted.values()])
        failed = dict(written.failed)
        for name, why in written.failed:
            self.project.notice(f"{visible(name)}: {why}")
        return [job for name, (job, _) in wanted.items() if name in failed]

    # Decisions of the user

    def retry(self, jobs: Sequence[int]) -> GraphChange:
        """Retry failed or given up jobs. Raises: JobGraphError; RowtuiError."""
        change = self.graph.retry(jobs)
        for job in jobs:
            self._returned.pop(job, None)
        self.facts.forget(jobs)  # a list may have been corrected
        again = self._make(self._sources_of(jobs))
        now = time.time()
        for node, names in self._by_node(jobs).items():
            event = Retried(now, node, tuple(names))
            self._own.add(event)
            self.note(event)
        self.failures_in_a_row = 0
        if self.drives:
            self._bring_directories()
        self._refuse(again)
        return change

    def cancel(self, jobs: Sequence[int], why: str = "") -> GraphChange:
        """Give up jobs, with all jobs that depend on them. Raises: RowtuiError."""
        now = time.time()
        for node, names in self._by_node(jobs).items():
            event = Cancelled(now, node, tuple(names), why)
            self._own.add(event)
            self.run.append(event)
        return self.graph.cancel(jobs, why)

    def _sources_of(self, jobs: Iterable[int]) -> Iterator[tuple[str, Mapping[str, JSON]]]:
        """Yield the source directories that these jobs work in, with their values, if made."""
        flow = self.growth.flow
        wanted: dict[str, set[str]] = {}
        for node, names in self._by_node(jobs).items():
            wanted.setdefault(flow.shape.home(node), set()).update(names)
        for home, those in wanted.items():
            if home not in flow.sources or not flow.is_made(home):
                continue
            for row, name in enumerate(flow.directories(home)):
                if name in those:
                    yield name, flow.value(home, row)

    def _by_node(self, jobs: Iterable[int]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for job in jobs:
            node, row = self.growth.where(job)
            found.setdefault(node, []).append(self.growth.flow.directories(node)[row])
        return found

    def _tell_cancelled(self, node: str, samples: Sequence[str], why: str) -> None:
        if node in self.growth.flow.runs:
            jobs = (self.growth.job_in(node, name) for name in samples)
            self.graph.cancel([job for job in jobs if job is not None], why)

    def _retry_known(self, node: str, samples: Sequence[str]) -> None:
        if node not in self.growth.flow.runs:
            return
        for name in samples:
            job = self.growth.job_in(node, name)
            if job is not None and self.graph.state(job) is GraphJobState.CANCELLED:
                try:
                    self.graph.retry(job)
                except RowtuiError:
                    continue  # cancelled because of another job, whose retry restores this one

    def cancelled_by_hand(self) -> int:
        """Return how many jobs the user cancelled while they were submitted."""
        graph = self.graph
        states = graph.snapshot().states
        return sum(
            state == GraphJobState.CANCELLED and graph.reason(job) == BY_HAND
            for job, state in enumerate(states)
        )

    @property
    def is_complete(self) -> bool:
        """Whether all jobs are complete."""
        done = sum(each[GraphJobState.COMPLETED] for each in self.graph.counts())
        return done == len(self.graph)

    def finish(self) -> int:
        """Record that nothing is left to do; return how many jobs are lost."""
        counts = self.graph.counts()
        lost = sum(each[GraphJobState.FAILED] + each[GraphJobState.CANCELLED] for each in counts)
        self.run.append(Finished(time.time(), success=not lost))
        return lost

    def spent(self) -> Spent:
        """Return what the run has spent, by its journal and by what is submitted now."""
        submitted = self.project.state.submitted.values()
        ours = {it.token for jobs in submitted for it in jobs.values()} & self.tokens
        # Requests of a bundle are one job in the queue; a pilot is one job even without requests.
        queued = len({*map(token_in_queue, ours), *self.pilots()})
        return self.run.standing.spent(queued, self.failures_in_a_row)

    def used(self) -> Cost | None:
        """Return the hours of the run's ended jobs, for the time that the jobs ran.

        The result is None if no run time is known, because the marks of the jobs are in a copy of
        the project on a cluster, or were removed.
        """
        jobs = self.project.jobs
        stamp = jobs.journal.stamp()
        if stamp != self._used_at:
            done = frozenset(jobs.journal.done_plan_ids())
            for plan_id in {*self._plan_of.values()} - self._used_of:
                with contextlib.suppress(RowtuiError):  # a plan that was removed counts nothing
                    self._count_used(jobs.plan(plan_id), jobs.journal.latest(plan_id))
                if plan_id in done:
                    self._used_of.add(plan_id)
            self._used_at = stamp
        return Cost.total(self._used.values()) if self._used else None

    def _count_used(self, plan: Plan, latest: Mapping[str, JournalEntry]) -> None:
        for job in plan.jobs:
            entry = latest.get(job.token)
            if entry is None or entry.step is not JobStep.ENDED or is_in_pilot(job.token):
                continue
            if job.token in self.tokens and job.token not in self._used:
                seconds = seconds_of_job(self.project.root, job.token)
                if seconds is not None:
                    share = seconds / job.walltime_seconds if job.walltime_seconds else 0.0
                    self._used[job.token] = job.cost.times(share)

    def pilots(self) -> set[str]:
        """Return the open pilots that this run started."""
        ours = set(filter(is_pilot, self.tokens))
        if not ours:
            return ours
        records = self.project.jobs.records()
        return {it.token for it in records if it.token in ours and it.step in OPEN}

    def _set_priorities(self) -> None:
        self.graph.set_priorities(ranks_of(self.project, self.growth, self.priority))

    @property
    def status(self) -> RunStatus:
        """Return the status of the run, by its journal."""
        return self.run.status
