"""A terminal driver that survives any input and the loss of its terminal, and no garbage collection
while idle.

Textual's own driver reads a closed terminal again and again, and writes to it from a thread that
dies. This driver notices both, writes nothing more, and notifies the app once.

Textual's own driver also ends the app at a byte that is not UTF-8, and passes on a pasted text
character by character if the terminal does not mark pastes. This driver replaces such bytes, and
passes on a text that arrives at once as one `Burst`. These are defects, with tests
(`tests/tui/test_life.py`, `tests/tui/textual_patches/test_driver.py`).
"""

from __future__ import annotations

import gc
import os
import select
import sys
from codecs import getincrementaldecoder
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TextIO

from rowtui.tui.textual_patches.key_order import BURST, with_bursts
from textual import events
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

# Control when and where Python searches for garbage: not in the dashboard's own objects, and not
# while a key is handled.
#
# Modules, styles and views are half a million small objects that live until the end. Python's
# collector searches all of them whenever their number has grown by a quarter, in the middle of
# other work. Such a search blocks frames and keys for 40 to 80 ms, the longest pause that was
# measured. This module excludes those objects, so that the time of a full search depends only on
# newer objects, and runs the search as a separate step of the event loop: 12 ms instead of 43 in
# `bench/results/patches.md`.


NEVER = 1_000_000_000
"""Searches of younger generations before Python starts a full search by itself."""

DUE = 4
"""Searches of younger generations before `search` starts a full one: about ten thousand new
objects, 10 to 20 ms.
"""

YOUNG = 1
"""The oldest generation that is searched before objects are set aside: some thousand
objects, 2 ms.
"""

READ = 4096
"""Bytes of one read from the terminal: as many as a terminal holds."""

MOST_TEXT = 1 << 16
"""Bytes of a text that are passed on at once."""

TEXT_PAUSE = 0.02
"""Seconds of silence that end a text."""

MOST_KEYS = 50
"""Keys that may wait to be handled; the terminal holds back further ones."""

MOST_CELLS = 1_000_000
"""Cells of the largest screen whose size is believed."""


def begin() -> None:
    """Leave full searches to `search` from now on; only for a process that belongs to rowtui."""
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, NEVER)
    set_aside()


def set_aside() -> None:
    """Exclude all existing objects from later searches.

    Call this function rarely: an excluded object that becomes garbage is never freed.
    """
    gc.collect(YOUNG)
    gc.freeze()


def search() -> None:
    """Run a full search if many objects were created since the last; to be called at intervals."""
    if gc.get_count()[2] >= DUE:
        gc.collect()


class TerminalDriver(LinuxDriver):
    """A driver that notifies the app when the terminal is gone."""

    def __init__(self, app: Any, **options: Any) -> None:
        super().__init__(app, **options)
        assert sys.__stderr__ is not None
        self._told = False
        self._file: Any = _MayBeGone(sys.__stderr__, self.gone)

    def start_application_mode(self) -> None:
        """Begin, also after another program had the terminal."""
        app: Any = self._app
        app.shown_cells.forget()
        super().start_application_mode()  # type: ignore[no-untyped-call]

    def gone(self) -> None:
        """Notify the app once that the terminal is gone; any thread may call this repeatedly."""
        if not self._told:
            self._told = True
            app: Any = self._app
            self._loop.call_soon_threadsafe(app.terminal_lost)

    def look(self) -> None:
        """Check whether the other side has hung up; an end of file alone looks like silence."""
        poll = select.poll()
        poll.register(self.fileno, select.POLLHUP)
        if any(
            what & (select.POLLHUP | select.POLLERR | select.POLLNVAL) for _, what in poll.poll(0)
        ):
            # Without this event, the input thread would read nothing for ever, at full speed.
            self.exit_event.set()
            self.gone()

    def _sigtstp_application(self, *_: object) -> None:
        """Suspend."""
        self._after_handler(super()._sigtstp_application)

    def _sigcont_application(self, *_: object) -> None:
        """Resume; also after a stop without a notice, in which the shell has changed the terminal's
        modes.
        """
        self._after_handler(self._resume)

    def _resume(self) -> None:
        if self._told:
            return
        if self._auto_restart and not self._must_signal_resume:
            self.suspend_application_mode()
            self._must_signal_resume = True
        super()._sigcont_application()

    def _after_handler(self, act: Callable[[], None]) -> None:
        """Act once the handler of the signal has returned.

        The signal may have interrupted a write to the terminal, whose lock another write would wait
        for without end.
        """
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(act)

    def run_input_thread(self) -> None:
        """Read keys, mouse reports and answers of the terminal, and send each to the app."""
        decode = getincrementaldecoder("utf-8")("replace").decode
        parser = XTermParser(self._debug)
        app: Any = self._app
        while not self.exit_event.is_set():
            if app.keys_waiting > MOST_KEYS:
                self.exit_event.wait(TEXT_PAUSE)
                continue
            try:
                messages = [*parser.feed(text)] if (text := decode(self._read())) else []
                messages += parser.tick()
            except (ValueError, ArithmeticError):  # a report with numbers that cannot be
                parser, messages = XTermParser(self._debug), []
            for message in with_bursts(messages):
                self.process_message(message)

    def _read(self) -> bytes:
        """Return the bytes that have arrived; of a text without control sequences, all of it."""
        data, wait = b"", 0.1
        while len(data) < MOST_TEXT and select.select([self.fileno], [], [], wait)[0]:
            if not (more := os.read(self.fileno, READ)):
                self.exit_event.wait(0.1)  # the end of a file
                break
            data += more
            if len(data) < BURST or b"\x1b" in more:
                break
            wait = TEXT_PAUSE
        return data

    def process_message(self, message: Message) -> None:
        """Send the message to the app, unless it reports a size that no terminal has."""
        if not isinstance(message, events.Resize) or 0 < message.size.area <= MOST_CELLS:
            super().process_message(message)

    def _run_input_thread(self) -> None:
        try:
            self.run_input_thread()
        except OSError:
            self.gone()
        except Exception as error:
            self._loop.call_soon_threadsafe(self._app._handle_exception, error)


class _MayBeGone:
    """A stream whose writes never fail: the first failure calls `gone`; later writes do nothing."""

    def __init__(self, stream: TextIO, gone: Callable[[], None]) -> None:
        self._stream = stream
        self._gone = gone
        self._lost = False

    def write(self, text: str) -> None:
        """Write the text, while the terminal exists."""
        self._try(lambda: self._stream.write(text))

    def flush(self) -> None:
        """Flush the stream, while the terminal exists."""
        self._try(self._stream.flush)

    def fileno(self) -> int:
        """Return the file descriptor of the stream."""
        return self._stream.fileno()

    def _try(self, act: Callable[[], object]) -> None:
        if self._lost:
            return
        try:
            act()
        except (OSError, ValueError):
            self._lost = True
            self._gone()
