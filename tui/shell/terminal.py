"""The abilities of this terminal, and of the line to it, determined once before the start.

The input is the environment and the user's options; the output is a `Manner`. `prepare` must run
before Textual is imported, because Textual reads its environment only during its import; therefore
this module does not import Textual, and `terminal_app` is a module of its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

NO_COLOURS, FEW_COLOURS, MANY_COLOURS = 0, 16, 256

_DUMB = ("", "dumb", "unknown", "emacs")
_WITHOUT_COLOURS = ("vt52", "vt100", "vt102", "vt220", "vt320", "xterm-mono", "ansi-mono")
_FEW_COLOURS = ("linux", "cons25", "ansi", "console", "hurd", "mach")
_WITHOUT_GLYPHS = (*_WITHOUT_COLOURS[:5], *_FEW_COLOURS)

WEB_DRIVER = "textual.drivers.web_driver:WebDriver"
"""The driver with which textual-serve starts a dashboard."""

FRAMES, REMOTE_FRAMES, SLOW_FRAMES = 120, 60, 10
"""Frames a second, at most: on this machine, over a network line, and over a slow one. Textual
waits for up to two frames before it draws what a key caused; few bytes are written for each.
"""

REMOTE_TICK, SLOW_TICK = 20, 60
"""Seconds between two checks of the clock over a network line, and over a slow one: without
changes, nothing else is written.
"""


@dataclass(frozen=True, slots=True)
class Manner:
    """How to draw. `colours` is the largest number of colours; 0 also if the user wants no colours.

    `remote`: over a network line, without animations. `slow`: also with few frames and few colours.
    `browser`: there is no terminal; a page of `rowtui serve` shows the dashboard. `plain`: nothing
    is drawn; outlines of the screen are printed as lines.
    """

    text_only: bool = False
    ascii_only: bool = False
    colours: int = MANY_COLOURS
    remote: bool = False
    slow: bool = False
    mouse: bool = True
    browser: bool = False
    plain: bool = False

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
    """Return how to draw on the terminal of this environment; `encoding`: of Python's output."""
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
    """Set Textual's environment before its import. Variables of the user stay unchanged."""
    frames = SLOW_FRAMES if how.slow else REMOTE_FRAMES if how.remote else FRAMES
    wanted = {"TEXTUAL_FPS": str(frames)}
    if how.remote:
        wanted |= {"TEXTUAL_ANIMATIONS": "none", "TEXTUAL_SMOOTH_SCROLL": "0"}
    for name, value in wanted.items():
        os.environ.setdefault(name, value)
