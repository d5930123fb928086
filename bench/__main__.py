"""Measure rowtui beside Row and beside the floors: `python -m bench --sizes 10000,100000`.

For each size a project is made (see make_project.py) and each command is run by both tools in
turn, round after round, each in a project folder of its own over the same workspace. Printed are
the least wall time, CPU time (all processes together) and peak memory as a Markdown table: on a
machine that others use as well, only the least means something.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.make_project import directory_name, make_project, value
from bench.measure import Run, least, run, seconds, show
from bench.row_figures import NOTE, ROW_FIGURES

ROUNDS = {10_000: 7, 100_000: 3}  # the least of so many runs; larger sizes: 1
NEW = 1_000  # directories that come and go
READ_CACHES = """
import os, sys
for folder, _, files in os.walk(sys.argv[1]):
    for name in files:
        with open(os.path.join(folder, name), "rb", buffering=0) as file:
            while file.read(1 << 24): pass
"""


@dataclass(frozen=True)
class Case:
    """One command. `before` and `after` get the tool's project folder; they are not measured.

    `settle`: the workspace has changed, so that the tool looks at it once more, unmeasured.
    """

    name: str
    words: tuple[str, ...]
    before: Callable[[Path], None] = lambda _: None
    after: Callable[[Path], None] = lambda _: None
    settle: bool = False


def forget(project: Path) -> None:
    """Make the tool see the project for the first time."""
    shutil.rmtree(project / ".row", ignore_errors=True)


def unstage(project: Path) -> None:
    """Take back what scan found, so that the next round starts alike."""
    for staged in (project / ".row" / "completed").glob("*"):
        staged.unlink()


def add_new(project: Path) -> None:
    """Make directories that the tool has not seen."""
    for number in range(NEW):
        folder = project.parent / "workspace" / f"new-{number}"
        folder.mkdir()
        (folder / "value.json").write_bytes(value(number))


def remove_new(project: Path) -> None:
    """Take them away again."""
    for folder in (project.parent / "workspace").glob("new-*"):
        shutil.rmtree(folder)


def cases() -> list[Case]:
    """The commands, in the order of one round: the first one leaves the caches for the others."""
    one = directory_name(1)
    here = ("--cluster", "none")  # rowtui would send to this machine's queue, Row run it now
    return [
        Case("first show status", ("show", "status"), before=forget),
        Case("show status", ("show", "status")),
        Case("show status --all", ("show", "status", "--all")),
        Case("show status DIRECTORY", ("show", "status", one)),
        Case("show directories --value", ("show", "directories", "-a", "a0", "--value", "/x")),
        Case("show directories --eligible", ("show", "directories", "-a", "a3", "--eligible")),
        Case("submit --dry-run", ("submit", "--dry-run", *here)),
        Case("submit --dry-run -n 1", ("submit", "--dry-run", "-n", "1", *here)),
        Case("scan", ("scan",), after=unstage),
        Case("1,000 new directories", ("show", "status"), add_new, remove_new, settle=True),
    ]


def measure(size: int, folder: Path, tools: dict[str, Path], rounds: int) -> list[str]:
    """The table of one size."""
    make_project(folder, size)
    log = folder / "stderr.log"
    home = folder / "home"
    home.mkdir(exist_ok=True)
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
    }
    runs: dict[tuple[str, str], list[Run]] = {}
    for number in range(rounds):
        for case in cases():
            # Whoever comes second finds warmer caches: take turns.
            for tool in list(tools)[:: 1 if number % 2 == 0 else -1]:
                project = folder / tool
                case.before(project)
                words: tuple[str | Path, ...] = (tools[tool], "--no-progress", *case.words)
                done = run(words, project, environment, log)
                runs.setdefault((case.name, tool), []).append(done)
                case.after(project)
                if case.settle:
                    run(words, project, environment, log)
                said = done.error or seconds(done.wall)
                print(f"{size:,} {case.name} {tool}: {said}", file=sys.stderr, flush=True)
    lines = [
        f"### {size:,} directories, ten actions, {rounds} round{'s' * (rounds > 1)}",
        "",
        "| command | rowtui wall s | CPU s | MB | Row wall s | CPU s | MB | Row / rowtui CPU |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for case in cases():
        ours = least(runs[case.name, "rowtui"])
        if "row" in tools:
            theirs: Run | None = least(runs[case.name, "row"])
        else:
            theirs = ROW_FIGURES[case.name].get(size)
        ratio = ""
        if theirs and not theirs.error and not ours.error:
            ratio = f"{theirs.cpu / ours.cpu:,.1f}"
        lines.append("| " + " | ".join((case.name, *show(ours), *show(theirs), ratio)) + " |")
    bare: list[str | Path] = [sys.executable, "-I", "-S", "-c"]
    floors: list[tuple[str, list[str | Path]]] = [
        ("floor: `python -c pass`", [sys.executable, "-c", "pass"]),
        ("floor: `python -I -S -c pass`", [*bare, "pass"]),
    ]
    for tool in tools:
        caches = folder / tool / ".row"
        floors.append((f"floor: reading {tool}'s cache files", [*bare, READ_CACHES, caches]))
    for name, command in floors:
        floor = least([run(command, folder, environment, log) for _ in range(5)])
        lines.append("| " + " | ".join((name, *show(floor), "", "", "", "")) + " |")
    return [*lines, ""]


def machine() -> str:
    """What it was measured on."""
    model = platform.processor() or platform.machine()
    with open("/proc/cpuinfo") as info:
        for line in info:
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return (
        f"{os.cpu_count()} x {model}, Linux {platform.release()}, "
        f"Python {platform.python_version()}, load before {load}"
    )


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--sizes", default="10000,100000", help="directories, separated by commas")
    parser.add_argument("--row", type=Path, help="the real Row, to be measured beside")
    parser.add_argument(
        "--rowtui",
        type=Path,
        default=Path(sys.executable).parent / "rowtui",
        help="what to measure",
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the projects here")
    parser.add_argument("--rounds", type=int, help="runs of each command (default: by size)")
    parser.add_argument(
        "--save", metavar="NAME", help="also write bench/results/NAME.md (name the kind of machine)"
    )
    chosen = parser.parse_args()
    sizes = [int(size.replace("_", "")) for size in chosen.sizes.split(",")]
    tools = {"rowtui": chosen.rowtui.absolute()}
    if chosen.row:
        tools["row"] = chosen.row.absolute()

    lines = [f"# {machine()}", ""]
    if not chosen.row:
        lines += [NOTE, ""]
    with tempfile.TemporaryDirectory(prefix="rowtui-bench-") as temporary:
        for size in sizes:
            folder = (chosen.keep or Path(temporary)).absolute() / str(size)
            rounds = chosen.rounds or ROUNDS.get(size, 1 if size > 100_000 else 5)
            table = measure(size, folder, tools, rounds)
            lines += table
            print("\n".join(table), flush=True)
    if chosen.save:
        results = Path(__file__).parent / "results" / f"{chosen.save}.md"
        results.parent.mkdir(exist_ok=True)
        results.write_text("\n".join(lines))
        print(f"written to {results}", file=sys.stderr)


if __name__ == "__main__":
    main()
