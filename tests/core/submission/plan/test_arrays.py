"""Jobs of the same shape become tasks of one array, each with its own token, log and fate."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from rowtui.core.clusters.model import Cluster, Identify, Partition
from rowtui.core.clusters.schedulers.base import JobKey, JobState
from rowtui.core.clusters.schedulers.slurm.scheduler import SlurmScheduler
from rowtui.core.submission.plan.arrays import array_script, with_arrays
from rowtui.core.submission.plan.json import plan_from_json, plan_id, plan_to_json
from rowtui.core.submission.plan.model import Plan
from rowtui.core.submission.sending.job_records import job_records

from tests.core.submission.conftest import HOSTILE, RealProject
from tests.eventually import eventually_async
from tests.rig.slurm import SlurmCluster

ALPHA = Cluster("alpha", Identify(always=True), "slurm", (Partition("cpu"),))


@pytest.fixture
def real(slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> RealProject:
    for name, value in slurm.env.items():
        monkeypatch.setenv(name, value)
    return RealProject(slurm.work / tmp_path.name, HOSTILE, SlurmScheduler("alpha"), ALPHA)


def arrays(plan: Plan, most: int = 1000) -> Plan:
    changed = plan._replace(jobs=with_arrays(plan.jobs, {"alpha": most}))
    return changed._replace(id=plan_id(changed))


def test_neighbours_of_the_same_shape_go_together(real: RealProject) -> None:
    plan = arrays(real.plan("n"), most=10)

    assert [job.array for job in plan.jobs] == ["n-0a"] * 10 + ["n-10a"] * 4
    assert [job.task for job in plan.jobs] == [*range(10), *range(4)]
    assert [job.token for job in plan.jobs][9:11] == ["n-0a.9", "n-10a.0"]
    assert {job.log_path for job in plan.jobs} == {"one-%A_%a.out"}
    assert plan_from_json(plan_to_json(plan).encode()).jobs == plan.jobs


def test_jobs_of_other_resources_and_single_ones_stay_alone(real: RealProject) -> None:
    jobs = real.plan("n").jobs
    slow = real.action._replace(
        resources=real.action.resources._replace(
            walltime=real.action.resources.walltime._replace(seconds=7200)
        )
    )
    real.action = slow
    others = real.plan("m").jobs

    mixed = with_arrays((jobs[0], others[1], jobs[2], jobs[3]), {"alpha": 1000})

    assert [job.array for job in mixed] == ["", "", "n-2a", "n-2a"]
    assert mixed[0] == jobs[0]


def test_the_script_of_an_array_runs_the_task_that_it_is_told(
    real: RealProject, tmp_path: Path
) -> None:
    plan = arrays(real.plan("n"))
    script = array_script(plan.jobs[2:9], "slurm")
    assert subprocess.run(["bash", "-n"], input=script.encode(), check=True).returncode == 0

    for task, code in ((4, 0), (0, 3)):
        done = subprocess.run(
            ["bash"],
            input=script.encode(),
            cwd=real.root,
            env={
                "SLURM_ARRAY_TASK_ID": str(task),
                "SLURM_ARRAY_JOB_ID": "7",
                "PATH": "/usr/bin:/bin",
            },
            capture_output=True,
        )
        assert done.returncode == code, done.stderr
    name = plan.jobs[4].directories[0]
    assert real.runs() == dict.fromkeys(HOSTILE, 0) | {name: 1}
    assert (real.root / ".row/rowtui/fence/n-0a.4").readlink() == Path("slurm:7_4")


def test_what_all_tasks_say_stands_once(real: RealProject) -> None:
    plan = arrays(real.plan("n"))

    assert array_script(plan.jobs, "slurm").count("export ACTION_NAME=") == 1


async def test_an_array_is_sent_once_and_each_task_is_a_job_of_its_own(
    real: RealProject, slurm: SlurmCluster
) -> None:
    broken = HOSTILE[0]
    real.with_command(
        f'[ {{directory}} != {broken} ] && echo x >> "workspace/"{{directory}}/runs '
        '&& touch "workspace/"{directory}/out'
    )
    plan = arrays(real.plan("n"))
    progress = await real.submit(plan)

    assert [step.error for step in progress if step.error] == []
    records = job_records(plan, real.journal.entries(plan.id))
    assert {record.job_id for record in records} == {records[0].job_id}
    assert [record.key for record in records] == [
        JobKey(records[0].job_id, task) for task in range(len(HOSTILE))
    ]
    tokens = {job.token for job in plan.jobs}

    async def over() -> bool:
        found = await real.scheduler.find(tokens)
        assert found is not None
        return not any(job.state.active for jobs in found.values() for job in jobs)

    await eventually_async(over, every=0.15)
    await real.settle()
    failed = [
        record for record in job_records(plan, real.journal.entries(plan.id)) if record.exit_code
    ]
    assert [record.directories for record in failed] == [(broken,)]
    assert (real.root / failed[0].log_path).exists()
    assert real.runs() == dict.fromkeys(HOSTILE, 1) | {broken: 0}
    assert real.state.submitted == {}
    found = await real.scheduler.find([failed[0].token])
    assert found is not None
    assert [job.state for job in found[failed[0].token]] == [JobState.FAILED]
