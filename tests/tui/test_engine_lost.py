"""The engine's process is killed below a running dashboard: it says so, and goes on."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from rowtui.core.engine.process import supervision
from rowtui.core.engine.process.client import ProcessEngine
from rowtui.core.engine.process.start import EngineOptions, EngineProcess
from rowtui.core.state.row.staging import stage_completions
from rowtui.tui.shell.app import RowtuiApp

from tests.tui.hand import hand_on

WORKFLOW = """\
[[action]]
name = "one"
command = "touch workspace/{directory}/x"
products = ["x"]
"""


async def test_a_killed_engine_is_told_and_comes_back_below_the_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given the dashboard on a project, with an engine in a process of its own
    root = tmp_path / "project"
    for number in range(6):
        (root / f"workspace/d{number}").mkdir(parents=True)
    (root / "workflow.toml").write_text(WORKFLOW)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ROWTUI_LOCAL_DIR", str(tmp_path / "queue"))
    monkeypatch.setattr(supervision, "PAUSES", (0.5,))  # long enough to be seen
    started = EngineProcess(EngineOptions(str(root), "local"))
    started.opened()
    engine = ProcessEngine(started)
    app = RowtuiApp(engine)
    try:
        async with hand_on(app, engine) as hand:
            await hand.sees("one: 6 eligible")
            await hand.until(lambda: hand.app.session.jobs is not None)
            # when its engine is killed
            os.kill(started.process.pid, signal.SIGKILL)
            # then the header says so, and a person is told once, in words;
            await hand.sees("ENGINE AWAY")
            # it comes back by itself,
            await hand.sees_no("ENGINE AWAY")
            told = [line.text for line in app.session.activity]
            assert sum("the engine ended unexpectedly (ended by SIGKILL)" in it for it in told) == 1
            assert "the engine runs again" in told
            assert not any("Traceback" in line for line in told)
            # and what happens now is seen as before.
            (root / "workspace/d0/x").touch()
            stage_completions(root, {"one": [b"d0"]})
            await hand.sees("one: 5 eligible")
            assert not app.session.stale
    finally:
        await engine.close()
