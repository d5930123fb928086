"""When a run will be done: told from a real one as it goes, and from graphs in known states."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from pathlib import Path

import pytest
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning.plan_submission import plan_submission
from rowtui.core.runs.execution.autopilot import Autopilot
from rowtui.core.runs.execution.driver import MessageKind
from rowtui.core.runs.execution.permission import PlanAnswer
from rowtui.core.runs.limits.estimate import Estimate, Estimator, PathStep
from rowtui.core.runs.limits.limits import Breach, RunLimits
from rowtui.core.runs.limits.run_times import RunTimeSource, measured_times, run_times
from rowtui.core.runs.running import OpenRun
from rowtui.core.runs.snapshot import read_study
from rowtui.core.runs.store import RunStore
from rowtui.core.submission.plan.model import OPEN, Plan
from rowtui.core.submission.sending.fence import ended_path, fence_path, seconds_of_job
from rowtui.core.submission.sending.reservations import reserved

from tests.eventually import eventually_async

NETWORK = """
[[source]]
name = "point"
[source.values]
x = { range = 4 }

[[node]]
name = "measure"
from = "point"

[[node]]
name = "total"
from = "measure"
output = "value"
collapse = ["x"]
"""
WORKFLOW = """
[workspace]
value_file = "value.json"
[[action]]
name = "measure"
command = "sleep 0.2 && echo 1 > workspace/{directory}/value"
products = ["value"]
[action.group]
maximum_size = 2
[[action.group.include]]
condition = ["/node", "==", "point"]
[action.resources]
walltime.per_directory = "00:05:00"
[[action]]
name = "total"
command = "echo 4 > workspace/{directory}/sum"
products = ["sum"]
[[action.group.include]]
condition = ["/node", "==", "total"]
[action.resources]
walltime.per_submission = "00:02:00"
"""
MEASURE, TOTAL = 300.0, 120.0  # seconds: their wall times


@pytest.fixture
def root(here: Path) -> Path:
    """A project: four measurements, two in each job, and their sum."""
    root = here / "sums"
    (root / "workspace").mkdir(parents=True)
    (root / "workflow.toml").write_text(WORKFLOW)
    (root / "network.toml").write_text(NETWORK)
    return root


def opened(root: Path, *, cores: int = 2) -> OpenRun:
    """A new run, that nobody has begun."""
    environment = {**os.environ, "ROWTUI_LOCAL_CORES": str(cores)}
    project = OpenProject.open(root, cluster="local", environment=environment)
    study = read_study(project)
    run = RunStore(root).create(study.network, study.rows.values(), limits=RunLimits())
    return OpenRun(project, run)


def estimate(running: OpenRun, now: float) -> Estimate:
    return Estimator(running).at(now)


def jobs(running: OpenRun, node: str) -> list[int]:
    found: list[int] = running.growth.jobs(node).tolist()
    return found


async def drive(running: OpenRun) -> list[tuple[MessageKind, Estimate]]:
    """To the end; what was estimated whenever something was told."""

    async def nobody(_plan: Plan, _breaches: tuple[Breach, ...]) -> PlanAnswer:
        return PlanAnswer()

    estimator = Estimator(running)
    with running.run.hold():
        async with asyncio.timeout(120):
            told = Autopilot(running, nobody, look_seconds=0.2).drive()
            found = [(it.kind, estimator.at(time.time())) async for it in told]
            # The last product is there a moment before its job has written down its end.
            await eventually_async(running.project.jobs.ask, lambda _: nothing_open(running))
            return found


def nothing_open(running: OpenRun) -> bool:
    return not any(it.step in OPEN for it in running.project.jobs.records())


def test_before_anything_was_measured_wall_times_tell_the_latest_moment(root: Path) -> None:
    running = opened(root)

    found = estimate(running, 1000.0)

    # four measurements on two cores, then the sum
    assert found == Estimate(
        seconds_left=2 * MEASURE + TOTAL,
        done_at=1000.0 + 2 * MEASURE + TOTAL,
        critical_path=(PathStep("measure", MEASURE), PathStep("total", TOTAL)),
        basis="walltime limits",
        jobs=5,
    )
    assert estimate(opened(root, cores=4), 0.0).seconds_left == MEASURE + TOTAL


def test_what_is_over_is_not_waited_for(root: Path) -> None:
    running = opened(root)
    one, two, three, four = jobs(running, "measure")

    running.graph.complete([one, two])
    found = estimate(running, 0.0)
    assert (found.seconds_left, found.jobs) == (MEASURE + TOTAL, 3)

    # A failed one takes the sum with it, and one is left.
    running.graph.fail(three)
    found = estimate(running, 0.0)
    assert (found.seconds_left, found.jobs) == (MEASURE, 1)
    assert found.critical_path == (PathStep("measure", MEASURE),)

    running.graph.complete(four)
    assert estimate(running, 7.0) == Estimate(0.0, 7.0, (), "measured", 0)


def test_a_run_on_this_machine_is_estimated_better_and_better_as_it_goes(root: Path) -> None:
    # when: it is driven to its end
    running = opened(root)
    told = asyncio.run(drive(running))

    # then: at first the wall times are all that is known
    assert told[0][0] is MessageKind.BEGUN
    assert told[0][1].basis == "walltime limits"
    assert told[0][1].seconds_left == 2 * MEASURE + TOTAL
    # nothing is left in the end, and never more jobs than before
    left = [it.jobs for _, it in told]
    assert left == sorted(left, reverse=True)
    assert told[-1][0] is MessageKind.OVER
    assert (told[-1][1].seconds_left, told[-1][1].critical_path) == (0.0, ())

    # and what its jobs took is known now, by directory
    project = running.project
    network = running.growth.flow.network
    times = run_times(project, network)
    assert {name: (it.basis, it.jobs) for name, it in times.items()} == {
        "measure": (RunTimeSource.MEASURED, 2),
        "total": (RunTimeSource.MEASURED, 1),
    }
    assert 0.1 <= times["measure"].seconds < MEASURE / 2

    # so a run in a copy of the project, where nothing is done, expects that much
    again = root.parent / "again"
    shutil.copytree(root, again, symlinks=True)
    shutil.rmtree(again / "workspace")
    (again / "workspace").mkdir()
    fresh = opened(again)
    fresh.project.synchronise(full=True)
    expected = estimate(fresh, 0.0)
    assert (expected.basis, expected.jobs) == ("measured", 5)
    assert expected.seconds_left == pytest.approx(
        2 * times["measure"].seconds + times["total"].seconds, abs=0.01
    )

    # given: the marks of jobs are gone, as after `rowtui clean`, or where the cluster has them
    for record in project.jobs.records():
        assert seconds_of_job(root, record.token) is not None
        fence_path(root, record.token).unlink()
        assert seconds_of_job(root, record.token) is None
        ended_path(root, record.token).unlink(missing_ok=True)
    # then: the journal still knows, with the time in the queue, and within the wall time
    queued = measured_times(project)
    assert queued["measure"].basis is RunTimeSource.QUEUED
    assert times["measure"].seconds <= queued["measure"].seconds <= MEASURE


def test_time_that_jobs_have_run_already_counts(root: Path) -> None:
    """Two measurements share a job of the scheduler: they take one after another."""
    # given: both jobs are with the scheduler, and the first began 250 s ago
    running = opened(root, cores=4)
    running.begin()
    project = running.project
    plan = plan_submission(project, project.workflow.named("measure"))
    first, second = plan.jobs
    assert [len(job.directories) for job in plan.jobs] == [2, 2]
    state, _ = reserved(project.state, plan.jobs)
    project.use(state)
    assert sorted(running.graph.activate(jobs(running, "measure"))) == jobs(running, "measure")
    began(root, first.token, at=1000.0)

    # when
    found = estimate(running, 1250.0)

    # then: 350 s are left of its two, and 2 x 300 s of those that have not begun, which nobody
    # knows to share a core; then comes the sum
    assert found.critical_path == (PathStep("measure", 350.0, jobs=2), PathStep("total", TOTAL))
    assert found.seconds_left == 350.0 + TOTAL
    assert found.done_at == 1250.0 + 350.0 + TOTAL

    # What has used up its time may end at any moment, and its fellow has all of its own.
    began(root, second.token, at=1000.0)
    assert estimate(running, 1500.0).critical_path[0] == PathStep("measure", 100.0, jobs=2)
    assert estimate(running, 9000.0).seconds_left == TOTAL
    # A clock that is behind makes nothing longer.
    assert estimate(running, 900.0).critical_path[0] == PathStep("measure", 600.0, jobs=2)


def began(root: Path, token: str, at: float) -> None:
    """What a job does first."""
    path = fence_path(root, token)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to("local:1")
    os.utime(path, (at, at), follow_symlinks=False)


def test_a_fresh_answer_is_given_again_with_the_time_that_has_passed_taken_off(root: Path) -> None:
    running = opened(root)
    estimator = Estimator(running)
    first = estimator.at(1000.0)

    # an instant later: less than any estimate takes to be found, times twenty
    again = estimator.at(1000.0 + 1e-5)
    assert again.done_at == first.done_at
    assert again.seconds_left == pytest.approx(first.seconds_left - 1e-5, abs=1e-6)
    # jobs that ended meanwhile are not waited for
    running.graph.complete(jobs(running, "measure")[0])
    assert estimator.at(1000.0 + 2e-5).jobs == 4
    running.graph.complete(range(5))
    assert estimator.at(1000.0 + 3e-5) == Estimate(0.0, 1000.0 + 3e-5, (), "measured", 0)
    # and after a while everything is found anew
    running.graph.reopen(jobs(running, "total"))
    assert estimator.at(2000.0).seconds_left == TOTAL
