"""A project in Python: what the commands show and do, as values.

The records are those that `--json` prints; docs/schema describes their fields. Times are epoch
seconds, amounts are in the unit of their name.
"""

from __future__ import annotations

import asyncio
import html
import os
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, Self, TypeVar

from rowtui.cli.jobs.json import JobJson, job_document
from rowtui.cli.output.transfers import conflict_errors, planned_transfers
from rowtui.cli.project.open import action_names
from rowtui.cli.show.directories import listed
from rowtui.cli.show.json import ShownGroup, ShownStatus, groups_document, status_document
from rowtui.cli.submit.json import PlanJson, SentJson, plan_document, sent_document
from rowtui.cli.submit.sending import beyond_limits
from rowtui.cli.usage.usage_json import ShownUsage, UsageDocument, usage_document
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import Cost, count, plural, visible
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.groups.form import job_requests
from rowtui.core.groups.model import Status as DirectoryStatus
from rowtui.core.groups.status import status_counts
from rowtui.core.mapping.model.decision_json import ShownDecision, shown_decision
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning.plan_submission import counted_on, plan_submission
from rowtui.core.runs.execution.advance import follow_network
from rowtui.core.runs.limits.limits import RunLimits
from rowtui.core.submission.plan.model import count_jobs
from rowtui.core.workflow.find import has_network, matching_actions

if TYPE_CHECKING:
    from rowtui.core.submission.plan.model import Plan as CorePlan
    from rowtui.core.submission.plan.record import JobRecord

T = TypeVar("T")
P = ParamSpec("P")

WAIT_SECONDS = 5.0  # between two looks of `wait`; clusters are asked at their own intervals


class Confirmation(NamedTuple):
    """What the caller agrees to: at most this many jobs, and what they may cost; None: any cost.

    `over_budget`: also where a cluster's budget would be exceeded.
    """

    jobs: int
    cpu_hours: float | None = None
    gpu_hours: float | None = None
    over_budget: bool = False


class Status(ShownStatus):
    """The status of a project: `actions` with their counts, `directories`, and `bad` ones."""

    def _repr_html_(self) -> str:
        headings = ("Action", "Completed", "Submitted", "Eligible", "Waiting", "Remaining cost")
        rows = [
            (it.name, *map(count, it.counts[:4]), str(it.remaining_cost)) for it in self.actions
        ]
        return _table(headings, rows)


class Plan:
    """What would be submitted. Only `Project.submit` sends it."""

    def __init__(self, plan: CorePlan) -> None:
        """Take a plan of the planner."""
        self._plan = plan

    @cached_property
    def document(self) -> PlanJson:
        """The whole plan, as `rowtui plan --json` prints it."""
        return plan_document(self._plan)

    @property
    def jobs(self) -> Sequence[JobJson]:
        """The jobs, in the order in which they are submitted."""
        return self.document.jobs

    @property
    def cost(self) -> Cost:
        """What the jobs may cost at most."""
        return self._plan.cost

    @property
    def left_out(self) -> Sequence[str]:
        """A sentence for all work that no job of the plan does."""
        return self._plan.skipped

    def __len__(self) -> int:
        return len(self._plan.jobs)

    def __repr__(self) -> str:
        return f"<Plan: {count_jobs(self._plan.jobs)} that may cost up to {self.cost}>"

    def _repr_html_(self) -> str:
        headings = ("Action", "Directories", "CPUs", "GPUs", "Destination", "Cost")
        rows = [
            (
                it.action,
                *map(count, (len(it.directories), it.cpus, it.gpus)),
                str(it.destination),
                str(it.cost),
            )
            for it in self._plan.jobs[:_SHOWN]
        ]
        more = len(self) - len(rows)
        ending = f"<p>and {plural(more, 'more job')}</p>" if more else ""
        return f"<p>{html.escape(repr(self)[1:-1])}</p>{_table(headings, rows)}{ending}"


_SHOWN = 100  # jobs in the table of a plan


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose first column is text and whose others are figures."""

    def line(tag: str, cells: Sequence[str]) -> str:
        shown = [html.escape(visible(cell)) for cell in cells]
        first, *rest = [f'<{tag} style="text-align:left">{shown[0]}</{tag}>', *shown[1:]]
        right = [f'<{tag} style="text-align:right">{cell}</{tag}>' for cell in rest]
        return f"<tr>{first}{''.join(right)}</tr>"

    body = "".join(line("td", row) for row in rows)
    return f"<table><thead>{line('th', headings)}</thead><tbody>{body}</tbody></table>"


def _one_at_a_time(
    method: Callable[Concatenate[Project, P], T],
) -> Callable[Concatenate[Project, P], T]:
    """Let one thread at a time into a project, which is not made for several."""

    @wraps(method)
    def alone(self: Project, /, *args: P.args, **settings: P.kwargs) -> T:
        with self._lock:
            return method(self, *args, **settings)

    return alone


class Project:
    """A project that is open in this process.

    Each method reads the disk first, and asks the schedulers for the states of jobs where the
    interval of their polls allows it. Keys and agents log in to clusters; where a person must
    answer, run `rowtui connect CLUSTER` before. Methods may be called from several threads, one
    runs at a time. Errors are `RowtuiError`.
    """

    def __init__(self, folder: str | os.PathLike[str] = ".", *, cluster: str | None = None) -> None:
        """Open the project of this folder or of one above it.

        `cluster`: the default cluster of jobs (None: the one of this machine). Raises: RowtuiError.
        """
        self._lock = threading.RLock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._project = OpenProject.open(Path(folder).absolute(), cluster=cluster)
        # A login that needs nobody, such as by a key, is made when it is needed.
        self._project.wait, self._project.always_ask = self._run, True
        if has_network(self._project.root):
            follow_network(self._project)

    @property
    def root(self) -> Path:
        """The folder that holds workflow.toml."""
        return self._project.root

    @property
    def actions(self) -> Sequence[str]:
        """The names of the workflow's actions, in their order."""
        return self._project.workflow.action_names()

    @_one_at_a_time
    def notices(self) -> Sequence[str]:
        """Return what the project has to report since the last call, such as damaged records."""
        return self._project.take_notices()

    @_one_at_a_time
    def status(self) -> Status:
        """Return how many directories of each action have each status, as `show status`."""
        project = self._look()
        rows = [(row, status_counts(row, None)) for row in project.status_table().rows]
        return Status(*status_document(project, rows))

    @_one_at_a_time
    def groups(self, action: str, *, status: str | None = None) -> Sequence[ShownGroup]:
        """Return the groups of an action with their directories, as `show directories --action`.

        `status`: only directories with this one, such as "eligible" or "failed".
        """
        project = self._look()
        self._known(action)
        statuses = tuple(DirectoryStatus)
        if status is not None:
            if status not in {it.value for it in statuses}:
                names = ", ".join(it.value for it in statuses)
                raise RowtuiError(f"there is no status '{visible(status)}'", f"they are {names}")
            statuses = (DirectoryStatus(status),)
        return groups_document(project, action, list(listed(project, action, statuses))).groups

    @_one_at_a_time
    def explain(self, action: str, directory: str | None = None) -> ShownDecision:
        """Return where the action's next job would go, why there, and why nowhere else.

        `directory`: the job of this directory (None: the first that is eligible, else the first).
        """
        project = self._look()
        self._known(action)
        among = None if directory is None else self._positions([directory])
        every = tuple(DirectoryStatus)
        for statuses in ((DirectoryStatus.ELIGIBLE,), every) if among is None else (every,):
            for element in listed(project, action, statuses, among):
                if element.shown:
                    self._run(project.mapping.ask_loads())
                    (request,) = counted_on(project, job_requests(element.cut.page(0, 1)))
                    return shown_decision(project.mapping.decide(request))
        raise RowtuiError(f"action '{visible(action)}' has no such directories")

    @_one_at_a_time
    def plan(
        self,
        action: str = "*",
        directories: Iterable[str] | None = None,
        *,
        most: int | None = None,
    ) -> Plan:
        """Return what would be submitted for the eligible directories; nothing is sent.

        `action`: a name or a pattern. `directories`: only these. `most`: at most this many jobs.
        """
        project = self._look()
        actions = matching_actions(project.workflow, action)
        if not actions:
            raise RowtuiError(f"no action matches '{visible(action)}'", action_names(self._project))
        among = None if directories is None else self._positions(directories)
        return Plan(plan_submission(project, actions, among, limit=most))

    @_one_at_a_time
    def submit(self, plan: Plan, confirmation: Confirmation) -> SentJson:
        """Send the jobs of a plan, each exactly once, and return what became of each.

        Raises: RowtuiError if the plan is larger than what was confirmed, or a file changed both
        here and on the cluster; then nothing is sent.
        """
        project, inner = self._project, plan._plan
        if len(inner.jobs) > confirmation.jobs:
            jobs = plural(len(inner.jobs), "job")
            raise RowtuiError(f"the plan has {jobs}, and {count(confirmation.jobs)} are confirmed")
        limits = RunLimits(
            cpu_hours=confirmation.cpu_hours,
            gpu_hours=confirmation.gpu_hours,
            over_budget=confirmation.over_budget,
        )
        if beyond := beyond_limits(project, inner, limits):
            raise RowtuiError("; ".join(beyond))
        transfers = planned_transfers(project, inner)
        for conflict in conflict_errors(transfers):
            raise conflict
        if project.unfinished:
            self._run(project.jobs.ask(may_send=True))
        answers = self._run(self._send(inner)) if inner.jobs else {}
        records = project.jobs.show({}).jobs if inner.jobs else ()
        return sent_document(inner, answers, records, project.root, transfers)

    @_one_at_a_time
    def jobs(self) -> Sequence[JobJson]:
        """Return all jobs of the project with their states, the newest first."""
        self._project.synchronise()
        return [job_document(it, self.root) for it in self._run(self._view())]

    @_one_at_a_time
    def usage(self, by: str = "action") -> UsageDocument:
        """Return what the ended jobs requested and used, in a row for each `by`, as `usage`.

        `by`: action, cluster, partition, node, user, day and so on, as in `usage --by`.
        """
        project = self._look()
        columns = self._run(project.usage.complete())
        shown = ShownUsage([], [], {}, len(project.usage.unmeasured(columns)))
        return usage_document(by, columns, project.usage.costs(columns), shown)

    def wait(
        self, sent: SentJson | None = None, *, timeout: float | None = None
    ) -> Sequence[JobJson]:
        """Return the jobs once all have ended: those that `submit` returned, or all (None).

        Raises: TimeoutError after `timeout` seconds; the jobs go on.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            jobs = sent_of(self.jobs(), sent)
            left = unended(jobs)
            if not left:
                return jobs
            if end is not None and time.monotonic() >= end:
                have = "job has" if left == 1 else "jobs have"
                raise TimeoutError(f"{count(left)} {have} not ended after {timeout:g} s")
            time.sleep(WAIT_SECONDS)

    def close(self) -> None:
        """Close the connections to clusters. Jobs go on."""
        with self._lock:
            if self._loop is not None:
                self._run(self._project.let_go())
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._loop = None
            self._project.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # The loop in a thread: connections live in it, whether or not the caller has a loop.

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=_serve, args=(self._loop,), daemon=True).start()
        running = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return running.result()
        except BaseException:  # Ctrl-C ends the waiting, and with it the work
            running.cancel()
            raise

    def _look(self) -> OpenProject:
        """Return the project, in step with its disk and its queues."""
        self._project.synchronise()
        if self._project.has_jobs_to_ask_for():
            self._run(self._project.jobs.ask(now=False))
        return self._project

    async def _view(self) -> Sequence[JobRecord]:
        return (await self._project.jobs.view(now=False)).jobs

    async def _send(self, plan: CorePlan) -> dict[str, str]:
        """Send the jobs of a plan; return the errors by token."""
        answers: dict[str, str] = {}
        async for step in self._project.jobs.submit(plan):
            if step.answered:
                answers[step.token] = step.error or answers.get(step.token, "")
        return answers

    def _known(self, action: str) -> None:
        if not self._project.workflow.named(action):
            raise RowtuiError(
                f"there is no action '{visible(action)}'", action_names(self._project)
            )

    def _positions(self, names: Iterable[str]) -> list[int]:
        found = []
        for name in names:
            position = self._project.state.directories.position(name)
            if position is None:
                raise RowtuiError(f"there is no directory '{visible(name)}' in the workspace")
            found.append(position)
        return found


def sent_of(jobs: Sequence[JobJson], sent: SentJson | None) -> Sequence[JobJson]:
    """Return those of these jobs that `submit` sent; None: all."""
    tokens = None if sent is None else {it.token for it in sent.jobs}
    return [it for it in jobs if tokens is None or it.token in tokens]


def unended(jobs: Sequence[JobJson]) -> int:
    """Return how many of these jobs have not ended."""
    return sum(it.state in _UNENDED for it in jobs)


_UNENDED = frozenset(it.value for it in JobState if it.may_change)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()
