"""Work that waits, outside the handlers: it ends by itself or with the screen.

`NewestAnswer` serves requests that are repeated at every key: one runs at a time, an answer that is
no longer needed is dropped, and a request that was replaced before its turn is never sent.
`UpdatePace` limits how often a screen shows the progress of work.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from textual.dom import DOMNode

if TYPE_CHECKING:
    from textual.app import App


Question = TypeVar("Question")
Answer = TypeVar("Answer")


class NewestAnswer(Generic[Question, Answer]):
    """A runner of requests: `fetch` answers one; `arrived` or `failed` gets the newest one."""

    def __init__(
        self,
        fetch: Callable[[Question], Awaitable[Answer]],
        *,
        spawn: Callable[[Callable[[], Coroutine[Any, Any, None]]], object],
        arrived: Callable[[Question, Answer], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._fetch = fetch
        self._spawn = spawn
        self._arrived = arrived
        self._failed = failed
        self._waiting: list[Question] = []  # The newest request that was not sent yet, if any.
        self._running = False

    def ask(self, question: Question) -> None:
        """Send this request once the one before is answered; drop other requests that wait."""
        self._waiting = [question]
        if not self._running:
            self._running = True
            self._spawn(self._run)

    async def _run(self) -> None:
        try:
            while self._waiting:
                question = self._waiting.pop()
                try:
                    answer = await self._fetch(question)
                except Exception as error:
                    if not self._waiting:
                        self._failed(error)
                    continue
                if not self._waiting:
                    self._arrived(question, answer)
                del answer  # The answer may be large, and the next one is about to arrive.
        finally:
            self._running = False


Work = Callable[[], Coroutine[Any, Any, object]]


def start(node: DOMNode, work: Work, group: str, *, exclusive: bool = False) -> None:
    """Run `work` as a worker of `node`. With `exclusive`, older work of the group is cancelled.

    The work must report the errors that users can cause; an error that escapes is a defect of
    rowtui.
    """
    node.run_worker(
        cast(Any, work),
        group=group,
        description=group,  # Otherwise Textual writes out all arguments, for example a plan.
        exclusive=exclusive,
        exit_on_error=True,
    )


SHOW_SECONDS = 0.1
"""Seconds between two updates of something that changes continuously: an eye sees no more."""


BREATH_SECONDS = 0.008
"""Seconds after which other tasks get a turn: half of the delay that a key may have."""


class UpdatePace:
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
