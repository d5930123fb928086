"""Pilots of a project: started, seen, and given work while they run, on this machine's queue."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.project.context.pilots import PilotView, into_pilot, open_pilots, start_pilots
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning.plan_submission import Formed, UsableActions, draft_formed
from rowtui.core.project.planning.requests import choose_requests
from rowtui.core.project.queue.verbs import cancel_jobs
from rowtui.core.submission.bundles.pilot import WantedPilot
from rowtui.core.submission.bundles.pilot_model import Allocation, is_in_pilot
from rowtui.core.submission.plan.make_plan import make_plan
from rowtui.core.submission.plan.model import Plan
from rowtui.core.submission.sending.fence import remove_traces

from tests.eventually import eventually_async

WORKFLOW = """\
[workspace]
value_file = "v.json"

[[action]]
name = "one"
command = "touch {workspace_path}/{directory}/x"
products = ["x"]
group.maximum_size = 1
resources.walltime.per_submission = "00:01:00"

[[action]]
name = "two"
command = "touch {workspace_path}/{directory}/y"
products = ["y"]
previous_actions = ["one"]
group.maximum_size = 1
resources.walltime.per_submission = "00:01:00"
"""
SMALL = Allocation(cpus=2, memory_mb=400, gpus=0, seconds=600, idle_seconds=2)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenProject:
    root = tmp_path / "project"
    for number, name in enumerate("abc"):
        (root / "workspace" / name).mkdir(parents=True)
        (root / "workspace" / name / "v.json").write_text(json.dumps({"v": number}))
    (root / "workflow.toml").write_text(WORKFLOW)
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    monkeypatch.setenv("ROWTUI_LOCAL_DIR", str(tmp_path / "queue"))
    monkeypatch.setenv("ROWTUI_LOCAL_CORES", "4")
    opened = OpenProject.open(root, cluster="local", environment=environment)
    opened.synchronise()
    return opened


async def submit(project: OpenProject, plan: Plan) -> list[str]:
    return [step.error async for step in project.jobs.submit(plan) if step.error]


def for_pilot(project: OpenProject, view: PilotView, name: str) -> Plan:
    """Everything that is eligible for an action, handed to a pilot."""
    actions = [action for action in project.workflow.actions if action.name == name]
    usable = UsableActions(project, actions)
    formed = Formed(choose_requests(project, usable.actions).parts)
    return make_plan(draft_formed(project, usable, formed, into_pilot(project, view)))


async def until(project: OpenProject, holds: Callable[[], bool]) -> None:
    async def look() -> bool:
        found = holds()
        if not found:
            await project.jobs.ask()
        return found

    await eventually_async(look, every=0.1, what=holds)


async def test_a_pilot_takes_what_becomes_ready_while_it_runs(project: OpenProject) -> None:
    assert (await open_pilots(project)).views == ()
    assert await submit(project, start_pilots(project, [WantedPilot(SMALL)])) == []
    (view,) = (await open_pilots(project)).views
    assert (view.cluster, view.free_cpus, view.free_memory_mb, view.running) == ("local", 2, 400, 0)
    assert 500 < view.seconds_left < 600

    everything = project.state.everything
    first = for_pilot(project, view, "one")
    assert [is_in_pilot(job.token) for job in first.jobs] == [True] * 3
    assert await submit(project, first) == []
    await until(project, lambda: project.state.completed["one"] == everything)
    (view,) = (await open_pilots(project)).views
    assert view.begun
    assert await submit(project, for_pilot(project, view, "two")) == []
    await until(project, lambda: project.state.completed["two"] == everything)
    assert {record.job_id for record in project.jobs.records()} == {view.job_id}

    await until(project, lambda: not project.jobs.journal.open_plan_ids())
    assert (await open_pilots(project)).views == ()
    remove_traces(project.root)
    assert not list((project.root / ".row/rowtui/pilot").iterdir())


async def test_to_cancel_requests_does_not_cancel_their_pilot(project: OpenProject) -> None:
    await submit(project, start_pilots(project, [WantedPilot(SMALL._replace(idle_seconds=3))]))
    (view,) = (await open_pilots(project)).views
    plan = for_pilot(project, view, "one")
    assert await submit(project, plan) == []
    await cancel_jobs(project, [job.token for job in plan.jobs])
    await project.jobs.ask()
    (still,) = (await open_pilots(project)).views
    assert still.job_id == view.job_id
    await until(project, lambda: not project.jobs.journal.open_plan_ids())
    assert project.state.submitted == {}


async def test_to_cancel_a_pilot_with_some_of_its_requests_gives_all_of_them_back(
    project: OpenProject,
) -> None:
    await submit(
        project, start_pilots(project, [WantedPilot(SMALL._replace(cpus=1, idle_seconds=60))])
    )
    (view,) = (await open_pilots(project)).views
    plan = for_pilot(project, view, "two")  # nothing is ready for it
    assert plan.jobs == ()
    plan = for_pilot(project, view, "one")
    await submit(project, plan)
    answers = await cancel_jobs(project, [view.token, plan.jobs[0].token])
    assert {answer.error for answer in answers} == {""}
    await until(project, lambda: not project.jobs.journal.open_plan_ids())
    assert (await open_pilots(project)).views == ()
    assert project.state.submitted == {}


def test_a_cluster_that_is_not_there_has_no_pilots(project: OpenProject) -> None:
    with pytest.raises(RowtuiError, match="no cluster 'moon'"):
        start_pilots(project, [WantedPilot(SMALL, "moon")])
