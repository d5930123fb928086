"""What a real Slurm makes of a job is what our Job says: each state, how it ended, and why.

All jobs are under way at the same time; a job that reaches its state within a second or two is
here. The time limit takes Slurm half a minute: test_slurm_scheduler waits for that.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest
from rowtui.core.clusters.commands import LocalTransport
from rowtui.core.clusters.schedulers.base import Job, JobState
from rowtui.core.clusters.schedulers.slurm.scheduler import SlurmScheduler

from tests.eventually import eventually
from tests.rig.slurm import SlurmCluster

# The fixture waits until slurmctld has given a node up, and has started a dozen jobs.
pytestmark = [pytest.mark.slurm, pytest.mark.timeout(150)]

HOUR = 3600
TOO_MUCH = "python3 -c 'import time; held = bytearray(300 << 20); time.sleep(300)'"


@dataclass(frozen=True)
class Case:
    """A script and its options, and what becomes of it. `word` is Slurm's own.

    All run on one node, but for those that lose the other.
    """

    script: str
    word: str
    state: JobState
    reason: str = ""
    code: int | None = None
    signal: int | None = None
    options: str = ""
    node: str = "n1"


LAUNCH_FAILURE = "JobLaunchFailure"
CASES = {
    "ends well": Case("true", "COMPLETED", JobState.COMPLETED, code=0),
    "exits with 3": Case("exit 3", "FAILED", JobState.FAILED, "NonZeroExitCode", 3),
    "kills itself": Case("kill -9 $$", "FAILED", JobState.FAILED, LAUNCH_FAILURE, signal=9),
    "crashes": Case("kill -SEGV $$", "FAILED", JobState.FAILED, LAUNCH_FAILURE, signal=11),
    # Slurm's way to say that it could not even begin.
    "has no folder for its output": Case(
        "true", "FAILED", JobState.FAILED, LAUNCH_FAILURE, signal=53, options="-o /nowhere/at/all"
    ),
    "has no interpreter": Case(
        "/no/such/program", "FAILED", JobState.FAILED, "NonZeroExitCode", 127
    ),
    # Slurm runs it in another folder, and says nothing of it.
    "has no folder to work in": Case(
        "true", "COMPLETED", JobState.COMPLETED, code=0, options="-D /nowhere -o /dev/null"
    ),
    "takes too much memory": Case(
        TOO_MUCH, "FAILED", JobState.FAILED, LAUNCH_FAILURE, signal=9, options="--mem=50"
    ),
    "is cancelled while it runs": Case("sleep 300", "CANCELLED", JobState.CANCELLED),
    "is cancelled while it is held": Case(
        "true", "CANCELLED", JobState.CANCELLED, "JobHeldUser", options="--hold"
    ),
    "loses its node": Case(
        "sleep 300",
        "NODE_FAIL",
        JobState.NODE_FAIL,
        "NodeDown",
        options="--no-requeue",
        node="n2",
    ),
    "loses its node and is queued again": Case(
        "sleep 300", "PENDING", JobState.PENDING, "BeginTime", options="--requeue", node="n2"
    ),
    "is held": Case("true", "PENDING", JobState.HELD, "JobHeldUser", options="--hold"),
    "is queued again and held": Case(
        "sleep 300", "PENDING", JobState.HELD, "job requeued in held state"
    ),
    "is suspended": Case("sleep 300", "SUSPENDED", JobState.SUSPENDED),
    "runs": Case("sleep 300", "RUNNING", JobState.RUNNING),
    "begins in an hour": Case(
        "true", "PENDING", JobState.PENDING, "BeginTime", options="--begin=now+1hour"
    ),
    "waits for what will never be": Case(
        "true",
        "PENDING",
        JobState.PENDING,
        "DependencyNeverSatisfied",
        options="--dependency=afterok:{exits with 3}",
    ),
}


@pytest.fixture(scope="module")
def jobs(slurm: SlurmCluster) -> Iterator[Mapping[str, int]]:
    """Name of the case -> job id. Every job is in its state, and stays there."""
    slurm.clean()
    ids: dict[str, int] = {}
    for name, case in CASES.items():
        options = f"--nodelist={case.node} {case.options.format_map(ids)}"
        ids[name] = slurm.submit(case.script, f"--partition=cpu --time=5 {options}")
    running = [name for name, case in CASES.items() if case.script == "sleep 300"]
    wait_for(slurm, {ids[name]: "RUNNING" for name in running})
    slurm.run(f"scancel {ids['is cancelled while it runs']}")
    slurm.run(f"scancel {ids['is cancelled while it is held']}")
    slurm.run(f"scontrol suspend {ids['is suspended']}")
    slurm.run(f"scontrol requeuehold {ids['is queued again and held']}")
    # The slurmd lives, so that the node is back at once.
    slurm.run("scontrol update NodeName=n2 State=DOWN Reason=test")
    wait_for(slurm, {ids[name]: case.word for name, case in CASES.items()})
    never = ids["waits for what will never be"]
    eventually(
        lambda: "Never" in slurm.run(f"squeue -h -j {never} -o %r").stdout,
        what="Slurm to see that a dependency is hopeless",
        every=0.1,
    )
    yield ids
    slurm.run(f"scontrol resume {ids['is suspended']}", check=False)
    slurm.clean()


def wait_for(slurm: SlurmCluster, words: Mapping[int, str]) -> None:
    """One look at all jobs at a time."""

    def states() -> set[str]:
        return set(slurm.run("squeue --me -h -t all -o %A=%T").stdout.split())

    wanted = {f"{job}={word}" for job, word in words.items()}
    eventually(states, wanted.issubset, what=f"the jobs to be {words}", every=0.15, within=120)


@pytest.fixture
def scheduler(slurm: SlurmCluster) -> SlurmScheduler:
    return SlurmScheduler("alpha", LocalTransport({"SLURM_CONF": str(slurm.conf)}))


async def the_job(scheduler: SlurmScheduler, job_id: int) -> Job:
    (job,) = (await scheduler.queue([job_id])).jobs
    return job


@pytest.mark.parametrize("name", CASES)
async def test_a_job_that(name: str, jobs: Mapping[str, int], scheduler: SlurmScheduler) -> None:
    case = CASES[name]
    job = await the_job(scheduler, jobs[name])
    assert (job.state, job.reason) == (case.state, case.reason)
    assert (job.exit_code, job.exit_signal) == (case.code, case.signal)


async def test_a_job_that_begins_later_says_when(
    jobs: Mapping[str, int], scheduler: SlurmScheduler
) -> None:
    job = await the_job(scheduler, jobs["begins in an hour"])
    assert job.start_estimate is not None
    assert HOUR - 120 < job.start_estimate - time.time() < HOUR + 1


async def test_a_job_that_took_too_much_memory_was_told_so_in_its_log(
    jobs: Mapping[str, int], slurm: SlurmCluster
) -> None:
    log = slurm.work / f"{jobs['takes too much memory']}.out"
    assert "exceeded memory limit" in log.read_text().lower()


async def test_a_node_that_was_down_takes_jobs_again(
    jobs: Mapping[str, int], slurm: SlurmCluster
) -> None:
    slurm.wait_for(slurm.submit("true", "--nodelist=n2 --time=1"), "COMPLETED")
