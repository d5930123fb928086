"""A long list on the screen: what a page, a step, a jump, another order and a filter cost."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from bench.tui.terminal import Terminal, environment

ROOT = Path(__file__).parents[2]


class Listed(NamedTuple):
    """Of each step [least CPU ms, wall ms p50, p95]; `load` is wall and CPU seconds; MB in all."""

    steps: dict[str, Any]
    resident: float


class Changing(NamedTuple):
    """While all rows on the screen change: share of a core, bytes a second."""

    cpu: float
    written: float


def _inside(mode: str, path: Path, rows: int, seconds: float) -> Terminal:
    words = [
        sys.executable, "-m", "bench.tui.inside", mode, str(path), str(rows), str(seconds),
    ]  # fmt: skip
    return Terminal(words, ROOT, environment(path.parent))


def measure(mode: str, rows: int) -> Listed:
    """`mode`: list (ours) or datatable (Textual's)."""
    with tempfile.TemporaryDirectory(prefix="rowtui-bench-") as temporary:
        path = Path(temporary) / "figures"
        terminal = _inside(mode, path, rows, 0)
        try:
            terminal.until_made(path, 1800)
            return Listed(json.loads(path.read_text()), terminal.resident())
        finally:
            terminal.close()


def changing(seconds: float) -> Changing:
    """All rows of the screen change, ten times a second."""
    with tempfile.TemporaryDirectory(prefix="rowtui-bench-") as temporary:
        path = Path(temporary) / "figures"
        terminal = _inside("list", path, 1_000_000, seconds + 5)
        try:
            terminal.until_made(path)
            terminal.during(0.5)
            cpu, written = terminal.during(seconds)
            return Changing(cpu / seconds, written / seconds)
        finally:
            terminal.close()
