"""The part of the app for its terminal: signals, suspension, clipboard, and the terminal's loss.

The views do not depend on the terminal: filters change the lines on their way to the screen, with
frames and messages, for terminals without glyphs or without colours. A lost terminal ends the
dashboard as a signal would.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import traceback
from collections import deque
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs
import textual.constants
from rich.segment import Segment
from rich.style import Style
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.engine.process.start import keep_little
from rowtui.tui.commands.command import TITLES
from rowtui.tui.shell.session import describe
from rowtui.tui.shell.terminal import NO_COLOURS, Manner
from rowtui.tui.textual_patches import driver as garbage
from rowtui.tui.textual_patches.changed_cells import ChangedCells, ShownCells
from rowtui.tui.textual_patches.glyphs import ascii_text
from rowtui.tui.textual_patches.key_order import KeysInOrder
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.color import Color
from textual.driver import Driver
from textual.events import Resize
from textual.filter import ANSIToTruecolor, LineFilter, Monochrome, NoColor
from textual.worker import WorkerFailed

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rowtui.tui.shell.session import Session
    from textual.screen import Screen


GROUNDS = {
    15: Style(reverse=True, bold=True),
    8: Style(bold=True),
    11: Style(underline=True),
}
"""Backgrounds of the theme `terminal` (bright white, black, yellow) and the attributes in their
place, because the background of the terminal is unknown.
"""

_SHAPE = ("bold", "dim", "italic", "underline", "blink", "reverse", "strike")

ENDING_SIGNALS = (signal.SIGHUP, signal.SIGTERM, signal.SIGINT)
"""Signals that end the dashboard cleanly: the terminal closed, or a signal asks the process to end.
The exit code is 128 + the number of the signal.
"""

SEARCH_SECONDS = 1.0
"""Seconds between two checks whether a search for garbage is due."""

OPENED_SECONDS = 0.7
"""Seconds after which an opened view has drawn its content; mostly between two keys."""

TRIM_SECONDS = 5.0
"""Seconds between two times that free memory is returned: after an answer of 18 MB, half of it."""

MOST_NOTICES = 5

LONGEST_COPY = 74_000
"""Bytes that a terminal passes to its clipboard: the limit of xterm, in base 64."""


class AsciiGlyphs(LineFilter):
    """A filter that draws with ASCII alone."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the same columns in ASCII."""
        return [
            segment if segment.text.isascii() else Segment(ascii_text(segment.text), segment.style)
            for segment in segments
        ]


class GroundsAsAttributes(LineFilter):
    """A filter that draws the cursor and highlights in reverse, bold or underlined, not on a
    colour.

    With `colours` False, nothing has any colour.
    """

    def __init__(self, *, colours: bool) -> None:
        super().__init__()
        self._colours = colours

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the same text in other styles."""
        return [
            Segment(text, style and _without_ground(style, self._colours), None)
            for text, style, _ in segments
        ]


@lru_cache(4096)
def _without_ground(style: Style, colours: bool) -> Style:
    ground = style.bgcolor
    coloured = ground is not None and not ground.is_default
    instead = GROUNDS.get(ground.number) if ground is not None and ground.number else None
    if colours and instead is None:
        return style
    if instead is None and coloured:
        instead = Style(reverse=True)
    # On a reversed line, foreground colours would become backgrounds of every colour.
    plain = not colours or (instead is not None and bool(instead.reverse))
    shape = Style(
        **{one: getattr(style, one) for one in _SHAPE},
        color=None if plain else style.color,
        meta=style.meta or None,
    )
    return shape + instead if instead is not None else shape


class TerminalApp(KeysInOrder):
    """An app on one terminal, drawn in the manner for this terminal."""

    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (72, "-narrow"), (112, "-normal"), (180, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (20, "-short"), (32, "-tall"), (46, "-high")]

    def __init__(self, how: Manner) -> None:
        # Textual's own log contains every key that is pressed, and therefore passwords.
        vars(textual.constants)["LOG_FILE"] = None
        self.how = how
        # The error that ended the dashboard, if an error in rowtui ended it.
        self.defect: Exception | None = None
        self.outside = False  # Whether a pager or an editor has the terminal.
        # The newest texts of toasts, for the outline of the screen.
        self.notices: deque[str] = deque(maxlen=MOST_NOTICES)
        super().__init__()
        self.shown_cells = ShownCells()
        self._ascii = AsciiGlyphs()
        self._grounds = GroundsAsAttributes(colours=how.colours != NO_COLOURS)

    def on_resize(self, event: Resize) -> None:
        """Write all cells again, because a terminal of another size may have moved them."""
        if self._size not in {None, event.size}:
            self.shown_cells.forget()

    def _log(self, *_: object, **__: object) -> None:
        """Discard the message, so that no key reaches Textual's log: see `__init__`."""

    def get_driver_class(self) -> type[Driver]:
        """Return Textual's own driver, or on Linux and similar systems one that detects a lost
        terminal.
        """
        found = super().get_driver_class()
        return garbage.TerminalDriver if found.__name__ == "LinuxDriver" else found

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the filters for the lines before they are drawn.

        All colours of a theme are exact, or all are the terminal's: none is replaced by another.
        """
        found = [one for one in super().get_line_filters() if type(one) is not ANSIToTruecolor]
        if self.how.colours == NO_COLOURS:
            found = [one for one in found if not isinstance(one, Monochrome | NoColor)]
        ours: list[LineFilter] = []
        if self.native_ansi_color:
            ours.append(self._grounds)
        if self.how.ascii_only:
            ours.append(self._ascii)
        return [*found, *ours] if ours else found

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        """Write the cells that have changed."""
        written: Any = renderable
        if isinstance(renderable, ChopsUpdate | LayoutUpdate):
            written = ChangedCells(renderable, self.shown_cells)
        elif renderable is not None:
            self.shown_cells.forget()
        super()._display(screen, written)

    def keep_little(self) -> None:
        """Return free memory and control garbage searches from now on, in rowtui's own process."""
        if not self.is_headless:
            keep_little(every=TRIM_SECONDS)
            garbage.begin()
            self.set_interval(SEARCH_SECONDS, garbage.search)

    def view_opened(self) -> None:
        """Exclude a newly opened view from garbage searches; only in rowtui's own process."""
        if not self.is_headless:
            self.set_timer(OPENED_SECONDS, garbage.set_aside)

    def terminal_lost(self) -> None:
        """End the dashboard, because its terminal is gone."""
        self.end_by_signal(signal.SIGHUP)

    def follow_signals(self) -> None:
        """End the dashboard cleanly at the signals that end a process.

        The loop hears of a signal through a socket, and misses it while the socket is full of
        notices of other threads, such as keys that are typed ahead. Python's own handler misses
        none; the loop's is there for the end, when the loop resets the signal.
        """
        loop = asyncio.get_running_loop()

        def received(number: int, _: object) -> None:
            loop.call_soon_threadsafe(self.end_by_signal, signal.Signals(number))

        with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):
            for number in ENDING_SIGNALS:
                loop.add_signal_handler(number, bool)
                signal.signal(number, received)

    def end_by_signal(self, number: signal.Signals) -> None:
        """Leave, with the exit code of this signal."""
        self.exit(128 + number, return_code=128 + number)

    def _handle_exception(self, error: Exception) -> None:
        """End the dashboard with one sentence after an error in rowtui; in tests, raise it."""
        if self.is_headless and not self.how.plain:
            super()._handle_exception(error)
            return
        self.defect = self.defect or error
        self.exit(1, return_code=1)

    def notify(self, message: str, **how: Any) -> None:
        """Show a toast, never parsed as markup, in place of a toast with the same text, so that
        repeated keys show it once.
        """
        self.notices.append(message)
        for same in [one for one in self._notifications if one.message == message]:
            self._unnotify(same, refresh=False)
        super().notify(message, **{"markup": False, **how})

    def warn(self, text: str) -> None:
        """Show a warning."""
        self.notify(text, severity="warning")

    def show_in_terminal(self, sequence: str) -> None:
        """Write a bell or a notification to the terminal, between two frames.

        Called in the event loop, in which each frame is written as a whole.
        """
        if self._driver is not None and not (self.is_headless or self.outside or self.how.browser):
            self._driver.write(sequence)

    def look_for_terminal(self) -> None:
        """Leave if the terminal has hung up without a signal."""
        look = getattr(self._driver, "look", None)
        if look is not None and not self.outside:
            look()

    def action_help_quit(self) -> None:
        """Show the key that leaves the dashboard, because Ctrl-C ends many other programs."""
        keys = [key for key, one in self.active_bindings.items() if one.binding.id == "app.quit"]
        self.notify(f"Press {keys[0] if keys else 'ctrl+q'} to leave; jobs go on.")

    def command_suspend(self) -> None:
        """Return to the shell, until `fg`."""
        if self._driver is None or not self._driver.can_suspend:
            self.warn("There is no shell to go back to here.")
            return
        self.action_suspend_process()

    def copy_text(self, text: str) -> None:
        """Copy this text to the clipboard of the user's terminal, and report the result."""
        size = len(text.encode("utf-8", "surrogateescape"))
        if size > LONGEST_COPY:
            self.warn(f"This is {size:,} bytes; a terminal's clipboard takes {LONGEST_COPY:,}.")
            return
        self.copy_to_clipboard(text.encode("utf-8", "replace").decode())
        short = visible(text if len(text) <= 200 else text[:200] + "…")
        needs = clipboard_needs(os.environ)
        self.notify(f"Copied {short}" + (f"\n{needs}" if needs else ""), timeout=6 if needs else 2)


class ProjectApp(TerminalApp):
    """An app that shows one project, as it is used by parts of the app that use no view."""

    session: Session

    @property
    def view_name(self) -> str:
        """The name of the view on the screen."""
        raise NotImplementedError

    def go(self, view: str) -> None:
        """Show a view."""
        if view in TITLES:
            self.switch_mode(view)

    def show_again(self, what: str) -> None:
        """Update the view on the screen after a change."""
        raise NotImplementedError

    def report(self, what: str, error: Exception) -> None:
        """Report an error to the user: a toast (once) and a line of activity; never a traceback."""
        raise NotImplementedError

    def forget_marks(self, view: str) -> None:
        """Clear the marks in that view after a command has used them."""
        raise NotImplementedError


def clipboard_needs(environment: os._Environ[str] | dict[str, str]) -> str:
    """Return what must be set for the text to reach the clipboard; "" if nothing is known."""
    if environment.get("TMUX"):
        return "tmux passes it on with `set -g set-clipboard on`."
    if environment.get("STY"):
        return "GNU screen does not pass it on: select with the mouse and Shift."
    return ""


def defect_error(defect: Exception) -> RowtuiError:
    """Return an error in rowtui as one sentence; write its traceback to a file."""
    if isinstance(defect, WorkerFailed) and isinstance(defect.error, Exception):
        defect = defect.error  # a worker's own error has the traceback
    path = Path(platformdirs.user_log_dir("rowtui")) / "dashboard.log"
    hint = f"the details are in {path}; if it happens again: rowtui --fresh"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(traceback.format_exception(defect))
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        hint = f"the details could not be written: {error}"
    message, _ = describe(defect)
    return RowtuiError(f"the dashboard ended because of a defect: {message}", hint)
