"""What starting costs: `python -m bench.import_time`. Modules loaded, CPU time, heavy imports."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from bench.make_project import make_project
from bench.measure import run
from bench.measured import Measured, of_runs, write

# Each costs 20 ms or more; none belongs to a command that only shows something.
HEAVY = ("asyncio", "asyncssh", "numpy", "orjson", "platformdirs", "rich", "textual", "yaml")
ROUNDS = 15
DIRECTORIES = 10

_COUNT = """
import sys
before = set(sys.modules)
from rowtui.cli.main import main
sys.argv = ["rowtui", *sys.argv[1:]]
try:
    main()
except SystemExit:
    pass
finally:
    sys.stdout.flush()
    print(*set(sys.modules) - before, file=sys.stderr)
"""

COMMANDS = (
    ("--help",),
    ("--version",),
    ("show", "status"),  # the second time: nothing has changed
    ("show", "status", "--all"),
    ("show", "directories", "-a", "a3"),
    ("submit", "--dry-run", "-n", "1", "--cluster", "none"),
)


def measure(words: Sequence[str], program: Path, project: Path, rounds: int) -> Measured:
    """One command: its best and median run."""
    environment = bench_environment(project)
    log = project.parent / "stderr.log"
    run([program, *words], project, environment, log)
    runs = [run([program, *words], project, environment, log) for _ in range(rounds)]
    tool = "row" if program.name == "row" else "rowtui"
    return in_ms(of_runs(" ".join(words), DIRECTORIES, tool, runs))


def in_ms(row: Measured) -> Measured:
    """Its times as milliseconds."""

    def figures(of: Mapping[str, float]) -> dict[str, float]:
        times = {f"{name} ms": 1e3 * of[f"{name} s"] for name in ("cpu", "wall")}
        return {**times, "peak MB": of["peak MB"]}

    return replace(row, best=figures(row.best), median=figures(row.median)) if row.best else row


def loaded(words: Sequence[str], project: Path) -> set[str]:
    """The modules that a command imports."""
    done = subprocess.run(
        [sys.executable, "-c", _COUNT, *words],
        cwd=project,
        env=bench_environment(project),
        capture_output=True,
        text=True,
    )
    return set(done.stderr.rstrip("\n").rpartition("\n")[2].split())


def bench_environment(project: Path) -> dict[str, str]:
    """Nobody's own configuration."""
    home = str(project.parent)
    return {"PATH": os.environ.get("PATH", ""), "HOME": home, "LC_ALL": "C.UTF-8"}


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(prog="python -m bench.import_time", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    beside = Path(sys.executable).parent / "rowtui"
    parser.add_argument("--rowtui", type=Path, metavar="PATH", default=beside)
    parser.add_argument("--row", type=Path, metavar="PATH", help="the real Row, measured beside")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="rowtui-bench-") as temporary:
        folder = Path(temporary)
        make_project(folder, DIRECTORIES)
        project, log = folder / "rowtui", folder / "stderr.log"
        print("| command | CPU ms | wall ms | MB | modules | heavy ones |")
        print("|---|--:|--:|--:|--:|---|")
        python = [sys.executable, "-c", "pass"]
        runs = [run(python, project, bench_environment(project), log) for _ in range(given.rounds)]
        rows.append(in_ms(of_runs("interpreter", 0, "floor", runs)))
        print(f"| `python -c pass` | {figures(rows[-1])} | | |")
        for words in COMMANDS:
            ours = measure(words, given.rowtui, project, given.rounds)
            modules = loaded(words, project)
            heavy = [name for name in HEAVY if name in modules]
            counted = {"modules": float(len(modules)), "heavy modules": float(len(heavy))}
            rows.append(replace(ours, best={**ours.best, **counted}) if ours.best else ours)
            said = f"| {len(modules)} | {', '.join(heavy)} |"
            print(f"| `rowtui {' '.join(words)}` | {figures(ours)} {said}")
            if given.row and words[:2] != ("--version",):
                rows.append(measure(words, given.row, folder / "row", given.rounds))
                print(f"| `row {' '.join(words)}` | {figures(rows[-1])} | | |")
    if given.json:
        write(given.json, rows)


def figures(row: Measured) -> str:
    """CPU, wall and memory of one command, or why there are none."""
    if row.error:
        return f"{row.error[:60]} | |"
    return " | ".join(f"{row.best[name]:.0f}" for name in ("cpu ms", "wall ms", "peak MB"))


if __name__ == "__main__":
    main()
