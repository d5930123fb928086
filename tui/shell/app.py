"""The dashboard: connects views, session, feed and themes, and carries out commands.

The app owns the session. Views read the session and call the app's verbs; every operation that
waits runs in a worker, which shows the current view again at its end. `run_dashboard` is the entry
point.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import platformdirs
from rowtui.core.base.errors import RowtuiError
from rowtui.core.project.views.views import FASTER, SLOWER
from rowtui.tui.commands.command import PREVIOUS_VIEW, TITLES
from rowtui.tui.commands.registry import BY_ID, bindings_for
from rowtui.tui.shell.column_choice import KeptFields
from rowtui.tui.shell.feed import Feed
from rowtui.tui.shell.keymap import Stray, load_keymap, moved_words, unbound_words
from rowtui.tui.shell.logins import Logins
from rowtui.tui.shell.played import control_played
from rowtui.tui.shell.recall import Memory, StartState
from rowtui.tui.shell.recalling_app import RecallingApp
from rowtui.tui.shell.session import Session
from rowtui.tui.shell.terminal import Manner, manner
from rowtui.tui.shell.terminal_app import defect_error
from rowtui.tui.shell.themes import LOOK_SECONDS, ThemeChoice, variable_defaults
from rowtui.tui.shell.work import start
from rowtui.tui.textual_patches.style_cache import KeptStylesheet
from rowtui.tui.views.dialogs import Dialog
from rowtui.tui.views.view import ScreenView
from rowtui.tui.views.view_classes import VIEW_CLASSES, looks_of, open_view
from textual import events
from textual.screen import ModalScreen, Screen

if TYPE_CHECKING:
    from rowtui.core.engine.engine import Engine
    from rowtui.core.project.views.views import Played

LOAD_SECONDS = 0.3
"""Seconds between two views that are loaded in advance, so that the user's keys are
handled first.
"""


class RowtuiApp(RecallingApp):
    """The app that shows one project."""

    TITLE = "rowtui"
    CSS_PATH = ["app.tcss", "../views/pages.tcss"]
    BINDINGS = bindings_for("app")
    ENABLE_COMMAND_PALETTE = False  # Textual's own can neither group nor align its lines.
    MODES: ClassVar[dict[str, str | Callable[[], Screen[Any]]]] = {
        name: partial(open_view, name) for name in VIEW_CLASSES
    }
    DEFAULT_MODE = "status"

    def __init__(
        self,
        engine: Engine,
        *,
        read_only: bool = False,
        theme: str | None = None,
        clock: Callable[[], float] = time.time,
        config: Path | None = None,
        state: Path | None = None,
        how: Manner | None = None,
        played: Played | None = None,
        recall: StartState | None = None,
    ) -> None:
        recall = recall or StartState()
        vars(self)["DEFAULT_MODE"] = recall.view  # Textual reads it when the app is made.
        super().__init__(how or Manner())
        self.stylesheet = KeptStylesheet(variables=self.get_css_variables())
        self.session = Session(engine, read_only=read_only, clock=clock, played=played)
        self.session.age_step = self.how.tick
        self.begin_at(recall)
        note = partial(self.session.note, "settings", style="warning")
        themes = config / "themes" if config else None
        self.themes = ThemeChoice(self, themes, state, self.how, note)
        self.theme = self.themes.begin(theme)
        self._wrong = list(self.themes.wrong)
        self.config = config
        self.feed = Feed(self.session, self.show_again, self.report, self.show_in_terminal)
        self.kept_fields = KeptFields(state, note)
        self._state = state
        self.logins = Logins(self, self.session, self.feed)
        self._stray = Stray()
        self._told_keys: set[tuple[str, str]] = set()  # Views and keys that were pressed there.

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return a value for each variable of rowtui, also where the theme has none."""
        return variable_defaults(self.current_theme)

    # Life cycle

    def on_mount(self) -> None:
        """Start following the project after the first paint."""
        self.follow_signals()
        self.app_resume_signal.subscribe(self, self._come_back)
        self._load_keys()
        if self._wrong:
            self.warn("\n".join(self._wrong))
            for text in self._wrong:
                self.session.note("settings", text, "warning")
        self.report_memory()
        self.set_interval(self.how.tick, self._tick)
        self.set_interval(1.0, self._look_around)
        self.set_interval(LOOK_SECONDS, self.themes.look)
        self.call_after_refresh(self._start_feed)

    def _start_feed(self) -> None:
        start(self, self.feed.run, "feed")
        start(self, self.logins.listen, "logins")
        start(self, self._load_views, "views")
        self.keep_little()

    async def _load_views(self) -> None:
        """Load the other views in advance, so that each opens without a delay."""
        for name in VIEW_CLASSES:
            await asyncio.sleep(LOAD_SECONDS)
            looks = await asyncio.to_thread(looks_of, name)
            if not self.stylesheet.has_source(str(looks), ""):
                self.stylesheet.read(looks)
                self.stylesheet.parse()  # The new styles apply to no view that is mounted now.

    def _load_keys(self) -> None:
        if self.config is not None and (self.config / "keys.toml").is_file():
            keys = load_keymap(self.config)
            self._wrong += keys.wrong
            self.session.keys = keys.keys
            self.set_keymap(dict(keys.keys))
        self._wrong += self.load_own_commands(self.config)

    def end_by_signal(self, number: signal.Signals) -> None:
        """Leave the dashboard; a submission that is running stops after its current job."""
        if self.outside and number == signal.SIGINT:
            return  # Ctrl-C in the pager belongs to the pager.
        if self.session.sending is not None and self.session.sending.phase == "sending":
            self.session.sending.phase = "stopping"
        super().end_by_signal(number)

    def _come_back(self, _: object) -> None:
        """Redraw and refresh, after the shell or another program had the terminal."""
        self.refresh(layout=True)
        self.feed.refresh_now()

    def _tick(self) -> None:
        if self.view is not None:
            self.view.show_header()

    def _look_around(self) -> None:
        self.look_for_terminal()
        self.logins.show_next()

    # Keys

    def on_key(self, event: events.Key) -> None:
        """Handle a key that no field took: ignore a text; report a key without a command."""
        if self._stray.goes_on(event):
            event.prevent_default()
            self._answer(self._stray.answer)
        elif event.key in self.screen.active_bindings:
            about = (self.view_name, event.key)
            known = about in self._told_keys or isinstance(self.screen, Dialog)
            self._told_keys.add(about)
            self._answer("" if known else moved_words(event.key, about[0], self.session.keys))
        else:
            self._stray.begin(event)
            view = "" if isinstance(self.screen, Dialog) else self.view_name
            self._answer(unbound_words(event.key, view, self.session.keys))

    def pasted_nowhere(self, event: events.Paste) -> None:
        """Report that a pasted text did nothing; what follows it closely is its end."""
        self._stray.follow(event)
        self._answer("A text was pasted where no field is open: it did nothing")

    def _answer(self, text: str) -> None:
        if isinstance(self.screen, ScreenView | Dialog):
            self.screen.answer(text)

    # Commands

    async def action_command(self, command_id: str) -> None:
        """Carry out a command of the registry, or report why the command cannot be used."""
        command = BY_ID[command_id]
        if reason := command.enabled(self.session):
            label = command.label.rstrip("…")
            self.warn(f"{label}: {reason}")
            return
        if command_id == "go.pack" and self.view is not None:
            self.view.show_packed()
            return
        if command_id.startswith("go."):
            self.go(command_id.removeprefix("go."))
            return
        if command_id.startswith("terminal."):
            self.line.open(f"{command.twin} ")
            return
        if command.scope == "rows" and self.view is not None:
            getattr(self.view.list_at_hand, command.method.replace("command_", "action_"))()
            return
        target = self if command.scope == "app" else self.view
        result = getattr(target, command.method)()
        if inspect.isawaitable(result):
            await result

    def command_refresh(self) -> None:
        """Read the project again, and poll the queues."""
        self.feed.refresh_now(queues=True)

    def command_scan(self) -> None:
        """Read the project again, with every directory."""
        self.session.note("you", "scan: reading every directory again")
        self.feed.refresh_now(full=True)
        self.show_again("activity")

    def command_pause(self) -> None:
        """Stop following changes, or follow them again."""
        self.session.paused = not self.session.paused
        self.session.note("you", "paused" if self.session.paused else "following changes again")
        if not self.session.paused:
            self.feed.refresh_now()
        self.show_again("paused")

    def command_undo(self) -> None:
        """Undo the newest step."""
        start(self, partial(self._undo, 1), "undo")

    async def _undo(self, steps: int) -> None:
        """Undo the newest steps; stop where one opens a question, or cannot be undone."""
        undo = self.session.undo
        for _ in range(steps):
            if (step := undo.take()) is None:
                break  # Another press of the key has undone the last one.
            await self.switch_mode(step.view)
            if why := undo.undo(step):
                self.warn(f"It cannot be undone: {step.text}: {why}.")
                break
            if step.asks:
                break
            self.session.note("you", f"undone: {step.text}")
            self._answer(f"Undone: {step.text}")
        self.show_again("undo")

    def command_undo_list(self) -> None:
        """Show the steps that can be undone."""
        from rowtui.tui.views.activity_page import UndoScreen

        self.push_screen(UndoScreen(self.session.undo.steps), self._undo_chosen)

    def _undo_chosen(self, steps: int | None) -> None:
        if steps:
            start(self, partial(self._undo, steps), "undo")

    def command_activity(self) -> None:
        """Show what happened, and the commands that were run."""
        self.line.show_activity()

    def command_enlarge(self) -> None:
        """Give the whole screen to one pane, or take it back."""
        if self.view is not None:
            self.view.enlarge()

    def command_line(self) -> None:
        """Open the command line."""
        self.line.open()

    def command_help(self) -> None:
        """Show the commands of this view."""
        from rowtui.tui.views.help import HelpScreen

        here = self.view_name
        self.push_screen(HelpScreen(self.session, here, TITLES[here], self.own_commands))

    def command_connect(self) -> None:
        """Log in to the cluster that waits for a login, or let the user choose one of several."""
        if self.view is not None and self.view.login:
            self.logins.connect(self.view.login)
        else:
            self.logins.choose()

    def command_palette(self) -> None:
        """Open the palette, unless a dialog is open: a text typed in a dialog goes nowhere else."""
        from rowtui.tui.views.palette import PaletteScreen

        if not isinstance(self.screen, ModalScreen):
            self.push_screen(PaletteScreen())

    def command_theme(self) -> None:
        """Use the next theme."""
        undo = partial(self.themes.choose, self.theme)
        self.session.can_undo(self.view_name, f"theme after {self.theme}", undo)
        self.themes.next()

    def command_copy(self) -> None:
        """Copy the selection, through the terminal."""
        if text := self.view.copyable() if self.view else "":
            self.copy_text(text)
        else:
            self.warn("There is nothing to copy here.")

    def command_back(self) -> None:
        """Go one step back; the last step leads to the status."""
        if self.view is not None and self.view.maximized is not None:
            self.view.enlarge()
        elif self.view is not None and not self.view.back():
            self.go(PREVIOUS_VIEW.get(self.view_name, "status"))

    def command_faster(self) -> None:
        """Run the clock of a demo faster."""
        control_played(self, FASTER)

    def command_slower(self) -> None:
        """Run the clock of a demo slower."""
        control_played(self, SLOWER)

    def command_steps(self) -> None:
        """Show or hide the first steps."""
        self.session.first_steps = not self.session.first_steps
        self.show_again("steps")

    def command_quit(self) -> None:
        """Leave; ask first while jobs are being submitted, or the autopilot is on."""
        self.chosen_project = ""
        self.verbs.leave()

    async def action_quit(self) -> None:
        """Leave as `command_quit` does; Textual calls this action."""
        self.command_quit()


def run_dashboard(
    engine: Engine,
    *,
    read_only: bool = False,
    theme: str | None = None,
    how: Manner | None = None,
    played: Played | None = None,
    clock: Callable[[], float] = time.time,
    recall: StartState | None = None,
    memory: Memory | None = None,
    switch: Callable[[str], None] | None = None,
) -> int:
    """Show the dashboard until the user leaves, close the engine, and return the exit code.

    `switch` is called at the end with the folder of the project that the user opens next, if any.

    Raises: RowtuiError if no terminal can show the dashboard, and after an error in rowtui.
    """
    streams = (sys.stdin, sys.stdout, sys.__stderr__)  # Textual draws on standard error.
    seen = all(stream is not None and stream.isatty() for stream in streams)
    how = how or manner(os.environ, encoding=getattr(sys.stdout, "encoding", "utf-8"))
    if how.text_only or not (seen or how.browser or how.plain):
        raise RowtuiError(
            "the dashboard needs a terminal",
            "`rowtui show status` prints the same as text",
        )
    config = Path(platformdirs.user_config_dir("rowtui"))
    state = Path(platformdirs.user_state_dir("rowtui"))
    app = RowtuiApp(
        engine,
        read_only=read_only,
        theme=theme,
        clock=clock,
        config=config,
        state=state,
        how=how,
        played=played,
        recall=recall,
    )
    app.memory = memory
    app.can_switch = switch is not None

    async def main() -> int:
        try:
            if how.plain or how.browser:
                from rowtui.tui.outline.plain import run_outlined

                await run_outlined(app)
            else:
                await app.run_async(mouse=how.mouse)
        finally:
            await engine.close()
        if app.defect is not None:
            raise defect_error(app.defect)
        if switch is not None and app.chosen_project and not app.return_code:
            switch(app.chosen_project)
        return app.return_code or 0

    return asyncio.run(main())
