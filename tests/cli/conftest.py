"""A project of Row's own tests, and `rowtui` run on it as a user would."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.on_clusters import BOTH, OnClusters, configure
from tests.cli.served import server
from tests.rig.login import LoginNode
from tests.schemas import printed

WORKFLOW = """\
[workspace]
value_file = "v.json"

[[action]]
name = "one"
command = "touch workspace/{directory}/one"
products = ["one"]

[[action]]
name = "two"
command = "touch workspace/{directory}/two"
products = ["two"]
previous_actions = ["one"]

[[action]]
name = "three"
command = "touch workspace/{directory}/three"
products = ["three"]
previous_actions = ["two"]
[[action.group.include]]
condition = ["/v", "<", 0]
"""


@pytest.fixture(autouse=True)
def empty_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that run in this process find the end of their input at once."""
    monkeypatch.setattr("sys.stdin", io.StringIO())


class Shell:
    """Runs `rowtui` in a folder, without a terminal and without anybody's configuration."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self.prefix: tuple[str, ...] = ()  # a program that runs rowtui, with its arguments
        self.starts_python = False  # each time anew, in place of a fork that has all imported
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("ROW", "SLURM", "SBATCH", "LMOD", "XDG_", "RCAC", "CLUSTER"))
        }
        self.environment = {
            **kept,
            "HOME": str(home),
            "ROW_HOME": str(home / "nowhere"),
            "ROWTUI_LOCAL_DIR": str(home / "local"),
        }

    def __call__(
        self,
        *arguments: str,
        cluster: str | None = "none",
        stdin: str = "",
        cwd: Path | None = None,
        **environment: str,
    ) -> subprocess.CompletedProcess[str]:
        given = [] if cluster is None else ["--cluster", cluster]
        words, folder = [*given, *arguments], cwd or self.folder
        env = {**self.environment, **environment}
        if not (self.prefix or self.starts_python) and server.starts_alike(env):
            code, *said = server.run(words, cwd=folder, env=env, stdin=stdin, limit=120)
            out, err = (piece.decode().replace("\r\n", "\n").replace("\r", "\n") for piece in said)
            printed(words, out)
            return subprocess.CompletedProcess(words, code, out, err)
        return subprocess.run(
            [*self.prefix, sys.executable, "-m", "rowtui.cli.main", *words],
            cwd=folder,
            env=env,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def succeed(self, *arguments: str, **options: str) -> str:
        """Run, insist on exit code 0, and return standard output."""
        done = self(*arguments, **options)  # type: ignore[arg-type]
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def empty_folder(tmp_path: Path) -> Shell:
    """`rowtui` in an empty folder."""
    folder = tmp_path / "project"
    folder.mkdir()
    return Shell(folder, tmp_path / "home")


@pytest.fixture
def rowtui(empty_folder: Shell) -> Shell:
    """`rowtui` in the project of Row's own tests: dir0..dir9, actions one, two and three."""
    folder = empty_folder.folder
    (folder / "workflow.toml").write_text(WORKFLOW)
    for number in range(10):
        directory = folder / "workspace" / f"dir{number}"
        directory.mkdir(parents=True)
        (directory / "v.json").write_text(json.dumps({"v": number, "v2": number // 2}))
    return empty_folder


@pytest.fixture
def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> OnClusters:
    """Outside of any project, on a machine that is no cluster."""
    home = tmp_path / "home"
    home.mkdir()
    for name in [name for name in os.environ if name.startswith(("XDG_", "ROW", "SLURM_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("ROWTUI_LOCAL_DIR", str(home / "queue"))
    monkeypatch.setenv("ROWTUI_POLL", "0")
    monkeypatch.setenv("ROWTUI_CLUSTER", "local")
    monkeypatch.chdir(home)
    return OnClusters(home, capsys)


@pytest.fixture
def two(
    two_logins: tuple[LoginNode, LoginNode], here: OnClusters
) -> Iterator[tuple[LoginNode, ...]]:
    """alpha and beta, in the configuration; nothing is in their queues."""
    for node in two_logins:
        node.cluster.clean()
    configure(here.home, BOTH.format(config=two_logins[0].ssh_config))
    yield two_logins
    for node in two_logins:
        node.cluster.clean()
