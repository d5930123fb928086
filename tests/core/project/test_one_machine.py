"""A job that this machine can never run: every answer says so, and no other job is kept back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from rowtui.core.groups.model import Status
from rowtui.core.project.explaining import explain_group
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning.plan_submission import plan_submission
from rowtui.core.submission.plan.model import RefusedAt

WORKFLOW = """\
[[action]]
name = "large"
command = "true {directory}"
resources = { processes.per_submission = 1, gpus_per_process = 1 }
[[action]]
name = "small"
command = "true {directory}"
"""
MAPPING = """\
destinations:
  here: { runner: local }
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenProject:
    monkeypatch.setenv("ROWTUI_LOCAL_GPUS", "0")
    (tmp_path / "workspace" / "d").mkdir(parents=True)
    (tmp_path / "workflow.toml").write_text(WORKFLOW)
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    return OpenProject.open(tmp_path, cluster="local", environment=environment)


@pytest.mark.parametrize("mapping", ["", MAPPING], ids=["without", "with mapping files"])
def test_a_job_with_a_gpu_has_no_place_on_a_machine_without(
    project: OpenProject, mapping: str
) -> None:
    if mapping:
        own = project.root / ".config" / "rowtui" / "mapping"  # the user's: it needs no trust
        own.mkdir(parents=True)
        (own / "here.yml").write_text(mapping)

    plan = plan_submission(project, project.workflow.actions)
    explained = explain_group(
        project,
        project.workflow.actions[0],
        project.cut(project.workflow.actions[0], tuple(Status)).page(),
        0,
    )

    assert [job.action for job in plan.jobs] == ["small"]
    (refused,) = plan.refused
    assert (refused.action, refused.jobs) == ("large", (("d",),))
    assert refused.stage is (RefusedAt.MAPPING if mapping else RefusedAt.MACHINE)
    assert explained.decision is not None
    assert not explained.decision.chosen.chosen
    assert "asks 1 GPU, the machine has 0" in explained.decision.chosen.message
