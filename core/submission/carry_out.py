"""Carry out a plan that a person confirmed: reserve, write down, send, write down, record, release.

Takes a plan, the access to its clusters, the journal and the project's reservations; gives
progress, one value for each job. Jobs are sent held where the scheduler can do that, and released
once their ids are on the disk and the scheduler was seen to have them. The process may be killed
between any two steps: `settle` finds from the journal, the scheduler and the fence what became of
each job, so that none is lost and none runs twice. The order is Row's; the first refusal stops the
rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

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
from rowtui.core.submission.letting_go import LettingGo
from rowtui.core.submission.model import Plan, PlannedJob, Step
from rowtui.core.submission.pilot_model import is_in_pilot
from rowtui.core.submission.plan_json import save_plan
from rowtui.core.submission.reservations import Release
from rowtui.core.submission.run_records import Progress, RunRecords, Tools
from rowtui.core.submission.sending import (
    Unit,
    Waiting,
    batches_of,
    chunks_of,
    log_folders,
    submit_surely,
    units_of,
)
from rowtui.core.submission.site import NO_TRACES, Access, Traces
from rowtui.core.text import plural, visible

__all__ = ["Progress", "Tools", "carry_out"]

# Jobs that are reserved, and whose ids are recorded, together: a commit of records of a million
# directories takes about as long as five submissions.
BATCH = 64
# Jobs that are handed over without a look at who listens; that they are sent, and their answers,
# is written down together: to sync a file takes about as long as a submission.
CHUNK = 32


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
        it = RunRecords(plan, tools)
        run = _Run(it, LettingGo(it))
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
    it: RunRecords
    letting: LettingGo
    sent: Sent = Sent({}, (), {})
    open: dict[str, PlannedJob] = field(default_factory=dict)  # planned or reserved, not sent
    under_way: asyncio.Future[list[Progress]] | None = None
    said: asyncio.Queue[Progress] = field(default_factory=asyncio.Queue)

    async def send_all(self) -> AsyncGenerator[Progress, None]:
        it, plan, tools = self.it, self.it.plan, self.it.tools
        latest = await asyncio.to_thread(tools.journal.latest, plan.id)
        self.it.keys = {t: e.key for t, e in latest.items() if e.step is Step.ACCEPTED}
        done = (token for token, entry in latest.items() if standing(entry) is Standing.DONE)
        clusters = {job.token: job.destination.cluster for job in plan.jobs}
        self.sent = Sent(self.it.keys, frozenset(done), clusters)
        sent = {token for token, entry in latest.items() if entry.step is not Step.PLANNED}
        jobs = [job for job in plan.jobs if job.token not in sent]
        self.it.done = len(plan.jobs) - len(jobs)
        self.open = {job.token: job for job in jobs}
        await self.it.note(Step.PLANNED, [job for job in jobs if job.token not in latest])
        for batch in batches_of(jobs, self.most_in_batch):
            async with it.records:
                refused = await asyncio.to_thread(tools.reservations.reserve, batch)
            for job in batch:
                if job.token in refused:
                    yield await self.skip(job, refused[job.token])
            free = [job for job in batch if job.token not in refused]
            for chunk in chunks_of(units_of(free), self.most_in_chunk, first=not self.it.done):
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
            for progress in await self.letting.let_go_meanwhile():
                yield progress
        for progress in await self.letting.let_go():
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
        return self.it.tools.access[unit.cluster]

    def most_in_batch(self, unit: Unit) -> int:
        return 1 if self.access(unit).scheduler.immediate else BATCH

    def most_in_chunk(self, unit: Unit) -> int:
        return CHUNK if self.access(unit).scheduler.at_once > 1 else 1

    async def attempt(self, units: Sequence[Unit]) -> list[Progress]:
        """Hand them over and write down what became of each."""
        for cluster in dict.fromkeys(unit.cluster for unit in units):
            access = self.it.tools.access[cluster]
            jobs = [job for unit in units if unit.cluster == cluster for job in unit.jobs]
            for job in jobs:
                del self.open[job.token]
            try:
                await self.it.note(Step.SENDING, jobs, detail=access.scheduler.place)
            except BaseException:
                self.open |= {job.token: job for job in jobs}
                raise
            await access.site.make_folders(log_folders(jobs))
        units, progress = await self.still_ours(units)
        if not units:
            return progress
        started = self.it.tools.clock()
        waiting = Waiting(
            self.it.tools.lookup_pause, self.it.tools.patience, self.it.tools.stop, self.mention
        )
        at_once = asyncio.Semaphore(min(self.access(unit).scheduler.at_once for unit in units))
        failed = False

        async def one(unit: Unit) -> SubmitResult | None:
            """None: an earlier one was not accepted, so this one was not sent."""
            nonlocal failed
            async with at_once:
                if failed:
                    return None
                result = await submit_surely(unit, self.access(unit), self.it.keys, waiting)
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
                return [*progress, *await self.ended_at_once(unit, result)]
        await self.take_ids(answers)
        for unit, result in answers:
            if result is not None:
                if unit is not units[0]:
                    progress.append(self.submitting(unit))
                progress += await self.concluded(unit, result, self.it.tools.clock() - started)
        return progress

    async def still_ours(self, units: Sequence[Unit]) -> tuple[list[Unit], list[Progress]]:
        """The units whose directories are theirs now that their sending is written down.

        The records may have been lost since the directories were reserved. Each submitter writes
        down that it sends, and looks at the records and at all journals after that: so of two that
        want the same directory at least one sees the other. Raises: RowtuiError.
        """
        jobs = [job for unit in units for job in unit.jobs]
        tools = self.it.tools
        try:
            async with self.it.records:
                refused = await asyncio.to_thread(tools.reservations.reserve, jobs)
                lost = await asyncio.to_thread(tools.reservations.uncertain)
            if lost and tools.search is not None:
                await tools.search()
        except BaseException:
            self.open |= {job.token: job for job in jobs}
            raise
        gone = [job for job in jobs if job.token in refused]
        progress = [await self.skip(job, refused[job.token]) for job in gone]
        kept = [tuple(job for job in unit.jobs if job.token not in refused) for unit in units]
        return [Unit(left) for left in kept if left], progress

    async def take_ids(self, answers: Sequence[tuple[Unit, SubmitResult | None]]) -> None:
        """Write the ids of what was accepted down; what was not sent is open again."""
        accepted: list[PlannedJob] = []
        for unit, result in answers:
            if result is None:
                self.open |= {job.token: job for job in unit.jobs}
            elif isinstance(result, Accepted):
                accepted += unit.jobs
                for job in unit.jobs:
                    self.it.keys[job.token] = JobKey(result.job_id, unit.task(job))
        await self.it.note(Step.ACCEPTED, accepted)
        self.letting.waiting |= {job.token: job for job in accepted}

    async def concluded(self, unit: Unit, result: SubmitResult, seconds: float) -> list[Progress]:
        jobs = unit.jobs
        if isinstance(result, Accepted) and is_in_pilot(jobs[0].token):
            text = f"handed {plural(len(jobs), 'job')} to the pilot {unit.cluster}/{result.job_id}"
            return [self.it.say(jobs[0], text, "", len(jobs), Step.ACCEPTED)]
        if isinstance(result, Accepted) and unit.bundle is not None:
            key = f"{unit.cluster}/{result.job_id}"
            text = f"submitted job {key}: a bundle of {plural(len(jobs), 'job')}"
            return [self.it.say(jobs[0], text, "", len(jobs), Step.ACCEPTED)]
        if isinstance(result, Accepted):
            texts = (f"submitted job {unit.cluster}/{self.it.keys[job.token]}" for job in jobs)
            return [
                self.it.say(job, text, "", 1, Step.ACCEPTED)
                for job, text in zip(jobs, texts, strict=True)
            ]
        if isinstance(result, Rejected | Unreachable):
            await self.it.release([Release(job.token, job.action, {}) for job in jobs])
            await self.it.note(Step.REJECTED, jobs, detail=result.reason)
            word = "refused" if isinstance(result, Rejected) else "not sent"
            why = f"{unit.name} was {word}: {visible(result.reason)}"
            return [self.it.say(jobs[0], "", why, len(jobs), Step.REJECTED)]
        await self.it.note(Step.UNKNOWN, jobs, detail=result.reason)
        why = (
            f"whether {unit.name} was submitted is not known after {seconds:.0f} s: "
            f"{visible(result.reason)}. It stays reserved and is looked for at the next start"
        )
        return [self.it.say(jobs[0], "", why, len(jobs), Step.UNKNOWN)]

    async def ended_at_once(self, unit: Unit, result: SubmitResult) -> list[Progress]:
        """Jobs that ran inside `submit` are over: say how they ended, as for any other job."""
        site = self.access(unit).site
        traces = await site.traces([job.token for job in unit.jobs])
        return [
            await self.job_ended(job, result, traces.get(job.token, NO_TRACES)) for job in unit.jobs
        ]

    async def job_ended(self, job: PlannedJob, result: SubmitResult, traces: Traces) -> Progress:
        if isinstance(result, Accepted):
            self.it.keys[job.token] = JobKey(result.job_id)
        word = "" if isinstance(result, Accepted) else result.reason
        if job.bundle is not None and not (traces.ended or traces.fence):
            return await self.skip(job, f"{NOT_BEGUN}: {word or WITHOUT_A_WORD}")
        if traces.ended is not None and traces.ended.not_ready:
            return await self.skip(job, NEEDS_MISSING)
        ending = ending_of(job, traces.ended, None if word else 0, word, 0)
        await self.it.release([ending.release])
        await self.it.note(Step.ENDED, [job], detail=ending.detail)
        if not ending.reason:
            return self.it.say(job, f"{job.name} is done", "", 1, Step.ENDED)
        return self.it.say(job, "", f"{job.name}: {visible(ending.reason)}", 1, Step.ENDED)

    async def skip(self, job: PlannedJob, why: str) -> Progress:
        await self.it.release([Release(job.token, job.action, {})])
        await self.it.note(Step.ABANDONED, [job], detail=why)
        self.open.pop(job.token, None)
        return self.it.say(job, f"skipped {job.name}: {why}", "", 1, Step.ABANDONED)

    def stopped(self, why: str) -> Progress:
        names = [job.name for job in self.open.values()]
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")
        text = f"{why}: {plural(len(names), 'job was', 'jobs were')} not sent ({shown})"
        return self.it.progress("", text)

    # Directories are given back before that is written down as the end of a job: whoever is killed
    # in between leaves a job that is settled once more. The other way they would stay reserved.

    async def give_back(self) -> None:
        """Record and start what was accepted, and release what was not sent."""
        if self.under_way is not None:  # whoever stopped us twice did not wait for it
            await asyncio.wait({self.under_way})
        await self.letting.let_go()
        left = list(self.open.values())
        await self.it.release([Release(job.token, job.action, {}) for job in left])
        await self.it.note(Step.ABANDONED, left, detail="not sent")
        self.open.clear()

    def submitting(self, unit: Unit) -> Progress:
        return self.it.say(unit.jobs[0], f"submitting {unit.name}")

    def mention(self, text: str) -> None:
        """Tell who listens while an answer is waited for."""
        self.said.put_nowait(self.it.progress(text))
