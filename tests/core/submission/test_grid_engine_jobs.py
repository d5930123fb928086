"""Scripts, submission and settling on a real Grid Engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from rowtui.core.clusters.model import Cluster, Identify, Partition
from rowtui.core.clusters.schedulers.base import JobAnswer, JobKey, JobState
from rowtui.core.clusters.schedulers.grid_engine import GridEngineScheduler
from rowtui.core.workflow.model import Resources, SubmitOptions, Walltime

from tests.core.submission.conftest import HOSTILE, RealProject
from tests.rig.grid_engine import GridEngineCluster
from tests.rig.processes import wait_until

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
    assert real.state.failed == {}
    assert real.journal.open_plan_ids() == []
    assert len(list((real.root / "lo: gs").iterdir())) == len(plan.jobs)


@pytest.mark.parametrize("seconds", [1, 3600])
async def test_a_job_that_is_stopped_says_why_and_reports_what_is_done(
    real: RealProject, seconds: int
) -> None:
    real.action = real.action._replace(resources=Resources(walltime=Walltime(seconds, False)))
    real.with_command(
        "if [ {directory} = '$(touch pwned)' ]; then touch workspace/{directory}/out\n"
        "else touch began; sleep 1000; fi"
    )
    await real.submit(real.plan("n", size=len(HOSTILE)))
    job_id = next(iter(real.state.submitted["one"].values())).job_id
    wait_until(lambda: (real.root / "began").exists(), "the job to begin")
    if seconds > 1:
        assert await real.scheduler.cancel([JobKey(job_id)]) == (JobAnswer(JobKey(job_id)),)
    await real.wait()
    await real.settle()

    assert real.state.completed["one"] == 1
    reasons = {failure.reason for failure in real.state.failed["one"].values()}
    why = "time limit" if seconds == 1 else "cancelled"
    assert reasons == {why, f"not reached: {why}"}
    states = [job.state for job in (await real.scheduler.queue([job_id])).jobs]
    assert states == [JobState.TIMEOUT if seconds == 1 else JobState.CANCELLED]


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
