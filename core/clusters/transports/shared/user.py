"""Forward the questions of a shared login to the user in front of another process.

`UserQuestions` is the asker of the shared login: without a user, every question is declined.
`Caller` is a user at the other end of a connection; answers arrive in messages, are passed on, and
are not stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from rowtui.core.clusters.transports.login import Asker, NoUser, Prompt, UnknownHostKey
from rowtui.core.clusters.transports.shared.protocol import (
    Message,
    ProtocolError,
    field,
    receive,
    send,
)


class UserQuestions:
    """Asks the present user, if there is one."""

    def __init__(self, person: Asker | None = None) -> None:
        self.person: Asker = person or NoUser()

    def nobody(self) -> None:
        """Decline every further question."""
        self.person = NoUser()

    async def ask(self, prompts: Sequence[Prompt]) -> Sequence[str] | None:
        """See `Asker`."""
        return await self.person.ask(prompts)

    async def host_key(self, question: UnknownHostKey) -> bool:
        """See `Asker`."""
        return await self.person.host_key(question)


class Caller:
    """The user in front of the process at the other end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._open: dict[int, asyncio.Future[list[str] | None]] = {}
        self._asked = 0
        self._gone = False

    async def ask(self, prompts: Sequence[Prompt]) -> Sequence[str] | None:
        """Forward the questions; None if the user gives up or the connection has ended."""
        self._asked += 1
        answers = await self._answered({"ask": self._asked, "prompts": list(map(list, prompts))})
        return answers if answers is not None and len(answers) == len(prompts) else None

    async def host_key(self, question: UnknownHostKey) -> bool:
        """Forward the question."""
        self._asked += 1
        head = {"host_key": self._asked, "key": list(question)}
        return await self._answered(head) is not None

    async def _answered(self, head: dict[str, object]) -> list[str] | None:
        if self._gone or self._writer.is_closing():
            return None
        number = self._asked
        answer: asyncio.Future[list[str] | None] = asyncio.get_running_loop().create_future()
        self._open[number] = answer
        try:
            send(self._writer, head)
            return await answer
        except asyncio.CancelledError:  # the server did not wait for the answer
            if not self._writer.is_closing():
                send(self._writer, {"withdraw": number})
            raise
        finally:
            del self._open[number]

    async def listen(self) -> None:
        """Receive the answers until the connection ends. Raises: ProtocolError."""
        try:
            while (frame := await receive(self._reader)) is not None:
                self._take(frame)
        finally:
            self._gone = True
            for answer in self._open.values():
                if not answer.done():
                    answer.set_result(None)

    def _take(self, frame: Message) -> None:
        answer = self._open.get(field(frame.head, "answer", int))
        if answer is None or answer.done():
            return  # the question was withdrawn
        given = frame.head.get("given")
        if given is not None and not (
            isinstance(given, list) and all(isinstance(text, str) for text in given)
        ):
            raise ProtocolError("an answer is not as it should be")
        answer.set_result(given)
