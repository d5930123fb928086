"""Showing what changes fast no faster than anybody reads, without holding up the keyboard."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.app import App

SHOW_SECONDS = 0.1
"""Between two pictures of something that goes on: an eye sees no more."""

BREATH_SECONDS = 0.008
"""After so long others have a turn: half of what a key may wait."""


class Pace:
    """Over one piece of work: `show` is called now and then while it goes on."""

    def __init__(self, app: App[int], show: Callable[[], None]) -> None:
        self._app = app
        self._show = show
        self._shown = 0.0
        self._asked = False
        self._turn = time.monotonic()

    def soon(self) -> None:
        """Something changed: show it at once, or when it is time again."""
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
        """Let others have a turn, where none of what is worked on really waits."""
        if time.monotonic() - self._turn > BREATH_SECONDS:
            await asyncio.sleep(0)
            self._turn = time.monotonic()
