"""State and conclusions while the open jobs on one cluster are settled.

`settle.py` decides the order of queries, `lost.py` handles jobs of unknown outcome, `held.py`
handles jobs that wait for their release; this module collects their findings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rowtui.core.base.text import visible
from rowtui.core.clusters.schedulers.base import (
    Job,
    JobKey,
    JobState,
    QueueSnapshot,
    token_in_queue,
)
from rowtui.core.clusters.schedulers.local.machine import host_name
from rowtui.core.submission.bundles.pilot_model import is_in_pilot, is_pilot
from rowtui.core.submission.plan.dependencies import NEEDS_MISSING, UPSTREAM_FAILED
from rowtui.core.submission.plan.json import load_plan
from rowtui.core.submission.plan.model import OPEN, JobStep, JournalEntry, Plan, PlannedJob
from rowtui.core.submission.reconcile.ending import (
    CANCELLED,
    NOT_BEGUN,
    WITHOUT_A_WORD,
    Ending,
    FinishedJob,
    cancelled,
    ended_job,
    ending_of,
    is_cause,
    scheduler_word,
)
from rowtui.core.submission.reconcile.slurm_log import READ_TAIL, TAIL_BYTES, ended_by_slurm
from rowtui.core.submission.sending.fence import ABANDONED
from rowtui.core.submission.sending.journal import Journal, end_detail, log_of
from rowtui.core.submission.sending.reservations import ReservationRelease, Reservations
from rowtui.core.submission.sending.site import NO_TRACES, Access, Traces

# The reconciled state of a job, and its entry into the records and the journal.


@dataclass(frozen=True, slots=True)
class ReconciledJob:
    """The known state of one job. `message` is for the user, "" if there is none.

    `release` has the job's action and ends: its directories are no longer submitted. None: they
    still are, under `job_id` if that is not 0. If `is_news`, `apply_settled` journals `step` with
    `detail`; else the journal has this state already. `ended`: how a job ended that ran.
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
    at: float = 0.0
    journal: Journal | None = field(default=None, repr=False, compare=False)
    ended: FinishedJob | None = field(default=None, repr=False, compare=False)


def apply_settled(settled: Sequence[ReconciledJob], reservations: Reservations) -> None:
    """Enter the settled states into the project's records, then into the journal.

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
        it.token, it.plan_id, it.step, it.at, it.job_id, it.detail, it.cluster, it.task
    )


def put_away_if_done(journal: Journal, plan_id: str) -> None:
    """Archive a plan's journal if none of its jobs is open, and no process is carrying it out."""
    with journal.hold(plan_id) as held:
        if held and not any(entry.step in OPEN for entry in journal.latest(plan_id).values()):
            journal.put_away(plan_id)


LOST_STEPS = frozenset({JobStep.SENDING, JobStep.UNKNOWN})


@dataclass
class Settling:
    """One round over all open plans; the second half of the fields is about the current plan."""

    journal: Journal
    access: Access
    root: Path
    clock: Callable[[], float]
    reservations: Reservations | None = None
    may_send: bool = True
    snapshot: QueueSnapshot | None = None
    by_key: dict[JobKey, Job] = field(default_factory=dict)
    by_id: dict[int, list[Job]] = field(default_factory=dict)
    settled: list[ReconciledJob] = field(default_factory=list)

    plan_id: str = ""
    plan: Plan | None = None  # loaded on first use
    jobs: dict[str, PlannedJob] = field(default_factory=dict)
    entries: list[JournalEntry] = field(default_factory=list)
    latest: dict[str, JournalEntry] = field(default_factory=dict)
    accepted: dict[str, float] = field(default_factory=dict)  # when, by token
    places: dict[str, str] = field(default_factory=dict)  # see Scheduler.place, by token
    traces: Mapping[str, Traces] = field(default_factory=dict)

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
        self.plan_id, self.plan, self.jobs, self.traces = plan_id, None, {}, {}
        self.entries = await asyncio.to_thread(self.journal.entries, plan_id)
        self.latest = {it.token: it for it in self.entries}
        self.accepted = {}
        for it in self.entries:
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

    def tell(self, token: str, step: JobStep, message: str) -> None:
        """Report a message for the user; no state changes."""
        self.settled.append(ReconciledJob(token, self.plan_id, self.cluster, step, message=message))

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
        self,
        job: PlannedJob,
        step: JobStep,
        message: str,
        *,
        detail: str,
        key: JobKey = JobKey(0),  # noqa: B008
        release: ReservationRelease | None = None,
        ended: FinishedJob | None = None,
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
                release=release,
                detail=detail,
                is_news=True,
                at=self.clock(),
                journal=self.journal,
                ended=ended,
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
                detail=end_detail(None, f"its {what} is lost"),
                is_news=entry is not None,
                at=self.clock(),
                journal=self.journal,
            )
        )

    def give_up(self, job: PlannedJob, why: str, release: ReservationRelease | None = None) -> None:
        """Conclude that a job never ran and never will. `release`: if there is an end to record."""
        release = release or ReservationRelease(job.token, job.action, {})
        self.news(job, JobStep.ABANDONED, f"{job.name}: {why}", detail=why, release=release)

    async def finish(self, job: PlannedJob, key: JobKey, known: Job | None) -> None:
        """Conclude a job that is over, from its own report and the scheduler's.

        A request of a bundle that ended before the request started has not failed, nor has a job
        that left the queue while it waited for another. Raises: OSError.
        """
        traces = self.traces_of(job.token)
        marker = traces.ended
        code, word = (None, WITHOUT_A_WORD) if known is None else scheduler_word(known)
        begun = marker is not None or traces.fence not in ("", ABANDONED)
        if marker is not None and marker.not_ready:
            self.give_up(job, NEEDS_MISSING)
            return
        if job.bundle is None and job.depends_on and not begun and _left_unbegun(known):
            if not await self.access.site.abandon(job.token):
                failed = known is not None and "Dependency" in known.reason
                self.give_up(job, UPSTREAM_FAILED if failed else f"{NOT_BEGUN}: {word}")
            return
        if job.bundle is not None and not begun:
            # A pilot refuses requests by their fences, and the driver of a run ends pilots.
            may_be_cancelled = not (job.depends_on or is_in_pilot(job.token))
            if traces.fence == ABANDONED:
                out = "taken out of its bundle before it began"
                why = UPSTREAM_FAILED if job.depends_on else out
                self.give_up(job, why, cancelled(job, key.id) if may_be_cancelled else None)
                return
            if not await self.access.site.abandon(job.token):
                why = f"{NOT_BEGUN}: its bundle ended ({word or 'well'})"
                by_user = may_be_cancelled and word == CANCELLED
                self.give_up(job, why, cancelled(job, key.id) if by_user else None)
            return  # or it began just now, in another job: the next poll shows where
        if marker is None and begun and job.bundle is None and word and not is_cause(word):
            word = await self._word_in_log(job, key) or word
        self.end(job, key, ending_of(job, marker, code, word, key.id), known)

    async def _word_in_log(self, job: PlannedJob, key: JobKey) -> str:
        """Return why Slurm ended a job that reported nothing, from its log; "" if unknown."""
        path = log_of(job, key)
        if self.access.scheduler.kind != "slurm" or not path:
            return ""
        try:
            tail = await self.access.site.shell(READ_TAIL, path)
        except OSError:
            return ""
        return ended_by_slurm(tail[-TAIL_BYTES:], None if key.task is not None else key.id)

    def end(self, job: PlannedJob, key: JobKey, ending: Ending, known: Job | None = None) -> None:
        """Conclude the end of a job. `known`: what its scheduler reports of it, or of its
        bundle.
        """
        message = f"{job.name}: {visible(ending.reason)}" if ending.reason else ""
        if ending.reason == CANCELLED and is_pilot(job.token):
            message = ""  # the outcome of each of its requests is reported separately
        ended = ended_job(job, key, ending, self.clock(), known)._replace(
            user=self.plan.user if self.plan is not None else "",
            submitted_at=self.accepted.get(job.token, 0.0),
        )
        detail, release = ending.detail, ending.release
        self.news(job, JobStep.ENDED, message, key=key, detail=detail, release=release, ended=ended)


def _left_unbegun(known: Job | None) -> bool:
    """Whether a job that never began was removed from the queue.

    A job that cannot start has failed.
    """
    return known is None or known.state in (JobState.CANCELLED, JobState.LOST)
