"""Carry out a plan that a person confirmed: reserve, write down, send, write down, record.

Takes a plan, a scheduler, the journal and the project's reservations; gives progress, one value
for each job. The process may be killed between any two steps: `settle` finds from the journal,
the scheduler and the fence what became of each job, so that none is lost and none runs twice.
Source: slurm_rig 6.4; Row A5.1 (order, and the first refusal stops the rest).
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rowtui.core.clusters.schedulers.base import (
    Accepted,
    JobSpec,
    OutcomeUnknown,
    Rejected,
    Scheduler,
    SubmitResult,
)
from rowtui.core.errors import RowtuiError
from rowtui.core.submission.ending import ending_of
from rowtui.core.submission.fence import ABANDONED, read_ended, read_fence
from rowtui.core.submission.journal import RECORDED, Journal
from rowtui.core.submission.model import JournalEntry, Plan, PlannedJob, Step
from rowtui.core.submission.plan_json import save_plan
from rowtui.core.submission.reservations import Release, Reservations
from rowtui.core.text import plural, visible

# Jobs that are reserved, and whose ids are recorded, together: a commit of records of a million
# directories takes about as long as five submissions.
BATCH = 64
# How often, and how many seconds apart, a job is looked for whose submission had no clear answer.
LOOKUPS = 3
LOOKUP_PAUSE = 2.0


@dataclass(frozen=True, slots=True)
class Progress:
    """One step. `done` of `total` jobs have an answer; `error` says what went wrong, else ""."""

    done: int
    total: int
    token: str
    message: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class Tools:
    """What carrying out a plan works with. `root` is the project's folder.

    `stop` is asked between two jobs: when it says yes, no more are sent.
    """

    scheduler: Scheduler
    journal: Journal
    reservations: Reservations
    root: Path
    clock: Callable[[], float] = time.time
    stop: Callable[[], bool] = lambda: False
    lookup_pause: float = LOOKUP_PAUSE


async def carry_out(plan: Plan, tools: Tools) -> AsyncGenerator[Progress, None]:
    """Send the jobs of a plan, one after the other.

    Jobs whose directories somebody else has are skipped with a message. The first job that is
    refused, or whose fate stays unknown, stops the rest; so does `tools.stop`. Jobs of this plan
    that were sent before are not sent again.
    Raises: RowtuiError if the plan or journal cannot be written, or another process is at it.
    """
    await asyncio.to_thread(save_plan, tools.root, plan)
    with tools.journal.hold(plan.id) as held:
        if not held:
            raise RowtuiError("another rowtui is carrying out this plan right now")
        run = _Run(plan, tools)
        steps = run.send_all()
        try:
            async for progress in steps:
                yield progress
        finally:
            await steps.aclose()
            # Also when the caller stopped listening: nothing stays reserved that was not sent.
            await asyncio.shield(run.give_back())


@dataclass
class _Run:
    plan: Plan
    tools: Tools
    ids: dict[str, int] = field(default_factory=dict)  # accepted, by token
    unrecorded: dict[str, int] = field(default_factory=dict)
    open: dict[str, PlannedJob] = field(default_factory=dict)  # planned or reserved, not sent
    done: int = 0

    async def send_all(self) -> AsyncGenerator[Progress, None]:
        plan, tools = self.plan, self.tools
        latest = await asyncio.to_thread(tools.journal.latest, plan.id)
        self.ids = {t: e.job_id for t, e in latest.items() if e.step is Step.ACCEPTED}
        sent = {token for token, entry in latest.items() if entry.step is not Step.PLANNED}
        jobs = [job for job in plan.jobs if job.token not in sent]
        self.done = len(plan.jobs) - len(jobs)
        self.open = {job.token: job for job in jobs}
        await self.note(Step.PLANNED, [job for job in jobs if job.token not in latest])
        size = 1 if tools.scheduler.immediate else BATCH
        for start in range(0, len(jobs), size):
            batch = jobs[start : start + size]
            refused = await asyncio.to_thread(tools.reservations.reserve, batch)
            for job in batch:
                if tools.stop():
                    yield self.stopped("interrupted")
                    return
                if job.token in refused:
                    yield await self.skip(job, refused[job.token])
                    continue
                lost = [token for token in job.depends_on if token not in self.ids]
                if lost:
                    yield await self.skip(job, "a job that it depends on was not sent")
                    continue
                yield self.say(job, f"submitting {job.name}")
                outcome = await self.send(job)
                yield outcome
                if outcome.error:
                    if self.open:
                        yield self.stopped("the submission stopped here")
                    return
            await self.record()

    async def send(self, job: PlannedJob) -> Progress:
        """Send one job; whatever happens to who asked, the answer is waited for and written down.

        A job that runs now, inside of this, is stopped instead.
        """
        if self.tools.scheduler.immediate:
            return await self.attempt(job)
        attempt = asyncio.ensure_future(self.attempt(job))
        try:
            return await asyncio.shield(attempt)
        except asyncio.CancelledError:
            await attempt
            raise

    async def attempt(self, job: PlannedJob) -> Progress:
        tools = self.tools
        await self.note(Step.SENDING, [job], detail=tools.scheduler.place)
        del self.open[job.token]
        _make_log_folder(tools.root, job)
        started = tools.clock()
        try:
            result = await tools.scheduler.submit(self.spec(job))
        except asyncio.CancelledError:
            if tools.scheduler.immediate:
                await self.ended_at_once(job, Rejected("interrupted"))
            raise
        if tools.scheduler.immediate:
            return await self.ended_at_once(job, result)
        if isinstance(result, OutcomeUnknown):
            result = await self.look_up(job, result)
        if isinstance(result, Accepted):
            return await self.accepted(job, result.job_id)
        if isinstance(result, Rejected):
            await self.release([Release(job.token, job.action, {})])
            await self.note(Step.REJECTED, [job], detail=result.reason)
            return self.say(job, "", f"{job.name} was refused: {visible(result.reason)}", 1)
        await self.note(Step.UNKNOWN, [job], detail=result.reason)
        waited = tools.clock() - started
        return self.say(
            job,
            "",
            f"whether {job.name} was submitted is not known after {waited:.0f} s: "
            f"{visible(result.reason)}. It stays reserved and is looked for at the next start",
            1,
        )

    async def accepted(self, job: PlannedJob, job_id: int) -> Progress:
        cluster = job.destination.cluster
        if await asyncio.to_thread(read_fence, self.tools.root, job.token) == ABANDONED:
            # Somebody took us for dead. The job would do nothing: take it out of the queue.
            await self.tools.scheduler.cancel([job_id])
            detail = "given up by another process meanwhile"
            await self.release([Release(job.token, job.action, {})])
            await self.note(Step.ABANDONED, [job], detail=detail)
            return self.say(job, "", f"{job.name}: {detail}", 1)
        await self.note(Step.ACCEPTED, [job], job_id=job_id)
        self.ids[job.token] = self.unrecorded[job.token] = job_id
        return self.say(job, f"submitted job {cluster}/{job_id}", done=1)

    async def ended_at_once(self, job: PlannedJob, result: SubmitResult) -> Progress:
        """A job that ran inside `submit` is over: say how it ended, as for any other job."""
        marker = await asyncio.to_thread(read_ended, self.tools.root, job.token)
        if isinstance(result, Accepted):
            self.ids[job.token] = result.job_id
        word = "" if isinstance(result, Accepted) else result.reason
        ending = ending_of(job, marker, None if word else 0, word, 0)
        await self.release([ending.release])
        await self.note(Step.ENDED, [job], detail=ending.detail)
        if isinstance(result, Accepted):
            return self.say(job, f"{job.name} is done", done=1)
        return self.say(job, "", f"{job.name}: {visible(word)}", 1)

    async def look_up(self, job: PlannedJob, result: OutcomeUnknown) -> SubmitResult:
        for attempt in range(LOOKUPS):
            if attempt:
                await asyncio.sleep(self.tools.lookup_pause)
            found = await self.tools.scheduler.find(job.token)
            if found:
                return Accepted(min(found, key=lambda it: (not it.state.active, it.id)).id)
        return result

    async def skip(self, job: PlannedJob, why: str) -> Progress:
        await self.release([Release(job.token, job.action, {})])
        await self.note(Step.ABANDONED, [job], detail=why)
        del self.open[job.token]
        return self.say(job, f"skipped {job.name}: {why}", done=1)

    def stopped(self, why: str) -> Progress:
        names = [job.name for job in self.open.values()]
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")
        text = f"{why}: {plural(len(names), 'job was', 'jobs were')} not sent ({shown})"
        return Progress(self.done, len(self.plan.jobs), "", "", text)

    # Directories are given back before that is written down as the end of a job: whoever is killed
    # in between leaves a job that is settled once more. The other way they would stay reserved.

    async def give_back(self) -> None:
        """Record what was accepted, and release what was not sent."""
        await self.record()
        left = list(self.open.values())
        await self.release([Release(job.token, job.action, {}) for job in left])
        await self.note(Step.ABANDONED, left, detail="not sent")
        self.open.clear()

    async def release(self, releases: Sequence[Release]) -> None:
        await asyncio.to_thread(self.tools.reservations.release, releases)

    async def record(self) -> None:
        ids, self.unrecorded = self.unrecorded, {}
        await asyncio.to_thread(self.tools.reservations.record, ids)
        await self.write(
            JournalEntry(token, self.plan.id, Step.ACCEPTED, self.tools.clock(), job_id, RECORDED)
            for token, job_id in ids.items()
        )

    async def note(
        self, step: Step, jobs: Sequence[PlannedJob], job_id: int = 0, detail: str = ""
    ) -> None:
        at = self.tools.clock()
        await self.write(
            JournalEntry(job.token, self.plan.id, step, at, job_id, detail) for job in jobs
        )

    async def write(self, entries: Iterable[JournalEntry]) -> None:
        await asyncio.to_thread(self.tools.journal.append, list(entries))

    def say(self, job: PlannedJob, message: str, error: str = "", done: int = 0) -> Progress:
        self.done += done
        return Progress(self.done, len(self.plan.jobs), job.token, message, error)

    def spec(self, job: PlannedJob) -> JobSpec:
        return JobSpec(
            token=job.token,
            name=job.name,
            script=job.script,
            workdir=self.tools.root,
            log_path=job.log_path,
            cpus=job.cpus,
            gpus=job.gpus,
            memory_mb=job.memory_mb,
            walltime_seconds=job.walltime_seconds,
            after=tuple(self.ids[token] for token in job.depends_on),
        )


def _make_log_folder(root: Path, job: PlannedJob) -> None:
    """Slurm fails a job without a word if the folder of its log is missing."""
    folder = (root / job.log_path).parent
    if job.log_path and "%" not in str(folder):
        with contextlib.suppress(OSError, ValueError):
            folder.mkdir(parents=True, exist_ok=True)
