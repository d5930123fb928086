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
    Rejected,
    SubmitResult,
)
from rowtui.core.state.records import forget
from rowtui.core.submission.plan.model import JobStep, JournalEntry, Plan
from rowtui.core.submission.reconcile import lost as losing
from rowtui.core.submission.reconcile.open_jobs import forget_open
from rowtui.core.submission.sending.fence import ABANDONED, read_fence
from rowtui.core.submission.sending.journal import Journal

from tests.core.submission.bundled import in_lanes
from tests.core.submission.conftest import RealProject


class Queue:
    """A scheduler that holds and forgets, and that can be out of reach."""

    cluster, kind, place, at_once = "alpha", "slurm", "", 1
    immediate, shared, holds, forgets = False, True, True, True

    def __init__(self) -> None:
        self.reachable, self.refuses = True, False
        self.folder = "/"  # that all jobs were submitted from
        self.jobs: dict[int, tuple[str, JobState]] = {}

    async def folders(self, job_ids: Sequence[int]) -> Mapping[int, str] | None:
        return dict.fromkeys(job_ids, self.folder)

    def _shown(self) -> tuple[Job, ...]:
        return tuple(Job(n, state, token=token) for n, (token, state) in self.jobs.items())

    async def submit(self, job: JobSpec) -> SubmitResult:
        if not self.reachable:
            return OutcomeUnknown("the line broke")
        if self.refuses:
            return Rejected("too many jobs")
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
    assert forget_open(one.root, lambda _: None) == 0
    one.synchronise()
    anew = one.plan("n2")
    await one.submit(anew)
    # when the lost one is settled, again and again
    for _ in range(3):
        await one.settle()
    # then only the new one ever gets to run
    may_run = [token for token, state in queue.jobs.values() if state is not JobState.CANCELLED]
    assert may_run == [anew.jobs[0].token]


def began_in(real: RealProject, token: str, number: int) -> None:
    """The script of this scheduler job made the fence."""
    (real.root / ".row/rowtui/fence").mkdir(exist_ok=True)
    (real.root / ".row/rowtui/fence" / token).symlink_to(f"slurm:{number}")


class TestForgottenBundle:
    """A bundle of two that the controller forgot while its node goes on.

    What had not begun is sent again. Nobody runs anything here: what jobs leave is made up.
    """

    @pytest.fixture
    def two(self, tmp_path: Path, queue: Queue) -> RealProject:
        cluster = Cluster("alpha", Identify(always=True), "slurm", (Partition("cpu"),))
        return RealProject(tmp_path / "project", ["a", "b"], queue, cluster)

    @pytest.fixture
    async def plan(self, two: RealProject, queue: Queue) -> Plan:
        """Sent as job 1, in which the first began; forgotten; the second sent again as job 2."""
        plan = in_lanes(two.plan("n"), 1)
        await two.submit(plan)
        began_in(two, plan.jobs[0].token, 1)
        token, _ = queue.jobs.pop(1)
        queue.jobs[1] = ("somebody's", JobState.RUNNING)
        await two.settle()
        assert queue.jobs[2] == (token, JobState.HELD)
        await two.settle()
        return plan

    def where(self, real: RealProject, plan: Plan) -> list[tuple[str, int]]:
        latest = real.journal.latest(plan.id)
        return [(latest[job.token].step.value, latest[job.token].job_id) for job in plan.jobs]

    async def test_what_began_is_not_taken_for_part_of_what_was_sent_again(
        self, two: RealProject, queue: Queue, plan: Plan
    ) -> None:
        assert queue.jobs[2][1] is JobState.RUNNING
        assert self.where(two, plan) == [("accepted", 1), ("accepted", 2)]

    async def test_what_the_forgotten_job_began_all_the_same_is_not_free(
        self, two: RealProject, queue: Queue, plan: Plan, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # given a second one that the forgotten job came to first
        began_in(two, plan.jobs[1].token, 1)
        # when the job that was sent again ends, for which nothing was left
        queue.jobs[2] = (queue.jobs[2][0], JobState.COMPLETED)
        await two.settle()
        # then it is not taken for its end
        assert self.where(two, plan) == [("accepted", 1), ("accepted", 1)]
        assert len(two.state.submitted["one"]) == 2
        # and after the time in which a node ends what nobody knows, it is
        monkeypatch.setattr(losing, "ORPHAN_SECONDS", 0.0)
        await two.settle()
        assert [step for step, _ in self.where(two, plan)] == ["ended", "ended"]
        assert two.state.submitted == {}

    async def test_what_is_refused_the_second_time_is_free_once_nobody_can_begin_it(
        self, two: RealProject, queue: Queue
    ) -> None:
        plan = in_lanes(two.plan("n"), 1)
        await two.submit(plan)
        del queue.jobs[1]
        queue.refuses = True
        began_in(two, plan.jobs[0].token, 1)
        await two.settle()
        assert self.where(two, plan) == [("accepted", 1), ("rejected", 0)]
        assert read_fence(two.root, plan.jobs[1].token) == ABANDONED

    async def test_what_had_not_begun_when_its_bundle_is_long_gone_is_free(
        self, two: RealProject, queue: Queue, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plan = in_lanes(two.plan("n"), 1)
        await two.submit(plan)
        began_in(two, plan.jobs[0].token, 1)
        del queue.jobs[1]
        monkeypatch.setattr(losing, "FORGOTTEN_SECONDS", -1.0)
        monkeypatch.setattr(losing, "ORPHAN_SECONDS", 0.0)
        await two.settle()
        await two.settle()
        assert [step for step, _ in self.where(two, plan)] == ["ended", "abandoned"]
        assert read_fence(two.root, plan.jobs[1].token) == ABANDONED
        assert list(two.state.ends["one"]) == [two.state.directories.position("a")]
        assert two.state.submitted == {}

    async def test_one_that_turns_up_again_has_what_it_began(
        self, two: RealProject, queue: Queue, plan: Plan
    ) -> None:
        began_in(two, plan.jobs[1].token, 1)
        token = queue.jobs[2][0]
        queue.jobs |= {1: (token, JobState.RUNNING), 2: (token, JobState.COMPLETED)}
        await two.settle()
        assert self.where(two, plan) == [("accepted", 1), ("accepted", 1)]


class SlowJournal(Journal):
    """Waits before it writes that something is being sent."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.reached, self.go = threading.Event(), threading.Event()

    def append(self, entries: Iterable[JournalEntry]) -> None:
        entries = list(entries)
        if entries and entries[0].step is JobStep.SENDING:
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
