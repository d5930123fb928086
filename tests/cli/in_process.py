"""The command line run in this process, in a project with a home of its own: quick."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from rowtui.cli.main import main

from tests.schemas import printed


class Done(NamedTuple):
    """How a command ended and what it said."""

    code: int
    out: str
    err: str


class Here:
    """A project folder in which the command line runs, with a home of its own."""

    cluster = "none"

    def __init__(self, folder: Path, home: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder, self.home, self.capture = folder, home, capture

    def __call__(self, *words: str) -> Done:
        self.capture.readouterr()
        code = main([*(("--cluster", self.cluster) if self.cluster else ()), *words])
        done = Done(code, *self.capture.readouterr())
        assert "unexpected" not in done.err
        assert "\x1b" not in done.out + done.err
        printed(words, done.out)
        return done

    def json(self, *words: str, code: int = 0) -> Any:
        done = self(*words, "--json")
        assert done.code == code, done.err
        return json.loads(done.out)

    def mapping(self, text: str, *, trusted: bool = True) -> None:
        (self.folder / "mapping.yml").write_text(text)
        if trusted:
            assert self("mapping", "trust", "mapping.yml", "--yes").code == 0


def prepared(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    workflow: str,
) -> Here:
    """A project of directories a, b and c, in its own folder, without anybody's configuration."""
    folder, home = tmp_path / "project", tmp_path / "home"
    home.mkdir()
    for name in "abc":
        (folder / "workspace" / name).mkdir(parents=True)
    (folder / "workflow.toml").write_text(workflow)
    for name in [*os.environ]:
        if name.startswith(("ROW", "SLURM", "SBATCH", "XDG_", "CLICOLOR", "PAGER")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("ROW_HOME", str(home / "nowhere"))
    monkeypatch.setenv("ROWTUI_LOCAL_DIR", str(home / "local"))
    monkeypatch.chdir(folder)
    return Here(folder, home, capsys)
