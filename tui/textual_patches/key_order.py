"""Process keys one after the other: the next key waits until the effects of the last one are done.

This module takes keys and pasted texts as they come from the terminal, and passes each to the
widget that has the focus at that time. Textual passes all keys of a burst to the widget that has
the focus now, and reports moved cursors and a changed focus by messages, which later keys overtake:
over a slow line, `j s` would submit the row above, and text typed after Tab would go into the field
before.
"""

from __future__ import annotations

import asyncio
from collections import deque

from textual import events
from textual.app import App
from textual.message import Message
from textual.widget import Widget

LOOK = 0.05
"""Seconds between two checks whether the widget that has the key still exists."""

ROUNDS = 2
"""Trips from the widget to the app: in the first the key is handled, in the second its messages."""


class KeyDone(Message, bubble=True):
    """A message that follows a key on the same way."""

    def __init__(self, number: int, rounds: int) -> None:
        super().__init__()
        self.number = number
        self.rounds = rounds


class KeysInOrder(App[int]):
    """An app that handles keys in order, also when the user types ahead."""

    def __init__(self) -> None:
        super().__init__()
        self._typed: deque[events.Event] = deque()
        self._number = 0  # The number of the key that is being handled.
        self._late: asyncio.TimerHandle | None = None  # None if no key is being handled.
        self._asked: Widget | None = None

    async def on_event(self, event: events.Event) -> None:
        """Queue a key until the keys before it are handled."""
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await super().on_event(event)
            return
        self._typed.append(event)
        if self._late is None:
            await self._take()

    async def _take(self) -> None:
        self._number += 1
        self._look()
        await super().on_event(self._typed.popleft())
        self._follow(self._number, ROUNDS)

    def _follow(self, number: int, rounds: int) -> None:
        self._asked = (self.focused or self.screen) if self.screen_stack else None
        if self._asked is None or not self._asked.post_message(KeyDone(number, rounds)):
            self.call_later(self._done, number)

    def _look(self) -> None:
        """Check the widget: a removed one, for example of a closed page, drops its messages."""
        if self._asked is not None and not self._asked.is_attached:
            self.call_later(self._done, self._number)
        self._late = asyncio.get_running_loop().call_later(LOOK, self._look)

    async def on_key_done(self, message: KeyDone) -> None:
        """Count one trip of the message; after the last trip, the key is handled."""
        message.stop()
        if message.rounds > 1:
            self._follow(message.number, message.rounds - 1)
        else:
            await self._done(message.number)

    async def _done(self, number: int) -> None:
        if number != self._number or self._late is None:
            return
        self._late.cancel()
        self._late = self._asked = None
        if self._typed:
            await self._take()
