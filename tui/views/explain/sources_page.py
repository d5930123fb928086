"""A page with all sources of a decision; Enter opens the file at its line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from rowtui.core.base.text import plural, visible
from rowtui.tui.shell.external_program import open_in_editor
from rowtui.tui.shell.work import start
from rowtui.tui.views.dialogs import Dialog
from rowtui.tui.views.explain.sources import SourceRow, source_cells, source_columns
from rowtui.tui.widgets.cells import line
from rowtui.tui.widgets.chrome import set_titles
from rowtui.tui.widgets.table.engine_rows import MemoryRows
from rowtui.tui.widgets.table.list_table import ListTable
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

if TYPE_CHECKING:
    from rowtui.core.mapping.model.origin import FilePosition
    from rowtui.tui.shell.app import RowtuiApp


class SourcesScreen(Dialog[None]):
    """A list of sources under a title. `root` is the folder to which their paths are relative."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,e", "open", "open", id="sources.open", tooltip="open the file at its line"),
        Binding("y", "copy", "copy", id="sources.copy", tooltip="copy the place"),
        Binding("escape,q", "leave", "close", id="sources.close", tooltip="close this page"),
    ]

    def __init__(self, title: str, rows: Sequence[SourceRow], root: str) -> None:
        super().__init__()
        self._title = title
        self._rows = rows
        self._root = root

    def compose(self) -> ComposeResult:
        """Compose the list."""
        yield ListTable(name="sources")

    @property
    def table(self) -> ListTable:
        """The list."""
        return self.query_one(ListTable)

    def on_mount(self) -> None:
        """Show the list from its first row."""
        rows = MemoryRows(self._rows, lambda row: row.number, lambda _, row: source_cells(row))
        self.table.say_if_empty(line(("No source set a value that was used.", "dim")))
        self.table.show(rows, source_columns())
        self._titles()
        self.table.focus()

    def on_list_table_rearranged(self) -> None:
        """Update the frame after another filter."""
        self._titles()

    def _titles(self) -> None:
        many = self.table.tally or plural(len(self._rows), "source")
        below = f"{many} · Enter opens in $EDITOR · y copy · Esc close"
        set_titles(self.table, self._title + self.table.filter_named, below)

    async def on_virtual_table_row_pressed(self) -> None:
        """Open the file with a second click."""
        self.action_open()

    @property
    def _row(self) -> SourceRow | None:
        key = self.table.cursor_key
        return next((row for row in self._rows if row.number == key), None)

    def action_copy(self) -> None:
        """Copy the place."""
        if self._row is not None:
            self.app.copy_to_clipboard(self._row.place)
            self.app.notify(f"Copied {self._row.place}", markup=False)

    def action_leave(self) -> None:
        """Drop the filter, or close the page if there is none."""
        if not self.table.clear_filter():
            self.dismiss()

    def action_open(self) -> None:
        """Open the file at its line; report a source that is not a file on this machine."""
        row = self._row
        if row is None:
            return
        place = row.origin.place
        if row.origin.kind == "request" and not place.file:
            place = place._replace(file="workflow.toml")
        path = path_of(place.file, self._root)
        if path is None:
            text = f"{row.place} is not a file here, so it cannot be opened"
            self.app.notify(visible(text), severity="warning", markup=False)
            return
        start(self, partial(self._open, path, place), "editor", exclusive=True)

    async def _open(self, path: Path, at: FilePosition) -> None:
        app = cast("RowtuiApp", self.app)
        await open_in_editor(app, path, app.session.read_only, line=at.line, column=at.column)


def path_of(file: str, root: str) -> Path | None:
    """Return the path of a source's file; None for a source without a local file, such as an
    address.

    Names are in their visible form, so a name with control characters is not found.
    """
    if not file or "://" in file:
        return None
    path = Path(root) / Path(file).expanduser()
    return path if path.is_file() else None
