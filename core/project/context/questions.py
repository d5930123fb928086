"""Questions of logins, passed to the screen that shows them, and the answers passed back.

A login runs in the engine, and the user is at a screen; `OpenQuestions` connects the two. A
question stays open until it is answered or withdrawn (for example because the server closed the
connection). Answers are passed on and never stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

from rowtui.core.clusters.transports.login import Asker, Prompt, UnknownHostKey


class LoginQuestion(NamedTuple):
    """A question of one step of a login: answers to `prompts`, or trust in `host_key`."""

    number: int
    cluster: str
    prompts: tuple[Prompt, ...] = ()
    host_key: UnknownHostKey | None = None


class Withdrawn(NamedTuple):
    """Notice that no login waits for the answer to this question any more."""

    number: int


class OpenQuestions:
    """The open questions of all logins."""

    def __init__(self) -> None:
        self._news: asyncio.Queue[LoginQuestion | Withdrawn] = asyncio.Queue()
        self._open: dict[int, asyncio.Future[Sequence[str] | None]] = {}
        self._count = 0

    def asker(self, cluster: str) -> Asker:
        """Return the asker for the logins of one cluster."""
        return _Asker(self, cluster)

    async def stream(self) -> AsyncIterator[LoginQuestion | Withdrawn]:
        """Yield questions and withdrawals as they come."""
        while True:
            yield await self._news.get()

    def answer(self, number: int, answers: Sequence[str] | None) -> None:
        """Pass on the answers.

        `answers`: one for each prompt, or one word for a host key; None if the user gives up.
        """
        waiting = self._open.get(number)
        if waiting is not None and not waiting.done():
            waiting.set_result(answers)

    async def ask(self, question: LoginQuestion) -> Sequence[str] | None:
        """Number the question, publish it and wait for its answer."""
        self._count += 1
        number = self._count
        future: asyncio.Future[Sequence[str] | None] = asyncio.get_running_loop().create_future()
        self._open[number] = future
        self._news.put_nowait(question._replace(number=number))
        try:
            return await future
        except asyncio.CancelledError:
            self._news.put_nowait(Withdrawn(number))
            raise
        finally:
            del self._open[number]


class _Asker:
    """See `login.Asker`."""

    def __init__(self, questions: OpenQuestions, cluster: str) -> None:
        self._questions = questions
        self._cluster = cluster

    async def ask(self, prompts: Sequence[Prompt]) -> Sequence[str] | None:
        return await self._questions.ask(LoginQuestion(0, self._cluster, tuple(prompts)))

    async def host_key(self, question: UnknownHostKey) -> bool:
        answers = await self._questions.ask(LoginQuestion(0, self._cluster, host_key=question))
        return answers is not None
