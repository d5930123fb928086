"""Only the newest question counts, and no two are asked at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from rowtui.tui.shell.work import NewestAnswer


class Oracle:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.replies: list[asyncio.Future[str]] = []
        self.told: list[object] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.answers: NewestAnswer[int, str] = NewestAnswer(
            self.fetch,
            spawn=self.spawn,
            arrived=lambda question, answer: self.told.append((question, answer)),
            failed=self.told.append,
        )

    def spawn(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.tasks.append(asyncio.create_task(work()))

    async def fetch(self, question: int) -> str:
        self.asked.append(question)
        self.replies.append(asyncio.get_running_loop().create_future())
        return await self.replies[-1]


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_what_is_asked_meanwhile_replaces_what_waits_and_drops_what_is_under_way() -> None:
    oracle = Oracle()
    oracle.answers.ask(1)
    await turns()
    oracle.answers.ask(2)
    oracle.answers.ask(3)
    await turns()
    assert oracle.asked == [1]
    oracle.replies[0].set_result("one")
    await turns()
    assert oracle.asked == [1, 3]
    assert oracle.told == []
    oracle.replies[1].set_result("three")
    await turns()
    assert oracle.told == [(3, "three")]
    assert all(task.done() for task in oracle.tasks)


async def test_a_failure_is_told_once_and_only_of_the_newest() -> None:
    oracle = Oracle()
    oracle.answers.ask(1)
    await turns()
    oracle.answers.ask(2)
    oracle.replies[0].set_exception(OSError("old"))
    await turns()
    assert oracle.told == []
    error = OSError("new")
    oracle.replies[1].set_exception(error)
    await turns()
    assert oracle.told == [error]
    oracle.answers.ask(4)
    await turns()
    oracle.replies[2].set_result("four")
    await turns()
    assert oracle.told[1:] == [(4, "four")]
