"""Process keys one after the other: the next key waits until the effects of the last one are done.

This module takes keys and pasted texts as they come from the terminal, and passes each to the
widget that has the focus at that time. Textual passes all keys of a burst to the widget that has
the focus now, and reports moved cursors and a changed focus by messages, which later keys overtake:
over a slow line, `j s` would submit the row above, and text typed after Tab would go into the field
before.

A text that arrives at once is a paste, also from a terminal that does not mark pastes: it goes into
the field that is open, and is dropped as a whole where no field is open. Both mend defects, which
`tests/tui/textual_patches/test_key_order.py` and `tests/tui/test_keys_here.py` show.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import groupby

from textual import events
from textual.app import App
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

LOOK = 0.05
"""Seconds between two checks whether the widget that has the key still exists."""

ROUNDS = 2
"""Trips from the widget to the app: in the first the key is handled, in the second its messages."""

BURST = 5
"""Printable keys in one read that are a text: nobody types so fast.

The same key again and again is held down, over a slow line.
"""

MOST_KEYS_READ = 100
"""Keys in one read, from which on they are a text, whatever they are."""


class Burst(events.Paste):
    """A text that arrived at once: pieces of text, and the control keys between them."""

    def __init__(self, keys: Iterable[events.Key]) -> None:
        super().__init__("")
        self.parts: deque[events.Key | events.Paste] = deque()
        for printable, some in groupby(keys, lambda key: key.is_printable):
            run = list(some)
            text = "".join(key.character or "" for key in run)
            self.parts += [events.Paste(text)] if printable else run


def with_bursts(messages: list[Message]) -> Iterator[Message]:
    """Yield the messages of one read; if they contain a text, all their keys as one `Burst`."""
    keys = [one for one in messages if isinstance(one, events.Key)]
    printable = [one.key for one in keys if one.is_printable]
    is_text = len(printable) >= BURST and len(set(printable)) > 1
    if not is_text and sum(one.character is not None for one in keys) <= MOST_KEYS_READ:
        yield from messages
        return
    yield Burst(keys)
    yield from (one for one in messages if not isinstance(one, events.Key))


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
        self._typed: deque[events.Key | events.Paste] = deque()
        self._number = 0  # The number of the key that is being handled.
        self._late: asyncio.TimerHandle | None = None  # None if no key is being handled.
        self._asked: Widget | None = None

    @property
    def keys_waiting(self) -> int:
        """The number of keys and pastes that wait until those before them are handled."""
        return len(self._typed)

    def pasted_nowhere(self, event: events.Paste) -> None:
        """Report that a text was dropped, since no field is open."""

    async def on_event(self, event: events.Event) -> None:
        """Queue a key until the keys before it are handled."""
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await super().on_event(event)
            return
        self._typed.append(event)
        if self._late is None:
            await self._take()

    async def _take(self) -> None:
        """Handle the next key; drop pastes without a field, and all keys once the app ends."""
        while self._typed:
            event = self._typed.popleft()
            if self._exit:
                continue
            if isinstance(event, events.Paste) and not self._field_is_open:
                self.pasted_nowhere(event)
                continue
            if isinstance(event, Burst):
                burst, event = event, event.parts.popleft()
                if burst.parts:
                    self._typed.appendleft(burst)
            self._number += 1
            self._look()
            await super().on_event(event)
            self._follow(self._number, ROUNDS)
            return

    @property
    def _field_is_open(self) -> bool:
        return bool(self.screen_stack) and isinstance(self.focused, Input)

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
        await self._take()
