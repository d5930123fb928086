"""A dry run gives the scripts of the plan for the same directories, without the plan."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from rowtui.core.groups import order
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning.plan_submission import draft_submission, plan_submission
from rowtui.core.state.model import LastEnd
from rowtui.core.submission.plan import draft as module
from rowtui.core.submission.plan.draft import Draft
from rowtui.core.submission.plan.planner import PlanError
from rowtui.core.submission.scripts.parts import NameLines

WORKFLOW = """\
[workspace]
value_file = "v.json"

[[action]]
name = "all"
command = "touch {workspace_path}/{directory}/x"
products = ["x"]

[[action]]
name = "some"
command = "echo {/v} {/words}; touch {directory}/y"
products = ["y"]
[action.group]
maximum_size = 2
sort_by = ["/v"]

[[action]]
name = "whole"
command = "if true; then touch {directories}; fi"
products = ["z"]
[action.group]
sort_by = ["/v"]
split_by_sort_key = true
submit_whole = true
"""
NAMES = ["plain", "other", "it's", "two\nlines", "ü", "c"]


def made(tmp_path: Path, names: list[str], workflow: str = WORKFLOW) -> OpenProject:
    for number, name in enumerate(names):
        (tmp_path / "workspace" / name).mkdir(parents=True)
        value = {"v": number // 2, "words": "a 'b' $c"}
        (tmp_path / "workspace" / name / "v.json").write_text(json.dumps(value))
    (tmp_path / "workflow.toml").write_text(workflow)
    return OpenProject.open(tmp_path, cluster="none", environment={"HOME": str(tmp_path)})


def told(project: OpenProject, limit: int | None = None) -> Draft:
    return draft_submission(project, project.workflow.actions, None, limit)


def agrees(project: OpenProject, limit: int | None = None) -> Draft:
    """The dry run, which was seen to say what the plan says."""
    plan = plan_submission(project, project.workflow.actions, None, limit=limit)
    found = told(project, limit)
    assert list(map(without_token, found.scripts())) == [
        without_token(it.script) for it in plan.jobs
    ]
    assert (len(found.jobs), found.cluster.name) == (len(plan.jobs), plan.cluster)
    assert (found.warnings, found.skipped) == (plan.warnings, plan.skipped)
    assert sum(jobs for jobs, _ in found.totals().values()) == len(plan.jobs)
    assert sum(cost.cpu_hours for _, cost in found.totals().values()) == plan.cost.cpu_hours
    return found


def without_token(script: str) -> str:
    return re.sub(r"rowtui_token=[0-9a-f]{16}(-\d+)\n", r"rowtui_token=\1\n", script)


@pytest.mark.parametrize("limit", [None, 1, 3, 5])
def test_a_dry_run_says_what_the_plan_says(tmp_path: Path, limit: int | None) -> None:
    agrees(made(tmp_path, NAMES), limit)


def test_directories_that_failed_are_told_as_in_the_plan(tmp_path: Path) -> None:
    project = made(tmp_path, NAMES)
    failed = {1: LastEnd("none", 7, "token", "exit code 1")}
    project.use(project.state._replace(ends={"some": failed}))
    assert "some: the last job of" in " ".join(agrees(project).warnings)


@pytest.mark.parametrize("names", [["aa", "bb", "cc"], ["aa", "b'", "c\n"], ["a", "bb"]])
def test_names_that_are_taken_as_one_block_are_the_same_ones(
    tmp_path: Path, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given so few directories that only a lower limit brings them to the path of very many
    monkeypatch.setattr(order, "NUMPY_FROM", 1)
    project = made(tmp_path, names)
    agrees(project)


def test_many_plain_names_are_kept_as_lines() -> None:
    lines = NameLines.of(b"a\nb1\n", 2)
    assert lines is not None
    assert (list(lines), lines.text, lines[0], len(lines)) == (["a", "b1"], "a\nb1", "a", 2)
    for bad, count in ((b"a b\n", 1), (b"a\n\n", 2), (b"\na\n", 2), (b"a\nb\n", 1), (b"\xff\n", 1)):
        assert NameLines.of(bad, count) is None


def test_what_stops_a_job_is_found_before_the_first_script(tmp_path: Path) -> None:
    project = made(tmp_path, ["a", "b"], WORKFLOW.replace("{/v}", "{/missing}"))
    found = told(project)
    plan = plan_submission(project, project.workflow.actions)
    assert found.skipped == plan.skipped != ()
    assert "has no /missing" in found.skipped[0]
    with pytest.raises(PlanError):
        draft_submission(project, project.workflow.actions[1:2])


def test_a_script_is_made_when_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = made(tmp_path, [f"d{number}" for number in range(9)], WORKFLOW + "maximum_size = 2\n")
    asked: list[int] = []
    names = module._names_of
    monkeypatch.setattr(module, "_names_of", lambda *given: asked.append(1) or names(*given))
    scripts = told(project).scripts()
    asked.clear()  # bash was shown the first script of each action
    next(scripts)
    assert len(asked) == 1
