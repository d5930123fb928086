"""Release of accepted jobs: their ids are recorded, the queue is checked, then they are released.

Jobs are sent held. This module takes jobs whose ids are in the journal. While the next jobs are
sent, it enters the ids into the project's records and releases the jobs that the scheduler
certainly has and that no process gave up since. Jobs that cannot be verified now stay held until
`settle` handles them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from rowtui.core.submission.bundles.pilot_model import is_in_pilot
from rowtui.core.submission.plan.model import PlannedJob, Step
from rowtui.core.submission.sending.fence import ABANDONED
from rowtui.core.submission.sending.in_queue import find_requests
from rowtui.core.submission.sending.journal import RECORDED, RELEASED
from rowtui.core.submission.sending.reservations import Release
from rowtui.core.submission.sending.run_records import Progress, RunRecords
from rowtui.core.submission.sending.send import sent_with
from rowtui.core.submission.sending.site import NO_TRACES, Access
from rowtui.core.submission.sending.user_hold import staying_held


@dataclass
class LettingGo:
    """The accepted jobs of a submission: the waiting ones, and the ones that are being released."""

    it: RunRecords
    waiting: dict[str, PlannedJob] = field(default_factory=dict)  # not yet recorded
    # The previous batch is recorded and released while the next one is sent.
    under_way: asyncio.Task[list[Progress]] | None = None

    async def let_go(self) -> list[Progress]:
        """Record the ids of all accepted jobs, and release the jobs."""
        before = await self.let_go_meanwhile()
        return before + await self.let_go_meanwhile()

    async def let_go_meanwhile(self) -> list[Progress]:
        """Start to record and release accepted jobs; return the previous batch's progress.

        Jobs that cannot be verified now stay held until `settle` handles them.
        """
        before, jobs = self.under_way, list(self.waiting.values())
        self.under_way, self.waiting = None, {}
        progress = await before if before is not None else []
        if jobs:
            self.under_way = asyncio.ensure_future(self.record_and_start(jobs))
        return progress

    async def record_and_start(self, jobs: Sequence[PlannedJob]) -> list[Progress]:
        ids = {job.token: self.it.keys[job.token].id for job in jobs}
        async with self.it.records:
            await asyncio.to_thread(self.it.tools.reservations.record, ids)
        await self.it.note(Step.ACCEPTED, jobs, detail=RECORDED)
        progress: list[Progress] = []
        for cluster in dict.fromkeys(job.destination.cluster for job in jobs):
            here = [job for job in jobs if job.destination.cluster == cluster]
            progress += await self.start(here, self.it.tools.access[cluster])
        return progress

    async def start(self, jobs: Sequence[PlannedJob], access: Access) -> list[Progress]:
        """Release the jobs of one cluster that it certainly has, and that no process gave up."""
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
            if known.key == self.it.keys.get(job.token) and known.state.active
        }
        held_by_others = staying_held(jobs)
        as_they_are = {
            key for token, key in theirs.items() if is_in_pilot(token) or token in held_by_others
        }
        held = [key for key in dict.fromkeys(theirs.values()) if key not in as_they_are]
        answers = await access.scheduler.release(held) if held else ()
        let_go = as_they_are | {answer.job for answer in answers if not answer.error}
        free = [job for job in jobs if theirs.get(job.token) in let_go]
        await self.it.note(Step.ACCEPTED, free, detail=RELEASED)
        return progress

    async def taken_back(
        self, job: PlannedJob, access: Access, others: Collection[str]
    ) -> Progress:
        """Remove a job from the queue that another process gave up; the job would do nothing.

        `others`: the bundles that still have other jobs; in them, the job is only skipped.
        """
        key = self.it.keys.pop(job.token)
        alone = job.bundle is None or job.bundle.token not in others
        if alone and not is_in_pilot(job.token):
            await access.scheduler.cancel([key])
        detail = "given up by another process meanwhile"
        await self.it.release([Release(job.token, job.action, {})])
        await self.it.note(Step.ABANDONED, [job], detail=detail)
        return self.it.say(job, "", f"{job.name}: {detail}", 0, Step.ABANDONED)
