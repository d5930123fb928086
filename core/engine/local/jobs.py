"""Jobs for a screen: records and verbs, pages of the queue, details on demand, and logs.

The book of all jobs is processed in a thread, one call at a time. Queries that load a scheduler
(the details of a job, all users' jobs) are made on demand, and their answers are cached for a
minute.
"""

from __future__ import annotations

import asyncio
import gc
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.filter import refuse_bad_pattern
from rowtui.core.clusters.schedulers.base import JobAnswer, JobKey, JobState
from rowtui.core.clusters.schedulers.kind import Everybody, scheduler_kind
from rowtui.core.project.queue.book import QueueBook
from rowtui.core.project.queue.rows import Foreign, MarkedRow, QueueEntry, QueueRow, RowKey
from rowtui.core.project.queue.verbs import cancel_jobs, hold_jobs, release_jobs
from rowtui.core.project.queue.views import (
    EVERYBODY,
    MOST_SHOWN,
    Acted,
    ChosenJobs,
    DetailPart,
    JobDetail,
    QueuePage,
    QueueRequest,
)
from rowtui.core.project.views.log_book import TROUBLE, LogBook
from rowtui.core.project.views.logs import LocalLog
from rowtui.core.project.views.views import ROW, JobsView, JobView, LogHit, LogPage, LogState
from rowtui.core.submission.sending.fence import seconds_of_job

if TYPE_CHECKING:
    from rowtui.core.engine.local.polling import ClusterPolls
    from rowtui.core.project.project import Project
    from rowtui.core.project.views.views import LogTail


KEPT_SECONDS = 60.0
"""How long an answer on demand is cached, to limit the load on the scheduler."""

PATIENCE_SECONDS = 5.0
"""The wait for all users' jobs; after that, the page reports that they are being queried."""

MOST_FOREIGN = 20_000
"""All users' jobs on one cluster; a longer list is not readable."""

MOST_KEPT = 100
"""Cached details."""

MOST_LOOKED_AT = 2_000
"""Directories of one job that are checked for completion."""

P = ParamSpec("P")
T = TypeVar("T")


class QueueWork:
    """The queue of one project."""

    def __init__(self, project: Project, clock: Callable[[], float] = time.time) -> None:
        self._project = project
        self._clock = clock
        self._book = QueueBook()
        self._lock = asyncio.Lock()
        self._details: dict[RowKey, JobDetail] = {}
        self._everybody: dict[str, tuple[float, Everybody]] = {}
        self._asking: asyncio.Task[None] | None = None

    async def _aside(self, call: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        async with self._lock:
            return await asyncio.to_thread(_uncollected, partial(call, *args, **options))

    async def take(self, view: JobsView) -> JobsView:
        """Store the latest poll of all jobs; return its copy for a screen."""
        return await self._aside(self._book.take, view)

    async def page(self, asked: QueueRequest, start: int, length: int) -> QueuePage:
        """Return a page of the queue."""
        notice = ""
        if asked.whose == EVERYBODY:
            notice = await self._look_at_everybody(asked.clusters)
        page = await self._aside(self._page, asked, start, length)
        return page._replace(notice=notice)

    def _page(self, asked: QueueRequest, start: int, length: int) -> QueuePage:
        page = self._book.page(asked, start, length)
        rows = tuple(self._with_elapsed(self._with_open(row)) for row in page.rows)
        return page._replace(rows=rows)

    def _with_elapsed(self, row: QueueRow) -> QueueRow:
        """Add the run time of an ended job that its scheduler no longer reports."""
        if row.elapsed is not None or row.state.active or row.view is None or row.key.folded:
            return row
        seconds = seconds_of_job(self._project.root, row.view.record.token)
        return row if seconds is None else row._replace(elapsed=int(seconds))

    def _with_open(self, row: QueueRow) -> QueueRow:
        """For a job near its limit, add how many of its directories are not complete."""
        if row.left is None or row.view is None or row.key.folded:
            return row
        view = self._book.table.by_key[row.key].view
        assert view is not None
        state = self._project.state
        done = state.completed.get(view.record.action)
        if done is None or len(view.record.directories) > MOST_LOOKED_AT:
            return row
        found = (state.directories.position(name) for name in view.record.directories)
        return row._replace(open=sum(1 for at in found if at is not None and not done >> at & 1))

    async def all_of(self, asked: QueueRequest, which: str) -> tuple[MarkedRow, ...]:
        """Return rows with jobs that are `active` or `failed`."""
        return await self._aside(self._book.all_of, asked, which)

    async def marked(self, keys: Sequence[RowKey]) -> tuple[MarkedRow, ...]:
        """Return these rows in their present state."""
        return await self._aside(self._book.marked, keys)

    async def chosen(self, keys: Sequence[RowKey], verb: str) -> ChosenJobs:
        """Return the jobs that a verb would apply to."""
        return await self._aside(self._book.chosen, keys, verb)

    async def find(self, action: str, directory: str) -> JobView | None:
        """Return the newest job with this directory."""
        return await self._aside(self._book.find, action, directory)

    async def named(self, label: str) -> JobView | None:
        """Return the job with this name."""
        return await self._aside(self._book.named, label)

    async def act(self, keys: Sequence[RowKey], verb: str) -> Acted:
        """Cancel, hold or release each of the jobs; a refusal does not stop the others."""
        tokens = await self._aside(self._book.tokens, keys, verb)
        does = {"cancel": cancel_jobs, "hold": hold_jobs, "release": release_jobs}[verb]
        answers = await does(self._project, tokens) if tokens else ()
        return acted(answers)

    # On demand

    async def detail(self, key: RowKey, *, estimate: bool = False) -> JobDetail:
        """Return what the scheduler reported about a row's job, at most a minute ago."""
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

    async def _ask_detail(self, key: RowKey, entry: QueueEntry, estimate: bool) -> JobDetail:
        job = entry.view.record.key if entry.view is not None else JobKey(key.id, key.task)
        if not job.id:
            return JobDetail(key, self._clock(), problem="the job has no id yet")
        reach = self._project.connections
        try:
            cluster, scheduler = reach.known(entry.cluster), reach.scheduler(entry.cluster)
            if cluster is None or scheduler is None:
                why = f"{entry.cluster} cannot be asked from here"
                return JobDetail(key, self._clock(), problem=why)
            if cluster.is_this_machine:
                return self._local_detail(key, entry)
            kind = scheduler_kind(scheduler.kind)
            told = await kind.detail(reach.transport(cluster), job, estimate=estimate)
        except (RowtuiError, OSError) as error:
            return JobDetail(key, self._clock(), problem=str(error) or "no answer")
        parts = tuple(DetailPart(one.command, one.fields, one.problem) for one in told.asked)
        return JobDetail(
            key, self._clock(), parts, told.priority, told.start, told.on, told.ahead,
            told.waiting, told.estimated, told.problem,
        )  # fmt: skip

    def _local_detail(self, key: RowKey, entry: QueueEntry) -> JobDetail:
        """Return details from this machine's queue, which starts jobs in the order of their
        numbers.
        """
        polled = self._project.jobs.queues.looks.latest.get(entry.cluster)
        jobs = polled.snapshot.jobs if polled is not None and polled.snapshot is not None else ()
        waits = [job.id for job in jobs if job.state is JobState.PENDING]
        fields = [
            (name, str(value))
            for name, value in (
                ("state", entry.word), ("reason", entry.reason), ("elapsed", entry.elapsed),
                ("limit", entry.limit or "none"), ("nodes", entry.nodes),
            )
            if value != ""
        ]  # fmt: skip
        part = DetailPart("the queue of this machine", tuple(fields))
        ahead = sum(1 for number in waits if number < entry.id)
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
        told = []
        for name in names:
            if name not in self._everybody:
                told.append(f"{name} is being asked for all users' jobs")
            elif problem := self._everybody[name][1].problem:
                told.append(f"{name}: {problem}")
            elif self._everybody[name][1].cut:
                told.append(f"{name}: only a part of all users' jobs")
        return "; ".join(told)

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
            (Foreign(name, user, job) for user, job in known.jobs)
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
        self, project: Project, turn: asyncio.Lock, polls: ClusterPolls, queue: QueueWork
    ) -> None:
        self._project = project
        self._turn = turn
        self._polls = polls
        self._queue = queue
        self.find = queue.find
        self.named = queue.named

    async def view(self, *, now: bool = False) -> JobsView:
        """Return the project's newest jobs, counts of all jobs, and all clusters."""
        await self._polls.ask_for_jobs(now=now, everywhere=True)
        async with self._turn:
            jobs = self._project.jobs
            view = await asyncio.to_thread(jobs.show, jobs.queues.looks.latest)
        return await self._queue.take(view)

    async def cancel(self, tokens: Sequence[str]) -> tuple[JobAnswer, ...]:
        """Cancel these jobs."""
        return await cancel_jobs(self._project, tokens)

    async def hold(self, tokens: Sequence[str]) -> tuple[JobAnswer, ...]:
        """Hold these jobs."""
        return await hold_jobs(self._project, tokens)

    async def release(self, tokens: Sequence[str]) -> tuple[JobAnswer, ...]:
        """Release these jobs."""
        return await release_jobs(self._project, tokens)


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


# The logs that a screen shows: the open one, and a few recent ones.


KEPT_BOOKS = 3

MOST_STEPS = 1_000
"""The number of ways to match a pattern at one place of a row, which may have 2,000 characters."""


class LogsWork:
    """The logs of one project's jobs: the open one, and a few recent ones."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._books: OrderedDict[tuple[str, int], LogBook] = OrderedDict()

    async def look(self, token: str, *, earlier: bool = False, width: int = ROW) -> LogState:
        """Return what is known of a job's log now; with `earlier`, also some rows before
        the first.
        """
        try:
            book = await self._book(token, width)
            return await (book.earlier() if earlier else book.look())
        except RowtuiError as error:
            known = self._books.get((token, width))
            state = known.state if known is not None else LogState("")
            return state._replace(error=error.message)

    async def page(self, token: str, start: int, length: int, *, width: int = ROW) -> LogPage:
        """Return rows of a log that was opened with `look`. Raises: RowtuiError."""
        return await self._known(token, width).page(start, length)

    async def find(
        self, token: str, text: str, start: int, *, backwards: bool = False, width: int = ROW
    ) -> LogHit:
        """Return the next row with this text; see `LogsService.find`. Raises: RowtuiError."""
        pattern, quick = _pattern(text)
        book = self._known(token, width)
        return await book.find(pattern, start, backwards=backwards, quick=quick)

    def _known(self, token: str, width: int) -> LogBook:
        book = self._books.get((token, width))
        if book is None:
            raise RowtuiError("that log was not looked at yet")
        return book

    async def _book(self, token: str, width: int) -> LogBook:
        key = (token, width)
        book = self._books.get(key)
        if book is None:
            book = self._books[key] = await self._open(token, width)
            while len(self._books) > KEPT_BOOKS:
                self._books.popitem(last=False)
        self._books.move_to_end(key)
        return book

    async def _open(self, token: str, width: int) -> LogBook:
        jobs = self._project.jobs
        records = await asyncio.to_thread(jobs.records)
        record = next((it for it in records if it.token == token), None)
        if record is None:
            raise RowtuiError("this job is not on record")
        if not record.log_path:
            raise RowtuiError("the job wrote to the terminal that it ran in")
        log = await jobs.log(record)
        return LogBook(log, far=not isinstance(log, LocalLog), width=width)

    async def tail(self, token: str, lines: int) -> LogTail:
        """Return the last lines of a job's log."""
        return await self._project.jobs.log_tail(token, lines)


def _pattern(text: str) -> tuple[re.Pattern[bytes], bool]:
    """Return the pattern of a search text, and whether it can search whole blocks at once.

    The text is `~` and a regular expression (`.*` at most once), "!" for likely errors, or a plain
    text; a text in lower case also matches upper case. Raises: RowtuiError for an invalid
    expression.
    """
    if text == "!":
        return re.compile(TROUBLE), True
    flags = re.IGNORECASE if text == text.lower() else 0
    if text.startswith("~"):
        refuse_bad_pattern(text[1:], 2, MOST_STEPS)
        return re.compile(text[1:].encode("utf-8", "surrogateescape"), flags), False
    return re.compile(re.escape(text.encode("utf-8", "surrogateescape")), flags), True
