"""One project whose mapping files send its jobs to two clusters over SSH, from one plan."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning.plan_submission import plan_submission

from tests.eventually import eventually_async
from tests.rig.login import LoginNode

WORKFLOW = """\
[[action]]
name = "small"
command = "cat $SLURM_CONF > workspace/{directory}/where; touch workspace/{directory}/small"
products = ["small"]
group.maximum_size = 1

[[action]]
name = "large"
command = "cat $SLURM_CONF > workspace/{directory}/where; touch workspace/{directory}/large"
products = ["large"]
group.maximum_size = 1
"""
MAPPING = """\
tools:
  small: {scheduling: {require: [alpha]}}
  large: {scheduling: {require: [beta]}}
destinations:
  cpu: {runner: alpha, scheduling: {accept: [alpha]}, params: {partition: cpu}}
  batch: {runner: beta, scheduling: {accept: [beta]}, params: {partition: batch}}
"""
CLUSTERS = """\
[[cluster]]
name = "alpha"
arrays = false
[cluster.ssh]
host = "alpha"
config = ["{config}"]
paths = [{{ local = "/", remote = "/" }}]

[[cluster]]
name = "beta"
[cluster.ssh]
host = "beta"
transport = "openssh"
config = ["{config}"]
paths = [{{ local = "/", remote = "/" }}]
"""


@pytest.fixture
def project(
    two_logins: tuple[LoginNode, LoginNode], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> OpenProject:
    alpha, _ = two_logins
    home = tmp_path / "home"
    (home / ".config/rowtui/mapping").mkdir(parents=True)
    (home / ".config/rowtui/mapping/mine.yml").write_text(MAPPING)
    text = CLUSTERS.format(config=alpha.ssh_config)
    (home / ".config/rowtui/clusters.toml").write_text(text)
    monkeypatch.setenv("HOME", str(home))
    for name in [name for name in os.environ if name.startswith("XDG_")]:
        monkeypatch.delenv(name)
    root = alpha.cluster.work / tmp_path.name
    for name in ("a", "b"):
        (root / "workspace" / name).mkdir(parents=True)
    (root / "workflow.toml").write_text(WORKFLOW)
    project = OpenProject.open(root, cluster="alpha")
    project.synchronise()
    return project


async def test_one_plan_goes_to_two_clusters_over_ssh(project: OpenProject) -> None:
    # given clusters that nobody described but themselves
    await project.connections.prepare()
    # when everything is planned and sent
    plan = plan_submission(project, project.workflow.actions)
    assert plan.skipped == ()
    assert {(job.action, str(job.destination)) for job in plan.jobs} == {
        ("small", "alpha/cpu"),
        ("large", "beta/batch"),
    }
    assert {bool(job.array) for job in plan.jobs if job.action == "large"} == {True}
    assert {job.array for job in plan.jobs if job.action == "small"} == {""}
    steps = [step async for step in project.jobs.submit(plan)]
    assert [step.error for step in steps if step.error] == []
    # then each cluster ran its own, and both queues are in one view
    view = await eventually_async(
        lambda: project.jobs.view(everywhere=True),
        lambda view: not any(job.state.active for job in view.jobs),
        every=0.1,
    )
    assert {job.state for job in view.jobs} == {JobState.COMPLETED}
    assert {cluster.name for cluster in view.clusters} >= {"alpha", "beta", "local"}
    assert {cluster.where for cluster in view.clusters} >= {"alpha", "beta", "here"}
    assert project.state.completed == {"small": 0b11, "large": 0b11}
    for name in ("a", "b"):
        where = (project.root / "workspace" / name / "where").read_text()
        assert "ClusterName=" in where
    await project.let_go()
