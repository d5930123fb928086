"""What each change of Textual's private parts saves: `python -m bench.tui.patches`.

The sample dashboard runs in a pseudo-terminal of 120 x 36, once as it is and once without each
module of `tui/textual_patches`, in turn; the keys are the same. Writes `bench/results/patches.md`.
CPU is the least of the rounds, since other processes only add to it. A patch that mends a defect
has a test instead, which its docstring names.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from sys import executable

from bench.machine import load, machine
from bench.tui.terminal import Terminal, environment

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "bench/results/patches.md"

DOWN, UP = b"\x1b[B", b"\x1b[A"
VIEWS = [b"2", b"3", b"4", b"5", b"6", b"7", b"8", b"9", b"C", b"1"]
STEPS: dict[str, tuple[list[bytes], list[bytes]]] = {
    "start": ([], [b""]),
    "views, first": ([], VIEWS),
    "views, again": ([], VIEWS),
    "cursor": ([b"2"], [DOWN, UP, DOWN, DOWN, UP, UP] * 4),
}
"""Keys before the measurement, and the measured keys; figures are for one of these."""

PAGE = "page of 1,000,000 rows"
"""A further step, in a terminal of 200 x 50 (`bench.tui.inside`)."""

QUIET = 0.25
"""Seconds without output after which a key is done."""

RUN = """
import gc, os, sys, time
longest, begun = 0.0, 0.0
def watch(phase, info):
    global longest, begun
    if phase == "start":
        begun = time.thread_time()
    elif time.thread_time() - begun > longest:
        longest = time.thread_time() - begun
        open(os.environ["PAUSE"], "w").write(str(longest))
gc.callbacks.append(watch)
from rowtui.tui.shell.app import RowtuiApp, run_dashboard
from rowtui.tui.shell.terminal import Manner
from tests.tui.sample import SampleEngine
engine = SampleEngine()
run_dashboard(engine, how=Manner(remote=True), clock=lambda: engine.now)
"""

LIST = "from bench.tui.inside import main; main()"

WITHOUT = {
    "changed_cells": """
from rowtui.tui.shell.terminal_app import TerminalApp
from textual.app import App
TerminalApp._display = App._display
""",
    "fast_strips": """
from rowtui.tui.textual_patches import framed_lines
from rowtui.tui.widgets.table import table_lines
from textual.strip import Strip
class Line(Strip):
    framed_by = None
framed_lines.LightStrip, framed_lines.LineStrip = Strip, Line
framed_lines.FramedStrip = lambda body, tail: Strip([*body, *tail])
table_lines.LineStrip = Line
""",
    "framed_lines": """
from rowtui.tui.textual_patches.framed_lines import FramedLines
from textual._styles_cache import StylesCache
FramedLines.render = StylesCache.render
""",
    "style_cache": """
from rowtui.tui.shell import app
from textual.css.stylesheet import Stylesheet
app.KeptStylesheet = Stylesheet
""",
    "driver: garbage": """
from rowtui.tui.textual_patches import driver
driver.begin = driver.search = driver.set_aside = lambda: None
""",
}
"""What takes a patch away, before the dashboard starts."""

Figures = dict[str, tuple[float, float]]  # by step, bytes and CPU ms of a key


def measured(without: str) -> tuple[Figures, float]:
    """The figures of one run, and the longest search for garbage in CPU ms."""
    found: Figures = {}
    with tempfile.TemporaryDirectory(prefix="rowtui-bench-") as temporary:
        pause = Path(temporary) / "pause"
        own = environment(Path(temporary)) | {"PAUSE": str(pause), "TEXTUAL_FPS": "60"}
        words = [executable, "-c", without + RUN]
        with closing(Terminal(words, ROOT, own, columns=120, lines=36)) as terminal:
            terminal.until(b"08:00")  # the axis of a chart
            for step, (before, keys) in STEPS.items():
                for key in before:
                    pressed(terminal, key)
                count, cpu = (terminal.count, terminal.cpu()) if step != "start" else (0, 0.0)
                for key in keys:
                    pressed(terminal, key)
                wrote, took = terminal.count - count, 1000 * (terminal.cpu() - cpu)
                found[step] = wrote / len(keys), took / len(keys)
        words = [
            executable,
            "-c",
            without + LIST,
            "list",
            str(pause.parent / "list"),
            "1000000",
            "0",
        ]
        with closing(Terminal(words, ROOT, own)) as terminal:
            terminal.until_made(pause.parent / "list")
            found[PAGE] = 0, json.loads((pause.parent / "list").read_text())["page"][0]
        return found, 1000 * float(pause.read_text())


def pressed(terminal: Terminal, key: bytes) -> None:
    """Press a key, and read until the terminal is at rest."""
    terminal.press(key)
    while terminal.read(QUIET if key else 1.0):
        pass


def least(runs: list[tuple[Figures, float]]) -> tuple[Figures, float]:
    """The least of each figure."""
    best = {step: tuple(map(min, zip(*(one[step] for one, _ in runs), strict=True)))
            for step in (*STEPS, PAGE)}  # fmt: skip
    return best, min(pause for _, pause in runs)  # type: ignore[return-value]


def table(runs: dict[str, list[tuple[Figures, float]]]) -> Iterator[str]:
    """The lines of the result."""
    yield "| without | " + " | ".join((*STEPS, PAGE)) + " | longest search for garbage |"
    yield "|---|" + "--:|" * (len(STEPS) + 2)
    (usual, shortest), *_ = map(least, runs.values())
    for name, some in runs.items():
        found, pause = least(some)
        cells = []
        for step, (written, cpu) in found.items():
            size = f"{written / 1000:.1f} kB, " if written else ""
            cells.append(f"{size}{cpu:.1f} ms{compared(cpu, usual[step][1])}")
        yield f"| {name} | {' | '.join(cells)} | {pause:.0f} ms{compared(pause, shortest)} |"


def compared(value: float, usual: float) -> str:
    """The difference to the dashboard as it is, in per cent."""
    return f" ({100 * (value / usual - 1):+.0f} %)" if value != usual else ""


def main() -> None:
    """Measure each in turn, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.tui.patches", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", metavar="NAMES", help="by commas")
    given = parser.parse_args()
    head = machine()
    wanted = [name for name in WITHOUT if not given.only or name in given.only.split(",")]
    runs: dict[str, list[tuple[Figures, float]]] = {"nothing": [], **{one: [] for one in wanted}}
    for _ in range(given.rounds):
        for name, some in runs.items():
            some.append(measured(WITHOUT.get(name, "")))
    text = "\n".join(table(runs))
    print(text)
    if not given.only:
        about = (__doc__ or "").partition("\n\n")[2]
        RESULTS.write_text(
            f"# Changes of Textual's private parts\n\n{about}\nFor one key each: bytes to the "
            f"terminal, and CPU of the dashboard with its sample engine.\n\n{head}; "
            f"load after {load()}\n\n{text}\n"
        )


if __name__ == "__main__":
    main()
