"""A kept summary holds as long as every value file is as it was, near and far away."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from rowtui.core.project import summary
from rowtui.core.project.open_project import OpenProject

WORKFLOW = """\
[workspace]
value_file = "v.json"
[[action]]
name = "one"
command = "true {directory}"
products = ["x"]
"""
NAMES = [f"d{number:02}" for number in range(60)]
LAST_READ = NAMES[summary.ASKED_FIRST + summary.AT_ONCE + 1]


@pytest.fixture(params=["near", "far"])
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    if request.param == "far":  # every answer is a slow one
        monkeypatch.setattr(summary, "SLOW_SECONDS", 0.0)
    for name in NAMES:
        (tmp_path / "workspace" / name).mkdir(parents=True)
        (tmp_path / "workspace" / name / "v.json").write_text("1")
    os.utime(tmp_path / "workspace", (1, 1))  # not changed just now, when more may still come
    (tmp_path / "workflow.toml").write_text(WORKFLOW)
    OpenProject.open(tmp_path, cluster="none", environment={}).synchronise()
    return tmp_path


def edited(folder: Path) -> None:
    (folder / "v.json").write_text("22")


def touched(folder: Path) -> None:
    os.utime(folder / "v.json", (7, 7))


def without(folder: Path) -> None:
    (folder / "v.json").unlink()


def test_nothing_changed_is_seen(root: Path) -> None:
    assert summary.unchanged_generation(str(root)) is not None


@pytest.mark.parametrize("name", [NAMES[0], LAST_READ, NAMES[-1]])
@pytest.mark.parametrize("change", [edited, touched, without])
def test_one_changed_value_file_is_seen(
    root: Path, change: Callable[[Path], None], name: str
) -> None:
    change(root / "workspace" / name)

    assert summary.unchanged_generation(str(root)) is None
