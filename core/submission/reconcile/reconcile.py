"""Reconciliation: the outcome of jobs whose state is unknown to the journal, and the end of others.

The input is the journal and the access to one cluster; the result is a `ReconciledJob` for each job
with news. It runs at every start and with every poll. A job that was being sent when rowtui was
killed is searched by its token; a job without a trace in the scheduler and without a fence is sent
again or given up (`lost.py`). Held jobs that are recorded are released, and other jobs with their
tokens are cancelled (`held.py`). A job that recorded its own end is over, even if a scheduler that
crashed reports otherwise. A job whose state cannot be determined stays unchanged and is reported;
so is a job of another user that left no record.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import asyncio
from rowtui.core.base.text import visible
from rowtui.core.clusters.schedulers.base import (
    Job,
    JobKey,
    JobState,
    QueueSnapshot,
    is_in_bundle,
    token_in_queue,
)
from rowtui.core.clusters.schedulers.local.machine import boot_time, user_name
from rowtui.core.clusters.schedulers.local.processes import processes_of_job
from rowtui.core.submission.bundles.pilot_model import is_in_pilot
from rowtui.core.submission.plan.model import OPEN, JobStep, JournalEntry, PlannedJob
from rowtui.core.submission.reconcile.ending import OVER, Evidence
from rowtui.core.submission.reconcile.lost import Lost
from rowtui.core.submission.reconcile.reconcile_state import (
    LOST_STEPS,
    ReconciledJob,
    Settling,
    put_away_if_done,
)
from rowtui.core.submission.sending.fence import ABANDONED, job_key_of
from rowtui.core.submission.sending.held import HeldJobs, take_late_ones_away
from rowtui.core.submission.sending.journal import Journal
from rowtui.core.submission.sending.reservations import StoredReservations
from rowtui.core.submission.sending.send import find_requests
from rowtui.core.submission.sending.site import NO_TRACES, Access


async def settle(
    journal: Journal,
    access: Access,
    root: Path,
    *,
    clock: Callable[[], float] = time.time,
    snapshot: QueueSnapshot | None = None,
    reservations: StoredReservations | None = None,
    may_send: bool = True,
    uptime: Callable[[], float] = boot_time,
) -> tuple[ReconciledJob, ...]:
    """Determine the state of the open jobs of all plans on one cluster.

    `reservations`: the project's records, so that no job is sent again or released whose
    directories now belong to another job. `snapshot`: this user's jobs as last polled, if the
    caller has them; otherwise they are polled. A plan that another process is carrying out is
    skipped. Without `may_send` no job is sent again, and a message reports that. Afterwards the
    caller merges staged completions (jobs stage them before they end), then calls `concluded` and
    `apply_settled`. `clock`: epoch seconds; `uptime`: seconds of a clock that no one sets.
    This function only makes fences and sends jobs again, which is journalled; repeating it is
    harmless.
    """
    settling = Settling(
        journal, access, root, clock, reservations, may_send=may_send, uptime=uptime
    )
    # The records first: a token is in a journal before it is in the records.
    recorded: set[str] = set()
    if reservations is not None:
        recorded = await asyncio.to_thread(reservations.tokens, access.scheduler.cluster)
    plans = await asyncio.to_thread(_open_plans, settling)
    asked = any(
        entry.step is JobStep.ACCEPTED and entry.cluster in ("", access.scheduler.cluster)
        for latest in plans.values()
        for entry in latest.values()
    )
    if asked and snapshot is None:
        snapshot = await access.scheduler.queue()
    settling.take(snapshot)
    for plan_id in plans:
        with journal.hold(plan_id) as held:
            if held:
                await _PlanSettling(settling).settle(plan_id)
    open_tokens = {token for latest in plans.values() for token in latest}
    await take_late_ones_away(settling, open_tokens)
    if orphans := recorded - open_tokens:
        await _settle_orphans(settling, orphans)
    return tuple(settling.settled)


def _open_plans(settling: Settling) -> dict[str, dict[str, JournalEntry]]:
    """Return the plans that have open jobs, with the latest entry of each job."""
    found = {}
    for plan_id in settling.journal.open_plan_ids():
        try:
            latest = settling.journal.latest(plan_id)
        except RowtuiError as error:
            settling.plan_id = plan_id
            settling.tell("", JobStep.UNKNOWN, error.message)
            continue
        if any(entry.step in OPEN for entry in latest.values()):
            found[plan_id] = latest
        else:
            put_away_if_done(settling.journal, plan_id)
    return found


async def _settle_orphans(settling: Settling, tokens: Collection[str]) -> None:
    """Settle recorded jobs whose journal is lost: their directories are free once they are over."""
    journal, scheduler = settling.journal, settling.access.scheduler

    def still_lacking() -> set[str]:
        """Return the tokens that no open journal has; none if a journal cannot be read."""
        lacking = set(tokens)
        try:
            for plan_id in journal.open_plan_ids():
                lacking -= journal.latest(plan_id).keys()
        except RowtuiError:
            return set()
        return lacking

    orphans = await asyncio.to_thread(still_lacking)
    if not orphans or scheduler.immediate:
        return
    settling.plan_id = ""
    settling.places = {}
    await _without_plan(settling, dict.fromkeys(orphans))


async def _without_plan(
    settling: Settling,
    lost: Mapping[str, JournalEntry | None],
    goes_on: Callable[[str, JournalEntry, JobKey], bool] = lambda *_: True,
) -> None:
    """Settle jobs known only by their tokens: free their directories once they are over.

    A held job never began, and is cancelled. The fence keeps the others from running later.
    `goes_on`: whether a job that began and that the scheduler forgot may still run.
    """
    access = settling.access
    found = await find_requests(access.scheduler, lost)
    if found is None:
        return
    active = {
        token: [job for job in jobs if job.state.active or job.state is JobState.UNKNOWN]
        for token, jobs in found.items()
    }
    held = {job.key for jobs in active.values() for job in jobs if job.state is JobState.HELD}
    if held:
        await access.scheduler.cancel(sorted(held))
    try:
        traces = await access.site.traces(list(lost))
        for token, entry in lost.items():
            if active.get(token):
                continue
            runner = await access.site.abandon(token)
            ended = bool(found.get(token)) or traces.get(token, NO_TRACES).ended is not None
            # A job that began, and that the scheduler forgot, may go on.
            if not runner or ended or (entry and not goes_on(token, entry, job_key_of(runner))):
                settling.end_without_plan(token, entry)
    except OSError:
        return  # the next poll handles them


WAITING = frozenset({JobState.PENDING, JobState.HELD})
RUNS = frozenset({JobState.RUNNING, JobState.COMPLETING})
# A pilot that is being ended is over at most this many seconds after the first of its requests.
ALONE_SECONDS = 30.0


class _PlanSettling:
    """The open jobs of one plan, whose journal is locked."""

    def __init__(self, settling: Settling) -> None:
        self.it = settling
        self.access = settling.access
        self.lost = Lost(settling)
        self.held = HeldJobs(settling)
        self.planless: dict[str, JournalEntry] = {}

    async def settle(self, plan_id: str) -> None:
        it = self.it
        await it.begin(plan_id)
        work = {
            token: entry
            for token, entry in it.latest.items()
            if entry.step in OPEN and self.needs_a_look(token, entry)
        }
        await self.held.cancel_strays()
        try:
            it.traces = await self.access.site.traces(list(work))
            lost = [token for token, entry in work.items() if self.must_be_found(token, entry)]
            found = await find_requests(self.access.scheduler, lost)
            if lost and found is not None:
                # A job that began during the query has made its fence by now, and one that ended
                # has recorded its end.
                it.traces = {**it.traces, **await self.access.site.traces(lost)}
            it.closed = await self.access.site.close_fences(list(filter(self.never_began, work)))
        except OSError as error:
            why = error.strerror or str(error)
            it.tell(
                "", JobStep.UNKNOWN, f"the reports of jobs on {it.cluster} cannot be read: {why}"
            )
            return
        for token, entry in work.items():
            await self.settle_token(token, entry, found)
        if self.planless:
            await _without_plan(it, self.planless, self.lost.may_go_on)
        await self.lost.send_again()
        await self.held.release()

    def never_began(self, token: str) -> bool:
        """Whether the scheduler's record of a job without traces shows that the job is over."""
        it = self.it
        known = it.known(it.latest[token].key, token)
        over = known is not None and not known.state.active and known.state is not JobState.UNKNOWN
        return over and not it.traces_of(token).fence and not it.traces_of(token).ended

    def needs_a_look(self, token: str, entry: JournalEntry) -> bool:
        """Whether there may be news of an open job that this cluster may have."""
        if entry.step is JobStep.PLANNED:
            return True
        if entry.cluster and entry.cluster != self.it.cluster:
            return False
        if entry.step is not JobStep.ACCEPTED or self.it.is_elsewhere(token):
            return True
        snapshot = self.it.snapshot
        if snapshot is None or snapshot.error:
            return False
        # Otherwise the job was accepted after the poll, unless a clock was set back since: then the
        # times do not show the order, and the scheduler is asked for the token.
        later = entry.at > snapshot.at and entry.age(self.it.clock()) is not None
        return self.it.known(entry.key, token) is not None or not later

    def must_be_found(self, token: str, entry: JournalEntry) -> bool:
        if self.it.is_elsewhere(token):
            return False
        if entry.step is JobStep.ACCEPTED:
            ended = self.it.traces_of(token).ended is not None
            return not ended and self.it.known(entry.key, token) is None
        return entry.step in LOST_STEPS and not self.access.scheduler.immediate

    async def settle_token(
        self, token: str, entry: JournalEntry, found: Mapping[str, tuple[Job, ...]] | None
    ) -> None:
        it = self.it
        traces = it.traces_of(token)
        elsewhere = entry.step is not JobStep.PLANNED and it.is_elsewhere(token)
        if elsewhere and traces.ended is None:
            # The job's queue is on another machine, but the record of its end is here.
            if entry.step in LOST_STEPS:
                place = visible(it.places[token].replace(":", ", in ", 1))
                it.tell(token, entry.step, f"the outcome of a job is recorded only on {place}")
            return
        known = it.known(entry.key, token) if entry.step is JobStep.ACCEPTED else None
        waits = known is not None and (known.state.active or known.state is JobState.UNKNOWN)
        # The job ended by itself: it never runs again, even if the scheduler restarts it; nor does
        # a request that used up its time or memory in a bundle that continues, or was taken out of
        # the bundle.
        causes = OVER if is_in_bundle(token) else {"exit"}
        over = traces.ended is not None and traces.ended.cause in causes
        if over and known is not None and known.state in RUNS and not is_in_bundle(token):
            # The command may have died of a cancellation before its script received the signal. The
            # scheduler, for which the job is about to end, will report the reason.
            over = traces.ended is not None and not traces.ended.died
        over = over or (is_in_bundle(token) and traces.fence == ABANDONED)
        if is_in_pilot(token) and traces.ended is not None and known and not over:
            # A pilot is never started again. One that is about to end itself, as after a
            # cancellation, is awaited: the scheduler reports the reason.
            alone = it.clock() - traces.ended.at > ALONE_SECONDS
            over = known.state is JobState.RUNNING and alone
        if not elsewhere and waits and not over:
            assert known is not None
            self.held.note_active(token, entry, known)
            return
        try:
            job = await it.job(token)
        except (RowtuiError, KeyError):
            if not elsewhere and not self.access.scheduler.immediate:
                self.planless[token] = entry
            return
        try:
            await self.settle_job(job, entry, known if waits else None, found, elsewhere)
        except OSError as error:
            why = error.strerror or str(error)
            it.tell(token, entry.step, f"{job.name}: its traces cannot be read: {why}")

    async def settle_job(
        self,
        job: PlannedJob,
        entry: JournalEntry,
        waiting: Job | None,
        found: Mapping[str, tuple[Job, ...]] | None,
        elsewhere: bool,
    ) -> None:
        it = self.it
        if entry.step is JobStep.PLANNED:
            # It was journalled before sending and never sent.
            it.give_up(job, "never sent")
        elif job.destination.cluster != it.cluster:
            return  # another cluster has to be asked
        elif elsewhere:
            await it.finish(job, entry.key, None)
        elif waiting is not None:  # although the job is over
            await it.finish(job, entry.key, None)
            if job.bundle is None and waiting.state in WAITING:
                # The poll may be older than the job's end: a running job may end normally.
                await self.held.take_away({waiting.key: waiting.token}, WAITING)
        elif it.plan is not None and it.plan.user != user_name():
            await self.look_at_anothers(job, entry)
        elif self.access.scheduler.immediate:
            await self.settle_immediate(job, entry)
        elif entry.step in LOST_STEPS:
            await self.lost.find(job, entry, found)
        else:
            await self.lost.look(job, entry, found)

    async def settle_immediate(self, job: PlannedJob, entry: JournalEntry) -> None:
        """Settle a job that ran inside a killed rowtui process; it may have continued."""
        it = self.it
        traces = it.traces_of(job.token)
        runner = traces.fence
        if traces.ended is None and runner != ABANDONED:
            if processes_of_job(token_in_queue(job.token), None):
                it.tell(job.token, entry.step, f"{job.name} is still running")
                return
            runner = runner or await self.access.site.abandon(job.token) or ABANDONED
        if traces.ended is None and runner == ABANDONED:
            it.give_up(job, "it was never started")
        else:
            it.over(job, Evidence())

    async def look_at_anothers(self, job: PlannedJob, entry: JournalEntry) -> None:
        """Settle another user's job; its absence means nothing, as the queue may hide it."""
        it = self.it
        known = it.known(entry.key, job.token) if entry.step is JobStep.ACCEPTED else None
        if known is not None or it.traces_of(job.token).ended is not None:
            await it.finish(job, entry.key, known)
        elif entry.step in LOST_STEPS:
            assert it.plan is not None
            who = visible(it.plan.user)
            it.tell(job.token, entry.step, f"the outcome of {job.name} is readable only by {who}")
