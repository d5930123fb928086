"""A run of a project whose limit of jobs in the queue is reached."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.retry_policy import NO_RETRIES
from rowtui.core.runs.execution import project_run
from rowtui.core.runs.execution.driver import MessageKind
from rowtui.core.runs.execution.project_run import ProjectRun
from rowtui.core.runs.limits.limits import RunLimits
from rowtui.core.runs.store import PROJECT_RUNS, RunStore

WORKFLOW = """\
[[action]]
name = "one"
command = "sleep 1 && touch workspace/{directory}/one"
products = ["one"]
group.maximum_size = 1
"""


async def test_nothing_is_planned_while_the_queue_is_full(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        (here / "p/workspace" / name).mkdir(parents=True)
    (here / "p/workflow.toml").write_text(WORKFLOW)
    planned = 0
    plan = project_run.plan_fresh

    def counted(*given: Any) -> Any:
        nonlocal planned
        planned += 1
        return plan(*given)

    monkeypatch.setattr(project_run, "plan_fresh", counted)
    project = OpenProject.open(here / "p", cluster="local")
    run = RunStore(here / "p", PROJECT_RUNS).create(None, limits=RunLimits(jobs_in_queue=1))
    driver = ProjectRun(project, run, NO_RETRIES, look_seconds=0.02)
    kinds = []
    try:
        async with aclosing(driver.drive()) as messages, asyncio.timeout(50):
            kinds = [message.kind async for message in messages]
    finally:
        await project.let_go()

    assert kinds.count(MessageKind.SENT) == 3
    assert kinds[-1] is MessageKind.OVER
    assert planned < 10  # it looks some fifty times a second
