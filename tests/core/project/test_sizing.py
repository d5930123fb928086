"""What measured jobs of a project lead to: changes of workflow.toml, what-ifs, times, costs."""

from __future__ import annotations

from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.schedulers.measured import MeasuredBy, Used
from rowtui.core.mapping.files.places import user_places
from rowtui.core.mapping.files.trust import TrustStore
from rowtui.core.mapping.model.request import Amounts, WhatIf
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning.plan_submission import plan_submission
from rowtui.core.project.sizing.measured import expected_cost, measured_walltimes
from rowtui.core.project.sizing.write_sizes import edit_for_sizes
from rowtui.core.project.views.views import EditRequest
from rowtui.core.project.workflow_edit import edit_back, last_written
from rowtui.core.runs.limits.run_times import RunTimeSource, measured_times
from rowtui.core.submission.plan.model import JobStep, JournalEntry
from rowtui.core.submission.plan.outcome import read_old_end
from rowtui.core.usage.model import JobUsage, UsageKind
from rowtui.core.usage.right_size import MeasuredNeed

WORKFLOW = """\
[[action]]
name = "relax"
command = "run {directory}"
group.maximum_size = 2
[action.resources]
threads_per_process = 4
memory_per_cpu_mb = 4000  # a guess
walltime.per_submission = "10:00:00"

[[action]]
name = "twice"
command = "first {directory}"

[[action]]
name = "twice"
command = "second {directory}"
"""
SCRIPT = MeasuredBy.SCRIPT


def opened(root: Path) -> OpenProject:
    environment = {"HOME": str(root.parent), "PATH": "/usr/bin:/bin"}
    return OpenProject.open(root, cluster="local", environment=environment)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for number in range(4):
        (root / "workspace" / f"d{number}").mkdir(parents=True)
    (root / "workflow.toml").write_text(WORKFLOW)
    return root


def record(project: OpenProject, count: int, action: str = "relax", reason: str = "") -> None:
    """Record jobs of two directories that used all of 4 CPUs, 4 GB, and 20 minutes."""
    kind = UsageKind(action, "local", "", "me", 1, 4, 0, 16_000, 36_000)
    used = Used(1200.0, 4700.0, 4 << 20, node="n1", wall_by=SCRIPT, cpu_by=SCRIPT, memory_by=SCRIPT)
    project.usage.store.append(
        JobUsage(
            f"{action}{reason}-{at}",
            kind,
            at,
            2,
            read_old_end(0, reason, 1e9 + at),
            1.0,
            used,
            True,
        )
        for at in range(1, count + 1)
    )


def test_what_was_shown_is_written_and_undone(root: Path) -> None:
    project = opened(root)
    record(project, 200)
    columns = project.usage.store.columns()
    before = (root / "workflow.toml").read_text()

    # when: it is only shown
    shown = edit_for_sizes(project, columns)
    assert [(it.action, it.key, it.after) for it in shown.changed] == [
        ("relax", "memory_per_cpu_mb", 1024), ("relax", "walltime.per_submission", 1200),
    ]  # fmt: skip
    assert (root / "workflow.toml").read_text() == before

    # when: another change than the shown one is confirmed
    with pytest.raises(RowtuiError, match="differs from the one shown"):
        edit_for_sizes(project, columns, only=("memory",), confirmed=shown.edit.token)
    assert (root / "workflow.toml").read_text() == before

    # when: it is confirmed
    done = edit_for_sizes(project, columns, confirmed=shown.edit.token)
    assert done.edit.written
    after = before.replace("4000  #", "1024  #").replace('"10:00:00"', '"00:20:00"')
    assert (root / "workflow.toml").read_text() == after

    # when: it is undone
    project.reload_workflow_if_changed()
    undo = EditRequest(undo=last_written(project))
    edit_back(project, undo._replace(confirmed=edit_back(project, undo).token))
    assert (root / "workflow.toml").read_text() == before


def test_an_action_that_cannot_be_changed_does_not_stop_the_others(root: Path) -> None:
    project = opened(root)
    for action in ("relax", "twice", "gone"):
        record(project, 20, action)
    found = edit_for_sizes(project, project.usage.store.columns())
    assert {it.action for it in found.changed} == {"relax"}
    kept = dict(found.kept)
    assert "more than once" in kept["twice"]
    assert "not in workflow.toml any more" in kept["gone"]


def test_what_a_mapping_file_decides_is_not_written_but_named(root: Path) -> None:
    mapping = root / "mapping.yml"
    mapping.write_text(
        "tools:\n  relax:\n    mem: 15.5\ndestinations:\n  here:\n    runner: local\n"
    )
    project = opened(root)
    places = user_places(project.environment)
    TrustStore(places.trust).trust(str(mapping), mapping.read_bytes(), 0.0)
    record(project, 20)
    project.mapping.read()
    found = edit_for_sizes(project, project.usage.store.columns())
    assert [it.resource for it in found.changed] == ["walltime"]
    [sentence] = [it for _, it in found.kept if "mapping" in it]
    assert "write mem: 4 in mapping.yml:2" in sentence


def test_a_what_if_asks_what_measured_jobs_need_until_it_is_requested(root: Path) -> None:
    project = opened(root)
    [action] = project.workflow.named("relax")
    needs = project.usage.needs
    assert needs.of(action, 2) == MeasuredNeed(None, 0)
    record(project, 4)
    record(project, 30, reason="exit code")  # what fails shows no need
    assert needs.of(action, 2) == MeasuredNeed(None, 4)
    record(project, 20)
    assert needs.of(action, 2) == MeasuredNeed(WhatIf(Amounts(None, None, 4), 1200), 20)
    shown = edit_for_sizes(project, project.usage.store.columns())
    edit_for_sizes(project, project.usage.store.columns(), confirmed=shown.edit.token)
    project.reload_workflow_if_changed()
    [action] = project.workflow.named("relax")
    assert needs.of(action, 2) == MeasuredNeed(None, 20)


def test_attempts_at_the_same_directories_are_one_work(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROWTUI_LOCAL_CORES", "8")
    monkeypatch.setenv("ROWTUI_LOCAL_MEMORY_MB", "65536")
    project = opened(root)
    [action] = project.workflow.named("relax")
    jobs = []
    for reason in ("out of memory", ""):
        plan = plan_submission(project, [action])
        project.jobs.table._plans[plan.id] = plan
        project.jobs.journal.append(
            JournalEntry(job.token, plan.id, JobStep.PLANNED, 0.0) for job in plan.jobs
        )
        jobs += [(job.token, reason) for job in plan.jobs]
    kind = UsageKind("relax", "local", "", "me", 1, 4, 0, 16_000, 36_000)
    project.usage.store.append(
        JobUsage(token, kind, at, 2, read_old_end(0, reason, at), 1.0, Used(1200.0), True)
        for at, (token, reason) in enumerate([*jobs, ("unknown-1", "out of memory")])
    )

    counted = project.usage.evidence(project.usage.store.columns())

    assert len(jobs) == 4
    assert [job.job_id for job in counted.jobs()] == [2, 3, 4]


def test_times_of_five_measured_jobs_are_used_for_estimates_and_costs(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROWTUI_LOCAL_CORES", "8")
    monkeypatch.setenv("ROWTUI_LOCAL_MEMORY_MB", "65536")
    project = opened(root)
    record(project, 4)
    plan = plan_submission(project, project.workflow.named("relax"))
    assert len(plan.jobs) == 2, plan.skipped
    assert measured_walltimes(project) == {}
    assert measured_times(project) == {}
    assert expected_cost(project, plan) is None

    record(project, 5)
    # 20 minutes for two directories, one after another
    assert measured_walltimes(project)["relax"] == (600.0, 5)
    assert measured_times(project)["relax"] == (600.0, RunTimeSource.MEASURED, 5)
    expected = expected_cost(project, plan)
    assert expected is not None
    # two jobs of 4 CPUs for 20 minutes each, of at most 10 hours
    assert plan.cost.cpu_hours == pytest.approx(80)
    assert expected.cost.cpu_hours == pytest.approx(8 / 3)
    assert expected.jobs == 5
