"""The benches behind `python -m bench`: how each is asked, and what it told.

Each runs in a process of its own (`python -m bench.NAME ... --json FILE`), so that none warms up,
fattens or ends another. One that can't run, because a peer or a tool is missing or because it
failed, becomes a reason, never the end of the others.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.measured import Measured, read

ROOT = Path(__file__).parents[1]
Words = list[str]


@dataclass(frozen=True)
class Suite:
    """`words`: for each time that it is run, what it is asked."""

    name: str
    about: str
    words: Callable[[Namespace], list[Words]]
    module: str = ""
    minutes: float = 1.0
    """About how long it takes, for `--list`."""


def run_suite(suite: Suite, given: Namespace) -> tuple[list[Measured], str]:
    """What it told; and why there is not all of it."""
    rows: list[Measured] = []
    why = ""
    for words in suite.words(given):
        found, failed = ask(suite, words)
        rows += found
        why = why or failed
    return rows, why


def ask(suite: Suite, words: Words) -> tuple[list[Measured], str]:
    """One run; a bench that fails may have written a part of its rows before."""
    command = [sys.executable, "-m", f"bench.{suite.module or suite.name}", *words]
    with tempfile.TemporaryDirectory(prefix="rowtui-bench-") as temporary:
        file = Path(temporary) / "rows.json"
        tell(f"{suite.name}: {' '.join(command[1:])}")
        began = time.monotonic()
        with subprocess.Popen(
            [*command, "--json", str(file)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        ) as process:
            try:
                last = said(process.stderr or iter(()))
            except BaseException:
                process.terminate()
                raise
        code = process.returncode
        tell(f"{suite.name}: {time.monotonic() - began:.0f} s" + (f", {last}" if code else ""))
        why = (last or f"ended with {code}") if code else ""
        if not file.exists():
            return [], why or "it told nothing"
        try:
            return read(file, suite.name), why
        except (ValueError, KeyError, TypeError, IndexError) as error:
            return [], why or f"what it told was not understood: {error!r}"


def said(lines: Iterator[str]) -> str:
    """Pass on what it says about its progress; the last of it."""
    last = ""
    for line in lines:
        tell(f"  {line.rstrip()}")
        if line.strip():
            last = line.strip()
    return last


def tell(words: str) -> None:
    """How far it is."""
    print(words, file=sys.stderr, flush=True)


# -- what each is asked --------------------------------------------------------------------------


def sizes(given: Namespace) -> list[int]:
    """Directories."""
    return [int(part.replace("_", "")) for part in given.sizes.split(",")]


def _commands(given: Namespace) -> list[Words]:
    words = ["--sizes", given.sizes, "--keys", given.keys, "--actions", given.actions]
    words += ["--rowtui", str(given.rowtui.absolute()), "--patience", str(given.patience)]
    if given.row:
        words += ["--row", str(given.row.absolute())]
    if given.keep:
        words += ["--keep", str(given.keep.absolute())]
    if given.rounds or given.quick:
        words += ["--rounds", str(given.rounds or 1)]
    if given.cold:
        words += ["--cold"]
    if given.cases:
        words += ["--only", ",".join(given.cases)]
    return [words]


def _start(given: Namespace) -> list[Words]:
    words = ["--rowtui", str(given.rowtui.absolute())]
    if given.row:
        words += ["--row", str(given.row.absolute())]
    return [[*words, "--rounds", "1" if given.quick else str(given.rounds or 15)]]


def _at(option: str, *usual: int, quick: int) -> Callable[[Namespace], list[Words]]:
    def words(given: Namespace) -> list[Words]:
        chosen = (quick,) if given.quick else usual
        return [[option, str(size)] for size in chosen]

    return words


def _lists(given: Namespace) -> list[Words]:
    return [["--directories", str(size), "--memory"] for size in sizes(given)]


def _completions(given: Namespace) -> list[Words]:
    chosen = sorted({max(size, 10_000) for size in sizes(given)})  # a thousand have to complete
    few = ["--events", "3"] if given.quick else ["--seconds", "10"]
    return [["--directories", str(size), *few] for size in chosen]


def _mapping(given: Namespace) -> list[Words]:
    words = ["--tpv", given.tpv] if given.tpv else []
    return [[*words, "--few"] if given.quick else words]


def _packing(given: Namespace) -> list[Words]:
    plain = ["--sections", "plain", "--packers", "seed,best"]
    plain += ["--distributions", "actions,hpcmix"]
    return [[*plain, *(["--quick"] if given.quick else ["--sizes", "100000,1000000"])]]


def _network(given: Namespace) -> list[Words]:
    chosen = (400,) if given.quick else (100_000, 1_000_000)
    return [["--jobs", str(jobs), "--plug-ins", "sample,critical-path"] for jobs in chosen]


def _network_plan(given: Namespace) -> list[Words]:
    chosen = (400,) if given.quick else (100_000, 1_000_000)
    peer = ["--fastr", given.fastr] if given.fastr else []
    return [["--samples", str(samples), *peer] for samples in chosen]


def _submission(given: Namespace) -> list[Words]:
    return [["--jobs", "5", "--tasks", "10"] if given.quick else ["--tasks", "1000", "10000"]]


def _soak(given: Namespace) -> list[Words]:
    minutes = 0.2 if given.quick else given.soak
    return [["--directories", str(max(sizes(given))), "--minutes", str(minutes)]]


def _tui(given: Namespace) -> list[Words]:
    return [["--no-peers", *(["--rounds", "1", "--seconds", "2"] if given.quick else [])]]


def _latency(given: Namespace) -> list[Words]:
    peer = ["--row", str(given.row.absolute())] if given.row else []
    chosen = ("100",) if given.quick else ("1000", "10000")
    return [["--directories", size, *peer] for size in chosen]


SUITES = (
    Suite("commands", "commands from exec to exit, beside Row", _commands, minutes=10),
    Suite("start", "starts, and what is imported", _start, "import_time"),
    Suite("completions", "1,000 completions arrive at the engine", _completions, minutes=2),
    Suite("lists", "filters, orders and pages of long lists", _lists),
    Suite("tui", "the dashboard in a terminal", _tui, "tui_rows", 10),
    Suite("soak", "the engine's memory after a long time of events", _soak, minutes=10),
    Suite("mapping", "decisions of the mapper, beside TPV", _mapping, minutes=3),
    Suite("packing", "packings of a million requests", _packing, minutes=4),
    Suite("network_plan", "plans of a million samples, beside Fastr", _network_plan, minutes=2),
    Suite("network", "completions in a graph of a million jobs", _network, minutes=4),
    Suite("submission", "jobs sent to a real Slurm over SSH", _submission, minutes=3),
    Suite("queue", "answers of squeue read", _at("--jobs", 10_300, 103_000, quick=50)),
    Suite("latency", "commands on a slow file system", _latency, minutes=3),
)
