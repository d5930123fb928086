"""What is left of a network may cost what its jobs ask for, in whatever groups they go."""

from __future__ import annotations

from pathlib import Path

import pytest
from rowtui.core.base.text import Cost
from rowtui.core.network.definition.spec import Schedule
from rowtui.core.network.graph.dynamic_graph import Growth
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning.asked import AmountsOfJobs
from rowtui.core.runs.limits.asked import GraphAmounts, JobKind, kind_of_jobs
from rowtui.core.runs.limits.spending import RemainingCost, left_of, work_left
from rowtui.core.runs.snapshot import read_study

WORKFLOW = """
[[action]]
name = "each"
command = "true {directory}"
products = ["each.json"]
[action.resources]
processes.per_submission = 2
walltime.per_directory = "00:30:00"
[[action]]
name = "groups"
command = "true {directory}"
products = ["groups.json"]
[action.group]
maximum_size = 4
[action.resources]
gpus_per_process = 1
walltime.per_submission = "01:00:00"
"""
NETWORK = """
[[source]]
name = "sample"
[source.values]
x = [1, 2, 3]

[[node]]
name = "each"
from = "sample"
"""


@pytest.fixture(autouse=True)
def large_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROWTUI_LOCAL_CORES", "64")
    monkeypatch.setenv("ROWTUI_LOCAL_GPUS", "64")


@pytest.fixture
def project(tmp_path: Path) -> OpenProject:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workflow.toml").write_text(f'[workspace]\nvalue_file = "value.json"\n{WORKFLOW}')
    (tmp_path / "network.toml").write_text(NETWORK)
    return OpenProject.open(tmp_path, cluster="local")


def kind(project: OpenProject, action: str, directories: int) -> JobKind:
    (found,) = project.workflow.named(action)
    return kind_of_jobs(AmountsOfJobs(project, project.mapping_in_use()), "n", found, directories)


def left(project: OpenProject, *, anew: bool = False, **states: int) -> RemainingCost:
    """Of three jobs; `states`: how many are complete, or failed."""
    growth = Growth(read_study(project).flow)
    jobs = list(map(int, growth.jobs("each")))
    growth.graph.complete(jobs[: states.get("complete", 0)])
    for job in jobs[3 - states.get("failed", 0) :]:
        growth.graph.fail(job, "no")
    return work_left(growth, GraphAmounts(project, growth).now(), "jobs", anew=anew)


def test_only_jobs_that_wait_or_are_ready_are_left(project: OpenProject) -> None:
    assert left(project) == RemainingCost(3, Cost(3.0, 0.0))
    assert left(project, complete=1, failed=1) == RemainingCost(1, Cost(1.0, 0.0))


def test_what_may_go_in_groups_may_go_alone(project: OpenProject) -> None:
    found = left_of([(kind(project, "groups", 9), 9)], "jobs", Schedule())

    assert found.cost == Cost(0.0, 9.0)


def test_a_new_run_tries_again_what_failed(project: OpenProject) -> None:
    found = left(project, anew=True, failed=2)

    assert (found.jobs, found.cost) == (3, Cost(3.0, 0.0))
