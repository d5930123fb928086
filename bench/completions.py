"""Measure arriving completions: `python -m bench.completions [--directories N] [--json FILE]`.

A thousand completions in one staged file, as a job leaves them, at an engine as the dashboard has
it: from the moment it is told of them until the new status and the visible pages of groups of all
ten actions are answered, and until they are on the disk. Then a thousand a second, for a while.
The project is `bench.make_project`'s; its directories are only in the caches, so that a million
need no files. CPU is the engine's whole process, without making the events.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rowtui.core.engine.local import InProcessEngine
from rowtui.core.groups.model import Status
from rowtui.core.project.open_project import OpenProject
from rowtui.core.state.model import State, positions
from rowtui.core.state.row.staging import stage_completions
from rowtui.core.workspace.list import workspace_mtime_ns

from bench.__main__ import machine
from bench.lists import in_memory
from bench.make_project import make_project

COMPLETIONS = 1_000
ROWS = 50  # of a visible page
ARRIVING = (0, 3, 1, 5)  # the actions that complete, in turn
ELIGIBLE = (Status.ELIGIBLE,)
EVERY = 0.1
"""Seconds between two staged files when they keep coming."""


def make_records(folder: Path, directories: int) -> Path:
    """The project's folder, its records saved; a workspace without any directory."""
    make_project(folder, 0)
    root = folder / "rowtui"
    state = in_memory(root, directories).state
    with_records(root, state)
    return root


def with_records(root: Path, state: State) -> None:
    """Save these records as if they had been read of the workspace."""
    project = OpenProject.open(root, cluster="local")
    workflow = project.workflow
    project.store.commit(
        lambda before: before._replace(
            state=state._replace(generation=0),
            workspace_mtime_ns=workspace_mtime_ns(workflow.workspace),
            racy=False,
            value_file=workflow.value_file,
            products={action.name: action.products for action in workflow.actions},
            reread=False,
        )
    )


@contextlib.contextmanager
def bench_environment(home: Path) -> Iterator[None]:
    """Nobody's own configuration and queue."""
    kept = dict(os.environ)
    os.environ.update(HOME=str(home), ROWTUI_LOCAL_DIR=str(home / "queue"))
    os.environ.pop("XDG_CONFIG_HOME", None)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept)


class Screen:
    """What a dashboard asks when completions came."""

    def __init__(self, root: Path) -> None:
        self.project = OpenProject.open(root, cluster="local")
        self.project.always_ask = True
        self.engine = InProcessEngine(self.project)
        self.many = COMPLETIONS

    async def look(self) -> Any:
        """The status, and the visible page of groups of each action."""
        snapshot = await self.engine.refresh()
        for action in snapshot.actions:
            await self.engine.groups.page(action.index, ELIGIBLE, 0, ROWS)
        return snapshot

    def stage(self, chance: random.Random, event: int) -> tuple[int, int]:
        """A job's completions; which action's, and how many of it there are then."""
        self.many = min(COMPLETIONS, len(self.project.state.directories) // 100)
        action = self.project.workflow.actions[ARRIVING[event % len(ARRIVING)]]
        row = self.project.status_row(action)
        known = positions(row.eligible | row.waiting)
        names = [self.project.state.directories.name(at) for at in chance.sample(known, self.many)]
        stage_completions(self.project.root, {action.name: names})
        return action.index, row.completed.bit_count() + self.many


class Clocks:
    """Milliseconds since it was made: of CPU of this process, and of wall."""

    def __init__(self) -> None:
        self.cpu, self.wall = time.process_time(), time.perf_counter()

    def read(self) -> tuple[float, float]:
        cpu, wall = time.process_time() - self.cpu, time.perf_counter() - self.wall
        return 1000 * cpu, 1000 * wall


async def events(root: Path, many: int, profile: Any = None) -> dict[str, Any]:
    """The times of so many events, and the figures of the engine's memory afterwards."""
    screen = Screen(root)
    chance = random.Random(1)
    began = Clocks()
    await screen.look()
    first = began.read()
    answered: list[tuple[float, float]] = []
    saved: list[tuple[float, float]] = []
    for event in range(many + 2):
        index, wanted = screen.stage(chance, event)
        if profile and event >= 2:
            profile.enable()
        clocks = Clocks()
        snapshot = await screen.look()
        shown = clocks.read()
        await until_saved(screen)
        kept = clocks.read()
        if profile:
            profile.disable()
        if snapshot.actions[index].completed != wanted:
            raise SystemExit("a completion was not counted")
        if event >= 2:  # the first ones fill caches
            answered.append(shown)
            saved.append(kept)
    memory = private_memory()
    await screen.engine.close()
    return {"first": first, "answered": answered, "saved": saved, "memory": memory}


async def until_saved(screen: Screen) -> None:
    """Wait until the engine has written what it knows."""
    await screen.engine.settled()


def private_memory(pid: int | str = "self") -> dict[str, float]:
    """MB: `private` is its own; `mapped` are pages of files, which the kernel may drop."""
    told = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, _, rest = line.partition(":")
        told[name] = int(rest.split()[0]) / 1000
    private = told["Private_Dirty"] + told.get("Swap", 0)
    return {
        "resident MB": round(told["Rss"], 1),
        "private MB": round(private, 1),
        "mapped MB": round(told["Rss"] - told["Private_Dirty"] - told["Shared_Dirty"], 1),
    }


async def sustained(root: Path, seconds: float) -> dict[str, Any]:
    """A thousand a second, staged by a process of its own; the engine looks whenever it is told."""
    screen = Screen(root)
    before = sum(one.completed for one in (await screen.look()).actions)
    words = screen.engine.changes()
    following = asyncio.create_task(_follow(screen, words))
    staging = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.completions", "--stage", str(root), str(seconds),
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    await asyncio.sleep(2.0)  # it reads the names
    clocks = Clocks()
    await staging.wait()
    cpu, wall = clocks.read()
    await asyncio.sleep(2.5)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    snapshot = await screen.look()
    counted = sum(one.completed for one in snapshot.actions) - before
    looks = snapshot.generation
    memory = private_memory()
    await screen.engine.close()
    return {
        "core %": round(100 * cpu / wall, 1), "wall s": round(wall / 1000, 1), "looks": looks,
        "completions": counted, "private MB": memory["private MB"],
    }  # fmt: skip


async def _follow(screen: Screen, words: Any) -> None:
    async for word in words:
        if word == "completed":
            await screen.look()


def stage_steadily(root: Path, seconds: float) -> None:
    """A thousand completions a second, a file every tenth of one."""
    project = OpenProject.open(root, cluster="local")
    stored = project.store.load().stored
    assert stored is not None
    action = project.workflow.actions[0].name
    left = stored.state.everything & ~stored.state.completed[action]
    chance = random.Random(2)
    known = positions(left)
    chosen = chance.sample(known, min(len(known), int(seconds * COMPLETIONS)))
    names = [stored.directories.table[at] for at in chosen]
    time.sleep(1.0)
    began, at = time.monotonic(), 0
    while at < len(names):
        due = min(len(names), int((time.monotonic() - began) * COMPLETIONS))
        if due > at:
            stage_completions(root, {action: names[at:due]})
        at = due
        time.sleep(EVERY)


def p50_p95(times: Sequence[float]) -> tuple[float, float]:
    """The median, and what 19 of 20 stay below."""
    ordered = sorted(times)
    return statistics.median(ordered), ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]


def rows_of(told: dict[str, Any], directories: int) -> list[dict[str, Any]]:
    """As `bench.measured` reads them, in milliseconds: the least, and medians of all events."""
    rows: list[dict[str, Any]] = []
    for what, key in (("status and pages", "answered"), ("and on the disk", "saved")):
        best, median = {}, {}
        for kind, at in (("cpu ms", 0), ("wall ms", 1)):
            times = [one[at] for one in told[key]]
            p50, p95 = p50_p95(times)
            best |= {kind: round(min(times), 2), f"p95 {kind}": round(p95, 2)}
            median |= {kind: round(p50, 2)}
        rows.append({"what": what, "best": best, "median": median, "runs": len(told[key])})
    cpu, wall = told["first"]
    rows.append(
        {"what": "first look", "best": {"cpu ms": round(cpu, 1), "wall ms": round(wall, 1)}}
    )
    rows.append({"what": "memory afterwards", "best": told["memory"]})
    return [{"size": directories, **row} for row in rows]


def measure(
    directories: int, many: int, seconds: float, made: Path | None, profile: Any = None
) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="rowtui-completions-") as temporary:
        folder = Path(temporary)
        with bench_environment(folder):
            root = make_in_another_process(folder / "project", directories, made)
            told = asyncio.run(events(root, many, profile))
            lines = rows_of(told, directories)
            if seconds:
                steady = asyncio.run(sustained(root, seconds))
                lines.append({"what": "1,000 a second", "size": directories, "best": steady})
    return lines


def make_in_another_process(folder: Path, directories: int, made: Path | None = None) -> Path:
    """Make the records where their memory is given back; `made`: keep them there, or use those."""
    source = made or folder
    if not (source / "rowtui").exists():
        subprocess.run(
            [sys.executable, "-m", "bench.completions", "--make", str(source), str(directories)],
            check=True,
        )
    if source != folder:
        shutil.copytree(source, folder, copy_function=os.link)  # no file is ever changed in place
    return folder / "rowtui"


async def _here(work: Callable[..., Any], *given: Any, **named: Any) -> Any:
    return work(*given, **named)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.completions", description=__doc__)
    parser.add_argument("--directories", type=int, default=1_000_000)
    parser.add_argument("--events", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=0.0, help="so long a thousand a second")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--made", type=Path, help="a folder to keep the project in")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--make", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--stage", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.make:
        make_records(Path(chosen.make[0]), int(chosen.make[1]))
        return
    if chosen.stage:
        stage_steadily(Path(chosen.stage[0]), float(chosen.stage[1]))
        return
    profile = None
    if chosen.profile:
        import cProfile

        profile = cProfile.Profile()
        asyncio.to_thread = _here  # type: ignore[assignment]  # threads are not profiled
    print(f"{machine()}\n")
    lines = measure(chosen.directories, chosen.events, chosen.seconds, chosen.made, profile)
    for line in lines:
        figures = [f"{name} {value:,}" for name, value in line["best"].items()]
        figures += [f"median {name} {value:,}" for name, value in line.get("median", {}).items()]
        print(f"{line['size']:,} directories, {line['what']}: {', '.join(figures)}")
    if chosen.json:
        chosen.json.write_text(json.dumps(lines, indent=1) + "\n")
    if profile is not None:
        import pstats

        pstats.Stats(profile).sort_stats(os.environ.get("SORT", "tottime")).print_stats(70)


if __name__ == "__main__":
    main()
