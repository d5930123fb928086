"""A queue that many people share is not asked again and again, however much happens on disk."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from rowtui.core.engine.local import InProcessEngine
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning.plan_submission import plan_submission
from rowtui.core.project.queue.queues import POLL_VARIABLE

from tests.eventually import eventually_async
from tests.rig.slurm import SlurmCluster

WORKFLOW = """\
[[action]]
name = "wait"
command = "while ! [ -e finish ]; do sleep 0.1; done; touch workspace/{directory}/out"
products = ["out"]
group.maximum_size = 1
"""


@pytest.fixture
def project(
    slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> OpenProject:
    root = slurm.work / request.node.name
    (root / "workspace" / "a").mkdir(parents=True)
    (root / "workspace" / "b").mkdir()
    (root / "workflow.toml").write_text(WORKFLOW)
    # A squeue that counts how often it is called, in front of the real one.
    folder = root / "bin"
    folder.mkdir()
    squeue = shutil.which("squeue")
    (folder / "squeue").write_text(f'#!/bin/sh\necho "$@" >> {root}/calls\nexec {squeue} "$@"\n')
    (folder / "squeue").chmod(0o755)
    for name, value in slurm.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    monkeypatch.setenv("XDG_CACHE_HOME", str(root / "cache"))
    monkeypatch.setenv(POLL_VARIABLE, "60")
    project = OpenProject.open(root)
    project.synchronise()
    assert project.cluster.scheduler == "slurm"
    return project


def calls(project: OpenProject) -> int:
    path = Path(project.root) / "calls"
    # Exit codes of failed jobs, which other tests leave in this queue, are asked for once.
    lines = path.read_text().splitlines() if path.exists() else []
    return sum("--me" in line and "-t F " not in line for line in lines)


async def test_a_shared_queue_is_asked_once_for_all(
    project: OpenProject, slurm: SlurmCluster
) -> None:
    # given two jobs that run, which were verified when they were sent
    plan = plan_submission(project, project.workflow.actions)
    async for _ in project.jobs.submit(plan):
        pass
    before = calls(project)
    # when much happens on disk, and a second program has the same project open
    await project.jobs.ask()
    other = OpenProject.open(project.root)
    for _ in range(5):
        await project.jobs.ask()
        view = await project.jobs.view()
        await other.jobs.ask()
    # then the queue was asked once, and what it said is still shown
    assert calls(project) == before + 1
    assert {job.state.active for job in view.jobs} == {True}
    (cluster,) = view.clusters
    assert cluster.name == slurm.name
    assert cluster.where == "here"
    # and what the jobs report themselves is seen without asking
    (project.root / "finish").touch()
    for job in view.jobs:
        slurm.wait_for(job.job_id, "COMPLETED")
    project.synchronise()
    assert project.state.completed == {"wait": 0b11}
    assert calls(project) == before + 1


async def test_a_queue_without_an_interval_is_asked_each_time(
    project: OpenProject, slurm: SlurmCluster
) -> None:
    project.environment[POLL_VARIABLE] = "0"
    await project.jobs.queues.ask()
    before = calls(project)

    await project.jobs.queues.ask()

    assert calls(project) == before + 1


async def test_jobs_that_were_sent_since_the_last_look_are_left_to_the_next(
    project: OpenProject,
) -> None:
    await project.jobs.queues.ask()
    async for _ in project.jobs.submit(plan_submission(project, project.workflow.actions)):
        pass
    before = calls(project)

    view = await OpenProject.open(project.root).jobs.view(now=False)

    assert calls(project) == before
    assert {(job.state.value, job.reason) for job in view.jobs} == {
        ("pending", "sent since the queue was last asked")
    }
    (project.root / "finish").touch()


async def test_only_some_clusters_are_asked_on_demand(project: OpenProject) -> None:
    view = await project.jobs.view(among=["local"])
    assert [cluster.name for cluster in view.clusters] == ["local"]
    assert calls(project) == 0


async def test_the_dashboard_asks_the_queue_once_soon_after_a_submission(
    project: OpenProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rowtui.core.engine.local.polling.START_SECONDS", 0.0)
    engine = InProcessEngine(project)
    await engine.refresh()
    await engine.jobs.view()  # the next look is due in a minute
    async for _ in engine.plans.submit(plan_submission(project, project.workflow.actions)):
        pass
    before = calls(project)

    view = await eventually_async(
        engine.jobs.view,
        lambda view: all(job.reason != "sent since the queue was last asked" for job in view.jobs),
    )

    assert len(view.jobs) == 2
    for _ in range(3):
        await engine.jobs.view()
    assert calls(project) == before + 1
    (project.root / "finish").touch()
    await engine.close()
