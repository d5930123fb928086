"""Measure rowtui against what is to be reached: `python -m bench`.

Runs the benches one after another, each in a process of its own, beside Row, TPV and Fastr where
they are given, and tells for each line of what is to be reached whether it was: best and median of
several runs, wall and CPU time and memory, with the floor that nobody gets below, how costs grow
with the size, and all figures, as Markdown on stdout, and as JSON if a file is named. What could
not be measured is a line that says why.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import commands
from bench.growth import Growth, growth
from bench.line import Outcome, judge
from bench.lines import LINES, REASONS
from bench.machine import load
from bench.machine import machine as machine
from bench.measured import Measured, plain
from bench.report import command_tables, growth_table, other_rows, reach, summary
from bench.row_figures import NOTE
from bench.suites import SUITES, run_suite

EXAMPLES = """\
examples:
  python -m bench --list
  python -m bench --quick --sizes 200 --only commands,start
  python -m bench --sizes 10000,100000,1000000 --row PATH --keep DIR --json all.json
  python -m bench --only mapping,packing,network --tpv PYTHON --fastr PYTHON
  python -m bench --only dry-run --sizes 1000000 --keep DIR --rounds 5
  python -m bench --only commands --sizes 10000 --keys 4,40 --actions 3,10

What each column means, and how to read growth: docs/bench.md.
"""
RESULTS = Path(__file__).parent / "results"


def parser() -> argparse.ArgumentParser:
    """All options."""
    made = argparse.ArgumentParser(
        prog="python -m bench",
        description=__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands.arguments(made)
    made.add_argument(
        "--only", default="", metavar="WORDS", help="benches, or words of lines; by commas"
    )
    made.add_argument("--tpv", metavar="PYTHON", help="of an environment with TPV 3.3")
    made.add_argument("--fastr", metavar="PYTHON", help="of an environment with Fastr")
    made.add_argument(
        "--soak", type=float, default=8.0, metavar="MIN", help="minutes of events (%(default)g)"
    )
    made.add_argument("--quick", action="store_true", help="once, and little: does it work?")
    made.add_argument("--json", type=Path, metavar="FILE", help="write everything there")
    made.add_argument(
        "--save", metavar="NAME", help="also write bench/results/NAME.md (name the kind of machine)"
    )
    made.add_argument("--note", default="", help="a sentence about the circumstances, to be kept")
    made.add_argument("--list", action="store_true", help="benches and lines, measuring nothing")
    return made


def choose(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The benches that these words name, and the words by which commands are chosen.

    Raises: SystemExit if a word names nothing.
    """
    if not words:
        return [suite.name for suite in SUITES], []
    known = {suite.name for suite in SUITES}
    chosen: set[str] = set()
    cases = []
    for word in words:
        if word in known:
            chosen.add(word)
            continue
        lines = [line for line in LINES if word in line.name or word in line.what]
        if not lines:
            raise SystemExit(f"nothing is called {word!r}: see python -m bench --list")
        chosen |= {line.suite for line in lines}
        cases += [line.what for line in lines if line.suite == "commands"]
    if "commands" in words:
        cases = []
    return [suite.name for suite in SUITES if suite.name in chosen], list(dict.fromkeys(cases))


def command(words: Sequence[str]) -> str:
    """What was asked, without the places of this machine."""
    shown = ["python -m bench"]
    dropped = False
    for word in words:
        if not dropped and not word.startswith(("--save", "--note", "--json", "--keep")):
            place = "/" in word
            shown.append(f"{word.partition('=')[0]}=PATH" if place and "=" in word
                         else "PATH" if place else word)  # fmt: skip
        dropped = word in {"--save", "--note", "--json", "--keep"}
    return " ".join(shown)


def listing() -> str:
    """All benches and lines."""
    told = ["benches:"]
    told += [f"  {one.name:<13} {one.about}, about {one.minutes:g} min" for one in SUITES]
    told += ["", "lines (bench: what is to be reached):"]
    told += [f"  {line.suite:<13} {line.name}: {reach(line)} {line.unit}" for line in LINES]
    return "\n".join(told)


def told(
    outcomes: Sequence[Outcome], grown: Sequence[Growth], rows: Sequence[Measured]
) -> dict[str, Any]:
    """Everything as JSON has it."""
    return {
        "machine": machine(),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "lines": [asdict(one) for one in outcomes],
        "growth": [one._asdict() for one in grown],
        "rows": [plain(row) for row in rows],
    }


def main(words: Sequence[str] | None = None) -> None:
    """Read the arguments, measure, print."""
    given = parser().parse_args(words)
    if given.list:
        print(listing())
        return
    picked, given.cases = choose([word for word in given.only.split(",") if word])
    head = [
        f"# {machine()}",
        "",
        f"`{command(words or sys.argv[1:])}`",
        "",
        *([given.note, ""] if given.note else []),
    ]
    rows: list[Measured] = []
    refused = {suite.name: "not asked for (--only)" for suite in SUITES}
    text = ""
    for suite in SUITES:
        if suite.name not in picked:
            continue
        del refused[suite.name]
        found, why = run_suite(suite, given)
        rows += found
        if why:
            refused[suite.name] = why
        # After each: the next may take an hour, and be given up.
        outcomes = [judge(line, rows, refused) for line in LINES]
        grown = growth(rows, REASONS)
        text = "\n".join([*head, *report(outcomes, grown, rows), f"Load after: {load()}.", ""])
        if given.json:
            given.json.write_text(json.dumps(told(outcomes, grown, rows), indent=1) + "\n")
        if given.save:
            RESULTS.mkdir(exist_ok=True)
            (RESULTS / f"{given.save}.md").write_text(text)
    print(text)


def report(
    outcomes: Sequence[Outcome], grown: Sequence[Growth], rows: Sequence[Measured]
) -> list[str]:
    """All tables."""
    lines = summary(outcomes)
    if any(one.reference for one in outcomes):
        lines += [NOTE, ""]
    lines += growth_table(grown)
    its = [row for row in rows if row.suite == "commands"]
    if its:
        lines += ["## Commands", "", *command_tables(its)]
    rest = [row for row in rows if row.suite != "commands"]
    if rest:
        lines += ["## All other figures", "", "Best, the median in brackets.", ""]
        lines += other_rows(rest)
    return lines


if __name__ == "__main__":
    main()
