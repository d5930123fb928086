"""The same asked of an engine in this process and of one in its own: the same answers."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.engine.api.snapshot import ProjectSnapshot
from rowtui.core.engine.engine import Engine
from rowtui.core.engine.local import InProcessEngine
from rowtui.core.engine.process.client import ProcessEngine
from rowtui.core.engine.process.start import EngineOptions, EngineProcess
from rowtui.core.groups.model import Status
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning.pack_views import PackChoice
from rowtui.core.project.queue.views import QueueRequest
from rowtui.core.state.row.staging import stage_completions

from tests.core.engine.process.conftest import WORKFLOW, make_project
from tests.eventually import eventually_async

EVERY = tuple(Status)


@asynccontextmanager
async def here(root: Path) -> AsyncIterator[Engine]:
    engine = InProcessEngine(OpenProject.open(root, cluster="local"))
    yield engine
    await engine.close()


@asynccontextmanager
async def apart(root: Path) -> AsyncIterator[Engine]:
    started = EngineProcess(EngineOptions(str(root), "local"))
    started.opened()
    engine = ProcessEngine(started)
    yield engine
    await engine.close()


async def error_of(call: Any) -> tuple[type[Exception], str]:
    try:
        await call
    except RowtuiError as error:
        return type(error), str(error)
    raise AssertionError("nothing was raised")


def told(snapshot: ProjectSnapshot) -> Any:
    actions = [
        (one.name, one.completed, one.submitted, one.eligible, one.waiting, str(one.remaining_cost))
        for one in snapshot.actions
    ]
    return snapshot.generation, snapshot.cluster, snapshot.directories, actions, snapshot.notices


async def script(engine: Engine, root: Path) -> list[Any]:
    """What a person might do on a morning, and what they saw."""
    seen: list[Any] = [told(await engine.refresh())]
    words = engine.changes()
    seen.append((await anext(words)).startswith("watching"))
    seen.append(await engine.groups.page(0, (Status.ELIGIBLE,), 0, 2))
    seen.append(await engine.groups.members(0, EVERY, None, 3, 4))
    seen.append(await engine.groups.members(0, EVERY, 1, 0, 9))
    seen.append(await engine.mapping.explain(0, (Status.ELIGIBLE,), 1))
    seen.append(await error_of(engine.plans.make(7, None, None)))
    seen.append(await error_of(engine.network.plan()))
    seen.append((await engine.network.view(), await engine.logs.tail("nobody-0", 5)))
    # Two of three groups are sent, and the way is left after the first.
    plan = await engine.plans.make(0, [0, 2], None)
    seen.append([(job.name, job.directories, job.script) for job in plan.jobs])
    packed = await engine.plans.pack(0, None, None, PackChoice(packer="seed", budget=0.01))
    seen.append([job.directories for job in packed.plan.jobs])
    seen.append(await engine.plans.transfers(plan))
    steps = engine.plans.submit(plan)
    async for step in steps:
        seen.append((step.done, step.total, step.error))
        if step.done:
            break
    await steps.aclose()  # type: ignore[attr-defined]
    view = await eventually_async(engine.jobs.view, lambda view: not view.jobs[0].state.active)
    job = view.jobs[0]
    seen.append((job.state, job.label, len((await engine.jobs.view()).jobs)))
    seen.append(await engine.logs.tail(job.token, 2))
    seen.append(told(await engine.refresh())[1:])
    # Others report, and edit.
    (root / "workspace/d3/x").touch()
    stage_completions(root, {"one": [b"d3"]})
    (root / "workflow.toml").write_text(WORKFLOW.replace("touch", "sleep 600; touch"))
    seen.append(told(await engine.refresh(full=True))[1:])
    (plan,) = [await engine.plans.make(0, [0], None)]
    seen.append([(step.done, step.error) async for step in engine.plans.submit(plan)])
    await engine.jobs.view()
    rows = (await engine.queue.page(QueueRequest(), 0, 10)).rows
    keys = [row.key for row in rows if row.record and row.record.token == plan.jobs[0].token]
    seen.append(await engine.queue.act(keys, "cancel"))
    view = await eventually_async(engine.jobs.view, lambda view: not view.jobs[0].state.active)
    job = view.jobs[0]
    seen.append((job.state, job.reason, job.state is JobState.CANCELLED))
    seen.append([await engine.queue.act(keys, verb) for verb in ("hold", "release")])
    (root / "workflow.toml").write_text("[[action]]\nname = \n")
    seen.append(told(await engine.refresh())[4])
    await words.aclose()  # type: ignore[attr-defined]
    return seen


def settled(seen: list[Any], root: Path) -> str:
    """Without what differs from run to run: tokens, times, and where the project is."""
    text = re.sub(r"\b[0-9a-f]{16}-\d+", "TOKEN", repr(seen)).replace(str(root), "ROOT")
    text = re.sub(r"\b1\d{9}\.\d+", "WHEN", text)
    return re.sub(r"\b[0-9a-f]{16,}\b", "HASH", text)


async def test_both_engines_give_the_same_answers(home: Path) -> None:
    results = []
    for number, opened in enumerate((here, apart)):
        root = make_project(home / f"at{number}" / "project")
        os.environ["ROWTUI_LOCAL_DIR"] = str(home / f"queue{number}")  # the fixture resets it
        async with opened(root) as engine:
            results.append((await script(engine, root), root))
    first, second = (settled(seen, root) for seen, root in results)
    assert results[0][0][0][2] == 10
    for one, other in zip(results[0][0], results[1][0], strict=True):
        assert settled([one], results[0][1]) == settled([other], results[1][1])
    assert first == second
