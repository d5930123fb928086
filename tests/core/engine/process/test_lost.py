"""The engine's process is killed in the middle of things: what is told, and what comes back."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import TypeVar

import pytest
from rowtui.core.engine.api.snapshot import ENGINE_BACK, ENGINE_LOST
from rowtui.core.engine.process import supervision
from rowtui.core.engine.process.client import AFTER_A_LOSS, ProcessEngine
from rowtui.core.engine.process.errors import EngineLost
from rowtui.core.engine.process.start import EngineOptions, EngineProcess
from rowtui.core.groups.model import Status
from rowtui.core.project.context.questions import LoginQuestion, Withdrawn
from rowtui.core.submission.plan.model import JobStep

from tests.core.engine.process.conftest import make_project
from tests.core.engine.process.test_calls import Small
from tests.eventually import eventually_async

Answer = TypeVar("Answer")


def kill(engine: ProcessEngine) -> None:
    os.kill(engine._started.process.pid, signal.SIGKILL)


async def after_restart(
    ask: Callable[[], Awaitable[Answer]], losses: list[str] | None = None
) -> Answer:
    """The first answer of the engine after it was started again. `losses`: the errors before."""
    answers: list[Answer] = []

    async def answered() -> list[Answer]:
        try:
            answers.append(await ask())
        except EngineLost as lost:
            if losses is not None:
                losses.append(lost.message)
        return answers

    return (await eventually_async(answered))[0]


async def test_whoever_waits_is_told_and_the_next_one_is_answered(
    small: Small, folder: Path
) -> None:
    engine, started = small
    # given a page under way and somebody who listens
    page = asyncio.ensure_future(engine.groups.page(0, (), 0, 1))
    await eventually_async((folder / "waiting").exists)
    words = engine.changes()
    assert await anext(words) == "watching"
    # when the process is killed
    kill(engine)
    # then the page says what happened, and where the log is,
    with pytest.raises(EngineLost) as caught:
        await page
    assert caught.value.message == "the engine ended unexpectedly (ended by SIGKILL)"
    assert str(started.log) in caught.value.hint
    # who listens hears of it, and then what is listened for goes on;
    lost = await anext(words)
    assert lost == f"{ENGINE_LOST}: {caught.value}"
    assert [await anext(words), await anext(words)] == [ENGINE_BACK, "watching"]
    # and what is asked next is answered by a new process.
    assert await engine.jobs.hold(["here"]) == ["here"]
    assert engine._started.process.pid != started.process.pid
    await words.aclose()


async def test_one_that_is_asked_while_it_starts_waits_and_a_defect_that_stays_is_told(
    small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, _ = small
    monkeypatch.setattr(supervision, "PAUSES", (0.0, 0.05, 600.0))
    for _ in range(2):
        with pytest.raises(EngineLost):
            await engine.jobs.view()  # ends its process
        assert await after_restart(lambda: engine.jobs.hold([])) == []
    # After the third time nobody is kept waiting for ten minutes,
    with pytest.raises(EngineLost):
        await engine.jobs.view()
    with pytest.raises(EngineLost, match="again and again"):
        await engine.jobs.hold([])
    # nor does closing.
    await engine.close()


async def test_questions_of_a_lost_login_are_withdrawn_and_asked_anew(
    small: Small, folder: Path
) -> None:
    engine, _ = small
    async with aclosing(engine.clusters.questions()) as news:
        old = await anext(news)
        kill(engine)
        assert await anext(news) == Withdrawn(old.number)
        new = await anext(news)
        assert isinstance(new, LoginQuestion)
        assert new.number != old.number
        engine.clusters.answer(old.number, ["too late"])
        engine.clusters.answer(new.number, ["in time"])
        await eventually_async(lambda: (folder / "answers").exists())
    assert (folder / "answers").read_text() == "in time\n"


async def test_a_plan_of_a_lost_engine_is_sent_whole(small: Small) -> None:
    engine, _ = small
    plan = await engine.plans.make(3, None, None)
    kill(engine)
    assert await after_restart(lambda: engine.plans.transfers(plan)) == (False, 3)


async def test_a_submission_that_was_cut_off_is_told_and_stands_in_the_journal(home: Path) -> None:
    # given a plan of three jobs on a real project
    root = make_project(home / "project")
    started = EngineProcess(EngineOptions(str(root), "local"))
    started.opened()
    engine = ProcessEngine(started)
    try:
        before = await engine.refresh()
        plan = await engine.plans.make(0, None, None)
        assert len(plan.jobs) == 3
        # when the engine is killed after the first job has its answer
        losses: list[str] = []

        async def submit() -> None:
            async for step in engine.plans.submit(plan):
                if step.done == 1:
                    kill(engine)

        with pytest.raises(EngineLost) as caught:
            await submit()
        assert caught.value.hint == AFTER_A_LOSS
        # then a new one goes on counting, and knows the job from the journal;
        after = await after_restart(engine.refresh, losses)
        assert not any("again" in message for message in losses)
        assert after.generation > before.generation
        jobs = (await engine.jobs.view()).jobs
        first = next(one for one in jobs if one.token == plan.jobs[0].token)
        assert first.step in (JobStep.ACCEPTED, JobStep.ENDED)
        # nothing is sent by itself,
        sent = {one.token for one in jobs if one.job_id}
        assert plan.jobs[2].token not in sent
        # and what was not sent can be planned again.
        again = await engine.plans.make(0, None, None)
        assert {name for job in again.jobs for name in job.directories} >= {"d0", "d1"}
        assert not {name for job in again.jobs for name in job.directories} & set(
            plan.jobs[0].directories
        )
        page = await engine.groups.page(0, (Status.ELIGIBLE,), 0, 10)
        assert page.generation >= after.generation
    finally:
        await engine.close()


async def test_a_project_that_cannot_be_opened_any_more_is_told_so(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "PAUSES", (0.0, 600.0))
    root = make_project(home / "project")
    started = EngineProcess(EngineOptions(str(root), "local"))
    started.opened()
    engine = ProcessEngine(started)
    await engine.refresh()
    words = engine.changes()
    await anext(words)
    (root / "workflow.toml").unlink()
    kill(engine)
    while not (await anext(words)).startswith(ENGINE_LOST):
        pass
    with pytest.raises(EngineLost, match=r"cannot be started again: .*workflow\.toml"):
        await engine.refresh()
    await words.aclose()
    await engine.close()
