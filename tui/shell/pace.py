"""Limit how often fast changes are shown, without delaying the keyboard."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.app import App

SHOW_SECONDS = 0.1
"""Seconds between two updates of something that changes continuously: an eye sees no more."""

BREATH_SECONDS = 0.008
"""Seconds after which other tasks get a turn: half of the delay that a key may have."""


class Pace:
    """Limits the updates of one piece of work: `show` is called at intervals during the work."""

    def __init__(self, app: App[int], show: Callable[[], None]) -> None:
        self._app = app
        self._show = show
        self._shown = 0.0
        self._asked = False
        self._turn = time.monotonic()

    def soon(self) -> None:
        """Show a change at once, or after the interval."""
        wait = self._shown + SHOW_SECONDS - time.monotonic()
        if wait <= 0:
            self._now()
        elif not self._asked:
            self._asked = True
            self._app.set_timer(wait, self._later)

    def _later(self) -> None:
        self._asked = False
        self._now()

    def _now(self) -> None:
        self._shown = time.monotonic()
        self._show()

    async def breathe(self) -> None:
        """Give other tasks a turn, in a loop without any operation that waits."""
        if time.monotonic() - self._turn > BREATH_SECONDS:
            await asyncio.sleep(0)
            self._turn = time.monotonic()
