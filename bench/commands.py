"""Measure the commands: `python -m bench.commands --sizes 10000,100000 [--row PATH]`.

For each size a project is made (see make_project.py) and each command is run by rowtui and, where
it is given, by Row in turn, round after round, each in a project folder of its own over the same
workspace. A round leaves a command out that has taken its share of time in the rounds before. The
floors are measured in the same folder: an interpreter that does nothing, one that reads the caches'
bytes, one that reads each value file, and one that lists each directory.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bench.make_project import (
    ACTIONS,
    KEYS,
    directory_name,
    listed_action,
    make_project,
    set_back,
    value,
)
from bench.measure import Run, run, seconds
from bench.measured import Measured, of_runs, write
from bench.report import command_tables
from bench.row_figures import known

ROUNDS = {10_000: 7, 100_000: 5}  # of each command at most; other sizes: 5, above these 3
PATIENCE = 60.0  # seconds that the rounds of a command may take before the next is left out
NEW = 1_000  # directories that come and go

_READ_CACHES = """
import os, sys
for folder, _, files in os.walk(sys.argv[1]):
    for name in files:
        with open(os.path.join(folder, name), "rb", buffering=0) as file:
            while file.read(1 << 24): pass
"""
_READ_VALUES = """
import os, sys
names = os.listdir(sys.argv[1])
os.chdir(sys.argv[1])
for name in names:
    file = os.open(name + "/value.json", os.O_RDONLY)
    os.read(file, 1 << 16)
    os.close(file)
"""
_LIST_ALL = """
import os, sys
names = os.listdir(sys.argv[1])
os.chdir(sys.argv[1])
for name in names:
    os.listdir(name)
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


class Workload(NamedTuple):
    """What is made and run."""

    size: int
    keys: int = KEYS
    actions: int = ACTIONS

    @property
    def variant(self) -> str:
        """How its rows are told from others; empty for the usual one."""
        usual = (self.keys, self.actions) == (KEYS, ACTIONS)
        return "" if usual else f"{self.keys} keys, {self.actions} actions"

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return f"{self.size}-{self.keys}-keys-{self.actions}" if self.variant else str(self.size)


class Chosen(NamedTuple):
    """How it is measured. `rounds` None: by size. `cases`: these instead of the usual ones."""

    rowtui: Path
    row: Path | None = None
    rounds: int | None = None
    patience: float = PATIENCE
    only: tuple[str, ...] = ()
    cold: bool = False
    cases: tuple[Case, ...] = ()

    @property
    def tools(self) -> dict[str, Path]:
        """Who runs the commands."""
        return {"rowtui": self.rowtui} | ({"row": self.row} if self.row else {})


def forget(project: Path) -> None:
    """Make the tool see the project for the first time."""
    shutil.rmtree(project / ".row", ignore_errors=True)


def forget_and_drop(project: Path) -> None:
    """The same, and nothing of it is in the machine's memory."""
    forget(project)
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3")


def unstage(project: Path) -> None:
    """Take back what scan found, so that the next round starts alike."""
    for staged in (project / ".row" / "completed").glob("*"):
        staged.unlink()


def remove_new(project: Path) -> None:
    """Take away the new directories."""
    workspace = project.parent / "workspace"
    for folder in workspace.glob("new-*"):
        shutil.rmtree(folder)
    set_back(workspace)


def adder(workload: Workload, count: int) -> Callable[[Path], None]:
    """Return what adds so many new directories."""

    def add_new(project: Path) -> None:
        for number in range(count):
            folder = project.parent / "workspace" / f"new-{number}"
            folder.mkdir()
            (folder / "value.json").write_bytes(value(number, workload.keys))

    return add_new


def cases(workload: Workload, *, cold: bool = False) -> list[Case]:
    """The commands, in the order of one round: the first one leaves the caches for the others."""
    one = directory_name(1)
    listed = listed_action(workload.actions)
    status = ("show", "status")
    here = ("--cluster", "none")  # rowtui would send to this machine's queue, Row run it now
    return [
        *([Case("first show status, cold", status, before=forget_and_drop)] if cold else []),
        Case("first show status", status, before=forget),
        Case("show status", status),
        Case("show status --all", (*status, "--all")),
        Case("show status DIRECTORY", (*status, one)),
        Case("show directories --value", ("show", "directories", "-a", "a0", "--value", "/x")),
        Case("show directories --eligible", ("show", "directories", "-a", listed, "--eligible")),
        Case("submit --dry-run", ("submit", "--dry-run", *here)),
        Case("submit --dry-run -n 1", ("submit", "--dry-run", "-n", "1", *here)),
        Case("scan", ("scan",), after=unstage),
        Case("1,000 new directories", status, adder(workload, NEW), remove_new, settle=True),
    ]


def wanted(workload: Workload, chosen: Chosen) -> list[Case]:
    """The commands in whose name one of the words is; all if there are no words."""
    every = chosen.cases or cases(workload, cold=chosen.cold)
    return [
        case for case in every if not chosen.only or any(word in case.name for word in chosen.only)
    ]


def measure(workload: Workload, folder: Path, chosen: Chosen) -> list[Measured]:
    """The rows of one workload."""
    make_project(folder, *workload)
    size = workload.size
    home = folder / "home"
    home.mkdir(exist_ok=True)
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
    }
    log = folder / "stderr.log"
    rounds = chosen.rounds or ROUNDS.get(size, 3 if size > max(ROUNDS) else 5)
    picked = wanted(workload, chosen)
    if not picked:
        return []
    runs: dict[tuple[str, str], list[Run]] = {}
    for tool, program in chosen.tools.items():
        if picked[0].before is not forget and not (folder / tool / ".row").exists():
            run((program, "--no-progress", "show", "status"), folder / tool, environment, log)
    for number in range(rounds):
        for case in picked:
            taken = sum(
                one.wall for tool in chosen.tools for one in runs.get((case.name, tool), [])
            )
            if number and taken * (number + 1) / number > chosen.patience:
                continue
            # Whoever comes second finds warmer caches: take turns.
            for tool in list(chosen.tools)[:: 1 if number % 2 == 0 else -1]:
                done = once(case, folder / tool, chosen.tools[tool], environment, log)
                runs.setdefault((case.name, tool), []).append(done)
                said = done.error or f"{seconds(done.wall)} s, CPU {seconds(done.cpu)} s"
                tell(f"{size:,} {case.name}, {tool}: {said}")
    rows = []
    for case in picked:
        for tool in chosen.tools:
            its = runs[case.name, tool]
            rows.append(of_runs(case.name, size, tool, its, variant=workload.variant))
        if not chosen.row and not workload.variant:
            rows += known(case.name, size)
    floors = measure_floors(workload, folder, chosen.tools, environment, log, min(rounds, 5))
    return [*rows, *floors]


def once(case: Case, project: Path, program: Path, environment: dict[str, str], log: Path) -> Run:
    """One run of a command, and what belongs around it."""
    try:
        case.before(project)
    except OSError as error:
        return Run(0, 0, 0, f"{error}")
    words: list[str | Path] = [program, "--no-progress", *case.words]
    try:
        return run(words, project, environment, log)
    finally:
        case.after(project)
        if case.settle:
            run(words, project, environment, log)


def measure_floors(
    workload: Workload,
    folder: Path,
    tools: dict[str, Path],
    environment: dict[str, str],
    log: Path,
    rounds: int,
) -> Iterator[Measured]:
    """What nobody can be faster than, as Python does it."""
    bare: list[str | Path] = [sys.executable, "-I", "-S", "-c"]
    workspace = folder / "workspace"
    floors: list[tuple[str, list[str | Path]]] = [
        ("interpreter", [sys.executable, "-c", "pass"]),
        ("bare interpreter", [*bare, "pass"]),
    ]
    floors += [
        (f"{tool}'s caches read", [*bare, _READ_CACHES, folder / tool / ".row"]) for tool in tools
    ]
    floors += [
        ("each value file read", [*bare, _READ_VALUES, workspace]),
        ("each directory listed", [*bare, _LIST_ALL, workspace]),
    ]
    for name, command in floors:
        runs = [run(command, folder, environment, log)]
        while len(runs) < rounds and sum(one.wall for one in runs) < 5.0:
            runs.append(run(command, folder, environment, log))
        tell(f"{workload.size:,} floor, {name}: CPU {seconds(min(one.cpu for one in runs))} s")
        yield of_runs(name, workload.size, "floor", runs, variant=workload.variant)


def tell(words: str) -> None:
    """How far it is."""
    print(words, file=sys.stderr, flush=True)


def arguments(parser: argparse.ArgumentParser) -> None:
    """What is chosen the same way here and for all benches together."""
    parser.add_argument(
        "--sizes", default="10000,100000", help="directories, separated by commas (%(default)s)"
    )
    parser.add_argument(
        "--keys", default=str(KEYS), help="leaves of each value: 4, 10, 40; several: by commas"
    )
    parser.add_argument("--actions", default=str(ACTIONS), help="2, 3, 10; several: by commas")
    parser.add_argument("--row", type=Path, metavar="PATH", help="the real Row, measured beside")
    parser.add_argument(
        "--rowtui",
        type=Path,
        metavar="PATH",
        default=Path(sys.executable).parent / "rowtui",
        help="what is measured (the one beside this Python)",
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the projects here")
    parser.add_argument("--rounds", type=int, metavar="N", help="runs of each command, at most")
    parser.add_argument(
        "--patience",
        type=float,
        metavar="S",
        default=PATIENCE,
        help="seconds for the rounds of a command, its first excepted (%(default).0f)",
    )
    parser.add_argument(
        "--cold",
        action="store_true",
        help="also a first status with nothing in memory: empties the machine's caches, as root",
    )


def numbers(text: str) -> list[int]:
    """Numbers by commas."""
    return [int(part.replace("_", "")) for part in text.split(",")]


def workloads(given: argparse.Namespace) -> list[Workload]:
    """All that were chosen."""
    every = itertools.product(*map(numbers, (given.sizes, given.keys, given.actions)))
    return [Workload(*one) for one in every]


@contextlib.contextmanager
def kept(folder: Path | None) -> Iterator[Path]:
    """Where projects are: in this folder, or in one that is taken away."""
    if folder:
        yield folder.absolute()
        return
    with tempfile.TemporaryDirectory(prefix="rowtui-bench-") as temporary:
        yield Path(temporary)


def main(words: Sequence[str] | None = None) -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.commands", description=__doc__)
    arguments(parser)
    parser.add_argument("--only", default="", metavar="WORDS", help="part of a name; by commas")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    given = parser.parse_args(words)
    chosen = Chosen(
        given.rowtui.absolute(),
        given.row and given.row.absolute(),
        given.rounds,
        given.patience,
        tuple(filter(None, given.only.split(","))),
        given.cold,
    )
    rows: list[Measured] = []
    with kept(given.keep) as folder:
        for workload in workloads(given):
            found = measure(workload, folder / workload.folder, chosen)
            print("\n".join(command_tables(found)), flush=True)
            rows += found
            if given.json:  # after each: the next may take an hour, and be given up
                write(given.json, rows)


if __name__ == "__main__":
    main()
