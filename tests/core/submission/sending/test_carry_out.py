"""Plans carried out on the real local scheduler, with real records."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
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
from rowtui.core.clusters.schedulers.bash.scheduler import BashScheduler
from rowtui.core.clusters.schedulers.local.machine import host_name
from rowtui.core.clusters.schedulers.local.scheduler import LocalScheduler
from rowtui.core.state.model import LastOutcome, Submitted
from rowtui.core.submission.plan.json import load_plan, plan_id, save_plan
from rowtui.core.submission.plan.model import JobStep, JournalEntry
from rowtui.core.submission.sending.carry_out import carry_out
from rowtui.core.submission.sending.fence import abandon, fence_path
from rowtui.core.submission.sending.job_records import job_records

from tests.core.submission.conftest import RealProject

NAMES = ["a", "b c", "d\udcff"]


class Answers:
    """The local scheduler, with other answers to some submissions."""

    def __init__(self, real: LocalScheduler, *answers: SubmitResult | None) -> None:
        self.real = real
        self.answers = list(answers)
        self.cancelled: list[JobKey] = []
        self.silent = False

    cluster = kind = "local"
    immediate = False
    shared = False
    holds = False
    forgets = False
    at_once = 1

    @property
    def place(self) -> str:
        return self.real.place

    async def submit(self, job: JobSpec) -> SubmitResult:
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, Rejected):
            return answer
        if isinstance(answer, OutcomeUnknown) and answer.reason.startswith("nothing"):
            return answer
        done = await self.real.submit(job)
        return answer or done

    async def find(self, tokens: Collection[str]) -> Mapping[str, tuple[Job, ...]] | None:
        return None if self.silent else await self.real.find(tokens)

    async def queue(self, job_ids: Sequence[int] | None = None) -> QueueSnapshot:
        if self.silent:
            return QueueSnapshot("local", 0.0, error="no answer")
        return await self.real.queue(job_ids)

    async def cancel(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        self.cancelled += jobs
        return await self.real.cancel(jobs)

    async def hold(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        return await self.real.hold(jobs)

    async def release(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        return await self.real.release(jobs)


async def test_every_directory_runs_once_and_is_complete(real: RealProject) -> None:
    plan = real.plan()

    progress = await real.submit(plan)

    assert [step.done for step in progress] == [0, 1, 1, 2, 2, 3]
    assert not any(step.error for step in progress)
    assert {record.token for record in real.state.submitted["one"].values()} == {
        job.token for job in plan.jobs
    }
    assert all(record.job_id for record in real.state.submitted["one"].values())
    assert load_plan(real.root, plan.id) == plan
    await real.wait()
    await real.settle()
    assert real.runs() == dict.fromkeys(NAMES, 1)
    assert real.state.completed["one"] == 0b111
    assert real.state.submitted == {}
    assert real.state.ends == {}
    assert real.steps(plan) == ["ended"] * 3
    assert real.journal.open_plan_ids() == []
    assert real.journal.plan_ids() == [plan.id]
    assert await real.settle() == ()


async def test_a_plan_is_not_sent_twice(real: RealProject) -> None:
    plan = real.plan()
    await real.submit(plan)

    again = await real.submit(plan)

    assert again == []
    await real.wait()
    assert real.runs() == dict.fromkeys(NAMES, 1)


async def test_directories_that_somebody_else_has_are_skipped(real: RealProject) -> None:
    first, second = real.plan(), real.plan(size=2)
    only_b = first._replace(jobs=first.jobs[1:2])
    only_b = only_b._replace(id=plan_id(only_b))
    await real.submit(only_b)

    progress = await real.submit(second)

    assert any("skipped" in step.message and "b c" in step.message for step in progress)
    assert not any(step.error for step in progress)
    assert real.steps(second) == ["abandoned", "accepted"]
    await real.wait()
    assert real.runs() == {"a": 0, "b c": 1, "d\udcff": 1}


async def test_a_refused_job_keeps_back_those_like_it_and_no_others(
    real: RealProject, scheduler: LocalScheduler
) -> None:
    real.scheduler = Answers(scheduler, Rejected("too long"), None)
    plan = real.plan()
    first, second, third = plan.jobs
    plan = plan._replace(jobs=(first, second._replace(walltime_seconds=7), third))
    plan = plan._replace(id=plan_id(plan))

    progress = await real.submit(plan)

    errors = [step.error for step in progress if step.error]
    assert "too long" in errors[0]
    assert errors[1:] == [
        f"others like them were refused: 1 job was not sent ({visible(third.name)})"
    ]
    assert real.steps(plan) == ["rejected", "accepted", "abandoned"]
    assert [record.token for record in real.state.submitted["one"].values()] == [second.token]


async def test_after_three_kinds_were_refused_for_one_reason_none_is_sent_there(
    real: RealProject, scheduler: LocalScheduler
) -> None:
    real.scheduler = Answers(scheduler, *[Rejected("no such account")] * 3, None)
    plan = real.plan()
    jobs = [plan.jobs[n % 3]._replace(token=f"t{n}", walltime_seconds=9 + n) for n in range(3)]
    jobs.append(jobs[0]._replace(token="t3", walltime_seconds=99))
    plan = plan._replace(jobs=tuple(jobs))
    plan = plan._replace(id=plan_id(plan))

    await real.submit(plan)

    assert real.steps(plan) == ["rejected", "rejected", "rejected", "abandoned"]
    assert real.state.submitted == {}


async def test_a_refusal_keeps_back_the_rest_if_it_is_like_it_and_says_what_was_not_sent(
    real: RealProject, scheduler: LocalScheduler
) -> None:
    real.scheduler = Answers(scheduler, None, Rejected("no such account"))
    plan = real.plan()

    progress = await real.submit(plan)

    assert "no such account" in progress[-2].error
    assert "1 job was not sent (one-d\\xff)" in progress[-1].error
    assert real.steps(plan) == ["accepted", "rejected", "abandoned"]
    assert [record.token for record in real.state.submitted["one"].values()] == [plan.jobs[0].token]


async def test_a_request_to_stop_ends_between_two_jobs(real: RealProject) -> None:
    plan = real.plan()
    asked = iter([False, True])

    progress = await real.submit(plan, stop=lambda: next(asked))

    assert "2 jobs were not sent" in progress[-1].error
    assert real.steps(plan) == ["accepted", "abandoned", "abandoned"]
    assert len(real.state.submitted["one"]) == 1


async def test_whoever_stops_listening_leaves_nothing_reserved(real: RealProject) -> None:
    plan = real.plan()
    steps = carry_out(plan, real.tools())
    async for progress in steps:
        if progress.done == 1:
            break
    await steps.aclose()

    assert real.steps(plan) == ["accepted", "abandoned", "abandoned"]
    assert len(real.state.submitted["one"]) == 1


async def test_a_cancelled_submission_still_writes_its_answer_down(
    real: RealProject, scheduler: LocalScheduler
) -> None:
    began, go_on = asyncio.Event(), asyncio.Event()

    class Slow(Answers):
        async def submit(self, job: JobSpec) -> SubmitResult:
            began.set()
            await go_on.wait()
            return await super().submit(job)

    real.scheduler = Slow(scheduler)
    plan = real.plan()
    task = asyncio.ensure_future(real.submit(plan))
    await began.wait()
    task.cancel()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert real.steps(plan) == ["accepted", "abandoned", "abandoned"]
    assert [record.job_id > 0 for record in real.state.submitted["one"].values()] == [True]


async def test_an_answer_that_got_lost_is_found_by_its_token(
    real: RealProject, scheduler: LocalScheduler
) -> None:
    real.scheduler = Answers(scheduler, OutcomeUnknown("the line broke"))

    progress = await real.submit(real.plan(size=3))

    assert not any(step.error for step in progress)
    assert all(record.job_id for record in real.state.submitted["one"].values())


async def test_what_stays_unknown_stays_reserved_until_it_is_settled(
    real: RealProject, scheduler: LocalScheduler
) -> None:
    answers = Answers(scheduler, OutcomeUnknown("the line broke"))
    answers.silent = True
    real.scheduler = answers
    plan = real.plan()

    progress = await real.submit(plan)

    assert "the line broke" in progress[-2].error
    assert "2 jobs were not sent" in progress[-1].error
    assert real.steps(plan) == ["unknown", "abandoned", "abandoned"]
    (said,) = await real.settle()
    assert "cannot be queried" in said.message
    assert real.state.submitted["one"] == {0: Submitted("local", 0, plan.jobs[0].token)}
    answers.silent = False
    await real.settle()
    await real.wait()
    await real.settle()
    assert real.steps(plan) == ["ended", "abandoned", "abandoned"]
    assert real.runs() == {"a": 1, "b c": 0, "d\udcff": 0}


async def test_what_never_arrived_is_fenced_off_and_free_again(
    real: RealProject, scheduler: LocalScheduler
) -> None:
    real.scheduler = Answers(scheduler, OutcomeUnknown("nothing arrived"))
    plan = real.plan()
    await real.submit(plan)

    (said,) = await real.settle()

    assert said.step is JobStep.ABANDONED
    assert os.readlink(fence_path(real.root, plan.jobs[0].token)) == "abandoned"
    assert real.state.submitted == {}
    # A request that was stuck somewhere comes true after all: the job does nothing.
    spec = JobSpec(
        plan.jobs[0].token, plan.jobs[0].name, plan.jobs[0].script, real.root, "late-%j.out"
    )
    await scheduler.submit(spec)
    await real.submit(real.plan())
    await real.wait()
    await real.settle()
    assert real.runs() == dict.fromkeys(NAMES, 1)


async def test_a_job_that_was_given_up_while_it_was_sent_is_taken_back(
    real: RealProject, scheduler: LocalScheduler
) -> None:
    answers = Answers(scheduler)
    real.scheduler = answers
    plan = real.plan()
    assert abandon(real.root, plan.jobs[0].token) == ""

    progress = await real.submit(plan)

    assert [step.error for step in progress if step.error] == [
        "one-a: given up by another process meanwhile"
    ]
    assert len(answers.cancelled) == 1
    submitted = [job.token for job in real.state.submitted["one"].values()]
    assert submitted == [job.token for job in plan.jobs[1:]]


async def test_a_job_that_fails_leaves_the_reason_with_its_directories(real: RealProject) -> None:
    command = (
        "echo x >> workspace/{directory}/runs; [ {directory} != 'b c' ] || exit 9;"
        " touch workspace/{directory}/out"
    )
    plan = real.with_command(command).plan(size=3)
    await real.submit(plan)
    await real.wait()

    (ended,) = await real.settle()

    assert ended.step is JobStep.ENDED
    assert real.state.completed["one"] == 0b001
    failed = real.state.ends["one"]
    assert (failed[1].reason, failed[1].outcome) == ("exit code 9", LastOutcome.FAILED)
    assert failed[2].reason == "not reached: exit code 9 in directory b c"
    assert failed[2].outcome is LastOutcome.NOT_REACHED
    assert failed[1].job_id == ended.job_id
    (record,) = job_records(plan, real.journal.entries(plan.id))
    assert (record.exit_code, record.end_reason) == (9, "exit code 9 in directory b c")
    assert record.job_id == ended.job_id
    assert str(record.job_id) in record.log_path


async def test_a_job_that_makes_no_products_is_failed_too(real: RealProject) -> None:
    plan = real.with_command("echo {directory}").plan(size=3)
    await real.submit(plan)
    await real.wait()
    await real.settle()

    assert "products are missing" in real.state.ends["one"][0].reason


async def test_a_cancelled_job_says_so(real: RealProject) -> None:
    plan = real.with_command("sleep 1000 # {directory}").plan(size=3)
    await real.submit(plan)
    (record,) = {job.job_id for job in real.state.submitted["one"].values()}
    await real.scheduler.cancel([JobKey(record)])
    await real.wait()
    await real.settle()

    assert {failure.reason.split(": ")[-1] for failure in real.state.ends["one"].values()} == {
        "cancelled"
    }


async def test_a_job_that_vanished_without_a_word_is_failed(
    real: RealProject, scheduler: LocalScheduler
) -> None:
    plan = real.plan(size=3)
    await real.submit(plan)
    await real.wait()
    (real.root / ".row/rowtui/ended" / plan.jobs[0].token).unlink()

    (submitted,) = {job.job_id for job in real.state.submitted["one"].values()}

    class Forgetful(Answers):
        async def find(self, tokens: Collection[str]) -> Mapping[str, tuple[Job, ...]]:
            return {}

        async def queue(self, job_ids: Sequence[int] | None = None) -> QueueSnapshot:
            # Its id now belongs to a job of somebody else's.
            other = Job(submitted, JobState.RUNNING, token="another")
            return QueueSnapshot("local", time.time(), (other,))

    for path in (real.root / "workspace").glob("*/out"):
        path.unlink()
    for path in (real.root / ".row/completed").iterdir():
        path.unlink()
    real.scheduler = Forgetful(scheduler)
    (ended,) = await real.settle()

    assert ended.message == "one-a+2: ended without a word"
    assert set(real.state.ends["one"]) == {0, 1, 2}


async def test_a_queue_that_cannot_be_asked_is_not_an_empty_queue(
    real: RealProject, scheduler: LocalScheduler
) -> None:
    await real.submit(real.plan())
    await real.wait()
    answers = Answers(scheduler)
    answers.silent = True
    real.scheduler = answers

    assert await real.settle() == ()
    assert len(real.state.submitted["one"]) == 3


async def test_ids_that_were_written_down_but_not_recorded_are_recorded(real: RealProject) -> None:
    plan = real.with_command("sleep 1000 # {directory}").plan(size=3)
    reservations = real.tools().reservations
    reservations.reserve(plan.jobs)
    save_plan(real.root, plan)
    spec = JobSpec(plan.jobs[0].token, "x", plan.jobs[0].script, real.root, "x-%j.out")
    accepted = await real.scheduler.submit(spec)
    assert isinstance(accepted, Accepted)
    real.journal.append(
        [JournalEntry(plan.jobs[0].token, plan.id, JobStep.ACCEPTED, 1.0, accepted.job_id)]
    )

    await real.settle()

    assert {job.job_id for job in real.state.submitted["one"].values()} == {accepted.job_id}
    assert await real.settle() == ()
    await real.scheduler.cancel([JobKey(accepted.job_id)])
    await real.wait()


async def test_a_plan_that_another_process_carries_out_is_left_alone(real: RealProject) -> None:
    plan = real.plan()
    with real.journal.hold(plan.id) as held:
        assert held
        with pytest.raises(RowtuiError, match="another rowtui"):
            await real.submit(plan)


async def test_nothing_is_sent_that_cannot_be_written_down(real: RealProject) -> None:
    (real.root / ".row/rowtui/journal").write_text("in the way")

    with pytest.raises(RowtuiError):
        await real.submit(real.plan())

    assert (await real.scheduler.queue()).jobs == ()


async def test_jobs_in_the_queue_of_another_machine_are_not_taken_for_ended(
    real: RealProject, tmp_path: Path
) -> None:
    real.with_command("while [ ! -e go ]; do sleep 0.1; done; touch workspace/{directory}/out")
    plan = real.plan(size=3)
    await real.submit(plan)
    here = real.scheduler
    # Given that the project is seen from another machine, with a queue of its own.
    path = real.journal.folder / f"{plan.id}.jsonl"
    path.write_text(path.read_text().replace(f'"detail":"{host_name()}:', '"detail":"elsewhere:'))
    assert "elsewhere:" in path.read_text()
    real.scheduler = LocalScheduler(folder=tmp_path / "other queue")

    # Then nothing is known of its jobs until they write down how they ended.
    assert await real.settle() == ()
    assert len(real.state.submitted["one"]) == 3
    (real.root / "go").touch()
    real.scheduler = here
    await real.wait()
    real.scheduler = LocalScheduler(folder=tmp_path / "other queue")
    (ended,) = await real.settle()
    assert ended.step is JobStep.ENDED
    assert real.state.completed["one"] == 0b111
    assert real.state.submitted == {}


# -- the scheduler that runs jobs at once ---------------------------------------------------------


@pytest.fixture
def now(tmp_path: Path) -> RealProject:
    return RealProject(tmp_path / "project", ["a", "b c"], BashScheduler())


async def test_a_job_that_runs_now_has_ended_when_the_plan_is_through(now: RealProject) -> None:
    plan = now.plan()

    progress = await now.submit(plan)

    assert not any(step.error for step in progress)
    assert now.runs() == {"a": 1, "b c": 1}
    assert now.steps(plan) == ["ended", "ended"]
    assert now.state.submitted == {}


async def test_a_job_that_fails_now_stops_the_rest(now: RealProject) -> None:
    plan = now.with_command("exit 7 # {directory}").plan()

    progress = await now.submit(plan)

    assert progress[-2].error.endswith(": exit code 7 in directory a")
    assert "1 job was not sent" in progress[-1].error
    assert now.steps(plan) == ["ended", "abandoned"]
    assert now.state.submitted == {}
    assert now.state.ends["one"][0].reason == "exit code 7"


async def test_jobs_in_another_queue_of_this_machine_are_not_taken_for_ended(
    real: RealProject, tmp_path: Path
) -> None:
    real.with_command("while [ ! -e go ]; do sleep 0.1; done; touch workspace/{directory}/out")
    await real.submit(real.plan(size=3))
    here = real.scheduler
    # When the queue is looked for in another folder: ROWTUI_LOCAL_DIR is not set there.
    real.scheduler = LocalScheduler(folder=tmp_path / "other queue")
    assert await real.settle() == ()
    assert len(real.state.submitted["one"]) == 3

    (real.root / "go").touch()
    real.scheduler = here
    await real.wait()
    (ended,) = await real.settle()
    assert (ended.step, ended.message) == (JobStep.ENDED, "")


async def test_jobs_that_only_another_user_can_see_are_not_taken_for_ended(
    real: RealProject, tmp_path: Path
) -> None:
    real.with_command("while [ ! -e go ]; do sleep 0.1; done; touch workspace/{directory}/out")
    made = real.plan()
    plan = made._replace(user="somebody-else")
    plan = plan._replace(id=plan_id(plan))
    await real.submit(plan)
    here, there = real.scheduler, LocalScheduler(folder=tmp_path / "our own queue")
    # Given a queue that can be asked from anywhere, as Slurm's, but shows us no jobs of others,
    # and that one job was cut off before its id was known.
    path = real.journal.folder / f"{plan.id}.jsonl"
    lines = path.read_text().replace(f'"detail":"{here.place}"', '"detail":""').splitlines()
    last = f'"token":"{plan.jobs[2].token}"'
    kept = [it for it in lines if last not in it or '"step":"accepted"' not in it]
    path.write_text("\n".join(kept) + "\n")
    real.scheduler = there

    # When we look, who see none of them in our own queue.
    (said,) = await real.settle()

    # Then they stay as they are, and are not fenced off.
    assert said.message == "the outcome of one-d\\xff is readable only by somebody-else"
    assert len(real.state.submitted["one"]) == 3
    (real.root / "go").touch()
    real.scheduler = here
    await real.wait()
    # What they write down at their end is there for everybody.
    real.scheduler = there
    assert [it.step for it in await real.settle()] == [JobStep.ENDED] * 3
    assert real.state.completed["one"] == 0b111
    assert real.state.submitted == {}
