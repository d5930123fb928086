"""A run that is driven: its graph, what the project says of its jobs, and what it puts on disk.

Everything that it does is written into the run's journal first. All of it can be done again: after
a crash the same is found in the journal and in the project's records. It waits for the disk, so
call it in a thread where something else must go on.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.clusters.schedulers.base import token_in_queue
from rowtui.core.errors import RowtuiError
from rowtui.core.network.flow import ListKey
from rowtui.core.network.growth import Growth
from rowtui.core.network.job_model import Change, JobState
from rowtui.core.network.spec import JSON
from rowtui.core.runs.directories import Made, make_directories
from rowtui.core.runs.facts import Facts
from rowtui.core.runs.inputs import write_inputs
from rowtui.core.runs.limits import Spent, units_of
from rowtui.core.runs.lost_products import look_for_lost
from rowtui.core.runs.model import (
    Cancelled,
    Entry,
    Event,
    Finished,
    Grew,
    JobFailed,
    NotSent,
    PlanSubmitted,
    Published,
    Resumed,
    Retried,
    RunStatus,
    Started,
)
from rowtui.core.runs.needs import inputs_of
from rowtui.core.runs.order import ranks_of
from rowtui.core.runs.publishing import Publishing
from rowtui.core.runs.run_times import seconds_of_job
from rowtui.core.runs.spending import given_up_of, never_begun, not_sent_events
from rowtui.core.runs.store import Run
from rowtui.core.runs.study import make_study, wanted_directories
from rowtui.core.runs.taken_lists import TakenLists
from rowtui.core.submission.model import OPEN, JournalEntry, Plan, Step
from rowtui.core.submission.pilot_model import is_in_pilot, is_pilot
from rowtui.core.text import visible

if TYPE_CHECKING:
    from rowtui.core.project.project import Project

_NAMED = 20  # directories in one notice
# So often a job may be given back without a word (it was refused, or did not find what it needs)
# before it counts as failed.
_RETURNS = 5
_GIVEN_BACK = (
    f"it was sent {_RETURNS} times, and given back each time without having run: see the notices"
)

_NO_PRODUCTS = "it is not complete, and cannot be: its action has no products in workflow.toml"


class Happened(NamedTuple):
    """What one look found: numbers of jobs."""

    completed: int = 0
    failed: tuple[int, ...] = ()
    cancelled: int = 0
    new: int = 0
    published: int = 0
    stopped: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything did."""
        return any(self)


class Running:
    """One run, opened by the process that drives it (or looks at it)."""

    def __init__(self, project: Project, run: Run, *, drives: bool = True) -> None:
        """Make the graph from the frozen copy and the journal. Raises: RowtuiError.

        `drives`: whoever only looks writes nothing down and makes nothing.
        """
        self.project = project
        self.run = run
        self.drives = drives
        self.priority = run.about.plug_ins.get("priority", run.network.schedule.priority)
        self.execution = run.about.plug_ins.get("execution", run.network.schedule.execution)
        self._taken = TakenLists(run.network)
        self.tokens: set[str] = set()  # of jobs that this run sent: their failures count
        # Node, directory, token: of failures that are to be tried again, so they count no more.
        self._again: set[tuple[str, str, str]] = set()
        self._plan_of: dict[str, str] = {}  # by token
        self._settled: set[str] = set()  # plans of which nothing more is given back
        self._used: dict[str, float] = {}  # core-hours by token, of jobs that ended
        self._used_of: set[str] = set()  # plans all of whose jobs are in `_used`
        self._used_at: tuple[tuple[str, int], ...] | None = None
        self._given_back: set[str] = set()  # tokens of jobs that cost nothing after all
        self.failures_in_a_row = 0
        self._publishing = Publishing(project, run)
        self._failed: set[tuple[str, str, str]] = set()  # node, directory, token: written down
        self._returned: Counter[int] = Counter()  # by job: how often it was given back
        self._looked = False
        events = run.events()
        self.events = len(events)  # that were taken in
        self.is_new = not any(isinstance(it, Started) for it in events)
        for event in events:
            self._remember(event)
        rows = {its.source: its for its in run.rows}
        study = make_study(project, run.network, rows, self.lists)
        self.problems = study.problems
        self.growth = Growth(study.flow)
        self.graph = self.growth.graph
        self.facts = Facts(self.growth)
        for event in events:
            if isinstance(event, Cancelled):
                self._tell_cancelled(event.node, event.samples, event.why)
            elif isinstance(event, Retried):
                self._retry_known(event.node, event.samples)
        self._set_priorities()

    def _write(self, *events: Event) -> None:
        if self.drives:
            self.run.append(*events)

    def note(self, *events: Event) -> None:
        """Write events down and take them in. Raises: RowtuiError."""
        self.run.append(*events)
        for event in events:
            self._remember(event)

    def _remember(self, event: Event) -> None:
        if isinstance(event, Grew):
            self._taken.remember(event)
        elif isinstance(event, PlanSubmitted):
            self.tokens.update(event.jobs)
            self._plan_of.update(dict.fromkeys(event.jobs, event.plan_id))
        elif isinstance(event, NotSent):
            self._given_back.update(event.jobs)
        elif isinstance(event, JobFailed):
            self._failed.add((event.node, event.sample, event.token))
        elif isinstance(event, Retried):
            again = set(event.samples)
            theirs = {it for it in self._failed if it[0] == event.node and it[1] in again}
            self._again |= theirs
            self._failed -= {it for it in theirs if not it[2]}
        elif isinstance(event, Published):
            self._publishing.remember(event)

    def follow(self, events: Sequence[Event]) -> bool:
        """Take in what who drives it has written since; False: this has to be made anew."""
        for event in events:
            if isinstance(event, Cancelled | Retried) or not self._taken.has(event):
                return False
        for event in events:
            self._remember(event)
        self.events += len(events)
        return True

    # Beginning

    def begin(self, progress: Callable[[int], None] = lambda _: None) -> Made:
        """Write down that it goes on, make the directories, and see how things stand.

        Raises: RowtuiError.
        """
        now = time.time()
        unsent = never_begun(self.run.events(), self.project.jobs.journal)
        self.note(*unsent, Started(now) if self.is_new else Resumed(now))
        self.is_new = False
        made = self._make(wanted_directories(self.growth.flow), progress)
        self.look()
        return made

    def _make(
        self,
        wanted: Iterable[tuple[str, Mapping[str, object]]],
        progress: Callable[[int], None] = lambda _: None,
    ) -> Made:
        if not self.drives:
            return Made([], [], [])
        made = make_directories(self.project, wanted, self.run.note_made, progress)
        for conflict in made.conflicts[:_NAMED]:
            self.project.notice(f"{visible(conflict.name)}: {conflict.why}")
        if made.conflicts:
            self._give_up([it.name for it in made.conflicts], "its directory cannot be used")
        if made.made:
            self.project.synchronise()
        return made

    def _give_up(self, names: Sequence[str], why: str) -> None:
        for node in self.growth.flow.runs:
            jobs = [self.growth.job_in(node, name) for name in names]
            self.graph.fail([job for job in jobs if job is not None], why)

    # Looking

    def look(self) -> Happened:
        """Bring the graph in step with the project's records, and do what follows from that.

        Raises: RowtuiError if it cannot be written down.
        """
        news = self.facts.news(self.project.state, self._counts)
        if not news and self._looked:
            return Happened()
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
            look_for_lost(self.project, self.growth, news.unsaid)  # the next look tells
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
        return Happened(
            completed=len(news.complete) - len(broken),
            failed=tuple(job for job, _, _ in failed),
            cancelled=len(cancelled),
            new=new,
            published=self._publishing.publish(self.growth) if self.drives else 0,
            stopped=tuple(stopped),
        )

    def _give_back_unstarted(self) -> None:
        """Give back the hours of jobs that left the queue without having run, such as those that
        were queued ahead of a job that failed.
        """
        project = self.project
        done = frozenset(project.jobs.journal.done_plan_ids())
        for plan_id in {*self._plan_of.values()} - self._settled:
            try:
                plan = project.jobs.plan(plan_id)
            except RowtuiError:  # it was removed: its hours stay counted
                continue
            unsent = given_up_of(plan_id, project.jobs.journal) - self._given_back
            # Money stays counted: what a bundle costs is known only while its whole plan is.
            events = not_sent_events(plan_id, units_of(plan, {}), unsent)
            self.note(*events)
            if plan_id in done:
                self._settled.add(plan_id)

    def _cannot_complete(self, jobs: Sequence[int]) -> Iterator[tuple[int, str]]:
        """Those of the jobs that were given back and must not be sent again, and why."""
        # What waited for another that did not end well was not given back for its own sake.
        self._returned.update(job for job in jobs if self.graph.state(job) is JobState.READY)
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
        """The jobs of the graph that an action's job in these directories carries out."""
        nodes = [
            name
            for name in self.growth.flow.runs
            if (node := self.growth.flow.network.node(name)) and node.action == action
        ]
        found = (self.growth.job_in(node, name) for name in directories for node in nodes)
        return [job for job in found if job is not None]

    def _counts(self, job: int, token: str) -> bool:
        """Whether a failure that the records tell of is one of this run, and still stands."""
        if token not in self.tokens:
            return False
        node = self.growth.where(job).node
        return (node, self.growth.directory(job), token) not in self._again

    def _write_failures(self, failed: Iterable[tuple[int, str, str]]) -> None:
        """Write down which jobs failed, why and as which job, unless that was done before."""
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
    def lists(self) -> Mapping[ListKey, Mapping[str, Sequence[Entry]]]:
        """The lists that came, by who made them."""
        return self._taken.known

    def makes_unknown_list(self, job: int) -> bool:
        """Whether a job makes a list that is not known yet: then who collects it is not either."""
        return self._taken.lacks(self.growth, job)

    def _take_lists(self, jobs: Sequence[int]) -> dict[int, str]:
        """Read the lists that complete jobs promised, and let the graph grow; who broke theirs."""
        flow = self.growth.flow
        came = self._taken.take(self.growth, self.project.workflow.workspace, jobs)
        if came.grew:
            self._write(*came.grew)
            self._make(wanted_directories(self.growth.flow, flow))
        return came.broken

    # What a job gets

    def write_inputs(self, jobs: Iterable[int]) -> list[int]:
        """Write what these jobs get from others into their directories; those it failed for."""
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

    # What people decide

    def retry(self, jobs: Sequence[int]) -> Change:
        """Try failed (or given up) jobs again. Raises: JobGraphError; RowtuiError."""
        change = self.graph.retry(jobs)
        for job in jobs:
            self._returned.pop(job, None)
        self.facts.forget(jobs)  # a list may have been mended
        self._make(self._wanted_for(jobs))
        now = time.time()
        for node, names in self._by_node(jobs).items():
            event = Retried(now, node, tuple(names))
            self.run.append(event)
            self._remember(event)
        self.failures_in_a_row = 0
        return change

    def cancel(self, jobs: Sequence[int], why: str = "") -> Change:
        """Give jobs up, with all that depends on them. Raises: RowtuiError."""
        now = time.time()
        for node, names in self._by_node(jobs).items():
            self.run.append(Cancelled(now, node, tuple(names), why))
        return self.graph.cancel(jobs, why)

    def _wanted_for(self, jobs: Iterable[int]) -> Iterator[tuple[str, Mapping[str, JSON]]]:
        """The directories of these jobs, with their values, as far as the network makes them."""
        flow = self.growth.flow
        wanted: dict[str, set[str]] = {}
        for node, names in self._by_node(jobs).items():
            wanted.setdefault(flow.shape.home(node), set()).update(names)
        for home, those in wanted.items():
            for row, name in enumerate(flow.directories(home) if flow.is_made(home) else ()):
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
            if job is not None and self.graph.state(job) is JobState.CANCELLED:
                try:
                    self.graph.retry(job)
                except RowtuiError:
                    continue  # it is cancelled for another's sake, who comes back by himself

    def finish(self) -> int:
        """Write down that nothing is left to do; how many jobs are lost."""
        counts = self.graph.counts()
        lost = sum(each[JobState.FAILED] + each[JobState.CANCELLED] for each in counts)
        self.run.append(Finished(time.time(), success=not lost))
        return lost

    def spent(self) -> Spent:
        """What it has spent, by its journal and what is with schedulers now."""
        submitted = self.project.state.submitted.values()
        ours = {it.token for jobs in submitted for it in jobs.values()} & self.tokens
        # Requests of a bundle are one job there; a pilot is one whether it has any or not.
        queued = len({*map(token_in_queue, ours), *self._pilots()})
        return self.run.standing.spent(queued, self.failures_in_a_row)

    def used(self) -> float | None:
        """The core-hours of its jobs that ended, as long as these ran; None if it is not known of
        any: their marks are in a copy of the project on a cluster, or were removed.
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
        return sum(self._used.values()) if self._used else None

    def _count_used(self, plan: Plan, latest: Mapping[str, JournalEntry]) -> None:
        for job in plan.jobs:
            entry = latest.get(job.token)
            if entry is None or entry.step is not Step.ENDED or is_in_pilot(job.token):
                continue
            if job.token in self.tokens and job.token not in self._used:
                seconds = seconds_of_job(self.project.root, job.token)
                if seconds is not None:
                    self._used[job.token] = job.cpus * seconds / 3600

    def _pilots(self) -> set[str]:
        """The pilots that this run started, and of which nobody knows that they have ended."""
        ours = set(filter(is_pilot, self.tokens))
        if not ours:
            return ours
        records = self.project.jobs.records()
        return {it.token for it in records if it.token in ours and it.step in OPEN}

    def _set_priorities(self) -> None:
        self.graph.set_priorities(ranks_of(self.project, self.growth, self.priority))

    @property
    def status(self) -> RunStatus:
        """Where the run stands, by its journal."""
        return self.run.status
