"""Does an engine's process grow? `python -m bench.soak [--minutes 8] [--directories 1000000]`.

The engine of a dashboard in its own process, on a project whose directories are only in the caches:
a thousand completions a second arrive, until all are complete and then from the beginning again
(`clean`); the queues of three clusters have 10,000 jobs each, and somebody looks at everything:
pages of groups and directories, filtered and sorted at random, the queue, the plan of some groups.
Its memory is looked at every few seconds: what it has for itself, without the pages of files that
it has mapped. It passes if that does not grow any more after the first minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.groups.model import Status
from rowtui.core.project.queue.views import QueueRequest
from rowtui.core.project.views.views import ListRequest

from bench.__main__ import machine
from bench.completions import bench_environment, private_memory
from bench.tui import engine as bench_engine
from bench.tui.terminal import cpu_of

ROOT = Path(__file__).parents[1]
PROGRAM = "from bench.soak import main_of_engine; main_of_engine()"
PACE = "ROWTUI_BENCH_SOAK"
COMPLETIONS, JOBS = 1_000, 10_000
EVERY = 5.0  # seconds between two looks at the memory
SLOPE = 2.0
"""MB a minute that the engine may gain: less than the allocator's own ups and downs in minutes."""
STATUSES = ((Status.ELIGIBLE,), tuple(Status), (Status.COMPLETED,), (Status.WAITING,))
FILTERS = ("", "", "t05", "status=eligible", "temperature<300", "name~^t00.*7$", "replica>3 !t01")
SORTS = ("", "name", "status", "/temperature", "/pressure")
GROUP_SORTS = ("", "size", "first", "cost", "number")


class Sample(NamedTuple):
    """MB at so many seconds."""

    seconds: float
    private: float
    mapped: float


class Soak:
    """What somebody does who looks at everything."""

    def __init__(self, engine: Any, chance: random.Random) -> None:
        self.engine = engine
        self.chance = chance
        self.done: dict[str, int] = {}
        self.refused = 0

    async def follow(self) -> None:
        """As the screen: a new status whenever something changed, and the page on the screen."""
        async for word in self.engine.changes():
            if word != "completed":
                continue
            snapshot = await self.engine.refresh()
            action = self.chance.choice(snapshot.actions)
            await self.engine.groups.page(action.index, (Status.ELIGIBLE,), 0, 50)
            self._count("status")
            await asyncio.sleep(0.05)

    async def look(self, actions: int) -> None:
        """Anything, at random."""
        asks: list[Callable[[int], Any]] = [
            self._groups, self._directories, self._directories, self._queue, self._jobs, self._plan,
        ]  # fmt: skip
        ask = self.chance.choice(asks)
        try:
            await ask(self.chance.randrange(actions))
        except RowtuiError:  # a newer question, or nothing to plan
            self.refused += 1
        self._count(ask.__name__.strip("_"))

    def _count(self, what: str) -> None:
        self.done[what] = self.done.get(what, 0) + 1

    async def _groups(self, action: int) -> None:
        asked = ListRequest("", self.chance.choice(GROUP_SORTS), self.chance.random() < 0.5)
        statuses = self.chance.choice(STATUSES)
        page = await self.engine.groups.page(action, statuses, 0, 50, asked=asked)
        if page.total:
            at = self.chance.randrange(page.total)
            await self.engine.groups.page(action, statuses, at, 50, asked=asked)
            await self.engine.groups.members(action, statuses, at, 0, 50)

    async def _directories(self, action: int) -> None:
        asked = ListRequest(
            self.chance.choice(FILTERS), self.chance.choice(SORTS), self.chance.random() < 0.5
        )
        statuses = self.chance.choice(STATUSES)
        page = await self.engine.groups.directories(action, statuses, 0, 50, asked=asked)
        if page.total:
            at = self.chance.randrange(page.total)
            await self.engine.groups.directories(action, statuses, at, 50, asked=asked)

    async def _queue(self, _: int) -> None:
        asked = QueueRequest()
        page = await self.engine.queue.page(asked, 0, 50)
        if page.total:
            await self.engine.queue.page(asked, self.chance.randrange(page.total), 50)

    async def _jobs(self, _: int) -> None:
        await self.engine.jobs.view()

    async def _plan(self, action: int) -> None:
        await self.engine.plans.make(action, [self.chance.randrange(100) for _ in range(3)], None)


async def soak(root: Path, minutes: float, told: Callable[[Sample], None]) -> dict[str, Any]:
    """Run it; the samples and what was done."""
    from rowtui.core.engine.process.client import ProcessEngine
    from rowtui.core.engine.process.start import EngineOptions, EngineProcess

    os.environ[bench_engine.JOBS] = str(JOBS)
    os.environ[PACE] = str(COMPLETIONS)
    paths = (str(ROOT), os.environ.get("PYTHONPATH", ""))  # its interpreter finds the bench
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    started = EngineProcess(EngineOptions(str(root)), PROGRAM)
    try:
        started.opened()
    except RowtuiError as error:
        log = root.parent / ".local/state/rowtui/log/engine.log"
        raise SystemExit(f"{error}\n{log.read_text()}") from None
    engine = ProcessEngine(started)
    (pid,) = _children()
    work = Soak(engine, random.Random(1))
    snapshot = await engine.refresh()
    await engine.jobs.view()
    following = asyncio.create_task(work.follow())
    samples: list[Sample] = []
    began, cpu = time.monotonic(), cpu_of(pid)
    while (now := time.monotonic() - began) < 60 * minutes:
        if not samples or now - samples[-1].seconds >= EVERY:
            memory = private_memory(pid)
            samples.append(Sample(round(now, 1), memory["private MB"], memory["mapped MB"]))
            told(samples[-1])
        await work.look(len(snapshot.actions))
        await asyncio.sleep(work.chance.random() * 0.3)
        if following.done():
            following.result()
    took = time.monotonic() - began
    share = (cpu_of(pid) - cpu) / took
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    snapshot = await engine.refresh()
    await engine.close()
    return {
        "samples": samples, "done": work.done, "refused": work.refused,
        "core": share, "generation": snapshot.generation,
    }  # fmt: skip


def _children() -> list[int]:
    me = os.getpid()
    return [int(pid) for pid in Path(f"/proc/{me}/task/{me}/children").read_text().split()]


def slope(samples: list[Sample]) -> float:
    """MB a minute, fitted to the least that each half minute had of the last two thirds."""
    later = [one for one in samples if one.seconds > samples[-1].seconds / 3]
    least: dict[int, Sample] = {}
    for one in later:
        slot = int(one.seconds // 30)
        if slot not in least or one.private < least[slot].private:
            least[slot] = one
    points = [(one.seconds / 60, one.private) for one in least.values()]
    count = len(points)
    if count < 2:
        return 0.0
    x, y = (sum(each) / count for each in zip(*points, strict=True))
    spread = sum((a - x) ** 2 for a, _ in points)
    return sum((a - x) * (b - y) for a, b in points) / spread if spread else 0.0


# The engine's process


async def come_and_go(project: Any) -> None:
    """Completions of one action after the other; when all came, they are taken back."""
    from rowtui.core.state.row.staging import stage_completions

    pace = int(os.environ[PACE])
    table = project.state.directories.table
    actions = [action.name for action in project.workflow.actions]
    begun = dict(project.state.completed)
    count, at, loop = len(table), 0, time.monotonic()
    while True:
        due = int((time.monotonic() - loop) * pace)
        for begin in range(at, due, 100):
            action = actions[begin // 20_000 % len(actions)]
            names = [table[place % count] for place in range(begin, min(begin + 100, due))]
            await asyncio.to_thread(stage_completions, project.root, {action: names})
        if due // 100_000 > at // 100_000:
            await asyncio.to_thread(take_back, project, begun)
        at = due
        await asyncio.sleep(0.1)


def take_back(project: Any, completed: dict[str, int]) -> None:
    """As `clean`: what is complete is as it was in the beginning."""
    from rowtui.core.state.row.staging import discard_staged, list_staged

    stored = project.store.commit(
        lambda stored: stored._replace(state=stored.state._replace(completed=dict(completed)))
    )
    discard_staged(project.root, set(list_staged(project.root)) & stored.consumed.keys())


def open_engine(options: Any) -> tuple[Any, Callable[[], Any]]:
    """The bench's engine, to which completions come in another way."""
    bench_engine.complete = come_and_go
    return bench_engine.open_engine(options)


def main_of_engine() -> None:
    from rowtui.core.engine.process.serve import main as serve

    serve(open_engine)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--directories", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    print(f"{machine()}\n", flush=True)

    def told(sample: Sample) -> None:
        print(f"{sample.seconds:6.0f} s: private {sample.private:.0f} MB, mapped files "
              f"{sample.mapped:.0f} MB", flush=True)  # fmt: skip

    with tempfile.TemporaryDirectory(prefix="rowtui-soak-") as temporary:
        folder = Path(temporary)
        with bench_environment(folder), contextlib.chdir(ROOT):
            made = asyncio.create_subprocess_exec(
                sys.executable, "-c",
                "import sys; from pathlib import Path; from bench.tui.engine import make; "
                "make(Path(sys.argv[1]), int(sys.argv[2]))",
                str(folder / "project"), str(chosen.directories),
            )  # fmt: skip
            asyncio.run(_ended(made))
            found = asyncio.run(soak(folder / "project", chosen.minutes, told))
    samples = found["samples"]
    later = [one.private for one in samples if one.seconds > samples[-1].seconds / 3]
    grows = slope(samples)
    row = {
        "what": "engine", "size": chosen.directories,
        "best": {
            "peak MB": max(later), "median MB": sorted(later)[len(later) // 2],
            "MB a minute": round(grows, 2), "core %": round(100 * found["core"], 1),
            "minutes": chosen.minutes,
        },
        "done": found["done"], "samples": [list(one) for one in samples],
    }  # fmt: skip
    if grows > SLOPE:
        row["error"] = f"it grows by {grows:.1f} MB a minute"
    print(json.dumps({key: value for key, value in row.items() if key != "samples"}, indent=1))
    if chosen.json:
        chosen.json.write_text(json.dumps([row], indent=1) + "\n")
    if "error" in row:
        sys.exit(1)


async def _ended(starting: Any) -> None:
    process = await starting
    if await process.wait():
        raise SystemExit("the project could not be made")


if __name__ == "__main__":
    main()
