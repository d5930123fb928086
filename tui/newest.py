"""Questions that come faster than answers: one is asked at a time, and only the newest counts.

For what is asked again at every key: an answer that is no longer wanted is dropped, and what was
asked in between is never asked at all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Generic, TypeVar

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class NewestAnswer(Generic[Question, Answer]):
    """`fetch` answers a question; `arrived` and `failed` are told how the newest one went."""

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
        self._waiting: list[Question] = []  # the newest that was not asked yet, if any
        self._running = False

    def ask(self, question: Question) -> None:
        """Ask this as soon as the question before it is answered; forget others that wait."""
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
                del answer  # it may be large, and the next one is on its way
        finally:
            self._running = False
