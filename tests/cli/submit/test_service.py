"""`rowtui run --install-service`, and what its unit runs."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from rowtui.core.runs.model import Paused, Resumed, Stopped
from rowtui.core.runs.run import TERMINATED
from rowtui.core.runs.service import service_path
from rowtui.core.runs.store import PROJECT_RUNS, RunStore

from tests.cli.in_process import Here, prepared

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


def test_the_command_of_the_unit_drives_the_run_to_its_end(project: Local, systemd: Path) -> None:
    done = project("run", "--install-service", "--yes")
    assert done.code == 0, done.err
    assert "loginctl enable-linger" in done.err
    unit = service_path(project.folder, {"HOME": str(project.home)})
    assert f"--user enable {unit.name}" in systemd.read_text()
    command = next(it for it in unit.read_text().splitlines() if it.startswith("ExecStart="))
    shell = command.removeprefix("ExecStart=").replace("$$", "$").replace("%%", "%")
    # In these paths a shell reads the quoted words as systemd does, except for the `$`.
    ran = subprocess.run(
        ["sh", "-c", shell.replace("$", "\\$")], capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    assert project.json("run", "--status")["status"] == "finished"

    assert "No run was interrupted" in project("run", "--resume").out
    assert project("run", "--uninstall-service", "--yes").code == 0
    assert not unit.exists()


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
