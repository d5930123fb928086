"""What settles a lost job must not send it where its directories are somebody else's by now."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import pytest
from rowtui.core.clusters.model import Cluster, Identify, Partition
from rowtui.core.clusters.schedulers.base import (
    Accepted,
    Job,
    JobAnswer,
    JobKey,
    JobSpec,
    JobState,
    OutcomeUnknown,
    QueueSnapshot,
    SubmitResult,
)
from rowtui.core.state.forget import forget
from rowtui.core.submission.journal import Journal
from rowtui.core.submission.model import JournalEntry, Step

from tests.core.submission.conftest import RealProject


class Queue:
    """A scheduler that holds and forgets, and that can be out of reach."""

    cluster, place, at_once = "alpha", "", 1
    immediate, shared, holds, forgets = False, True, True, True

    def __init__(self) -> None:
        self.reachable = True
        self.jobs: dict[int, tuple[str, JobState]] = {}

    def _shown(self) -> tuple[Job, ...]:
        return tuple(Job(n, state, token=token) for n, (token, state) in self.jobs.items())

    async def submit(self, job: JobSpec) -> SubmitResult:
        if not self.reachable:
            return OutcomeUnknown("the line broke")
        number = len(self.jobs) + 1
        self.jobs[number] = (job.token, JobState.HELD)
        return Accepted(number)

    async def find(self, tokens: Collection[str]) -> Mapping[str, tuple[Job, ...]] | None:
        if not self.reachable:
            return None
        found: dict[str, tuple[Job, ...]] = {}
        for job in self._shown():
            if job.token in tokens:
                found[job.token] = (*found.get(job.token, ()), job)
        return found

    async def queue(self, job_ids: Sequence[int] | None = None) -> QueueSnapshot:
        import time

        return QueueSnapshot("alpha", time.time(), self._shown())

    async def cancel(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        for key in jobs:
            self.jobs[key.id] = (self.jobs[key.id][0], JobState.CANCELLED)
        return tuple(JobAnswer(key) for key in jobs)

    hold = cancel

    async def release(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        for key in jobs:
            self.jobs[key.id] = (self.jobs[key.id][0], JobState.RUNNING)
        return tuple(JobAnswer(key) for key in jobs)


@pytest.fixture
def queue() -> Queue:
    return Queue()


@pytest.fixture
def one(tmp_path: Path, queue: Queue) -> RealProject:
    cluster = Cluster("alpha", Identify(always=True), "slurm", (Partition("cpu"),))
    return RealProject(tmp_path / "project", ["a"], queue, cluster)


async def test_a_lost_job_whose_directories_were_submitted_anew_is_not_sent_again(
    one: RealProject, queue: Queue
) -> None:
    # given a job that nobody knows whether it arrived, and somebody who cleans and submits anew
    queue.reachable = False
    lost = one.plan("n1")
    await one.submit(lost, patience=0.0)
    assert one.steps(lost) == ["unknown"]
    queue.reachable = True
    forget(one.store, directories=False, submitted=True, completed=False)
    one.synchronise()
    anew = one.plan("n2")
    await one.submit(anew)
    # when the lost one is settled, again and again
    for _ in range(3):
        await one.settle()
    # then only the new one ever gets to run
    may_run = [token for token, state in queue.jobs.values() if state is not JobState.CANCELLED]
    assert may_run == [anew.jobs[0].token]


class SlowJournal(Journal):
    """Waits before it writes that something is being sent."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.reached, self.go = threading.Event(), threading.Event()

    def append(self, entries: Iterable[JournalEntry]) -> None:
        entries = list(entries)
        if entries and entries[0].step is Step.SENDING:
            self.reached.set()
            assert self.go.wait(20)
        super().append(entries)


async def test_what_is_sent_after_somebody_stopped_twice_keeps_its_directories(
    one: RealProject, queue: Queue
) -> None:
    # given a submission that is just being written down
    journal = one.journal = SlowJournal(one.root)
    plan = one.plan("n1")
    task = asyncio.create_task(one.submit(plan))
    await asyncio.to_thread(journal.reached.wait, 20)
    # when it is stopped twice (Ctrl-C twice; a view that is left, and then the dashboard)
    task.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    for _ in range(50):
        await asyncio.sleep(0.01)
    journal.go.set()
    await asyncio.gather(task, return_exceptions=True)
    for _ in range(50):
        await asyncio.sleep(0.01)
    for _ in range(3):
        await one.settle()
    # then either nothing was sent, or the directory is still submitted
    if any(state is not JobState.CANCELLED for _, state in queue.jobs.values()):
        steps = [entry.step.value for entry in one.journal.entries(plan.id)]
        assert one.state.submitted.get("one"), steps
