"""Jobs that the scheduler does not list, or whose submission has no known outcome.

The input is what `settle` found. For each job the module concludes that the job was found again, is
over, or certainly is nowhere. A job that is nowhere is sent again, held, under the same token: if
the first submission still appears, `held.py` cancels it, and the fence keeps it from running. If
jobs cannot be held, or too much time has passed, the fence is closed first, and then the job's
directories are free.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import asyncio
from rowtui.core.base.text import visible
from rowtui.core.clusters.schedulers.base import (
    Accepted,
    Job,
    JobKey,
    JobState,
    Rejected,
    SubmitResult,
    array_of,
    token_in_queue,
)
from rowtui.core.clusters.schedulers.local.machine import host_name
from rowtui.core.submission.bundles.pilot_model import is_in_pilot
from rowtui.core.submission.plan.arrays import SubmissionCall, units_of
from rowtui.core.submission.plan.dependencies import UPSTREAM_FAILED, DependencyState, standing
from rowtui.core.submission.plan.model import JobStep, JournalEntry, PlannedJob
from rowtui.core.submission.plan.outcome import CANCELLED, NOT_BEGUN
from rowtui.core.submission.reconcile.ending import Evidence
from rowtui.core.submission.reconcile.reconcile_state import Settling
from rowtui.core.submission.sending.fence import ABANDONED, job_key_of
from rowtui.core.submission.sending.journal import BEGUN, GONE, SEEN
from rowtui.core.submission.sending.send import SENDS, SendWaits, chosen, chunks_of, submit_surely

UNFINISHED = "'rowtui submit' sends it again"
# Seconds during which a missing job was certainly lost by the controller: after a cancellation, the
# queue would still list it (Slurm's MinJobAge is 300 s).
FORGOTTEN_SECONDS = 120.0
# Seconds during which a job of unknown outcome is sent again; after that the user has to decide.
AGAIN_SECONDS = 3600.0
# Seconds for which a started job may continue after the controller lost it: nodes report within
# seconds and are instructed to kill unknown jobs, which takes up to 30 s (KillWait).
ORPHAN_SECONDS = 60.0


@dataclass
class Lost:
    """The lost jobs of one plan. `again`: the jobs to be sent again, and why."""

    settling: Settling
    again: dict[str, str] = field(default_factory=dict)
    keys: dict[str, JobKey] = field(default_factory=dict)  # of jobs that others can wait for

    async def find(
        self, job: PlannedJob, entry: JournalEntry, found: Mapping[str, tuple[Job, ...]] | None
    ) -> None:
        """Handle a job whose submission had no answer."""
        it = self.settling
        if found is None:
            where = visible(job.destination.cluster)
            why = f"the submission of {job.name} is unconfirmed: {where} cannot be queried"
            it.tell(job.token, entry.step, why)
            return
        jobs = found.get(job.token, ())
        runner = it.traces_of(job.token).fence
        if not runner and is_in_pilot(job.token):
            # The job may be in the pilot's folder. Once its fence is closed it may go elsewhere.
            if not await it.access.site.abandon(job.token):
                it.give_up(job, "the transfer to the pilot is unconfirmed; the job did not begin")
            return
        if not jobs and not runner:
            await self.send_later(job, entry, "it never reached the scheduler")
            return
        if runner == ABANDONED:
            await it.cancel(jobs if job.bundle is None else ())
            it.give_up(job, "given up before it began")
            return
        known = self.choose(job, jobs, 0)
        if known is not None and known.state is JobState.UNKNOWN:
            return  # the scheduler has the job, but its state cannot be determined now
        key = known.key if known else job_key_of(runner)
        if job.bundle is None:  # otherwise other requests may run in the other job
            await it.cancel([other for other in jobs if other.key != key])
        if known is None or not known.state.active:
            if not self.may_run_in_another(job, entry, known):
                await it.finish(job, key, known)
        else:
            message = f"{job.name} was found again: {visible(job.destination.cluster)}/{key}"
            it.news(job, JobStep.ACCEPTED, message, key=key, detail="found again")

    async def look(
        self, job: PlannedJob, entry: JournalEntry, found: Mapping[str, tuple[Job, ...]] | None
    ) -> None:
        """Handle an accepted job that does not wait or run as it should."""
        it = self.settling
        traces = it.traces_of(job.token)
        known = it.known(entry.key, job.token)
        if known is None and traces.ended is None:
            if found is None:
                return
            known = self.choose(job, found.get(job.token, ()), entry.job_id)
            if known is None and not traces.fence:
                if not is_in_pilot(job.token) and self.was_forgotten(entry):
                    await self.send_later(
                        job, entry, f"{visible(it.cluster)} has no record of the job"
                    )
                elif await it.access.site.abandon(job.token):
                    pass  # the job began just now
                else:
                    self.never_began(job, entry)
                return
            if known is None and self.may_go_on(job.token, entry, entry.key):
                return
        if known is None or not (known.state.active or known.state is JobState.UNKNOWN):
            if not self.may_run_in_another(job, entry, known):
                await it.finish(job, entry.key, known)
        elif known.key != entry.key:
            it.news(job, JobStep.ACCEPTED, "", key=known.key, detail="it has a new id")

    def never_began(self, job: PlannedJob, entry: JournalEntry) -> None:
        """Report a job that never began, whose fence is closed and which the scheduler lacks."""
        it = self.settling
        what = "its bundle" if job.bundle is not None else "the job"
        alone = job.bundle is None and not job.depends_on
        note = "" if alone else f"{NOT_BEGUN}: {visible(it.cluster)} has no record of {what}"
        it.over(job, Evidence(note=note), entry.key)

    def was_forgotten(self, entry: JournalEntry) -> bool:
        """Whether a missing job was lost in a crash of the controller and was not cancelled."""
        it = self.settling
        seen = entry.detail in (SEEN, BEGUN) or entry.token in it.cancel_asked
        if seen or not it.access.scheduler.forgets:
            return False
        mine = array_of(token_in_queue(entry.token), entry.task)
        same_id = it.with_id(entry.job_id)
        for other in same_id:
            theirs = other.token or other.state.active
            if theirs and array_of(other.token, other.task) != mine:
                return True  # the id was given to another job
        # Slurm keeps no record of cancelled waiting tasks while other tasks of the array exist.
        age = entry.age(it.clock())
        return not same_id and age is not None and age <= FORGOTTEN_SECONDS

    def choose(self, job: PlannedJob, jobs: Sequence[Job], runner: int) -> Job | None:
        """Return the job's own entry among jobs with its token; once begun, the fence's owner.

        The fence keeps the others from running the job. `runner`: the likely id if the job has not
        begun.
        """
        began = job_key_of(self.settling.traces_of(job.token).fence)
        if began.id:
            jobs = [one for one in jobs if one.key == began]
        return chosen(jobs, runner) if jobs else None

    def may_run_in_another(self, job: PlannedJob, entry: JournalEntry, known: Job | None) -> bool:
        """Whether a job whose scheduler job is over may still run in an earlier, lost one.

        The earlier scheduler job made the fence, and the later one therefore did not run the job.
        """
        it = self.settling
        traces = it.traces_of(job.token)
        began = job_key_of(traces.fence)
        if traces.ended is not None or not began.id or (known and known.key == began):
            return False
        if known is None and entry.key == began:
            return False  # the wait for it is over
        other = it.known(began, job.token)
        if other is not None and other.state.active:
            it.news(job, JobStep.ACCEPTED, "", key=began, detail="it runs in another job")
            return True
        return other is None and self.may_go_on(job.token, entry, began)

    def may_go_on(self, token: str, entry: JournalEntry, key: JobKey) -> bool:
        """Whether a job that began, and that the scheduler lost, may still be running."""
        it = self.settling
        if not it.access.scheduler.forgets:
            return False
        # Each machine counts by its own uptime, which no one sets: a clock that jumps, or that of
        # another login node, proves nothing.
        mine, now = f"{GONE} {host_name()}:", it.uptime()
        looks = [one.detail for one in it.entries if one.token == token]
        gone = list(takewhile(lambda detail: detail.startswith(GONE), reversed(looks)))
        times = [float(one.removeprefix(mine)) for one in gone if one.startswith(mine)]
        if not times or times[-1] > now:
            it.noted(token, key, f"{mine}{now}")
            return True
        return now - times[-1] < ORPHAN_SECONDS

    async def send_later(self, job: PlannedJob, entry: JournalEntry, why: str) -> None:
        """Plan to send again a job that the scheduler certainly lacks and that never began."""
        it = self.settling
        if job.token in it.cancel_asked:
            if not await it.access.site.abandon(job.token):
                it.give_up(job, CANCELLED)
            return
        sends = sum(one.token == job.token and one.step is JobStep.SENDING for one in it.entries)
        age = entry.age(it.clock())
        old = age is not None and age > AGAIN_SECONDS
        if it.access.scheduler.holds and sends < SENDS and not old:
            if it.may_send:
                self.again[job.token] = why
            else:
                why = f"{job.name}: {why}"
                it.tell(job.token, entry.step, f"{why}; {UNFINISHED}", unfinished=why)
        elif not await it.access.site.abandon(job.token):
            it.give_up(job, why)

    # -- sending again -----------------------------------------------------------------------

    async def send_again(self) -> None:
        """Send these jobs again, each after the jobs that it depends on, because these get new ids.

        Tasks of one array go together, under the array's token.
        """
        it = self.settling
        order = {token: number for number, token in enumerate(it.jobs)}
        jobs: list[PlannedJob] = []
        for token in sorted(self.again, key=order.__getitem__):
            job, beside = it.jobs[token], {one.token for one in jobs}
            stands = {self.stands(other, beside) for other in job.depends_on}
            if DependencyState.FAILED in stands:
                if await self.never_begins(job):
                    it.give_up(job, UPSTREAM_FAILED, upstream_failed=True)
            elif DependencyState.OPEN not in stands:  # otherwise the next poll decides
                jobs.append(job)
        try:
            units = units_of(await it.still_theirs(jobs))
        except RowtuiError as error:
            it.tell("", JobStep.UNKNOWN, f"jobs are not sent again: {error}")
            return
        self.keys = {
            token: entry.key
            for token, entry in it.latest.items()
            if entry.step is JobStep.ACCEPTED and token not in self.again
        }
        for chunk in chunks_of(units, lambda _: len(units), first=False):
            await self.send(list(filter(self.can_go, chunk)))

    def stands(self, token: str, again: Collection[str] = ()) -> DependencyState:
        """Return the state of a job on which another one depends, with the latest findings.

        `again`: jobs that are sent again, and get an id.
        """
        if token in again:
            return DependencyState.QUEUED
        if token in self.again:
            return DependencyState.OPEN
        it = self.settling
        news = (one for one in reversed(it.settled) if one.token == token and one.is_news)
        last = next(news, None)
        if last is None:
            return standing(it.latest.get(token))
        if last.over is not None:  # how it ended is concluded later
            return DependencyState.OPEN if last.over.evidence.began else DependencyState.FAILED
        return standing(JournalEntry(token, it.plan_id, last.step, last.at, detail=last.detail))

    def can_go(self, unit: SubmissionCall) -> bool:
        """Whether every dependency of this unit has an id by now, or has ended well."""
        there = {*self.keys, *(job.token for job in unit.jobs)}
        waits = {token for job in unit.jobs for token in job.depends_on} - there
        return all(self.stands(token) is DependencyState.DONE for token in waits)

    async def send(self, units: Sequence[SubmissionCall]) -> None:
        """Send some units that do not depend on each other."""
        it = self.settling
        jobs = [job for unit in units for job in unit.jobs]
        if not jobs:
            return
        place = it.access.scheduler.place
        at = it.clock()
        await asyncio.to_thread(
            it.journal.append,
            [
                JournalEntry(job.token, it.plan_id, JobStep.SENDING, at, 0, place, it.cluster)
                for job in jobs
            ],
        )
        few = asyncio.Semaphore(it.access.scheduler.at_once)

        async def one(unit: SubmissionCall) -> tuple[SubmissionCall, SubmitResult]:
            async with few:
                waiting = SendWaits(patience=0.0)
                return unit, await submit_surely(unit, it.access, self.keys, waiting)

        for unit, result in await asyncio.gather(*map(one, units)):
            await self.concluded(unit, result)

    async def never_begins(self, job: PlannedJob) -> bool:
        """Close the fence; return whether earlier submissions certainly cannot begin the job."""
        try:
            return not await self.settling.access.site.abandon(job.token)
        except OSError:
            return False

    async def concluded(self, unit: SubmissionCall, result: SubmitResult) -> None:
        """Record the outcome of a job, of array tasks or of a bundle that was sent again."""
        it = self.settling
        for job in unit.jobs:
            why = self.again[job.token]
            if isinstance(result, Accepted):
                key = self.keys[job.token] = JobKey(result.job_id, unit.task(job))
                message = f"{job.name}: {why}; it was sent again: {visible(it.cluster)}/{key}"
                it.news(job, JobStep.ACCEPTED, message, key=key, detail="sent again")
            elif isinstance(result, Rejected) and await self.never_begins(job):
                it.over(job, Evidence(step=JobStep.REJECTED, note=result.reason))
            else:
                message = f"{job.name}: {why}; its second submission is not confirmed yet"
                it.news(job, JobStep.UNKNOWN, message, detail=result.reason)
