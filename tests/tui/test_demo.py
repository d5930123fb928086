"""The large demo, from its first screen to a confirmed submission."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.demo.engine import DemoEngine, made_demo
from rowtui.core.engine.engine import Engine
from rowtui.tui.shell.app import RowtuiApp
from rowtui.tui.shell.played import TOUR, first_step
from rowtui.tui.shell.session import Session
from rowtui.tui.widgets.cells import plain

from tests.tui.hand import Hand, hand_on
from tests.tui.sample import SampleEngine


def demo_engine(root: Path, seed: int, jobs: int) -> DemoEngine:
    """The large demo in this process."""
    return DemoEngine(made_demo(root, 2_000, seed, jobs))


@pytest.fixture
async def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[DemoEngine]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = await asyncio.to_thread(demo_engine, tmp_path / "boiling", 1, 1)
    yield made
    await made.close()


@asynccontextmanager
async def shown(
    engine: Any, size: tuple[int, int] = (120, 36), **options: Any
) -> AsyncIterator[Hand[Any]]:
    app = RowtuiApp(cast(Engine, engine), **options)
    async with hand_on(app, engine, size) as hand:
        yield hand


async def test_the_last_step_of_a_study_that_is_complete_waits_for_no_job() -> None:
    session = Session(SampleEngine())
    session.snapshot = snapshot = await session.engine.refresh()
    session.has_submitted = True
    session.seen |= {"groups", "explain", "pack"}
    assert "Next: 6 watch your jobs" in plain(first_step(session, "status"))
    actions = [
        replace(one, completed=one.total, submitted=0, eligible=0, waiting=0, failed=0)
        for one in snapshot.actions
    ]
    session.snapshot = replace(snapshot, actions=tuple(actions))
    assert plain(first_step(session, "status")).startswith(" Next: Tab what can be done next   6 ")


async def test_the_first_steps_lead_through_every_view_to_an_end() -> None:
    session = Session(SampleEngine())
    session.snapshot = await session.engine.refresh()
    session.has_submitted = True
    session.seen.add(view := "status")
    keys = {key: name for name, key, _ in TOUR}
    seen = []
    while "every view" not in (text := plain(first_step(session, view))):
        key = text.removeprefix(" Next: ").split()[0]
        view = "log" if (view, key) == ("queue", "Enter") else keys[key]
        session.seen.add(view)
        seen.append(view)
        if view == "groups":
            view = "status"  # what is marked there is submitted
    assert seen == ["groups", "explain", "pack", "queue", "log", "past", "clusters"]
    assert "q leave; then try `rowtui init`" in text


async def test_the_first_steps_lead_a_stranger_to_a_submission(demo: DemoEngine) -> None:
    async with shown(demo, (80, 24), played=demo) as hand:
        await hand.sees("DEMO ×60", "all 5 actions", "Next: ↑ ↓ choose an action   Enter")
        await hand.press("enter")
        await hand.sees("Next: space mark a group", " groups · ")  # and the groups are there
        await hand.press("space")
        await hand.sees("Next: s submit the marked groups")
        await hand.press("s")
        await hand.sees(
            "Script · equilibrate", "s asks for “yes”", "s send the jobs; a dialog asks first"
        )
        await hand.press("s", "y", "e", "s", "enter")
        await hand.sees("1 of 1 job", "Next: 6 watch your jobs")
        await hand.press("6")
        await hand.sees("Next: Enter the log", "anvil")

        # the steps go on from there, also back at the actions
        await hand.press("1")
        await hand.sees("Next: 3 why a job goes where it goes   Enter see more eligible")

        await hand.press("greater_than_sign")
        await hand.sees("DEMO ×300")
        await hand.press("I")
        await hand.sees_no("Next:")
        await type_line(hand, "demo explode")
        await hand.sees("there is no fault 'explode' (fail anvil")
        await hand.press("escape")
        await type_line(hand, "demo fail anvil")
        await hand.sees("anvil does not answer now.")


async def type_line(hand: Hand[Any], text: str) -> None:
    await hand.press(":", *("space" if it == " " else it for it in text), "enter")


async def test_the_same_seed_makes_the_same_demo(tmp_path: Path) -> None:
    states = []
    for name in ("one", "other"):
        engine = await asyncio.to_thread(demo_engine, tmp_path / name, 7, 2)
        state = engine._demo.state
        states.append((state.completed, {a: sorted(s) for a, s in state.submitted.items()}))
        await engine.close()
    assert states[0] == states[1]
    with pytest.raises(RowtuiError, match="is not empty"):
        await asyncio.to_thread(demo_engine, tmp_path / "one", 7, 2)
