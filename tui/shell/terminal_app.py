"""The part of the app for its terminal: the terminal's abilities, its suspension and its loss.

The views do not depend on the terminal: filters change the lines on their way to the screen, and a
lost terminal ends the dashboard as a signal would.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rowtui.core.base.text import visible
from rowtui.tui.textual_patches import garbage
from rowtui.tui.textual_patches.fast_strips import LightChops
from rowtui.tui.textual_patches.filters import AsciiGlyphs, GroundsAsAttributes
from rowtui.tui.textual_patches.key_order import KeysInOrder
from textual._compositor import ChopsUpdate
from textual.driver import Driver
from textual.filter import LineFilter, Monochrome, NoColor

if TYPE_CHECKING:
    from rich.console import RenderableType
    from textual.screen import Screen


# The abilities of this terminal, and of the line to it, determined once before the start.
#
# The input is the environment and the user's options; the output is a `Manner`. `prepare` must run
# before Textual is imported, because Textual reads its environment only during its import;
# therefore this module does not import Textual.


NO_COLOURS, FEW_COLOURS, MANY_COLOURS = 0, 16, 256

_DUMB = ("", "dumb", "unknown", "emacs")
_WITHOUT_COLOURS = ("vt52", "vt100", "vt102", "vt220", "vt320", "xterm-mono", "ansi-mono")
_FEW_COLOURS = ("linux", "cons25", "ansi", "console", "hurd", "mach")
_WITHOUT_GLYPHS = (*_WITHOUT_COLOURS[:5], *_FEW_COLOURS)

WEB_DRIVER = "textual.drivers.web_driver:WebDriver"
"""The driver with which textual-serve starts a dashboard."""

SLOW_FRAMES = 10
"""Frames a second over a slow line; at most 60 otherwise."""

REMOTE_TICK, SLOW_TICK = 20, 60
"""Seconds between two checks of the clock over a network line, and over a slow one: without
changes, nothing else is written.
"""


@dataclass(frozen=True, slots=True)
class Manner:
    """How to draw. `colours` is the largest number of colours; 0 also if the user wants no colours.

    `remote`: over a network line, without animations. `slow`: also with few frames and few colours.
    `browser`: there is no terminal; a page of `rowtui serve` shows the dashboard.
    """

    text_only: bool = False
    ascii_only: bool = False
    colours: int = MANY_COLOURS
    remote: bool = False
    slow: bool = False
    mouse: bool = True
    browser: bool = False

    @property
    def tick(self) -> int:
        """Seconds between two checks of the clock."""
        return SLOW_TICK if self.slow else REMOTE_TICK if self.remote else 1

    @property
    def theme(self) -> str:
        """The theme that this terminal needs; "" if every theme is suitable."""
        return "terminal" if self.colours <= FEW_COLOURS or self.slow else ""


def manner(
    environment: Mapping[str, str],
    *,
    encoding: str = "utf-8",
    ascii_only: bool = False,
    slow: bool = False,
    mouse: bool = True,
) -> Manner:
    """Return how to draw on the terminal of this environment; `encoding` is Python's output
    encoding.
    """
    if environment.get("TEXTUAL_DRIVER", "") == WEB_DRIVER:
        return Manner(browser=True)
    term = environment.get("TERM", "")
    wish = environment.get("ROWTUI_ASCII", "")
    without = term in _WITHOUT_GLYPHS or not _is_utf8(environment, encoding)
    colours = MANY_COLOURS
    if environment.get("NO_COLOR") or term in _WITHOUT_COLOURS:
        colours = NO_COLOURS
    elif term in _FEW_COLOURS and not environment.get("COLORTERM"):
        colours = FEW_COLOURS
    return Manner(
        text_only=term in _DUMB,
        ascii_only=ascii_only or (wish not in ("", "0") if wish else without),
        colours=colours,
        remote=slow or bool(environment.get("SSH_CONNECTION") or environment.get("SSH_TTY")),
        slow=slow,
        mouse=mouse and environment.get("ROWTUI_NO_MOUSE", "0") in ("", "0"),
    )


def _is_utf8(environment: Mapping[str, str], encoding: str) -> bool:
    """Whether the locale sets UTF-8. Python may write UTF-8 in other locales as well (PEP 538)."""
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        if value := environment.get(name, ""):
            break
    else:
        value = ""
    if value in ("C", "POSIX"):
        return False
    encoding = value.partition(".")[2].partition("@")[0] or encoding
    return encoding.lower().replace("-", "").replace("_", "") in ("utf8", "utf8sig")


def prepare(how: Manner) -> None:
    """Set Textual's environment, before Textual is imported. Variables of the user stay
    unchanged.
    """
    wanted: dict[str, str] = {}
    if how.remote:
        wanted |= {"TEXTUAL_ANIMATIONS": "none", "TEXTUAL_SMOOTH_SCROLL": "0"}
        wanted["TEXTUAL_FPS"] = str(SLOW_FRAMES if how.slow else 2 * SLOW_FRAMES)
    for name, value in wanted.items():
        os.environ.setdefault(name, value)


SEARCH_SECONDS = 1.0
"""Seconds between two checks whether a search for garbage is due."""

OPENED_SECONDS = 0.7
"""Seconds after which an opened view has drawn its content; mostly between two keys."""

TRIM_SECONDS = 5.0
"""Seconds between two times that free memory is returned: after an answer of 18 MB, half of it."""

LONGEST_COPY = 74_000
"""Bytes that a terminal passes to its clipboard: the limit of xterm, in base 64."""


class TerminalApp(KeysInOrder):
    """An app on one terminal, drawn in the manner for this terminal."""

    def __init__(self, how: Manner) -> None:
        self.how = how
        self.outside = False  # Whether a pager or an editor has the terminal.
        super().__init__()
        self._ascii = AsciiGlyphs()
        self._grounds = GroundsAsAttributes(colours=how.colours != NO_COLOURS)

    def get_driver_class(self) -> type[Driver]:
        """Return Textual's own driver, or on Linux and similar systems one that detects a lost
        terminal.
        """
        found = super().get_driver_class()
        if found.__name__ != "LinuxDriver":
            return found
        from rowtui.tui.textual_patches.driver import TerminalDriver

        return TerminalDriver

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the filters for the lines before they are drawn."""
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
        """Write the changes."""
        if type(renderable) is ChopsUpdate:
            renderable = LightChops(renderable.chops, renderable.spans, renderable.chop_ends)
        super()._display(screen, renderable)

    def keep_little(self) -> None:
        """Return free memory and control garbage searches from now on; only in rowtui's own
        process.
        """
        if not self.is_headless:
            from rowtui.core.engine.process.options import keep_little

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

    def end_by_signal(self, number: signal.Signals) -> None:
        """Leave, with the exit code of this signal."""
        self.exit(128 + number, return_code=128 + number)

    def look_for_terminal(self) -> None:
        """Leave if the terminal has hung up without a signal."""
        look = getattr(self._driver, "look", None)
        if look is not None and not self.outside:
            look()

    def command_suspend(self) -> None:
        """Return to the shell, until `fg`."""
        if self._driver is None or not self._driver.can_suspend:
            self.notify("There is no shell to go back to here.", severity="warning", markup=False)
            return
        self.action_suspend_process()

    def copy_text(self, text: str) -> None:
        """Copy this text to the clipboard of the user's terminal, and report the result."""
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
    """Return what must be set for the text to reach the clipboard; "" if nothing is known."""
    if environment.get("TMUX"):
        return "tmux passes it on with `set -g set-clipboard on`."
    if environment.get("STY"):
        return "GNU screen does not pass it on: select with the mouse and Shift."
    return ""
