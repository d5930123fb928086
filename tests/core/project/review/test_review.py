"""A plan looked over on a real project: its checks, the script before, what is left, its files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.schedulers.base import JobSpec
from rowtui.core.engine.local import InProcessEngine
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning.plan_submission import plan_submission
from rowtui.core.project.review.budgets import account_of, check_budget
from rowtui.core.project.review.review import (
    MOST_ASKED,
    check_dry,
    check_duplicates,
    check_warnings,
)
from rowtui.core.project.review.script_diff import check_scripts, shapes_of
from rowtui.core.project.review.views import CheckState, PlanCheck, asked_for, ranges_of
from rowtui.core.project.review.without import without
from rowtui.core.submission.plan.charges import Balance, ChargedHours
from rowtui.core.submission.plan.json import plan_from_json, plan_id
from rowtui.core.submission.plan.model import InBundle, Plan, PlannedJob

WORKFLOW = """\
[workspace]
value_file = "v.json"

[[action]]
name = "one"
command = "touch {workspace_path}/{directory}/x"
products = ["x"]
group.maximum_size = 1
[[action]]
name = "two"
command = "echo {directories} | cat"
products = ["y"]
group.maximum_size = 2
"""

Make = Callable[..., OpenProject]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    monkeypatch.setenv("ROWTUI_LOCAL_DIR", str(tmp_path / "queue"))

    def made(clusters: str = "", names: int = 4) -> OpenProject:
        root = tmp_path / "project"
        for number in range(names):
            (root / "workspace" / f"d'{number}").mkdir(parents=True)
            (root / "workspace" / f"d'{number}" / "v.json").write_text(str(number))
        (root / "workflow.toml").write_text(WORKFLOW)
        config = tmp_path / ".config" / "rowtui"
        config.mkdir(parents=True)
        (config / "clusters.toml").write_text(clusters)
        environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
        return OpenProject.open(root, cluster="local", environment=environment)

    return made


def planned(project: OpenProject) -> Plan:
    project.synchronise()
    return plan_submission(project, project.workflow.actions)


async def checks_of(engine: InProcessEngine, plan: Plan) -> dict[str, PlanCheck]:
    return {check.name: check async for check in engine.plans.review(plan)}


async def test_every_check_is_pending_at_once_and_then_told(make: Make) -> None:
    budget = '[[cluster]]\nname = "local"\nbudget = { cpu_hours = 10, gpu_hours = 1 }\n'
    project = make(budget)
    engine = InProcessEngine(project)
    plan = planned(project)

    seen = [check async for check in engine.plans.review(plan)]

    first, rest = seen[: len(seen) // 2], seen[len(seen) // 2 :]
    assert {check.state for check in first} == {CheckState.PENDING}
    told = {check.name: check for check in rest}
    assert set(told) == {check.name for check in first}
    assert told["scripts"].state is CheckState.OK
    assert "2 distinct scripts of 6 jobs" in told["scripts"].text
    assert told["dry check"].state is CheckState.OK
    assert told["duplicates"].text == "none of 8 directories is queued already"
    assert told["allocation"].state is CheckState.NOT_OFFERED
    hours, gpus = told["budget"].budgets
    assert (hours.left, hours.unit, hours.jobs) == (10, "CPU-hours", ((0, 6),))
    assert (gpus.left, gpus.unit) == (1, "GPU-hours")
    await engine.close()


async def test_bash_is_asked_once_for_each_shape_whatever_the_number_of_jobs(make: Make) -> None:
    plan = planned(make())
    many = plan._replace(jobs=tuple(plan.jobs[0]._replace(token=f"t{n}") for n in range(5000)))
    asked: list[str] = []

    def complain(script: str) -> str:
        asked.append(script)
        return "line 3: no"

    found = await check_scripts(many, {}, complain)

    assert len(asked) == 1
    assert (found.state, found.findings[0].jobs) == (CheckState.FAILED, ((0, 5000),))
    assert "line 3: no" in found.findings[0].text


async def test_a_script_that_bash_cannot_read_names_its_jobs(make: Make) -> None:
    plan = planned(make())
    broken = plan.jobs[5]._replace(script=plan.jobs[5].script + "\nif then\n")
    found = await check_scripts(plan._replace(jobs=(*plan.jobs[:5], broken)), {})
    assert [it.jobs for it in found.findings] == [((5, 6),)]
    assert "syntax error" in found.findings[0].text


async def test_the_dry_check_asks_about_one_job_of_each_kind_and_not_about_too_many(
    make: Make,
) -> None:
    project = make()
    plan = planned(project)
    wide = tuple(
        plan.jobs[0]._replace(token=f"t{n}", cpus=1 if n < 3 else 1000 + n) for n in range(16)
    )
    asked: list[JobSpec] = []
    scheduler = project.connections.scheduler("local")
    assert scheduler is not None
    really = scheduler.test_only

    async def test_only(job: JobSpec) -> object:
        asked.append(job)
        return await really(job)

    scheduler.test_only = test_only  # type: ignore[method-assign, assignment]
    found = await check_dry(plan._replace(jobs=wide), lambda _: scheduler, {}, project.root)

    assert len(asked) == MOST_ASKED
    assert found.text == f"asked about {MOST_ASKED} jobs of 14 kinds"
    assert found.state is CheckState.FAILED
    assert found.findings[0].jobs == ((0, 3),)
    assert "the job asks for 1,003 CPUs" in found.findings[1].text

    why = "alpha is not connected: L logs in"
    untold = await check_dry(plan, lambda _: why, {}, project.root)
    assert (untold.state, untold.text) == (CheckState.NOT_OFFERED, why)


def test_what_stands_twice_fails_and_what_is_submitted_already_is_a_warning(make: Make) -> None:
    project = make()
    plan = planned(project)
    twice = plan._replace(jobs=(plan.jobs[0], plan.jobs[1], plan.jobs[0]))
    found = check_duplicates(project, twice)
    assert found.state is CheckState.FAILED
    assert [it.text for it in found.findings] == ["job 3: d'0 stand in job 1 too"]


async def test_once_it_is_sent_its_hours_are_spent_and_its_scripts_are_those_before(
    make: Make,
) -> None:
    project = make()
    engine = InProcessEngine(project)
    plan = planned(project)
    asked = asked_for(plan.jobs[:1], "local", plan.id)
    assert await engine.plans.script_before(asked) is None

    left = await engine.plans.without(plan, [job.token for job in plan.jobs[1:]])
    steps = []
    async for step in engine.plans.submit(left):
        steps.append(step)
        await engine.plans.script_before(asked)  # what is known by now is not what is known later

    assert steps[-1].became is not None
    assert "left out by hand: 5 jobs" in left.skipped
    charged = ChargedHours(project.jobs.journal, project.jobs.table.plan).on(["local"])
    assert charged["local"] == left.cost
    balance = Balance(left.cost.cpu_hours, None, charged["local"])
    check = check_budget(plan, {"local": balance})
    assert check.budgets[0].left == 0
    again = plan.jobs[1]._replace(destination=plan.jobs[1].destination)
    before = await engine.plans.script_before(asked_for((again,), "local", "another"))
    assert before is not None
    assert before.script == left.jobs[0].script
    assert await engine.plans.script_before(asked_for((again,), "local", left.id)) is None
    assert await engine.plans.script_before(asked_for(plan.jobs[-1:], "local", "another")) is None
    queued = check_duplicates(project, plan)
    assert queued.state is CheckState.WARNING
    assert "d'0 submitted already (local/" in queued.findings[0].text
    async for _ in engine.changes():  # until the job has ended
        if not any(view.state.active for view in (await engine.jobs.view(now=True)).jobs):
            break
    await engine.close()


async def test_a_plan_is_written_to_a_folder_and_nothing_is_overwritten_unasked(
    make: Make,
) -> None:
    project = make()
    engine = InProcessEngine(project)
    plan = planned(project)
    first = await engine.plans.export(plan, "out")
    folder = Path(first.folder)
    assert (folder.parent, first.files) == (project.root, 7)
    assert plan_from_json((folder / "plan.json").read_bytes()) == plan
    assert (folder / "1-one-d_0.sh").read_text() == plan.jobs[0].script
    (folder / "plan.json").write_text("mine")
    second = await engine.plans.export(plan, str(folder))
    assert (second.files, second.there[0]) == (0, "plan.json")
    assert (folder / "plan.json").read_text() == "mine"
    await engine.plans.export(plan, str(folder), overwrite=True)
    assert json.loads((folder / "plan.json").read_text())["id"] == plan.id
    (project.root / "file").write_text("")
    with pytest.raises(RowtuiError, match="cannot be written"):
        await engine.plans.export(plan, "file")
    await engine.close()


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """Six jobs: 1 needs 0, 2 needs 1, 4 and 5 share a bundle with 3."""
    monkey = tmp_path_factory.mktemp("chain")
    root = monkey / "project"
    for number in range(6):
        (root / "workspace" / f"d{number}").mkdir(parents=True)
    (root / "workflow.toml").write_text(WORKFLOW.replace('value_file = "v.json"', ""))
    project = OpenProject.open(root, cluster="local", environment={"HOME": str(monkey)})
    project.synchronise()
    plan = plan_submission(project, project.workflow.actions[:1])
    jobs = list(plan.jobs)
    jobs[1] = jobs[1]._replace(depends_on=(jobs[0].token,))
    jobs[2] = jobs[2]._replace(depends_on=(jobs[1].token,))
    for at in (3, 4, 5):
        place = InBundle("b", "half", 2, None, 0, 60, False, at % 2, 30)
        jobs[at] = jobs[at]._replace(token=f"b~{at - 3}", bundle=place)
    made = plan._replace(jobs=tuple(jobs))
    return made._replace(id=plan_id(made))


@given(off=st.sets(st.integers(0, 5)))
def test_what_is_left_needs_nothing_that_is_gone_and_costs_what_it_holds(
    chain: Plan, off: set[int]
) -> None:
    gone = {chain.jobs[at].token for at in off}
    if len(off) == 6 or {0, 3, 4, 5} <= off:
        with pytest.raises(RowtuiError, match="every job"):
            without(chain, gone)
        return
    left = without(chain, gone)
    tokens = {job.token for job in left.jobs}
    assert tokens.isdisjoint(gone)
    assert all(token in tokens for job in left.jobs for token in job.depends_on)
    assert left.cost.cpu_hours == pytest.approx(sum(job.cost.cpu_hours for job in left.jobs))
    assert [job for job in chain.jobs if job.token in tokens] == list(left.jobs)
    assert left.id == plan_id(left)
    assert (left is chain) == (not off)
    lost = 6 - len(left.jobs) - len(off)
    assert any(f"and {lost:,} that depend" in text for text in left.skipped) == bool(lost)


@given(st.sets(st.integers(0, 60)))
def test_ranges_hold_exactly_the_positions(positions: set[int]) -> None:
    ranges = ranges_of(sorted(positions))
    assert {at for first, last in ranges for at in range(first, last)} == positions
    assert all(a[1] < b[0] for a, b in pairwise(ranges))


def test_shapes_of_bundles_and_arrays_are_asked_about_as_they_go_out(chain: Plan) -> None:
    shapes = shapes_of(chain, {"local": "local"})
    assert [shape.jobs for shape in shapes] == [((0, 6),), ((3, 6),)]
    assert "rowtui_lanes=(" in shapes[1].script


def test_a_warning_names_all_jobs_that_have_it(chain: Plan) -> None:
    jobs: list[PlannedJob] = [job._replace(warnings=("odd",)) for job in chain.jobs[:2]]
    found = check_warnings(chain._replace(jobs=(*jobs, *chain.jobs[2:])))
    assert [(it.text, it.jobs) for it in found.findings] == [("odd", ((0, 2),))]


@pytest.mark.parametrize(
    ("line", "account"),
    [("--account=ab12", "ab12"), ("-A ab12", "ab12"), ("--time=3", ""), ("-Aab", "ab")],
)
def test_the_account_is_the_one_of_the_header(line: str, account: str) -> None:
    assert account_of(f"#!/bin/bash\n#SBATCH {line}\n\n#SBATCH --account=no\n") == account
