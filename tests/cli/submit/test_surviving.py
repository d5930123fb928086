"""`rowtui run` while what it works on is changed, broken or deleted beneath it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rowtui.core.engine.local.engine import InProcessEngine
from rowtui.core.project.open_project import OpenProject
from rowtui.core.runs.execution.driver import SentPlan
from rowtui.core.runs.execution.project_run import ProjectRun
from rowtui.core.runs.store import PROJECT_RUNS, RunStore

from tests.cli.conftest import Shell
from tests.cli.in_process import prepared
from tests.cli.submit.test_run import messages_to_a_file
from tests.eventually import eventually

WORKFLOW = """\
[[action]]
name = "one"
command = "cat gate; touch workspace/{directory}/x"
products = ["x"]
group.maximum_size = 1
resources.walltime.per_submission = "00:01:00"
"""
SECOND = WORKFLOW.replace('"one"', '"two"').replace("/x", "/y").replace('"x"', '"y"')


class Driven(Shell):
    """A project that a process of its own drives; its jobs wait at the pipe `gate`."""

    driver: subprocess.Popen[str]

    def open_gate(self) -> None:
        fd = os.open(self.folder / "gate", os.O_RDWR)
        (self.folder / "gate").unlink()
        (self.folder / "gate").touch()
        os.close(fd)

    def ended(self) -> tuple[int, str]:
        """The exit code of the driver, and what it printed."""
        out, _ = self.driver.communicate(timeout=40)
        assert "Traceback" not in out
        return self.driver.returncode, out


@pytest.fixture
def driven(tmp_path: Path) -> Iterator[Driven]:
    folder, home = tmp_path / "project", tmp_path / "home"
    home.mkdir()
    for name in "ab":
        (folder / "workspace" / name).mkdir(parents=True)
    (folder / "workflow.toml").write_text(WORKFLOW)
    os.mkfifo(folder / "gate")
    shell = Driven(folder, home)
    shell.environment["ROWTUI_LOCAL_CORES"] = "4"
    shell.driver = subprocess.Popen(
        [sys.executable, "-m", "rowtui.cli.main", "--cluster", "local", "run", "--yes",
         "--max-cpu-hours", "10"],
        cwd=folder, env=shell.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip
    eventually(lambda: submitted(folder) == 2, what="both jobs are submitted")
    yield shell
    shell.driver.kill()
    shell.driver.wait(30)


def submitted(folder: Path) -> int:
    run = RunStore(folder, PROJECT_RUNS).latest()
    return 0 if run is None else run.standing.submitted


def test_a_broken_workflow_is_not_used_until_it_is_mended(driven: Driven) -> None:
    workflow = driven.folder / "workflow.toml"
    workflow.write_text("[[action]\n")
    lines = driven.driver.stdout
    assert lines is not None
    assert any("not used as it is now" in line for line in lines)
    workflow.write_text(WORKFLOW + SECOND)
    driven.open_gate()
    assert driven.ended()[0] == 0
    for name in "ab":
        assert (driven.folder / "workspace" / name / "y").exists()


def test_a_directory_that_was_deleted_holds_up_no_other(driven: Driven) -> None:
    shutil.rmtree(driven.folder / "workspace" / "a")
    driven.open_gate()
    code, out = driven.ended()
    assert "exit code 1 in directory a" in out
    assert (code, (driven.folder / "workspace/b/x").exists()) == (0, True)


def test_a_driver_ends_when_its_project_is_deleted(driven: Driven) -> None:
    driven.open_gate()
    moved = driven.folder.rename(driven.folder.with_name("moved"))
    code, out = driven.ended()
    assert code == 1
    assert "was deleted" in out
    driven.folder = moved
    done = driven("run", "--yes", cluster="local")
    assert done.returncode == 0, done.stderr


def test_a_damaged_journal_ends_the_run_with_what_mends_it(driven: Driven) -> None:
    [events] = (driven.folder / ".row/rowtui/runs").glob("*/events.jsonl")
    with events.open("a") as file:
        file.write('{"v":1,"event":"paused","at":"no"}\n')
    driven.open_gate()
    code, out = driven.ended()
    assert code == 1
    assert "begin a new run, which keeps completed work" in out
    assert driven("run", "--yes", cluster="local").returncode == 0


def test_plans_that_are_damaged_meanwhile_change_nothing(driven: Driven) -> None:
    plans = driven.folder / ".row/rowtui/plans"
    eventually(lambda: len([*driven.folder.glob("*.out")]) == 2, what="both jobs began")
    for plan in plans.iterdir():
        plan.write_text("{")
    driven.open_gate()
    assert driven.ended()[0] == 0


def test_a_driver_runs_within_little_address_space(driven: Driven) -> None:
    driven.driver.kill()
    driven.driver.wait(30)
    driven.open_gate()
    # as in a job of Grid Engine, whose memory limit is one of addresses
    driven.prefix = ("sh", "-c", 'ulimit -v 1000000 && exec "$@"', "sh")
    done = driven("run", "--resume", cluster="local")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("jump", [-40_000_000, 40_000_000])
def test_a_clock_that_is_set_does_not_stop_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], jump: int
) -> None:
    here = prepared(tmp_path, monkeypatch, capsys, SECOND.replace("cat gate; ", ""))
    here.cluster = "local"
    now, wrong = time.time, False
    monkeypatch.setattr("time.time", lambda: now() + jump * wrong)
    submit = ProjectRun.submit

    async def and_set(self: ProjectRun, *given: Any, **named: Any) -> SentPlan:
        nonlocal wrong
        sent = await submit(self, *given, **named)
        wrong = True
        return sent

    monkeypatch.setattr(ProjectRun, "submit", and_set)
    done = here("run", "--yes", "--max-cpu-hours", "10")
    assert done.code == 0, done.err


async def test_a_driver_that_died_is_reported_once_by_whoever_looks_first(
    driven: Driven,
) -> None:
    seen = messages_to_a_file(driven.folder.parent / "home")
    driven.driver.kill()
    driven.driver.wait(30)
    for _ in range(2):  # two dashboards
        project = OpenProject.open(driven.folder, cluster="local", environment=driven.environment)
        engine = InProcessEngine(project)
        project.open_messages(terminal=None)
        for _ in range(2):
            standing = (await engine.refresh()).run
        await engine.close()
        assert standing is not None
        assert (standing.driver, standing.why) == ("", "its driver ended without a word")
    driven.open_gate()
    assert driven("run", "--resume", cluster="local").returncode == 0
    assert seen.read_text().count("its driver ended without a word") == 1


async def test_the_driver_is_seen_and_stopped_by_a_dashboard(driven: Driven) -> None:
    project = OpenProject.open(driven.folder, cluster="local", environment=driven.environment)
    engine = InProcessEngine(project)
    standing = (await engine.refresh()).run
    assert standing is not None
    assert standing.driver.startswith(f"process {driven.driver.pid} on ")
    await engine.plans.stop_run()
    assert driven.driver.wait(30) != 0
    stopped = (await engine.refresh()).run
    assert stopped is not None
    assert stopped.why == "its user stopped it"
    await engine.plans.confirm_run(stopped.limits._replace(cpu_hours=20.0))
    await engine.close()
    driven.open_gate()
    assert driven("run", "--resume", cluster="local").returncode == 0
