"""The files of a directory, and the one under the cursor: a text, JSON, a table, or a picture.

Where the screen has room, the file under the cursor is beside the list; otherwise it replaces the
list. Texts of any size are read as logs are. Files are only read.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.project.views.files import MOST_FILES, FileContent, FileRow, FolderListing
from rowtui.tui.shell.external_program import open_in_pager
from rowtui.tui.shell.session import describe
from rowtui.tui.shell.terminal import FEW_COLOURS
from rowtui.tui.shell.work import start
from rowtui.tui.views.dialogs import Dialog
from rowtui.tui.views.groups.values import json_line
from rowtui.tui.widgets.cells import Cell, line
from rowtui.tui.widgets.chrome import set_titles
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.image import ImageBlocks, load_image
from rowtui.tui.widgets.log_pane import POLL_SECONDS, LogPane
from rowtui.tui.widgets.short_text import age, ago, file_size
from rowtui.tui.widgets.table.engine_rows import MemoryRows
from rowtui.tui.widgets.table.list_table import ListTable
from rowtui.tui.widgets.table.virtual_table import VirtualTable
from rowtui.tui.widgets.text_lines import TextLines
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.timer import Timer
from textual.widget import Widget

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session
    from rowtui.tui.shell.terminal_app import ProjectApp

BESIDE = 100
"""Columns of the screen from which on the file is beside the list."""

SETTLE_SECONDS = 0.1
"""Seconds for which the cursor stays on a file before the file is read."""

PANES = {
    "text": "#log", "json": "#file-lines", "bytes": "#file-lines", "table": "#file-table",
    "image": "#file-image",
}  # fmt: skip
"""The widget for each kind of file."""


class FilesScreen(Dialog[None]):
    """The page of one directory of the workspace."""

    takes_enter = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "open", id="files.open", tooltip="open this file or folder"),
        Binding("slash", "text('find')", "find", id="files.find", tooltip="find a text"),
        Binding("n", "text('find_next')", "next", id="files.next-match", tooltip="the next match"),
        Binding("N", "text('find_previous')", "before", id="files.previous-match",
                tooltip="the match before"),
        Binding("z", "text('wrap')", "wrap", id="files.wrap", tooltip="break long lines, or not"),
        Binding("p", "text('follow')", "follow", id="files.follow", tooltip="follow the end"),
        Binding("i", "as_text", "as text", id="files.as-text",
                tooltip="show JSON, a table or bytes as the text that they are, and back"),
        Binding("O", "pager", "pager", id="files.pager", tooltip="all of it in $PAGER"),
        Binding("y", "copy", "copy", id="files.copy", tooltip="copy the path"),
        Binding("tab", "pane", "pane", id="files.pane", show=False, priority=True,
                tooltip="between the list and the file"),
        Binding("escape,q", "leave", "back", id="files.leave", tooltip="one step back"),
    ]  # fmt: skip

    def __init__(self, session: Session, directory: str) -> None:
        super().__init__()
        self._session = session
        self._top = self._folder = directory  # The latter may be a folder inside the directory.
        self._listing: FolderListing | None = None
        self._content: FileContent | None = None
        self._shown = ""  # The name of the file that is shown, or is being read.
        self._as_text = False  # Whether a file of another kind is shown as a text.
        self._enter = False  # Whether the file gets the focus once it is read.
        self._settle: Timer | None = None

    def compose(self) -> ComposeResult:
        """Compose the list, and a widget for each kind of file."""
        with Horizontal(id="files-page"):
            yield ListTable(name="files")
            yield LogPane(
                lambda: self._session.engine.logs,
                may_look=lambda: self.is_current and self._kind == "text",
                failed=self._failed,
            )
            yield TextLines(json_line, name="file-lines")
            yield ListTable(name="file-table")
            yield ImageBlocks(name="file-image")

    @property
    def _dashboard(self) -> ProjectApp:
        return cast("ProjectApp", self.app)

    def _failed(self, what: str, error: Exception) -> None:
        self._dashboard.warn(f"{what}: {visible(describe(error)[0])}")

    @property
    def _list(self) -> ListTable:
        return self.query_one("#files", ListTable)

    @property
    def _log(self) -> LogPane:
        return self.query_one(LogPane)

    @property
    def _kind(self) -> str:
        return self._content.kind if self._content is not None else ""

    @property
    def _pane(self) -> Widget | None:
        """The widget of the file that is shown."""
        return self.query_one(PANES[self._kind]) if self._kind else None

    @property
    def _inside(self) -> bool:
        """Whether the file has the focus, not the list."""
        return not self._list.has_focus_within

    def on_mount(self) -> None:
        """List the directory."""
        self._list.say_if_empty(line(("Reading the directory…", "dim")))
        self.set_interval(POLL_SECONDS, self._log.tick)
        self._list.focus()
        self._list_folder(self._folder)

    def on_resize(self) -> None:
        """Put the file beside the list if there is room."""
        self.set_class(self.size.width >= BESIDE, "-beside")
        self._show_titles()

    # The list

    def _list_folder(self, folder: str, cursor: str = "") -> None:
        self._folder, self._shown = folder, ""
        self._show_content(None)
        start(self, partial(self._read_folder, folder, cursor), "folder", exclusive=True)

    async def _read_folder(self, folder: str, cursor: str) -> None:
        try:
            found = await self._session.engine.logs.files(folder)
            self._list.say_if_empty(line(("There are no files here.", "dim")))
        except Exception as error:
            found = FolderListing(folder, ())
            self._list.say_if_empty(line((f"▲ {describe(error)[0]}", "warning")))
        self._listing = found
        now = self._session.clock()
        rows = MemoryRows(found.rows, lambda row: row.name, lambda _, row: file_cells(row, now))
        self._list.show(rows, file_columns(found.rows))
        if cursor:
            self._list.move_to_key(cursor)
        self._show_titles()
        self._look_at_cursor()

    @property
    def _row(self) -> FileRow | None:
        rows = self._listing.rows if self._listing is not None else ()
        return next((row for row in rows if row.name == self._list.cursor_key), None)

    def on_virtual_table_cursor_moved(self, event: VirtualTable.CursorMoved) -> None:
        """Read the file beside the list, after the cursor has stopped."""
        if event.table is self._list:
            if self._settle is not None:
                self._settle.stop()
            self._settle = self.set_timer(SETTLE_SECONDS, self._look_at_cursor)

    def on_list_table_rearranged(self) -> None:
        """Update the frames after another filter."""
        self._show_titles()

    def _look_at_cursor(self) -> None:
        row = self._row
        if self.has_class("-beside") and not self._inside and row and not row.folder:
            self._show(row.name)

    # The file

    def _show(self, name: str, *, as_text: bool = False, enter: bool = False) -> None:
        """Read a file and show it; with `enter` it gets the focus."""
        self._enter = enter
        if name == self._shown and self._content is not None and not as_text:
            self._enter_if_wanted()
            return
        self._shown = name
        path = f"{self._folder}/{name}"
        start(self, partial(self._read, path, name, as_text), "file", exclusive=True)

    async def _read(self, path: str, name: str, as_text: bool) -> None:
        image = None
        try:
            content = await self._session.engine.logs.file(path, as_text=as_text)
            if content.kind == "image":
                image = await self._image(content.path)
        except Exception as error:
            why = tuple(filter(None, describe(error)))
            content = FileContent(path, "bytes", -1, 0.0, lines=why)
        if name != self._shown or not self.is_running:
            return
        self._as_text = as_text
        self._log.open(f"/{path}" if content.kind == "text" else "", from_top=True)
        self.query_one("#file-lines", TextLines).show(content.lines)
        self.query_one("#file-lines", TextLines).scroll_to(0, 0, animate=False)
        self.query_one(ImageBlocks).show_image(image)
        table = self.query_one("#file-table", ListTable)
        table.start_over()
        if content.rows:
            columns = table_columns(content.rows)
            table.show(MemoryRows(content.rows[1:], id, partial(table_cells, columns)), columns)
        self._show_content(content)
        self._enter_if_wanted()

    def _show_content(self, content: FileContent | None) -> None:
        self._content = content
        for kind in PANES:
            self.set_class(content is not None and content.kind == kind, f"-{kind}")
        self._show_titles()

    async def _image(self, path: str) -> object:
        """Return the picture of a file. Raises: RowtuiError."""
        how = self._dashboard.how
        if how.colours <= FEW_COLOURS or how.ascii_only:
            raise RowtuiError("this terminal has too few colours or glyphs for pictures")
        return await asyncio.to_thread(load_image, path)

    def _enter_if_wanted(self) -> None:
        if self._enter and self._pane is not None:
            self._enter = False
            self.add_class("-inside")
            self.call_after_refresh(self._pane.focus)
            self.call_after_refresh(self.show_keys)

    def on_log_pane_changed(self) -> None:
        """Show the new state of the text."""
        self._show_titles()

    def _show_titles(self) -> None:
        listing, content, table = self._listing, self._content, self._list
        below = ""
        if listing is not None:
            many = plural(len(listing.rows), "entry", "entries")
            below = f"the first {MOST_FILES:,} entries" if listing.more else many
            below = table.tally or below
        title = f"Files of {self._folder}{table.filter_named}"
        set_titles(table, title, below, listing.path if listing is not None else "")
        pane = self._pane
        if content is None or pane is None:
            return
        if content.kind == "text":
            state = self._log.state
            self._log.rows.empty = line((state.error if state else "", "warning"))
            parts = [content.note, self._log.described()]
        elif content.size < 0:
            parts = []
        else:
            written = ago(content.modified, self._session.clock())
            parts = [content.note, file_size(content.size), f"written {written}"]
        named = ""
        if isinstance(pane, ListTable):
            named = pane.filter_named
            parts.insert(0, pane.tally)
        title = os.path.basename(content.path) + named
        file = content.path if content.size >= 0 else ""
        set_titles(pane, title, " · ".join(filter(None, parts)), file)

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether the action has something to act on: some keys are those of an open file."""
        if action == "text":
            return self._inside and self._kind == "text"
        if action == "as_text":
            return self._inside and (self._as_text or self._kind in ("json", "table", "bytes"))
        return not self._inside if action == "open" else True

    async def on_virtual_table_row_pressed(self, event: VirtualTable.RowPressed) -> None:
        """Open the file with a second click."""
        if event.table is self._list:
            self.action_open()

    def action_open(self) -> None:
        """Open the folder or the file under the cursor."""
        row = self._row
        if row is None:
            return
        if row.folder:
            self._list_folder(f"{self._folder}/{row.name}")
        else:
            self._show(row.name, enter=True)

    def action_leave(self) -> None:
        """Go one step back: a filter or a search, the file, the folder, the page."""
        pane = self._pane
        if self._inside:
            searched = self._kind == "text" and self._log.end_search()
            if not searched and not (isinstance(pane, ListTable) and pane.clear_filter()):
                self._to_the_list()
        elif self._list.clear_filter():
            pass
        elif self._folder != self._top:
            folder, _, name = self._folder.rpartition("/")
            self._list_folder(folder, name)
        else:
            self.dismiss()

    def _to_the_list(self) -> None:
        self.remove_class("-inside")
        self._list.focus()
        self.call_after_refresh(self.show_keys)

    def action_pane(self) -> None:
        """Move between the list and the file."""
        if self._inside:
            self._to_the_list()
        else:
            self.action_open()

    def action_as_text(self) -> None:
        """Show a file as the text that it is, or by its kind again."""
        name, self._shown = self._shown, ""
        self._show(name, as_text=not self._as_text, enter=True)

    def action_text(self, verb: str) -> None:
        """Let the pane of texts do this: search, break lines, or follow the end."""
        getattr(self._log, verb)()

    @property
    def _path(self) -> str:
        row = self._row
        return f"{self._listing.path}/{row.name}" if self._listing and row else ""

    def action_copy(self) -> None:
        """Copy the path of the file."""
        if self._path:
            self._dashboard.copy_text(self._path)

    def action_pager(self) -> None:
        """Show the file in the user's pager."""
        if self._row is not None and not self._row.folder:
            page = partial(open_in_pager, self._dashboard, Path(self._path), "file")
            start(self, page, "pager", exclusive=True)


def file_columns(rows: Sequence[FileRow]) -> tuple[TableColumn, ...]:
    """Return the columns of the files."""
    longest = max((len(visible(row.name)) for row in rows), default=9)
    return (
        TableColumn("name", "Name", 12, max(12, min(longest + 1, 60)), grow=1),
        TableColumn("size", "Size", 6, 8, "right"),
        TableColumn("age", "Age", 6, align="right", priority=1),
        TableColumn("what", "", 7, priority=2),
    )


def file_cells(row: FileRow, now: float) -> dict[str, Cell]:
    """Return one row of the files."""
    return {
        "name": line((row.name + "/" * row.folder, "key" if row.folder else "")),
        "size": line("" if row.folder else file_size(row.size)),
        "age": line((age(max(0.0, now - row.modified)), "dim")),
        "what": line(("product" if row.product else "", "completed")),
    }


def table_columns(rows: Sequence[Sequence[str]]) -> tuple[TableColumn, ...]:
    """Return the columns of a table, whose names are in the first row."""
    columns: dict[str, TableColumn] = {}
    for at, name in enumerate(rows[0]):
        unique = name if name and name not in columns else f"{name or 'column'} {at + 1}"
        values = [row[at] for row in rows[1:101]]
        wish = min(max(map(len, (*values, unique))), 40)
        align = "right" if all(_is_number(value) for value in values) else "left"
        columns[unique] = TableColumn(unique, unique, min(wish, 10), wish, align, priority=at)
    return tuple(columns.values())


def _is_number(text: str) -> bool:
    return not text or text.strip()[:1] in "+-.0123456789" or text.strip().lower() == "nan"


def table_cells(columns: Sequence[TableColumn], _: int, row: Sequence[str]) -> dict[str, Cell]:
    """Return one row of a table."""
    return {column.id: line(text) for column, text in zip(columns, row, strict=True)}
