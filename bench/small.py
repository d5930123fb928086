"""Compare every command's CPU with Row's: `python -m bench.small --row PATH`.

For each workload (directories, keys of a value, actions) the commands of a working day are run in
turn, rowtui's and Row's, on the same workspace. The tables have the quotient of the best runs: 1.0
is as much CPU as Row, 0.5 half as much. Below 1,000 directories the start of the interpreter
decides, which the last column has in Row's whole `show status`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.commands import (
    Case,
    Chosen,
    Workload,
    adder,
    arguments,
    forget,
    kept,
    measure,
    remove_new,
    unstage,
    workloads,
)
from bench.machine import machine
from bench.make_project import listed_action
from bench.measured import Measured, write

SIZES, KEYS, ACTIONS = "10,1000,10000,100000", "4,40", "2,10"
SHARE = 100  # one of so many directories is new


def cases(workload: Workload) -> tuple[Case, ...]:
    """The columns of the table, in the order of one round."""
    status = ("show", "status")
    here = ("--cluster", "none")
    values = ("show", "directories", "-a", "a0", "--value", "/x", "--value", "/temperature")
    eligible = ("show", "directories", "-a", listed_action(workload.actions), "--eligible")
    add_new = adder(workload, max(1, workload.size // SHARE))
    return (
        Case("first look", status, before=forget),
        Case("warm status", status),
        Case("eligible", eligible),
        Case("`--value`, two columns", values),
        Case("dry-run", ("submit", "--dry-run", *here)),
        Case("scan", ("scan",), after=unstage),
        Case("1 % new", status, add_new, remove_new, settle=True),
    )


def table(rows: Sequence[Measured]) -> list[str]:
    """One workload per line: our CPU divided by Row's; seconds where Row was not measured."""
    columns = list(dict.fromkeys(row.what for row in rows if row.tool != "floor"))
    lines = [
        f"| directories | keys | actions | {' | '.join(columns)} | interpreter |",
        f"|--:|--:|--:|{'--:|' * (len(columns) + 1)}",
    ]
    cpu = {(row.size, row.variant, row.what, row.tool): row.best.get("cpu s", 0.0) for row in rows}
    for size, variant in dict.fromkeys((row.size, row.variant) for row in rows):
        cells = []
        for what in columns:
            ours, theirs = (cpu.get((size, variant, what, tool), 0.0) for tool in ("rowtui", "row"))
            cells.append(cell(ours, theirs))
        bare = cpu.get((size, variant, "interpreter", "floor"), 0.0)
        cells.append(cell(bare, cpu.get((size, variant, "warm status", "row"), 0.0)))
        keys, actions = variant.replace(",", "").split()[::2]
        lines.append(f"| {size:,} | {keys} | {actions} | {' | '.join(cells)} |")
    return [*lines, ""]


def cell(ours: float, theirs: float) -> str:
    """The quotient, bold where Row needs less; our seconds without Row."""
    if not ours:
        return ""
    if not theirs:
        return f"{ours:.3f} s"
    times = ours / theirs
    text = f"{times:.1f}" if times >= 10 else f"{times:.2f}"
    return f"**{text}**" if times > 1 else text


def main(words: Sequence[str] | None = None) -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.small",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    arguments(parser)
    parser.set_defaults(sizes=SIZES, keys=KEYS, actions=ACTIONS)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    given = parser.parse_args(words)
    rows: list[Measured] = []
    print(f"# {machine()}\n", flush=True)
    with kept(given.keep) as folder:
        for workload in workloads(given):
            chosen = Chosen(
                given.rowtui.absolute(),
                given.row and given.row.absolute(),
                given.rounds,
                given.patience,
                cases=cases(workload),
            )
            rows += measure(workload, folder / workload.folder, chosen)
            print("\n".join(table(rows)), file=sys.stderr, flush=True)
            if given.json:
                write(given.json, rows)
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
