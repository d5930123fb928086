"""A hand on the keyboard and an eye on the screen: for tests of the dashboard, and its pictures.

Nobody sees what a test draws, so nothing is drawn but what it looks at; and what it waits for is
that the app has nothing left to do, or that something is to be drawn anew.
"""

from __future__ import annotations

import asyncio
import time
import unicodedata
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Generic, TypeVar

from rowtui.core.engine.engine import Engine
from rowtui.tui.shell.app import RowtuiApp
from rowtui.tui.views.dialogs import AT_ONCE
from textual import events
from textual._compositor import Compositor
from textual._context import visible_screen_stack
from textual.app import App
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widgets._toast import Toast

from tests.tui.sample import SampleEngine

Anything = TypeVar("Anything", bound=Engine)

PATIENCE = 30.0
"""Seconds before a test gives up; nothing takes more than one."""

TURN = 0.02
"""Seconds that the app has for itself between two looks at the screen."""

TOAST_TURNS = 8
"""Turns without anything to draw after which a message that may hide a text is taken away.

They are counted rather than timed: a machine that stands still for a second gives the app no turn
in it, and a message that was not drawn yet would be taken away before anybody saw it.
"""

REST_TURNS = 3
"""Turns without anything to draw after which a screen is at rest: longer than any pause in it."""


class Eye:
    """Told by the app whenever something is to be drawn anew."""

    def __init__(self) -> None:
        self.woken = asyncio.Event()
        self.seen: tuple[object, str] | None = None  # as long as nothing is to be drawn anew


@contextmanager
def nothing_drawn(eye: Eye) -> Iterator[None]:
    """Only note that something would be drawn: `screen_text` draws it when somebody looks."""
    really = Compositor.render_update

    def note(compositor: Compositor, full: bool = False, **options: Any) -> object:
        if full:  # somebody wants a picture
            return really(compositor, full, **options)
        if compositor._dirty_regions:
            compositor._dirty_regions.clear()
            eye.seen = None
            eye.woken.set()
        return None

    Compositor.render_update = note  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        Compositor.render_update = really  # type: ignore[method-assign]


def screen_text(app: App[Any]) -> str:
    """What is on the screen, as text. The one place that knows how Textual keeps it."""
    return "\n".join("".join(part.text for part in strip).rstrip() for strip in _strips(app)) + "\n"


def _strips(app: App[Any]) -> list[Strip]:
    visible_screen_stack.set(app._background_screens)
    return app.screen._compositor.render_strips()


def screen_colours(app: App[Any]) -> str:
    """The colours on the screen: for each line, runs of `text colour/background` and their text."""
    lines = []
    for strip in _strips(app):
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


def key_event(key: str) -> events.Key:
    """What a terminal would send for a key by its name, `enter`, or for a character."""
    if len(key) == 1:
        return events.Key(key if key.isalnum() else _character_to_key(key), key)
    try:
        return events.Key(key, unicodedata.lookup(key.replace("_", " ").upper()))
    except KeyError:
        return events.Key(key, None)


class Hand(Generic[Anything]):
    """Presses keys and waits for what should come."""

    def __init__(self, app: RowtuiApp, pilot: Pilot[Any], engine: Anything, eye: Eye) -> None:
        self.app = app
        self.pilot = pilot
        self.engine = engine
        self._eye = eye

    async def press(self, *keys: str) -> None:
        for at, key in enumerate(keys):
            if at and keys[at : at + 3] == ("y", "e", "s"):  # to a question that may be on its way
                await self.until(lambda: self.app.screen.is_modal, "a question")
            # a person who has read the question
            await self._press(key, AT_ONCE if key == "enter" else 0.0)

    async def types(self, text: str) -> None:
        """Type a text letter by letter, without looking at the screen, 10 ms after one another.

        These are the times of the keys, however long the app takes for them on a busy machine.
        """
        began = time.monotonic()
        for at, letter in enumerate(text):
            key = {"\n": "enter", " ": "space"}.get(letter, letter)
            await self._press(key, began + at / 100 - time.monotonic())

    async def _press(self, key: str, later: float) -> None:
        await self._settle()
        event = key_event(key)
        event.time += later
        event.set_sender(self.app)
        assert self.app._driver is not None
        self.app._driver.send_message(event)
        await self._settle()

    async def _settle(self) -> None:
        """Until nothing is left to do but to wait for time, threads or other processes."""
        loop = asyncio.get_running_loop()
        for _ in range(2):
            for _ in range(10_000):
                await asyncio.sleep(0)
                if not loop._ready:  # type: ignore[attr-defined]
                    break
            if self.app.is_running:
                # It would be their turn within 16 ms. Those behind a dialog would draw it for ever.
                for screen in self.app._background_screens:
                    if screen._layout_required or screen._dirty_widgets or screen._callbacks:
                        screen._on_timer_update()
                self.app.screen._on_timer_update()

    def text(self) -> str:
        seen = self._eye.seen
        if seen is None or seen[0] is not self.app.screen or self.app._batch_count:
            seen = self._eye.seen = (self.app.screen, screen_text(self.app))
        return seen[1]

    async def until(self, true: Callable[[], object], what: str = "") -> None:
        late = time.monotonic() + PATIENCE
        quiet = 0
        while time.monotonic() < late:
            self._eye.woken.clear()
            await self._settle()
            if true():
                return
            if quiet >= TOAST_TURNS and any(
                screen.query(Toast) for screen in self.app.screen_stack
            ):
                self._clear_messages()
            quiet = 0 if await self._drew() else quiet + 1
        raise AssertionError(f"never came: {what}\n{self.text()}")

    async def _drew(self) -> bool:
        """Give the app one turn; whether it drew something in it."""
        try:
            async with asyncio.timeout(TURN):
                await self._eye.woken.wait()
        except TimeoutError:
            return False
        return True

    def _clear_messages(self) -> None:
        """Take all messages away, which would go by themselves after some seconds."""
        self.app.clear_notifications()
        for screen in self.app.screen_stack[:-1]:
            for toast in screen.query(Toast):
                toast.remove()

    async def sees(self, *texts: str) -> None:
        for text in texts:
            await self.until(lambda wanted=text: wanted in self.text(), repr(text))

    async def sees_no(self, text: str) -> None:
        await self.until(lambda: text not in self.text(), f"no {text!r}")

    async def rests(self) -> None:
        """Nothing changes on the screen any more."""
        quiet = 0
        while quiet < REST_TURNS:
            self._eye.woken.clear()
            await self._settle()
            quiet = 0 if await self._drew() else quiet + 1


@asynccontextmanager
async def opened(
    engine: SampleEngine | None = None, size: tuple[int, int] = (120, 36), **options: Any
) -> AsyncIterator[Hand[SampleEngine]]:
    """The dashboard on the sample project, as far as its first status."""
    engine = engine or SampleEngine()
    app = RowtuiApp(engine, clock=lambda: engine.now, **options)
    async with hand_on(app, engine, size) as hand:
        yield hand


@asynccontextmanager
async def hand_on(
    app: RowtuiApp, engine: Anything, size: tuple[int, int] = (120, 36)
) -> AsyncIterator[Hand[Anything]]:
    """A hand on a dashboard that runs without a terminal."""
    eye = Eye()
    with nothing_drawn(eye):
        async with app.run_test(size=size, notifications=True) as pilot:
            yield Hand(app, pilot, engine, eye)
