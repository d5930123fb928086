"""Submission of a plan that the user confirmed: reserve, journal, send, journal, record, release.

The input is a plan, the access to its clusters, the journal and the project's reservations. The
result is progress, one value for each job. Jobs are sent held if the scheduler supports holds; they
are released once their ids are on the disk and the scheduler lists them. The process may be killed
between any two steps: `settle` derives the state of each job from the journal, the scheduler and
the fence, so that no job is lost and none runs twice. The order of jobs is Row's. After a refusal,
only similar jobs are kept back; a cluster that gives no clear answer stops the rest.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import dataclass, field

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import asyncio
from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.schedulers.base import (
    Accepted,
    Job,
    JobKey,
    JobState,
    Rejected,
    SubmitResult,
    Unreachable,
)
from rowtui.core.submission.bundles.pilot_model import is_in_pilot
from rowtui.core.submission.plan.arrays import SubmissionCall, units_of
from rowtui.core.submission.plan.dependencies import (
    DependencyState,
    Sent,
    cannot_wait,
    standing,
)
from rowtui.core.submission.plan.json import save_plan
from rowtui.core.submission.plan.model import JobStep, Plan, PlannedJob
from rowtui.core.submission.plan.outcome import NOT_BEGUN, WITHOUT_A_WORD, JobOutcome
from rowtui.core.submission.reconcile.ending import Evidence
from rowtui.core.submission.sending.release_held import (
    JobRelease,
    RunRecords,
    SendingProgress,
    Tools,
)
from rowtui.core.submission.sending.send import (
    RefusedKinds,
    SendWaits,
    batches_of,
    chunks_of,
    log_folders,
    submit_surely,
)
from rowtui.core.submission.sending.site import NO_TRACES, Access, Traces

# Number of jobs that are reserved, and whose ids are recorded, together: a commit of records of a
# million directories takes about as long as five submissions.
BATCH = 64
# Number of jobs that are sent without checking for cancellation. Their sending, and their answers,
# are journalled together: syncing a file takes about as long as a submission.
CHUNK = 32


async def carry_out(plan: Plan, tools: Tools) -> AsyncGenerator[SendingProgress, None]:
    """Send the jobs of a plan in order.

    A job is skipped with a message if its directories belong to another submission, or if it asks
    for the same amounts at the same destination as a refused job. The first job that is not sent,
    or whose outcome stays unknown, stops the rest; so does `tools.stop`. Jobs of this plan that
    were sent before are not sent again. Raises: RowtuiError if the plan or journal cannot be
    written, or another process submits the plan.
    """
    await asyncio.to_thread(save_plan, tools.root, plan)
    with tools.journal.hold(plan.id) as held:
        if not held:
            raise RowtuiError("another rowtui is carrying out this plan right now")
        it = RunRecords(plan, tools)
        run = _Run(it, JobRelease(it))
        steps = run.send_all()
        try:
            async for progress in steps:
                yield progress
        finally:
            await steps.aclose()
            # Also when the caller stopped iterating: a reservation for a job that was not sent is
            # released.
            await asyncio.shield(run.give_back())


@dataclass
class _Run:
    it: RunRecords
    letting: JobRelease
    sent: Sent = Sent({}, (), {})
    open: dict[str, PlannedJob] = field(default_factory=dict)  # planned or reserved, not sent
    under_way: asyncio.Future[list[SendingProgress]] | None = None
    refused: RefusedKinds = field(default_factory=RefusedKinds)
    kept_back: list[PlannedJob] = field(default_factory=list)  # because similar jobs were refused
    # a cluster gave no clear answer, or a job that ran in this process failed
    must_stop: bool = False
    said: asyncio.Queue[SendingProgress] = field(default_factory=asyncio.Queue)

    async def send_all(self) -> AsyncGenerator[SendingProgress, None]:
        it, tools = self.it, self.it.tools
        jobs = await self.begin()
        for batch in batches_of(jobs, self.most_in_batch):
            async with it.records:
                refused = await asyncio.to_thread(tools.reservations.reserve, batch)
            for job in batch:
                if job.token in refused:
                    yield await self.skip(job, refused[job.token])
            free = [job for job in batch if job.token not in refused]
            for chunk in chunks_of(units_of(free), self.most_in_chunk, first=not it.done):
                if tools.stop():
                    yield self.stopped("interrupted")
                    return
                ready, skipped = await self.ready_of(chunk)
                for progress in skipped:
                    yield progress
                if ready:
                    yield self.it.say(ready[0].jobs[0], f"submitting {ready[0].name}")
                async for progress in self.send(ready):
                    yield progress
                if self.must_stop:
                    if self.open or self.kept_back:
                        yield self.stopped("the submission stopped here", self.kept_back)
                    return
            for progress in await self.letting.let_go_meanwhile():
                yield progress
        for progress in await self.letting.let_go():
            yield progress
        if self.kept_back:
            yield self.stopped("others like them were refused", self.kept_back)

    async def begin(self) -> list[PlannedJob]:
        """Journal the jobs that are to be sent, and return these jobs."""
        it, plan = self.it, self.it.plan
        latest = await asyncio.to_thread(it.tools.journal.latest, plan.id)
        it.keys = {t: e.key for t, e in latest.items() if e.step is JobStep.ACCEPTED}
        done = (token for token, entry in latest.items() if standing(entry) is DependencyState.DONE)
        clusters = {job.token: job.destination.cluster for job in plan.jobs}
        self.sent = Sent(it.keys, frozenset(done), clusters)
        sent = {token for token, entry in latest.items() if entry.step is not JobStep.PLANNED}
        jobs = [job for job in plan.jobs if job.token not in sent]
        it.done = len(plan.jobs) - len(jobs)
        self.open = {job.token: job for job in jobs}
        await it.note(JobStep.PLANNED, [job for job in jobs if job.token not in latest])
        return jobs

    async def ready_of(
        self, units: Sequence[SubmissionCall]
    ) -> tuple[list[SubmissionCall], list[SendingProgress]]:
        """Return the units that can be sent now, and the progress of jobs that cannot."""
        ready: list[SubmissionCall] = []
        skipped: list[SendingProgress] = []
        for unit in units:
            if self.refused.includes(unit):
                await self.keep_back(unit)
                continue
            scheduler = self.access(unit).scheduler
            going: list[PlannedJob] = []
            beside: set[str] = set()  # tokens of the jobs in `going`
            for job in unit.jobs:
                if why := cannot_wait(job, self.sent, scheduler, beside):
                    skipped.append(await self.skip(job, why))
                else:
                    going.append(job)
                    beside.add(job.token)
            if going:
                ready.append(SubmissionCall(tuple(going)))
        return ready, skipped

    async def send(self, units: Sequence[SubmissionCall]) -> AsyncGenerator[SendingProgress, None]:
        """Send some units. Even if the caller stops, the answers are awaited and journalled.

        A job that runs inside this call is stopped instead.
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

    def access(self, unit: SubmissionCall) -> Access:
        return self.it.tools.access[unit.cluster]

    def most_in_batch(self, unit: SubmissionCall) -> int:
        return 1 if self.access(unit).scheduler.immediate else BATCH

    def most_in_chunk(self, unit: SubmissionCall) -> int:
        return CHUNK if self.access(unit).scheduler.at_once > 1 else 1

    async def attempt(self, units: Sequence[SubmissionCall]) -> list[SendingProgress]:
        """Send the units and record the outcome of each."""
        for cluster in dict.fromkeys(unit.cluster for unit in units):
            access = self.it.tools.access[cluster]
            jobs = [job for unit in units if unit.cluster == cluster for job in unit.jobs]
            for job in jobs:
                del self.open[job.token]
            try:
                await self.it.note(JobStep.SENDING, jobs, detail=access.scheduler.place)
            except BaseException:
                self.open |= {job.token: job for job in jobs}
                raise
            await access.site.make_folders(log_folders(jobs))
        units, progress = await self.still_ours(units)
        if not units:
            return progress
        started = self.it.tools.clock()
        waiting = SendWaits(
            self.it.tools.lookup_pause, self.it.tools.patience, self.it.tools.stop, self.mention
        )
        at_once = asyncio.Semaphore(min(self.access(unit).scheduler.at_once for unit in units))

        async def one(unit: SubmissionCall) -> SubmitResult | None:
            """Send one unit; None: an earlier unit was not accepted, so this one was not sent."""
            async with at_once:
                if self.must_stop or self.refused.includes(unit):
                    return None
                result = await submit_surely(unit, self.access(unit), self.it.keys, waiting)
            if isinstance(result, Rejected):
                self.refused.add(unit, result.reason)
            immediate = self.access(unit).scheduler.immediate
            if not isinstance(result, Accepted) and (immediate or not isinstance(result, Rejected)):
                self.must_stop = True
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
            if result is None and self.refused.includes(unit):
                await self.keep_back(unit)
            if result is not None:
                if unit is not units[0]:
                    progress.append(self.it.say(unit.jobs[0], f"submitting {unit.name}"))
                progress += await self.concluded(unit, result, self.it.tools.clock() - started)
        return progress

    async def keep_back(self, unit: SubmissionCall) -> None:
        """Give up jobs that would be refused like earlier ones."""
        evidence = Evidence(step=JobStep.ABANDONED, note="one like it was refused")
        await self.it.over(unit.jobs, evidence)
        for job in unit.jobs:
            self.open.pop(job.token, None)
        self.kept_back += unit.jobs

    async def still_ours(
        self, units: Sequence[SubmissionCall]
    ) -> tuple[list[SubmissionCall], list[SendingProgress]]:
        """Return the units that still own their directories after their sending was journalled.

        The records may have been lost since the directories were reserved. Each submitter journals
        that it sends, and reads the records and all journals after that. Of two submitters that
        want the same directory, at least one therefore sees the other. Raises: RowtuiError.
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
        return [SubmissionCall(left) for left in kept if left], progress

    async def take_ids(self, answers: Sequence[tuple[SubmissionCall, SubmitResult | None]]) -> None:
        """Journal the ids of accepted jobs; jobs that were not sent are open again."""
        accepted: list[PlannedJob] = []
        for unit, result in answers:
            if result is None:
                self.open |= {job.token: job for job in unit.jobs}
            elif isinstance(result, Accepted):
                accepted += unit.jobs
                for job in unit.jobs:
                    self.it.keys[job.token] = JobKey(result.job_id, unit.task(job))
        await self.it.note(JobStep.ACCEPTED, accepted)
        self.letting.waiting |= {job.token: job for job in accepted}

    async def concluded(
        self, unit: SubmissionCall, result: SubmitResult, seconds: float
    ) -> list[SendingProgress]:
        jobs = unit.jobs
        if isinstance(result, Accepted) and is_in_pilot(jobs[0].token):
            text = f"{plural(len(jobs), 'job')} to the pilot {unit.cluster}/{result.job_id}"
            return [self.it.say(jobs[0], text, "", len(jobs), JobStep.ACCEPTED)]
        if isinstance(result, Accepted) and unit.bundle is not None:
            key = f"{unit.cluster}/{result.job_id}"
            text = f"job {key}: a bundle of {plural(len(jobs), 'job')}"
            return [self.it.say(jobs[0], text, "", len(jobs), JobStep.ACCEPTED)]
        if isinstance(result, Accepted):
            texts = (f"job {unit.cluster}/{self.it.keys[job.token]}" for job in jobs)
            return [
                self.it.say(job, text, "", 1, JobStep.ACCEPTED)
                for job, text in zip(jobs, texts, strict=True)
            ]
        if isinstance(result, Rejected | Unreachable):
            refused = isinstance(result, Rejected)
            evidence = Evidence(step=JobStep.REJECTED, note=result.reason, reached=refused)
            await self.it.over(jobs, evidence)
            word = "refused" if refused else "not sent"
            why = f"{unit.name} was {word}: {visible(result.reason)}"
            return [self.it.say(jobs[0], "", why, len(jobs), JobStep.REJECTED)]
        await self.it.note(JobStep.UNKNOWN, jobs, detail=result.reason)
        why = (
            f"the submission of {unit.name} is unconfirmed after {seconds:.0f} s: "
            f"{visible(result.reason)}. The job stays reserved and is looked up at the next start"
        )
        return [self.it.say(jobs[0], "", why, len(jobs), JobStep.UNKNOWN)]

    async def ended_at_once(
        self, unit: SubmissionCall, result: SubmitResult
    ) -> list[SendingProgress]:
        """Record the end of jobs that ran inside `submit`, as for any other job."""
        site = self.access(unit).site
        traces = await site.traces([job.token for job in unit.jobs])
        return [
            await self.job_ended(job, result, traces.get(job.token, NO_TRACES)) for job in unit.jobs
        ]

    async def job_ended(
        self, job: PlannedJob, result: SubmitResult, traces: Traces
    ) -> SendingProgress:
        if isinstance(result, Accepted):
            self.it.keys[job.token] = JobKey(result.job_id)
        known = Job(0, JobState.COMPLETED, exit_code=0)
        if not isinstance(result, Accepted):
            known = Job(0, JobState.FAILED, reason=result.reason)
        evidence = Evidence(began=traces.began, marker=traces.ended, known=known)
        if job.bundle is not None:
            why = known.reason or WITHOUT_A_WORD
            evidence = evidence._replace(note=f"{NOT_BEGUN}: {why}")
        (found,) = await self.it.over([job], evidence)
        if found.step is JobStep.ABANDONED:
            return self.skipped(job, found.end.sentence)
        # A missing product does not stop the rest: only an exit code does, as in Row.
        outcome = found.end.outcome
        self.must_stop = self.must_stop or not (outcome.good or outcome is JobOutcome.NO_PRODUCT)
        if outcome.good:
            return self.it.say(job, f"{job.name} is done", "", 1, JobStep.ENDED)
        error = f"{job.name}: {visible(found.end.sentence)}"
        return self.it.say(job, "", error, 1, JobStep.ENDED)

    async def skip(self, job: PlannedJob, why: str) -> SendingProgress:
        await self.it.over([job], Evidence(step=JobStep.ABANDONED, note=why))
        return self.skipped(job, why)

    def skipped(self, job: PlannedJob, why: str) -> SendingProgress:
        self.open.pop(job.token, None)
        return self.it.say(job, f"skipped {job.name}: {why}", "", 1, JobStep.ABANDONED)

    def stopped(self, why: str, jobs: Iterable[PlannedJob] = ()) -> SendingProgress:
        names = [job.name for job in (*jobs, *self.open.values())]
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")
        text = f"{why}: {plural(len(names), 'job was', 'jobs were')} not sent ({shown})"
        return self.it.progress("", text)

    # Directories are released before the end of a job is journalled: a process killed in between
    # leaves a job that is settled once more. In the other order the directories would stay
    # reserved.

    async def give_back(self) -> None:
        """Record and start accepted jobs, and release jobs that were not sent."""
        if self.under_way is not None:  # a second interruption did not wait for the attempt
            await asyncio.wait({self.under_way})
        await self.letting.let_go()
        left = list(self.open.values())
        await self.it.over(left, Evidence(step=JobStep.ABANDONED, note="not sent"))
        self.open.clear()

    def mention(self, text: str) -> None:
        """Report progress while an answer is awaited."""
        self.said.put_nowait(self.it.progress(text))
