"""What became of jobs whose fate the journal does not know, and which of the others have ended.

Takes the journal and the access to one cluster; gives a `Settled` for each job of which there is
something new. Run at every start and with every poll. A job that was being sent when rowtui was
killed is looked for by its token. If neither the scheduler nor the fence knows it, it is sent
again, held, under the same token; where jobs cannot be held, the fence is closed first, so that it
can never run later, and then its directories are free again. The same goes for a job that a
scheduler accepted and forgot in a crash. Held jobs that were recorded are released, others with
their tokens taken away. Whatever cannot be asked stays as it is, and is said; so do jobs of other
users that left no word. Source: slurm_rig 6.4, steps 3 to 6.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rowtui.core.clusters.schedulers.base import (
    Accepted,
    Job,
    JobKey,
    JobState,
    QueueSnapshot,
    Rejected,
)
from rowtui.core.clusters.schedulers.local_machine import host_name, user_name
from rowtui.core.errors import RowtuiError
from rowtui.core.submission.ending import LOST, WITHOUT_A_WORD, Ending, ending_of, scheduler_word
from rowtui.core.submission.fence import ABANDONED, job_key_of
from rowtui.core.submission.journal import RECORDED, RELEASED, SEEN, Journal
from rowtui.core.submission.model import JournalEntry, Plan, PlannedJob, Step
from rowtui.core.submission.plan_json import load_plan
from rowtui.core.submission.reservations import Release
from rowtui.core.submission.sending import SENDS, Unit, Waiting, chosen, submit_surely
from rowtui.core.submission.settled import OPEN, Settled, put_away_if_done
from rowtui.core.submission.site import NO_TRACES, Access, Traces
from rowtui.core.text import visible

_LOST = frozenset({Step.SENDING, Step.UNKNOWN})
# A controller that is killed forgets what it accepted in the last seconds (5 were measured).
DURABLE_SECONDS = 20.0
# For how long a job that is gone was certainly forgotten: had somebody cancelled it, the queue
# would still show that (Slurm's MinJobAge is 300 s).
FORGOTTEN_SECONDS = 120.0
# For how long a job is sent again of which nobody could tell whether it was submitted: after that
# whoever wanted it is asked instead.
AGAIN_SECONDS = 3600.0


async def settle(
    journal: Journal,
    access: Access,
    root: Path,
    *,
    clock: Callable[[], float] = time.time,
    snapshot: QueueSnapshot | None = None,
) -> tuple[Settled, ...]:
    """Find out about the open jobs of all plans on one cluster.

    `snapshot`: the jobs of this user as last polled, if the caller has it; else they are asked
    for. Plans that another process is carrying out are left to it. Afterwards merge what jobs
    staged (they do so before they end), then call `apply_settled`. Only fences are made, and jobs
    sent again, which is written down; doing it all again is harmless.
    """
    settling = _Settling(journal, access, root, clock)
    plans = await asyncio.to_thread(settling.open_plans)
    asked = any(
        entry.step is Step.ACCEPTED and entry.cluster in ("", access.scheduler.cluster)
        for latest in plans.values()
        for entry in latest.values()
    )
    if asked and snapshot is None:
        snapshot = await access.scheduler.queue()
    settling.take(snapshot)
    for plan_id in plans:
        with journal.hold(plan_id) as held:
            if held:
                await settling.settle_plan(plan_id)
    return tuple(settling.settled)


@dataclass
class _Settling:
    journal: Journal
    access: Access
    root: Path
    clock: Callable[[], float]
    snapshot: QueueSnapshot | None = None
    by_key: dict[JobKey, Job] = field(default_factory=dict)
    settled: list[Settled] = field(default_factory=list)
    # Of the plan at hand:
    plan: Plan | None = None  # once it was needed
    plan_id: str = ""
    jobs: dict[str, PlannedJob] = field(default_factory=dict)
    entries: list[JournalEntry] = field(default_factory=list)
    places: dict[str, str] = field(default_factory=dict)  # see Scheduler.place, by token
    traces: Mapping[str, Traces] = field(default_factory=dict)
    held: dict[JobKey, tuple[str, JobKey]] = field(default_factory=dict)  # to be released

    @property
    def cluster(self) -> str:
        return self.access.scheduler.cluster

    def take(self, snapshot: QueueSnapshot | None) -> None:
        self.snapshot = snapshot
        if snapshot is not None:
            self.by_key = {job.key: job for job in snapshot.jobs}

    def open_plans(self) -> dict[str, dict[str, JournalEntry]]:
        """The plans that have open jobs, with the latest entry of each job."""
        found = {}
        for plan_id in self.journal.open_plan_ids():
            try:
                latest = self.journal.latest(plan_id)
            except RowtuiError as error:
                self.plan_id = plan_id
                self.tell("", Step.UNKNOWN, error.message)
                continue
            if any(entry.step in OPEN for entry in latest.values()):
                found[plan_id] = latest
            else:
                put_away_if_done(self.journal, plan_id)
        return found

    async def settle_plan(self, plan_id: str) -> None:
        """All open jobs of one plan, whose journal is held."""
        self.plan, self.plan_id, self.jobs, self.held = None, plan_id, {}, {}
        self.entries = await asyncio.to_thread(self.journal.entries, plan_id)
        self.places = {it.token: it.detail for it in self.entries if it.step is Step.SENDING}
        latest = {it.token: it for it in self.entries}
        work = {
            token: entry
            for token, entry in latest.items()
            if entry.step in OPEN and self.needs_a_look(token, entry)
        }
        await self.cancel_strays(latest)
        try:
            self.traces = await self.access.site.traces(list(work))
            lost = [
                token
                for token, entry in work.items()
                if not self.is_elsewhere(token) and self.must_be_found(token, entry)
            ]
            found = await self.access.scheduler.find(lost) if lost else {}
            if found and any(token not in found for token in lost):
                # What began while we asked has made its fence by now.
                self.traces = {**self.traces, **await self.access.site.traces(lost)}
        except OSError as error:
            why = error.strerror or str(error)
            self.tell("", Step.UNKNOWN, f"what jobs left on {self.cluster} cannot be read: {why}")
            return
        for token, entry in work.items():
            await self.settle_token(token, entry, found)
        await self.release_held()

    def needs_a_look(self, token: str, entry: JournalEntry) -> bool:
        """Whether there may be something new of an open job that this cluster may know."""
        if entry.step is Step.PLANNED:
            return True
        if entry.cluster and entry.cluster != self.cluster:
            return False
        if entry.step is not Step.ACCEPTED or self.is_elsewhere(token):
            return True
        snapshot = self.snapshot
        if snapshot is None or snapshot.error:
            return False
        known = self.known(entry.key, token)
        if known is None:
            return entry.at <= snapshot.at  # else it was accepted after that look
        if known.state.active or known.state is JobState.UNKNOWN:
            self.note_active(token, entry, known)
            return False
        return True

    def note_active(self, token: str, entry: JournalEntry, known: Job) -> None:
        """A job that is as it should be: what is left to do, or to write down, of its beginning."""
        detail = entry.detail
        if known.state is JobState.UNKNOWN or detail == SEEN:
            return
        assert self.snapshot is not None
        if known.state is JobState.HELD and self.access.scheduler.holds:
            self.held[known.key] = (token, known.key)
        elif self.snapshot.at - entry.at > DURABLE_SECONDS:
            self.noted(token, known.key, SEEN)
        elif detail not in (RECORDED, RELEASED):  # killed before it was recorded
            self.noted(token, known.key, RECORDED)

    def noted(self, token: str, key: JobKey, detail: str) -> None:
        self.settled.append(
            Settled(
                token,
                self.plan_id,
                self.cluster,
                Step.ACCEPTED,
                key.id,
                key.task,
                detail=detail,
                is_news=True,
                at=self.clock(),
                journal=self.journal,
            )
        )

    async def release_held(self) -> None:
        """Let jobs start whose ids are written down, and that nobody let start yet."""
        if self.held:
            for answer in await self.access.scheduler.release(list(self.held)):
                if not answer.error:
                    self.noted(*self.held[answer.job], RELEASED)

    def known(self, key: JobKey, token: str) -> Job | None:
        """The job in the snapshot, unless its id was given to another."""
        job = self.by_key.get(key)
        return job if job is not None and job.token in ("", token) else None

    def is_elsewhere(self, token: str) -> bool:
        """Whether a job is in the queue of another machine, or in another queue of this one."""
        place = self.places.get(token, "")
        machine, _, queue = place.partition(":")
        if not place or machine != host_name():
            return bool(place)
        own = self.access.scheduler.place
        return bool(queue) and ":" in own and place != own

    def must_be_found(self, token: str, entry: JournalEntry) -> bool:
        if entry.step is Step.ACCEPTED:
            ended = self.traces.get(token, NO_TRACES).ended is not None
            return not ended and self.known(entry.key, token) is None
        return entry.step in _LOST and not self.access.scheduler.immediate

    async def cancel_strays(self, latest: Mapping[str, JournalEntry]) -> None:
        """Take held jobs away that have the token of a job that has another id, or is over.

        They were sent before, when nobody could tell whether that had worked.
        """
        strays = [
            job.key
            for job in (self.snapshot.jobs if self.snapshot else ())
            if job.state is JobState.HELD
            and job.token in latest
            and latest[job.token].step not in _LOST
            and latest[job.token].key != job.key
            and latest[job.token].at <= (self.snapshot.at if self.snapshot else 0)
        ]
        if strays:
            await self.access.scheduler.cancel(strays)

    async def settle_token(
        self, token: str, entry: JournalEntry, found: Mapping[str, tuple[Job, ...]] | None
    ) -> None:
        traces = self.traces.get(token, NO_TRACES)
        elsewhere = entry.step is not Step.PLANNED and self.is_elsewhere(token)
        if elsewhere and traces.ended is None:
            # Its queue is on another machine, but what it wrote down at its end is here.
            if entry.step in _LOST:
                place = visible(self.places[token].replace(":", ", in ", 1))
                self.tell(token, entry.step, f"what became of a job is only known on {place}")
            return
        try:
            if self.plan is None:
                self.plan = await asyncio.to_thread(load_plan, self.root, self.plan_id)
                self.jobs = {job.token: job for job in self.plan.jobs}
            job = self.jobs[token]
        except (RowtuiError, KeyError) as error:
            self.tell(token, entry.step, f"what job {token} was for is not known: {error}")
            return
        try:
            if entry.step is Step.PLANNED:
                # Written down before anything was sent, so it never was.
                self.give_up(job, "never sent")
            elif job.destination.cluster != self.cluster:
                return  # its own cluster must be asked
            elif elsewhere:
                self.finish(job, entry.key, None)
            elif self.plan.user != user_name():
                self.look_at_anothers(job, entry)
            elif self.access.scheduler.immediate:
                await self.settle_immediate(job, entry)
            elif entry.step in _LOST:
                await self.find_lost(job, entry, found)
            else:
                await self.look_at(job, entry, found)
        except OSError as error:
            why = error.strerror or str(error)
            self.tell(token, entry.step, f"{job.name}: its traces cannot be read: {why}")

    # -- jobs whose submission had no answer -------------------------------------------------

    async def find_lost(
        self, job: PlannedJob, entry: JournalEntry, found: Mapping[str, tuple[Job, ...]] | None
    ) -> None:
        if found is None:
            where = visible(job.destination.cluster)
            why = f"whether {job.name} was submitted is not known: {where} cannot be asked"
            self.tell(job.token, entry.step, why)
            return
        jobs = found.get(job.token, ())
        runner = self.traces.get(job.token, NO_TRACES).fence
        if not jobs and not runner:
            await self.send_again(job, entry, "it never reached the scheduler")
            return
        if runner == ABANDONED:
            await self.cancel(jobs)
            self.give_up(job, "given up before it began")
            return
        known = chosen(jobs, job_key_of(runner).id) if jobs else None
        key = known.key if known else job_key_of(runner)
        await self.cancel([other for other in jobs if other.key != key])
        if known is None or not known.state.active:
            self.finish(job, key, known)
        else:
            message = f"{job.name} was found again: {visible(job.destination.cluster)}/{key}"
            self.news(job, Step.ACCEPTED, message, key=key, detail="found again")

    async def send_again(self, job: PlannedJob, entry: JournalEntry, why: str) -> None:
        """A job that the scheduler certainly does not have, and that never began."""
        scheduler = self.access.scheduler
        sends = sum(it.token == job.token and it.step is Step.SENDING for it in self.entries)
        old = self.clock() - entry.at > AGAIN_SECONDS
        if not scheduler.holds or sends >= SENDS or old:
            runner = await self.access.site.abandon(job.token)
            if not runner:
                self.give_up(job, why)
            return
        at = self.clock()
        sending = JournalEntry(
            job.token, self.plan_id, Step.SENDING, at, 0, scheduler.place, self.cluster
        )
        await asyncio.to_thread(self.journal.append, [sending])
        ids = {it.token: it.job_id for it in self.entries if it.step is Step.ACCEPTED}
        known = {token: ids[token] for token in job.depends_on if token in ids}
        if len(known) < len(job.depends_on):
            self.give_up(job, "a job that it depends on was not sent")
            return
        result = await submit_surely(Unit((job,)), self.access, known, Waiting(patience=0.0))
        if isinstance(result, Accepted):
            where = f"{visible(self.cluster)}/{result.job_id}"
            message = f"{job.name}: {why}; it was sent again: {where}"
            key = JobKey(result.job_id)
            self.news(job, Step.ACCEPTED, message, key=key, detail="sent again")
        elif isinstance(result, Rejected):
            release = Release(job.token, job.action, {})
            message = f"{job.name} was refused: {visible(result.reason)}"
            self.news(job, Step.REJECTED, message, detail=result.reason, release=release)
        else:
            message = f"{job.name}: {why}; whether it was sent again is not known yet"
            self.news(job, Step.UNKNOWN, message, detail=result.reason)

    async def cancel(self, others: Sequence[Job]) -> None:
        """Take duplicates out of the queue; the fence keeps them from doing anything anyway."""
        keys = [other.key for other in others if other.state.active]
        if keys:
            await self.access.scheduler.cancel(keys)

    async def settle_immediate(self, job: PlannedJob, entry: JournalEntry) -> None:
        """A job that ran inside a rowtui that was killed: it may have gone on without it."""
        traces = self.traces.get(job.token, NO_TRACES)
        runner = traces.fence
        if traces.ended is None and runner != ABANDONED:
            from rowtui.core.clusters.schedulers.local_processes import processes_of_job

            if processes_of_job(job.token, None):
                self.tell(job.token, entry.step, f"{job.name} is still running")
                return
            runner = runner or await self.access.site.abandon(job.token) or ABANDONED
        if traces.ended is None and runner == ABANDONED:
            self.give_up(job, "it was never started")
        else:
            ending = ending_of(job, traces.ended, None, WITHOUT_A_WORD, 0)
            self.end(job, JobKey(0), ending)

    def give_up(self, job: PlannedJob, why: str) -> None:
        release = Release(job.token, job.action, {})
        self.news(job, Step.ABANDONED, f"{job.name}: {why}", detail=why, release=release)

    # -- jobs that the scheduler has or had ---------------------------------------------------

    async def look_at(
        self, job: PlannedJob, entry: JournalEntry, found: Mapping[str, tuple[Job, ...]] | None
    ) -> None:
        traces = self.traces.get(job.token, NO_TRACES)
        known = self.known(entry.key, job.token)
        if known is None and traces.ended is None:
            if found is None:
                return
            jobs = found.get(job.token, ())
            known = chosen(jobs, entry.job_id) if jobs else None
            if known is None and not traces.fence:
                if self.was_forgotten(entry):
                    await self.send_again(job, entry, f"{visible(self.cluster)} forgot it")
                elif not await self.access.site.abandon(job.token):
                    self.end(job, entry.key, ending_of(job, None, None, LOST, entry.job_id))
                return
        if known is None or not (known.state.active or known.state is JobState.UNKNOWN):
            self.finish(job, entry.key, known)
        elif known.key != entry.key:
            self.news(job, Step.ACCEPTED, "", key=known.key, detail="it has a new id")

    def was_forgotten(self, entry: JournalEntry) -> bool:
        """Whether a job that is gone was lost in a crash of the controller, not cancelled."""
        if entry.detail == SEEN or not self.access.scheduler.forgets:
            return False
        if entry.key in self.by_key:  # with another token: else the job would not be gone
            return True
        # Slurm keeps no record of waiting tasks that were cancelled, as long as others are there.
        some = entry.task is not None and any(key.id == entry.job_id for key in self.by_key)
        return not some and self.clock() - entry.at <= FORGOTTEN_SECONDS

    def look_at_anothers(self, job: PlannedJob, entry: JournalEntry) -> None:
        """A job of another user: a queue may not show it to us, so its absence means nothing."""
        known = self.known(entry.key, job.token) if entry.step is Step.ACCEPTED else None
        if known is not None or self.traces.get(job.token, NO_TRACES).ended is not None:
            self.finish(job, entry.key, known)
        elif entry.step in _LOST:
            assert self.plan is not None
            who = visible(self.plan.user)
            self.tell(job.token, entry.step, f"what became of {job.name} is only known to {who}")

    def finish(self, job: PlannedJob, key: JobKey, known: Job | None) -> None:
        marker = self.traces.get(job.token, NO_TRACES).ended
        code, word = (None, WITHOUT_A_WORD) if known is None else scheduler_word(known)
        self.end(job, key, ending_of(job, marker, code, word, key.id))

    def end(self, job: PlannedJob, key: JobKey, ending: Ending) -> None:
        message = f"{job.name}: {visible(ending.reason)}" if ending.reason else ""
        detail, release = ending.detail, ending.release
        self.news(job, Step.ENDED, message, key=key, detail=detail, release=release)

    # -- what is said -----------------------------------------------------------------------------

    def tell(self, token: str, step: Step, message: str) -> None:
        """Something that a person should know; nothing changes."""
        self.settled.append(Settled(token, self.plan_id, self.cluster, step, message=message))

    def news(
        self,
        job: PlannedJob,
        step: Step,
        message: str,
        *,
        detail: str,
        key: JobKey = JobKey(0),  # noqa: B008
        release: Release | None = None,
    ) -> None:
        """A step that is to be entered and written down."""
        self.settled.append(
            Settled(
                token=job.token,
                plan_id=self.plan_id,
                cluster=job.destination.cluster,
                step=step,
                job_id=key.id,
                task=key.task,
                message=message,
                release=release,
                detail=detail,
                is_news=True,
                at=self.clock(),
                journal=self.journal,
            )
        )
