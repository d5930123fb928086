"""The dashboard on a real project with a real queue: from the first look to the last job.

Nothing here waits for a time: a picture that is drawn is the event that is waited for.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rowtui.core.engine.local import InProcessEngine
from rowtui.core.project.open_project import OpenProject
from rowtui.tui.shell.app import RowtuiApp
from textual.pilot import Pilot

from tests.tui.hand import screen_text

WORKFLOW = """\
[workspace]
value_file = "v.json"

[[action]]
name = "one"
command = "echo working on {directory}; touch {workspace_path}/{directory}/x"
products = ["x"]
[action.group]
sort_by = ["/v"]
maximum_size = 2

[[action]]
name = "two"
command = "echo no forces in {directory}; exit 3"
products = ["y"]
previous_actions = ["one"]

[[action]]
name = "long"
command = "echo begun {directory}; sleep 600"
products = ["z"]
[action.group]
maximum_size = 1
"""
PATIENCE = 60  # seconds; nothing here is expected to take more than two


class Person:
    """Presses keys, and looks again whenever something was drawn."""

    def __init__(self, app: RowtuiApp, pilot: Pilot[Any]) -> None:
        self.app = app
        self.pilot = pilot
        self.drawn = asyncio.Event()
        app.post_display_hook = self.drawn.set  # type: ignore[method-assign]

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.pilot.press(key)

    async def sees(self, *texts: str) -> None:
        for text in texts:
            await self._until(lambda wanted=text: wanted in screen_text(self.app), text)

    async def _until(self, true: Callable[[], bool], what: str) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                while not true():
                    await self.drawn.wait()
                    self.drawn.clear()
        except TimeoutError:
            raise AssertionError(f"never came: {what}\n{screen_text(self.app)}") from None


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "project"
    for number in range(6):
        (root / "workspace" / f"d{number}").mkdir(parents=True)
        (root / "workspace" / f"d{number}" / "v.json").write_text(json.dumps({"v": number}))
    (root / "workflow.toml").write_text(WORKFLOW)
    monkeypatch.setenv("ROWTUI_LOCAL_DIR", str(tmp_path / "queue"))
    return root


def processes_in(folder: Path) -> dict[int, bytes]:
    """The command lines of all processes that work in the folder or were told of it."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdecimal() or int(name) == os.getpid():
            continue
        try:
            where = os.readlink(f"/proc/{name}/cwd")
            words = Path(f"/proc/{name}/cmdline").read_bytes()
        except OSError:
            continue
        if Path(where).is_relative_to(folder) or os.fsencode(folder) in words:
            found[int(name)] = words
    return found


def wait_for_the_end_of(pid: int) -> None:
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([fd], [], [], PATIENCE)[0], f"process {pid} did not end"
    finally:
        os.close(fd)


@pytest.mark.usefixtures("enter_at_once")
async def test_a_study_from_the_first_look_to_the_last_job(root: Path) -> None:
    environment = {"HOME": str(root.parent), "PATH": os.environ["PATH"]}
    engine = InProcessEngine(OpenProject.open(root, cluster="local", environment=environment))
    app = RowtuiApp(engine)
    try:
        async with app.run_test(size=(120, 36), notifications=True) as pilot:
            person = Person(app, pilot)
            await person.sees("one: 6 eligible", "long: 6 eligible")

            await person.press("enter")
            await person.sees("Groups of one", "3 groups", '"v": 0')
            await person.press("space", "space")
            await person.sees("2 of 3 groups marked")
            await person.press("s")
            await person.sees("Jobs to submit", "2 jobs", "Nothing is sent yet")
            await person.sees("✓ scripts    bash -n reads 1 distinct")
            await person.sees("✓ dry check", "local takes it", "no earlier script to compare with")
            assert not processes_in(root)
            await person.press("space")
            await person.sees("1 of 2 jobs")
            await person.press("s", "y", "e", "s", "enter")
            await person.sees("1 of 1 job accepted")
            await person.press("1")
            await person.sees("one: 2 more completed")
            await person.press("enter")
            await person.sees("Groups of one", "2 groups", "d0")
            await person.press("s")
            await person.sees("Nothing is sent yet", "compared with job", "the same script")
            await person.press("s", "y", "e", "s", "enter")
            await person.sees("1 of 1 job accepted")

            await person.press("1")
            await person.sees("one: 2 more completed", "one: 2 eligible", "two: 4 eligible")
            await person.press("6")
            await person.sees("✓ completed")
            await person.press("enter")
            await person.sees("working on d", "✓ completed")

            await person.press("1", "j", "s")
            await person.sees("Jobs to submit", "1 job")
            await person.press("s", "y", "e", "s", "enter")
            await person.sees("1 of 1 job accepted")
            await person.press("1")
            await person.sees("two: 1 failed")
            await person.press("d")
            await person.sees("[failed 1]", "✗ failed", "exit code 3")
            await person.press("a", "R")
            await person.sees("Retry 1 failed job?", "two  4 directories")
            await person.press("down", "2", "x", "enter")
            await person.sees("Jobs to submit", "1 job", "attempt 2: job", "time 04:00:00 ->")
            await person.press("escape")
            await person.sees("[failed 1]")

            await person.press("1", "j", "enter")
            await person.sees("Groups of long", "[eligible 6]", "6 groups")
            await person.press("s")
            await person.sees("Jobs to submit", "1 job")
            await person.press("s", "y", "e", "s", "enter")
            await person.sees("1 of 1 job accepted")
            await person.press("6")
            await person.sees("▶ running")
            await person.press("enter")
            await person.sees("begun")
            await person.press("escape", "c")
            await person.sees("Cancel 1 job?")
            await person.press("y", "e", "s", "enter")
            await person.sees("1 job cancelled", "⊘ cancelled")

            await person.press("q")
        assert app.return_code == 0
    finally:
        await engine.close()
        left = processes_in(root.parent)
        for pid, words in left.items():
            if b"local_supervisor" in words:  # it would wait a while for more jobs
                os.kill(pid, signal.SIGTERM)
        for pid in left:
            wait_for_the_end_of(pid)
    assert not processes_in(root.parent)
