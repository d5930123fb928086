"""Terminals that stop, come back, break or go away, as real pseudo-terminals."""

from __future__ import annotations

import os
import signal
import termios
import time
from pathlib import Path

import pytest
from rowtui.tui.widgets.table.list_table import ListTable
from textual.events import DescendantFocus

from tests.tui.hand import opened
from tests.tui.terminal import Terminal

BREAKS_ON_T = """
import os
from rowtui.core.base.errors import RowtuiError
from rowtui.tui.shell.app import RowtuiApp, run_dashboard
from tests.tui.sample import SampleEngine

class Engine(SampleEngine):
    async def refresh(self, *, full=False):
        os.write(2, b"\\x1b]0;look\\x07")
        return await super().refresh(full=full)

def broken(self):
    raise KeyError("oops")

RowtuiApp.command_theme = broken
try:
    run_dashboard(Engine())
except RowtuiError as error:
    print("TOLD", error.message)
"""


def shell_has_it(terminal: Terminal) -> bool:
    """Whether the terminal echoes, and gives whole lines and signals: what a shell needs."""
    flags = termios.tcgetattr(terminal.master)[3]
    wanted = termios.ECHO | termios.ICANON | termios.ISIG
    return flags & wanted == wanted


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def assert_given_back(seen: bytes) -> None:
    for mode in (b"1049l", b"25h", b"1000l", b"1003l", b"1006l", b"2004l", b"1004l", b"7h"):
        assert b"\x1b[?" + mode in seen, mode
    assert seen.rindex(b"\x1b[?1049l") > seen.rindex(b"\x1b[?1049h")


def test_it_stops_and_comes_back_and_a_defect_gives_the_terminal_back(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, BREAKS_ON_T)
    pid = terminal.process.pid
    try:
        terminal.until(b"equilibrate")
        assert not shell_has_it(terminal)

        for stop in ("key", "kill"):  # Ctrl+Z, and a stop that nobody announced
            terminal.rests()
            terminal.seen = b""
            if stop == "key":
                os.write(terminal.master, b"\x1a")
                terminal.until(b"\x1b[?1004l")
            else:
                os.kill(pid, signal.SIGSTOP)
            while state(pid) != "T":
                time.sleep(0.01)
            if stop == "key":
                assert_given_back(b"\x1b[?1049h" + terminal.seen)
                assert shell_has_it(terminal)
            terminal.seen = b""
            os.kill(pid, signal.SIGCONT)
            terminal.until(b"\x1b[?1049h")
            terminal.until(b"equilibrate")  # all of it is drawn again
            terminal.until(b"]0;look")  # and the project is looked at at once
            assert not shell_has_it(terminal)
            os.write(terminal.master, b"2")
            terminal.until(b"Groups of")
            os.write(terminal.master, b"1")
            terminal.until(b"Needs you")

        os.write(terminal.master, b"T")
        terminal.until(b"TOLD")
        terminal.drain()
        assert shell_has_it(terminal)
        assert_given_back(terminal.seen)
        assert b"Traceback" not in terminal.seen
    finally:
        terminal.close()


def test_a_terminal_that_is_gone_without_a_signal_ends_it(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, before="trap '' HUP; exec")
    try:
        terminal.until(b"equilibrate")
        os.close(terminal.master)
        terminal.master = os.open(os.devnull, os.O_RDONLY)
        assert terminal.process.wait(timeout=60) == 128 + signal.SIGHUP
    finally:
        terminal.close()


@pytest.mark.parametrize("number", "268")
async def test_no_widget_is_listened_to_while_the_dashboard_ends(number: str) -> None:
    async with opened() as hand:
        await hand.press(number)
        view = hand.app.screen
        words = (DescendantFocus(view), ListTable.Rearranged(view.query(ListTable).first()))
        assert all(map(view.post_message, words))
        hand.app._prune(view)  # the first thing that the end of the app does
        assert not any(map(view.post_message, words))
