"""One command from start to exit: wall time, CPU time and peak memory.

The command is started by a small process of its own: Linux counts the memory of whoever starts a
program as that program's peak, and this one has imported too much. Figures below that small
process's own (about 10 MB) can therefore not be seen.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TIMEOUT = 3600  # seconds

# Arguments: a file for stderr, the command.
# Prints wall, CPU (with all that it waited for), peak kB, exit code.
_STARTER = """
import os, sys, time
null = os.open("/dev/null", os.O_RDWR)
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
files = [(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, null, 1),
         (os.POSIX_SPAWN_DUP2, log, 2)]
began = time.perf_counter()
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ, file_actions=files)
_, status, used = os.wait4(pid, 0)
print(time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss,
      os.waitstatus_to_exitcode(status))
"""


@dataclass(frozen=True)
class Run:
    """`wall` and `cpu` in seconds, `peak` in MB: of the largest process, where it starts others."""

    wall: float
    cpu: float
    peak: float
    error: str = ""


def run(command: Sequence[str | Path], folder: Path, environment: dict[str, str], log: Path) -> Run:
    """Run a command in `folder` with its output thrown away; a failure is a value."""
    words = [sys.executable, "-I", "-S", "-c", _STARTER, str(log), *map(str, command)]
    try:
        done = subprocess.run(
            words, cwd=folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT
        )
    except subprocess.TimeoutExpired:
        return Run(0, 0, 0, f"took more than {TIMEOUT} s")
    if done.returncode:
        return Run(0, 0, 0, done.stderr.strip().rpartition("\n")[2] or "could not be started")
    wall, cpu, peak, code = done.stdout.split()
    if code != "0":
        said = log.read_text(errors="replace").strip() or f"exit code {code}"
        return Run(0, 0, 0, said.partition("\n")[0])
    return Run(float(wall), float(cpu), float(peak) / 1024)


def least(runs: Sequence[Run]) -> Run:
    """The least of each: what others do on a shared machine only adds. The first error if any."""
    for one in runs:
        if one.error:
            return one
    return Run(*(min(getattr(one, name) for one in runs) for name in ("wall", "cpu", "peak")))


def show(result: Run | None) -> tuple[str, str, str]:
    """Wall, CPU and peak for a table; an error is in the first cell."""
    if result is None:
        return "", "", ""
    if result.error:
        return result.error.split("] ")[-1][:60].replace("|", "/"), "", ""
    return seconds(result.wall), seconds(result.cpu), f"{result.peak:,.0f}"


def seconds(value: float) -> str:
    """Three digits that mean something."""
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 10 else f"{value:,.1f}"


def told_by(module: str, words: Sequence[str]) -> dict[str, Any]:
    """What a bench tells as JSON that is run in a process of its own. Ends this one if it fails."""
    done = subprocess.run([sys.executable, "-m", module, *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    told: dict[str, Any] = json.loads(done.stdout)
    return told
