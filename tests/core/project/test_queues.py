"""A queue that many people share is not asked again and again, however much happens on disk."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.project.project import Project
from rowtui.core.project.queues import AFTER_SUBMISSION_SECONDS

from tests.rig.slurm import SlurmCluster

WORKFLOW = """\
[[action]]
name = "wait"
command = "while ! [ -e finish ]; do sleep 0.1; done; touch workspace/{directory}/out"
products = ["out"]
group.maximum_size = 1
"""


class Clock:
    """A steady clock that only moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def project(slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch) -> Project:
    root = slurm.work / "patient"
    (root / "workspace" / "a").mkdir(parents=True)
    (root / "workspace" / "b").mkdir()
    (root / "workflow.toml").write_text(WORKFLOW)
    # A squeue that counts how often it is called, in front of the real one.
    folder = root / "bin"
    folder.mkdir()
    squeue = shutil.which("squeue")
    (folder / "squeue").write_text(f'#!/bin/sh\necho >> {root}/calls\nexec {squeue} "$@"\n')
    (folder / "squeue").chmod(0o755)
    for name, value in slurm.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    project = Project.open(root)
    project.synchronise()
    assert project.cluster.scheduler == "slurm"
    return project


def calls(project: Project) -> int:
    path = Path(project.root) / "calls"
    return len(path.read_text().splitlines()) if path.exists() else 0


async def test_a_shared_queue_is_asked_once_within_patience(
    project: Project, slurm: SlurmCluster
) -> None:
    # given two jobs that run, and a dashboard's patience
    queues = project.jobs.queues
    queues.patience, queues.clock = 30.0, (clock := Clock())
    plan = project.plan(project.workflow.actions)
    async for _ in project.jobs.submit(plan):
        pass
    # when much happens on disk
    await project.jobs.ask()
    first = calls(project)
    for _ in range(5):
        await project.jobs.ask()
        view = await project.jobs.view()
    # then the queue was asked once, and what it said is still shown
    assert first == calls(project) == 1
    assert {job.state.active for job in view.jobs} == {True}
    # and again after patience is over, soon after a submission, or when a person insists
    clock.now += 31
    await project.jobs.ask()
    assert calls(project) == 2
    queues.submitted(slurm.name)
    clock.now += AFTER_SUBMISSION_SECONDS
    await project.jobs.ask()
    assert calls(project) == 3
    await queues.ask(now=True)
    assert calls(project) == 4
    (project.root / "finish").touch()
    for job in view.jobs:
        slurm.wait_for(job.record.job_id, "COMPLETED")
    clock.now += 31
    view = await project.jobs.view()
    assert {job.state for job in view.jobs} == {JobState.COMPLETED}
    assert project.state.completed == {"wait": 0b11}
