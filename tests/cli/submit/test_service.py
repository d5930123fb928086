"""`rowtui run --install-service`, and what its unit runs."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from rowtui.core.runs.model import Paused, Resumed, RunStarted, Stopped
from rowtui.core.runs.run import TERMINATED, Run
from rowtui.core.runs.service import service_path
from rowtui.core.runs.store import PROJECT_RUNS, RunStore

from tests.cli.in_process import Here, prepared
from tests.eventually import eventually

WORKFLOW = (
    '[[action]]\nname = "one"\ncommand = "touch {workspace_path}/{directory}/x"\nproducts = ["x"]\n'
)
SYSTEMCTL = '#!/bin/sh\necho "$@" >> "$HOME/calls"\n'


class Local(Here):
    """The same on this machine's own queue."""

    cluster = "local"


@pytest.fixture
def project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Local:
    made = prepared(tmp_path, monkeypatch, capsys, WORKFLOW)
    return Local(made.folder, made.home, made.capture)


@pytest.fixture
def systemd(project: Local, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A systemctl that records its words: this machine may have no systemd of the user."""
    programs = project.home / "bin"
    programs.mkdir()
    for name in ("systemctl", "loginctl"):
        (programs / name).write_text(SYSTEMCTL)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return project.home / "calls"


class Unit:
    """The unit of a project, whose command is started as systemd starts it."""

    def __init__(self, project: Local) -> None:
        self.path = service_path(project.folder, {"HOME": str(project.home)})
        self._settings = dict(
            line.split("=", 1) for line in self.path.read_text().splitlines() if "=" in line
        )
        self.output = ""

    def start(self, before: str = "") -> subprocess.Popen[str]:
        """`before`: what the shell does first."""
        words = self._settings["ExecStart"].replace("$$", "$").replace("%%", "%")
        # In these paths a shell reads the quoted words as systemd does, except for the `$`.
        line = words.replace("$", "\\$")
        return subprocess.Popen(
            ["sh", "-c", f"{before} exec {line}"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def ended(self, process: subprocess.Popen[str]) -> tuple[int, bool]:
        """The exit code, and whether systemd starts the unit again."""
        try:
            self.output, _ = process.communicate(timeout=45)
        finally:
            process.kill()
        code = process.returncode
        assert self._settings["Restart"] == "on-failure"
        final = {0, *map(int, self._settings["RestartPreventExitStatus"].split())}
        return code, code not in final

    def run(self, before: str = "") -> tuple[int, bool]:
        return self.ended(self.start(before))


def test_the_command_of_the_unit_drives_the_run_to_its_end(project: Local, systemd: Path) -> None:
    done = project("run", "--install-service", "--yes")
    assert done.code == 0, done.err
    assert "loginctl enable-linger" in done.err
    unit = Unit(project)
    assert f"--user enable {unit.path.name}" in systemd.read_text()
    assert unit.run() == (0, False), unit.output
    assert project.json("run", "--status")["status"] == "finished"

    assert "No run was interrupted" in project("run", "--resume").out
    assert project("run", "--uninstall-service", "--yes").code == 0
    assert not unit.path.exists()


def begun(run: Run) -> int:
    """How often a driver began."""
    return sum(isinstance(it, RunStarted | Resumed) for it in run.events())


def test_systemd_starts_again_what_may_go_on_alone(project: Local, systemd: Path) -> None:
    (project.folder / "workflow.toml").write_text(WORKFLOW.replace('"touch', '"cat gate; touch'))
    os.mkfifo(project.folder / "gate")
    assert project("run", "--install-service", "--yes").code == 0
    unit = Unit(project)

    # The file system is not there yet, then it is full.
    away = project.folder.rename(project.folder.with_name("away"))
    assert unit.run() == (75, True), unit.output
    away.rename(project.folder)
    assert unit.run("ulimit -f 0;") == (75, True), unit.output
    assert "Traceback" not in unit.output

    # The driver is killed, then it is stopped with the machine.
    run = RunStore(project.folder, PROJECT_RUNS).latest()
    assert run is not None
    ends = {signal.SIGKILL: (-9, True), signal.SIGTERM: (130, False)}
    for number, (how, end) in enumerate(ends.items(), 1):
        started = unit.start()
        eventually(lambda: (begun(run), run.standing.submitted), (number, 1).__eq__)
        started.send_signal(how)
        assert unit.ended(started) == end, unit.output
        assert run.may_go_on

    started = unit.start()
    with open(project.folder / "gate", "w"):
        (project.folder / "gate").unlink()
        (project.folder / "gate").touch()
    assert unit.ended(started) == (0, False), unit.output
    assert all((project.folder / "workspace" / name / "x").exists() for name in "abc")


def test_a_run_that_paused_is_not_started_again(project: Local, systemd: Path) -> None:
    assert project("run", "--install-service", "--yes", "--max-cpu-hours", "0").code == 0
    unit = Unit(project)
    assert unit.run() == (1, False)
    assert "Paused: " in unit.output
    assert unit.run() == (0, False)  # with the machine
    assert "No run was interrupted" in unit.output


def test_without_systemd_the_alternatives_are_named_and_nothing_is_begun(
    project: Local, systemd: Path
) -> None:
    (project.home / "bin" / "systemctl").write_text("#!/bin/sh\nexit 1\n")
    done = project("run", "--install-service", "--yes")
    assert done.code == 1
    assert "nohup rowtui run --yes" in done.err
    assert "tmux" in done.err
    assert RunStore(project.folder, PROJECT_RUNS).latest() is None


def test_only_an_interrupted_run_goes_on_without_the_user(project: Local) -> None:
    assert "No run was interrupted" in project("run", "--resume").out
    paused = project("run", "--yes", "--max-cpu-hours", "0")
    assert paused.code == 1
    run = RunStore(project.folder, PROJECT_RUNS).latest()
    assert run is not None
    assert not run.may_go_on
    assert "No run was interrupted" in project("run", "--resume").out

    run.append(Resumed(time.time()), Stopped(time.time(), "rowtui run --stop"))
    assert not run.may_go_on
    run.append(Resumed(time.time()), Stopped(time.time(), TERMINATED))
    assert run.may_go_on
    run.append(Paused(time.time(), "a limit"))
    run.confirm(run.limits._replace(cpu_hours=10.0), time.time())
    assert run.may_go_on
    assert project("run", "--resume").code == 0
