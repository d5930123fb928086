"""The dashboard: wires views, session, feed and themes together, and carries out commands.

It owns the session. Views read the session and call the app's verbs; whatever waits runs in a
worker that ends by showing the current view again. `run_dashboard` is the way in.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import textual.constants
from rowtui.core.engine_process.errors import EngineLost
from rowtui.core.errors import RowtuiError
from rowtui.core.project.played_views import FASTER, SLOWER
from rowtui.core.text import visible
from rowtui.tui.actions import BY_ID, TITLES, bindings_for
from rowtui.tui.feed import Feed
from rowtui.tui.kept_fields import KeptFields
from rowtui.tui.kept_rules import KeptStylesheet
from rowtui.tui.line_verbs import LineVerbs
from rowtui.tui.logins import Logins
from rowtui.tui.need_steps import NeedSteps
from rowtui.tui.network_verbs import NetworkVerbs
from rowtui.tui.palette_commands import RegistryProvider
from rowtui.tui.played import control_played
from rowtui.tui.screens.dialog import Dialog
from rowtui.tui.screens.view import View
from rowtui.tui.screens.views import VIEW_CLASSES, looks_of, open_view
from rowtui.tui.session import Session, describe
from rowtui.tui.terminal import Manner, manner
from rowtui.tui.terminal_app import TerminalApp
from rowtui.tui.theme_choice import LOOK_SECONDS, ThemeChoice
from rowtui.tui.themes import variable_defaults
from rowtui.tui.unbound import Stray, unbound_words
from rowtui.tui.verbs import Verbs
from rowtui.tui.work import start
from textual import events
from textual.screen import ModalScreen, Screen

if TYPE_CHECKING:
    from rowtui.core.engine import Engine
    from rowtui.core.project.played_views import Played

ENDING_SIGNALS = (signal.SIGHUP, signal.SIGTERM, signal.SIGINT)
"""The terminal went away, or somebody asks: leave cleanly, with 128 + the signal as exit code."""


LOAD_SECONDS = 0.3
"""Between two views that are loaded ahead: the keys of a person come first."""

PREVIOUS_VIEW = {"explain": "groups", "pack": "groups", "submit": "groups", "log": "queue"}
"""Where a step back leads; to the status from all others."""


class RowtuiApp(TerminalApp):
    """One project on one screen."""

    TITLE = "rowtui"
    CSS_PATH = ["app.tcss", "screens/pages.tcss"]
    BINDINGS = bindings_for("app")
    COMMANDS = {RegistryProvider}
    MODES: ClassVar[dict[str, str | Callable[[], Screen[Any]]]] = {
        name: partial(open_view, name) for name in VIEW_CLASSES
    }
    DEFAULT_MODE = "status"
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (60, "-narrow"), (100, "-normal"), (160, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (15, "-short"), (30, "-tall"), (45, "-high")]

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
    ) -> None:
        # Textual's own log has every key that is pressed, and so passwords.
        vars(textual.constants)["LOG_FILE"] = None
        super().__init__(how or Manner())
        self.stylesheet = KeptStylesheet(variables=self.get_css_variables())
        self.session = Session(engine, read_only=read_only, clock=clock, played=played)
        self.session.age_step = self.how.tick
        self.themes = ThemeChoice(self, config / "themes" if config else None, state, self.how)
        self.theme = self.themes.begin(theme)
        self._wrong = list(self.themes.wrong)
        self.config = config
        self._feed = Feed(self.session, self.show_again, self.report)
        self.verbs = Verbs(self, self.session, self._feed)
        self.network = NetworkVerbs(self, self.session, self._feed)
        tell = partial(self.session.note, "settings", style="warning")
        self.kept_fields = KeptFields(state, tell)
        self.line = LineVerbs(self, self.session, state)
        self.logins = Logins(self, self.session, self._feed)
        self.needs = NeedSteps(self, self.session)
        self._stray = Stray()
        self._last_failure: tuple[str, str] | None = None
        self.defect: Exception | None = None  # what ended the dashboard, if it was a defect

    def _log(self, *_: object, **__: object) -> None:
        """Nothing, to nobody: see `__init__`."""

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """A value for every variable of ours, whatever the theme leaves out."""
        return variable_defaults(self.current_theme)

    # Life

    def on_mount(self) -> None:
        """Start following the project after the first paint."""
        with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):
            loop = asyncio.get_running_loop()
            for number in ENDING_SIGNALS:
                loop.add_signal_handler(number, self.end_by_signal, number)
        self.app_resume_signal.subscribe(self, self._come_back)
        self._load_keys()
        if self._wrong:
            self.notify("\n".join(self._wrong), severity="warning", markup=False)
            for text in self._wrong:
                self.session.note("settings", text, "warning")
        self.set_interval(self.how.tick, self._tick)
        self.set_interval(1.0, self._look_around)
        self.set_interval(LOOK_SECONDS, self.themes.look)
        self.call_after_refresh(self._start_feed)

    def _start_feed(self) -> None:
        start(self, self._feed.run, "feed")
        start(self, self.logins.listen, "logins")
        start(self, self._load_views, "views")
        self.keep_little()

    async def _load_views(self) -> None:
        """The other views, while nobody waits for them: opening one finds it loaded."""
        for name in VIEW_CLASSES:
            await asyncio.sleep(LOAD_SECONDS)
            looks = await asyncio.to_thread(looks_of, name)
            if not self.stylesheet.has_source(str(looks), ""):
                self.stylesheet.read(looks)
                self.stylesheet.parse()  # no view that is there is meant by them

    def _load_keys(self) -> None:
        if self.config is None or not (self.config / "keys.toml").is_file():
            return
        from rowtui.tui.keymap import load_keymap

        keys = load_keymap(self.config)
        self._wrong += keys.wrong
        self.session.keys = keys.keys
        self.set_keymap(dict(keys.keys))

    def end_by_signal(self, number: signal.Signals) -> None:
        """Leave; jobs that are being sent stop after the current one."""
        if self.outside and number == signal.SIGINT:
            return  # Ctrl-C in the pager is the pager's
        if self.session.sending is not None and self.session.sending.phase == "sending":
            self.session.sending.phase = "stopping"
        super().end_by_signal(number)

    def _come_back(self, _: object) -> None:
        """From the shell, or from another program: draw everything, and see what changed."""
        self.refresh(layout=True)
        self._feed.refresh_now()

    def _handle_exception(self, error: Exception) -> None:
        """A defect of ours ends the dashboard with one sentence; tests see it as it is."""
        if self.is_headless:
            super()._handle_exception(error)
            return
        self.defect = self.defect or error
        self.exit(1, return_code=1)

    def _tick(self) -> None:
        if self.view is not None:
            self.view.show_header()

    def _look_around(self) -> None:
        self.look_for_terminal()
        self.logins.show_next()

    # What happened

    @property
    def view(self) -> View | None:
        """The view on the screen, also below a page that is open."""
        stack = self._screen_stacks.get(self.current_mode, [])
        return stack[0] if stack and isinstance(stack[0], View) else None

    @property
    def view_name(self) -> str:
        """The name of the view on the screen."""
        return self.view.MODE if self.view else "status"

    def show_again(self, what: str) -> None:
        """Something changed: bring the view on the screen up to date."""
        if what == "snapshot" and self.session.broken is None:
            self._last_failure = None
        if self.view is not None:
            self.view.show()

    def notify(self, message: str, **how: Any) -> None:
        """A toast; the one that says the same already goes, however often a key is pressed."""
        for same in [one for one in self._notifications if one.message == message]:
            self._unnotify(same, refresh=False)
        super().notify(message, **how)

    def report(self, what: str, error: Exception) -> None:
        """An error for people: a toast (once) and a line of activity; never a traceback."""
        message, hint = describe(error)
        text = f"{what}: {message}"
        # The loss of the engine is told once, whoever waited for it.
        failure = (hint if isinstance(error, EngineLost) else what, message)
        if failure != self._last_failure:
            self._last_failure = failure
            self.session.note("error", text + (f"\n{hint}" if hint else ""), "failed")
            shown = "\n".join(visible(part) for part in [*text.splitlines()[:6], hint] if part)
            self.notify(shown, title="Error", severity="error", timeout=10, markup=False)
        if self.view is not None:
            self.view.show_bottom()

    def look_at_network(self) -> None:
        """Somebody wants to see the network as it is now."""
        self._feed.look_at_network()

    def forget_marks(self, view: str) -> None:
        """The marks in that view have done their work."""
        stack = self._screen_stacks.get(view, [])
        if stack and isinstance(stack[0], View):
            stack[0].forget_marks()

    # Keys

    def on_key(self, event: events.Key) -> None:
        """A key that no field took: do nothing for a text, and answer one without a command."""
        if self._stray.goes_on(event):
            event.prevent_default()
            self._answer(self._stray.answer)
        elif event.key in self.screen.active_bindings:
            self._answer("")
        else:
            self._stray.begin(event)
            on_page = isinstance(self.screen, Dialog)
            view = "" if on_page else self.view_name
            self._answer(unbound_words(event.key, view, self.session.keys))

    def _answer(self, text: str) -> None:
        if isinstance(self.screen, View | Dialog):
            self.screen.answer(text)

    # Commands

    async def action_command(self, command_id: str) -> None:
        """Carry out a command of the registry, or say why not."""
        command = BY_ID[command_id]
        if reason := command.enabled(self.session):
            label = command.label.rstrip("…")
            self.notify(f"{label}: {reason}", severity="warning", markup=False)
            return
        if command_id == "go.pack" and self.view is not None:
            self.view.show_packed()
            return
        if command_id.startswith("go."):
            self.go(command_id.removeprefix("go."))
            return
        if command.scope == "rows" and self.view is not None:
            getattr(self.view.list_at_hand, command.method.replace("command_", "action_"))()
            return
        target = self if command.scope == "app" else self.view
        result = getattr(target, command.method)()
        if inspect.isawaitable(result):
            await result

    def go(self, view: str) -> None:
        """Show a view."""
        if view in TITLES:
            self.switch_mode(view)

    def command_refresh(self) -> None:
        """Read the project again, and ask the queues."""
        self._feed.refresh_now(queues=True)

    def command_reread(self) -> None:
        """Read the project again, every directory of it."""
        self.session.note("you", "reading every directory again")
        self._feed.refresh_now(full=True)
        self.show_again("activity")

    def command_pause(self) -> None:
        """Stop following changes, or go on."""
        self.session.paused = not self.session.paused
        self.session.note("you", "paused" if self.session.paused else "following changes again")
        if not self.session.paused:
            self._feed.refresh_now()
        self.show_again("paused")

    def command_activity(self) -> None:
        """What happened, and what was run."""
        self.line.show_activity()

    def command_line(self) -> None:
        """Type a command."""
        self.line.open()

    def command_help(self) -> None:
        """What can be done here."""
        from rowtui.tui.screens.help import HelpScreen

        self.push_screen(HelpScreen(self.session, self.view_name, TITLES[self.view_name]))

    def command_connect(self) -> None:
        """Log in to the cluster that waits for it, or to one of several."""
        if self.view is not None and self.view.login:
            self.logins.connect(self.view.login)
        else:
            self.logins.choose()

    def action_command_palette(self) -> None:
        """Not over a question: what is typed there goes nowhere else."""
        if not isinstance(self.screen, ModalScreen):
            super().action_command_palette()

    def command_theme(self) -> None:
        """The next theme."""
        self.themes.next()

    def command_copy(self) -> None:
        """Copy what is selected, through the terminal."""
        text = self.view.copyable() if self.view else ""
        if not text:
            self.notify("There is nothing to copy here.", severity="warning", markup=False)
            return
        self.copy_text(text)

    def command_back(self) -> None:
        """One step back, to the status in the end."""
        if self.view is not None and not self.view.back():
            self.go(PREVIOUS_VIEW.get(self.view_name, "status"))

    def command_faster(self) -> None:
        """Let the time of a demo or a recording go by faster."""
        control_played(self, FASTER)

    def command_slower(self) -> None:
        """Let the time of a demo or a recording go by slower."""
        control_played(self, SLOWER)

    def command_steps(self) -> None:
        """Show or hide the first steps."""
        self.session.first_steps = not self.session.first_steps
        self.show_again("steps")

    def command_quit(self) -> None:
        """Leave; while jobs are being sent, or the autopilot is on, only after a yes."""
        sending = self.session.sending
        if sending is not None and sending.running:
            self.verbs.ask_to_leave(sending)
            return
        view = self.session.network.view
        if view is not None and view.run is not None and view.run.here:
            from rowtui.tui.screens.confirm import ConfirmScreen

            lines = ["It sends no more jobs; those that were sent go on. `s` in 8 goes on later."]
            question = "Leave, and stop the autopilot?"
            self.push_screen(ConfirmScreen(question, lines, 1), self._leave)
            return
        self.exit(0)

    def _leave(self, yes: bool | None) -> None:
        if yes:
            self.exit(0)

    async def action_quit(self) -> None:
        """Textual's own way to leave."""
        self.command_quit()

    def action_help_quit(self) -> None:
        """Ctrl-C ends many programs; here it says what does."""
        keys = [key for key, one in self.active_bindings.items() if one.binding.id == "app.quit"]
        self.notify(f"Press {keys[0] if keys else 'ctrl+q'} to leave; jobs go on.", markup=False)


def run_dashboard(
    engine: Engine,
    *,
    read_only: bool = False,
    theme: str | None = None,
    how: Manner | None = None,
    played: Played | None = None,
    clock: Callable[[], float] = time.time,
) -> int:
    """Show the dashboard until the person leaves; closes the engine. The exit code.

    Raises: RowtuiError where there is no terminal that could show it, and after a defect.
    """
    streams = (sys.stdin, sys.stdout, sys.__stderr__)  # Textual draws on standard error
    seen = all(stream is not None and stream.isatty() for stream in streams)
    how = how or manner(os.environ, encoding=getattr(sys.stdout, "encoding", "utf-8"))
    if how.text_only or not (seen or how.browser):
        raise RowtuiError(
            "the dashboard needs a terminal",
            "`rowtui show status` prints the same as text",
        )
    import platformdirs

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
    )

    async def main() -> int:
        try:
            await app.run_async(mouse=how.mouse)
        finally:
            await engine.close()
        if app.defect is not None:
            raise _told(app.defect)
        return app.return_code or 0

    return asyncio.run(main())


def _told(defect: Exception) -> RowtuiError:
    """A defect as a sentence; its details go to a file."""
    import traceback

    import platformdirs

    path = Path(platformdirs.user_log_dir("rowtui")) / "dashboard.log"
    hint = f"the details are in {path}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(traceback.format_exception(defect)), encoding="utf-8")
    except OSError as error:
        hint = f"the details could not be written: {error}"
    message, _ = describe(defect)
    return RowtuiError(f"the dashboard ended because of a defect: {message}", hint)
