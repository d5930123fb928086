"""Scripts, submission and settling on a real Grid Engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from rowtui.core.clusters.model import Cluster, Identify, Partition
from rowtui.core.clusters.schedulers.base import JobAnswer, JobKey, JobState
from rowtui.core.clusters.schedulers.grid_engine.scheduler import GridEngineScheduler
from rowtui.core.workflow.model import Resources, SubmitOptions, Walltime

from tests.core.submission.conftest import HOSTILE, RealProject
from tests.eventually import eventually
from tests.rig.grid_engine import GridEngineCluster

pytestmark = [pytest.mark.slow]

ALL = Partition("all.q", parallel_environment="smp")
CLUSTER = Cluster("engine", Identify(always=True), "grid_engine", (ALL,))


@pytest.fixture
def real(grid_engine: GridEngineCluster, tmp_path: Path) -> RealProject:
    scheduler = GridEngineScheduler("engine", grid_engine.transport)
    return RealProject(tmp_path / "pro, ject's", HOSTILE, scheduler, CLUSTER)


async def test_hostile_names_run_once_and_are_complete(real: RealProject) -> None:
    options = SubmitOptions(output_file_path="lo: gs", output_file_name="x '{action_name}'-%j.log")
    real.action = real.action._replace(
        submit_options={"engine": options}, resources=Resources(threads_per_process=2)
    )
    plan = real.plan("n", size=5)

    progress = await real.submit(plan)
    assert not any(step.error for step in progress)
    await real.wait()
    await real.settle()

    assert real.runs() == dict.fromkeys(HOSTILE, 1)
    assert real.state.completed["one"].bit_count() == len(HOSTILE)
    assert real.state.submitted == {}
    assert real.state.ends == {}
    assert real.journal.open_plan_ids() == []
    assert len(list((real.root / "lo: gs").iterdir())) == len(plan.jobs)


async def test_jobs_that_are_stopped_say_why_and_report_what_is_done(
    grid_engine: GridEngineCluster, tmp_path: Path
) -> None:
    scheduler = GridEngineScheduler("engine", grid_engine.transport)
    stopped: dict[str, RealProject] = {}
    ids: dict[str, int] = {}
    for why, seconds in (("time limit", 1), ("cancelled", 3600)):
        real = stopped[why] = RealProject(tmp_path / why, HOSTILE, scheduler, CLUSTER)
        real.action = real.action._replace(resources=Resources(walltime=Walltime(seconds, False)))
        real.with_command(
            "if [ {directory} = '$(touch pwned)' ]; then touch workspace/{directory}/out\n"
            "else touch began; sleep 1000; fi"
        )
        await real.submit(real.plan(f"n{seconds}", size=len(HOSTILE)))
        ids[why] = next(iter(real.state.submitted["one"].values())).job_id
    for real in stopped.values():
        eventually(lambda real=real: (real.root / "began").exists(), what="the job to begin")
    cancelled = JobKey(ids["cancelled"])
    assert await scheduler.cancel([cancelled]) == (JobAnswer(cancelled),)

    states = {"time limit": JobState.TIMEOUT, "cancelled": JobState.CANCELLED}
    for why, real in stopped.items():
        await real.wait()
        await real.settle()
        assert real.state.completed["one"] == 1
        reasons = {failure.reason for failure in real.state.ends["one"].values()}
        assert reasons == {why} | (set() if why == "cancelled" else {f"not reached: {why}"})
        snapshot = await scheduler.queue([ids[why]])
        assert [job.state for job in snapshot.jobs] == [states[why]]


async def test_a_job_cancelled_while_it_waits_is_not_sent_again(
    real: RealProject, grid_engine: GridEngineCluster
) -> None:
    real.with_command("touch ran # {directory}")
    grid_engine.run("qmod -d all.q")
    try:
        await real.submit(real.plan("n", size=len(HOSTILE)))
        job_id = next(iter(real.state.submitted["one"].values())).job_id
        waiting = await real.scheduler.queue([job_id])
        assert [job.state for job in waiting.jobs] == [JobState.PENDING]

        grid_engine.run(f"qdel {job_id}")
        await real.settle()

        assert real.state.submitted == {}
        assert real.journal.open_plan_ids() == []
        assert (await real.scheduler.queue()).jobs == ()
    finally:
        grid_engine.run("qmod -e all.q")
    assert not (real.root / "ran").exists()
