"""Scripts, submission and settling on a real Slurm."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from rowtui.core.clusters.model import Cluster, Identify, Partition
from rowtui.core.clusters.schedulers.base import Accepted, JobKey, JobSpec
from rowtui.core.clusters.schedulers.slurm.options import native_options
from rowtui.core.clusters.schedulers.slurm.scheduler import SlurmScheduler
from rowtui.core.submission.plan.json import save_plan
from rowtui.core.submission.plan.model import JobStep, JournalEntry
from rowtui.core.workflow.model import SubmitOptions

from tests.core.submission.conftest import HOSTILE, RealProject
from tests.eventually import eventually
from tests.rig.slurm import SlurmCluster

pytestmark = [pytest.mark.slurm, pytest.mark.slow]

CLUSTER = Cluster(
    "alpha", Identify(always=True), "slurm", (Partition("cpu", memory_per_cpu_mb=60),)
)


@pytest.fixture
def real(slurm: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RealProject:
    monkeypatch.setenv("SLURM_CONF", str(slurm.conf))
    return RealProject(tmp_path / "pro ject", HOSTILE, SlurmScheduler("alpha"), CLUSTER)


async def test_hostile_names_run_once_and_are_complete(real: RealProject) -> None:
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


async def test_names_and_logs_are_what_was_asked_for(
    real: RealProject, slurm: SlurmCluster
) -> None:
    options = SubmitOptions(output_file_path="lo gs", output_file_name="x '{action_name}'-%j.log")
    real.action = real.action._replace(submit_options={"alpha": options})
    real.with_command("echo {directory}; scontrol show job $SLURM_JOB_ID > seen")
    plan = real.plan("n", size=len(HOSTILE))

    await real.submit(plan)
    ours = [job for job in (await real.scheduler.queue()).jobs if job.token == "n-0"]
    job = max(ours, key=lambda job: job.id)  # others ran before
    await real.wait()

    assert job.name == plan.jobs[0].name
    log = real.root / plan.jobs[0].log_path.replace("%j", str(job.id))
    assert log.parent == real.root / "lo gs"
    assert os.fsencode("\n".join(sorted(HOSTILE, key=os.fsencode)) + "\n") == log.read_bytes()


@pytest.mark.parametrize("name", ["100%", "p%j %A%%x"])
async def test_a_folder_with_what_slurm_expands_has_the_logs_of_its_jobs(
    slurm: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("SLURM_CONF", str(slurm.conf))
    real = RealProject(tmp_path / name, ["a", "b"], SlurmScheduler("alpha"), CLUSTER)

    await real.submit(real.plan("n"))
    await real.wait()
    await real.settle()

    assert real.runs() == {"a": 1, "b": 1}
    assert len([*real.root.glob("*.out")]) == 2


async def test_a_folder_with_a_backslash_is_refused_before_jobs_fail_there(
    slurm: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_CONF", str(slurm.conf))
    real = RealProject(tmp_path / "back\\slash", ["a"], SlurmScheduler("alpha"), CLUSTER)

    progress = await real.submit(real.plan("n"))

    assert "a folder with a backslash in its name" in progress[-1].error + progress[0].error
    assert real.state.submitted == {}


async def test_the_warning_before_the_limit_reports_what_is_done(
    real: RealProject, slurm: SlurmCluster
) -> None:
    real.with_command(
        "if [ {directory} = '$(touch pwned)' ]; then touch workspace/{directory}/out\n"
        "else touch began; sleep 1000; fi"
    )
    plan = real.plan("n", size=len(HOSTILE))
    assert plan.jobs[0].directories[0] == "$(touch pwned)"
    await real.submit(plan)
    eventually(lambda: (real.root / "began").exists(), what="the job to begin")
    job_id = next(iter(real.state.submitted["one"].values())).job_id

    slurm.run(f"scancel --signal=USR1 --batch {job_id}")
    staged = real.root / ".row" / "completed"
    eventually(lambda: any(staged.glob("*.postcard")), what="the report of what is finished")
    slurm.run(f"scancel --signal=TERM --batch {job_id}")  # as Slurm does at the limit
    await real.wait()
    await real.settle()

    assert real.state.completed["one"] == 1
    failed = real.state.ends["one"]
    assert failed[1].reason == "time limit"
    assert {failed[at].reason for at in range(2, len(HOSTILE))} == {"not reached: time limit"}


async def test_a_cancelled_job_says_so_and_stops(real: RealProject) -> None:
    plan = real.with_command("touch began; sleep 1000 # {directory}").plan("n", size=len(HOSTILE))
    await real.submit(plan)
    eventually(lambda: (real.root / "began").exists(), what="the job to begin")
    job_id = next(iter(real.state.submitted["one"].values())).job_id

    await real.scheduler.cancel([JobKey(job_id)])
    await real.wait()
    await real.settle()

    reasons = {failure.reason.split(": ")[-1] for failure in real.state.ends["one"].values()}
    assert reasons == {"cancelled"}


async def test_a_job_whose_id_was_lost_is_found_by_its_token(real: RealProject) -> None:
    plan = real.plan("n", size=len(HOSTILE))
    save_plan(real.root, plan)
    real.tools().reservations.reserve(plan.jobs)
    real.journal.append([JournalEntry("n-0", plan.id, JobStep.SENDING, 1.0)])
    job = plan.jobs[0]
    sent = await real.scheduler.submit(JobSpec("n-0", job.name, job.script, real.root, ""))
    assert isinstance(sent, Accepted)

    await real.settle()
    await real.wait()
    await real.settle()

    assert real.runs() == dict.fromkeys(HOSTILE, 1)
    assert real.state.completed["one"].bit_count() == len(HOSTILE)
    assert real.steps(plan) == ["ended"]


async def test_a_requeued_job_runs_again_and_another_with_its_token_does_not(
    real: RealProject, slurm: SlurmCluster
) -> None:
    real.with_command("echo x >> runs; while [ ! -e go ]; do sleep 0.2; done # {directories}")
    plan = real.plan("n", size=len(HOSTILE))
    await real.submit(plan)
    job_id = next(iter(real.state.submitted["one"].values())).job_id
    runs = real.root / "runs"
    eventually(runs.exists, what="the first run")

    # The same token again, as after a lost answer: it ends at once.
    job = plan.jobs[0]
    spec = JobSpec("n-0", job.name, job.script, real.root, "")
    other = await real.scheduler.submit(spec)
    assert isinstance(other, Accepted)
    slurm.wait_for(other.job_id, "COMPLETED")
    assert runs.read_text() == "x\n"

    slurm.run(f"scontrol requeue {job_id}")
    slurm.run(f"scontrol update jobid={job_id} starttime=now", check=False)
    slurm.wait_for(job_id, "PENDING", "RUNNING")
    await real.settle()
    assert real.state.submitted["one"][0].job_id == job_id
    slurm.run(f"scancel {job_id}")
    await real.wait()


async def test_sbatch_reads_a_native_specification_as_it_was_split(
    real: RealProject, slurm: SlurmCluster
) -> None:
    native = '--nice=7 "--export=ALL,ODD=it\'s a # \\b" -N 1'
    options = SubmitOptions(custom=tuple(native_options("nativeSpecification", native)))
    real.action = real.action._replace(submit_options={"alpha": options})
    real.with_command('scontrol show job $SLURM_JOB_ID > seen; echo "$ODD" >> seen # {directory}')

    progress = await real.submit(real.plan("n", size=len(HOSTILE)))
    assert [step.error for step in progress if step.error] == []
    await real.wait()

    seen = (real.root / "seen").read_text()
    assert "Nice=7" in seen
    assert seen.splitlines()[-1] == "it's a # \\b"


async def test_a_killed_job_without_a_report_has_the_reason_that_slurm_wrote_into_its_log(
    real: RealProject,
) -> None:
    line = "slurmstepd: error: Exceeded job memory limit"
    real.with_command(f"echo '{line}' >&2; kill -KILL $$ # {{directory}}")
    plan = real.plan("n", size=len(HOSTILE))
    await real.submit(plan)
    await real.wait()
    await real.settle()

    assert {end.reason for end in real.state.ends["one"].values()} == {"out of memory"}


async def test_a_job_that_found_a_disk_full_says_so(real: RealProject) -> None:
    real.with_command("echo {directory} > /dev/full")
    await real.submit(real.plan("n", size=len(HOSTILE)))
    await real.wait()
    await real.settle()

    reasons = {end.reason for end in real.state.ends["one"].values()}
    assert "exit code 1 (a disk was full)" in reasons
