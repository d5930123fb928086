"""The part of the app that knows its terminal: what it can show, and that it may stop or go away.

The views know nothing of it: lines are changed by filters on their way to the screen, and a
terminal that is lost ends the dashboard as a signal would.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rowtui.core.text import visible
from rowtui.tui import garbage
from rowtui.tui.filters import AsciiGlyphs, GroundsAsAttributes
from rowtui.tui.key_order import KeysInOrder
from rowtui.tui.terminal import NO_COLOURS
from rowtui.tui.widgets.light_strips import LightChops
from textual._compositor import ChopsUpdate
from textual.driver import Driver
from textual.filter import LineFilter, Monochrome, NoColor

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rowtui.tui.terminal import Manner
    from textual.screen import Screen

SEARCH_SECONDS = 1.0
"""Between two looks whether a search for garbage is due."""

OPENED_SECONDS = 0.7
"""After which a view that was opened has drawn what it is about; between two keys, mostly."""

TRIM_SECONDS = 5.0
"""Between two times that what is free is given back: after an answer of 18 MB half of it is."""

LONGEST_COPY = 74_000
"""Bytes that go through a terminal to its clipboard: what xterm takes, written in base 64."""


class TerminalApp(KeysInOrder):
    """An app on one terminal, drawn in the manner that it needs."""

    def __init__(self, how: Manner) -> None:
        self.how = how
        self.outside = False  # a pager or an editor has the terminal
        super().__init__()
        self._ascii = AsciiGlyphs()
        self._grounds = GroundsAsAttributes(colours=how.colours != NO_COLOURS)

    def get_driver_class(self) -> type[Driver]:
        """Textual's own, and on a terminal of this kind of system one that notices its end."""
        found = super().get_driver_class()
        if found.__name__ != "LinuxDriver":
            return found
        from rowtui.tui.driver import TerminalDriver

        return TerminalDriver

    def get_line_filters(self) -> Sequence[LineFilter]:
        """What the lines go through before they are drawn."""
        found = super().get_line_filters()
        if self.how.colours == NO_COLOURS:
            found = [one for one in found if not isinstance(one, Monochrome | NoColor)]
        ours: list[LineFilter] = []
        if self.native_ansi_color:
            ours.append(self._grounds)
        if self.how.ascii_only:
            ours.append(self._ascii)
        return [*found, *ours] if ours else found

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        """Write what changed."""
        if type(renderable) is ChopsUpdate:
            renderable = LightChops(renderable.chops, renderable.spans, renderable.chop_ends)
        super()._display(screen, renderable)

    def keep_little(self) -> None:
        """After the first frame: a large answer leaves no hole in memory. The process is ours."""
        if not self.is_headless:
            from rowtui.core.engine_process.memory import keep_little

            keep_little(every=TRIM_SECONDS)
            garbage.begin()
            self.set_interval(SEARCH_SECONDS, garbage.search)

    def view_opened(self) -> None:
        """A view is there for the first time, and stays for good. The process is ours."""
        if not self.is_headless:
            self.set_timer(OPENED_SECONDS, garbage.set_aside)

    def terminal_lost(self) -> None:
        """Nobody sees this any more."""
        self.end_by_signal(signal.SIGHUP)

    def end_by_signal(self, number: signal.Signals) -> None:
        """Leave, with the exit code of this signal."""
        self.exit(128 + number, return_code=128 + number)

    def look_for_terminal(self) -> None:
        """Leave if the terminal has hung up without a signal."""
        look = getattr(self._driver, "look", None)
        if look is not None and not self.outside:
            look()

    def command_suspend(self) -> None:
        """Back to the shell, until `fg`."""
        if self._driver is None or not self._driver.can_suspend:
            self.notify("There is no shell to go back to here.", severity="warning", markup=False)
            return
        self.action_suspend_process()

    def copy_text(self, text: str) -> None:
        """Put this into the clipboard of the person's own terminal, and say what became of it."""
        size = len(text.encode("utf-8", "surrogateescape"))
        if size > LONGEST_COPY:
            self.notify(
                f"This is {size:,} bytes; a terminal's clipboard takes {LONGEST_COPY:,}.",
                severity="warning",
                markup=False,
            )
            return
        self.copy_to_clipboard(text.encode("utf-8", "replace").decode())
        short = visible(text if len(text) <= 200 else text[:200] + "…")
        needs = clipboard_needs(os.environ)
        self.notify(
            f"Copied {short}" + (f"\n{needs}" if needs else ""),
            timeout=6 if needs else 2,
            markup=False,
        )


def clipboard_needs(environment: os._Environ[str] | dict[str, str]) -> str:
    """What must be set for the text to reach the clipboard; "" where nothing is known."""
    if environment.get("TMUX"):
        return "tmux passes it on with `set -g set-clipboard on`."
    if environment.get("STY"):
        return "GNU screen does not pass it on: select with the mouse and Shift."
    return ""
