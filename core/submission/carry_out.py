"""Carry out a plan that a person confirmed: reserve, write down, send, write down, record, release.

Takes a plan, the access to its clusters, the journal and the project's reservations; gives
progress, one value for each job. Jobs are sent held where the scheduler can do that, and released
once their ids are on the disk and the scheduler was seen to have them. The process may be killed
between any two steps: `settle` finds from the journal, the scheduler and the fence what became of
each job, so that none is lost and none runs twice.
Source: slurm_rig 6.4; Row A5.1 (order, and the first refusal stops the rest).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rowtui.core.clusters.schedulers.base import (
    Accepted,
    JobKey,
    Rejected,
    SubmitResult,
    Unreachable,
)
from rowtui.core.errors import RowtuiError
from rowtui.core.submission.dependencies import (
    NEEDS_MISSING,
    Sent,
    Standing,
    cannot_wait,
    standing,
)
from rowtui.core.submission.ending import NOT_BEGUN, WITHOUT_A_WORD, ending_of
from rowtui.core.submission.fence import ABANDONED
from rowtui.core.submission.in_queue import find_requests
from rowtui.core.submission.journal import RECORDED, RELEASED, Journal
from rowtui.core.submission.model import JournalEntry, Plan, PlannedJob, Step
from rowtui.core.submission.own_hold import staying_held
from rowtui.core.submission.pilot_model import is_in_pilot
from rowtui.core.submission.plan_json import save_plan
from rowtui.core.submission.reservations import Release, Reservations
from rowtui.core.submission.sending import (
    LOOKUP_PAUSE,
    PATIENCE,
    Unit,
    Waiting,
    batches_of,
    chunks_of,
    log_folders,
    sent_with,
    submit_surely,
    units_of,
)
from rowtui.core.submission.site import NO_TRACES, Access, Traces
from rowtui.core.text import plural, visible

# Jobs that are reserved, and whose ids are recorded, together: a commit of records of a million
# directories takes about as long as five submissions.
BATCH = 64
# Jobs that are handed over without a look at who listens; that they are sent, and their answers,
# is written down together: to sync a file takes about as long as a submission.
CHUNK = 32


@dataclass(frozen=True, slots=True)
class Progress:
    """One step. `done` of `total` jobs have an answer; `error` says what went wrong, else "".

    `became`: how the job with this token stands now; None: on its way, or not about one job.
    """

    done: int
    total: int
    token: str
    message: str
    error: str = ""
    became: Step | None = None


@dataclass(frozen=True, slots=True)
class Tools:
    """What carrying out a plan works with. `root` is the project's folder; `access` is by cluster.

    `stop` is asked between two jobs: when it says yes, no more are sent.
    """

    access: Mapping[str, Access]
    journal: Journal
    reservations: Reservations
    root: Path
    clock: Callable[[], float] = time.time
    stop: Callable[[], bool] = lambda: False
    lookup_pause: float = LOOKUP_PAUSE
    patience: float = PATIENCE


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
    keys: dict[str, JobKey] = field(default_factory=dict)  # accepted, by token
    sent: Sent = Sent({}, (), {})
    waiting: dict[str, PlannedJob] = field(default_factory=dict)  # accepted, not yet recorded
    open: dict[str, PlannedJob] = field(default_factory=dict)  # planned or reserved, not sent
    done: int = 0
    under_way: asyncio.Future[list[Progress]] | None = None
    said: asyncio.Queue[Progress] = field(default_factory=asyncio.Queue)
    # The batch before is recorded and released while the next one is sent.
    letting_go: asyncio.Task[list[Progress]] | None = None
    records: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def send_all(self) -> AsyncGenerator[Progress, None]:
        plan, tools = self.plan, self.tools
        latest = await asyncio.to_thread(tools.journal.latest, plan.id)
        self.keys = {t: e.key for t, e in latest.items() if e.step is Step.ACCEPTED}
        done = (token for token, entry in latest.items() if standing(entry) is Standing.DONE)
        clusters = {job.token: job.destination.cluster for job in plan.jobs}
        self.sent = Sent(self.keys, frozenset(done), clusters)
        sent = {token for token, entry in latest.items() if entry.step is not Step.PLANNED}
        jobs = [job for job in plan.jobs if job.token not in sent]
        self.done = len(plan.jobs) - len(jobs)
        self.open = {job.token: job for job in jobs}
        await self.note(Step.PLANNED, [job for job in jobs if job.token not in latest])
        for batch in batches_of(jobs, self.most_in_batch):
            async with self.records:
                refused = await asyncio.to_thread(tools.reservations.reserve, batch)
            for job in batch:
                if job.token in refused:
                    yield await self.skip(job, refused[job.token])
            free = [job for job in batch if job.token not in refused]
            for chunk in chunks_of(units_of(free), self.most_in_chunk, first=not self.done):
                if tools.stop():
                    yield self.stopped("interrupted")
                    return
                ready = []
                for unit in chunk:
                    going: list[PlannedJob] = []
                    beside: set[str] = set()  # their tokens
                    scheduler = self.access(unit).scheduler
                    for job in unit.jobs:
                        if why := cannot_wait(job, self.sent, scheduler, beside):
                            yield await self.skip(job, why)
                        else:
                            going.append(job)
                            beside.add(job.token)
                    if going:
                        ready.append(Unit(tuple(going)))
                if ready:
                    yield self.submitting(ready[0])
                failed = False
                async for progress in self.send(ready):
                    yield progress
                    failed = failed or bool(progress.error)
                if failed:
                    if self.open:
                        yield self.stopped("the submission stopped here")
                    return
            for progress in await self.let_go_meanwhile():
                yield progress
        for progress in await self.let_go():
            yield progress

    async def send(self, units: Sequence[Unit]) -> AsyncGenerator[Progress, None]:
        """Send some; whatever happens to who asked, the answers are waited for and written down.

        A job that runs now, inside of this, is stopped instead.
        """
        if not units:
            return
        attempt = self.under_way = asyncio.ensure_future(self.attempt(units))
        try:
            while not attempt.done():
                heard = asyncio.ensure_future(self.said.get())
                await asyncio.wait({attempt, heard}, return_when=asyncio.FIRST_COMPLETED)
                if heard.done():
                    yield heard.result()
                else:
                    heard.cancel()
            for progress in attempt.result():
                yield progress
        except (asyncio.CancelledError, GeneratorExit):
            if self.access(units[0]).scheduler.immediate:
                attempt.cancel()
            await asyncio.wait({attempt})
            raise

    def access(self, unit: Unit) -> Access:
        return self.tools.access[unit.cluster]

    def most_in_batch(self, unit: Unit) -> int:
        return 1 if self.access(unit).scheduler.immediate else BATCH

    def most_in_chunk(self, unit: Unit) -> int:
        return CHUNK if self.access(unit).scheduler.at_once > 1 else 1

    async def attempt(self, units: Sequence[Unit]) -> list[Progress]:
        """Hand them over and write down what became of each."""
        for cluster in dict.fromkeys(unit.cluster for unit in units):
            access = self.tools.access[cluster]
            jobs = [job for unit in units if unit.cluster == cluster for job in unit.jobs]
            for job in jobs:
                del self.open[job.token]
            try:
                await self.note(Step.SENDING, jobs, detail=access.scheduler.place)
            except BaseException:
                self.open |= {job.token: job for job in jobs}
                raise
            await access.site.make_folders(log_folders(jobs))
        started = self.tools.clock()
        waiting = Waiting(
            self.tools.lookup_pause, self.tools.patience, self.tools.stop, self.mention
        )
        at_once = asyncio.Semaphore(min(self.access(unit).scheduler.at_once for unit in units))
        failed = False

        async def one(unit: Unit) -> SubmitResult | None:
            """None: an earlier one was not accepted, so this one was not sent."""
            nonlocal failed
            async with at_once:
                if failed:
                    return None
                result = await submit_surely(unit, self.access(unit), self.keys, waiting)
            failed = failed or not isinstance(result, Accepted)
            return result

        try:
            results = await asyncio.gather(*map(one, units))
        except asyncio.CancelledError:
            if self.access(units[0]).scheduler.immediate:
                await self.ended_at_once(units[0], Rejected("interrupted"))
            raise
        answers = list(zip(units, results, strict=True))
        for unit, result in answers:
            if self.access(unit).scheduler.immediate and result is not None:
                return await self.ended_at_once(unit, result)
        await self.take_ids(answers)
        progress: list[Progress] = []
        for unit, result in answers:
            if result is not None:
                if unit is not units[0]:
                    progress.append(self.submitting(unit))
                progress += await self.concluded(unit, result, self.tools.clock() - started)
        return progress

    async def take_ids(self, answers: Sequence[tuple[Unit, SubmitResult | None]]) -> None:
        """Write the ids of what was accepted down; what was not sent is open again."""
        accepted: list[PlannedJob] = []
        for unit, result in answers:
            if result is None:
                self.open |= {job.token: job for job in unit.jobs}
            elif isinstance(result, Accepted):
                accepted += unit.jobs
                for job in unit.jobs:
                    self.keys[job.token] = JobKey(result.job_id, unit.task(job))
        await self.note(Step.ACCEPTED, accepted)
        self.waiting |= {job.token: job for job in accepted}

    async def concluded(self, unit: Unit, result: SubmitResult, seconds: float) -> list[Progress]:
        jobs = unit.jobs
        if isinstance(result, Accepted) and is_in_pilot(jobs[0].token):
            text = f"handed {plural(len(jobs), 'job')} to the pilot {unit.cluster}/{result.job_id}"
            return [self.say(jobs[0], text, "", len(jobs), Step.ACCEPTED)]
        if isinstance(result, Accepted) and unit.bundle is not None:
            key = f"{unit.cluster}/{result.job_id}"
            text = f"submitted job {key}: a bundle of {plural(len(jobs), 'job')}"
            return [self.say(jobs[0], text, "", len(jobs), Step.ACCEPTED)]
        if isinstance(result, Accepted):
            texts = (f"submitted job {unit.cluster}/{self.keys[job.token]}" for job in jobs)
            return [
                self.say(job, text, "", 1, Step.ACCEPTED)
                for job, text in zip(jobs, texts, strict=True)
            ]
        if isinstance(result, Rejected | Unreachable):
            await self.release([Release(job.token, job.action, {}) for job in jobs])
            await self.note(Step.REJECTED, jobs, detail=result.reason)
            word = "refused" if isinstance(result, Rejected) else "not sent"
            why = f"{unit.name} was {word}: {visible(result.reason)}"
            return [self.say(jobs[0], "", why, len(jobs), Step.REJECTED)]
        await self.note(Step.UNKNOWN, jobs, detail=result.reason)
        why = (
            f"whether {unit.name} was submitted is not known after {seconds:.0f} s: "
            f"{visible(result.reason)}. It stays reserved and is looked for at the next start"
        )
        return [self.say(jobs[0], "", why, len(jobs), Step.UNKNOWN)]

    async def let_go(self) -> list[Progress]:
        """Record the ids of all that was accepted, and let it start."""
        before = await self.let_go_meanwhile()
        return before + await self.let_go_meanwhile()

    async def let_go_meanwhile(self) -> list[Progress]:
        """Begin with what was accepted by now; what came of those before.

        What cannot be verified now stays held: `settle` looks after it.
        """
        before, jobs = self.letting_go, list(self.waiting.values())
        self.letting_go, self.waiting = None, {}
        progress = await before if before is not None else []
        if jobs:
            self.letting_go = asyncio.ensure_future(self.record_and_start(jobs))
        return progress

    async def record_and_start(self, jobs: Sequence[PlannedJob]) -> list[Progress]:
        ids = {job.token: self.keys[job.token].id for job in jobs}
        async with self.records:
            await asyncio.to_thread(self.tools.reservations.record, ids)
        await self.note(Step.ACCEPTED, jobs, detail=RECORDED)
        progress: list[Progress] = []
        for cluster in dict.fromkeys(job.destination.cluster for job in jobs):
            here = [job for job in jobs if job.destination.cluster == cluster]
            progress += await self.start(here, self.tools.access[cluster])
        return progress

    async def start(self, jobs: Sequence[PlannedJob], access: Access) -> list[Progress]:
        """Release the jobs of one cluster that it certainly has, and that nobody gave up."""
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
            if known.key == self.keys.get(job.token) and known.state.active
        }
        held_by_others = staying_held(jobs)
        as_they_are = {
            key for token, key in theirs.items() if is_in_pilot(token) or token in held_by_others
        }
        held = [key for key in dict.fromkeys(theirs.values()) if key not in as_they_are]
        answers = await access.scheduler.release(held) if held else ()
        let_go = as_they_are | {answer.job for answer in answers if not answer.error}
        free = [job for job in jobs if theirs.get(job.token) in let_go]
        await self.note(Step.ACCEPTED, free, detail=RELEASED)
        return progress

    async def taken_back(
        self, job: PlannedJob, access: Access, others: Collection[str]
    ) -> Progress:
        """Somebody took us for dead. The job would do nothing: take it out of the queue.

        `others`: the bundles that have other jobs still; there, this one is passed over.
        """
        key = self.keys.pop(job.token)
        alone = job.bundle is None or job.bundle.token not in others
        if alone and not is_in_pilot(job.token):
            await access.scheduler.cancel([key])
        detail = "given up by another process meanwhile"
        await self.release([Release(job.token, job.action, {})])
        await self.note(Step.ABANDONED, [job], detail=detail)
        return self.say(job, "", f"{job.name}: {detail}", 0, Step.ABANDONED)

    async def ended_at_once(self, unit: Unit, result: SubmitResult) -> list[Progress]:
        """Jobs that ran inside `submit` are over: say how they ended, as for any other job."""
        site = self.access(unit).site
        traces = await site.traces([job.token for job in unit.jobs])
        return [
            await self.job_ended(job, result, traces.get(job.token, NO_TRACES)) for job in unit.jobs
        ]

    async def job_ended(self, job: PlannedJob, result: SubmitResult, traces: Traces) -> Progress:
        if isinstance(result, Accepted):
            self.keys[job.token] = JobKey(result.job_id)
        word = "" if isinstance(result, Accepted) else result.reason
        if job.bundle is not None and not (traces.ended or traces.fence):
            return await self.skip(job, f"{NOT_BEGUN}: {word or WITHOUT_A_WORD}")
        if traces.ended is not None and traces.ended.not_ready:
            return await self.skip(job, NEEDS_MISSING)
        ending = ending_of(job, traces.ended, None if word else 0, word, 0)
        await self.release([ending.release])
        await self.note(Step.ENDED, [job], detail=ending.detail)
        if job.bundle is None:
            well = isinstance(result, Accepted)
        else:
            well, word = not ending.reason, ending.reason
        if well:
            return self.say(job, f"{job.name} is done", "", 1, Step.ENDED)
        return self.say(job, "", f"{job.name}: {visible(word)}", 1, Step.ENDED)

    async def skip(self, job: PlannedJob, why: str) -> Progress:
        await self.release([Release(job.token, job.action, {})])
        await self.note(Step.ABANDONED, [job], detail=why)
        self.open.pop(job.token, None)
        return self.say(job, f"skipped {job.name}: {why}", "", 1, Step.ABANDONED)

    def stopped(self, why: str) -> Progress:
        names = [job.name for job in self.open.values()]
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")
        text = f"{why}: {plural(len(names), 'job was', 'jobs were')} not sent ({shown})"
        return Progress(self.done, len(self.plan.jobs), "", "", text)

    # Directories are given back before that is written down as the end of a job: whoever is killed
    # in between leaves a job that is settled once more. The other way they would stay reserved.

    async def give_back(self) -> None:
        """Record and start what was accepted, and release what was not sent."""
        if self.under_way is not None:  # whoever stopped us twice did not wait for it
            await asyncio.wait({self.under_way})
        await self.let_go()
        left = list(self.open.values())
        await self.release([Release(job.token, job.action, {}) for job in left])
        await self.note(Step.ABANDONED, left, detail="not sent")
        self.open.clear()

    async def release(self, releases: Sequence[Release]) -> None:
        async with self.records:
            await asyncio.to_thread(self.tools.reservations.release, releases)

    async def note(self, step: Step, jobs: Sequence[PlannedJob], detail: str = "") -> None:
        if not jobs:
            return
        at = self.tools.clock()
        entries = []
        for job in jobs:
            key = self.keys.get(job.token, JobKey(0))
            cluster = job.destination.cluster
            entries.append(
                JournalEntry(job.token, self.plan.id, step, at, key.id, detail, cluster, key.task)
            )
        await asyncio.to_thread(self.tools.journal.append, entries)

    def submitting(self, unit: Unit) -> Progress:
        return self.say(unit.jobs[0], f"submitting {unit.name}")

    def mention(self, text: str) -> None:
        """Tell who listens while an answer is waited for."""
        self.said.put_nowait(Progress(self.done, len(self.plan.jobs), "", text))

    def say(
        self,
        job: PlannedJob,
        message: str,
        error: str = "",
        done: int = 0,
        became: Step | None = None,
    ) -> Progress:
        self.done += done
        return Progress(self.done, len(self.plan.jobs), job.token, message, error, became)
