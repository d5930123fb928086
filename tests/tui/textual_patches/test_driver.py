"""The terminal's driver: signals that come at any moment."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator

import pytest
from rowtui.tui.shell.app import RowtuiApp
from rowtui.tui.textual_patches.driver import TerminalDriver

from tests.tui.sample import SampleEngine


@pytest.fixture
def handlers() -> Iterator[None]:
    """The driver replaces the handlers of these signals."""
    before = {number: signal.getsignal(number) for number in (signal.SIGCONT, signal.SIGTSTP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


async def test_a_signal_that_interrupts_a_write_does_not_wait_for_the_lock_of_that_write(
    handlers: None,
) -> None:
    driver = TerminalDriver(RowtuiApp(SampleEngine()))
    lock = threading.Lock()  # as that of the queue of the thread that writes
    done: list[str] = []

    def write(text: str) -> None:
        assert lock.acquire(timeout=5), text
        done.append(text)
        lock.release()

    driver.suspend_application_mode = lambda: write("suspend")  # type: ignore[method-assign]
    driver.resume_application_mode = lambda: write("resume")  # type: ignore[method-assign]
    with lock:
        os.kill(os.getpid(), signal.SIGCONT)
        assert done == []
    await asyncio.sleep(0)
    assert done == ["suspend", "resume"]

    driver.gone()
    os.kill(os.getpid(), signal.SIGCONT)  # as a terminal that hangs up
    await asyncio.sleep(0)
    assert done == ["suspend", "resume"]
