"""The home view, on top of a view or alone: the projects, and the one that the user opens.

The stored summaries are shown at once; readers in other processes then replace them one by one.
The view never looks at a project itself, because its file system may hang.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, ClassVar

from rowtui.core.base.text import Cost, plural, visible
from rowtui.core.home.known import KnownProject, KnownProjects
from rowtui.core.home.reading import read_projects
from rowtui.tui.shell.work import start
from rowtui.tui.views.dialogs import Dialog
from rowtui.tui.views.questions import confirm
from rowtui.tui.widgets.cells import Cell, FirstThatFits, Line, Number, line, percentage, wrapped
from rowtui.tui.widgets.chrome import OneLine, set_titles
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.short_text import age, ago, cost_forms
from rowtui.tui.widgets.table.engine_rows import MemoryRows
from rowtui.tui.widgets.table.list_table import ListTable
from rowtui.tui.widgets.table.virtual_table import VirtualTable
from rowtui.tui.widgets.text_lines import LaidOut
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

COLUMNS = (
    TableColumn("project", "Project", 9, 24, grow=1),
    TableColumn("done", "Done", 5, align="right", priority=1),
    TableColumn("needs", "Needs you", 12, 24, grow=2),
    TableColumn("running", "Running", 3, 7, "right", 3, short="Run"),
    TableColumn("jobs", "Jobs", 4, 6, "right", 4),
    TableColumn("cost", "Cost left", 10, 12, "right", 6),
    TableColumn("opened", "Opened", 10, 10, "right", 5),
    TableColumn("read", "Read", 10, 10, "right", 7),
    TableColumn("directories", "Dirs", 5, 7, "right", 8),
    TableColumn("failed", "Failed", 4, 6, "right", 9, short="Fail"),
)

HOW_TO_BEGIN = (
    line("You have not opened a project yet."),
    line("`rowtui init FOLDER` makes one, `rowtui` in its folder opens it."),
    line("`rowtui projects find FOLDER` lists old ones; `rowtui demo` makes a demo."),
)

READ_SECONDS = 60.0
"""Seconds between two readings of all projects while the view is open."""


def state_line(one: KnownProject, now: float) -> Line:
    """Return what needs the user, or why the project cannot be opened."""
    if one.no_answer_since:
        silent = age(max(0.0, now - one.no_answer_since))
        text = "does not answer" + ("" if silent == "now" else f" for {silent}")
        return line((f"▲ {text}", "failed"))
    summary = one.summary
    if summary is None:
        return line(("not read yet", "dim"))
    if summary.gone:
        return line(("gone: x forgets it", "warning"))
    if summary.problem:
        return line((f"✗ {summary.problem}", "failed"))
    return line((", ".join(one.needs), "failed" if summary.failed else "warning"))


def cells_of(one: KnownProject, now: float, here: str) -> Mapping[str, Cell]:
    """Return the cells of one row. `here`: the folder of the project that is open, or ""."""
    summary = one.summary
    cells: dict[str, Cell] = {
        "project": line((one.name, "title" if one.root == here else "")),
        "needs": state_line(one, now),
        "opened": line((ago(one.opened or None, now), "dim")),
        "read": line((ago(one.read or None, now), "dim")),
    }
    if summary is None or not summary.usable:
        return cells
    whole = summary.total > 0 and summary.completed == summary.total
    done = percentage(summary.completed, summary.total).strip()
    cells["done"] = line((done, "completed" if whole else ""))
    cells["jobs"] = Number(summary.jobs, "" if summary.jobs else "dim")
    cells["failed"] = Number(summary.failed, "failed" if summary.failed else "dim")
    cells["directories"] = Number(summary.directories, "dim")
    cells["running"] = (
        line(("–", "dim"))
        if summary.running is None
        else Number(summary.running, "submitted" if summary.running else "dim")
    )
    forms = cost_forms(Cost(summary.cpu_hours, summary.gpu_hours))
    cells["cost"] = FirstThatFits(tuple(line((text, "dim")) for text in forms))
    return cells


def values_of(one: KnownProject, now: float) -> Mapping[str, Any]:
    """Return the values by which the list is filtered and sorted. Times are ages in seconds."""
    values: dict[str, Any] = {
        "project": one.name,
        "path": one.root,
        "state": one.state,
        "needs": "".join(span.text for span in state_line(one, now)),
        "opened": round(now - one.opened) if one.opened else "",
        "read": round(now - one.read) if one.read else "",
    }
    summary = one.summary
    if summary is not None and summary.usable:
        values |= {
            "done": 100 * summary.completed // summary.total if summary.total else "",
            "failed": summary.failed,
            "running": "" if summary.running is None else summary.running,
            "jobs": summary.jobs,
            "cost": summary.cpu_hours + summary.gpu_hours,
            "directories": summary.directories,
        }
    return values


def about_line(one: KnownProject, now: float) -> Line:
    """Return the line below the list about the project under the cursor."""
    summary = one.summary
    parts: list[str | tuple[str, str]] = [f" {one.root}"]
    if one.read:
        parts.append((f"  as of {ago(one.read, now)}", "dim"))
    if one.no_answer_since or summary is None:
        return line(*parts)
    if summary.problem:
        parts.append((f"  {summary.problem}", "failed"))
    elif summary.paused:
        parts.append((f"  run paused: {summary.paused}", "warning"))
    return line(*parts)


class HomeScreen(Dialog[str]):
    """All projects of the user. The result is the folder of the project to open; None for none."""

    CSS_PATH = "home.tcss"
    AUTO_FOCUS: ClassVar[str | None] = "#home-list"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "open", id="home.open", tooltip="open this project"),
        Binding("escape,q,P", "back", "back", id="home.back",
                tooltip="show all rows again, or leave this view"),
        Binding("r", "read", "read again", id="home.read", tooltip="read all projects again"),
        Binding("x", "forget", "forget", id="home.forget",
                tooltip="remove this project from the list; the project stays as it is"),
        Binding("y", "copy", "copy", show=False, id="home.copy", tooltip="copy its folder"),
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

    def compose(self) -> ComposeResult:
        """Compose the list, or the lines that explain how to begin."""
        yield ListTable(name="home-list", kept_as="projects")
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
        begin = self.query_one("#home-begin", LaidOut)
        table.display, begin.display = bool(projects), not projects
        if not projects:
            begin.show_made(
                lambda width: [part for one in HOW_TO_BEGIN for part in wrapped(one, width)]
            )
            begin.focus()
            set_titles(begin, "Projects")
        self._show_titles()
        self._show_about()

    def _show_titles(self) -> None:
        counted = self.table.tally or plural(len(self._projects), "project")
        needing = sum(bool(one.needs) for one in self._projects.values())
        below = counted + (f" · {needing:,} need you" if needing else "")
        if self._left_to_read:
            below += f" · reading {self._left_to_read:,}"
        set_titles(self.table, f"Projects{self.table.filter_named}", below)

    def _show_about(self) -> None:
        one = self.chosen
        self.query_one("#home-about", OneLine).show(about_line(one, self._clock()) if one else ())

    def on_virtual_table_cursor_moved(self, event: VirtualTable.CursorMoved) -> None:
        """Show the line about the project under the cursor."""
        event.stop()
        self._show_about()

    def on_list_table_rearranged(self) -> None:
        """Show the number of rows that the filter leaves."""
        self._show_titles()
        self._show_about()

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
            "gone": "is gone; x removes it from this list",
        }.get(one.state, "")
        if why:
            self.app.notify(f"{visible(one.name)} {why}.", severity="warning", markup=False)
        else:
            self.dismiss(one.root)

    def action_forget(self) -> None:
        """Remove the project from the list; ask first if the project exists."""
        one = self.chosen
        if one is None:
            return
        if one.state == "gone":
            self._forget(one.root)
        else:
            lines = ["The project stays as it is. Opening it lists it again."]
            name = visible(one.name)
            confirm(self.app, f"Forget {name}?", lines, 1, partial(self._forget, one.root))

    def _forget(self, root: str) -> None:
        try:
            self._known.forget(root)
        except OSError as error:
            self.app.notify(f"Not forgotten: {error}", severity="error", markup=False)
            return
        self._projects.pop(root, None)
        self._show()

    def action_copy(self) -> None:
        """Copy the folder of the project."""
        if (one := self.chosen) is not None:
            self.app.copy_to_clipboard(one.root.encode("utf-8", "replace").decode())
            self.app.notify(f"Copied {visible(one.root)}", timeout=2, markup=False)

    def action_back(self) -> None:
        """Clear the filter; without one, leave the view."""
        if not self.table.clear_filter():
            self.dismiss(None)
