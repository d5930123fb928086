"""The dashboard's bench as rows: `python -m bench.tui_rows --json FILE`; other options are its own.

Runs `bench.tui` with its results written elsewhere than in `bench/results`, and takes the rows that
are judged from its JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.measured import Measured, write

STEPS = {"page": "page down", "down": "cursor down", "jump": "jump", "sort": "sort",
         "filter": "filter"}  # fmt: skip


def rows(kept: dict[str, Any]) -> Iterator[Measured]:
    """What `bench.tui` wrote as `tui.json`."""
    for name, tool in (("first frame", "rowtui"), ("bare Textual app", "floor")):
        if name in kept:
            wall, cpu = kept[name]
            yield Measured("first frame", 0, tool, {"wall s": wall, "cpu s": cpu})
    if "the status on it" in kept:
        wall, cpu = kept["the status on it"]
        yield Measured("the status on it", 0, best={"wall s": wall, "cpu s": cpu})
    if "idle" in kept:
        yield _at_rest("at rest", kept["idle"])
    if "48 rows at 10 Hz" in kept:
        yield _at_rest("48 rows at 10 Hz", kept["48 rows at 10 Hz"])
    for name, its in kept.items():
        kind, _, size = name.rpartition(" of ")
        if kind == "list" and its:
            yield from _steps(its[0], "rowtui", int(size))
        if kind == "DataTable" and its:
            yield from _steps(its, "DataTable", int(size))
        if name.startswith("everything at "):
            yield _everything(its, int(name.rpartition(" ")[2]))
    yield from _steps(kept.get("floor") or {}, "floor", 0)


def _at_rest(what: str, told: list[float]) -> Measured:
    share, written = told
    return Measured(what, 0, best={"%": 100 * share, "kB/s": written / 1000})


def _steps(steps: dict[str, list[float]], tool: str, size: int) -> Iterator[Measured]:
    for step, what in STEPS.items():
        if step in steps:
            cpu, middle, high = steps[step]
            yield Measured(what, size, tool, {"cpu ms": cpu, "p50 ms": middle, "p95 ms": high})


def _everything(told: list[Any], size: int) -> Measured:
    figures, screen_cpu, engine_cpu, written, screen, engine = told
    best = {
        "p95 ms": figures["p95"],
        "longest ms": figures["longest"],
        "screen MB": screen,
        "engine MB": engine,
        "%": 100 * screen_cpu,
        "engine %": 100 * engine_cpu,
        "kB/s": written / 1000,
    }
    return Measured("everything at once", size, best=best)


def main() -> None:
    """Run it, and write the rows."""
    parser = argparse.ArgumentParser(prog="python -m bench.tui_rows", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", required=True)
    given, rest = parser.parse_known_args()
    # Not before the options are read: it takes long to import.
    from bench.tui import __main__ as bench

    with tempfile.TemporaryDirectory(prefix="rowtui-bench-") as temporary:
        bench.RESULTS = Path(temporary)
        sys.argv[1:] = rest
        bench.main()
        kept = json.loads((Path(temporary) / "tui.json").read_text())
    write(given.json, rows(kept))


if __name__ == "__main__":
    main()
