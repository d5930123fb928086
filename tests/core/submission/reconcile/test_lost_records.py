"""Records, plans and journals that are lost while jobs are under way, and clocks that jump."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.model import Cluster, Identify, Partition
from rowtui.core.clusters.schedulers.base import JobState, QueueSnapshot
from rowtui.core.submission.plan.json import plans_folder
from rowtui.core.submission.plan.model import PlannedJob
from rowtui.core.submission.reconcile.open_jobs import forget_open
from rowtui.core.submission.reconcile.reconcile import settle
from rowtui.core.submission.sending.carry_out import carry_out
from rowtui.core.submission.sending.fence import ABANDONED, read_fence
from rowtui.core.submission.sending.journal import Journal
from rowtui.core.submission.sending.reservations import StoredReservations
from rowtui.core.submission.sending.send import SilentClusterError, refuse_unknown_jobs

from tests.core.submission.conftest import RealProject
from tests.core.submission.test_sent_again import Queue


@pytest.fixture
def queue() -> Queue:
    return Queue()


@pytest.fixture
def one(tmp_path: Path, queue: Queue) -> RealProject:
    cluster = Cluster("alpha", Identify(always=True), "slurm", (Partition("cpu"),))
    return RealProject(tmp_path / "project", ["a"], queue, cluster)


def lose_records(real: RealProject) -> None:
    """All generations and caches; journals and plans stay."""
    for path in (real.root / ".row/rowtui").iterdir():
        if path.is_file():
            path.unlink()
    for path in (real.root / ".row").glob("*.postcard"):
        path.unlink()


async def test_lost_records_do_not_free_what_an_open_journal_has(
    one: RealProject, queue: Queue
) -> None:
    plan = one.plan("n1")
    await one.submit(plan)
    lose_records(one)
    one.synchronise()
    second = one.plan("n2")
    assert len(second.jobs) == 1  # these records know of no job

    steps = await one.submit(second)

    assert [step.message for step in steps if "skipped" in step.message] == [
        f"skipped {second.jobs[0].name}: a was submitted meanwhile (alpha/1)"
    ]
    assert len(queue.jobs) == 1
    assert one.state.submitted["one"][0].token == "n1-0"  # and the records have it again


async def test_records_that_are_lost_while_jobs_are_sent_stop_the_later_submitter(
    one: RealProject, queue: Queue
) -> None:
    first, second = one.plan("n1"), one.plan("n2")
    other = StoredReservations(type(one.store)(one.root))

    class Losing(StoredReservations):
        """Loses the records after the first reservation, and lets the other reserve then."""

        def reserve(self, jobs: Sequence[PlannedJob]) -> dict[str, str]:
            refused = super().reserve(jobs)
            if not self.calls:
                lose_records(one)
                one.synchronise()
                assert other.reserve(second.jobs) == {}
            self.calls += 1
            return refused

        calls = 0

    tools = replace(one.tools(), reservations=Losing(one.store))
    steps = [step async for step in carry_out(first, tools)]

    assert queue.jobs == {}
    assert any("submitted meanwhile" in step.message for step in steps)
    assert one.steps(first) == ["abandoned"]


@pytest.mark.parametrize("lost", ["plan", "journal"])
async def test_a_job_whose_plan_or_journal_is_lost_frees_its_directories_at_its_end(
    one: RealProject, queue: Queue, lost: str
) -> None:
    plan = one.plan("n1")
    await one.submit(plan)
    gone = plans_folder(one.root) if lost == "plan" else Journal(one.root).folder
    for path in gone.iterdir():
        path.unlink()

    await one.settle()
    assert one.state.submitted_set("one") == 0b1  # it runs

    queue.jobs[1] = ("n1-0", JobState.COMPLETED)
    (ended,) = [it for it in await one.settle() if it.release is not None]
    assert f"whose {lost} is lost" in ended.message
    assert one.state.submitted == {}
    assert read_fence(one.root, "n1-0") == ABANDONED
    assert Journal(one.root).open_plan_ids() == []


async def test_after_a_loss_nothing_is_sent_while_unknown_jobs_are_queued(
    one: RealProject, queue: Queue
) -> None:
    queue.folder = str(one.root)
    queue.jobs = {1: ("gone-0", JobState.RUNNING), 2: ("", JobState.PENDING)}
    with pytest.raises(RowtuiError, match="2 jobs of this project are in the queue of alpha"):
        await refuse_unknown_jobs(one.access, one.journal, set())
    with pytest.raises(RowtuiError, match=r"1 job of this project is in .*: 1"):
        await refuse_unknown_jobs(one.access, one.journal, {2})

    queue.folder = "/elsewhere"
    await refuse_unknown_jobs(one.access, one.journal, set())

    queue.folder = str(one.root)
    queue.jobs = {1: ("gone-0", JobState.HELD)}
    await refuse_unknown_jobs(one.access, one.journal, set())
    assert queue.jobs == {1: ("gone-0", JobState.CANCELLED)}


@pytest.mark.parametrize("folder", ["", "(null)", "N/A"])
async def test_after_a_loss_an_answer_without_folders_is_no_answer(
    one: RealProject, queue: Queue, folder: str
) -> None:
    queue.folder = folder
    queue.jobs = {1: ("gone-0", JobState.RUNNING)}
    with pytest.raises(SilentClusterError, match="does not name the folders of all jobs") as error:
        await refuse_unknown_jobs(one.access, one.journal, set(), lost=True)
    assert "rowtui clean --submitted" in (error.value.hint or "")
    await refuse_unknown_jobs(one.access, one.journal, set())  # no record was lost
    queue.jobs = {}
    await refuse_unknown_jobs(one.access, one.journal, set(), lost=True)


async def test_jobs_that_a_journal_has_are_no_unknown_jobs(one: RealProject, queue: Queue) -> None:
    queue.folder = str(one.root)
    await one.submit(one.plan("n1"))
    await refuse_unknown_jobs(one.access, one.journal, set())
    assert forget_open(one.root, lambda _: None) == 0
    assert one.journal.open_plan_ids() == []
    await refuse_unknown_jobs(one.access, one.journal, set())


async def test_a_clean_frees_only_what_has_not_begun(one: RealProject, queue: Queue) -> None:
    plan = one.plan("n1")
    await one.submit(plan)
    fence = one.root / ".row/rowtui/fence"
    fence.mkdir(exist_ok=True)
    (fence / plan.jobs[0].token).symlink_to("slurm:1")
    assert forget_open(one.root, lambda _: None) == 1
    # the journal keeps the directories of a job that began: no plan gets them
    assert one.journal.open_plan_ids() == [plan.id]
    assert one.steps(plan) == ["accepted"]
    (fence / plan.jobs[0].token).unlink()
    assert forget_open(one.root, lambda _: None) == 0
    assert one.journal.open_plan_ids() == []


async def settled_by_a_look(real: RealProject, snapshot: QueueSnapshot | None = None) -> list[str]:
    """What a command says that only shows."""
    reservations = StoredReservations(real.store)
    found = await settle(
        real.journal,
        real.access,
        real.root,
        snapshot=snapshot,
        reservations=reservations,
        may_send=False,
    )
    found = real.enter(found)
    return [it.message for it in found if it.message]


async def test_a_look_releases_jobs_and_sends_none(one: RealProject, queue: Queue) -> None:
    queue.reachable = False
    plan = one.plan("n1")
    await one.submit(plan, patience=0.0)
    queue.reachable = True

    (said,) = await settled_by_a_look(one)

    assert said.endswith("it never reached the scheduler; 'rowtui submit' sends it again")
    assert queue.jobs == {}
    assert one.state.submitted_set("one") == 0b1
    await one.settle()  # as `submit` does
    assert queue.jobs == {1: ("n1-0", JobState.HELD)}
    await settled_by_a_look(one)
    assert queue.jobs == {1: ("n1-0", JobState.RUNNING)}


async def test_a_look_sends_nothing_when_the_queue_contradicts_itself(
    one: RealProject, queue: Queue
) -> None:
    plan = one.plan("n1")
    await one.submit(plan)
    running, queue.jobs = queue.jobs, {}  # it has the job, and shows it no more

    await settled_by_a_look(one, QueueSnapshot("alpha", time.time() + 1))
    queue.jobs = running

    assert len(queue.jobs) == 1
    assert one.state.submitted_set("one") == 0b1
    assert await settled_by_a_look(one) == []


MONTH = 30 * 86400.0


def ahead() -> float:
    return time.time() + MONTH


async def test_a_job_that_was_sent_with_the_clock_ahead_is_looked_for(
    one: RealProject, queue: Queue
) -> None:
    plan = one.plan("n1")
    await one.submit(plan, clock=ahead)
    # when the controller forgot it, and gave its id to another
    queue.jobs = {1: ("other", JobState.RUNNING)}

    await one.settle()

    assert queue.jobs == {1: ("other", JobState.RUNNING), 2: ("n1-0", JobState.HELD)}


async def test_a_job_that_was_sent_with_the_clock_ahead_is_known_to_be_there(
    one: RealProject, queue: Queue
) -> None:
    plan = one.plan("n1")
    await one.submit(plan, clock=ahead)

    await one.settle()

    entry = one.journal.latest(plan.id)["n1-0"]
    assert abs(entry.at - time.time()) < 60
    queue.jobs = {}  # cancelled, and forgotten
    ended = await settle(
        one.journal,
        one.access,
        one.root,
        clock=lambda: time.time() + 200,
        snapshot=QueueSnapshot("alpha", time.time() + 200),
        reservations=StoredReservations(one.store),
    )
    assert queue.jobs == {}
    assert any(it.is_over for it in ended)
