"""The queue view's part of the sample engine: the book of the real one over its jobs."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rowtui.core.clusters.schedulers.base import Job, JobAnswer, JobKey, JobState
from rowtui.core.clusters.schedulers.job_terms import JobTerms
from rowtui.core.clusters.schedulers.kind import CommandOutput
from rowtui.core.engine.local.jobs import acted
from rowtui.core.project.queue.book import QueueBook
from rowtui.core.project.queue.rows import MarkedRow, RowKey
from rowtui.core.project.queue.views import (
    Acted,
    ChosenJobs,
    JobDetail,
    PresentTerms,
    QueuePage,
    QueueRequest,
    ShellBeside,
)
from rowtui.core.project.views.views import JobsView
from rowtui.core.submission.plan.record import JobRecord
from rowtui.core.usage.running import UsageNow

from tests.job_records import sent_to

if TYPE_CHECKING:
    from tests.tui.sample import SampleEngine

PRIORITY = (("priority", 41_823), ("age", 8_200), ("fair share", 21_400), ("job size", 12_223))


class SampleQueue:
    """Pages of the jobs of the sample. `asked`: the questions for pages, in order."""

    now: float
    calls: list[str]

    def __init__(self) -> None:
        super().__init__()
        self.book = QueueBook()
        self.asked: list[QueueRequest] = []
        self.estimates: list[bool] = []  # of the details that were asked for
        self.asked_used: list[RowKey] = []
        self.new_terms: list[JobTerms] = []
        self.beside = ShellBeside()
        self.used: UsageNow | None = None  # of each job
        self.foreign: tuple[JobRecord, ...] = ()

    def all_jobs(self) -> JobsView:
        raise NotImplementedError

    async def jobs_view(self, *, now: bool = False) -> JobsView:
        self.calls.append("jobs now" if now else "jobs")
        await asyncio.sleep(0)
        return self.book.take(self.all_jobs())

    async def queue_page(self, asked: QueueRequest, start: int, length: int) -> QueuePage:
        self.asked.append(asked)
        await asyncio.sleep(0)
        if asked.whose == "everybody":
            self.book.take_foreign(self.foreign)
        page = self.book.page(asked, start, length)
        near = (row.left is not None and not row.key.folded for row in page.rows)
        rows = zip(page.rows, near, strict=True)
        return page._replace(rows=tuple(row._replace(open=it - (not it)) for row, it in rows))

    async def queue_all_of(self, asked: QueueRequest, which: str) -> tuple[MarkedRow, ...]:
        return self.book.all_of(asked, which)

    async def queue_marked(self, keys: Sequence[RowKey]) -> tuple[MarkedRow, ...]:
        return self.book.marked(keys)

    async def queue_chosen(self, keys: Sequence[RowKey], verb: str) -> ChosenJobs:
        return self.book.chosen(keys, verb)

    async def queue_act(self, keys: Sequence[RowKey], verb: str) -> Acted:
        tokens = self.book.tokens(keys, verb)
        does = {"cancel": self.jobs_cancel, "hold": self.jobs_hold, "release": self.jobs_release}[
            verb
        ]
        return acted(await does(tokens))

    async def queue_terms(self, keys: Sequence[RowKey]) -> PresentTerms:
        total, records = self.book.waiting(keys)
        found = {
            "limit": Counter(it.limit for it in records),
            "partition": Counter(it.partition for it in records),
            "nice": Counter({0: len(records)}),
            "after": Counter({"": len(records)}),
        }
        values = {name: tuple(counts.most_common()) for name, counts in found.items()}
        return PresentTerms(total, len(records), values)  # type: ignore[arg-type]

    async def queue_change(self, keys: Sequence[RowKey], change: JobTerms) -> Acted:
        self.new_terms.append(change)
        return acted(await self.jobs_change(self.book.tokens(keys, "change"), change))

    async def jobs_change(self, tokens: Sequence[str], change: JobTerms) -> tuple[JobAnswer, ...]:
        raise NotImplementedError

    async def jobs_cancel(self, tokens: Sequence[str]) -> tuple[JobAnswer, ...]:
        raise NotImplementedError

    async def jobs_hold(self, tokens: Sequence[str]) -> tuple[JobAnswer, ...]:
        raise NotImplementedError

    async def jobs_release(self, tokens: Sequence[str]) -> tuple[JobAnswer, ...]:
        raise NotImplementedError

    async def jobs_find(self, action: str, directory: str) -> JobRecord | None:
        polled = self.book._view.jobs if self.book._view is not None else ()
        return self.book.find(action, directory, polled)

    async def jobs_named(self, label: str) -> JobRecord | None:
        return self.book.named(label)

    async def queue_used(self, key: RowKey) -> UsageNow | None:
        self.asked_used.append(key)
        return self.used

    async def queue_shell(self, key: RowKey) -> ShellBeside:
        return self.beside

    async def queue_detail(self, key: RowKey, *, estimate: bool = False) -> JobDetail:
        self.estimates.append(estimate)
        entry = self.book.job(key)
        assert entry is not None
        if entry.cluster == "local":
            told = "it starts jobs as soon as they fit, and gives no estimate"
            part = CommandOutput("the queue of this machine", (("state", entry.state.value),))
            return JobDetail(key, self.now, (part,), problem=told)
        fields = (
            ("JobId", str(entry.job_id)), ("JobName", entry.title), ("UserId", "someone(1000)"),
            ("Priority", "41823"), ("Account", "lab2"), ("QOS", "normal"),
            ("JobState", entry.state.value.upper()), ("Reason", entry.why),
            ("TimeLimit", "01:00:00"),
            ("SubmitTime", "2026-11-21T01:39:02"), ("Partition", entry.partition),
            ("NumNodes", "4"), ("NumCPUs", "512"), ("TRES", "cpu=512,mem=1T,node=4,billing=512"),
            ("WorkDir", "/scratch/someone/lj_fluid"),
        )  # fmt: skip
        detail = JobDetail(
            key, self.now,
            (CommandOutput(f"scontrol show job {entry.job_id}", fields),),
            PRIORITY,
        )  # fmt: skip
        if not estimate:
            return detail
        start = int(self.now) + 2_900
        return detail._replace(start=start, on="n[017-020]", ahead=11, waiting=143, estimated=True)


def crowd(cluster: str) -> tuple[JobRecord, ...]:
    """Jobs of other people."""
    return tuple(
        JobRecord(
            "",
            cluster,
            JobKey(9_190_000 + number),
            user,
            queued=Job(
                9_190_000 + number, state, name, partition="wholenode", limit=7_200,
                elapsed=900 if state is JobState.RUNNING else None,
                reason="" if state is JobState.RUNNING else "Priority",
            ),
        )
        for number, (user, name, state) in enumerate(
            (
                ("ada", "qmc-scan", JobState.RUNNING),
                ("grace", "train", JobState.RUNNING),
                ("ada", "qmc-scan", JobState.PENDING),
            )
        )
    )  # fmt: skip


ARRAY = 9_182_810


def with_array(engine: SampleEngine, tasks: int = 64, running: int = 41) -> SampleEngine:
    """An array of the project on anvil; the first of its tasks run."""
    names = engine.names
    for number in range(1, tasks + 1):
        job = engine._queue(engine.actions[2], (names[number % len(names)],), f"array7.{number}")
        job.record = sent_to(job.record, "anvil", "wholenode", JobKey(ARRAY, number))
        job.state = JobState.RUNNING if number <= running else JobState.PENDING
        job.started = engine.now - 3_000 if number <= running else 0.0
        job.limit = 3_600
        job.reason = "" if number <= running else "Priority"
    return engine
