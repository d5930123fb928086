"""Base class of all views: the lines around them, and the update after a change.

`Dashboard` is the app as the views and the command line use it.
"""

from __future__ import annotations

import asyncio
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, cast

from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.schedulers.base import called
from rowtui.core.engine.process.errors import EngineLost
from rowtui.tui.commands.command import TITLES, VIEWS, Command
from rowtui.tui.commands.registry import BY_ID, hints_here
from rowtui.tui.shell.played import first_step
from rowtui.tui.shell.recall import Place, directory_in, place_in
from rowtui.tui.shell.session import describe
from rowtui.tui.shell.terminal_app import ProjectApp
from rowtui.tui.views.chrome import Hint, Tab, cluster_badges, header, hints, tabs
from rowtui.tui.views.dialogs import typed_keys
from rowtui.tui.views.submit.plan_sending import badge as sending_badge
from rowtui.tui.widgets.cells import line
from rowtui.tui.widgets.chrome import OneLine
from rowtui.tui.widgets.short_text import clock_time
from textual.app import ComposeResult
from textual.containers import Container
from textual.events import DescendantFocus, Resize
from textual.message import Message
from textual.screen import Screen

if TYPE_CHECKING:
    from pathlib import Path

    from rowtui.tui.commands.verbs import Verbs
    from rowtui.tui.shell.feed import Feed
    from rowtui.tui.shell.logins import Logins
    from rowtui.tui.shell.recall import StartState
    from rowtui.tui.shell.session import Session
    from rowtui.tui.shell.themes import ThemeChoice
    from rowtui.tui.widgets.cells import Line
    from rowtui.tui.widgets.table.list_table import ListTable
    from rowtui.tui.widgets.table.virtual_table import VirtualTable

TABS = (
    *(Tab(str(number), title, mode, f"go.{mode}") for mode, (number, title) in VIEWS.items()),
    Tab("C", TITLES["clusters"], "clusters", "go.clusters"),
    Tab("P", "Projects", "projects", "app.projects"),
)

LOWEST = 8
"""Lines of a terminal; with fewer lines the list uses all of them, without frames and
other lines.
"""


class ScreenView(Screen[None]):
    """One of the views. `MODE` is its name; subclasses define `body` and `show_body`."""

    MODE: ClassVar[str]
    PRESSED: ClassVar[str] = ""  # the command of a second click on a row
    ALLOW_IN_MAXIMIZED_VIEW = "#header, #tabs, #message, #keys"
    ESCAPE_TO_MINIMIZE = False  # the command that goes one step back does it
    _complete = False
    _answer = ""

    def __init_subclass__(cls, *args: Any, **kwargs: Any) -> None:
        """Set the style file of the view, in the same folder, read when the view first opens."""
        super().__init_subclass__(*args, **kwargs)
        cls.CSS_PATH = "view.tcss"

    def __init__(self) -> None:
        app = self.app
        across = self._get_breakpoint_classes(app.size.width, app.HORIZONTAL_BREAKPOINTS or [])
        down = self._get_breakpoint_classes(app.size.height, app.VERTICAL_BREAKPOINTS or [])
        low = {"-low"} if app.size.height < LOWEST else set()
        # Without these classes, Textual would compute them when the view opens, and style
        # everything twice.
        super().__init__(classes=" ".join(across | down | low))
        # The widgets are styled when they are mounted, so another pass over everything is not
        # necessary.
        self._css_update_count = self.app._css_update_count

    @property
    def dashboard(self) -> Dashboard:
        """The app, with its own type."""
        return cast("Dashboard", self.app)

    @property
    def session(self) -> Session:
        """The state behind all views."""
        return self.dashboard.session

    def compose(self) -> ComposeResult:
        """Compose the body between the lines at the top and at the bottom."""
        yield OneLine(name="header")
        yield OneLine(name="tabs")
        with Container(id="body"):
            yield from self.body()
        yield OneLine(name="step")
        yield OneLine(name="message")
        yield OneLine(name="keys")

    def body(self) -> ComposeResult:
        """Compose the widgets of this view."""
        raise NotImplementedError

    def show_body(self) -> None:
        """Update the widgets of this view from the session."""
        raise NotImplementedError

    def copyable(self) -> str:
        """Return the text that `y` copies in this view; "" for none."""
        return ""

    def place(self) -> Place:
        """Return the row under the cursor as the options of `rowtui` name it."""
        return place_in(self.MODE, self.session)

    def directory_here(self) -> str:
        """Return the directory of the row under the cursor; "" if there is none."""
        return directory_in(self.MODE, self.session)

    def recall_to(self, recall: StartState) -> None:
        """Store what the next dashboard shows in this view, beside the lists. Default: nothing."""

    @property
    def lists(self) -> list[ListTable]:
        """The long lists of this view."""
        # The name of the class, because the view of the first frame has no list and loads no class.
        return [cast("ListTable", table) for table in self.query("ListTable")]

    @property
    def list_at_hand(self) -> ListTable:
        """The long list that has the focus, or the first one on the screen."""
        tables = [table for table in self.lists if table.display]
        return next((table for table in tables if table.has_focus_within), tables[0])

    def export_to(self, path: str) -> str:
        """Write the current long list to this file, or ask for a file; return "" or the reason for
        a refusal.
        """
        # A late import, because the first frame writes no files.
        from rowtui.tui.views.export import export_list, export_to

        if not any(table.display for table in self.lists):
            return "there is no list here that can be written to a file"
        table = self.list_at_hand
        return export_to(table, path) if path else export_list(table, table.kept_as)

    def show_packed(self) -> None:
        """Go to the Pack view, with the groups that this view would submit. Default: keep its
        groups.
        """
        self.dashboard.go("pack")

    def pack_action(self) -> None:
        """Go to the Pack view, with all eligible groups of the current action."""
        if self.session.action is not None:
            # A late import, because the module loads the packing code.
            from rowtui.tui.views.submit.plan import PlanRequest

            self.session.packing.want(PlanRequest(self.session.action.index))
        self.dashboard.go("pack")

    def forget_marks(self) -> None:
        """Remove the marks of this view after a command has used them. Default: no marks."""

    def show_about(self, name: str) -> None:
        """Show this item, for example a cluster in the queue. Default: do nothing."""

    @property
    def crumbs(self) -> tuple[str, ...]:
        """The subject of this view, the widest term first: an action, a group."""
        session = self.session
        action = session.action.name if session.action else ""
        if self.MODE == "explain" and action:
            return (action, f"group {session.group + 1:,}")
        if self.MODE in ("groups", "pack") and action:
            return (action,)
        if self.MODE == "submit" and session.sending is not None:
            return ("plan", plural(len(session.sending.plan.jobs), "job"))
        if self.MODE == "log" and session.job is not None:
            return (session.job.action, called(session.job.label))
        return ()

    @property
    def login(self) -> str:
        """The cluster under the cursor that waits for a login; "" if there is none."""
        return ""

    def back(self) -> bool:
        """Go one step back inside this view; return False if there is none."""
        return False

    async def on_mount(self) -> None:
        """Show the current state after all widgets are mounted."""
        await asyncio.sleep(0)  # Opening a view takes too long for one step of the event loop.
        self._complete = True
        self.call_after_refresh(self.show)
        self.dashboard.view_opened()

    async def on_screen_resume(self) -> None:
        """Update the view, because the state may have changed while another view was shown."""
        await asyncio.sleep(0)
        self.show()
        self.dashboard.logins.show_next()

    def on_descendant_focus(self) -> None:
        """Update the keys: a field takes other keys than the view."""
        self.show_bottom()

    def on_resize(self, event: Resize) -> None:
        """Show the view again: its lines depend on the width, its visible parts on the height."""
        self.set_class(event.size.height < LOWEST, "-low")
        self.call_after_refresh(self.show)

    async def on_virtual_table_row_pressed(self, _: VirtualTable.RowPressed) -> None:
        """Carry out the command of a second click."""
        if self.PRESSED:
            await self.dashboard.action_command(self.PRESSED)

    def enlarge(self) -> None:
        """Give the whole screen to the pane that has the keys, or take it back."""
        pane = self.maximized or self.focused
        if pane is None or not pane.allow_maximize:
            self.answer("no pane here has the keys: Tab goes to one")
            return
        size = "1fr" if self.maximized is None else None  # A view may have set another one.
        self.maximized = pane if size else None
        pane.styles.height = pane.styles.width = size
        pane.styles.max_height = "100%" if size else None
        self.call_after_refresh(self.show)

    @property
    def side_by_side(self) -> bool:
        """Whether the screen has room for panes with frames beside each other."""
        return self.size.width >= 112 and self.size.height >= 32  # as in the styles

    @property
    def ready(self) -> bool:
        """Whether all widgets are mounted, and the view is not being closed."""
        return self._complete and self.is_attached and self.is_running and self.display

    def check_message_enabled(self, message: Message) -> bool:
        """Refuse messages of the widgets until all of them are mounted, and once the first of
        them may be gone: what a handler looks for might not be there.
        """
        if isinstance(message, DescendantFocus) or type(message).__module__.startswith("rowtui."):
            return self.ready and super().check_message_enabled(message)
        return super().check_message_enabled(message)

    def show(self) -> None:
        """Update everything from the session."""
        if not self.ready:
            return
        self.show_header()
        self.show_body()
        self.show_bottom()

    def show_header(self) -> None:
        """Show the line at the top; its age changes with time."""
        if not self.ready:
            return
        self._show_step()
        session = self.session
        width = self.size.width
        self.query_one("#header", OneLine).show(
            header(
                width,
                session.project,
                session.snapshot,
                session.freshness,
                session.read_only,
                crumbs=self.crumbs,
                badges=cluster_badges(
                    session.jobs.clusters if session.jobs else (),
                    session.clock(),
                    session.connecting,
                ),
                busy=sending_badge(session.sending),
                played=session.played.state.badge if session.played else "",
                now=session.clock(),
            )
        )
        spans, areas = tabs(width, TABS, self.MODE)
        self.query_one("#tabs", OneLine).show(spans, areas)

    def show_bottom(self) -> None:
        """Show the latest activity, and the keys."""
        if not self.ready:
            return
        self.query_one("#message", OneLine).show(self.message())
        if typed := typed_keys(self):
            self.query_one("#keys", OneLine).show(hints(self.size.width, typed)[0])
            return
        keys = [self._hint(command) for command in hints_here(self.MODE)]
        always = [self._hint(BY_ID[name]) for name in ("app.line", "app.help")]
        spans, areas = hints(self.size.width, keys, always)
        self.query_one("#keys", OneLine).show(spans, areas)

    def _hint(self, command: Command) -> Hint:
        key = command.keys_of(self.session.keys).partition(" ")[0] or ":"
        enabled = not command.enabled(self.session)
        return Hint(key, command.label, command.id, enabled, command.description)

    def _show_step(self) -> None:
        """Show the first steps to the user of a demo."""
        session, shown = self.session, self.query_one("#step", OneLine)
        played = session.played
        shown.display = played is not None and session.first_steps and not self.has_class("-low")
        if shown.display:
            session.seen.add(self.MODE)
            lists = [table.marks for table in self.lists if self.MODE == "groups"]
            marked = any(marks.keys or marks.everything for marks in lists)
            shown.show(first_step(session, self.MODE, marked=marked))

    def answer(self, text: str) -> None:
        """Show this text about the pressed key, until the next key; "" shows no text."""
        if text != self._answer:
            self._answer = text
            self.show_bottom()

    def message(self) -> Line:
        """Return the line above the keys: the answer to a key, or the latest activity."""
        if self._answer:
            return line((f" {self._answer}", "warning"))
        if not self.session.activity:
            return ()
        latest = self.session.activity[-1]
        return line(
            (f" {clock_time(latest.at)}  ", "dim"),
            (" ".join(latest.text.split()), latest.style),
        )


class Dashboard(ProjectApp):
    """The app of one project with its views."""

    config: Path | None  # The user's own configuration folder.
    themes: ThemeChoice
    recall: StartState
    feed: Feed
    logins: Logins
    _last_failure: tuple[str, str] | None = None

    @cached_property
    def verbs(self) -> Verbs:
        """The verbs for plans and jobs; the first frame does not need their modules."""
        from rowtui.tui.commands.verbs import Verbs

        return Verbs(self, self.session, self.feed)

    @property
    def view(self) -> ScreenView | None:
        """The view on the screen, also while a page covers it."""
        return self._view_of(self.current_mode)

    @property
    def view_name(self) -> str:
        """The name of the view on the screen."""
        return self.view.MODE if self.view else "status"

    def _view_of(self, mode: str) -> ScreenView | None:
        stack = self._screen_stacks.get(mode, [])
        return stack[0] if stack and isinstance(stack[0], ScreenView) else None

    async def action_command(self, command_id: str) -> None:
        """Carry out a command of the registry, or report why the command cannot be used."""
        raise NotImplementedError

    def show_again(self, what: str) -> None:
        """Update the view on the screen after a change."""
        if what == "snapshot" and self.session.broken is None:
            self._last_failure = None
        if self.view is not None:
            self.view.show()

    def show_about(self, name: str) -> None:
        """Let the view on the screen show that item."""
        if self.view is not None:
            self.view.show_about(name)

    def report(self, what: str, error: Exception) -> None:
        """Report an error to the user: a toast (once) and a line of activity; never a traceback."""
        message, hint = describe(error)
        text = f"{what}: {message}"
        # The loss of the engine is reported once, even if several operations waited for the engine.
        failure = (hint if isinstance(error, EngineLost) else what, message)
        if failure != self._last_failure:
            self._last_failure = failure
            self.session.note("error", text + (f"\n{hint}" if hint else ""), "failed")
            shown = "\n".join(visible(part) for part in [*text.splitlines()[:6], hint] if part)
            self.notify(shown, title="Error", severity="error", timeout=10)
        if self.view is not None:
            self.view.show_bottom()

    def forget_marks(self, view: str) -> None:
        """Clear the marks in that view after a command has used them."""
        if (found := self._view_of(view)) is not None:
            found.forget_marks()
