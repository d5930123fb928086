"""Simulated clusters: what jobs on them do, by the clock that is given."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from rowtui.core.clusters.schedulers.base import (
    Accepted,
    JobKey,
    JobSpec,
    JobState,
    Scheduler,
    Unreachable,
)
from rowtui.core.clusters.schedulers.job_terms import JobTerms
from rowtui.core.clusters.schedulers.slurm.change import SlurmWaiting
from rowtui.core.demo.project import SimulatedTransport
from rowtui.core.demo.scheduler import SimulatedScheduler
from rowtui.core.demo.simulation import ClusterSimulation, ClusterSpec, DemoWork, FastClock


def spec(number: int, **other: object) -> JobSpec:
    told = {"cpus": 4, "walltime_seconds": 3600, "script": "#SBATCH --partition=cpu\n", **other}
    return JobSpec(f"token-{number}", f"job {number}", **told, workdir=Path("/"), log_path="%j.out")  # type: ignore[arg-type]


def world(seed: int = 1, jobs: int = 200) -> ClusterSimulation:
    made = ClusterSimulation([ClusterSpec("here", 4096, 50)], seed)
    for number in range(jobs):
        made.clusters["here"].submit(spec(number), 0.0)
        made.work[f"token-{number}"] = DemoWork("act", tuple(f"{number}-{it}" for it in range(10)))
    return made


def run_to_the_end(made: ClusterSimulation) -> dict[str, list[str]]:
    completed: dict[str, list[str]] = {"act": []}
    for minute in range(1, 1000):
        completed["act"] += made.advance(minute * 60.0).get("act", [])
        running = [it for it in made.clusters["here"].jobs if it.state is JobState.RUNNING]
        assert len(running) <= 50
    return completed


def test_jobs_end_in_every_way_and_complete_each_directory_at_most_once() -> None:
    made = world()

    names = run_to_the_end(made)["act"]

    states = Counter(job.state for job in made.clusters["here"].jobs)
    assert states[JobState.COMPLETED] > 150
    assert {JobState.OUT_OF_MEMORY, JobState.TIMEOUT, JobState.FAILED} <= set(states)
    assert len(names) == len(set(names))
    whole = {job.token for job in made.clusters["here"].jobs if job.state is JobState.COMPLETED}
    assert {f"token-{name.split('-')[0]}" for name in names} >= whole
    assert len(names) < 200 * 10
    assert any("oom_kill" in text for text in made.take_logs().values())
    assert made.take_logs() == {}


def test_the_same_seed_tells_the_same_story() -> None:
    assert run_to_the_end(world(3)) == run_to_the_end(world(3))
    assert run_to_the_end(world(3)) != run_to_the_end(world(4))


async def test_the_scheduler_holds_releases_cancels_and_finds() -> None:
    made, now = ClusterSimulation([ClusterSpec("here", 64, 8, latency=0.0)], 1), [0.0]
    there = made.clusters["here"]
    scheduler: Scheduler = SimulatedScheduler(there, lambda: now[0], lambda: 1e9)
    accepted = await scheduler.submit(spec(1, held=True))
    assert isinstance(accepted, Accepted)
    key = JobKey(accepted.job_id)

    now[0] = 600.0
    made.advance(now[0])
    (job,) = (await scheduler.queue()).jobs
    assert (job.state, job.reason, job.partition) == (JobState.HELD, "JobHeldUser", "cpu")

    # a waiting job gets another limit, as on a real cluster
    waiting = SlurmWaiting(SimulatedTransport(there, FastClock()))
    (answer,) = await waiting.change([key], JobTerms(limit=7_200))
    assert not answer.error
    assert (await scheduler.queue()).jobs[0].limit == 7_200
    (answer,) = await waiting.change([key], JobTerms(nice=7))
    assert "it changes time limits alone" in answer.error

    await scheduler.release([key])
    made.advance(now[0])
    assert (await scheduler.queue([key.id])).jobs[0].state is JobState.RUNNING
    assert (await scheduler.find(["token-1", "no"]) or {}).keys() == {"token-1"}
    await scheduler.cancel([key])
    assert (await scheduler.queue()).jobs[0].state is JobState.CANCELLED

    there.down = "Connection refused"
    assert isinstance(await scheduler.submit(spec(2)), Unreachable)
    assert (await scheduler.queue()).error == "Connection refused"
    assert await scheduler.find(["token-1"]) is None
    assert (await scheduler.cancel([key]))[0].error


async def test_an_array_is_one_job_of_several_tasks_that_wait_for_others() -> None:
    made = ClusterSimulation([ClusterSpec("here", 64, 8, latency=0.0)], 1)
    there = made.clusters["here"]
    first = there.submit(spec(1), 0.0)
    there.submit(spec(2, tasks=(0, 3), after=(first,)), 0.0)
    made.advance(100.0)

    seen = [there.seen(job, 100.0, 1e9) for job in there.jobs]

    assert [(job.token, job.task) for job in seen[1:]] == [("token-2.0", 0), ("token-2.3", 3)]
    assert {job.reason for job in seen[1:]} == {"Dependency"}


def test_the_clock_does_not_jump_when_its_speed_changes() -> None:
    ours = [0.0]
    clock = FastClock(60, lambda: ours[0])
    ours[0] = 10.0
    assert clock() == 600.0
    clock.faster()
    assert (clock(), clock.speed) == (600.0, 300)
    ours[0] = 11.0
    assert clock() == 900.0
    clock.slower()
    clock.skip(100.0)
    assert (clock(), clock.speed) == (1000.0, 60)
