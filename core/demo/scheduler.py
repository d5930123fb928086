"""A `Scheduler` for a simulated cluster."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence

from rowtui.core.clusters.schedulers.base import (
    Accepted,
    DryAnswer,
    Job,
    JobAnswer,
    JobKey,
    JobSpec,
    JobState,
    QueueSnapshot,
    SubmitResult,
    Unreachable,
    Verdict,
)
from rowtui.core.demo.simulation import SimulatedCluster

NO_LOGIN = "the login has expired: log in again"


async def away(there: SimulatedCluster) -> str:
    """Wait as long as a cluster takes to answer; return why it does not answer, "" if it does."""
    await asyncio.sleep(there.slow)
    return there.down or ("" if there.logged_in else NO_LOGIN)


class SimulatedScheduler:
    """The scheduler of one simulated cluster. `now`: the time of the simulation."""

    kind = "slurm"
    immediate = False
    place = ""
    shared = True
    holds = True
    forgets = False
    at_once = 4

    def __init__(
        self,
        there: SimulatedCluster,
        now: Callable[[], float],
        clock: Callable[[], float] = time.time,
        accept: Callable[[SimulatedCluster, JobSpec, float], int] = SimulatedCluster.submit,
    ) -> None:
        self._there = there
        self._now = now
        self._clock = clock
        self._accept = accept

    @property
    def cluster(self) -> str:
        """Return the cluster's name."""
        return self._there.machine.name

    async def _away(self) -> str:
        return await away(self._there)

    async def submit(self, job: JobSpec) -> SubmitResult:
        """See `Scheduler`."""
        if why := await self._away():
            return Unreachable(why)
        return Accepted(self._accept(self._there, job, self._now()))

    async def test_only(self, job: JobSpec) -> DryAnswer:
        """See `Scheduler`."""
        if why := await self._away():
            return DryAnswer(Verdict.NOT_TOLD, why)
        return DryAnswer(Verdict.TAKES, start=self._clock() + 900.0)

    async def find(self, tokens: Collection[str]) -> Mapping[str, tuple[Job, ...]] | None:
        """See `Scheduler`."""
        if await self._away():
            return None
        found = {token: self._there.with_token(token) for token in tokens}
        return {token: tuple(map(self._seen, jobs)) for token, jobs in found.items() if jobs}

    async def queue(self, job_ids: Sequence[int] | None = None) -> QueueSnapshot:
        """See `Scheduler`."""
        why = await self._away()
        if why:
            return QueueSnapshot(self.cluster, self._clock(), error=why)
        wanted = None if job_ids is None else set(job_ids)
        jobs = [it for it in self._there.jobs if wanted is None or it.id in wanted]
        return QueueSnapshot(self.cluster, self._clock(), tuple(map(self._seen, jobs)))

    def _seen(self, job: object) -> Job:
        from rowtui.core.demo.simulation import SimulatedJob

        assert isinstance(job, SimulatedJob)
        return self._there.seen(job, self._now(), self._clock())

    async def folders(self, job_ids: Sequence[int]) -> Mapping[int, str] | None:
        """See `Scheduler`. Only the demo submits jobs here."""
        return None if await self._away() else {}

    async def cancel(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        """See `Scheduler`."""
        if why := await self._away():
            return tuple(JobAnswer(key, why) for key in jobs)
        for job in self._there.with_keys(jobs):
            if job.state.active:
                self._there.end(job, JobState.CANCELLED, self._now())
        return tuple(JobAnswer(key) for key in jobs)

    async def hold(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        """See `Scheduler`."""
        return await self._held(jobs, held=True)

    async def release(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        """See `Scheduler`."""
        return await self._held(jobs, held=False)

    async def _held(self, jobs: Sequence[JobKey], *, held: bool) -> tuple[JobAnswer, ...]:
        if why := await self._away():
            return tuple(JobAnswer(key, why) for key in jobs)
        for job in self._there.with_keys(jobs):
            if job.state is JobState.PENDING:
                job.held = held
        return tuple(JobAnswer(key) for key in jobs)
