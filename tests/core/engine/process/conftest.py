"""Engines in processes of their own, on a small real project and for tests of the way there."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from rowtui.core.engine.process.client import ProcessEngine
from rowtui.core.engine.process.start import EngineProcess

from tests.core.engine.process import small_engine

WORKFLOW = """\
[workspace]
value_file = "v.json"

[[action]]
name = "one"
command = "echo {directory}; touch {workspace_path}/{directory}/x"
products = ["x"]
[action.group]
sort_by = ["/v"]
maximum_size = 4

[[action]]
name = "two"
command = "touch {workspace_path}/{directory}/y"
products = ["y"]
previous_actions = ["one"]
"""


def make_project(root: Path) -> Path:
    for number in range(10):
        directory = root / "workspace" / f"d{number}"
        directory.mkdir(parents=True)
        (directory / "v.json").write_text(json.dumps({"v": 9 - number}))
    (root / "workflow.toml").write_text(WORKFLOW)
    return root


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which engines write their logs, and a queue of our own."""
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "ROW_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ROWTUI_LOCAL_DIR", str(tmp_path / "queue"))
    return tmp_path


@pytest.fixture
def folder(home: Path) -> Path:
    """What the small engine writes into."""
    folder = home / "small"
    folder.mkdir()
    return folder


@pytest.fixture
async def small(folder: Path) -> AsyncIterator[tuple[ProcessEngine, EngineProcess]]:
    started = small_engine.start(folder)
    engine = ProcessEngine(started)
    started.opened()
    yield engine, started
    await engine.close()
    assert started.process.returncode is not None
