"""A screen's process without a picture: what a test does to it, happens to the engine's.

Arguments: the folder, and what to do. It says on standard output what the test waits for.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from rowtui.core.engine.process.start import EngineOptions, EngineProcess


def say(*words: object) -> None:
    print(*words, flush=True)


async def work(folder: Path) -> None:
    """Submit a plan, slowly, with a page under way."""
    from rowtui.core.engine.process.client import ProcessEngine

    from tests.core.engine.process import small_engine

    started = small_engine.start(folder)
    started.opened()
    engine = ProcessEngine(started)
    page = asyncio.ensure_future(engine.groups.page(0, (), 0, 1))
    steps = engine.plans.submit(small_engine.plan_of(1000))
    await anext(steps)
    say(started.process.pid)
    while line := await asyncio.to_thread(sys.stdin.readline):
        say(line.strip(), (await anext(steps)).done)
    page.cancel()


async def imports(folder: Path) -> None:
    """What the screen has loaded when the engine has done all kinds of things for it."""
    started = EngineProcess(EngineOptions(str(folder), "local"))
    first = set(sys.modules)
    import rowtui.tui.shell.app  # noqa: F401
    from rowtui.core.engine.process.client import ProcessEngine
    from rowtui.core.groups.model import Status

    started.opened()
    engine = ProcessEngine(started)
    await engine.refresh()
    await engine.mapping.explain(0, (Status.ELIGIBLE,), 0)
    plan = await engine.plans.make(0, None, 1)
    async for _ in engine.plans.submit(plan):
        pass
    await engine.jobs.view()
    await engine.logs.tail(plan.jobs[0].token, 5)
    await engine.close()
    say(json.dumps({"first": sorted(first), "all": sorted(sys.modules)}))


if __name__ == "__main__":
    asyncio.run({"work": work, "imports": imports}[sys.argv[2]](Path(sys.argv[1])))
