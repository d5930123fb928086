"""State and conclusions while the open jobs on one cluster are settled.

`reconcile.py` decides the order of queries, `lost.py` handles jobs of unknown outcome, `held.py`
handles jobs that wait for their release; this module collects their findings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rowtui.core.base.lazy import asyncio
from rowtui.core.base.text import visible
from rowtui.core.clusters.schedulers.base import (
    Job,
    JobKey,
    JobState,
    QueueSnapshot,
    token_in_queue,
)
from rowtui.core.clusters.schedulers.local.machine import boot_time, host_name
from rowtui.core.submission.bundles.pilot_model import is_in_pilot
from rowtui.core.submission.plan.dependencies import UPSTREAM_FAILED
from rowtui.core.submission.plan.json import load_plan
from rowtui.core.submission.plan.model import OPEN, JobStep, JournalEntry, Plan, PlannedJob
from rowtui.core.submission.plan.outcome import NOT_BEGUN, JobResult, scheduler_cause
from rowtui.core.submission.plan.record import JobRecord, log_of
from rowtui.core.submission.reconcile.ending import (
    STOPPED,
    Evidence,
    OverJob,
)
from rowtui.core.submission.reconcile.slurm_log import ended_by_slurm, log_tail, tells_full_disk
from rowtui.core.submission.sending.fence import ABANDONED
from rowtui.core.submission.sending.job_records import named_log
from rowtui.core.submission.sending.journal import Journal
from rowtui.core.submission.sending.reservations import ReservationRelease, StoredReservations
from rowtui.core.submission.sending.site import NO_TRACES, Access, Traces

# The reconciled state of a job, and its entry into the records and the journal.


@dataclass(frozen=True, slots=True)
class ReconciledJob:
    """The known state of one job. `message` is for the user, "" if there is none.

    `over`: what is known of a job that is over; `conclude.concluded` then fills `step`, `detail`,
    `end`, `message`, `release`, and `ended` if it ran. `release` has the job's action and ends: its
    directories are no longer submitted. None: they still are, under `job_id` if that is not 0. If
    `is_news`, `apply_settled` journals `step`; else the journal has this state already.
    `unfinished`: the name of a job that must be sent again, and why.
    """

    token: str
    plan_id: str
    cluster: str
    step: JobStep
    job_id: int = 0
    task: int | None = None
    message: str = ""
    release: ReservationRelease | None = None
    detail: str = ""
    is_news: bool = False
    unfinished: str = ""
    at: float = 0.0
    journal: Journal | None = field(default=None, repr=False, compare=False)
    over: OverJob | None = field(default=None, repr=False)
    end: JobResult | None = None
    ended: JobRecord | None = field(default=None, repr=False, compare=False)

    @property
    def is_over(self) -> bool:
        """Whether the job's directories are given back."""
        return self.over is not None or self.release is not None


def apply_settled(settled: Sequence[ReconciledJob], reservations: StoredReservations) -> None:
    """Enter the settled and concluded states into the project's records, then into the journal.

    The order matters: a process killed in between leaves jobs that are settled once more. In the
    other order their directories would stay reserved. Raises: RowtuiError if either cannot be
    written.
    """
    held = [it for it in settled if it.release is None and it.job_id]
    reservations.record({it.token: it.job_id for it in held})
    reservations.release([it.release for it in settled if it.release is not None])
    by_plan: dict[str, list[ReconciledJob]] = {}
    for it in settled:
        if it.is_news:
            by_plan.setdefault(it.plan_id, []).append(it)
    for plan_id, news in by_plan.items():
        journal = news[0].journal
        if journal is not None:
            journal.append(map(_entry, news))
            put_away_if_done(journal, plan_id)


def _entry(it: ReconciledJob) -> JournalEntry:
    return JournalEntry(
        it.token, it.plan_id, it.step, it.at, it.job_id, it.detail, it.cluster, it.task, it.end
    )


def put_away_if_done(journal: Journal, plan_id: str) -> None:
    """Archive a plan's journal if none of its jobs is open, and no process is carrying it out."""
    with journal.hold(plan_id) as held:
        if held and not any(entry.step in OPEN for entry in journal.latest(plan_id).values()):
            journal.put_away(plan_id)


NO_KEY = JobKey(0)
LOST_STEPS = frozenset({JobStep.SENDING, JobStep.UNKNOWN})


@dataclass
class Settling:
    """One round over all open plans; the second half of the fields is about the current plan."""

    journal: Journal
    access: Access
    root: Path
    clock: Callable[[], float]
    reservations: StoredReservations | None = None
    may_send: bool = True
    uptime: Callable[[], float] = boot_time
    snapshot: QueueSnapshot | None = None
    by_key: dict[JobKey, Job] = field(default_factory=dict)
    by_id: dict[int, list[Job]] = field(default_factory=dict)
    settled: list[ReconciledJob] = field(default_factory=list)

    logs_left: int = 20  # logs of failed jobs that may still be read: each is a command
    plan_id: str = ""
    plan: Plan | None = None  # loaded on first use
    jobs: dict[str, PlannedJob] = field(default_factory=dict)
    entries: list[JournalEntry] = field(default_factory=list)
    latest: dict[str, JournalEntry] = field(default_factory=dict)
    accepted: dict[str, float] = field(default_factory=dict)  # when, by token
    ids: dict[str, int] = field(default_factory=dict)  # the last job id, by token
    cancel_asked: frozenset[str] = frozenset()
    places: dict[str, str] = field(default_factory=dict)  # see Scheduler.place, by token
    traces: Mapping[str, Traces] = field(default_factory=dict)
    closed: Mapping[str, str] = field(default_factory=dict)  # answers of `Site.close_fences`

    @property
    def cluster(self) -> str:
        """Return the cluster's name."""
        return self.access.scheduler.cluster

    def take(self, snapshot: QueueSnapshot | None) -> None:
        """Use this poll of the queue."""
        self.snapshot = snapshot
        if snapshot is not None:
            self.by_key = {job.key: job for job in snapshot.jobs}

    async def begin(self, plan_id: str) -> None:
        """Start with another plan. Raises: RowtuiError."""
        self.plan_id, self.plan, self.jobs, self.traces, self.closed = plan_id, None, {}, {}, {}
        self.entries = await asyncio.to_thread(self.journal.entries, plan_id)
        self.latest = {it.token: it for it in self.entries}
        self.cancel_asked = await asyncio.to_thread(self.journal.cancel_asked, plan_id)
        self.accepted, self.ids = {}, {}
        for it in self.entries:
            if it.job_id:
                self.ids[it.token] = it.job_id
            if it.step is JobStep.ACCEPTED:
                self.accepted.setdefault(it.token, it.at)
        self.places = {it.token: it.detail for it in self.entries if it.step is JobStep.SENDING}

    async def job(self, token: str) -> PlannedJob:
        """Return a job of the plan. Raises: RowtuiError, KeyError."""
        if self.plan is None:
            self.plan = await asyncio.to_thread(load_plan, self.root, self.plan_id)
            self.jobs = {job.token: job for job in self.plan.jobs}
        return self.jobs[token]

    def traces_of(self, token: str) -> Traces:
        """Return a job's traces as last read."""
        return self.traces.get(token, NO_TRACES)

    def known(self, key: JobKey, token: str) -> Job | None:
        """Return the job in the snapshot, unless its id was given to another job.

        Accounting records may lack the token of a job that is over; queues have it.
        """
        job = self.by_key.get(key)
        mine = token_in_queue(token)
        if job is None or (job.token != mine and (job.token or job.state.active)):
            return None
        return job

    def with_id(self, job_id: int) -> Sequence[Job]:
        """Return the snapshot's entries with this id: a job of any user, or tasks of an array."""
        if not self.by_id:
            for job in self.by_key.values():
                self.by_id.setdefault(job.id, []).append(job)
        return self.by_id.get(job_id, ())

    def is_elsewhere(self, token: str) -> bool:
        """Whether a job is in the queue of another machine, or in another queue of this one."""
        place = self.places.get(token, "")
        machine, _, queue = place.partition(":")
        if not place or machine != host_name():
            return bool(place)
        own = self.access.scheduler.place
        return bool(queue) and ":" in own and place != own

    async def still_theirs(self, jobs: Sequence[PlannedJob]) -> list[PlannedJob]:
        """Return the jobs that still have all of their directories; the others are given up.

        The directories may have been freed and submitted again by another plan since. Raises:
        RowtuiError if the owners cannot be determined.
        """
        if self.reservations is None or not jobs:
            return list(jobs)
        refused = await asyncio.to_thread(self.reservations.reserve, jobs)
        for job in jobs:
            if job.token in refused and not await self.access.site.abandon(job.token):
                self.give_up(job, refused[job.token])
        return [job for job in jobs if job.token not in refused]

    async def cancel(self, others: Sequence[Job]) -> None:
        """Cancel duplicates; their fence would keep them from running anyway."""
        keys = [other.key for other in others if other.state.active]
        if keys:
            await self.access.scheduler.cancel(keys)

    # Conclusions

    def tell(self, token: str, step: JobStep, message: str, *, unfinished: str = "") -> None:
        """Report a message for the user; no state changes."""
        self.settled.append(
            ReconciledJob(
                token, self.plan_id, self.cluster, step, message=message, unfinished=unfinished
            )
        )

    def noted(self, token: str, key: JobKey, detail: str) -> None:
        """Journal a detail of a job that the scheduler has; the records do not change."""
        self.settled.append(
            ReconciledJob(
                token,
                self.plan_id,
                self.cluster,
                JobStep.ACCEPTED,
                key.id,
                key.task,
                detail=detail,
                is_news=True,
                at=self.clock(),
                journal=self.journal,
            )
        )

    def news(
        self, job: PlannedJob, step: JobStep, message: str, *, detail: str, key: JobKey = NO_KEY
    ) -> None:
        """Conclude a step that must be recorded and journalled."""
        self.settled.append(
            ReconciledJob(
                token=job.token,
                plan_id=self.plan_id,
                cluster=job.destination.cluster,
                step=step,
                job_id=key.id,
                task=key.task,
                message=message,
                detail=detail,
                is_news=True,
                at=self.clock(),
                journal=self.journal,
            )
        )

    def over(self, job: PlannedJob, evidence: Evidence, key: JobKey = NO_KEY) -> None:
        """Report that a job is over; what is known of its files is added to the evidence."""
        traces = self.traces_of(job.token)
        evidence = evidence._replace(
            member=job.bundle is not None,
            waited=bool(job.depends_on),
            job_id=self.ids.get(job.token, 0),
            marker=traces.ended,
            began=evidence.began or traces.began,
            cancel_asked=evidence.cancel_asked or job.token in self.cancel_asked,
        )
        user = self.plan.user if self.plan is not None else ""
        accepted = self.accepted.get(job.token, 0.0)
        self.settled.append(
            ReconciledJob(
                token=job.token,
                plan_id=self.plan_id,
                cluster=job.destination.cluster,
                step=evidence.step,
                job_id=key.id,
                task=key.task,
                is_news=True,
                at=self.clock(),
                journal=self.journal,
                over=OverJob(job, key, evidence, traces.fence_at, user, self.plan_id, accepted),
            )
        )

    def end_without_plan(self, token: str, entry: JournalEntry | None) -> None:
        """Conclude the end of a job whose plan or whole journal is lost."""
        what = "plan" if entry is not None else "journal"
        self.settled.append(
            ReconciledJob(
                token=token,
                plan_id=self.plan_id,
                cluster=self.cluster,
                step=JobStep.ENDED,
                job_id=entry.job_id if entry is not None else 0,
                task=entry.task if entry is not None else None,
                message=f"job {visible(token)}, whose {what} is lost, is over: its directories "
                "may be submitted again unless they are complete",
                release=ReservationRelease(token, "", {}),
                detail=f"- its {what} is lost",
                is_news=entry is not None,
                at=self.clock(),
                journal=self.journal,
            )
        )

    def give_up(self, job: PlannedJob, why: str, *, upstream_failed: bool = False) -> None:
        """Report that a job never ran and never will: its fence is closed, or it was never sent."""
        self.over(
            job,
            Evidence(step=JobStep.ABANDONED, note=why, upstream_failed=upstream_failed),
        )

    async def finish(self, job: PlannedJob, key: JobKey, known: Job | None) -> None:
        """Report a job that is over, with its own report and the scheduler's. Raises: OSError.

        A request of a bundle that ended before the request started has not failed, nor has a job
        that left the queue while it waited for another. The fence of a job that never began is
        closed first.
        """
        traces = self.traces_of(job.token)
        evidence = Evidence(known=known, log=named_log(job))
        if traces.began:
            stopped = traces.ended is None or traces.ended.cause.startswith("signal ")
            if stopped and job.bundle is None:
                evidence = evidence._replace(log_word=await self._word_in_log(job, key, known))
            elif traces.ended is not None and traces.ended.exit_code and self.logs_left:
                self.logs_left -= 1
                tail = await log_tail(self.access.site, log_of(job, key))
                evidence = evidence._replace(disk_full=tells_full_disk(tail))
            self.over(job, evidence, key)
            return
        taken_out = traces.fence == ABANDONED
        if not taken_out and await self._runner(job.token):
            return  # it began just now, maybe in another job: the next poll shows where
        if job.bundle is None and not taken_out and _ran(known):  # its files were deleted
            self.over(job, evidence._replace(began=True), key)
            return
        word = scheduler_cause(known)
        if job.bundle is not None and taken_out:
            failed = bool(job.depends_on)
            note = UPSTREAM_FAILED if failed else "taken out of its bundle before it began"
            by_user = not (failed or is_in_pilot(job.token))
            evidence = evidence._replace(note=note, upstream_failed=failed, cancel_asked=by_user)
        elif job.bundle is not None:
            evidence = evidence._replace(note=f"{NOT_BEGUN}: its bundle ended ({word or 'well'})")
        elif job.depends_on and _left_unbegun(known):
            failed = known is not None and "Dependency" in known.reason
            note = UPSTREAM_FAILED if failed else f"{NOT_BEGUN}: {word}"
            evidence = evidence._replace(note=note, upstream_failed=failed)
        if is_in_pilot(job.token):  # a pilot refuses requests, and the driver of a run ends pilots
            note = f"{NOT_BEGUN}: its allocation ended, or had no time left"
            evidence = evidence._replace(note=note, known=None)
        self.over(job, evidence, key)

    async def _runner(self, token: str) -> str:
        """Close a fence, unless that was done together with others; return who began the job."""
        if token not in self.closed:
            return await self.access.site.abandon(token)
        return self.closed[token]

    async def _word_in_log(self, job: PlannedJob, key: JobKey, known: Job | None) -> str:
        """Return why Slurm ended a job that does not know it, from its log; "" if unknown."""
        stated = known is not None and known.state in {*STOPPED, JobState.COMPLETED}
        if stated or self.access.scheduler.kind != "slurm":
            return ""
        tail = await log_tail(self.access.site, log_of(job, key))
        return ended_by_slurm(tail, None if key.task is not None else key.id)


def _ran(known: Job | None) -> bool:
    """Whether a scheduler reports that a job ran, although the job left no fence."""
    if known is None or known.state in (JobState.CANCELLED, JobState.LOST):
        return False
    return known.state is JobState.COMPLETED or bool(known.elapsed and not known.exit_signal)


def _left_unbegun(known: Job | None) -> bool:
    """Whether a job that never began was removed from the queue.

    A job that cannot start has failed.
    """
    return known is None or known.state in (JobState.CANCELLED, JobState.LOST)
