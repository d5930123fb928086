"""Measure the dashboard: `python -m bench.tui`.

In a pseudo-terminal of 200 x 50 that is drained and counted. Prints a Markdown table with the reach
of the design and the floor (the same in a bare Textual app) beside each line, and writes it to
`bench/results/tui.md`, with everything as JSON beside it. On a machine that others use as well, CPU
times count, the least of some rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.__main__ import machine
from bench.make_project import make_project
from bench.tui import everything, lists, peers, start
from bench.tui.terminal import Terminal, environment

RESULTS = Path(__file__).parents[1] / "results"
DATATABLE_1M = {  # CPU ms; loading takes minutes
    "load": 111_900, "down": 4.0, "page": 65, "jump": 156, "sort": 8_451,
}  # fmt: skip
STEPS = ("load", "down", "page", "jump", "sort", "filter")
TITLES = {
    "load": "shown, until painted", "down": "cursor down", "page": "page down",
    "jump": "jump to the end and back", "sort": "in another order", "filter": "filtered",
}  # fmt: skip
Row = tuple[str, str, str, str]


def idle(seconds: float) -> tuple[float, float]:
    """At rest on a real project: share of a core, bytes a second."""
    with tempfile.TemporaryDirectory(prefix="rowtui-bench-") as temporary:
        folder = Path(temporary)
        make_project(folder, 1_000)
        terminal = Terminal(start.rowtui(), folder / "rowtui", environment(folder))
        try:
            terminal.until(b"eligible")
            terminal.during(10.0)  # "now" becomes "5 s ago", views are loaded ahead, and the like
            cpu, count = terminal.during(seconds)
            return cpu / seconds, count / seconds
        finally:
            terminal.close()


def starts(rounds: int, kept: dict[str, Any]) -> list[Row]:
    """First paint and status."""
    found = start.measure(rounds, 10_000)
    floor = start.least(found.floors)
    rows = []
    for title, one in (("first frame", found.frames), ("the status on it", found.statuses)):
        least = start.least(one)
        kept[title] = least
        rows.append((f"{title}, 10,000 directories: from exec / CPU", _start(least), "0.5 s",
                     _start(floor)))  # fmt: skip
    kept["bare Textual app"] = floor
    return rows


def long_lists(*, slow: bool, kept: dict[str, Any]) -> list[Row]:
    """Steps in a long list: ours, the floor, and Textual's own table."""
    floor = lists.measure("floor", 1_000_000).steps
    kept["floor"] = floor
    rows = []
    for count in (10_000, 1_000_000):
        ours = lists.measure("list", count)
        theirs = lists.measure("datatable", count).steps if slow or count < 1_000_000 else None
        kept[f"list of {count}"], kept[f"DataTable of {count}"] = ours, theirs
        for step in STEPS:
            least, wall = _step(step, ours.steps[step])
            other = (
                f"{_step(step, theirs[step])[0]:,.1f}"
                if theirs is not None
                else f"({DATATABLE_1M[step]:,})"
                if step in DATATABLE_1M
                else "(made anew)"
            )
            reach = {"page": "6 ms", "down": "p95 16 ms"}.get(step, "")
            bare = f"{floor[step][0]:.1f} ms; " if step in floor else ""
            rows.append((
                f"{count:,} rows, {TITLES[step]}: CPU / wall", f"{least:.1f} ms / {wall}", reach,
                f"{bare}DataTable {other} ms",
            ))  # fmt: skip
    return rows


def _step(step: str, measured: list[float]) -> tuple[float, str]:
    if step == "load":
        wall, cpu = measured
        return 1000 * cpu, f"{1000 * wall:.0f} ms"
    least, middle, high = measured
    return least, f"p50 {middle:.0f}, p95 {high:.0f} ms"


def all_at_once(directories: int, seconds: float, kept: dict[str, Any]) -> tuple[list[Row], str]:
    """Everything goes on; and which callbacks were the longest."""
    jobs, completions = 10_000, 1_000
    found = everything.measure(directories, jobs, completions, seconds)
    figures = found.figures
    kept[f"everything at {directories}"] = found
    what = f"{directories:,} directories, {completions:,} completions/s, 3 queues of {jobs:,}"
    rows = [
        (f"{what}, a person pages: longest callback, CPU", f"{figures['longest']:.0f} ms", "50 ms",
         ""),
        (f"the same, p95 / p99.9 of {figures['callbacks']:,} callbacks",
         f"{figures['p95']:.1f} / {figures['p999']:.0f} ms", "16 ms", ""),
        ("the same, heartbeat of the loop: worst / p95 (wall, with the neighbours')",
         f"{figures['gap']:.0f} / {figures['gap_p95']:.0f} ms", "", ""),
        ("the same, completions that were counted",
         f"{figures['completions'] / seconds:,.0f} a second", f"{completions:,}", ""),
        ("the same: share of a core of screen / engine, to the terminal",
         f"{100 * found.screen_cpu:.0f} / {100 * found.engine_cpu:.0f} %,"
         f" {found.written / 1000:.0f} kB/s", "", ""),
        (f"memory of screen / engine at {directories:,} directories",
         f"{found.screen:.0f} / {found.engine:.0f} MB",
         f"{80 + 25 * directories / 1e6:.0f} / 200 MB", ""),
    ]  # fmt: skip
    told = [f"\nThe longest callbacks of that ({what}), CPU ms: longest, all, how often\n"]
    told += ["| callback | longest | all | times |", "|---|--:|--:|--:|"]
    for title, named in (("", figures["named"]), ("first opening: ", figures["openings"])):
        told += [
            f"| {title}{name} | {longest:.0f} | {total:.0f} | {times} |"
            for name, longest, total, times in named
        ]
    return rows, "\n".join(told)


def others(rounds: int, kept: dict[str, Any]) -> list[Row]:
    """Other programs' starts."""
    rows = []
    for package, command in peers.PEERS:
        found = peers.measure(package, command, rounds)
        kept[package] = found
        shown = _start(found.start) if found.start else found.why
        rows.append((f"first frame of {package}: from exec / CPU", shown, "", ""))
    return rows


def _start(one: start.Start) -> str:
    return f"{one.wall:.2f} / {one.cpu:.2f} s"


def main() -> None:
    """Read the arguments, measure, print and write."""
    parser = argparse.ArgumentParser(prog="python -m bench.tui", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--slow", action="store_true", help="DataTable with 1,000,000 rows as well")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there as well")
    parser.add_argument("--no-peers", action="store_true", help="install nothing")
    chosen = parser.parse_args()
    kept: dict[str, Any] = {"machine": machine()}
    before = os.getloadavg()
    rows = starts(chosen.rounds, kept)
    if not chosen.no_peers:
        rows += others(min(3, chosen.rounds), kept)
    at_rest, written = idle(chosen.seconds)
    kept["idle"] = (at_rest, written)
    share = f"{100 * at_rest:.1f} %, {written / 1000:.2f} kB/s"
    rows.append(("at rest: share of a core, to the terminal", share, "0.5 %, 30 kB/s", ""))
    rows += long_lists(slow=chosen.slow, kept=kept)
    changing = lists.changing(chosen.seconds)
    kept["48 rows at 10 Hz"] = changing
    share = f"{100 * changing.cpu:.1f} %, {changing.written / 1000:.0f} kB/s"
    rows.append(("48 rows at 10 Hz: share of a core, to the terminal", share, "6 %", ""))
    told = ""
    for directories in (10_000, 1_000_000):
        more, told = all_at_once(directories, chosen.seconds, kept)
        rows += more if directories == 1_000_000 else more[-1:]
    text = "\n".join([
        "# The dashboard", "",
        f"`python -m bench.tui {' '.join(sys.argv[1:])}`".replace(" `", "`")
        + ", in a terminal of 200 x 50. CPU: the least of the rounds.", "",
        f"{kept['machine']}; load after {', '.join(f'{one:.1f}' for one in os.getloadavg())}"
        f" (before {before[0]:.1f})", "",
        "| what | measured | reach | floor, or other |", "|---|--:|--:|--:|",
        *("| " + " | ".join(row) + " |" for row in rows), told, "",
        "Floor: a bare Textual app; a view that draws one text a line. DataTable in parentheses:",
        "measured elsewhere, because loading 1,000,000 rows takes minutes (`--slow` does it).",
    ])  # fmt: skip
    print(text)
    if chosen.json is not None:
        listed = [
            dict(zip(("what", "measured", "reach", "floor"), row, strict=True)) for row in rows
        ]
        chosen.json.write_text(json.dumps(listed, indent=1, ensure_ascii=False) + "\n")
    (RESULTS / "tui.md").write_text(text + "\n")
    (RESULTS / "tui.json").write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
