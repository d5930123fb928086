"""Run the suite again and again, each time in a fresh clone, and name what is not stable.

    python -m tests.stability --runs 5 --load 2

runs the committed suite five times beside two busy loops, and prints each test that failed, or
that came within half of its time limit. `--table FILE` appends the runs to a Markdown table.
Exit code: 0 if no test failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# A loop ends by itself when the process that started it has ended.
BUSY = "import os\nwhile os.getppid() == {parent}:\n    for _ in range(1000000): pass\n"
COLUMNS = ("date", "commit", "cores", "load", "passed", "failed", "near limit", "wall, s", "CPU, s")
HEADING = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|\n"


@dataclass(frozen=True)
class Result:
    """One test of one run. `seconds` with its fixtures; `limit`: seconds it may take."""

    name: str
    failed: bool
    seconds: float
    limit: float

    @property
    def is_near_its_limit(self) -> bool:
        """Whether it took more than half of the time that it may take."""
        return self.seconds > self.limit / 2


@dataclass(frozen=True)
class Run:
    """One run of the suite. `wall`, `cpu`: seconds of pytest and all that it started."""

    commit: str
    tests: tuple[Result, ...]
    code: int
    wall: float
    cpu: float

    def __str__(self) -> str:
        failed = sum(test.failed for test in self.tests)
        near = sum(test.is_near_its_limit for test in self.tests)
        return (
            f"{len(self.tests) - failed} passed, {failed} failed, {near} near their limit, "
            f"exit code {self.code}, {self.wall:.0f} s, CPU {self.cpu:.0f} s"
        )


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """So many processes that compute all the time."""
    command = [sys.executable, "-c", BUSY.format(parent=os.getpid())]
    processes = [subprocess.Popen(command) for _ in range(loops)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def run_once(limit: float, more: Sequence[str]) -> Run:
    """The suite of the last commit, in a clone that is installed and then removed."""
    with tempfile.TemporaryDirectory(prefix="rowtui-stability-") as folder:
        clone = Path(folder, "clone")
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
        with Path(folder, "setup").open("wb") as log:
            subprocess.run(["./setup.sh", "dev"], cwd=clone, check=True, stdout=log, stderr=log)
            # As `./setup.sh test` does it: nothing is compiled while tests run.
            environment = os.environ | {"PYTHONDONTWRITEBYTECODE": ""}
            for command in (
                [".venv/bin/python", "-m", "compileall", "-q", "core", "cli", "tui"],
                [".venv/bin/python", "-m", "pytest", "--collect-only", "-q"],
            ):
                subprocess.run(
                    command, cwd=clone, env=environment, stdout=log, stderr=log, check=True
                )
        results = Path(folder, "results.xml")
        command = [
            ".venv/bin/python", "-m", "pytest", "-n", "4", "--dist", "loadfile",
            f"--junitxml={results}", *more,
        ]  # fmt: skip
        before, started = os.times(), time.monotonic()
        code = subprocess.run(command, cwd=clone, stdin=subprocess.DEVNULL, check=False).returncode
        wall, after = time.monotonic() - started, os.times()
        cpu = (
            after.children_user + after.children_system
            - before.children_user - before.children_system
        )  # fmt: skip
        return Run(commit_of(clone), tuple(read_tests(results, limit)), code, wall, cpu)


def commit_of(clone: Path) -> str:
    """The short name of the commit that is checked out there."""
    command = ["git", "-C", str(clone), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def read_tests(results: Path, limit: float) -> Iterator[Result]:
    """The tests of a JUnit file. `limit`: of those that name none, in seconds."""
    if not results.exists():
        return
    for case in ElementTree.parse(results).getroot().iter("testcase"):
        own = case.find("properties/property[@name='time limit']")
        yield Result(
            f"{case.get('classname')}::{case.get('name')}",
            case.find("failure") is not None or case.find("error") is not None,
            float(case.get("time", 0)),
            limit if own is None else float(own.get("value", limit)),
        )


def table_row(run: Run, load: int) -> str:
    """One line of the table of results."""
    failed = sum(test.failed for test in run.tests)
    near = sum(test.is_near_its_limit for test in run.tests)
    columns = (
        f"{datetime.now(UTC):%Y-%m-%d}", run.commit, len(os.sched_getaffinity(0)), load,
        len(run.tests) - failed, failed, near, f"{run.wall:.0f}", f"{run.cpu:.0f}",
    )  # fmt: skip
    return "| " + " | ".join(map(str, columns)) + " |\n"


def main() -> int:
    """Run, print, count."""
    summary, _, rest = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="python -m tests.stability",
        description=summary,
        epilog=rest,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="how often (default 5)")
    parser.add_argument("--load", type=int, default=0, metavar="K", help="busy loops (default 0)")
    parser.add_argument("--table", type=Path, metavar="FILE", help="append the runs to this table")
    parser.add_argument("more", nargs="*", help="for pytest, such as tests/core")
    options = parser.parse_args()
    with Path(ROOT, "pyproject.toml").open("rb") as file:
        limit = float(tomllib.load(file)["tool"]["pytest"]["ini_options"]["timeout"])
    unstable = False
    for number in range(1, options.runs + 1):
        with busy(options.load):
            run = run_once(limit, options.more)
        print(f"run {number} of {options.runs}, load {options.load}: {run}")
        for test in run.tests:
            if test.failed or test.is_near_its_limit:
                what = "failed" if test.failed else "near its limit"
                print(f"  {what}: {test.name} ({test.seconds:.1f} of {test.limit:.0f} s)")
        sys.stdout.flush()
        if options.table is not None:
            if not options.table.exists():
                options.table.write_text(HEADING)
            with options.table.open("a") as table:
                table.write(table_row(run, options.load))
        unstable = unstable or run.code != 0
    return int(unstable)


if __name__ == "__main__":
    sys.exit(main())
