"""Run blocking calls, each in a thread of its own, with a timeout.

An exception of such a call never leaves its thread: an exception holds stack frames, and the frames
of a library hold secrets in plain text. Only the name of the exception's class is returned.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

TOO_LATE = "no answer in time"


class CallResult(NamedTuple, Generic[T]):
    """The return value of a call; or, in `failure`, TOO_LATE or the class name of its exception."""

    value: T | None
    failure: str = ""


async def answer_within(seconds: float, work: Callable[[], T]) -> CallResult[T]:
    """Run the call and wait at most `seconds`. A call that does not return is abandoned.

    The thread is a daemon thread, so it does not delay the end of the event loop or of the program,
    as a thread of an executor would.
    """
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[CallResult[T]] = loop.create_future()

    def settle(answer: CallResult[T]) -> None:
        if not answered.done():
            answered.set_result(answer)

    def call() -> None:
        answer = _answer(work)
        with contextlib.suppress(RuntimeError):  # the loop may have been closed in the meantime
            loop.call_soon_threadsafe(settle, answer)

    threading.Thread(target=call, name="rowtui-secret", daemon=True).start()
    try:
        async with asyncio.timeout(seconds):
            return await answered
    except TimeoutError:
        return CallResult(None, TOO_LATE)


def _answer(work: Callable[[], T]) -> CallResult[T]:
    try:
        return CallResult(work())
    except BaseException as error:  # also SystemExit: a thread that ends silently never answers
        return CallResult(None, type(error).__name__)
