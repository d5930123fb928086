"""The terminal's driver, made to outlive its terminal: whoever hangs up ends the dashboard.

Textual's own reads a closed terminal again and again, and writes to it from a thread that dies.
Here both are noticed, nothing is written any more, and the app is told once.
"""

from __future__ import annotations

import select
import sys
from collections.abc import Callable
from typing import Any, TextIO

from textual.drivers.linux_driver import LinuxDriver


class TerminalDriver(LinuxDriver):
    """Tells the app when there is no terminal any more."""

    def __init__(self, app: Any, **options: Any) -> None:
        super().__init__(app, **options)
        assert sys.__stderr__ is not None
        self._told = False
        self._file: Any = _MayBeGone(sys.__stderr__, self.gone)

    def gone(self) -> None:
        """There is no terminal; from any thread, as often as one likes."""
        if not self._told:
            self._told = True
            app: Any = self._app
            self._loop.call_soon_threadsafe(app.terminal_lost)

    def look(self) -> None:
        """Whether the other side has hung up; its end of file alone looks like silence."""
        poll = select.poll()
        poll.register(self.fileno, select.POLLHUP)
        if any(
            what & (select.POLLHUP | select.POLLERR | select.POLLNVAL) for _, what in poll.poll(0)
        ):
            self.exit_event.set()  # or its thread reads nothing for ever, at full speed
            self.gone()

    def _sigcont_application(self, *_: object) -> None:
        """Go on; also after a stop that nobody announced, from which the shell has the modes."""
        if self._auto_restart and not self._must_signal_resume:
            self.suspend_application_mode()
            self._must_signal_resume = True
        super()._sigcont_application(*_)

    def _run_input_thread(self) -> None:
        try:
            self.run_input_thread()
        except OSError:
            self.gone()
        except Exception as error:
            self._loop.call_soon_threadsafe(self._app._handle_exception, error)


class _MayBeGone:
    """A stream whose writes never fail: they tell, once, and then do nothing."""

    def __init__(self, stream: TextIO, gone: Callable[[], None]) -> None:
        self._stream = stream
        self._gone = gone
        self._lost = False

    def write(self, text: str) -> None:
        """Write, as long as there is somebody."""
        self._try(lambda: self._stream.write(text))

    def flush(self) -> None:
        """Flush, as long as there is somebody."""
        self._try(self._stream.flush)

    def fileno(self) -> int:
        """The stream's own."""
        return self._stream.fileno()

    def _try(self, act: Callable[[], object]) -> None:
        if self._lost:
            return
        try:
            act()
        except (OSError, ValueError):
            self._lost = True
            self._gone()
