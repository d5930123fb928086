"""A notice for the user's terminal reaches a real one between two frames, unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.terminal import Terminal

CODE = """
import asyncio, time
from rowtui.core.engine.api.snapshot import TERMINAL_NOTICE
from rowtui.tui.shell.app import run_dashboard
from tests.tui.sample import SampleEngine

class Rings(SampleEngine):
    async def changes(self):
        while True:
            await asyncio.sleep(0.3)
            yield TERMINAL_NOTICE + "\\x1b]9;rowtui: study: done\\x1b\\\\"

engine = Rings()
engine.now = time.time()
raise SystemExit(run_dashboard(engine))
"""
NOTICE = b"\x1b]9;rowtui: study: done\x1b\\"
BEGIN, END = b"\x1b[?2026h", b"\x1b[?2026l"  # of a frame, in terminals that synchronise


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    return Terminal(tmp_path, CODE)


def test_a_notice_is_written_whole_and_never_inside_of_a_frame(terminal: Terminal) -> None:
    try:
        terminal.until(NOTICE)
        for _ in range(3):
            terminal.seen = terminal.seen[terminal.seen.rfind(NOTICE) + len(NOTICE) :]
            terminal.until(NOTICE)
            before = terminal.seen[: terminal.seen.find(NOTICE)]
            assert before.count(BEGIN) == before.count(END)
    finally:
        terminal.close()
