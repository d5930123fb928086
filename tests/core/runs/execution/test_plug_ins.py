"""Execution plug-ins of installed packages, and what becomes of a run when one fails."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from rowtui.core.project.open_project import OpenProject
from rowtui.core.runs.execution.driver import MessageKind
from rowtui.core.runs.execution.execution import ExecutionError
from rowtui.core.runs.execution.plug_ins import OURS, find_execution
from rowtui.core.runs.snapshot import read_study
from rowtui.core.runs.store import Run, RunStore

from tests.core.runs.chained import JOBS, chained, is_done_once, sends
from tests.core.runs.driving import drive

PAGE = (Path(__file__).parents[4] / "docs/network.md").read_text()
(EXAMPLE,) = re.findall(
    r"```python\n(from rowtui.core.runs.execution.execution .*?)```", PAGE, re.DOTALL
)
THEIRS = """\


class Breaks(OneByOne):
    name = "breaks"
    plans = 0

    async def plan(self, work):
        self.plans += 1
        if self.plans > 1:
            raise ValueError("password=1234")
        return await super().plan(work)


class Drops(OneByOne):
    name = "drops"

    async def carry_out(self, work, plan):
        async for step in super().carry_out(work, plan):
            yield step
        raise KeyError("x")


class Nothing:
    name = "nothing"
"""
POINTS = """\
[rowtui.execution_plugins]
one-by-one = their_execution:OneByOne
breaks = their_execution:Breaks
drops = their_execution:Drops
nothing = their_execution:Nothing
gone = their_execution:Gone
jobs = their_execution:OneByOne
"""


@pytest.fixture
def theirs(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for projects, where somebody's package is installed."""
    info = here / "site/their_execution-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Name: their-execution\nVersion: 1\n")
    (info / "entry_points.txt").write_text(POINTS)
    (here / "site/their_execution.py").write_text(EXAMPLE + THEIRS)
    monkeypatch.syspath_prepend(here / "site")
    monkeypatch.delitem(sys.modules, "their_execution", raising=False)
    return here


def chosen(root: Path, execution: str) -> Run:
    """A run that is to be carried out like this."""
    study = read_study(OpenProject.open(root, cluster="local"))
    return RunStore(root).create(
        study.network, study.rows.values(), plug_ins={"execution": execution}
    )


def test_ours_are_there_and_say_what_they_do() -> None:
    for name in OURS:
        made = find_execution(name)
        assert made.name == name
        assert made.summary
    with pytest.raises(
        ExecutionError, match="there is no execution plug-in 'sequentail'"
    ) as caught:
        find_execution("sequentail")
    assert "did you mean 'sequential'?" in caught.value.hint


@pytest.mark.usefixtures("theirs")
def test_bad_plug_ins_are_refused_with_the_reason() -> None:
    for name, why in {
        "gone": "the execution plug-in 'gone' failed with AttributeError",
        "nothing": "'nothing' makes no execution plug-in",
    }.items():
        with pytest.raises(ExecutionError, match=why) as caught:
            find_execution(name)
        assert f"their_execution:{name.capitalize()}" in caught.value.hint
    assert type(find_execution("jobs")).__module__.startswith("rowtui.")


def test_a_plug_in_decides_what_goes_together(theirs: Path) -> None:
    root = chained(theirs / "p", 'execution = "one-by-one"\n')
    driven = drive(root)
    assert driven.told[-1].success, driven.problems()
    is_done_once(root)
    assert [len(it.jobs) for it in sends(driven.run)] == [1] * JOBS


@pytest.mark.parametrize(("name", "error"), [("breaks", "ValueError"), ("drops", "KeyError")])
def test_a_plug_in_that_fails_pauses_the_run_and_loses_nothing(
    theirs: Path, name: str, error: str
) -> None:
    root = chained(theirs / "p", "")
    driven = drive(root, run=chosen(root, name))
    last = driven.told[-1]
    assert last.kind is MessageKind.PAUSED
    assert f"the execution plug-in '{name}' failed with {error}" in last.sentence
    assert "1234" not in last.sentence
    assert [len(it.jobs) for it in sends(driven.run)] == [1]

    # what it sent counts for whoever goes on
    assert drive(root, run=chosen(root, "jobs")).told[-1].success
    is_done_once(root)


def test_a_plug_in_that_is_not_installed_is_an_error_before_anything_runs(here: Path) -> None:
    root = chained(here / "p", "")
    with pytest.raises(ExecutionError, match="there is no execution plug-in 'theirs'"):
        drive(root, run=chosen(root, "theirs"))
    assert not (root / "workspace").exists()
