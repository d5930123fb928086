"""The app of the home view, for `rowtui` outside of a project."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import platformdirs
from rowtui.core.home.known import KnownProjects
from rowtui.tui.home.screen import HomeScreen
from rowtui.tui.outline.plain import run_outlined
from rowtui.tui.shell.column_choice import KeptFields
from rowtui.tui.shell.terminal import Manner
from rowtui.tui.shell.terminal_app import TerminalApp, defect_error
from rowtui.tui.shell.themes import ThemeChoice, variable_defaults
from rowtui.tui.textual_patches.style_cache import KeptStylesheet

LOOK_SECONDS = 1.0
"""Seconds between two checks whether the terminal still exists."""


class HomeApp(TerminalApp):
    """The app that shows the projects.

    `chosen`: the folder of the project to open, or "". `words`: the command to run instead.
    """

    TITLE = "rowtui"
    CSS_PATH = ["../shell/app.tcss", "../views/pages.tcss"]
    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self,
        home: HomeScreen,
        *,
        how: Manner | None = None,
        theme: str | None = None,
        config: Path | None = None,
        state: Path | None = None,
    ) -> None:
        super().__init__(how or Manner())
        self.chosen = ""
        self.words: Sequence[str] = ()
        self.stylesheet = KeptStylesheet(variables=self.get_css_variables())
        self._home = home
        home.begin = self._begin
        themes = config / "themes" if config else None
        self.themes = ThemeChoice(self, themes, state, self.how, self.warn)
        self.theme = self.themes.begin(theme)
        self.kept_fields = KeptFields(state, self.warn)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return a value for each variable of rowtui, also where the theme has none."""
        return variable_defaults(self.current_theme)

    def on_mount(self) -> None:
        """Show the projects."""
        self.follow_signals()
        self.set_interval(LOOK_SECONDS, self.look_for_terminal)
        self.push_screen(self._home, self._leave)

    def _begin(self, words: Sequence[str]) -> None:
        self.words = words
        self.exit(0)

    def _leave(self, root: str | None) -> None:
        self.chosen = root or ""
        self.exit(0)

    async def action_quit(self) -> None:
        """Leave; Textual calls this action."""
        self.exit(0)


class HomeChoice(NamedTuple):
    """What the user chose: a project to open, the words of a command to run, or neither."""

    code: int
    root: str = ""
    words: Sequence[str] = ()


def run_home(how: Manner, theme: str | None = None, notice: str = "") -> HomeChoice:
    """Show the home view; return what the user chose.

    Raises: RowtuiError after an error in rowtui.
    """
    app = HomeApp(
        HomeScreen(KnownProjects(), notice=notice),
        how=how,
        theme=theme,
        config=Path(platformdirs.user_config_dir("rowtui")),
        state=Path(platformdirs.user_state_dir("rowtui")),
    )
    asyncio.run(run_outlined(app) if how.plain else app.run_async(mouse=how.mouse))
    if app.defect is not None:
        raise defect_error(app.defect)
    return HomeChoice(app.return_code or 0, app.chosen, app.words)
