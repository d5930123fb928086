"""The engine's queue on a real project and the queue of this machine."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.clusters.schedulers.job_terms import JobTerms
from rowtui.core.clusters.schedulers.local.scheduler import LocalScheduler
from rowtui.core.engine.local import InProcessEngine
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning.plan_submission import plan_submission
from rowtui.core.project.queue.rows import QueueRow, RowKey
from rowtui.core.project.queue.views import QueueRequest
from rowtui.core.submission.sending.fence import seconds_of_job

from tests.eventually import eventually_async

WORKFLOW = '''\
[[action]]
name = "nap"
command = """
cd {workspace_path}
while [ -d $PWD/{directory} -a ! -e {directory}/end ]; do sleep 0.2; done
touch {directory}/x"""
products = ["x"]
[action.group]
maximum_size = 1
'''
NAMES = [f"d{number}" for number in range(6)]
PATIENCE = 30  # seconds; nothing here is expected to take two


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenProject:
    root = tmp_path / "project"
    for name in NAMES:
        (root / "workspace" / name).mkdir(parents=True)
    (root / "workflow.toml").write_text(WORKFLOW)
    monkeypatch.setenv("ROWTUI_LOCAL_DIR", str(tmp_path / "queue"))
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    return OpenProject.open(root, cluster="local", environment=environment)


@pytest.fixture
async def engine(project: OpenProject) -> AsyncIterator[InProcessEngine]:
    """Six jobs, of which as many run as this machine has cores; none ends by itself."""
    engine = InProcessEngine(project)
    await engine.refresh()
    async for _ in engine.plans.submit(plan_submission(project, project.workflow.actions)):
        pass
    await engine.refresh()
    yield engine
    for name in NAMES:
        end(project, name)
    await engine.queue.act([row.key for row in await rows(engine)], "cancel")
    await engine.close()


def end(project: OpenProject, name: str) -> None:
    (project.root / "workspace" / name / "end").touch()


async def rows(engine: InProcessEngine, **asked: object) -> tuple[QueueRow, ...]:
    await engine.jobs.view(now=True)
    return (await engine.queue.page(QueueRequest(**asked), 0, 100)).rows  # type: ignore[arg-type]


async def one_runs(engine: InProcessEngine) -> QueueRow:
    found = await eventually_async(
        lambda: rows(engine), lambda found: found[0].state is JobState.RUNNING, every=0.05
    )
    return found[0]


async def ended(project: OpenProject, token: str) -> None:
    """Until another program of the same project, and the queue itself, know that it has ended."""
    other = OpenProject.open(project.root, cluster="local", environment=project.environment)
    queue = LocalScheduler()

    async def states() -> list[JobState]:
        await other.jobs.ask()
        jobs = {job.token: job for job in (await other.jobs.view()).jobs}
        there = (await queue.find([token]) or {}).get(token, ())
        return [jobs[token].state, *(job.state for job in there)]

    await eventually_async(states, lambda found: not any(it.active for it in found), every=0.05)


async def test_of_several_jobs_one_that_has_ended_meanwhile_is_told_and_the_others_are_cancelled(
    engine: InProcessEngine, project: OpenProject
) -> None:
    running = await one_runs(engine)
    # pages, filters, one cluster, and the place of a row
    whole = await rows(engine)
    assert sorted(row.first for row in whole) == NAMES
    page = await engine.queue.page(QueueRequest(sort="id", follow=whole[-1].key), 2, 2)
    assert [row.label for row in page.rows] == ["3", "4"]
    assert (page.total, page.jobs, page.all_jobs, page.hidden) == (6, 6, 6, 0)
    assert page.followed == int(whole[-1].label) - 1
    found = await rows(engine, text=f"dir={running.first}")
    assert [row.key for row in found] == [running.key]
    assert await rows(engine, clusters=("elsewhere",)) == ()
    assert len(await rows(engine, folding=False)) == 6  # nothing to unfold

    # details, and jobs by directory and by number
    detail = await engine.queue.detail(running.key, estimate=True)
    assert ("state", "running") in detail.parts[0].fields
    assert "no estimate" in detail.problem
    assert "not in the list" in (await engine.queue.detail(RowKey("x", 1))).problem
    for job in (
        await engine.jobs.find("nap", running.first), await engine.jobs.named(running.label)
    ):  # fmt: skip
        assert job is not None
        assert job.token == running.key.token
    assert await engine.jobs.named("99") is None

    # what this queue does not do is told of each job
    marked = await engine.queue.all_of(QueueRequest(), "active")
    keys = [row.key for row in marked]
    assert len(keys) == 6
    held = await engine.queue.act(keys, "hold")
    assert (held.done, held.refused) == (0, len(held.answers))
    assert held.refused == (await engine.queue.chosen(keys, "hold")).jobs > 0
    assert {answer.error for answer in held.answers} == {"the local queue holds no jobs back"}

    present = await engine.queue.terms(keys)
    assert (present.total, present.jobs) == (6, 0)
    assert present.problem.startswith("jobs on local cannot be changed: cancel them")
    changed = await engine.queue.change(keys, JobTerms(limit=60))
    assert (changed.done, changed.refused) == (0, held.refused)
    assert {answer.error for answer in changed.answers} == {present.problem}

    # cancel all, when one has ended that the list still shows as running
    chosen = await engine.queue.chosen(keys, "cancel")
    assert (chosen.total, chosen.jobs) == (6, 6)
    end(project, running.first)
    await ended(project, running.key.token)
    acted = await engine.queue.act(keys, "cancel")
    assert (acted.done, acted.refused) == (5, 1)
    [answer] = acted.answers
    assert str(answer.job) == running.label
    assert "has ended already" in answer.error
    assert [row.key for row in await engine.queue.marked(keys)] == keys
    over = await eventually_async(
        lambda: rows(engine),
        lambda found: not any(row.state.active for row in found),
        every=0.05,
    )
    states = {row.key: row.state for row in over}
    assert states.pop(running.key) is JobState.COMPLETED
    assert set(states.values()) == {JobState.CANCELLED}
    assert not (await engine.queue.chosen(keys, "cancel")).jobs


async def test_a_row_has_the_run_time_of_an_ended_job_when_its_queue_forgot_the_job(
    engine: InProcessEngine, project: OpenProject
) -> None:
    running = await one_runs(engine)
    assert running.record is not None
    token = running.record.token
    end(project, running.first)
    await ended(project, token)
    # Away at once: the next job, which starts now, writes into it.
    (project.root.parent / "queue").rename(project.root.parent / "forgotten")

    again = OpenProject.open(project.root, cluster="local", environment=project.environment)
    later = InProcessEngine(again)
    await later.refresh()
    [row] = [it for it in await rows(later) if it.record and it.record.token == token]
    await later.close()

    assert not row.state.active
    seconds = seconds_of_job(project.root, token)
    assert seconds is not None
    assert row.elapsed == math.ceil(seconds)


async def test_work_that_is_begun_again_while_its_end_is_noticed_stays_under_way(
    project: OpenProject,
) -> None:
    engine = InProcessEngine(project)
    first, second = asyncio.Event(), asyncio.Event()

    async def ended(event: asyncio.Event) -> None:
        await event.wait()

    waiting = asyncio.create_task(engine._polls.briefly("a look", lambda: ended(first)))
    await asyncio.sleep(0)
    work = engine._polls.under_way["a look"]
    first.set()
    while not work.done():  # noqa: ASYNC110 - who waits for it must not run in between
        await asyncio.sleep(0)
    again = engine._polls.begin("a look", lambda: ended(second))
    assert again is not None
    await waiting
    assert engine._polls.under_way["a look"] is again
    second.set()
    await engine._polls.wait_for([again], 10, "workflow")
    await engine.close()
