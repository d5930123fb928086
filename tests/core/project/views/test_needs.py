"""What waits for a person: failed directories by cause, and files that nobody has trusted."""

from __future__ import annotations

from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.project.planning.plan_submission import plan_submission
from rowtui.core.project.views.mapping_trust import review_file, trust
from rowtui.core.project.views.needs import (
    MOST_CAUSES,
    OTHER_CAUSES,
    FailureCause,
    ProjectNeeds,
)

from tests.core.project.failing import Failing

CODE = "tools:\n  one:\n    cores: 2 * len(directories)\n"


def causes(failing: Failing, needs: ProjectNeeds | None = None) -> tuple[FailureCause, ...]:
    project = failing.open()
    project.synchronise()
    return (needs or ProjectNeeds(project)).failures(project.status_table().rows)


def test_failed_directories_are_counted_by_cause_the_commonest_first(tmp_path: Path) -> None:
    failing = Failing.make(tmp_path)
    project = failing.open()
    plan = plan_submission(project, project.workflow.actions)  # (a, b), (c, d), (e)
    assert causes(failing) == ()
    first, *rest = plan.jobs
    failing.fail(project, plan.__class__("one", *_parts(plan), (first,), plan.cost), "time limit")
    failing.fail(
        project, plan.__class__("two", *_parts(plan), tuple(rest), plan.cost), "exit code 2"
    )
    assert causes(failing) == (
        FailureCause(0, "exit code 2", 3, 2),
        FailureCause(0, "time limit", 2, 1),
    )
    (failing.root / "workspace" / "e" / "x").touch()  # completed by hand
    project = failing.open()
    project.synchronise(full=True)
    counted = ProjectNeeds(project).failures(project.status_table().rows)
    assert counted[0].directories == counted[1].directories == 2


def _parts(plan: object) -> tuple[str, str, str, str]:
    return ("2026-11-22T00:00:00Z", "somebody", "local", "local")


def test_many_causes_are_told_as_a_few_and_the_rest_together(tmp_path: Path) -> None:
    names = [f"d{number:02}" for number in range(2 * (MOST_CAUSES + 2))]
    failing = Failing.make(tmp_path, names)
    project = failing.open()
    plan = plan_submission(project, project.workflow.actions)
    for number, job in enumerate(plan.jobs):
        only = plan.__class__(str(number), *_parts(plan), (job,), plan.cost)
        failing.fail(project, only, f"exit code {number + 1}")
    found = causes(failing)
    assert len(found) == MOST_CAUSES + 1
    assert found[-1] == FailureCause(0, OTHER_CAUSES, 4, 2)
    assert sum(one.directories for one in found) == len(names)


def test_what_was_counted_is_not_counted_again_until_it_changes(tmp_path: Path) -> None:
    failing = Failing.make(tmp_path)
    project = failing.open()
    failing.fail(project, plan_submission(project, project.workflow.actions), "exit code 2")
    needs = ProjectNeeds(project)
    rows = project.status_table().rows
    assert needs.failures(rows)[0] is needs.failures(rows)[0]


def test_a_file_that_nobody_trusted_is_named_until_just_that_content_is_trusted(
    tmp_path: Path,
) -> None:
    failing = Failing.make(tmp_path)
    path = failing.root / "mapping.yml"
    assert ProjectNeeds(failing.open()).untrusted() == ()
    path.write_text(CODE)
    project = failing.open()
    needs = ProjectNeeds(project)
    [one] = needs.untrusted()
    assert (one.name, one.place) == ("mapping.yml", str(path))

    seen = review_file(project, one.place)
    assert seen.lines == tuple(CODE.splitlines())
    assert not seen.differs
    path.write_text(CODE + "    mem: 4\n")
    with pytest.raises(RowtuiError, match="changed meanwhile"):
        trust(project, one.place, seen.digest)
    seen = review_file(project, one.place)
    trust(project, one.place, seen.digest)
    assert needs.untrusted() == ()

    path.write_text(CODE + "    mem: 8\n")
    [one] = needs.untrusted()
    seen = review_file(project, one.place)
    assert seen.differs
    assert any(line.startswith("+") and "mem: 8" in line for line in seen.lines)
    path.unlink()
    assert needs.untrusted() == ()
    with pytest.raises(RowtuiError, match="no mapping file"):
        review_file(project, one.place)
