"""How long the screen stands still while everything goes on.

A project of a million directories in the engine's process, completions coming in, three clusters
with long queues, and a person who pages through the views. The callbacks of the screen's event
loop are timed one by one, see `callbacks`.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from bench.tui import engine
from bench.tui.callbacks import Callbacks
from bench.tui.terminal import Terminal, environment, resident

ROOT = Path(__file__).parents[2]
PAGE_DOWN = b"\x1b[6~"
WALK = (b"1", b"2", b"d", b"6", b"3", b"4", b"5", b"8", b"9", b"@", b"\x1b")
"""Keys between pages: the views one after another, and what happened."""
KEYS_A_SECOND = 8
OPENING = 1.5
"""Seconds for each view to be opened for the first time, before anything is measured."""
PAGES = 12
"""In each view."""


class Everything(NamedTuple):
    """The callbacks' figures, in ms; CPU shares of screen and engine; MB of both."""

    figures: dict[str, Any]
    screen_cpu: float
    engine_cpu: float
    written: float
    screen: float
    engine: float


def measure(
    directories: int, jobs: int, completions: int, seconds: float, *, walk: bool = True
) -> Everything:
    """With `jobs` in each of three queues and so many completions a second."""
    with tempfile.TemporaryDirectory(prefix="rowtui-bench-") as temporary:
        root, path = Path(temporary) / "project", Path(temporary) / "figures"
        engine.make(root, directories)
        own = environment(root)
        own |= {engine.JOBS: str(jobs), engine.COMPLETIONS: str(completions)}
        own["PYTHONPATH"] = os.pathsep.join([str(ROOT), own.get("PYTHONPATH", "")]).rstrip(":")
        words = [sys.executable, "-m", "bench.tui.everything", str(path), str(seconds)]
        terminal = Terminal(words, root, own)
        try:
            terminal.until(b"completed", 300)
            terminal.until_made(path.with_suffix(".ready"), 300)
            for key in WALK:
                terminal.press(key)
                terminal.during(OPENING)
            terminal.until_made(path.with_suffix(".begun"), 300)
            (child,) = terminal.children()
            from bench.tui.terminal import cpu_of

            cpu, of_engine, count = terminal.cpu(), cpu_of(child), terminal.count
            began = time.perf_counter()
            keys = itertools.chain.from_iterable(
                (key, *[PAGE_DOWN] * PAGES) for key in itertools.cycle(WALK)
            )
            while not path.exists():
                if walk:
                    terminal.press(next(keys))
                terminal.during(1 / KEYS_A_SECOND)
                if terminal.process.poll() is not None:
                    raise SystemExit(terminal.seen[-3000:].decode(errors="replace"))
            took = time.perf_counter() - began
            return Everything(
                json.loads(path.read_text()),
                (terminal.cpu() - cpu) / took,
                (cpu_of(child) - of_engine) / took,
                (terminal.count - count) / took,
                terminal.resident(),
                resident(child),
            )
        finally:
            terminal.close()


def main() -> None:
    """Inside the terminal."""
    from rowtui.core.engine.process.start import EngineOptions, EngineProcess

    path, seconds = Path(sys.argv[1]), float(sys.argv[2])
    started = EngineProcess(EngineOptions(os.getcwd()), engine.PROGRAM)
    import gc

    from rowtui.core.engine.process.client import ProcessEngine
    from rowtui.tui.shell.app import RowtuiApp

    started.opened()
    gc.freeze()
    watch = Callbacks()
    watch.watch()

    class Watched(RowtuiApp):
        CSS_PATH = [str(Path(sys.modules[RowtuiApp.__module__].__file__ or "").parent / name)
                    for name in RowtuiApp.CSS_PATH]  # fmt: skip

        def on_ready(self) -> None:
            self.run_worker(self.watch_all())

        def completed(self) -> int:
            snapshot = self.session.snapshot
            return sum(one.completed for one in snapshot.actions) if snapshot else 0

        async def watch_all(self) -> None:
            while self.session.snapshot is None or self.session.jobs is None:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
            await asyncio.sleep(5.0)  # the views are loaded ahead meanwhile
            watch.beat()
            path.with_suffix(".ready").touch()
            await asyncio.sleep(OPENING * len(WALK) + 1.0)
            openings, before = watch.longest(10.0), self.completed()
            watch.forget()
            path.with_suffix(".begun").touch()
            await asyncio.sleep(seconds)
            more = {"openings": openings, "completions": self.completed() - before}
            path.with_suffix(".part").write_text(json.dumps(watch.figures() | more))
            path.with_suffix(".part").rename(path)
            await asyncio.sleep(3600)

    async def run() -> None:
        app = Watched(ProcessEngine(started))
        await app.run_async()
        if app.defect is not None:
            raise app.defect

    asyncio.run(run())


if __name__ == "__main__":
    main()
