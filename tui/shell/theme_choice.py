"""The theme on the screen: chosen, stored, and reloaded when its file is saved.

The files of two folders are checked with stat every two seconds. A file that became invalid causes
one message, and its previous theme stays. The choice is stored in the user's state folder.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.base.text import visible
from rowtui.tui.shell.terminal import NO_COLOURS
from rowtui.tui.shell.themes import DEFAULT_THEME, load_themes, sources

if TYPE_CHECKING:
    from rowtui.tui.shell.app import RowtuiApp
    from rowtui.tui.shell.terminal import Manner
    from rowtui.tui.shell.themes import LoadedThemes

LOOK_SECONDS = 2.0
"""Seconds between two checks of the folders: a user who edits a theme waits for the change."""


class ThemeChoice:
    """The themes of one dashboard. `own` is the folder of the user's themes, `state` that of
    choices.
    """

    def __init__(self, app: RowtuiApp, own: Path | None, state: Path | None, how: Manner) -> None:
        self._app = app
        self._own = own
        self._kept = state / "theme" if state is not None else None
        self._how = how
        self._stamps = sources(own)
        self._loaded = load_themes(own)
        self.wrong = list(self._loaded.wrong)
        for theme in self._loaded.themes:
            app.register_theme(theme)

    @property
    def names(self) -> list[str]:
        """The names of rowtui's themes and of the user's."""
        return [theme.name for theme in self._loaded.themes]

    def begin(self, asked: str | None) -> str:
        """Return the first theme: requested, needed by the terminal, chosen before, or
        the default.
        """
        if asked is not None and asked not in self._app.available_themes:
            self.wrong.append(self._unknown(asked))
            asked = None
        if self._how.colours == NO_COLOURS:
            return "terminal"
        return asked or self._how.theme or self._remembered() or DEFAULT_THEME

    def choose(self, name: str) -> bool:
        """Show this theme, and store the choice; return False, with a message, if it cannot be
        used.
        """
        if name not in self._app.available_themes:
            self._say(self._unknown(name))
            return False
        if self._how.colours == NO_COLOURS:
            self._say("There are no colours here: NO_COLOR is set, or the terminal has none.")
            return False
        self._app.theme = name
        self._app.notify(f"Theme {name}", timeout=2)
        self._remember(name)
        return True

    def next(self) -> None:
        """Show the next theme."""
        names = self.names
        at = names.index(self._app.theme) if self._app.theme in names else -1
        self.choose(names[(at + 1) % len(names)])

    def look(self) -> None:
        """Load the files that were saved since the last check."""
        stamps = sources(self._own)
        if stamps == self._stamps:
            return
        self._stamps = stamps
        before, self._loaded = self._loaded, load_themes(self._own, self._loaded)
        for text in self._loaded.wrong:
            if text not in before.wrong:
                self._say(text)
        self._take(before)

    def _take(self, before: LoadedThemes) -> None:
        """Register new themes, and show the current theme in its new form."""
        app, shown = self._app, self._app.current_theme
        for theme in self._loaded.themes:
            app.register_theme(theme)
        for name in {theme.name for theme in before.themes} - set(self.names):
            if name == app.theme:
                app.theme = DEFAULT_THEME
                self._say(f"The theme {name} is gone; this is {DEFAULT_THEME}.")
            app.unregister_theme(name)
        if app.theme == shown.name and app.current_theme != shown:
            app._watch_theme(app.theme)  # The name is the same, the colours have changed.

    def _unknown(self, name: str) -> str:
        return f"there is no theme {visible(name)!r}; possible are {', '.join(self.names)}"

    def _say(self, text: str) -> None:
        self._app.notify(visible(text), severity="warning", timeout=8)
        self._app.session.note("settings", text, "warning")

    def _remembered(self) -> str:
        try:
            name = self._kept.read_text("utf-8")[:100].strip() if self._kept else ""
        except (OSError, ValueError):
            return ""
        return name if name in self._app.available_themes else ""

    def _remember(self, name: str) -> None:
        if self._kept is None:
            return
        with contextlib.suppress(OSError):  # Without the file, the choice is lost.
            self._kept.parent.mkdir(parents=True, exist_ok=True)
            new = self._kept.with_name(f"theme.{os.getpid()}")
            new.write_text(f"{name}\n", "utf-8")
            new.replace(self._kept)
