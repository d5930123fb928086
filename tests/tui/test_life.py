"""Terminals that stop, come back, break or go away, as real pseudo-terminals."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import termios
import threading
import time
from functools import partial
from pathlib import Path

import pytest
from rowtui.tui.shell.keymap import PAUSE
from rowtui.tui.widgets.table.list_table import ListTable
from textual.events import DescendantFocus

from tests.eventually import eventually
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
            terminal.until(b"need you")

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


QUIET = {"SHELL": "/bin/true", "PAGER": "true", "EDITOR": "true", "VISUAL": "true"}
"""Programs that some keys start, and that end at once."""

REPORTS = (
    b"\xff", b"\xc3(", b"\x1b[M \xff\xfe", b"\x1b[99999999999u", b"\x1b[48;0;0;0;0t",
    b"\x1b[48;99999;99999;9;9t", b"\x1b[<35;99999999;99999999M", b"\x1b[97;1;55296u",
)  # fmt: skip
"""Bytes that are no UTF-8, mouse reports of old terminals, and reports of what cannot be."""


def cpu_seconds(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def ended_by_hangup(terminal: Terminal) -> float:
    """The CPU seconds from a SIGHUP to the end, while the terminal takes all that is written."""
    pid = terminal.process.pid
    before = after = cpu_seconds(pid)
    terminal.process.send_signal(signal.SIGHUP)
    while state(pid) != "Z":
        after = cpu_seconds(pid)
        terminal.drop(0.05)
    assert terminal.process.wait(timeout=60) == 128 + signal.SIGHUP
    return after - before


@pytest.mark.timeout(120)
def test_no_input_ends_it_but_the_keys_that_leave_it(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, **QUIET)
    chance = random.Random(20)
    try:
        terminal.until(b"equilibrate")
        begun = cpu_seconds(terminal.process.pid)
        for data in (*REPORTS, *(bytes([byte]) for byte in range(256))):
            os.write(terminal.master, data.translate(None, b"\x1a\x11q"))  # stop, leave, leave
            terminal.drop(0.003)
        for _ in range(1000):
            data = chance.randbytes(chance.choice((1, 2, 3, 5, 9, 30, 64)))
            os.write(terminal.master, data.translate(None, b"\x1a\x11q"))
            terminal.drop(0.003)
        assert terminal.process.poll() is None, terminal.seen[-2000:]
        assert ended_by_hangup(terminal) < begun
    finally:
        terminal.close()


@pytest.mark.timeout(120)
def test_a_text_without_a_field_costs_little_and_a_hangup_ends_it_meanwhile(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, **QUIET)
    try:
        terminal.until(b"equilibrate")
        terminal.rests()
        begun = cpu_seconds(terminal.process.pid)  # what its start took of this machine's
        text = b"Quit, or submit 7 jobs: caf\xc3\xa9.\r\n" * 3200
        for start in range(0, len(text), 1001):  # also in the middle of a character
            os.write(terminal.master, text[start : start + 1001])
            terminal.drop(0.001)
        terminal.until(b"A text was pasted where no field is open")
        assert cpu_seconds(terminal.process.pid) < 5 * begun  # 3; one by one: 100
        eventually(partial(line_opened, terminal))  # the text has ended
        terminal.seen = b""
        for key in (b"q", b"u", b"\xc3", b"\xa9"):  # each byte of a character for itself
            os.write(terminal.master, key)
            terminal.drop(0.05)
        # Alone: only cells that changed are written, so the letters before it may not be beside it.
        terminal.until("\N{LATIN SMALL LETTER E WITH ACUTE}".encode())
        os.write(terminal.master, b"\x1b")
        terminal.rests()
        keys = threading.Thread(target=flood, args=(terminal.master, b"\x1b[A\x1b[B" * 20_000))
        keys.daemon = True
        keys.start()
        terminal.drop(0.5)
        assert ended_by_hangup(terminal) < begun
    finally:
        terminal.close()


@pytest.mark.timeout(120)
def test_no_signal_is_missed_while_other_threads_call_the_loop(tmp_path: Path) -> None:
    code = """
import asyncio, os, signal
from rowtui.tui.shell.terminal_app import TerminalApp
from tests.tui.sample import main

def follow(self, first=TerminalApp.follow_signals):
    first(self)
    for _ in range(10_000):  # more than fit into the socket through which the loop is woken
        asyncio.get_running_loop().call_soon_threadsafe(bool)
    os.kill(os.getpid(), signal.SIGTERM)

TerminalApp.follow_signals = follow
raise SystemExit(main())
"""
    terminal = Terminal(tmp_path, code, **QUIET)
    try:
        ended = eventually(lambda: terminal.drop(0.1) or terminal.process.poll(), every=0)
        assert ended == 128 + signal.SIGTERM
    finally:
        terminal.close()


def line_opened(terminal: Terminal) -> bool:
    """Press `:`, and return whether the command line opened."""
    start = len(terminal.seen)
    os.write(terminal.master, b":")
    terminal.drop(PAUSE)
    return b"typed before" in terminal.seen[start:]


def flood(master: int, data: bytes) -> None:
    """Type all of it as fast as the terminal takes it, until the terminal is closed."""
    with contextlib.suppress(OSError):
        while data:
            data = data[os.write(master, data[:1000]) :]


@pytest.mark.parametrize("number", "268")
async def test_no_widget_is_listened_to_while_the_dashboard_ends(number: str) -> None:
    async with opened() as hand:
        await hand.press(number)
        view = hand.app.screen
        words = (DescendantFocus(view), ListTable.Rearranged(view.query(ListTable).first()))
        assert all(map(view.post_message, words))
        hand.app._prune(view)  # the first thing that the end of the app does
        assert not any(map(view.post_message, words))
