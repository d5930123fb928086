"""What all views share: the lines around them, and being shown again when something changed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, ClassVar

from rowtui.tui.actions import TITLES, VIEWS, hints_here
from rowtui.tui.crumbs import crumbs_of
from rowtui.tui.played import first_step
from rowtui.tui.render.badges import cluster_badges
from rowtui.tui.render.cells import line
from rowtui.tui.render.chrome import Hint, Tab, header, hints, tabs
from rowtui.tui.render.numbers import clock_time
from rowtui.tui.render.plan_sending import badge as sending_badge
from rowtui.tui.screens.dialog import typed_keys
from rowtui.tui.widgets.chrome import OneLine
from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.events import Resize
from textual.screen import Screen
from textual.widget import Widget

if TYPE_CHECKING:
    from rowtui.tui.app import RowtuiApp
    from rowtui.tui.render.cells import Line
    from rowtui.tui.session import Session
    from rowtui.tui.widgets.list_table import ListTable

TABS = tuple(Tab(number, title, mode) for mode, (number, title) in VIEWS.items())
UNNUMBERED = {mode: Tab(0, TITLES[mode], mode) for mode in TITLES if mode not in VIEWS}

LOWEST = 8
"""Lines of a terminal; on fewer the list keeps them, without frames and the lines around it."""


class View(Screen[None]):
    """One of the views. `MODE` is its name; subclasses give `body` and `show_body`."""

    MODE: ClassVar[str]
    _complete = False
    _answer = ""

    def __init_subclass__(cls, *args: Any, **kwargs: Any) -> None:
        """Its looks stand beside it, and are read when it is first shown."""
        super().__init_subclass__(*args, **kwargs)
        cls.CSS_PATH = f"{cls.MODE}.tcss"

    def __init__(self) -> None:
        app = self.app
        across = self._get_breakpoint_classes(app.size.width, app.HORIZONTAL_BREAKPOINTS or [])
        down = self._get_breakpoint_classes(app.size.height, app.VERTICAL_BREAKPOINTS or [])
        low = {"-low"} if app.size.height < LOWEST else set()
        # Textual finds out when it is shown, and styles everything once more.
        super().__init__(classes=" ".join(across | down | low))
        # Its widgets are styled when they are mounted: no need to style everything once more.
        self._css_update_count = self.app._css_update_count

    @property
    def dashboard(self) -> RowtuiApp:
        """The app, with its own type."""
        from rowtui.tui.app import RowtuiApp

        assert isinstance(self.app, RowtuiApp)
        return self.app

    @property
    def session(self) -> Session:
        """The state behind all views."""
        return self.dashboard.session

    def compose(self) -> ComposeResult:
        """The body between the lines at the top and at the bottom."""
        yield OneLine(name="header")
        yield OneLine(name="tabs")
        with Container(id="body"):
            yield from self.body()
        yield OneLine(name="step")
        yield OneLine(name="message")
        yield OneLine(name="keys")

    def body(self) -> ComposeResult:
        """The widgets of this view."""
        raise NotImplementedError

    def show_body(self) -> None:
        """Bring the widgets of this view up to date with the session."""
        raise NotImplementedError

    def copyable(self) -> str:
        """What `y` copies here; "" for nothing."""
        return ""

    @property
    def list_at_hand(self) -> ListTable:
        """The long list that the person is in, else the first one on the screen."""
        from rowtui.tui.widgets.list_table import ListTable

        tables = [table for table in self.query(ListTable) if table.display]
        return next((table for table in tables if table.has_focus_within), tables[0])

    def export_to(self, path: str) -> str:
        """Write the long list at hand to this file, or ask which; "" or why that cannot be."""
        from rowtui.tui.screens.export import export_list, export_to
        from rowtui.tui.widgets.list_table import ListTable

        if not any(table.display for table in self.query(ListTable)):
            return "there is no list here that can be written to a file"
        table = self.list_at_hand
        return export_to(table, path) if path else export_list(table)

    def show_packed(self) -> None:
        """Go to the Pack view, with what would be submitted from here. Default: what it had."""
        self.dashboard.go("pack")

    def pack_action(self) -> None:
        """Go to the Pack view, with all eligible groups of the action at hand."""
        if self.session.action is not None:
            from rowtui.tui.render.plan import Wanted  # loads what packs

            self.session.packing.want(Wanted(self.session.action.index))
        self.dashboard.go("pack")

    def forget_marks(self) -> None:
        """The marks here have done their work. Default: there are none."""

    def show_about(self, name: str) -> None:
        """Somebody wants to see that one here: a cluster in the queue, say. Default: nothing."""

    @property
    def crumbs(self) -> tuple[str, ...]:
        """What this view is about, from the widest to the narrowest: an action, a group."""
        return crumbs_of(self.MODE, self.session)

    @property
    def login(self) -> str:
        """The cluster under the cursor that waits for a login; "" if there is none."""
        return ""

    def back(self) -> bool:
        """One step back inside this view; False if there is none."""
        return False

    async def on_mount(self) -> None:
        """All widgets are there: show what changed meanwhile."""
        await asyncio.sleep(0)  # to open a view is too much work for one step of the event loop
        self._complete = True
        self.call_after_refresh(self.show)
        self.dashboard.view_opened()

    async def on_screen_resume(self) -> None:
        """Something may have changed while another view was shown."""
        await asyncio.sleep(0)
        self.show()
        self.dashboard.logins.show_next()

    def on_descendant_focus(self) -> None:
        """A field takes other keys than the view."""
        self.show_bottom()

    def on_resize(self, event: Resize) -> None:
        """The lines depend on the width; what is shown at all on the height."""
        self.set_class(event.size.height < LOWEST, "-low")
        self.call_after_refresh(self.show)

    @property
    def ready(self) -> bool:
        """All widgets are there: not before they are mounted, not while leaving."""
        return self._complete and self.is_attached and self.is_running

    def show(self) -> None:
        """Bring everything up to date with the session."""
        if not self.ready:
            return
        self.show_header()
        self.show_body()
        self.show_bottom()

    def show_header(self) -> None:
        """The line at the top; its age changes by itself."""
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
            )
        )
        shown = (*TABS, UNNUMBERED[self.MODE]) if self.MODE in UNNUMBERED else TABS
        spans, areas = tabs(width, shown, self.MODE)
        self.query_one("#tabs", OneLine).show(spans, areas)

    def show_bottom(self) -> None:
        """The last thing that happened, and the keys."""
        if not self.ready:
            return
        self.query_one("#message", OneLine).show(self.message())
        if typed := typed_keys(self):
            self.query_one("#keys", OneLine).show(hints(self.size.width, typed)[0])
            return
        keys = [
            Hint(
                command.keys_of(self.session.keys).partition(" ")[0] or ":",
                command.label,
                command.id,
                not command.enabled(self.session),
            )
            for command in hints_here(self.MODE)
        ]
        spans, areas = hints(self.size.width, keys)
        self.query_one("#keys", OneLine).show(spans, areas)

    def _show_step(self) -> None:
        """The first steps, for who sees a demo."""
        session, shown = self.session, self.query_one("#step", OneLine)
        played = session.played
        shown.display = (
            played is not None
            and played.stranger
            and session.first_steps
            and not self.has_class("-low")
        )
        if played is not None and shown.display:
            from rowtui.tui.widgets.list_table import ListTable

            lists = [table.marks for table in self.query(ListTable) if self.MODE == "groups"]
            marked = any(marks.keys or marks.everything for marks in lists)
            shown.show(first_step(session, self.MODE, marked=marked))

    def answer(self, text: str) -> None:
        """Say this about the key that was pressed, until the next one; "" for nothing."""
        if text != self._answer:
            self._answer = text
            self.show_bottom()

    def message(self) -> Line:
        """The line above the keys: the answer to a key, else the latest activity."""
        if self._answer:
            return line((f" {self._answer}", "warning"))
        if not self.session.activity:
            return ()
        latest = self.session.activity[-1]
        return line(
            (f" {clock_time(latest.at)}  ", "dim"),
            (" ".join(latest.text.split()), latest.style),
        )


def set_titles(widget: Widget, title: str, subtitle: str = "") -> None:
    """The texts in a widget's frame; never read as markup."""
    from rowtui.core.text import visible

    for name, text in (("border_title", title), ("border_subtitle", subtitle)):
        shown = visible(text)
        if getattr(widget, f"_shown_{name}", None) != shown:
            setattr(widget, f"_shown_{name}", shown)
            setattr(widget, name, Content(shown) if shown else None)
