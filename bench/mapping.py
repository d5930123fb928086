"""Measure the mapper: `python -m bench.mapping [--tpv PYTHON] [--database FILE] [--json FILE]`.

Each configuration of `mapping_cases` is loaded and asked in a process of its own, by rowtui and, if
the Python of an environment with TPV is given, by TPV; both measure inside their process. One table
is printed: CPU time, and p50 / p95 of the wall time of single decisions.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.machine import machine
from bench.mapping_cases import Case, all_cases, database, shared
from bench.measure import least, run
from bench.measured import Measured, write

FIRST, NEW, EXPLAINED, KINDS = 3_600, 10_000, 300, 500
FEW = 300  # of all of them, where little is wanted
OF_TPV = 250  # requests: it takes 1 to 20 ms for each
Json = dict[str, Any]

_LOAD = """
import sys
from rowtui.core.mapping.files.load import merge_files
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.files.parse import parse_mapping
files = [parse_mapping(open(name, "rb").read(), name) for name in sys.argv[1:]]
Mapper(merge_files([parse_mapping(b"global: {dialect: tpv3}", ""), *files]))
"""


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.mapping", description=__doc__)
    parser.add_argument("--tpv", metavar="PYTHON", help="of an environment with TPV 3.3")
    parser.add_argument("--database", type=Path, metavar="FILE", help="real tools, measured too")
    parser.add_argument("--only", help="this configuration alone")
    parser.add_argument("--few", action="store_true", help="one configuration, few decisions")
    parser.add_argument("--save", metavar="NAME", help="also write bench/results/NAME.md")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    chosen = parser.parse_args()
    cases = [shared()] if chosen.few else all_cases()
    cases += [database(chosen.database)] if chosen.database else []
    lines = [f"# {machine()}", "", *_HEAD]
    print("\n".join(lines), flush=True)
    found: list[Measured] = []
    for case in cases:
        if chosen.only in (None, case.name):
            asked = questions(case, few=chosen.few)
            ours = tell([sys.executable, "-m", "bench.mapping_here"], asked)
            theirs = tell_tpv(chosen.tpv, asked) if chosen.tpv else None
            rows = table(case, ours, theirs)
            found += measured(case, ours, theirs)
            if chosen.json:
                write(chosen.json, found)
            print("\n".join(rows), flush=True)
            lines += rows
    rows = floor()
    print("\n".join(rows))
    if chosen.save:
        results = Path(__file__).parent / "results" / f"{chosen.save}.md"
        results.write_text("\n".join([*lines, *rows, ""]))


_HEAD = [
    "CPU times, decisions in microseconds; in brackets p50 / p95 of the wall time of each. First:",
    "a tool and user not asked for before. New: known tools and users, each time with inputs of",
    "another size. Repeated: the same again. Explained: with every reason; with changes: also what",
    "would admit the job where it is refused, each tried. Of 500 kinds: by a new mapper. TPV",
    "remembers nothing: its new decisions stand beside all of ours.",
    "",
    "| configuration | what | rowtui | TPV 3.3 | TPV / rowtui |",
    "|---|---|--:|--:|--:|",
]


def questions(case: Case, *, few: bool) -> Json:
    """What a measuring process is asked."""
    first, new = (FEW, FEW) if few else (FIRST, NEW)
    return {
        "files": case.files,
        "first": case.requests(first),
        "new": case.requests(new, sizes_from=first),
        "explained": min(EXPLAINED, new // 10) if few else EXPLAINED,
        "kinds": KINDS,
    }


def tell_tpv(python: str, asked: Json) -> Json | None:
    """What TPV's process tells, asked for fewer decisions; None if it can't, which it says."""
    few = {**asked, "first": asked["first"][:OF_TPV], "new": asked["new"][:OF_TPV]}
    program = Path(__file__).with_name("mapping_tpv.py")
    try:
        return tell([python, "-W", "ignore", str(program)], few)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"TPV is not measured: {error}", file=sys.stderr)
        return None


def measured(case: Case, ours: Json, theirs: Json | None) -> list[Measured]:
    """As all benches tell it. TPV's new decisions stand beside all of ours."""
    found = [
        Measured("load, warm", 0, best={"cpu s": ours["load"]}, variant=case.name),
        Measured("the same data by Python's json", 0, "floor", {"cpu s": ours["json"]},
                 variant=case.name),
    ]  # fmt: skip
    if theirs:
        load = {"cpu s": theirs["load"], "imports s": theirs["imports"]}
        found.append(Measured("load, warm", 0, "tpv", load, variant=case.name))
    for key, what in _DECISIONS.items():
        name = what.removesuffix(", us")
        told = {"rowtui": ours.get(key), "tpv": (theirs or {}).get("new")}
        for tool, one in told.items():
            if one:
                best = {"us": one["cpu"], "p50 us": one["p50"], "p95 us": one["p95"]}
                found.append(Measured(name, 0, tool, best, variant=case.name))
    found.append(Measured(f"500 kinds, {case.name}", 0, best={"cpu s": ours["kinds"]}))
    return found


def table(case: Case, ours: Json, theirs: Json | None) -> list[str]:
    """The rows of one configuration."""
    fresh = fresh_load(case)
    other = theirs or {}
    size = sum(map(len, case.files.values())) / 1000
    rows = [
        (f"load {size:,.0f} kB, fresh process with imports, s", fresh.cpu,
         other and other["imports"] + other["load"]),
        ("its peak, MB", fresh.peak, other.get("loaded_mb")),
        ("load, warm, s", ours["load"], other.get("load")),
        ("the same data by Python's json, s", ours["json"], None),
    ]  # fmt: skip
    table = [f"| {case.name} | {what} | {number(a)} | {number(b)} | {ratio(b, a)} |"
             for what, a, b in rows]  # fmt: skip
    for name, what in _DECISIONS.items():
        peer = other.get("new" if name == "repeated" else name)
        table.append(decision_row(case.name, what, ours[name], peer))
    asked = ours["new"]["number"]
    table.append(f"| {case.name} | {asked:,} of {KINDS} kinds, s | {number(ours['kinds'])} | | |")
    table.append(
        f"| {case.name} | peak after all that, MB | {number(ours['peak_mb'])} "
        f"| {number(other.get('peak_mb'))} | |"
    )
    if theirs:
        same = sum(a == b for a, b in zip(ours["answers"], theirs["answers"], strict=False))
        table.append(f"| {case.name} | the same answer | {same} of {len(theirs['answers'])} | | |")
    return table


_DECISIONS = {
    "first": "first decision, us",
    "new": "new",
    "repeated": "repeated",
    "why": "explained",
    "why_changes": "explained with changes",
}


def decision_row(case: str, what: str, ours: Json, theirs: Json | None) -> str:
    """Microseconds, and how many in a second."""
    peer = _decisions(theirs) if theirs else ""
    times = ratio(theirs["cpu"] if theirs else None, ours["cpu"])
    return f"| {case} | {what} | {_decisions(ours)} | {peer} | {times} |"


def _decisions(told: Json) -> str:
    shown = "{:,.1f} ({:,.1f} / {:,.1f}), {:,.0f}/s"
    return shown.format(told["cpu"], told["p50"], told["p95"], 1e6 / told["cpu"])


def tell(command: list[str], asked: Json) -> Json:
    """What a measuring process tells."""
    done = subprocess.run(
        command, input=json.dumps(asked), stdout=subprocess.PIPE, text=True, check=True
    )
    told: Json = json.loads(done.stdout)
    return told


def fresh_load(case: Case) -> Any:
    """From exec to a mapper."""
    with tempfile.TemporaryDirectory(prefix="rowtui-mapping-") as folder:
        for name, text in case.files.items():
            (Path(folder) / name).write_text(text)
        command = [sys.executable, "-c", _LOAD, *case.files]
        return least(
            [run(command, Path(folder), dict(os.environ), Path(folder) / "log") for _ in range(5)]
        )


def floor() -> list[str]:
    """What a Python process costs."""
    with tempfile.TemporaryDirectory(prefix="rowtui-mapping-") as folder:
        command = [sys.executable, "-c", "pass"]
        best = least(
            [run(command, Path(folder), dict(os.environ), Path(folder) / "log") for _ in range(5)]
        )
    return [f"| floor | `python -c pass`, s, MB | {number(best.cpu)}, {number(best.peak)} | | |"]


def number(value: float | None) -> str:
    """Three digits that mean something."""
    if not value:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def ratio(theirs: float | None, ours: float) -> str:
    """How many times faster."""
    return f"{theirs / ours:,.0f}" if theirs else ""


if __name__ == "__main__":
    main()
