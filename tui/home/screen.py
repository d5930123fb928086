"""The home view, on top of a view or alone: the projects, and the one that the user opens.

The stored summaries are shown at once; readers in other processes then replace them one by one.
The view never looks at a project itself, because its file system may hang.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import ClassVar

from rowtui.core.base.text import plural, visible
from rowtui.core.home.known import HOURS, HOURS_EACH, KnownProject, KnownProjects
from rowtui.core.home.reading import read_projects
from rowtui.tui.commands.command import shown_keys
from rowtui.tui.home.projects import (
    COLUMNS,
    about_line,
    cells_of,
    chart_of,
    needs_of,
    projects_total,
    snapshot_of,
    state_line,
    values_of,
)
from rowtui.tui.shell.work import start
from rowtui.tui.views.chrome import Hint
from rowtui.tui.views.dialogs import Dialog, PageScreen
from rowtui.tui.views.questions import Question, confirm
from rowtui.tui.views.status.status import action_cells, action_columns, total_cells
from rowtui.tui.widgets.cells import line, wrapped
from rowtui.tui.widgets.chart import Chart, ChartArea, ChartMark, mark_for
from rowtui.tui.widgets.chrome import OneLine, Panel, set_titles
from rowtui.tui.widgets.table.engine_rows import MemoryRows
from rowtui.tui.widgets.table.list_table import ListTable
from rowtui.tui.widgets.table.rows import ListRows
from rowtui.tui.widgets.table.virtual_table import VirtualTable
from rowtui.tui.widgets.text_lines import LaidOut
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical

WHAT_A_PROJECT_IS = (
    line("This folder is not a project, and you have not opened one yet."),
    (),
    line("A project is a folder with a file ", ("workflow.toml", "title"), ", which names the "
         "actions, and a folder ", ("workspace", "title"), " with one directory for each thing to "
         "compute:"),
    (),
    line(("  my-study/", "")),
    line("    workflow.toml         ", ("what is run, in which order, with how much", "dim")),
    line("    workspace/T1.0-s1/    ", ("one directory for each set of parameters", "dim")),
    line("    workspace/T1.0-s2/"),
    (),
)  # fmt: skip
BEGINNINGS = {
    "1": (("init",), "start a project in this folder: four questions"),
    "2": (("demo",), "try it out: a study that ends in a minute"),
    "3": (("demo", "large"), "100,000 directories on four clusters"),
    "4": (("projects", "find", "~"), "list the projects below your home folder"),
}
"""What can be begun outside of a project: the command's words and what it does, by key."""
HOW_TO_BEGIN = (
    line(("What next? ", "heading"), "Press a number; q leaves:"),
    *(
        line("  ", (f"{key}  ", "key"), (f"{'rowtui ' + ' '.join(words):<22}  ", "title"), what)
        for key, (words, what) in BEGINNINGS.items()
    ),
    (),
    line(("Only a demo starts jobs: short ones, here. ", "dim"), "man rowtui",
         (" explains the rest.", "dim")),
)  # fmt: skip

READ_SECONDS = 60.0
"""Seconds between two readings of all projects while the view is open."""

DETAILED, WITH_CHART = (60, 20), 112
"""The terminal from which the chosen project is shown below the list, and the columns from which a
chart is beside it."""

EXPLAINED = f"CPU-h left: at most · Last {HOURS} h: completed directories per {HOURS_EACH} hours"

AROUND = 4
"""Lines of the list for its frame, its titles and its total."""


class HomeScreen(Dialog[str]):
    """All projects of the user. The result is the folder of the project to open; None for none."""

    CSS_PATH = "home.tcss"
    AUTO_FOCUS: ClassVar[str | None] = "#home-list"
    LIST_KEYS: Sequence[Hint] = (Hint("/", "filter", ""), Hint("o", "sort", ""))
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "open", id="home.open", tooltip="open this project"),
        Binding("escape,q,P", "back", "back", id="home.back",
                tooltip="show all rows again, or leave this view"),
        Binding("r", "read", "read again", id="home.read", tooltip="read all projects again"),
        Binding("delete", "forget", "take off the list", id="home.forget", key_display="Del",
                tooltip="remove this project from the list; the project stays as it is"),
        Binding("y", "copy", "copy", show=False, id="home.copy", tooltip="copy its folder"),
        Binding("question_mark", "help", "help", id="home.help", tooltip="show these keys"),
        Binding("x", "moved", show=False),
        *(Binding(key, f"begin('{key}')", what, show=False, id=f"home.begin-{key}", tooltip=what)
          for key, (_, what) in BEGINNINGS.items()),
    ]  # fmt: skip

    def __init__(
        self,
        known: KnownProjects,
        here: str = "",
        *,
        notice: str = "",
        clock: Callable[[], float] = time.time,
        read: Callable[..., Iterator[KnownProject]] = read_projects,
    ) -> None:
        """Create the view. `here`: the folder of the open project; `notice`: shown at first.

        `read`: reads projects as `read_projects` does.
        """
        super().__init__()
        self._known = known
        self._here = here
        self._notice = notice
        self._clock = clock
        self._read_projects = read
        self._projects = {one.root: one for one in known.load()}
        self._left_to_read = 0
        self._over = False
        self._answered: set[str] = set()  # Projects whose file systems do not hang.
        self._to_open = ""  # The project that is opened once it answers.
        # Runs a command in place of the dashboard; None above a project.
        self.begin: Callable[[Sequence[str]], None] | None = None

    def compose(self) -> ComposeResult:
        """Compose the list with details of one project, or the lines that explain how to begin."""
        yield ListTable(name="home-list", kept_as="projects")
        with Horizontal(id="home-details"):
            with Vertical(id="home-project"):
                yield Panel("Needs you", name="home-needs")
                yield VirtualTable(name="home-actions")
            yield Chart(name="home-chart")
        yield LaidOut(name="home-begin")
        yield OneLine(name="home-about")

    @property
    def table(self) -> ListTable:
        """The list of projects."""
        return self.query_one(ListTable)

    def on_mount(self) -> None:
        """Show the stored summaries, and read the projects after the first paint."""
        self._show()
        self.call_after_refresh(self.action_read)
        self.set_interval(READ_SECONDS, self.action_read)
        if self._notice:
            self.app.notify(self._notice, severity="error", timeout=10, markup=False)

    def on_unmount(self) -> None:
        """Stop reading."""
        self._over = True

    @property
    def chosen(self) -> KnownProject | None:
        """The project under the cursor."""
        key = self.table.cursor_key
        return self._projects.get(key) if isinstance(key, str) else None

    def _show(self) -> None:
        now, table = self._clock(), self.table
        projects = list(self._projects.values())
        rows = MemoryRows(
            projects,
            lambda one: one.root,
            lambda _, one: cells_of(one, now, self._here),
            partial(values_of, now=now),
        )
        table.empty = line(("No project matches the filter.", "dim"))
        table.show(rows, COLUMNS)
        table.sum_up(projects_total(projects) if len(projects) > 1 else None)
        begin = self.query_one("#home-begin", LaidOut)
        table.display, begin.display = bool(projects), not projects
        self.LIST_KEYS = HomeScreen.LIST_KEYS if projects else (Hint("1 to 4", "begin", ""),)
        if not projects:
            begin.show_made(
                lambda width: [
                    line(" ") + part
                    for one in (*WHAT_A_PROJECT_IS * (self.size.height >= 20), *HOW_TO_BEGIN)
                    for part in wrapped(one, width - 2) or [()]
                ]
            )
            begin.focus()
            set_titles(begin, "This folder is not a project yet")
        self._share_room()
        self._show_titles()
        self._show_chosen()

    def _share_room(self) -> None:
        """Give the list the lines of its rows, and the rest to the details; else all of them."""
        (width, height), projects = self.size, len(self._projects)
        details = bool(projects) and width >= DETAILED[0] and height >= DETAILED[1]
        self.query_one("#home-details").display = details
        self.query_one("#home-chart").display = width >= WITH_CHART
        most = min(projects + AROUND, height // 2)
        self.table.styles.height = most if details else "1fr"

    def on_resize(self) -> None:
        """Share the new room."""
        super().on_resize()
        self._share_room()
        self._show_titles()
        self.call_after_refresh(self._show_chosen)

    def _show_titles(self) -> None:
        below = self.table.tally or ("" if self.size.width < WITH_CHART else EXPLAINED)
        if self._left_to_read:
            below = f"reading {self._left_to_read:,} · {below}".removesuffix(" · ")
        set_titles(self.table, f"Projects{self.table.filter_named}", below)

    def _show_chosen(self) -> None:
        """Show the project under the cursor, and the chart of all projects."""
        one, now = self.chosen, self._clock()
        self.query_one("#home-about", OneLine).show(about_line(one, now) if one else ())
        needs = self.query_one("#home-needs", Panel)
        actions = self.query_one("#home-actions", VirtualTable)
        snapshot = snapshot_of(one) if one is not None else None
        found = [need.spans for need in needs_of(one)] if one is not None else []
        if one is not None and snapshot is None:
            found = [state_line(one, now)]
        stale = one is not None and one.no_answer_since > 0
        needs.show(found or [line(("Nothing needs you here.", "dim"))], stale=stale)
        number = plural(len(found), "thing needs you", "things need you")
        name = visible(one.name) if one is not None else "Project"
        set_titles(needs, f"{name}: {number}" if found else name, "Enter opens it")
        shown = snapshot.actions if snapshot is not None else ()
        actions.empty = line(("No action is known.", "dim"))
        actions.show(
            ListRows(shown, lambda it: it.index, lambda _, it: action_cells(it)),
            action_columns(shown),
            stale=stale,
        )
        actions.sum_up(total_cells(shown) if len(shown) > 1 else None)
        set_titles(actions, "Workflow", plural(len(shown), "action") if shown else "")
        chart = self.query_one("#home-chart", Chart)
        how = getattr(self.app, "how", None)
        mark = mark_for(how) if how is not None else ChartMark.COLOUR
        projects = list(self._projects.values())
        chart.show_made(
            lambda width, height: chart_of(projects, now, ChartArea(width, height, mark))
        )
        set_titles(chart, f"All projects, last {HOURS} hours", "read again every minute")

    def on_virtual_table_cursor_moved(self, event: VirtualTable.CursorMoved) -> None:
        """Show the project under the cursor."""
        event.stop()
        if self.answer_text:
            self.answer("")
        self._show_chosen()

    def on_list_table_rearranged(self) -> None:
        """Show the number of rows that the filter leaves."""
        self._show_titles()
        self._show_chosen()

    def on_virtual_table_row_pressed(self) -> None:
        """Open with a second click."""
        self.action_open()

    # Reading

    def action_read(self) -> None:
        """Read all projects again, unless they are being read."""
        if not self._left_to_read and self._projects:
            self._left_to_read = len(self._projects)
            self._show_titles()
            start(self, self._read, "home")

    async def _read(self) -> None:
        projects = list(self._projects.values())
        answers = self._read_projects(self._known, projects, stopped=lambda: self._over)
        while (one := await asyncio.to_thread(next, answers, None)) is not None:
            self._left_to_read -= 1
            if one.root in self._projects and not self._over:
                self._projects[one.root] = one
                self._answered.add(one.root)
                self._show()
                if one.root == self._to_open and self.is_current:
                    self._open(one)
        self._left_to_read = 0
        if not self._over:
            self._show_titles()
            if self._known.notice:
                self.app.notify(visible(self._known.notice), severity="warning", markup=False)
                self._known.notice = ""

    # Commands

    def action_open(self) -> None:
        """Return the project under the cursor, if it can be opened."""
        one = self.chosen
        if one is None:
            return
        if self._left_to_read and one.root not in self._answered and one.state != "gone":
            self._to_open = one.root
            self.app.notify(f"{visible(one.name)} is opened once it answers.", markup=False)
        else:
            self._open(one)

    def _open(self, one: KnownProject) -> None:
        self._to_open = ""
        why = {
            "no answer": "does not answer; r asks again",
            "gone": "is gone; Del removes it from this list",
        }.get(one.state, "")
        if why:
            self.app.notify(f"{visible(one.name)} {why}.", severity="warning", markup=False)
        else:
            self.dismiss(one.root)

    def action_forget(self) -> None:
        """Remove the project from the list after a confirmation."""
        if (one := self.chosen) is not None:
            lines = ["The project stays as it is. Opening it lists it again."]
            if one.state == "gone":
                lines = [f"Its folder has no workflow.toml: {visible(one.root)}"]
            question = Question(
                f"Take {visible(one.name)} off the list?", lines, "yes", to="take it off"
            )
            confirm(self.app, question, partial(self._forget, one.root))

    def action_moved(self) -> None:
        """Name the key that replaced x."""
        self.answer("x is now Del")

    def action_help(self) -> None:
        """Show the keys of this view and of its list."""
        keys = [
            f"{shown_keys(it.key):>12}  {it.tooltip}"
            for it in (*self.BINDINGS, *ListTable.BINDINGS, *VirtualTable.BINDINGS)
            if isinstance(it, Binding) and it.tooltip
        ]
        self.app.push_screen(PageScreen("Keys of Projects", keys))

    def _forget(self, root: str) -> None:
        try:
            self._known.forget(root)
        except OSError as error:
            self.app.notify(f"Not removed: {error}", severity="error", markup=False)
            return
        self._projects.pop(root, None)
        self._show()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without projects, offer only what can be begun."""
        return bool(self._projects) or action not in {"open", "read", "forget", "copy"}

    def action_begin(self, key: str) -> None:
        """Leave, and run one of `BEGINNINGS`."""
        words = BEGINNINGS[key][0]
        if self.begin is None:
            self.answer(f"Outside of a project: rowtui {' '.join(words)}")
        else:
            self.begin(words)

    def action_copy(self) -> None:
        """Copy the folder of the project."""
        if (one := self.chosen) is not None:
            self.app.copy_to_clipboard(one.root.encode("utf-8", "replace").decode())
            self.app.notify(f"Copied {visible(one.root)}", timeout=2, markup=False)

    def action_back(self) -> None:
        """Clear the filter; without one, leave the view."""
        if not self.table.clear_filter():
            self.dismiss(None)
