"""An open run: its graph, updated from the project's records, and what the run writes to disk.

Every decision is written to the run's journal first. All steps can be repeated: after a crash, the
same state is found in the journal and in the project's records. The methods block on the disk, so
call them in a thread if the event loop must continue.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.network.definition.spec import JSON
from rowtui.core.network.graph.job_model import LOST_STATES, GraphChange, GraphJobState
from rowtui.core.runs.directories.directories import MadeDirectories, make_directories
from rowtui.core.runs.directories.inputs import inputs_of, look_for_lost, write_inputs
from rowtui.core.runs.directories.readiness import (
    bring_directories,
    left_out,
    make_ready,
    own_nodes,
    refused,
)
from rowtui.core.runs.limits.spending import given_up_of, never_begun, not_sent_events
from rowtui.core.runs.model import (
    BY_HAND,
    Cancelled,
    Event,
    Finished,
    NotSent,
    PlanSubmitted,
    Resumed,
    Retried,
    RunStarted,
)
from rowtui.core.runs.run_graph import RunGraph
from rowtui.core.runs.snapshot import source_directories
from rowtui.core.runs.store import Run
from rowtui.core.state.records import with_retried
from rowtui.core.submission.plan.charges import charges_of
from rowtui.core.submission.plan.model import Plan

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject

_NAMED = 20  # directories named in one notice
# A job may be returned this many times without a reason (it was refused, or did not find its
# inputs) before it counts as failed.
_RETURNS = 5
_GIVEN_BACK = (
    f"it was sent {_RETURNS} times, and given back each time without having run: see the notices"
)

_NO_PRODUCTS = "it is not complete, and cannot be: its action has no products in workflow.toml"


class RunUpdate(NamedTuple):
    """The result of one update: numbers of jobs. `continued`: jobs that ended, and go on."""

    completed: int = 0
    failed: tuple[int, ...] = ()
    blocked: int = 0
    new: int = 0
    published: int = 0
    stopped: tuple[int, ...] = ()
    continued: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything happened."""
        return any(self)


class OpenRun(RunGraph):
    """One run, opened by the process that drives it or views it."""

    def __init__(self, project: OpenProject, run: Run, *, drives: bool = True) -> None:
        """See `RunGraph`. Raises: RowtuiError."""
        super().__init__(project, run, drives=drives)
        self._settled: set[str] = set()  # plans for which no refund can follow
        self._own: set[Event] = set()  # decisions that this process wrote
        self._returned: Counter[int] = Counter()  # by job: how often it was returned
        self._looked = False
        self._ahead = False  # directories were made before their inputs were complete
        self._made_ready: list[str] = []  # by the last update

    # Beginning

    def begin(self, progress: Callable[[int], None] = lambda _: None) -> MadeDirectories:
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
    ) -> MadeDirectories:
        if not self.drives:
            return MadeDirectories([], [], [])
        made = make_directories(self.project, wanted, self.run.note_made, progress)
        if made.made:
            self.project.synchronise()
        return made

    def _refuse(self, made: MadeDirectories) -> None:
        """Report which directories cannot be used, and record that their jobs failed."""
        for conflict in made.conflicts[:_NAMED]:
            self.project.notice(f"{visible(conflict.name)}: {conflict.why}")
        self._note_unusable(refused(self.growth, made.conflicts))

    def _fail_left_out(self) -> list[int]:
        """Fail ready jobs whose edited directories their actions no longer include."""
        found = left_out(self.project, self.growth, self.facts)
        self._note_unusable(found)
        return list(found)

    def _take_usable(self, not_these: Collection[str]) -> None:
        """Retry jobs whose directories could not be used and are usable by now."""
        flow = self.growth.flow
        usable = [
            job
            for node, name in self._history.unusable
            if name not in not_these
            and node in flow.runs
            and (job := self.growth.job_in(node, name)) is not None
        ]
        self.graph.retry(usable)
        now = time.time()
        events = [Retried(now, node, tuple(it)) for node, it in self._by_node(usable).items()]
        self._own.update(events)
        self.note(*events)

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

    def advance(self) -> MadeDirectories:
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

    def look(self) -> RunUpdate:
        """Update the graph from the project's records, and act on the changes.

        Raises: RowtuiError if the journal cannot be written.
        """
        if self.drives:
            self._take_appended()
        news = self.facts.news(self.project.state, self._counts)
        if not (news or self._ahead) and self._looked:
            return RunUpdate(failed=tuple(self._fail_left_out()))
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
        blocked: set[int] = set()
        stopped: set[int] = set(news.strays)
        if news.complete:
            self.failures_in_a_row = 0
        continued = self._write_failures(failed)
        for change in (
            graph.complete([job for job in news.complete if job not in broken]),
            *(graph.fail(job, why) for job, why, _ in failed),
            (self.cancel if self.drives else graph.cancel)(news.cancelled, BY_HAND),
        ):
            blocked.update(change.cancelled)
            stopped.update(change.stopped)
        if new:
            self._set_priorities()
        left_out = self._fail_left_out()
        if self.drives:
            self._bring_directories()
        return RunUpdate(
            completed=len(news.complete) - len(broken),
            failed=(*(job for job, _, token in failed if token not in continued), *left_out),
            blocked=len(blocked),
            new=new,
            published=self._publishing.publish(self.growth) if self.drives else 0,
            stopped=tuple(stopped),
            continued=tuple(job for job, _, token in failed if token in continued),
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
        for plan_id in self._history.plan_ids - self._settled:
            try:
                plan = project.jobs.table.plan(plan_id)
            except RowtuiError:  # the plan was removed: its hours stay counted
                continue
            unsent = given_up_of(plan_id, project.jobs.journal) - self._history.given_back
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

    def retry(self, jobs: Sequence[int], why: str = "", *, continues: bool = False) -> GraphChange:
        """Retry failed or given up jobs. `why`: the cause and the rule, if a rule retries them.

        `continues`: see `Retried`. Raises: JobGraphError; RowtuiError.
        """
        change = self.graph.retry(jobs)
        for job in jobs:
            self._returned.pop(job, None)
        self.facts.forget(jobs)  # a list may have been corrected
        again = self._make(self._sources_of(jobs))
        now = time.time()
        for node, names in self._by_node(jobs).items():
            event = Retried(now, node, tuple(names), why, continues)
            self._own.add(event)
            self.note(event)
            if not why and (of_node := self.growth.flow.network.node(node)) is not None:
                edit = partial(with_retried, action=of_node.action, names=names)
                self.project.use(self.project.store.commit(edit).state)
        if not why:
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
            self.note(event)
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

    def finish(self) -> int:
        """Record that nothing is left to do; return how many jobs are lost."""
        lost = sum(sum(each[state] for state in LOST_STATES) for each in self.graph.counts())
        self.run.append(Finished(time.time(), success=not lost))
        return lost
