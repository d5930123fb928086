"""Requests of a bundle are sent as one scheduler job, and each comes to its own end."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pytest
from rowtui.core.clusters.model import Cluster, Identify, Partition
from rowtui.core.clusters.schedulers.base import (
    Job,
    JobAnswer,
    JobKey,
    JobSpec,
    JobState,
    OutcomeUnknown,
    SubmitResult,
    token_in_queue,
)
from rowtui.core.clusters.schedulers.slurm.scheduler import SlurmScheduler
from rowtui.core.state.model import LastOutcome
from rowtui.core.submission.bundles.bundles import START_SECONDS, STEP_SECONDS, with_bundles
from rowtui.core.submission.plan.arrays import with_arrays
from rowtui.core.submission.plan.dependencies import cannot_share, shared_options
from rowtui.core.submission.plan.json import plan_from_json, plan_id, plan_to_json
from rowtui.core.submission.plan.model import Packed, Plan, PlannedDestination, PlannedJob
from rowtui.core.submission.sending.job_records import job_records
from rowtui.core.submission.sending.send import find_requests
from rowtui.core.workflow.model import SubmitOptions

from tests.core.submission.bundled import bundled, in_lanes, layout
from tests.core.submission.conftest import HOSTILE, RealProject
from tests.eventually import eventually, eventually_async
from tests.rig.slurm import SlurmCluster

ALPHA = Cluster("alpha", Identify(always=True), "slurm", (Partition("cpu", memory_per_cpu_mb=60),))


FEW = HOSTILE[:6]


@pytest.fixture
def names() -> list[str]:
    return HOSTILE


@pytest.fixture
def real(
    slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, names: list[str]
) -> RealProject:
    for name, value in slurm.env.items():
        monkeypatch.setenv(name, value)
    return RealProject(slurm.work / tmp_path.name, names, SlurmScheduler("alpha"), ALPHA)


def failures(real: RealProject) -> dict[str, str]:
    names = real.state.directories
    return {names.name(at): it.reason for at, it in real.state.ends.get("one", {}).items()}


# -- planning --------------------------------------------------------------------------------------


def test_jobs_of_a_bundle_stand_together_lane_after_lane(real: RealProject) -> None:
    plan = real.plan("n")
    before = plan.jobs

    jobs = with_bundles(before, [layout([(4, 1), (9,)]), layout([(2,)])])

    tokens = [job.token for job in jobs]
    assert tokens[:5] == ["n-0", "n-1b~0", "n-1b~1", "n-1b~2", "n-2"]
    assert [job.directories for job in jobs[1:4]] == [before[at].directories for at in (4, 1, 9)]
    assert len(jobs) == len(before)
    assert set(tokens[4:]) == {f"n-{at}" for at in range(2, 14) if at not in (4, 9)}
    places = [job.bundle for job in jobs]
    assert [place.lane for place in places if place] == [0, 0, 1]
    assert {place.seconds for place in places if place} == {START_SECONDS + 120 + 2 * STEP_SECONDS}
    assert [job.log_path for job in jobs[1:4]] == [f"one-%j.{at}.out" for at in range(3)]
    for job in jobs:
        assert job.script.count(f"\nrowtui_token={job.token}\n") == 1


def test_a_log_without_the_jobs_id_is_one_for_each_request(real: RealProject) -> None:
    options = SubmitOptions(output_file_name="all.log")
    real.action = real.action._replace(submit_options={"alpha": options})
    jobs = in_lanes(real.plan("n"), 2).jobs
    assert [job.log_path for job in jobs[:2]] == ["all.log.0", "all.log.1"]


def test_a_plan_with_bundles_is_the_same_after_it_was_saved(real: RealProject) -> None:
    done = Packed(PlannedDestination("alpha", "cpu"), "best", 14, 1, 9.5, 2.25, 2.0, "EUR")
    plan = in_lanes(real.plan("n"), 3)._replace(packed=(done,))
    plan = plan._replace(id=plan_id(plan))
    again = plan_from_json(plan_to_json(plan).encode())
    assert again == plan


def test_jobs_in_bundles_are_not_put_into_arrays_too(real: RealProject) -> None:
    plan = bundled(real.plan("n"), layout([(0, 1), (2,)]))
    jobs = with_arrays(plan.jobs, {"alpha": 100})
    assert [job.array for job in jobs] == [""] * 3 + ["n-3a"] * 11


@pytest.mark.parametrize(
    ("custom", "shares"),
    [
        ((), True),
        (("--constraint=fast", "--comment=x"), True),
        (("--nodes=2",), False),
        (("-N 2",), False),
        (("--exclusive",), False),
        (("--mem=4G",), False),
        (("--gres=gpu:2",), False),
        (("--output=mine",), False),
        (("--constraint=a", "--time-min=1"), False),
    ],
)
def test_options_for_a_size_of_its_own_keep_a_job_alone(
    real: RealProject, custom: tuple[str, ...], shares: bool
) -> None:
    options = SubmitOptions(custom=custom, account="me")
    real.action = real.action._replace(submit_options={"alpha": options})
    job = real.plan("n").jobs[0]
    assert (cannot_share(job) == "") is shares
    assert shared_options(job) == ("--partition=cpu", "--account=me", *custom)


def test_jobs_that_wait_for_others_do_not_share(real: RealProject) -> None:
    job = real.plan("n").jobs[0]._replace(depends_on=("other",))
    assert cannot_share(job) == "it waits for other jobs"


# -- on a real Slurm -------------------------------------------------------------------------------

on_slurm = [pytest.mark.slurm, pytest.mark.slow]


def nonce() -> str:
    """The queue is everybody's, so that tokens must be one's own."""
    return secrets.token_hex(4)


async def over(real: RealProject, plan: Plan) -> None:
    """Until no job of the plan is active."""
    tokens = {token_in_queue(job.token) for job in plan.jobs}
    await eventually_async(
        real.scheduler.queue,
        lambda queue: not any(job.state.active for job in queue.jobs if job.token in tokens),
        every=0.1,
    )


class OnSlurm:
    pytestmark = on_slurm


class TestLife(OnSlurm):
    async def test_each_request_runs_once_and_is_complete(self, real: RealProject) -> None:
        plan = in_lanes(real.plan(nonce()), 4)

        progress = await real.submit(plan)
        assert [step.error for step in progress if step.error] == []
        ids = {it.job_id for it in real.state.submitted["one"].values()}
        assert len(ids) == 1
        await over(real, plan)
        await real.settle()

        assert real.runs() == dict.fromkeys(HOSTILE, 1)
        assert real.state.completed["one"].bit_count() == len(HOSTILE)
        assert (real.state.submitted, real.state.ends) == ({}, {})
        assert real.journal.open_plan_ids() == []

    async def test_one_that_fails_is_the_only_one_that_failed(self, real: RealProject) -> None:
        fails = "c d"
        real.with_command(
            "echo said; [ {directory} != 'c d' ] || exit 4; touch workspace/{directory}/out"
        )
        plan = in_lanes(real.plan(nonce()), 3)
        await real.submit(plan)
        await over(real, plan)
        await real.settle()

        assert failures(real) == {fails: "exit code 4"}
        assert real.state.completed["one"].bit_count() == len(HOSTILE) - 1
        records = job_records(plan, real.journal.entries(plan.id))
        assert {it.exit_code for it in records if it.directories == (fails,)} == {4}
        logs = [(real.root / it.log_path).read_text() for it in records]
        assert all("said" in log for log in logs)

    async def test_requests_whose_turn_never_came_have_not_failed(self, real: RealProject) -> None:
        real.with_command("echo x >> workspace/{directory}/runs; touch began; sleep 1000")
        plan = in_lanes(real.plan(nonce()), 2)
        await real.submit(plan)
        eventually(lambda: len([n for n in real.runs().values() if n]) == 2, what="two to begin")
        await real.settle()
        begun = {
            it.directories[0] for it in job_records(plan, real.journal.entries(plan.id)) if it.begun
        }
        assert begun == {name for name, runs in real.runs().items() if runs}

        job_id = next(iter(real.state.submitted["one"].values())).job_id
        await real.scheduler.cancel([JobKey(job_id)])
        await over(real, plan)
        await real.settle()

        # then nothing failed: all were cancelled, before or after they began
        not_begun = dict.fromkeys(real.runs().keys() - begun, "not begun: cancelled")
        assert failures(real) == dict.fromkeys(begun, "cancelled") | not_begun
        assert {it.outcome for it in real.state.ends["one"].values()} == {LastOutcome.CANCELLED}
        assert real.state.submitted == {}
        assert sorted(real.steps(plan)) == ["abandoned"] * 12 + ["ended"] * 2
        assert sum(real.runs().values()) == 2

    async def test_what_ended_is_free_while_the_bundle_goes_on(self, real: RealProject) -> None:
        real.with_command(
            "echo x >> workspace/{directory}/runs; [ {directory} = d0 ] || "
            "until [ -e go ]; do sleep 0.2; done; touch workspace/{directory}/out"
        )
        plan = in_lanes(real.plan(nonce()), len(HOSTILE))
        await real.submit(plan)
        eventually(lambda: any(real.root.glob(".row/rowtui/ended/*~?")), what="one to end")

        await real.settle()
        at = real.state.directories.position("d0")
        assert at is not None
        assert real.state.completed["one"] == 1 << at
        assert at not in real.state.submitted["one"]
        assert len(real.state.submitted["one"]) == len(HOSTILE) - 1

        (real.root / "go").touch()
        await over(real, plan)
        await real.settle()
        assert real.runs() == dict.fromkeys(HOSTILE, 1)
        assert real.state.ends == {}


class Answering(SlurmScheduler):
    """Loses what the real one answers, or hands nothing over at all."""

    lose = 0  # answers
    drop = 0  # submissions
    deaf = False  # to releases

    async def submit(self, job: JobSpec) -> SubmitResult:
        if self.drop:
            self.drop -= 1
            return OutcomeUnknown("the line broke before")
        result = await super().submit(job)
        if self.lose:
            self.lose -= 1
            return OutcomeUnknown("the line broke after")
        return result

    async def find(self, tokens: Collection[str]) -> Mapping[str, tuple[Job, ...]] | None:
        return None if self.deaf else await super().find(tokens)

    async def release(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        if self.deaf:
            return tuple(JobAnswer(job, "the line broke") for job in jobs)
        return await super().release(jobs)


class TestFaults(OnSlurm):
    @pytest.fixture
    def names(self) -> list[str]:
        """What names do is known by now, and each costs a step."""
        return FEW

    async def all_ran_once(self, real: RealProject, plan: Plan) -> None:
        await over(real, plan)
        await real.settle()
        assert real.runs() == dict.fromkeys(FEW, 1)
        assert real.state.submitted == {}
        assert set(real.steps(plan)) == {"ended"}

    @pytest.mark.parametrize("fault", ["lose", "drop"])
    async def test_an_answer_that_got_lost_is_found_by_the_bundles_token(
        self, real: RealProject, fault: str
    ) -> None:
        scheduler = real.scheduler = Answering("alpha")
        setattr(scheduler, fault, 1)
        plan = in_lanes(real.plan(nonce()), 4)
        progress = await real.submit(plan)
        assert [step.error for step in progress if step.error] == []
        await self.all_ran_once(real, plan)

    async def test_one_that_nobody_let_go_is_let_go_when_settled(self, real: RealProject) -> None:
        scheduler = real.scheduler = Answering("alpha")
        scheduler.deaf = True
        plan = in_lanes(real.plan(nonce()), 4)
        await real.submit(plan)
        ours = [
            job
            for job in (await scheduler.queue()).jobs
            if job.token == plan.jobs[0].token.partition("~")[0]
        ]
        assert {job.state for job in ours if job.state.active} == {JobState.HELD}
        scheduler.deaf = False
        await real.settle()
        await self.all_ran_once(real, plan)

    async def test_one_that_the_scheduler_forgot_is_sent_again_whole(
        self, real: RealProject
    ) -> None:
        scheduler = real.scheduler = Answering("alpha")
        scheduler.deaf, scheduler.drop = True, 1
        plan = in_lanes(real.plan(nonce()), 4)
        await real.submit(plan, patience=0.0)
        assert set(real.steps(plan)) == {"unknown"}
        scheduler.deaf = False
        await real.settle()
        await real.settle()
        await self.all_ran_once(real, plan)

    async def test_two_who_settle_at_once_send_it_again_once(self, real: RealProject) -> None:
        scheduler = real.scheduler = Answering("alpha")
        scheduler.deaf, scheduler.drop = True, 1
        plan = in_lanes(real.plan(nonce()), 4)
        await real.submit(plan, patience=0.0)
        scheduler.deaf = False
        for _ in range(2):
            await asyncio.gather(real.settle(), real.settle())
        found = await find_requests(scheduler, [plan.jobs[0].token])
        assert found is not None
        assert len(found[plan.jobs[0].token]) == 1
        await self.all_ran_once(real, plan)

    async def test_requests_that_were_given_up_are_passed_over(self, real: RealProject) -> None:
        scheduler = real.scheduler = Answering("alpha")
        scheduler.deaf = True
        plan = in_lanes(real.plan(nonce()), 2)
        await real.submit(plan)
        out: list[PlannedJob] = [plan.jobs[1], plan.jobs[4]]
        for job in out:
            assert await real.access.site.abandon(job.token) == ""
        scheduler.deaf = False
        await real.settle()
        await over(real, plan)
        await real.settle()
        names = {job.directories[0] for job in out}
        assert real.runs() == {name: int(name not in names) for name in FEW}
        assert failures(real) == dict.fromkeys(names, "not begun: cancelled")
        assert real.state.submitted == {}
