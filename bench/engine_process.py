"""Measure the way to the engine's process: `python -m bench.engine_process`.

How long the screen's loop stands still while a plan of many jobs comes, beside what it would be if
it were put together in one go; how long a page and a call take; and the memory of both processes.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import pickle
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

from bench.__main__ import machine
from bench.make_project import make_project

WORKFLOW = """\
[[action]]
name = "one"
command = "echo {directory}; touch {workspace_path}/{directory}/x"
products = ["x"]
[action.group]
maximum_size = 1
"""


class Beat:
    """The longest times that the event loop was not free, in seconds."""

    def __init__(self) -> None:
        self.gaps: list[float] = []

    @contextlib.asynccontextmanager
    async def measured(self) -> AsyncIterator[None]:
        self.gaps = []
        task = asyncio.ensure_future(self._beat())
        await asyncio.sleep(0)
        yield
        task.cancel()

    async def _beat(self) -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            self.gaps.append(time.perf_counter() - before - 0.001)

    def __str__(self) -> str:
        p95 = statistics.quantiles(self.gaps, n=20)[-1] if len(self.gaps) > 1 else 0.0
        return f"{1000 * max(self.gaps):.1f} / {1000 * p95:.1f} ms"


def resident(pid: int | str) -> str:
    """Memory of a process that is in RAM."""
    status = Path(f"/proc/{pid}/status").read_text()
    kilobytes = int(status.partition("VmRSS:")[2].split()[0])
    return f"{kilobytes / 1000:.0f} MB"


async def measure(jobs: int, folder: Path) -> None:
    from rowtui.core.engine.process.client import ProcessEngine
    from rowtui.core.engine.process.start import EngineOptions, EngineProcess
    from rowtui.core.groups.model import Status

    root = folder / "jobs"
    for number in range(jobs):
        (root / f"workspace/d{number:06}").mkdir(parents=True)
    (root / "workflow.toml").write_text(WORKFLOW)
    started = EngineProcess(EngineOptions(str(root), "local"))
    started.opened()
    engine = ProcessEngine(started)
    await engine.refresh()
    beat = Beat()
    print("| what | measured |\n|---|--:|")
    async with beat.measured():
        await asyncio.sleep(1.0)
    print(f"| loop at rest: longest stall / p95 | {beat} |")
    for _ in range(3):
        began = time.perf_counter()
        async with beat.measured():
            plan = await engine.plans.make(None, None, None)
        print(
            f"| plan of {len(plan.jobs):,} jobs ({time.perf_counter() - began:.1f} s): "
            f"longest stall / p95 | {beat} |"
        )
    data = pickle.dumps(plan)
    async with beat.measured():
        await asyncio.sleep(0.05)
        copy = pickle.loads(data)
        await asyncio.sleep(0.05)
    print(f"| the same {len(data) / 1e6:.0f} MB in one go | {beat} |")
    del copy
    began = time.perf_counter()
    async with beat.measured():
        await engine.plans.transfers(plan)
    print(f"| its name sent back ({1000 * (time.perf_counter() - began):.0f} ms) | {beat} |")
    times = []
    for start in range(200):
        began = time.perf_counter()
        await engine.groups.page(0, (Status.ELIGIBLE,), start, 50)
        times.append(time.perf_counter() - began)
    print(f"| page of 50 groups, median | {1000 * statistics.median(times):.1f} ms |")
    await engine.close()


async def memory(directories: int, folder: Path) -> None:
    import rowtui.tui.shell.app  # noqa: F401
    from rowtui.core.engine.process.client import ProcessEngine
    from rowtui.core.engine.process.start import EngineOptions, EngineProcess
    from rowtui.core.groups.model import Status

    make_project(folder / "memory", directories)
    started = EngineProcess(EngineOptions(str(folder / "memory/rowtui"), "local"))
    started.opened()
    engine = ProcessEngine(started)
    snapshot = await engine.refresh()
    for action in snapshot.actions:
        await engine.groups.page(action.index, tuple(Status), 0, 50)
        await engine.groups.members(action.index, tuple(Status), None, 0, 50)
    print(f"| {snapshot.directories:,} directories: engine | {resident(started.process.pid)} |")
    print(f"| the same: screen, with Textual | {resident('self')} |")
    await engine.close()


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.engine_process", description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--directories", type=int, default=100_000)
    parser.add_argument("--memory-only", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rowtui-bench-") as temporary:
        os.environ["HOME"] = temporary
        os.environ["ROWTUI_LOCAL_DIR"] = str(Path(temporary) / "queue")
        if chosen.memory_only:
            asyncio.run(memory(chosen.directories, Path(temporary)))
            return
        print(f"{machine()}\n")
        asyncio.run(measure(chosen.jobs, Path(temporary)))
        sys.stdout.flush()
    # A process of its own: plans would be counted in.
    os.execv(
        sys.executable,
        [sys.executable, "-m", "bench.engine_process", "--memory-only",
         "--directories", str(chosen.directories)],
    )  # fmt: skip


if __name__ == "__main__":
    main()
