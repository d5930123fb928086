"""Held jobs: which of them must be released, and which must be cancelled.

A job is held until its id is recorded. A job is held again if a killed controller lost its release,
or could not start it. A held job of this project with another id than in the journal, or whose end
is recorded, comes from a submission without a clear outcome. Before any request about a job its
token is compared, because a scheduler reuses ids after a crash.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import asyncio
from rowtui.core.clusters.schedulers.base import (
    Job,
    JobKey,
    JobState,
    is_in_bundle,
    token_in_queue,
)
from rowtui.core.submission.bundles.pilot_model import is_in_pilot
from rowtui.core.submission.plan.model import JobStep, JournalEntry
from rowtui.core.submission.reconcile.lost import AGAIN_SECONDS
from rowtui.core.submission.reconcile.reconcile_state import LOST_STEPS, Settling
from rowtui.core.submission.sending.fence import ABANDONED
from rowtui.core.submission.sending.journal import BEGUN, RECORDED, RELEASED, SEEN
from rowtui.core.submission.sending.release_held import stays_held
from rowtui.core.submission.sending.send import find_requests, tokens_by_key

# A controller that is killed loses what it accepted in the last seconds (5 were measured).
DURABLE_SECONDS = 20.0
# Number of times that a job that could not be started is released again, after a pause that
# doubles: a node that was notified of the job's end does not accept it again for a while (Slurm's
# cred_expire: 120 s).
RELEASES = 5
RELEASE_PAUSE = 30.0


@dataclass
class HeldJobs:
    """The held jobs of one plan that must be released, by token."""

    settling: Settling
    waiting: dict[str, JobKey] = field(default_factory=dict)

    def note_active(self, token: str, entry: JournalEntry, known: Job) -> None:
        """Note which steps of the start of a queued job remain to be done or recorded."""
        it = self.settling
        if known.state is JobState.UNKNOWN:
            return
        assert it.snapshot is not None
        if known.state is JobState.HELD and it.access.scheduler.holds:
            if not is_in_pilot(token) and self.is_to_go(token, entry, known):
                self.waiting[token] = known.key
        elif entry.detail == BEGUN or (entry.detail == SEEN and not is_in_bundle(token)):
            return
        elif is_in_bundle(token) and it.traces_of(token).fence not in ("", ABANDONED):
            it.noted(token, known.key, BEGUN)
        else:
            self.note_there(token, entry, known.key)

    def note_there(self, token: str, entry: JournalEntry, key: JobKey) -> None:
        """Note a job that needs no further step to begin."""
        it = self.settling
        assert it.snapshot is not None
        if entry.detail == SEEN:
            return
        if entry.age(it.clock()) is None:  # start counting now
            it.noted(token, key, entry.detail or RECORDED)
        elif it.snapshot.at - entry.at > DURABLE_SECONDS:
            it.noted(token, key, SEEN)
        # the process was killed before this was recorded
        elif entry.detail not in (RECORDED, RELEASED):
            it.noted(token, key, RECORDED)

    def is_to_go(self, token: str, entry: JournalEntry, known: Job) -> bool:
        """Whether rowtui holds the job; a job seen released before is now held by the user."""
        if "launch fail" not in known.reason:
            return entry.detail not in (SEEN, BEGUN)
        it = self.settling
        released = [one for one in it.entries if (one.token, one.detail) == (token, RELEASED)]
        if not released:
            return True
        pause = RELEASE_PAUSE * 2 ** (len(released) - 1)
        age = released[-1].age(it.clock())
        return len(released) < RELEASES and (age is None or age >= pause)

    async def release(self) -> None:
        """Release jobs whose ids are recorded."""
        it = self.settling
        theirs = await self.verified(self.waiting)
        if theirs and it.reservations is not None:
            try:
                kept = await it.still_theirs([await it.job(token) for token in theirs])
            except KeyError:
                return
            except RowtuiError as error:
                it.tell("", JobStep.ACCEPTED, f"held jobs are not released: {error}")
                return
            tokens_kept = {job.token for job in kept}
            wanted = {key for token, key in theirs.items() if token in tokens_kept}
            if gone := set(theirs.values()) - wanted:
                await it.access.scheduler.cancel(sorted(gone))
            theirs = {token: key for token, key in theirs.items() if token in tokens_kept}
        for token, key in list(theirs.items()):
            if await self.is_a_persons(token):
                del theirs[token]
                self.note_there(token, it.latest[token], key)
        if theirs:
            tokens = tokens_by_key(theirs.items())
            for answer in await it.access.scheduler.release(list(tokens)):
                for token in tokens[answer.job] if not answer.error else ():
                    it.noted(token, answer.job, RELEASED)

    async def is_a_persons(self, token: str) -> bool:
        """Whether the job's own header asks for the hold."""
        try:
            return stays_held(await self.settling.job(token))
        except (RowtuiError, KeyError):
            return False  # the plan is gone; it was submitted to run

    async def verified(self, keys: Mapping[str, JobKey]) -> dict[str, JobKey]:
        """Return the jobs that the scheduler certainly has, held, at this moment."""
        found = await find_requests(self.settling.access.scheduler, list(keys))
        return {
            token: key
            for token, key in keys.items()
            for job in (found or {}).get(token, ())
            if job.key == key and job.state is JobState.HELD
        }

    async def cancel_strays(self) -> None:
        """Cancel held jobs of this plan that are duplicates or no longer needed."""
        it = self.settling
        at = it.snapshot.at if it.snapshot else 0.0
        strays = {}
        jobs = it.snapshot.jobs if it.snapshot else ()
        held = {job.token for job in jobs if job.state is JobState.HELD}
        ours: dict[str, list[JournalEntry]] = {}
        for token, entry in it.latest.items() if held else ():
            if token_in_queue(token) in held and not is_in_pilot(token):
                ours.setdefault(token_in_queue(token), []).append(entry)
        for job in jobs:
            entries = ours.get(job.token, ()) if job.state is JobState.HELD else ()
            # A bundle is cancelled only if none of its requests is to run in this job.
            if entries and all(entry.at <= at and _is_stray(entry, job) for entry in entries):
                strays[job.key] = job.token
        await self.take_away(strays)

    async def take_away(
        self, strays: Mapping[JobKey, str], states: Collection[JobState] = (JobState.HELD,)
    ) -> None:
        """Cancel these jobs, given with their tokens, if they still are in one of these states."""
        if not strays:
            return
        scheduler = self.settling.access.scheduler
        found = await scheduler.find(sorted(set(strays.values()))) or {}
        there = {job.key for jobs in found.values() for job in jobs if job.state in states}
        if keys := [key for key in strays if key in there]:
            await scheduler.cancel(keys)


def _is_stray(entry: JournalEntry, job: Job) -> bool:
    over = entry.step in (JobStep.ENDED, JobStep.ABANDONED, JobStep.REJECTED)
    return over or (entry.step not in LOST_STEPS and entry.key != job.key)


async def take_late_ones_away(settling: Settling, open_tokens: Collection[str]) -> None:
    """Cancel held jobs of archived plans, which appeared in the queue after the plan was over."""
    snapshot = settling.snapshot
    open_tokens = set(map(token_in_queue, open_tokens))
    late = {
        job.token: job.key
        for job in (snapshot.jobs if snapshot else ())
        if job.state is JobState.HELD and job.token and job.token not in open_tokens
    }
    if not late:
        return
    # The jobs may belong to another project.
    ours = await _of_done_plans(settling, late)
    await HeldJobs(settling).take_away({key: token for token, key in late.items() if token in ours})


async def _of_done_plans(settling: Settling, tokens: Collection[str]) -> set[str]:
    def look() -> set[str]:
        since = settling.clock() - AGAIN_SECONDS
        return {
            token_in_queue(entry.token)
            for plan_id in settling.journal.done_plan_ids(since)
            for entry in settling.journal.entries(plan_id)
            if token_in_queue(entry.token) in tokens
        }

    return await asyncio.to_thread(look)
