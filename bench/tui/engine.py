"""The engine's process of the bench: a million directories, long queues, and completions.

Run as `Started(options, PROGRAM)`. The engine is the real one, on a project whose directories are
only in its records (making a million folders takes longer than everything else here), with the
demo's simulated clusters, whose queues are filled. Told by the environment: ROWTUI_BENCH_JOBS in
each queue, ROWTUI_BENCH_COMPLETIONS a second.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROGRAM = "from bench.tui.engine import main; main()"
DIRECTORIES = "ROWTUI_BENCH_DIRECTORIES"
JOBS = "ROWTUI_BENCH_JOBS"
COMPLETIONS = "ROWTUI_BENCH_COMPLETIONS"
EVERY = 0.1
"""Seconds between two staged files, of which each has a tenth of a second's completions."""


def make(root: Path, directories: int) -> None:
    """Write the project: its files and its records."""
    from rowtui.core.demo.project import make_project
    from rowtui.core.demo.simulation import FastClock

    make_project(root, directories, 1, FastClock())


def open_engine(options: Any) -> tuple[Any, Callable[[], Any]]:
    """As `serve.open_engine`, with simulated clusters."""
    from rowtui.core.clusters.schedulers.base import JobSpec
    from rowtui.core.demo import project as demo
    from rowtui.core.demo.simulation import ClusterSimulation, FastClock
    from rowtui.core.engine.local import InProcessEngine
    from rowtui.core.engine.process.start import ProjectOpened

    root = Path(options.start)
    clock = FastClock()
    simulation = ClusterSimulation(demo.MACHINES, 1)
    project = demo._opened(root, simulation, clock)
    for cluster in list(simulation.clusters.values())[:3]:
        for number in range(int(os.environ.get(JOBS, "0"))):
            spec = JobSpec(
                f"{number:016x}", f"job-{number}", "#SBATCH --partition=cpu\n", root, "log-%j",
                cpus=4, walltime_seconds=3600,
            )  # fmt: skip
            cluster.submit(spec, clock())

    class Completing(InProcessEngine):
        """An engine to which completions come."""

        staging: asyncio.Task[None] | None = None

        async def refresh(self, *, full: bool = False) -> Any:
            if self.staging is None:
                self.staging = asyncio.create_task(complete(project))
            return await super().refresh(full=full)

    return ProjectOpened((), ()), lambda: Completing(project)


async def complete(project: Any) -> None:
    """Stage so many completions a second, as jobs that end do."""
    from rowtui.core.state.row.staging import stage_completions

    wanted = int(os.environ.get(COMPLETIONS, "0") or 0)
    if not wanted:
        return
    names = project.state.directories.table  # no text for each of a million
    action = project.workflow.actions[-1].name
    at, began = 0, time.monotonic()
    first = len(names) // 4  # those before are complete from the beginning
    while True:
        due = int((time.monotonic() - began) * wanted)
        some = [names[(first + number) % len(names)] for number in range(at, due)]
        if some:
            await asyncio.to_thread(stage_completions, project.root, {action: some})
        at = due
        await asyncio.sleep(EVERY)


def main() -> None:
    from rowtui.core.engine.process.serve import main as serve

    serve(open_engine)
