"""Pictures of the large demo: the real engine on its simulated clusters, at a time that stands."""

from __future__ import annotations

import inspect
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

from rowtui.core.demo.engine import DemoEngine, made_demo
from rowtui.core.demo.simulation import played_state
from rowtui.core.project.views.views import PlayedState

from tests.tui.hand import Hand
from tests.tui.sample import SampleEngine

NOW = 1_795_000_000.0
DIRECTORIES, JOBS = 100_000, 30
SEED = 4

_really = time.time
_stands = False


def _clock() -> float:
    return NOW if _stands else _really()


def _let_all_ask_us() -> None:
    """Who asks `time.time` because nobody told it of another clock asks `_clock` from now on."""
    for name, module in list(sys.modules.items()):
        if not name.startswith("rowtui.core"):
            continue
        for one in list(vars(module).values()):
            members = vars(one).values() if inspect.isclass(one) else (one,)
            for function in filter(inspect.isfunction, members):
                if function.__defaults__:
                    function.__defaults__ = tuple(map(_ours, function.__defaults__))
                for key, value in (function.__kwdefaults__ or {}).items():
                    function.__kwdefaults__[key] = _ours(value)


def _ours(default: Any) -> Any:
    return _clock if default is _really else default


class StillDemo(DemoEngine):
    """The demo at one moment. Every cluster answers at once, as far as it answers."""

    now = NOW

    def __init__(self) -> None:
        global _stands  # noqa: PLW0603
        self._folder = Path(tempfile.mkdtemp(prefix="rowtui-picture-"))
        self._patches = [
            patch.dict("os.environ", {"XDG_CACHE_HOME": str(self._folder / "cache")}),
            patch("time.time", _clock),
        ]
        for one in self._patches:
            one.start()
        _let_all_ask_us()
        _stands = True
        with ThreadPoolExecutor(1) as apart:  # it has an event loop of its own
            made = apart.submit(
                made_demo, self._folder / "boiling", DIRECTORIES, SEED, JOBS,
                clock=_clock, steady=lambda: 0.0,
            )  # fmt: skip
            project = made.result()
        super().__init__(project, moving=False)
        for there in project.simulation.clusters.values():
            there.slow = 0.0

    async def close(self) -> None:
        global _stands  # noqa: PLW0603
        await super().close()
        _stands = False
        for one in self._patches:
            one.stop()
        shutil.rmtree(self._folder)


def still_demo() -> SampleEngine:
    """As an engine for a scene."""
    return cast(SampleEngine, StillDemo())


class Badge:
    """What the header says of it."""

    stranger = True
    state = played_state(("anvil", "delta", "frontier", "gl"), 60)

    async def control(self, word: str, argument: str = "") -> PlayedState:
        return self.state


@asynccontextmanager
async def closing(engine: SampleEngine) -> AsyncIterator[SampleEngine]:
    """Close an engine in the end."""
    try:
        yield engine
    finally:
        await engine.close()


async def status(hand: Hand[SampleEngine]) -> None:
    """All that it knows is there."""
    await hand.sees("gl asks for a login", "an hour, in the last", "gl ▲")
    await hand.rests()


async def submit(hand: Hand[SampleEngine]) -> None:
    """All eligible groups of the first action: more than the budget has."""
    await hand.press("s")
    await hand.sees("over budget by")
    await hand.rests()


async def queue(hand: Hand[SampleEngine]) -> None:
    """Jobs in every state; what one waits for that has waited for days."""
    await hand.press("escape", "6")
    await hand.sees("needs login", "running", "123 jobs")
    for _ in range(3):
        await hand.rests()
        await hand.press("pagedown")
    await hand.sees("pending", "Job ")
    await hand.rests()


VIEWS = {"status": None, "submit": submit, "queue": queue}
"""The pictures, and what is done before each of them."""
