"""The large demo in the engine's process: what steers it, and that it outlives its engine."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.demo.process import DemoProcess
from rowtui.core.engine.api.snapshot import ENGINE_BACK, ENGINE_LOST
from rowtui.core.engine.process.start import Demo, EngineOptions, EngineProcess
from rowtui.core.project.views.views import FASTER, INJECT, SLOWER
from rowtui.core.submission.plan.model import JobStep


async def test_a_demo_whose_engine_is_killed_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    options = EngineOptions(str(tmp_path / "boiling"), demo=Demo("large", 2_000))
    started = EngineProcess(options)
    started.opened()
    engine = DemoProcess(started)
    assert engine.state.badge == "DEMO ×60"

    first = await engine.refresh()
    await engine.control(SLOWER)
    assert (await engine.control(SLOWER)).badge == engine.state.badge == "DEMO ×1"
    assert (await engine.control(INJECT, "fail gl")).said == "gl does not answer now."
    assert "fail anvil" in (await engine.control(INJECT, "explode")).said
    with pytest.raises(RowtuiError, match="cannot do that"):
        await engine.control("explode")
    plan = await engine.plans.make(0, [0], None)
    async for _ in engine.plans.submit(plan):
        pass
    async with aclosing(engine.changes()) as news:
        waiting = aiter(news)
        assert "was killed" in (await engine.control(INJECT, "kill-engine")).said
        words = []
        while ENGINE_BACK not in words:
            words.append(await anext(waiting))
    assert any(word.startswith(ENGINE_LOST) and "SIGKILL" in word for word in words)

    after = await engine.refresh()
    assert after.generation >= first.generation
    found = {one.token: one for one in (await engine.jobs.view(now=True)).jobs}
    assert found[plan.jobs[0].token].step is JobStep.ACCEPTED
    assert found[plan.jobs[0].token].job_id
    assert (await engine.control(FASTER)).badge == "DEMO ×10"
    assert (await engine.control(INJECT, "fail gl")).said == "gl answers again."
    await engine.close()
