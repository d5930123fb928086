"""How the engine's process starts and ends: with its screen, however that ends; with an error."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rowtui.core.base.errors import NoProjectError, WorkflowError
from rowtui.core.engine.process import supervision
from rowtui.core.engine.process.client import ProcessEngine
from rowtui.core.engine.process.errors import EngineLost
from rowtui.core.engine.process.start import EngineOptions, EngineProcess

from tests.core.engine.process import small_engine
from tests.core.engine.process.conftest import make_project
from tests.eventually import eventually

ROOT = Path(__file__).parents[4]


def screen(folder: Path, what: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.core.engine.process.screen", str(folder), what],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def until_gone(pid: int) -> None:
    eventually(lambda: is_gone(pid), what=f"the end of process {pid}")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_engine_ends_with_its_screen_and_leaves_nothing_half_done(
    number: signal.Signals, folder: Path
) -> None:
    process = screen(folder, "work")
    assert process.stdin is not None
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    # It has a session of its own: what the terminal sends does not reach it.
    assert os.getsid(pid) == pid
    if number == signal.SIGKILL:
        # A screen that is suspended goes on where it was.
        process.send_signal(signal.SIGSTOP)
        process.stdin.write("more\n")
        process.stdin.flush()
        assert not is_gone(pid)
        process.send_signal(signal.SIGCONT)
        assert process.stdout.readline() == "more 2\n"
    process.send_signal(number)
    process.wait(30)
    process.stdin.close()
    process.stdout.close()
    until_gone(pid)
    # The submission stopped between two jobs, the page was given up, the engine closed.
    assert (folder / "given back").exists()
    assert (folder / "cancelled").exists()
    assert (folder / "closed").exists()
    assert len((folder / "sent").read_text().split()) == (2 if number == signal.SIGKILL else 1)


async def test_an_engine_that_hangs_while_it_closes_is_ended(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "CLOSE_SECONDS", 0.1)
    (folder / "hang").touch()
    started = small_engine.start(folder)
    started.opened()
    engine = ProcessEngine(started)
    await engine.refresh()
    async with asyncio.timeout(30):
        await engine.close()
    assert is_gone(started.process.pid)
    assert (folder / "closed").exists()


async def test_one_that_nobody_asked_anything_ends_as_well(folder: Path) -> None:
    started = small_engine.start(folder)
    started.opened()
    await ProcessEngine(started).close()
    assert started.process.returncode == 0
    # Also one that is let go of before it could open anything.
    early = small_engine.start(folder)
    early.end()
    assert is_gone(early.process.pid)


FORKED = """
import os, sys
from rowtui.core.engine.process.serve import main
from rowtui.core.engine.process.start import EngineOptions, EngineProcess

started = EngineProcess(EngineOptions(sys.argv[1], "local"), forked=main)
started.opened()
pid = started.process.pid
print(os.getsid(pid) == pid, [os.readlink(f"/proc/{pid}/fd/{number}") for number in range(3)])
started.end()
print(started.process.returncode, started.log)
"""


def test_a_forked_engine_has_its_own_session_and_log_and_ends_with_the_screen(home: Path) -> None:
    root = make_project(home / "project")
    done = subprocess.run(
        [sys.executable, "-c", FORKED, str(root)], capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    first, last = done.stdout.splitlines()
    code, log = last.split()
    assert (first, code) == (f"True {['/dev/null', log, log]}", "0")


def test_what_opening_raises_is_raised_here(home: Path) -> None:
    root = make_project(home / "project")
    (root / "workflow.toml").write_text('[[action]]\nname = "a"\ncomand = "b"\n')
    with pytest.raises(WorkflowError) as caught:
        EngineProcess(EngineOptions(str(root))).opened()
    assert [problem.line for problem in caught.value.problems] != []
    (root / "workflow.toml").unlink()
    with pytest.raises(NoProjectError):
        EngineProcess(EngineOptions(str(root))).opened()
    broken = EngineProcess(EngineOptions(str(root)), "raise SystemExit(3)")
    with pytest.raises(EngineLost, match="did not start: exit code 3") as lost:
        broken.opened()
    assert str(broken.log) in lost.value.hint
    broken.end()


def test_the_command_line_tells_the_same_errors_in_the_same_words(home: Path) -> None:
    # given a project that cannot be opened
    (home / "workflow.toml").write_text('[[action]]\nname = "a"\ncomand = "b"\n')
    runs = []
    for where in ("here", "process"):
        outer, inner = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "rowtui.cli.main"],
            cwd=home,
            stdin=inner,
            stdout=inner,
            stderr=inner,
            env={**os.environ, "ROWTUI_ENGINE": where, "TERM": "xterm"},
        )
        os.close(inner)
        runs.append((process, outer))
    # when the dashboard is opened on it, with an engine here and with one apart
    told = []
    for process, outer in runs:
        text = b""
        with contextlib.suppress(OSError):  # Linux: once nobody holds the other end any more
            while piece := os.read(outer, 1 << 16):
                text += piece
        os.close(outer)
        told.append((process.wait(60), text))
    # then a person is told the same
    assert told[0] == told[1]
    assert told[0][0] == 1
    assert b"workflow.toml:3:" in told[0][1]


def test_the_screen_loads_nothing_that_only_the_engine_needs(home: Path) -> None:
    root = make_project(home / "project")
    process = screen(root, "imports")
    out, _ = process.communicate(timeout=120)
    found = json.loads(out)
    # Before the engine runs next to nothing is there, so that it runs early.
    first = {name for name in found["first"] if name.startswith("rowtui.")}
    assert first <= {
        "rowtui.core",
        "rowtui.core.base",
        "rowtui.core.engine",
        "rowtui.core.engine.process",
        "rowtui.core.engine.process.errors",
        "rowtui.core.engine.process.start",
        "rowtui.core.base.errors",
        "rowtui.core.base.lazy",
    }
    packages = {name.split(".")[0] for name in found["all"]}
    assert not packages & {"numpy", "asyncssh", "watchfiles", "yaml", "orjson"}
    assert not {name for name in found["all"] if name.startswith("rowtui.core.engine.local")}
    assert "rowtui.core.project.project" not in found["all"]
