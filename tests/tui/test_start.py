"""Starting and leaving: what is imported, which terminals are taken, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.tui.shell.app import run_dashboard

from tests.tui.sample import SampleEngine
from tests.tui.terminal import Terminal

ROOT = Path(__file__).parents[2]


def test_the_first_paint_needs_none_of_the_heavy_modules() -> None:
    code = """
import asyncio, sys
from rowtui.tui.shell.app import RowtuiApp
from tests.tui.sample import SampleEngine
from tests.tui.terminal import Terminal

async def main():
    engine = SampleEngine()
    app = RowtuiApp(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
heavy = {"numpy", "asyncssh", "watchfiles", "orjson", "yaml", "pygments.lexers", "hypothesis"}
asyncio.run(main())
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_the_terminal_is_looked_at_before_textual_reads_its_environment() -> None:
    code = "import sys, rowtui.tui.shell.terminal; print('textual' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "False", done.stderr


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_dumb_terminal_is_sent_to_the_text_form(
    term: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    with pytest.raises(RowtuiError, match="needs a terminal") as caught:
        run_dashboard(SampleEngine())
    assert "rowtui show status" in caught.value.hint


def test_errors_sent_to_a_file_would_take_the_picture_with_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Tty:
        def isatty(self) -> bool:
            return True

    class File:
        def isatty(self) -> bool:
            return False

    monkeypatch.setenv("TERM", "xterm")
    for name, stream in (("stdin", Tty()), ("stdout", Tty()), ("__stderr__", File())):
        monkeypatch.setattr(sys, name, stream)
    with pytest.raises(RowtuiError, match="needs a terminal"):
        run_dashboard(SampleEngine())


def test_in_a_real_terminal_it_paints_answers_keys_and_gives_the_terminal_back(
    tmp_path: Path,
) -> None:
    terminal = Terminal(tmp_path, LC_ALL="C.UTF-8", NO_COLOR="")
    try:
        terminal.until(b"need you")
        terminal.until(b"equilibrate")
        os.write(terminal.master, b"2")
        terminal.until(b"Groups of")
        os.write(terminal.master, b"7")  # the title links to the file of the log
        terminal.until(b";file://" + os.uname().nodename.encode())
        terminal.until(b"\x1b]8;;\x1b\\")
        os.write(terminal.master, b"\x03")  # Ctrl-C does not end it without a word
        terminal.until(b"Press q to leave")
        os.write(terminal.master, b"q")
        terminal.drain()
        assert terminal.process.wait(timeout=60) == 0
        assert b"\x1b[?1049l" in terminal.seen  # back from the alternate screen
    finally:
        terminal.close()


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(number: signal.Signals, tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    try:
        terminal.until(b"equilibrate")
        os.kill(terminal.process.pid, number)
        terminal.drain()
        assert terminal.process.wait(timeout=60) == 128 + number
        assert b"Traceback" not in terminal.seen
        assert b"\x1b[?1049l" in terminal.seen  # back from the alternate screen
    finally:
        terminal.close()


def test_a_defect_ends_it_with_one_sentence_and_a_file(tmp_path: Path) -> None:
    code = """
from rowtui.core.base.errors import RowtuiError
from rowtui.tui.shell.app import RowtuiApp, run_dashboard
from tests.tui.sample import SampleEngine
from tests.tui.terminal import Terminal

def broken(self):
    raise KeyError("oops")

RowtuiApp.command_theme = broken
try:
    run_dashboard(SampleEngine())
except RowtuiError as error:
    print("TOLD", error.message, "|", error.hint)
"""
    terminal = Terminal(tmp_path, code)
    try:
        terminal.until(b"equilibrate")
        os.write(terminal.master, b"T")
        terminal.until(b"TOLD")
        terminal.drain()
        assert b"ended because of a defect: KeyError" in terminal.seen
        assert b"Traceback" not in terminal.seen
        [log] = tmp_path.rglob("dashboard.log")
        assert "oops" in log.read_text()
    finally:
        terminal.close()
