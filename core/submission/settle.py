"""What became of jobs whose fate the journal does not know, and which of the others have ended.

Takes the journal and the scheduler; gives a `Settled` for each job of which there is something
new. Run at every start and with every poll. A job that was being sent when rowtui was killed is
looked for by its token; if neither the scheduler nor the fence knows it, the fence is closed
first, so that it can never run later, and then its directories are free again. Whatever cannot be
asked stays as it is, and is said; so do jobs of other users that left no word.
Source: slurm_rig 6.4, steps 3 to 6.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rowtui.core.clusters.schedulers.base import Job, JobState, QueueSnapshot, Scheduler
from rowtui.core.clusters.schedulers.local_machine import host_name, user_name
from rowtui.core.errors import RowtuiError
from rowtui.core.submission.ending import WITHOUT_A_WORD, Ending, ending_of, scheduler_word
from rowtui.core.submission.fence import ABANDONED, abandon, job_id_of, read_ended, read_fence
from rowtui.core.submission.journal import RECORDED, Journal
from rowtui.core.submission.model import JournalEntry, Plan, PlannedJob, Step
from rowtui.core.submission.plan_json import load_plan
from rowtui.core.submission.reservations import Release, Reservations
from rowtui.core.text import visible

_OPEN = frozenset({Step.PLANNED, Step.SENDING, Step.UNKNOWN, Step.ACCEPTED})
_LOST = frozenset({Step.SENDING, Step.UNKNOWN})


@dataclass(frozen=True, slots=True)
class Settled:
    """What is now known of one job. `message` is for a person, "" if there is nothing to say.

    `release` has the job's action and failures: its directories are no longer submitted. None:
    they still are, under `job_id` if that is not 0. `step` is written down with `detail` by
    `apply_settled` if `is_news`: else nothing is known that the journal does not say.
    """

    token: str
    plan_id: str
    cluster: str
    step: Step
    job_id: int = 0
    message: str = ""
    release: Release | None = None
    detail: str = ""
    is_news: bool = False
    at: float = 0.0
    journal: Journal | None = field(default=None, repr=False, compare=False)


async def settle(
    journal: Journal,
    scheduler: Scheduler,
    root: Path,
    *,
    clock: Callable[[], float] = time.time,
    snapshot: QueueSnapshot | None = None,
) -> tuple[Settled, ...]:
    """Find out about the open jobs of all plans. Only fences are made; nothing else is written.

    `snapshot`: all jobs of this user as just polled, if the caller has it; else it is asked for.
    Plans that another process is carrying out are left to it. Afterwards merge what jobs staged
    (they do so before they end), then call `apply_settled`. Doing it all again is harmless.
    """
    settling = _Settling(journal, scheduler, root, clock)
    plans = await asyncio.to_thread(settling.open_plans)
    asked = {
        entry.job_id
        for latest in plans.values()
        for entry in latest.values()
        if entry.step is Step.ACCEPTED
    }
    if asked and snapshot is None:
        snapshot = await scheduler.queue(sorted(asked))
    settling.asked, settling.snapshot = asked, snapshot
    for plan_id in plans:
        with journal.hold(plan_id) as held:
            if held:
                await settling.settle_plan(plan_id)
    return tuple(settling.settled)


def apply_settled(settled: Sequence[Settled], reservations: Reservations) -> None:
    """Enter what was settled into the project's records, then write it down in the journal.

    In this order: whoever is killed in between leaves jobs that are settled once more. The other
    way their directories would stay reserved. Raises: RowtuiError if either cannot be written.
    """
    held = [it for it in settled if it.release is None and it.job_id]
    reservations.record({it.token: it.job_id for it in held})
    reservations.release([it.release for it in settled if it.release is not None])
    for it in settled:
        if it.journal is not None and it.is_news:
            it.journal.append(
                [JournalEntry(it.token, it.plan_id, it.step, it.at, it.job_id, it.detail)]
            )
    journals = {it.plan_id: it.journal for it in settled if it.journal is not None and it.is_news}
    for plan_id, journal in journals.items():
        _put_away_if_done(journal, plan_id)


def _put_away_if_done(journal: Journal, plan_id: str) -> None:
    with journal.hold(plan_id) as held:
        if held and not any(entry.step in _OPEN for entry in journal.latest(plan_id).values()):
            journal.put_away(plan_id)


@dataclass
class _Settling:
    journal: Journal
    scheduler: Scheduler
    root: Path
    clock: Callable[[], float]
    asked: Collection[int] = ()
    snapshot: QueueSnapshot | None = None
    by_id: dict[int, Job] = field(default_factory=dict)
    settled: list[Settled] = field(default_factory=list)
    plan: Plan | None = None  # the plan at hand, once it was needed
    plan_id: str = ""
    jobs: dict[str, PlannedJob] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)  # see Scheduler.place, by token

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
            if any(entry.step in _OPEN for entry in latest.values()):
                found[plan_id] = latest
            else:
                _put_away_if_done(self.journal, plan_id)
        return found

    async def settle_plan(self, plan_id: str) -> None:
        """All open jobs of one plan, whose journal is held."""
        entries = await asyncio.to_thread(self.journal.entries, plan_id)
        self.plan, self.plan_id, self.jobs = None, plan_id, {}
        self.places = {it.token: it.detail for it in entries if it.step is Step.SENDING}
        for token, entry in {it.token: it for it in entries}.items():
            if entry.step in _OPEN:
                await self.settle_token(token, entry)

    async def settle_token(self, token: str, entry: JournalEntry) -> None:
        elsewhere = self.is_elsewhere(token)
        if elsewhere:
            # Its queue is on another machine, but what it wrote down at its end is here.
            if read_ended(self.root, token) is None:
                if entry.step in _LOST:
                    place = visible(self.places[token].replace(":", ", in ", 1))
                    self.tell(token, entry.step, f"what became of a job is only known on {place}")
                return
        elif entry.step is Step.ACCEPTED and not self.may_have_changed(entry, token):
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
                # Written down before anything was sent, so it never was. The fence is for whoever
                # carries out this very plan later.
                if not abandon(self.root, token, durable=False):
                    self.give_up(job, "never sent")
            elif elsewhere:
                await self.finish(job, entry.job_id, None)
            elif self.plan.user != user_name():
                await self.look_at_anothers(job, entry)
            elif self.plan.scheduler == "bash":
                self.settle_immediate(job, entry)
            elif self.plan.cluster != self.scheduler.cluster:
                return  # its own cluster must be asked
            elif entry.step in _LOST:
                await self.find_lost(job, entry)
            else:
                await self.look_at(job, entry)
        except OSError as error:
            self.tell(token, entry.step, f"{job.name}: its traces cannot be read: {error.strerror}")

    def is_elsewhere(self, token: str) -> bool:
        """Whether a job is in the queue of another machine, or in another queue of this one."""
        place = self.places.get(token, "")
        machine, _, queue = place.partition(":")
        if not place or machine != host_name():
            return bool(place)
        return bool(queue) and ":" in self.scheduler.place and place != self.scheduler.place

    def may_have_changed(self, entry: JournalEntry, token: str) -> bool:
        """Whether the snapshot says anything new of an accepted job. Most jobs just run."""
        snapshot = self.snapshot
        if snapshot is None or snapshot.error or entry.job_id not in self.asked:
            return False
        known = self.known(entry.job_id, token)
        if known is not None and (known.state.active or known.state is JobState.UNKNOWN):
            if entry.detail != RECORDED:  # killed between writing the id down and recording it
                self.settled.append(self.recorded(token, known.id))
            return False
        return True

    def recorded(self, token: str, job_id: int) -> Settled:
        return Settled(
            token,
            self.plan_id,
            self.scheduler.cluster,
            Step.ACCEPTED,
            job_id,
            detail=RECORDED,
            is_news=True,
            at=self.clock(),
            journal=self.journal,
        )

    def known(self, job_id: int, token: str) -> Job | None:
        """The job in the snapshot, unless its id was given to another."""
        if not self.by_id and self.snapshot is not None:
            self.by_id = {job.id: job for job in self.snapshot.jobs}
        job = self.by_id.get(job_id)
        return job if job is not None and job.token in ("", token) else None

    # -- jobs whose submission had no answer -------------------------------------------------

    async def find_lost(self, job: PlannedJob, entry: JournalEntry) -> None:
        found = await self.scheduler.find(job.token)
        if found is None:
            where = visible(job.destination.cluster)
            why = f"whether {job.name} was submitted is not known: {where} cannot be asked"
            self.tell(job.token, entry.step, why)
            return
        runner = read_fence(self.root, job.token)
        if not found and not runner:
            runner = abandon(self.root, job.token)
            if not runner:
                self.give_up(job, "it never reached the scheduler")
                return
        if runner == ABANDONED:
            await self.cancel(found)
            self.give_up(job, "given up before it began")
            return
        known = _chosen(found, job_id_of(runner))
        job_id = known.id if known else job_id_of(runner)
        await self.cancel([other for other in found if other.id != job_id])
        if known is None or not known.state.active:
            await self.finish(job, job_id, known)
        else:
            where = f"{visible(job.destination.cluster)}/{job_id}"
            message = f"{job.name} was found again: {where}"
            self.news(job, Step.ACCEPTED, message, job_id=job_id, detail="found again")

    async def cancel(self, others: Sequence[Job]) -> None:
        """Take duplicates out of the queue; the fence keeps them from doing anything anyway."""
        ids = [other.id for other in others if other.state.active]
        if ids:
            await self.scheduler.cancel(ids)

    def settle_immediate(self, job: PlannedJob, entry: JournalEntry) -> None:
        """A job that ran inside a rowtui that was killed: it may have gone on without it."""
        root = self.root
        marker = read_ended(root, job.token)
        runner = read_fence(root, job.token)
        if marker is None and runner != ABANDONED:
            from rowtui.core.clusters.schedulers.local_processes import processes_of_job

            if processes_of_job(job.token, None):
                self.tell(job.token, entry.step, f"{job.name} is still running")
                return
            runner = runner or abandon(root, job.token) or ABANDONED
        if marker is None and runner == ABANDONED:
            self.give_up(job, "it was never started")
        else:
            self.end(job, 0, ending_of(job, marker, None, WITHOUT_A_WORD, 0))

    def give_up(self, job: PlannedJob, why: str) -> None:
        release = Release(job.token, job.action, {})
        self.news(job, Step.ABANDONED, f"{job.name}: {why}", detail=why, release=release)

    # -- jobs that the scheduler has or had ---------------------------------------------------

    async def look_at(self, job: PlannedJob, entry: JournalEntry) -> None:
        known = self.known(entry.job_id, job.token)
        if known is None and read_ended(self.root, job.token) is None:
            found = await self.scheduler.find(job.token)
            if found is None:
                return
            known = _chosen(found, entry.job_id)
        if known is None or not (known.state.active or known.state is JobState.UNKNOWN):
            await self.finish(job, entry.job_id, known)
        elif known.id != entry.job_id:
            self.news(job, Step.ACCEPTED, "", job_id=known.id, detail="it has a new id")

    async def look_at_anothers(self, job: PlannedJob, entry: JournalEntry) -> None:
        """A job of another user: a queue may not show it to us, so its absence means nothing."""
        known = self.known(entry.job_id, job.token) if entry.step is Step.ACCEPTED else None
        if known is not None or read_ended(self.root, job.token) is not None:
            await self.finish(job, entry.job_id, known)
        elif entry.step in _LOST:
            assert self.plan is not None
            who = visible(self.plan.user)
            self.tell(job.token, entry.step, f"what became of {job.name} is only known to {who}")

    async def finish(self, job: PlannedJob, job_id: int, known: Job | None) -> None:
        marker = await asyncio.to_thread(read_ended, self.root, job.token)
        code, word = (None, WITHOUT_A_WORD) if known is None else scheduler_word(known)
        self.end(job, job_id, ending_of(job, marker, code, word, job_id))

    def end(self, job: PlannedJob, job_id: int, ending: Ending) -> None:
        message = f"{job.name}: {visible(ending.reason)}" if ending.reason else ""
        detail, release = ending.detail, ending.release
        self.news(job, Step.ENDED, message, job_id=job_id, detail=detail, release=release)

    # -- what is said -----------------------------------------------------------------------------

    def tell(self, token: str, step: Step, message: str) -> None:
        """Something that a person should know; nothing changes."""
        cluster = self.plan.cluster if self.plan else self.scheduler.cluster
        self.settled.append(Settled(token, self.plan_id, cluster, step, message=message))

    def news(
        self,
        job: PlannedJob,
        step: Step,
        message: str,
        *,
        detail: str,
        job_id: int = 0,
        release: Release | None = None,
    ) -> None:
        """A step that is to be entered and written down."""
        self.settled.append(
            Settled(
                token=job.token,
                plan_id=self.plan_id,
                cluster=job.destination.cluster,
                step=step,
                job_id=job_id,
                message=message,
                release=release,
                detail=detail,
                is_news=True,
                at=self.clock(),
                journal=self.journal,
            )
        )


def _chosen(found: Sequence[Job], runner: int) -> Job | None:
    """The job that has the fence, else one that can still run, else any."""
    order = sorted(found, key=lambda it: (it.id != runner, not it.state.active, it.id))
    return order[0] if order else None
