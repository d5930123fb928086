"""The graph of a run, as its journal describes it.

Takes a run and its project; gives the graph with the journal's decisions, the known lists, and what
the run has spent. The changes that follow from the project's records are left to `running`.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.text import Cost
from rowtui.core.clusters.schedulers.base import token_in_queue
from rowtui.core.network.graph.dynamic_graph import Growth
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.network.samples.sample_flow import ListKey
from rowtui.core.project.retry_policy import NO_RETRIES
from rowtui.core.runs.directories.dynamic_lists import TakenLists
from rowtui.core.runs.directories.readiness import UNUSABLE
from rowtui.core.runs.directories.sinks import Publishing
from rowtui.core.runs.execution.job_order import ranks_of
from rowtui.core.runs.limits.asked import GraphAmounts
from rowtui.core.runs.limits.limits import Spent
from rowtui.core.runs.limits.spending import UsedHours
from rowtui.core.runs.model import (
    Cancelled,
    Event,
    Grew,
    JobFailed,
    MadeEntry,
    NotSent,
    PlanSubmitted,
    Published,
    Retried,
    RunStarted,
    RunStatus,
)
from rowtui.core.runs.observed_states import ObservedStates
from rowtui.core.runs.snapshot import make_study
from rowtui.core.runs.store import Run
from rowtui.core.submission.bundles.pilot_model import is_pilot
from rowtui.core.submission.plan.model import OPEN

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject


class PlanOfJob(NamedTuple):
    """The plan that submitted a job. `number`: how many plans the run submitted before it."""

    plan_id: str
    number: int


class RunHistory:
    """The submitted, failed, retried and cancelled jobs of one run."""

    def __init__(self) -> None:
        """Begin with an empty journal."""
        self.plans: dict[str, PlanOfJob] = {}  # by token, of jobs that this run submitted
        self.given_back: set[str] = set()  # tokens of refunded jobs
        self.unusable: dict[tuple[str, str], str] = {}  # why, by node and directory
        self._numbers: dict[str, int] = {}  # of plans, by their id
        # Node, directory, token: failures in the journal.
        self._failed: set[tuple[str, str, str]] = set()
        # Node, directory, token: of failures that are to be tried again and no longer count.
        self._again: set[tuple[str, str, str]] = set()
        # By node and directory: how many plans were submitted before the user cancelled the job.
        self._cancelled: dict[tuple[str, str], int] = {}

    @property
    def plan_ids(self) -> AbstractSet[str]:
        """Return the ids of the plans that this run submitted."""
        return self._numbers.keys()

    def remember(self, event: Event) -> None:
        """Process one event of the journal."""
        if isinstance(event, PlanSubmitted):
            number = self._numbers.setdefault(event.plan_id, len(self._numbers))
            self.plans.update(dict.fromkeys(event.jobs, PlanOfJob(event.plan_id, number)))
        elif isinstance(event, NotSent):
            self.given_back.update(event.jobs)
        elif isinstance(event, JobFailed):
            if event.reason.startswith(UNUSABLE):
                self.unusable[event.node, event.sample] = event.reason
            self._failed.add((event.node, event.sample, event.token))
        elif isinstance(event, Cancelled):
            names = ((event.node, name) for name in event.samples)
            self._cancelled.update(dict.fromkeys(names, len(self._numbers)))
        elif isinstance(event, Retried):
            again = set(event.samples)
            theirs = {it for it in self._failed if it[0] == event.node and it[1] in again}
            self._again |= theirs
            self._failed -= {it for it in theirs if not it[2]}
            for name in event.samples:
                self.unusable.pop((event.node, name), None)

    def counts(self, node: str, directory: str, token: str) -> bool:
        """Whether a recorded failure belongs to this run and was not retried.

        The end of a job that the user cancelled may be recorded only after the user retried the
        job, and is no failure of the new attempt.
        """
        plan = self.plans.get(token)
        if plan is None or plan.number < self._cancelled.get((node, directory), 0):
            return False
        return (node, directory, token) not in self._again

    def add_failure(self, node: str, directory: str, token: str) -> bool:
        """Add a failure; False if it was recorded before."""
        failure = (node, directory, token)
        if failure in self._failed:
            return False
        self._failed.add(failure)
        return True


class RunGraph:
    """The graph of one run, and what its journal records."""

    def __init__(self, project: OpenProject, run: Run, *, drives: bool = True) -> None:
        """Build the graph from the snapshot and the journal. Raises: RowtuiError.

        `drives`: a viewing process (False) writes nothing and makes nothing.
        """
        self.project = project
        self.run = run
        self.drives = drives
        self.priority = run.about.plug_ins.get("priority", run.network.schedule.priority)
        self.execution = run.about.plug_ins.get("execution", run.network.schedule.execution)
        self._taken = TakenLists(run.network)
        self._history = RunHistory()
        self._used = UsedHours(project)
        self.failures_in_a_row = 0
        self.policy = NO_RETRIES  # of the process that drives the run
        self._publishing = Publishing(project, run)
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
        self._history.remember(event)
        if isinstance(event, Grew):
            self._taken.remember(event)
        elif isinstance(event, Published):
            self._publishing.remember(event)

    @property
    def tokens(self) -> AbstractSet[str]:
        """Return the tokens of the jobs that this run submitted: their failures count."""
        return self._history.plans.keys()

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

    def _note_unusable(self, jobs: Mapping[int, str]) -> None:
        now = time.time()
        events: list[Event] = []
        for job, why in jobs.items():
            node, directory = self.growth.where(job).node, self.growth.directory(job)
            if self._history.unusable.get((node, directory)) != why:
                events.append(JobFailed(now, node, directory, why))
        self._write(*events)
        for event in events:
            self._remember(event)
        self._fail_unusable()

    def _fail_unusable(self) -> None:
        for (node, name), why in self._history.unusable.items():
            if node in self.growth.flow.runs:
                job = self.growth.job_in(node, name)
                self.graph.fail([] if job is None else [job], why)

    def _has_products(self, job: int) -> bool:
        node = self.growth.flow.network.node(self.growth.where(job).node)
        assert node is not None
        return any(action.products for action in self.project.workflow.named(node.action))

    def jobs_of(self, action: str, directories: Iterable[str]) -> list[int]:
        """Return the jobs of the graph that an action's job in these directories carries out."""
        return self.growth.jobs_of(action, directories)

    def _counts(self, job: int, token: str) -> bool:
        """Whether a recorded failure belongs to this run and was not retried."""
        return self._history.counts(self.growth.where(job).node, self.growth.directory(job), token)

    def _write_failures(self, failed: Collection[tuple[int, str, str]]) -> set[str]:
        """Record failed jobs with reason and token, except failures recorded before.

        Return the tokens of jobs that the policy continues: their ends are no failures.
        """
        now = time.time()
        fresh: list[JobFailed] = []
        tokens, workflow = {token for *_, token in failed}, self.project.workflow
        records = self.project.jobs.records() if tokens and self.policy.rules else ()
        ended = (it for it in records if it.token in tokens and it.end is not None)
        continued = {it.token for it in ended if self.policy.continues(workflow, it)}
        for job, reason, token in failed:
            node, directory = self.growth.where(job).node, self.growth.directory(job)
            if self._history.add_failure(node, directory, token) and token not in continued:
                fresh.append(JobFailed(now, node, directory, reason, token))
        if fresh:
            self._write(*fresh)
            self.failures_in_a_row += len(fresh)
        return continued

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
                self.graph.retry(job)

    @property
    def is_complete(self) -> bool:
        """Whether all jobs are complete."""
        done = sum(each[GraphJobState.COMPLETED] for each in self.graph.counts())
        return done == len(self.graph)

    def spent(self) -> Spent:
        """Return what the run has spent, by its journal and by what is submitted now."""
        submitted = self.project.state.submitted.values()
        ours = {it.token for jobs in submitted for it in jobs.values()} & self.tokens
        # Requests of a bundle are one job in the queue; a pilot is one job even without requests.
        queued = len({*map(token_in_queue, ours), *self.pilots()})
        return self.run.standing.spent(queued, self.failures_in_a_row)

    def used(self) -> Cost | None:
        """Return the hours of the run's ended jobs. See `UsedHours.total`."""
        return self._used.total(self._history.plan_ids, self.tokens)

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
