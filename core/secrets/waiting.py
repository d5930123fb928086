"""Calls that may block, made in a thread of their own and given up after a while.

What such a call raises never leaves its thread: an exception holds the frames that it passed, and
those of a library hold secrets in plain text. Only the name of its class comes out.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

TOO_LATE = "no answer in time"


class Answer(NamedTuple, Generic[T]):
    """What a call gave; or, in `failure`, TOO_LATE or the name of the class that it raised."""

    value: T | None
    failure: str = ""


async def answer_within(seconds: float, work: Callable[[], T]) -> Answer[T]:
    """Make the call, waiting at most so long. A call that does not return is left behind.

    The thread is a daemon: it keeps neither the event loop nor the program from ending, which
    those of an executor do.
    """
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[Answer[T]] = loop.create_future()

    def settle(answer: Answer[T]) -> None:
        if not answered.done():
            answered.set_result(answer)

    def call() -> None:
        answer = _answer(work)
        with contextlib.suppress(RuntimeError):  # the loop may have ended meanwhile
            loop.call_soon_threadsafe(settle, answer)

    threading.Thread(target=call, name="rowtui-secret", daemon=True).start()
    try:
        async with asyncio.timeout(seconds):
            return await answered
    except TimeoutError:
        return Answer(None, TOO_LATE)


def _answer(work: Callable[[], T]) -> Answer[T]:
    try:
        return Answer(work())
    except BaseException as error:  # also SystemExit: a thread that ends silently never answers
        return Answer(None, type(error).__name__)
