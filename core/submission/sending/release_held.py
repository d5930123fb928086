"""Release of accepted jobs: their ids are recorded, the queue is checked, then they are released.

Jobs are sent held. This module takes jobs whose ids are in the journal. While the next jobs are
sent, it enters the ids into the project's records and releases the jobs that the scheduler
certainly has and that no process gave up since. Jobs that cannot be verified now stay held until
`settle` handles them.
"""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rowtui.core.clusters.schedulers.base import JobKey
from rowtui.core.submission.bundles.pilot_model import is_in_pilot
from rowtui.core.submission.plan.arrays import sent_with
from rowtui.core.submission.plan.model import JobStep, JournalEntry, Plan, PlannedJob
from rowtui.core.submission.plan.outcome import JobResult
from rowtui.core.submission.plan.record import JobRecord
from rowtui.core.submission.reconcile.conclude import (
    NOT_LOOKED,
    Conclusion,
    LookAtProducts,
    SeenProducts,
    conclude,
    not_looked,
)
from rowtui.core.submission.reconcile.ending import Evidence, OverJob
from rowtui.core.submission.sending.fence import ABANDONED
from rowtui.core.submission.sending.journal import RECORDED, RELEASED, Journal
from rowtui.core.submission.sending.reservations import ReservationRelease, StoredReservations
from rowtui.core.submission.sending.send import LOOKUP_PAUSE, PATIENCE, find_requests
from rowtui.core.submission.sending.site import NO_TRACES, Access

# Records and messages of a submission in progress: steps, ids, answers and reservations.
#
# One `RunRecords` is shared by the code that carries out a plan and the code that releases its
# jobs. Both share the ids of accepted jobs, and the lock under which the project's records are
# changed.


_NO_KEY = JobKey(0)


@dataclass(frozen=True, slots=True)
class SendingProgress:
    """One step. `done` of `total` jobs have an answer; `error` states what went wrong, else "".

    `became`: the new state of the job with this token; None while it is on its way, or if the step
    is not about one job. `message`: of an accepted job, what was submitted, such as `job alpha/12`.
    `copies_to`: the cluster whose copy of the project is compared or updated before jobs are sent;
    "" in other steps.
    """

    done: int
    total: int
    token: str
    message: str
    error: str = ""
    became: JobStep | None = None
    copies_to: str = ""

    @property
    def answered(self) -> bool:
        """Whether the step is an answer, and not the news that something is on its way."""
        return self.became is not None or bool(self.error)


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools of a submission. `root` is the project's folder; `access` is by cluster.

    `search` searches for unknown jobs of the project if records were lost. `stop` is called between
    two jobs; if it returns True, no further job is sent. `look` looks at the completions of jobs
    that ran inside `submit`; `on_end` is called for each of them.
    """

    access: Mapping[str, Access]
    journal: Journal
    reservations: StoredReservations
    root: Path
    clock: Callable[[], float] = time.time
    stop: Callable[[], bool] = lambda: False
    lookup_pause: float = LOOKUP_PAUSE
    patience: float = PATIENCE
    search: Callable[[], Awaitable[None]] | None = None
    look: LookAtProducts = not_looked
    on_end: Callable[[JobRecord], None] = lambda _: None


@dataclass
class RunRecords:
    """The records of one submission of a plan. `keys`: of accepted jobs, by token."""

    plan: Plan
    tools: Tools
    keys: dict[str, JobKey] = field(default_factory=dict)
    done: int = 0
    records: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def release(self, releases: Sequence[ReservationRelease]) -> None:
        """Give directories back."""
        async with self.records:
            await asyncio.to_thread(self.tools.reservations.release, releases)

    async def note(self, step: JobStep, jobs: Sequence[PlannedJob], detail: str = "") -> None:
        """Journal a step of these jobs, with the ids that they have so far."""
        if jobs:
            at = self.tools.clock()
            entries = [self._entry(job, step, at, detail) for job in jobs]
            await asyncio.to_thread(self.tools.journal.append, entries)

    def _entry(
        self, job: PlannedJob, step: JobStep, at: float, detail: str, end: JobResult | None = None
    ) -> JournalEntry:
        key, cluster = self.keys.get(job.token, _NO_KEY), job.destination.cluster
        return JournalEntry(
            job.token, self.plan.id, step, at, key.id, detail, cluster, key.task, end
        )

    async def over(self, jobs: Sequence[PlannedJob], evidence: Evidence) -> list[Conclusion]:
        """Conclude how these jobs ended, record that, and give their directories back.

        The records come before the journal: see `apply_settled`.
        """
        if not jobs:
            return []
        at = self.tools.clock()
        every = [
            OverJob(
                job,
                JobKey(0),
                evidence._replace(member=job.bundle is not None, waited=bool(job.depends_on)),
                user=self.plan.user,
                plan_id=self.plan.id,
            )
            for job in jobs
        ]
        seen: Sequence[SeenProducts] = [NOT_LOOKED] * len(every)
        if evidence.began:
            seen = await asyncio.to_thread(self.tools.look, every)
        found = [conclude(it, its, at) for it, its in zip(every, seen, strict=True)]
        for each in found:
            if each.finished is not None:
                await asyncio.to_thread(self.tools.on_end, each.finished)
        await self.release([each.release for each in found])
        entries = [
            self._entry(it.job, each.step, at, each.detail, each.end)
            for it, each in zip(every, found, strict=True)
        ]
        await asyncio.to_thread(self.tools.journal.append, entries)
        return found

    def say(
        self,
        job: PlannedJob,
        message: str,
        error: str = "",
        done: int = 0,
        became: JobStep | None = None,
    ) -> SendingProgress:
        """Return progress about a job; `done` more jobs have an answer now."""
        self.done += done
        return SendingProgress(self.done, len(self.plan.jobs), job.token, message, error, became)

    def progress(self, message: str, error: str = "") -> SendingProgress:
        """Return progress that is not about one job."""
        return SendingProgress(self.done, len(self.plan.jobs), "", message, error)


# Jobs whose own header requests a hold: only the user releases them, never rowtui.
#
# rowtui submits jobs held, so that their ids are recorded before they start, and then releases
# them. A queue does not distinguish this hold from one requested by `submit_options` or `custom`;
# the script does. Source: the manuals of sbatch (--hold, -H) and qsub (-h).


_HOLDS = {"#SBATCH": frozenset({"--hold", "-H"}), "#$": frozenset({"-h"})}


_QUOTING = frozenset("'\"\\")


def stays_held(job: PlannedJob) -> bool:
    """Whether the job is submitted held and stays held until the user releases it."""
    return any(map(_asks_for_hold, _header(job.script)))


def staying_held(jobs: Iterable[PlannedJob]) -> frozenset[str]:
    """Return the tokens of the jobs that stay held; one task stands for its array: see `arrays`."""
    of_array: dict[str, bool] = {}
    found = []
    for job in jobs:
        held = of_array.get(job.array) if job.array else None
        if held is None:
            held = of_array[job.array] = stays_held(job)
        if held:
            found.append(job.token)
    return frozenset(found)


def _header(script: str) -> Iterator[str]:
    """Yield the header's lines up to the first that is no comment, to skip the longer rest."""
    at = 0
    while at < len(script):
        end = script.find("\n", at)
        line = script[at : end if end >= 0 else len(script)]
        if line.startswith("#"):
            yield line
        elif line.strip():
            return
        at += len(line) + 1


def _asks_for_hold(line: str) -> bool:
    prefix, _, options = line.partition(" ")
    words = _HOLDS.get(prefix)
    if words is None:
        return False
    if _QUOTING.isdisjoint(options) and not any(word in options for word in words):
        return False  # contains no text that a shell could parse as such an option
    return not words.isdisjoint(_words(options))


def _words(options: str) -> list[str]:
    try:
        return shlex.split(options, comments=True)
    except ValueError:  # the scheduler will report the error
        return options.split()


@dataclass
class JobRelease:
    """The accepted jobs of a submission: the waiting ones, and the ones that are being released."""

    it: RunRecords
    waiting: dict[str, PlannedJob] = field(default_factory=dict)  # not yet recorded
    # The previous batch is recorded and released while the next one is sent.
    under_way: asyncio.Task[list[SendingProgress]] | None = None

    async def let_go(self) -> list[SendingProgress]:
        """Record the ids of all accepted jobs, and release the jobs."""
        before = await self.let_go_meanwhile()
        return before + await self.let_go_meanwhile()

    async def let_go_meanwhile(self) -> list[SendingProgress]:
        """Start to record and release accepted jobs; return the previous batch's progress.

        Jobs that cannot be verified now stay held until `settle` handles them.
        """
        before, jobs = self.under_way, list(self.waiting.values())
        self.under_way, self.waiting = None, {}
        progress = await before if before is not None else []
        if jobs:
            self.under_way = asyncio.ensure_future(self.record_and_start(jobs))
        return progress

    async def record_and_start(self, jobs: Sequence[PlannedJob]) -> list[SendingProgress]:
        ids = {job.token: self.it.keys[job.token].id for job in jobs}
        async with self.it.records:
            await asyncio.to_thread(self.it.tools.reservations.record, ids)
        await self.it.note(JobStep.ACCEPTED, jobs, detail=RECORDED)
        progress: list[SendingProgress] = []
        for cluster in dict.fromkeys(job.destination.cluster for job in jobs):
            here = [job for job in jobs if job.destination.cluster == cluster]
            progress += await self.start(here, self.it.tools.access[cluster])
        return progress

    async def start(self, jobs: Sequence[PlannedJob], access: Access) -> list[SendingProgress]:
        """Release the jobs of one cluster that it certainly has, and that no process gave up."""
        try:
            traces = await access.site.traces([job.token for job in jobs])
        except OSError:
            return []
        given_up = [job for job in jobs if traces.get(job.token, NO_TRACES).fence == ABANDONED]
        others = {sent_with(job) for job in jobs if job not in given_up}
        progress = [await self.taken_back(job, access, others) for job in given_up]
        if not access.scheduler.holds:
            return progress
        wanted = [job.token for job in jobs if job not in given_up]
        found = await find_requests(access.scheduler, wanted) or {}
        theirs = {
            job.token: known.key
            for job in jobs
            for known in found.get(job.token, ())
            if known.key == self.it.keys.get(job.token) and known.state.active
        }
        held_by_others = staying_held(jobs)
        as_they_are = {
            key for token, key in theirs.items() if is_in_pilot(token) or token in held_by_others
        }
        held = [key for key in dict.fromkeys(theirs.values()) if key not in as_they_are]
        answers = await access.scheduler.release(held) if held else ()
        let_go = as_they_are | {answer.job for answer in answers if not answer.error}
        free = [job for job in jobs if theirs.get(job.token) in let_go]
        await self.it.note(JobStep.ACCEPTED, free, detail=RELEASED)
        return progress

    async def taken_back(
        self, job: PlannedJob, access: Access, others: Collection[str]
    ) -> SendingProgress:
        """Remove a job from the queue that another process gave up; the job would do nothing.

        `others`: the bundles that still have other jobs; in them, the job is only skipped.
        """
        key = self.it.keys.pop(job.token)
        alone = job.bundle is None or job.bundle.token not in others
        if alone and not is_in_pilot(job.token):
            await access.scheduler.cancel([key])
        detail = "given up by another process meanwhile"
        evidence = Evidence(step=JobStep.ABANDONED, note=detail, job_id=key.id)
        await self.it.over([job], evidence)
        return self.it.say(job, "", f"{job.name}: {detail}", 0, JobStep.ABANDONED)
