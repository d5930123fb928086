"""Jobs for a screen: records and verbs, pages of the queue, and details on demand.

The book of all jobs is processed in a thread, one call at a time. Queries that load a scheduler
(the details of a job, all users' jobs) are made on demand, and their answers are cached for a
minute.
"""

from __future__ import annotations

import asyncio
import gc
import shlex
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.config.load_remote import ssh_target
from rowtui.core.clusters.schedulers.base import JobAnswer, JobState
from rowtui.core.clusters.schedulers.kind import (
    CommandOutput,
    Everybody,
    is_this_machine,
    scheduler_kind,
)
from rowtui.core.project.queue.book import QueueBook
from rowtui.core.project.queue.rows import MarkedRow, QueueRow, RowKey
from rowtui.core.project.queue.verbs import (
    cancel_jobs,
    change_jobs,
    hold_jobs,
    present_terms,
    release_jobs,
)
from rowtui.core.project.queue.views import (
    EVERYBODY,
    MOST_SHOWN,
    Acted,
    ChosenJobs,
    JobDetail,
    PresentTerms,
    QueuePage,
    QueueRequest,
    ShellBeside,
)
from rowtui.core.project.views.views import JobsView
from rowtui.core.submission.plan.model import JobStep
from rowtui.core.submission.plan.record import JobRecord

if TYPE_CHECKING:
    from rowtui.core.clusters.schedulers.job_terms import JobTerms
    from rowtui.core.engine.local.polling import ClusterPolls
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.usage.running import UsageNow


KEPT_SECONDS = 60.0
"""How long an answer on demand is cached, to limit the load on the scheduler."""

PATIENCE_SECONDS = 5.0
"""The wait for all users' jobs; after that, the page reports that they are being queried."""

MOST_FOREIGN = 20_000
"""All users' jobs on one cluster; a longer list is not readable."""

MOST_KEPT = 100
"""Cached details."""

MOST_MEASURED = 400
"""Running jobs of one cluster whose use is asked for at once."""

MOST_LOOKED_AT = 2_000
"""Directories of one job that are checked for completion."""

P = ParamSpec("P")
T = TypeVar("T")


class QueueWork:
    """The queue of one project."""

    def __init__(self, project: OpenProject, clock: Callable[[], float] = time.time) -> None:
        self._project = project
        self._clock = clock
        self._book = QueueBook()
        self._lock = asyncio.Lock()
        self._details: dict[RowKey, JobDetail] = {}
        self._used: dict[str, UsageNow] = {}  # of running jobs, by their tokens
        self._everybody: dict[str, tuple[float, Everybody]] = {}
        self._asking: asyncio.Task[None] | None = None

    async def _aside(self, call: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        async with self._lock:
            return await asyncio.to_thread(_uncollected, partial(call, *args, **options))

    def running(self) -> tuple[JobRecord, ...]:
        """Return the jobs of this project that ran at the last poll."""
        return self._book.running

    async def take(self, view: JobsView) -> JobsView:
        """Store the latest poll of all jobs; return its copy for a screen."""
        return await self._aside(self._book.take, view)

    async def page(self, asked: QueueRequest, start: int, length: int) -> QueuePage:
        """Return a page of the jobs of all clusters, arrays and bundles folded, as last polled."""
        notice = ""
        if asked.whose == EVERYBODY:
            notice = await self._look_at_everybody(asked.clusters)
        page = await self._aside(self._page, asked, start, length)
        return page._replace(notice=notice)

    def _page(self, asked: QueueRequest, start: int, length: int) -> QueuePage:
        page = self._book.page(asked, start, length)
        rows = tuple(self._with_open(row) for row in page.rows)
        return page._replace(rows=rows)

    def _with_open(self, row: QueueRow) -> QueueRow:
        """For a job near its limit, add how many of its directories are not complete."""
        if row.left is None or row.record is None or row.key.folded:
            return row
        state = self._project.state
        done = state.completed.get(row.record.action)
        if done is None or row.record.size > MOST_LOOKED_AT:
            return row
        names = self._book.table.by_key[row.key].directories
        found = (state.directories.position(name) for name in names)
        return row._replace(open=sum(1 for at in found if at is not None and not done >> at & 1))

    async def all_of(self, asked: QueueRequest, which: str) -> tuple[MarkedRow, ...]:
        """Return the rows of this project with jobs that are `active` or `failed`; bounded."""
        return await self._aside(self._book.all_of, asked, which)

    async def marked(self, keys: Sequence[RowKey]) -> tuple[MarkedRow, ...]:
        """Return rows in their present state, without rows that no longer exist."""
        return await self._aside(self._book.marked, keys)

    async def chosen(self, keys: Sequence[RowKey], verb: str) -> ChosenJobs:
        """Return the jobs to which `cancel`, `hold`, `release` or `retry` would apply."""
        return await self._aside(self._book.chosen, keys, verb)

    async def find(self, action: str, directory: str) -> JobRecord | None:
        """Return the newest job with this directory."""
        records = self._project.jobs.records
        return await self._aside(lambda: self._book.find(action, directory, records()))

    async def named(self, label: str) -> JobRecord | None:
        """Return the job with this name."""
        return await self._aside(self._book.named, label)

    async def act(self, keys: Sequence[RowKey], verb: str) -> Acted:
        """Cancel, hold or release the jobs of these rows; a refusal does not stop the others."""
        tokens = await self._aside(self._book.tokens, keys, verb)
        does = {"cancel": cancel_jobs, "hold": hold_jobs, "release": release_jobs}[verb]
        answers = await does(self._project, tokens) if tokens else ()
        return acted(answers)

    async def terms(self, keys: Sequence[RowKey]) -> PresentTerms:
        """Return the present terms of the jobs of these rows that wait. Raises: RowtuiError."""
        total, records = await self._aside(self._book.waiting, keys)
        return await present_terms(self._project, records, total)

    async def change(self, keys: Sequence[RowKey], change: JobTerms) -> Acted:
        """Change the jobs of these rows that wait; a refusal does not stop the others."""
        tokens = await self._aside(self._book.tokens, keys, "change")
        return acted(await change_jobs(self._project, tokens, change) if tokens else ())

    # On demand

    async def detail(self, key: RowKey, *, estimate: bool = False) -> JobDetail:
        """Return what its scheduler reports about a job, at most a minute ago.

        `estimate`: also when the job starts. The answer states what a scheduler does not offer.
        """
        kept = self._details.get(key)
        now = self._clock()
        if kept and now - kept.at < KEPT_SECONDS and (kept.estimated or not estimate):
            return kept
        entry = await self._aside(self._book.job, key)
        if entry is None:
            return JobDetail(key, now, problem="the job is not in the list any more")
        detail = await self._ask_detail(key, entry, estimate)
        if len(self._details) >= MOST_KEPT:
            del self._details[next(iter(self._details))]
        self._details[key] = detail
        return detail

    async def shell(self, key: RowKey) -> ShellBeside:
        """Return what opens a shell beside a running job of this project. Raises: RowtuiError."""
        record = await self._aside(self._book.job, key)
        if record is None or record.state is not JobState.RUNNING:
            return ShellBeside()
        reach = self._project.connections
        cluster, scheduler = reach.known(record.cluster), reach.scheduler(record.cluster)
        if cluster is None or scheduler is None:
            return ShellBeside()
        line = scheduler_kind(scheduler.kind).shell_beside(record.key, record.nodes)
        where = f"{record.nodes} of {cluster.name}" if record.nodes else cluster.name
        if not line:
            return ShellBeside()
        if cluster.remote is None or not reach.is_remote(cluster):
            return ShellBeside(("sh", "-c", line), where)
        target = ssh_target(cluster.remote)
        if target.complaint:
            raise RowtuiError(target.complaint)
        there = f"exec sh -c {shlex.quote(line)}"  # for any login shell
        return ShellBeside(tuple(target.command(["-t"], there)), where)

    async def used(self, key: RowKey) -> UsageNow | None:
        """Return what a job of this project uses now, or used if it has ended.

        A cluster is asked at most once in each polling interval: None if it was asked by now, or
        if nothing is known.
        """
        record = await self._aside(self._book.job, key)
        if record is None or not record.ours or key.folded:
            return None
        if record.step is JobStep.ENDED:
            return await asyncio.to_thread(self._project.usage.ended, record)
        if record.state is not JobState.RUNNING:
            return None
        records = [record]
        scheduler = self._project.connections.scheduler(record.cluster)
        if scheduler is not None and scheduler.shared:  # one request for many jobs
            records += await self._aside(self._running_beside, record)
        self._used |= await self._project.usage.now(records)
        used = self._used.get(record.token)
        while len(self._used) > 2 * MOST_MEASURED:
            del self._used[next(iter(self._used))]
        return used

    def _running_beside(self, record: JobRecord) -> list[JobRecord]:
        """Return other running jobs of this project in the same queue."""
        found = (
            other
            for other in self._book.table.ours
            if other.cluster == record.cluster and other.token != record.token
            if other.state is JobState.RUNNING
        )
        return list(islice(found, MOST_MEASURED))

    async def _ask_detail(self, key: RowKey, record: JobRecord, estimate: bool) -> JobDetail:
        if not record.job_id:
            return JobDetail(key, self._clock(), problem="the job has no id yet")
        reach = self._project.connections
        try:
            cluster, scheduler = reach.known(record.cluster), reach.scheduler(record.cluster)
            if cluster is None or scheduler is None:
                why = f"{record.cluster} cannot be asked from here"
                return JobDetail(key, self._clock(), problem=why)
            if is_this_machine(cluster):
                return self._local_detail(key, record)
            kind = scheduler_kind(scheduler.kind)
            found = await kind.detail(reach.transport(cluster), record.key, estimate=estimate)
        except (RowtuiError, OSError) as error:
            return JobDetail(key, self._clock(), problem=str(error) or "no answer")
        return JobDetail(key, self._clock(), *found)

    def _local_detail(self, key: RowKey, record: JobRecord) -> JobDetail:
        """Return details from this machine's queue, which starts jobs in order of their numbers."""
        polled = self._project.jobs.queues.looks.latest.get(record.cluster)
        jobs = polled.snapshot.jobs if polled is not None and polled.snapshot is not None else ()
        waits = [job.id for job in jobs if job.state is JobState.PENDING]
        fields = [
            (name, str(value))
            for name, value in (
                ("state", record.state.value), ("reason", record.why),
                ("elapsed", record.elapsed or 0), ("limit", record.limit or "none"),
                ("nodes", record.nodes),
            )
            if value != ""
        ]  # fmt: skip
        part = CommandOutput("the queue of this machine", tuple(fields))
        ahead = sum(1 for number in waits if number < record.job_id)
        at = polled.as_of if polled is not None and polled.as_of is not None else self._clock()
        return JobDetail(
            key, at, (part,), ahead=ahead, waiting=len(waits), estimated=True,
            problem="it starts jobs as soon as they fit, and gives no estimate",
        )  # fmt: skip

    async def _look_at_everybody(self, clusters: Sequence[str]) -> str:
        """Query all users' jobs where due; return what is missing, and why."""
        names = [name for name in self._book.clusters if not clusters or name in clusters]
        now = self._clock()
        due = [
            name
            for name in names
            if name not in self._everybody or now - self._everybody[name][0] >= KEPT_SECONDS
        ]
        if due and (self._asking is None or self._asking.done()):
            self._asking = asyncio.create_task(self._ask_everybody(due))
        if self._asking is not None and not self._asking.done():
            await asyncio.wait({self._asking}, timeout=PATIENCE_SECONDS)
        parts = []
        for name in names:
            if name not in self._everybody:
                parts.append(f"{name} is being asked for all users' jobs")
            elif problem := self._everybody[name][1].problem:
                parts.append(f"{name}: {problem}")
            elif self._everybody[name][1].cut:
                parts.append(f"{name}: only a part of all users' jobs")
        return "; ".join(parts)

    async def _ask_everybody(self, names: Sequence[str]) -> None:
        async def ask(name: str) -> None:
            reach = self._project.connections
            try:
                cluster, scheduler = reach.known(name), reach.scheduler(name)
                if cluster is None or scheduler is None:
                    found = Everybody(problem="it cannot be asked from here")
                else:
                    transport = reach.transport(cluster)
                    kind = scheduler_kind(scheduler.kind)
                    found = await kind.everybody(transport, MOST_FOREIGN)
            except (RowtuiError, OSError) as error:
                found = Everybody(problem=str(error) or "no answer")
            old = self._everybody.get(name)
            if found.problem and old is not None:  # keep the known jobs
                found = old[1]._replace(problem=found.problem)
            self._everybody[name] = (self._clock(), found)

        await asyncio.gather(*map(ask, names))
        foreign = chain.from_iterable(
            (JobRecord(job.token, name, job.key, user, queued=job) for user, job in known.jobs)
            for name, (_, known) in self._everybody.items()
        )
        await self._aside(self._book.take_foreign, tuple(foreign))

    async def close(self) -> None:
        """Cancel pending queries."""
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)


class JobsWork:
    """The jobs of one project. `turn`: the lock of the project's records."""

    def __init__(
        self, project: OpenProject, turn: asyncio.Lock, polls: ClusterPolls, queue: QueueWork
    ) -> None:
        self._project = project
        self._turn = turn
        self._polls = polls
        self._queue = queue
        self.find = queue.find
        self.named = queue.named

    async def view(self, *, now: bool = False) -> JobsView:
        """Return the newest jobs of the project, counts of all jobs, and the clusters.

        Queues are polled where due, or all of them with `now`.
        """
        await self._polls.ask_for_jobs(now=now, everywhere=True)
        async with self._turn:
            jobs = self._project.jobs
            view = await asyncio.to_thread(jobs.show, jobs.queues.looks.latest)
        return await self._queue.take(view)


def _uncollected(call: Callable[[], T]) -> T:
    """Call without garbage collection, which costs as much as making 100,000 new rows."""
    was = gc.isenabled()
    gc.disable()
    try:
        return call()
    finally:
        if was:
            gc.enable()


def acted(answers: Sequence[JobAnswer]) -> Acted:
    """Return a summary of the answers; the first refused ones are listed."""
    refused = [answer for answer in answers if answer.error]
    return Acted(len(answers) - len(refused), len(refused), tuple(refused[:MOST_SHOWN]))
