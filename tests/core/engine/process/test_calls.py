"""Calls and streams over the way there: answers, cancelling, closing early, large ones, secrets."""

from __future__ import annotations

import asyncio
import stat
from contextlib import aclosing
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.engine.process.client import ProcessEngine
from rowtui.core.engine.process.start import EngineProcess
from rowtui.core.project.context.questions import LoginQuestion

from tests.core.engine.process.small_engine import ERRORS, plan_of
from tests.eventually import eventually_async

PATIENCE = 30
Small = tuple[ProcessEngine, EngineProcess]


async def test_an_error_there_is_the_same_error_here_and_ends_nothing(small: Small) -> None:
    engine, started = small
    for name, make in ERRORS.items():
        expected = make()
        kind = RowtuiError if name in ("unpicklable", "defect") else type(expected)
        with pytest.raises(kind) as caught:
            await engine.logs.tail(name, 1)
        assert str(caught.value).splitlines()[0].endswith(str(expected).splitlines()[0])
    assert await engine.refresh() == 0
    # Details are in the log, which nobody else can read.
    assert "Traceback" in started.log.read_text()
    assert stat.S_IMODE(started.log.stat().st_mode) == 0o600


async def test_a_call_that_is_cancelled_here_is_cancelled_there(small: Small, folder: Path) -> None:
    engine, _ = small
    call = asyncio.ensure_future(engine.groups.page(0, (), 0, 1))
    await eventually_async((folder / "waiting").exists)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await eventually_async((folder / "cancelled").exists)
    assert await engine.jobs.hold(["still", "there"]) == ["still", "there"]


async def test_a_stream_gives_only_what_is_asked_for_and_stops_where_it_is_closed(
    small: Small, folder: Path
) -> None:
    engine, _ = small
    steps = engine.plans.submit(plan_of(20))
    for number in (1, 2, 3):
        step = await anext(steps)
        assert (step.done, step.total) == (number, 20)
        # While the screen does something else, nothing more is sent.
        await engine.jobs.hold([])
        assert len((folder / "sent").read_text().split()) == number
    await steps.aclose()
    assert (folder / "given back").exists()  # it is over there as well by now
    assert len((folder / "sent").read_text().split()) == 3

    # Somebody who stops waiting in the middle has closed it, too.
    words = engine.changes()
    assert await anext(words) == "watching"
    waiting = asyncio.ensure_future(anext(words))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert [word async for word in words] == []
    # And one that comes to its end, ends.
    assert [step.done async for step in engine.plans.submit(plan_of(5))] == [1, 2, 3, 4, 5]


async def test_a_large_plan_comes_whole_while_the_loop_goes_on_and_is_named_afterwards(
    small: Small,
) -> None:
    engine, _ = small
    turns = 0

    async def beat() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    beating = asyncio.ensure_future(beat())
    async with asyncio.timeout(50):
        plan = await engine.plans.make(3_000, None, None)
    beating.cancel()
    assert plan == plan_of(3_000, "#" * 3000)
    # 9 MB came in pieces of 64 kB, and the loop had its turn between them.
    assert turns > 100
    # The engine gets back the one that it made; another one is sent whole.
    assert await engine.plans.transfers(plan) == (True, 3_000)
    assert await engine.plans.transfers(plan_of(3_000, "#" * 3000)) == (False, 3_000)
    # It remembers a few: one that it forgot is sent whole as well.
    others = [await engine.plans.make(jobs, None, None) for jobs in range(1, 9)]
    assert await engine.plans.transfers(plan) == (False, 3_000)
    assert await engine.plans.transfers(others[-1]) == (True, 8)


async def test_an_answer_reaches_the_login_and_no_log(small: Small, folder: Path) -> None:
    engine, started = small
    async with aclosing(engine.clusters.questions()) as news:
        question = await anext(news)
        assert isinstance(question, LoginQuestion)
        engine.clusters.answer(question.number + 5_000_000, ["of another life"])
        engine.clusters.answer(question.number, ["hunter2"])
        await eventually_async(lambda: (folder / "answers").exists())
    assert (folder / "answers").read_text() == "hunter2\n"
    log = started.log.read_text()
    assert "the answer is" in log
    assert "hunter2" not in log


async def test_closing_is_over_when_the_process_is(folder: Path, small: Small) -> None:
    engine, started = small
    words = engine.changes()
    await anext(words)
    listening = asyncio.ensure_future(anext(words, "over"))
    await engine.close()
    assert started.process.returncode == 0
    assert (folder / "closed").read_text() == "\n"  # once
    async with asyncio.timeout(PATIENCE):
        assert await listening == "over"
    with pytest.raises(RowtuiError, match="the engine was closed"):
        await engine.refresh()
