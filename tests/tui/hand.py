"""A hand on the keyboard and an eye on the screen: for tests of the dashboard, and its pictures."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Generic, TypeVar

from rowtui.core.engine import Engine
from rowtui.tui.app import RowtuiApp
from textual.app import App
from textual.pilot import Pilot

from tests.tui.sample import SampleEngine

Anything = TypeVar("Anything", bound=Engine)

PATIENCE = 400
"""Looks at the screen before a test gives up; each lets the app work."""


def screen_text(app: App[Any]) -> str:
    """What is on the screen, as text. The one place that knows how Textual keeps it."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(part.text for part in strip).rstrip() for strip in strips) + "\n"


def screen_colours(app: App[Any]) -> str:
    """The colours on the screen: for each line, runs of `text colour/background` and their text."""
    lines = []
    for strip in app.screen._compositor.render_strips():
        runs: list[tuple[str, str]] = []
        for part in strip:
            style = part.style
            look = f"{style.color.name if style and style.color else '-'}"
            look += f"/{style.bgcolor.name if style and style.bgcolor else '-'}"
            look += " bold" if style and style.bold else ""
            if runs and runs[-1][0] == look:
                runs[-1] = (look, runs[-1][1] + part.text)
            else:
                runs.append((look, part.text))
        lines.append("  ".join(f"[{look}]{text.strip()}" for look, text in runs if text.strip()))
    return "\n".join(lines) + "\n"


class Hand(Generic[Anything]):
    """Presses keys and waits for what should come."""

    def __init__(self, app: RowtuiApp, pilot: Pilot[Any], engine: Anything) -> None:
        self.app = app
        self.pilot = pilot
        self.engine = engine

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.pilot.press(key)
            await self.pilot.pause()

    def text(self) -> str:
        return screen_text(self.app)

    async def until(self, true: Callable[[], object], what: str = "") -> None:
        for _ in range(PATIENCE):
            await self.pilot.pause()
            if true():
                return
            await self.pilot.pause(0.01)
        raise AssertionError(f"never came: {what}\n{self.text()}")

    async def sees(self, *texts: str) -> None:
        for text in texts:
            await self.until(lambda wanted=text: wanted in self.text(), repr(text))

    async def sees_no(self, text: str) -> None:
        await self.until(lambda: text not in self.text(), f"no {text!r}")

    async def rests(self) -> None:
        """Nothing changes on the screen any more."""
        before = ""
        same = 0
        for _ in range(PATIENCE):
            await self.pilot.pause(0.01)
            now = self.text()
            same = same + 1 if now == before else 0
            before = now
            if same == 6:
                return
        raise AssertionError("the screen never came to rest")


@asynccontextmanager
async def opened(
    engine: SampleEngine | None = None, size: tuple[int, int] = (120, 36), **options: Any
) -> AsyncIterator[Hand[SampleEngine]]:
    """The dashboard on the sample project, as far as its first status."""
    engine = engine or SampleEngine()
    app = RowtuiApp(engine, clock=lambda: engine.now, **options)
    async with app.run_test(size=size, notifications=True) as pilot:
        yield Hand(app, pilot, engine)
