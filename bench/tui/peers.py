"""The start of other terminal programs for Slurm's queue, where they install and start.

Each in an environment of its own, with a stand-in for Slurm's commands, so that they find a queue.
What they show then is not compared: only the time to their first frame.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import NamedTuple

from bench.tui.start import Start, least
from bench.tui.terminal import NeverCame, Terminal, environment

PEERS = (("slurm-viewer", "slurm-viewer"), ("stui", "stui"))
"""Package, command."""

ALTERNATE = b"\x1b[?1049h"
"""A full-screen program has taken the terminal."""

STAND_IN = """#!/bin/sh
case "$0 $*" in
*--version*|*-V*) echo "slurm 24.11.0";;
*squeue*) echo "JOBID PARTITION NAME USER ST TIME NODES NODELIST(REASON)";;
*sinfo*) echo "PARTITION AVAIL TIMELIMIT NODES STATE NODELIST"; echo "cpu* up 1:00:00 1 idle n";;
esac
"""


class Peer(NamedTuple):
    """The least of some starts; or why it could not be measured."""

    start: Start | None
    why: str = ""


def measure(package: str, command: str, rounds: int) -> Peer:
    """Install and start it."""
    with tempfile.TemporaryDirectory(prefix="rowtui-bench-") as temporary:
        folder = Path(temporary)
        venv.create(folder / "venv", with_pip=True)
        pip = [str(folder / "venv/bin/pip"), "install", "-q", package]
        done = subprocess.run(pip, capture_output=True, text=True)
        if done.returncode:
            return Peer(None, "did not install: " + done.stderr.strip().rpartition("\n")[2][:80])
        return start(folder / "venv/bin" / command, folder, rounds)


def start(program: Path, folder: Path, rounds: int) -> Peer:
    """From exec to the first text that is drawn on the whole screen."""
    bin_folder = folder / "slurm"
    bin_folder.mkdir()
    for name in ("squeue", "sinfo", "sacct", "scontrol", "sbatch", "sacctmgr", "sdiag", "scancel"):
        (bin_folder / name).write_text(STAND_IN)
        (bin_folder / name).chmod(0o755)
    own = environment(folder)
    own["PATH"] = f"{bin_folder}:{own['PATH']}"
    found = []
    for number in range(rounds + 1):
        terminal = Terminal([str(program)], folder, own)
        try:
            terminal.until(ALTERNATE, 20)
            terminal.seen = terminal.seen.rpartition(ALTERNATE)[2]
            frame = _first_text(terminal)
        except NeverCame as error:
            return Peer(None, "did not start: " + _last_words(str(error)))
        finally:
            terminal.close()
        if number:
            found.append(frame)
    return Peer(least(found))


def _first_text(terminal: Terminal) -> Start:
    """When a good part of a screen had been drawn."""
    end = time.perf_counter() + 20
    while len(terminal.seen) < 1500:
        if not terminal.read(1.0) and terminal.process.poll() is not None:
            raise NeverCame(repr(terminal.seen))
        if time.perf_counter() > end:
            raise NeverCame("it drew nothing")
    return Start(time.perf_counter() - terminal.began, terminal.cpu())


def _last_words(text: str) -> str:
    words = text.replace("\\r", "").replace("\\n", "\n").strip("'\" \n").rpartition("\n")[2]
    return words.replace("|", "/")[-90:]


def main() -> None:
    """For trying: a program and a folder of its own."""
    with tempfile.TemporaryDirectory() as temporary:
        print(start(Path(sys.argv[1]), Path(temporary), 3))


if __name__ == "__main__":
    main()
