"""Measure a slow file server: `python -m bench.latency [--directories N] [--milliseconds MS]`.

The commands run on this machine's file system, with a pause before each call that asks about a name
in the project: `latency.c`, compiled here and loaded before the C library. So it waits for each
open, stat, rename and the like as on a network file system, and not for what is read from something
open. The first look is repeated with several numbers of requests under way at once. The dashboard
is started in a terminal, until it has painted; strace counts the files that its processes open
until then, those of Python and its modules included.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from bench.commands import forget
from bench.machine import machine
from bench.make_project import listed_action, make_project
from bench.measure import Run, run
from bench.measured import Measured, of_runs, write
from bench.tui.terminal import Terminal, environment

SOURCE = Path(__file__).with_name("latency.c")
AT_ONCE = (1, 8, 32)
COUNTS = ("directories/s", "files")


def compile_shim(folder: Path) -> Path:
    """The library to be loaded first.

    Raises: SystemExit if there is no compiler, or it refuses.
    """
    compiler = shutil.which("cc")
    if compiler is None:
        raise SystemExit("needs cc, a C compiler")
    library = folder / "latency.so"
    words: list[str | Path] = [compiler, "-shared", "-fPIC", "-O2", "-o", library, SOURCE, "-ldl"]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"cc: {done.stderr.strip().partition(chr(10))[0]}")
    return library


def slow(library: Path, below: Path, milliseconds: float) -> dict[str, str]:
    """What a command's environment has in addition."""
    return {
        "LD_PRELOAD": str(library),
        "LATENCY_BELOW": str(below.resolve()),
        "LATENCY_US": str(round(1000 * milliseconds)),
    }


def measure(
    folder: Path,
    tools: Mapping[str, Path],
    directories: int,
    milliseconds: float,
    rounds: int,
    at_once: Sequence[int] = AT_ONCE,
) -> Iterator[Measured]:
    """Rows as they are measured."""
    make_project(folder, directories)
    quick = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    log = folder / "stderr.log"
    delayed = slow(compile_shim(folder), folder, milliseconds)

    def once(tool: str, words: Sequence[str], environment: dict[str, str]) -> Run:
        command: list[str | Path] = [tools[tool], "--no-progress", *words]
        return run(command, folder / tool, environment, log)

    for tool in tools:
        alone = 0.0
        for number in at_once:
            forget(folder / tool)
            first = ("--io-threads", str(number), "show", "status")
            done = once(tool, first, quick | delayed)
            row = of_runs(f"first scan, {number} at once", directories, tool, [done])
            if row.best:
                alone = alone or done.wall
                rates = {"directories/s": directories / done.wall}
                if number > 1:
                    rates["times faster"] = alone / done.wall
                row = replace(row, best={**row.best, **rates})
            yield row
        listing = ("show", "directories", "-a", listed_action(), "--eligible")
        for name, words in (
            ("show status", ("show", "status")),
            ("show directories --eligible", listing),
        ):
            once(tool, words, quick)
            runs = [once(tool, words, quick | delayed) for _ in range(rounds)]
            yield of_runs(name, directories, tool, runs)
    if "rowtui" in tools:
        command = [str(tools["rowtui"]), "--cluster", "local"]
        yield first_paint(command, folder, directories, delayed, rounds)
        yield files_opened(command, folder, directories)


PAINTED = "Needs you"  # of the first paint
OPENED = re.compile(r"open(?:at)?[( ].* = \d+<?")


def first_paint(
    command: Sequence[str], folder: Path, size: int, delayed: dict[str, str], rounds: int
) -> Measured:
    """The seconds from exec until the dashboard has painted; the first round warms the caches."""
    found = []
    for _ in range(rounds + 1):
        terminal = Terminal(command, folder / "rowtui", environment(folder) | delayed)
        try:
            found.append(terminal.until(PAINTED.encode()))
        finally:
            terminal.close()
    names = ("wall s", "cpu s")
    best = dict(zip(names, map(min, zip(*found[1:], strict=True)), strict=True))
    middle = dict(zip(names, map(statistics.median, zip(*found[1:], strict=True)), strict=True))
    return Measured("dashboard: first paint", size, best=best, median=middle, runs=rounds)


def files_opened(command: Sequence[str], folder: Path, size: int) -> Measured:
    """The files and folders that the dashboard's processes open until it has painted."""
    what, log = "dashboard: files opened", folder / "strace.log"
    strace = shutil.which("strace")
    if strace is None:
        return Measured(what, size, error="needs strace")
    options = ["-f", "-qq", "-s", "9999", "-e", "trace=open,openat,write", "-e", "signal=none"]
    traced = [strace, *options, "-o", str(log), *command]
    terminal = Terminal(traced, folder / "rowtui", environment(folder))
    try:
        terminal.until(PAINTED.encode(), 120)
    finally:
        terminal.close()
    calls = log.read_text(errors="replace").splitlines()
    painted = next(at for at, call in enumerate(calls) if "write(" in call and PAINTED in call)
    opened = sum(1 for call in calls[:painted] if OPENED.search(call))
    return Measured(what, size, best={"files": opened})


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.latency", description=__doc__)
    parser.add_argument("--directories", type=int, default=10_000)
    parser.add_argument("--milliseconds", type=float, default=1.0, help="before each call")
    parser.add_argument("--rounds", type=int, default=5, help="of the commands that only show")
    parser.add_argument("--row", type=Path, metavar="PATH", help="the real Row, measured beside")
    beside = Path(sys.executable).parent / "rowtui"
    parser.add_argument("--rowtui", type=Path, metavar="PATH", default=beside)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    given = parser.parse_args()
    tools = {"rowtui": given.rowtui} | ({"row": given.row} if given.row else {})
    print(f"# {machine()}\n\n{given.directories:,} directories, {given.milliseconds:g} ms a call\n")
    print("| command | of | wall s | CPU s | counted |\n|---|---|--:|--:|--:|")
    rows = []
    with tempfile.TemporaryDirectory(prefix="rowtui-latency-") as temporary:
        folder, count = Path(temporary), given.directories
        for row in measure(folder, tools, count, given.milliseconds, given.rounds):
            rows.append(row)
            cells = [f"{row.best[it]:.3f}" if it in row.best else "" for it in ("wall s", "cpu s")]
            cells += [f"{row.best[it]:,.0f} {it}" for it in COUNTS if it in row.best] or [""]
            print(f"| {row.what} | {row.tool} | {row.error or ' | '.join(cells)} |", flush=True)
            if given.json:
                write(given.json, rows)


if __name__ == "__main__":
    main()
