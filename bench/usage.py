"""What the usage of jobs costs: records on the disk, reading them, the command, the job script.

    python -m bench.usage [--jobs N]

The records are made up, for 10 plans of arrays and 10 of single jobs; the job script is a real one
that runs `true`, with and without its measuring part, in turn. Then both sleep for 40 seconds.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rowtui.core.clusters.schedulers.measured import MeasuredBy, Used
from rowtui.core.submission.plan.outcome import read_old_end
from rowtui.core.usage.model import JobUsage, UsageKind
from rowtui.core.usage.recommend import right_sizes
from rowtui.core.usage.store import UsageStore
from rowtui.core.usage.table import usage_table

BATCH = 20_000
SCRIPTS = 40
SECONDS = 40
WORKFLOW = '[[action]]\nname = "one"\ncommand = "true {directory}"\nproducts = ["x"]\n'


def jobs(count: int) -> Iterator[JobUsage]:
    """So many jobs of three actions on 50 nodes, of which 3 % failed."""
    draw = random.Random(5)
    kinds = [
        UsageKind(action, "alpha", "cpu", "jane", 1, 4, 0, 4096, 3600)
        for action in ("simulate", "analyze", "plot")
    ]
    for number in range(count):
        plan, job = number % 20, number // 20
        token = f"{plan:012x}-{job}" if plan < 10 else f"{plan:012x}-0a.{job}"
        wall = draw.lognormvariate(7, 0.5)
        used = Used(
            wall, wall * 3.5, int(draw.lognormvariate(14, 0.4)), None, None,
            f"n{draw.randrange(50)}", MeasuredBy.SCRIPT, MeasuredBy.SCHEDULER, MeasuredBy.SCRIPT,
            MeasuredBy.UNKNOWN,
        )  # fmt: skip
        reason = "out of memory" if draw.random() < 0.03 else ""
        at = 1_780_000_000 + number // 3
        yield JobUsage(
            token, kinds[plan % 3], number, 4, read_old_end(0, reason, at), at - 4000, used, True
        )


def stored(root: Path, count: int) -> None:
    """Write the records in batches, as the ends of jobs come."""
    store = UsageStore(root)
    batch: list[JobUsage] = []
    for job in jobs(count):
        batch.append(job)
        if len(batch) == BATCH:
            store.append(batch)
            batch.clear()
    store.append(batch)


def cpu_of(work: Callable[[], object], runs: int = 3) -> float:
    """Seconds of CPU, the least of some runs."""
    found = []
    for _ in range(runs):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return min(found)


def cpu_of_command(words: list[str], root: Path, runs: int = 3) -> float:
    """Seconds of CPU of a command with all that it starts, the least of some runs."""
    found = []
    for _ in range(runs):
        process = subprocess.Popen(
            [sys.executable, "-m", "rowtui.cli.main", *words], cwd=root, stdout=subprocess.DEVNULL
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"rowtui {' '.join(words)} ended with {process.returncode}")
        found.append(used.ru_utime + used.ru_stime)
    return min(found)


def script_costs(root: Path) -> tuple[float, float]:
    """Milliseconds that measuring adds: of wall time to a short job, of CPU time to a long one."""
    shown = subprocess.run(
        [sys.executable, "-m", "rowtui.cli.main", "--cluster", "none", "submit", "--dry-run"],
        cwd=root, capture_output=True, text=True, check=True,
    )  # fmt: skip
    whole = shown.stdout[shown.stdout.index("#!/bin/bash") :]
    less = whole
    for part in ('rowtui_measure "$ended.tmp"', ' && rowtui_become "$status" "$ended"',
                 "        rowtui_sample\n"):  # fmt: skip
        if part not in less:
            raise SystemExit(f"the job script has no {part!r} any more")
        less = less.replace(part, "")
    taken: dict[str, list[float]] = {whole: [], less: []}
    for number in range(SCRIPTS):
        for text, times in taken.items():
            token = f"bench-{number}-{text is whole}"
            script = re.sub("^rowtui_token=.*$", f"rowtui_token={token}", text, flags=re.M)
            began = time.perf_counter()
            subprocess.run(["bash"], input=script.encode(), cwd=root, check=True)
            times.append((time.perf_counter() - began) * 1000)
    short = statistics.median(taken[whole]) - statistics.median(taken[less])
    processes = []
    for text in (whole, less):
        script = re.sub("^rowtui_token=.*$", f"rowtui_token=long-{text is whole}", text, flags=re.M)
        script = re.sub(r'^\s*true "?\$directory"?$', f"sleep {SECONDS}", script, flags=re.M)
        assert f"sleep {SECONDS}" in script
        file = root / f"long-{text is whole}.sh"
        file.write_text(script)
        processes.append(subprocess.Popen(["bash", file], cwd=root))
    used = []
    for process in processes:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        used.append((usage.ru_utime + usage.ru_stime) * 1000)
    return short, used[0] - used[1]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    count = parser.parse_args().jobs
    with tempfile.TemporaryDirectory(prefix="rowtui-bench-") as temporary:
        root = Path(temporary)
        (root / "workspace" / "a").mkdir(parents=True)
        (root / "workflow.toml").write_text(WORKFLOW)
        short, long = script_costs(root)
        stored(root, count)
        folder = root / ".row" / "rowtui" / "usage"
        size = sum(path.stat().st_size for path in folder.iterdir())
        columns = UsageStore(root).columns()
        rows = [
            ("on the disk, MB", size / 1e6, 60.0),
            ("read, CPU s", cpu_of(lambda: UsageStore(root).columns()), 0.3),
            ("table by action, CPU s", cpu_of(lambda: usage_table(columns)), None),
            ("table by node, CPU s", cpu_of(lambda: usage_table(columns, "node")), None),
            ("recommend, CPU s", cpu_of(lambda: list(right_sizes(columns))), None),
            ("rowtui usage, CPU s", cpu_of_command(["usage"], root), 1.0),
            ("rowtui usage --by node --failed, CPU s",
             cpu_of_command(["usage", "--by", "node", "--failed"], root), 1.0),
            ("job script: measuring, ms", short, 20.0),
            (f"job script of {SECONDS} s: measuring, CPU ms", long, 20.0),
        ]  # fmt: skip
    print(f"| {count:,} jobs | measured | reach |\n|---|---|---|")
    for name, value, reach in rows:
        print(f"| {name} | {value:.3g} | {'' if reach is None else f'{reach:g}'} |")


if __name__ == "__main__":
    main()
