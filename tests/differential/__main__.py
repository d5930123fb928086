"""The command: generate cases, run them, report. Exit code 1 if a difference is unexplained."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shlex
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from tests.differential.commands import make_case
from tests.differential.compare import Result, diff_text, run_case
from tests.differential.fake_slurm import install
from tests.differential.model import Case, Command
from tests.differential.run import preload


def main(argv: list[str] | None = None) -> int:
    """Run the differential tester."""
    args = _arguments(argv)
    started = time.monotonic()
    shared = Path("/dev/shm")
    place = shared if os.access(shared, os.W_OK) else None
    base = Path(tempfile.mkdtemp(prefix="rowtui-differential-", dir=place))
    keep = Path(args.keep or tempfile.gettempdir()) / "rowtui-differences"
    programs = base / "bin"
    install(programs)
    numbers = [args.case] if args.case is not None else range(args.first, args.first + args.cases)
    jobs = [(args.seed, number, base, programs, args.row, keep) for number in numbers]
    total = _Total(len(jobs), args.verbose)
    try:
        if args.jobs == 1 or len(jobs) == 1:
            preload()
            for job in jobs:
                total.add(_one(job), args.seed)
        else:
            context = multiprocessing.get_context("fork")
            with context.Pool(args.jobs, initializer=preload, maxtasksperchild=2000) as pool:
                for result in pool.imap_unordered(_one, jobs, chunksize=4):
                    total.add(result, args.seed)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    return total.report(time.monotonic() - started)


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("--row", required=True, metavar="PATH", help="the real Row")
    parser.add_argument("--cases", type=int, default=10_000, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the first case's number")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--case", type=int, metavar="K", help="this case only, with all details")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes [default: 2]")
    parser.add_argument("--keep", metavar="DIR", help="where folders of differing cases are kept")
    parser.add_argument("-v", "--verbose", action="store_true", help="known differences as well")
    args = parser.parse_args(argv)
    args.row = os.path.abspath(args.row)
    args.verbose = args.verbose or args.case is not None
    return args


def _one(job: tuple[int, int, Path, Path, str, Path]) -> Result:
    seed, number, base, programs, row, keep = job
    folder = base / f"{number}"
    started = time.monotonic()
    try:
        result = run_case(make_case(seed, number), folder, programs, row)
    except Exception:
        result = Result(number, error=traceback.format_exc())
    if result.unexplained or result.error:
        keep.mkdir(parents=True, exist_ok=True)
        kept = keep / f"{seed}-{number}"
        folder.mkdir(exist_ok=True)  # the case could not even be made
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(folder, kept, symlinks=True, ignore_dangling_symlinks=True)
        result.folder = str(kept)
    shutil.rmtree(folder, ignore_errors=True)
    result.seconds = time.monotonic() - started
    return result


class _Total:
    def __init__(self, cases: int, verbose: bool) -> None:
        self.cases = cases
        self.verbose = verbose
        self.started = time.monotonic()
        self.done = self.commands = self.scripts = self.agreeing = self.early = 0
        self.known: Counter[str] = Counter()
        self.unexplained: Counter[str] = Counter()
        self.bad: list[int] = []

    def add(self, result: Result, seed: int) -> None:
        self.done += 1
        self.commands += result.commands
        self.scripts += result.scripts
        self.early += result.ended_early
        self.agreeing += not result.differences and not result.error
        self.known.update(
            {name for each in result.differences for name in each.rule.split("+") if name}
        )
        self.unexplained.update({each.kind for each in result.unexplained})
        if result.error or result.unexplained:
            self.bad.append(result.number)
        if result.error:
            self.unexplained["error of the tester"] += 1
        if result.error or result.unexplained or (self.verbose and result.differences):
            sys.stderr.write("\r\x1b[K")
            print(_story(result, make_case(seed, result.number), self.verbose), flush=True)
        self.progress()

    def progress(self) -> None:
        if not sys.stderr.isatty() and self.done % 250:
            return
        rate = self.done / max(1e-9, time.monotonic() - self.started)
        left = (self.cases - self.done) / rate
        end = "" if sys.stderr.isatty() else "\n"
        sys.stderr.write(
            f"\r\x1b[K{self.done:,} of {self.cases:,} cases, {len(self.bad):,} unexplained, "
            f"{rate:.1f} a second, {left / 60:.0f} min left{end}"
        )
        sys.stderr.flush()

    def report(self, seconds: float) -> int:
        sys.stderr.write("\n")
        print(
            f"{self.done:,} cases with {self.commands:,} commands and {self.scripts:,} scripts "
            f"in {seconds:.0f} s."
        )
        print(f"{self.agreeing:,} agree in everything.")
        explained = self.done - self.agreeing - len(self.bad)
        print(f"{explained:,} differ as documented ({self.early:,} cases ended early):")
        _print_counts(self.known)
        print(f"{len(self.bad):,} differ without an explanation:")
        _print_counts(self.unexplained)
        if self.bad:
            print("cases: " + " ".join(map(str, sorted(self.bad)[:200])))
        return 1 if self.bad else 0


def _print_counts(counts: Counter[str]) -> None:
    for name, number in counts.most_common():
        print(f"  {number:7,}  {name}")


def _story(result: Result, case: Case, verbose: bool) -> str:
    """What was done and where it differs."""
    lines = [f"== case {result.number}" + (" (turns)" if case.turns else "")]
    if case.oddities:
        lines.append("oddities: " + ", ".join(sorted(case.oddities)))
    shown = [each for each in result.differences if verbose or not each.rule]
    last = max((each.step for each in shown), default=len(case.steps) - 1)
    for number, step in enumerate(case.steps[: last + 1]):
        lines.append(f"  {number}: {_step_text(case, step)}")
    for difference in shown:
        rule = f" (known: {difference.rule})" if difference.rule else ""
        lines.append(f"-- step {difference.step}, {difference.kind}{rule}")
        lines.append(diff_text(difference))
    if result.error:
        lines.append(result.error)
    if result.folder:
        lines.append(f"kept: {result.folder}")
    return "\n".join(lines).encode("utf-8", "backslashreplace").decode()


def _step_text(case: Case, step: object) -> str:
    if not isinstance(step, Command):
        return repr(step)[:300]
    who = "rowtui" if step.turn or not case.turns else "Row"
    given = "" if step.stdin is None else f"  < {step.stdin!r}"
    extra = "".join(f"{name}={value} " for name, value in step.environment)
    where = "" if step.folder == "." else f"  (in {step.folder})"
    return f"{who}: {extra}{shlex.join(step.argv)}{given}{where}"


if __name__ == "__main__":
    sys.exit(main())
