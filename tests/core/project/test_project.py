"""A project on a real folder: statuses, groups, plans, and jobs on this machine's own queue."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from rowtui.core.base.errors import NoProjectError, RowtuiError, WorkflowError
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.groups.model import Status
from rowtui.core.groups.status import StatusCounts, status_counts
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning.plan_submission import plan_submission
from rowtui.core.project.queue.verbs import cancel_jobs
from rowtui.core.project.scan import look_again, scan
from rowtui.core.state.model import Submitted
from rowtui.core.state.row.postcard import decode_completed, decode_submitted
from rowtui.core.state.store.stored import Stored
from rowtui.core.submission.plan.model import JobStep
from rowtui.core.submission.plan.planner import PlanError

from tests.eventually import eventually_async

WORKFLOW = """\
[workspace]
value_file = "v.json"

[[action]]
name = "one"
command = "echo ran >> {workspace_path}/{directory}/runs; touch {workspace_path}/{directory}/x"
products = ["x"]
[action.group]
sort_by = ["/v"]
reverse_sort = true
maximum_size = 2

[[action]]
name = "two"
command = "touch {workspace_path}/{directory}/y"
products = ["y"]
previous_actions = ["one"]
"""


@dataclass(frozen=True)
class Home:
    """A project folder and the environment in which it is opened, with a queue of its own."""

    root: Path
    environment: dict[str, str]

    def open(self, cluster: str | None = "local") -> OpenProject:
        return OpenProject.open(self.root, cluster=cluster, environment=self.environment)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    root = tmp_path / "project"
    for number, name in enumerate("abc"):
        (root / "workspace" / name).mkdir(parents=True)
        (root / "workspace" / name / "v.json").write_text(json.dumps({"v": number}))
    (root / "workflow.toml").write_text(WORKFLOW)
    monkeypatch.setenv("ROWTUI_LOCAL_DIR", str(tmp_path / "queue"))
    return Home(root, {"HOME": str(tmp_path), "PATH": os.environ["PATH"]})


async def submitted(project: OpenProject, names: str | None = None) -> list[str]:
    """Submit what is eligible and return the tokens."""
    among = None
    if names is not None:
        positions = [project.state.directories.position(name) for name in names]
        among = [position for position in positions if position is not None]
    plan = plan_submission(project, project.workflow.actions, among)
    steps = [step async for step in project.jobs.submit(plan)]
    assert not any(step.error for step in steps)
    return [job.token for job in plan.jobs]


async def all_ended(project: OpenProject, tokens: list[str]) -> None:
    folder = project.store.folder / "ended"
    await eventually_async(
        lambda: all((folder / token).exists() for token in tokens), what="the jobs to end"
    )
    await eventually_async(
        project.jobs.view, lambda view: not any(job.state.active for job in view.jobs)
    )


def counts(project: OpenProject, index: int = 0) -> StatusCounts:
    return status_counts(project.status_table().rows[index])


def test_a_project_is_found_from_any_folder_below_it(home: Home) -> None:
    below = home.root / "workspace" / "a"
    assert OpenProject.open(below, environment=home.environment).root == home.root
    with pytest.raises(NoProjectError):
        OpenProject.open(home.root.parent, environment=home.environment)


def test_statuses_and_groups_follow_the_workflow(home: Home) -> None:
    project = home.open()
    one, two = project.workflow.actions
    names = project.state.directories
    groups = project.cut(one, (Status.ELIGIBLE,)).page()
    assert [[names.name(at) for at in group.indices] for group in groups] == [["c", "b"], ["a"]]
    assert counts(project) == (0, 0, 3, 0, 0, 0, 0)
    assert counts(project, 1) == (0, 0, 0, 3, 0, 0, 0)
    assert project.cut(two, (Status.ELIGIBLE,)).page() == ()


def test_a_plan_says_everything_and_sends_nothing(home: Home) -> None:
    project = home.open()
    plan = plan_submission(project, project.workflow.actions)
    assert [job.directories for job in plan.jobs] == [("c", "b"), ("a",)]
    assert {job.destination.cluster for job in plan.jobs} == {"local"}
    assert [
        job.directories for job in plan_submission(project, project.workflow.actions, limit=1).jobs
    ] == [("c", "b")]
    (only,) = plan_submission(project, project.workflow.actions, only={0: {1}}).jobs
    assert only.directories == ("a",)
    assert project.jobs.records() == []
    assert not (home.root / ".row/rowtui/plans").exists()


async def test_jobs_go_from_plan_to_completion_and_row_sees_each_step(home: Home) -> None:
    project = home.open()
    tokens = await submitted(project)
    project.close()
    in_row = decode_submitted((home.root / ".row/submitted.postcard").read_bytes())
    assert set(in_row["one"]) == {b"a", b"b", b"c"}
    assert counts(project) == (0, 3, 0, 0, 0, 0, 0)

    await all_ended(project, tokens)
    assert counts(project) == (3, 0, 0, 0, 0, 0, 0)
    assert counts(project, 1) == (0, 0, 3, 0, 0, 0, 0)
    project.close()
    completed = decode_completed((home.root / ".row/completed.postcard").read_bytes())
    assert set(completed["one"]) == {b"a", b"b", b"c"}
    # And whoever opens the project anew sees the same.
    again = home.open()
    again.synchronise()
    assert counts(again) == (3, 0, 0, 0, 0, 0, 0)
    records = again.jobs.records()
    assert {record.token for record in records} == set(tokens)
    assert {record.step for record in records} == {JobStep.ENDED}


async def test_a_job_that_fails_marks_its_directories_and_says_why(home: Home) -> None:
    (home.root / "workflow.toml").write_text(WORKFLOW.replace("echo ran", "echo no >&2; exit 3;"))
    project = home.open()
    (token,) = await submitted(project, "a")
    await all_ended(project, [token])
    assert counts(project) == (0, 0, 3, 0, 1, 0, 0)
    (job,) = (await project.jobs.view()).jobs
    assert job.state is JobState.FAILED
    assert job.reason == "exit code 3 in directory a"
    assert any(job.reason in notice for notice in project.take_notices())
    assert (await project.jobs.log_tail(token, 100)).lines[0] == "no"


async def test_a_job_can_be_cancelled_and_its_directories_are_free_again(home: Home) -> None:
    slow = "touch began; sleep 600; echo ran"
    (home.root / "workflow.toml").write_text(WORKFLOW.replace("echo ran", slow))
    project = home.open()
    (token,) = await submitted(project, "a")
    # Its command runs: before that a signal may end it without a word from the job itself.
    await eventually_async((home.root / "began").exists)
    (result,) = await cancel_jobs(project, [token])
    assert result.error == ""
    await all_ended(project, [token])
    assert counts(project) == (0, 0, 3, 0, 0, 0, 1)
    (job,) = (await project.jobs.view()).jobs
    assert job.state is JobState.CANCELLED
    (again,) = await cancel_jobs(project, ["nobody-0"])
    assert "no id" in again.error


async def test_two_plans_for_the_same_directories_send_them_once(home: Home) -> None:
    first, second = home.open(), home.open()
    plans = [plan_submission(project, project.workflow.actions) for project in (first, second)]
    steps = []
    for project, plan in zip((first, second), plans, strict=True):
        steps.append([step async for step in project.jobs.submit(plan)])
    assert len(steps[1]) == len(plans[1].jobs) == 2
    assert all(step.message.startswith("skipped") for step in steps[1])
    # what was never sent is no job: the queue lists those of the first plan alone
    listed = {job.token for job in (await second.jobs.view()).jobs}
    assert listed == {job.token for job in plans[0].jobs}
    await all_ended(first, [job.token for job in plans[0].jobs])
    for name in "abc":
        assert (home.root / f"workspace/{name}/runs").read_text() == "ran\n"


def test_the_workflow_is_read_again_when_it_changed(home: Home) -> None:
    project = home.open()
    project.synchronise()
    (home.root / "workflow.toml").write_text(WORKFLOW.replace('"two"', '"three"'))
    project.reload_workflow_if_changed()
    project.synchronise()
    assert [action.name for action in project.workflow.actions] == ["one", "three"]

    # A broken one is refused; the project goes on with what it had.
    (home.root / "workflow.toml").write_text(WORKFLOW[:50])
    with pytest.raises(WorkflowError):
        project.reload_workflow_if_changed()
    assert [action.name for action in project.workflow.actions] == ["one", "three"]
    assert counts(project) == (0, 0, 3, 0, 0, 0, 0)


def test_an_action_from_before_a_change_of_the_workflow_does_not_stay(home: Home) -> None:
    project = home.open()
    project.synchronise()
    before = project.workflow.actions[1]
    text = WORKFLOW.replace("touch {workspace_path}/{directory}/y", "make {directory}/y")
    (home.root / "workflow.toml").write_text(
        text + 'group.include = [{ condition = ["/v", ">", 0] }]\n'
    )
    project.reload_workflow_if_changed()
    project.synchronise()

    late = project.status_row(before)  # by a view that had asked before
    row = project.status_row(project.workflow.actions[1])

    assert late.action is before
    assert row.action == project.workflow.actions[1]
    assert (late.waiting.bit_count(), row.waiting.bit_count()) == (3, 2)


def test_one_bad_action_stops_no_other(home: Home) -> None:
    extra = '[[action]]\nname = "bad"\ncommand = "x {directory}"\nlaunchers = ["nolauncher"]\n'
    (home.root / "workflow.toml").write_text(WORKFLOW + extra)
    project = home.open()
    plan = plan_submission(project, project.workflow.actions)
    assert {job.action for job in plan.jobs} == {"one"}
    assert any("nolauncher" in sentence for sentence in plan.skipped)
    with pytest.raises(PlanError, match="nolauncher"):
        plan_submission(project, project.workflow.actions[2:])


def test_an_unknown_cluster_is_an_error_that_names_the_known_ones(home: Home) -> None:
    project = home.open("locl")
    with pytest.raises(RowtuiError, match="cluster 'locl' not found"):
        plan_submission(project, project.workflow.actions)
    # What needs no cluster goes on.
    assert counts(project) == (0, 0, 3, 0, 0, 0, 0)


def test_a_look_never_takes_back_what_a_job_completed_since_the_records_were_read(
    home: Home,
) -> None:
    def runs(stored: Stored) -> Stored:
        job = {"one": {0: Submitted("local", 7, "t")}}
        return stored._replace(state=stored.state._replace(submitted=job))

    def ends(stored: Stored) -> Stored:
        completed = {**stored.state.completed, "one": 0b001}
        return stored._replace(state=stored.state._replace(submitted={}, completed=completed))

    watching, other = home.open(), home.open()
    watching.synchronise()
    watching.use(watching.store.commit(runs).state)
    (home.root / "workspace" / "a" / "x").touch()
    other.store.commit(ends)

    look_again(watching, [b"a"])  # it does not know yet that the job has ended

    watching.synchronise()
    assert watching.state.completed["one"] == 0b001
    (home.root / "workspace" / "a" / "x").unlink()
    look_again(watching, [b"a"])
    assert watching.state.completed["one"] == 0


def test_a_scan_stages_nothing_for_row_where_row_has_no_file_and_gets_none(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rowtui.core.state.row.export.EXPORT_BELOW", 0)
    monkeypatch.setattr("rowtui.core.project.scan.EXPORT_BELOW", 0)
    folder = home.root / ".row" / "completed"
    first = home.open()
    first.synchronise()
    first.close()
    (home.root / "workspace" / "b" / "x").touch()

    found = scan(home.open())
    assert (found.found, len(list(folder.iterdir()))) == ({"one": 1}, 1)

    again = home.open()
    assert (scan(again), len(list(folder.iterdir()))) == (found, 1)
    assert again.state.completed["one"] == 0b010
