"""From exec to the first frame and to the status on it; beside a bare Textual app."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.make_project import make_project
from bench.tui.terminal import Terminal, environment

BARE = """
from textual.app import App
from textual.widgets import Static

class Bare(App):
    def compose(self):
        yield Static("Needs you: eligible")

Bare().run()
"""


class Start(NamedTuple):
    """Seconds since exec until something was painted, and CPU seconds of the process by then."""

    wall: float
    cpu: float


class Starts(NamedTuple):
    """One entry a round."""

    frames: list[Start]
    statuses: list[Start]
    floors: list[Start]


def rowtui() -> list[str]:
    """The dashboard as a person starts it."""
    return [str(Path(sys.executable).parent / "rowtui"), "--cluster", "local"]


def measure(rounds: int, directories: int) -> Starts:
    """Start the dashboard and the bare app in turn, with what the last command left in caches."""
    found = Starts([], [], [])
    with tempfile.TemporaryDirectory(prefix="rowtui-bench-") as temporary:
        folder = Path(temporary)
        make_project(folder, directories)
        project = folder / "rowtui"
        own = environment(folder)
        subprocess.run(
            [*rowtui(), "show", "status"], cwd=project, env=own, check=True, capture_output=True
        )
        for number in range(rounds + 1):
            terminal = Terminal(rowtui(), project, own)
            try:
                frame = Start(*terminal.until(b"Needs you"))
                status = Start(*terminal.until(b"eligible"))
            finally:
                terminal.close()
            bare = Terminal([sys.executable, "-c", BARE], project, own)
            try:
                floor = Start(*bare.until(b"Needs you"))
            finally:
                bare.close()
            if number:  # the first one warms the caches
                found.frames.append(frame)
                found.statuses.append(status)
                found.floors.append(floor)
    return found


def least(starts: Sequence[Start]) -> Start:
    """The least of each: what others do on a shared machine only adds."""
    return Start(min(one.wall for one in starts), min(one.cpu for one in starts))
