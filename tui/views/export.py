"""Dialogs of a list: its export to a file with all rows that the filter leaves, and its columns.

The file has JSON if its name ends in `.json`, otherwise CSV. The rows are written to a temporary
file in the same folder, which then replaces the file. In CSV, a text that a spreadsheet would take
for a formula gets an apostrophe before it. Names that are not UTF-8 are written with their bytes
made visible.
"""

from __future__ import annotations

import asyncio
import csv
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar

from rowtui.core.base.files import temporary_sibling
from rowtui.core.base.spreadsheet import in_csv
from rowtui.core.base.text import plural, visible
from rowtui.tui.shell.column_choice import FieldChoice
from rowtui.tui.shell.work import start
from rowtui.tui.views.dialogs import Dialog
from rowtui.tui.widgets.cells import Line, as_content, line
from rowtui.tui.widgets.chrome import set_titles
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.fields import InputField
from rowtui.tui.widgets.table.engine_rows import Arranged
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Input, Static

if TYPE_CHECKING:
    from rowtui.tui.widgets.table.virtual_table import VirtualTable


class RowFile:
    """One file that is being written; `done` moves it to its place, `give_up` removes it."""

    def __init__(self, path: Path, columns: Sequence[tuple[str, str]]) -> None:
        """Open the temporary file. `columns`: (id, title). Raises: OSError if this fails."""
        self.path = path
        self.rows = 0
        self._columns = columns
        self._json = path.suffix.lower() == ".json"
        self._temporary = temporary_sibling(path)
        self._file: IO[str] = open(  # noqa: SIM115
            self._temporary, "x", encoding="utf-8", errors="backslashreplace", newline=""
        )
        self._csv = csv.writer(self._file)
        if self._json:
            self._file.write("[")
        else:
            self._csv.writerow([in_csv(title) for _, title in columns])

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write some rows, values by column id. Raises: OSError if a write fails."""
        for row in rows:
            if self._json:
                kept = {name: row.get(name, "") for name, _ in self._columns}
                self._file.write(",\n " if self.rows else "\n ")
                json.dump(kept, self._file)
            else:
                self._csv.writerow([in_csv(row.get(name, "")) for name, _ in self._columns])
            self.rows += 1

    def done(self) -> None:
        """Complete the file and move it to its place. Raises: OSError if this fails."""
        if self._json:
            self._file.write("\n]\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        os.replace(self._temporary, self.path)

    def give_up(self) -> None:
        """Remove the temporary file."""
        self._file.close()
        self._temporary.unlink(missing_ok=True)


class ExportScreen(Dialog[Path | None]):
    """A dialog that returns the path, or None. A second Enter replaces an existing file."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "no", "write nothing", id="export.no", tooltip="write nothing"),
    ]

    def __init__(self, rows: int, proposed: str) -> None:
        super().__init__()
        self._rows = rows
        self._proposed = proposed
        self._warned = ""

    def compose(self) -> ComposeResult:
        """Compose the field for the path, and the warnings."""
        with Vertical(id="dialog", classes="again") as dialog:
            set_titles(dialog, f"Write {plural(self._rows, 'row')}", "Esc writes nothing")
            yield Static("A file that ends in .csv or .json:", markup=False)
            yield InputField(
                self._proposed, id="path", keys=(("Enter", "write"),), select_on_focus=False
            )
            yield Static(id="told", markup=False)

    def on_mount(self) -> None:
        """Widen the field."""
        self.query_one(Input).styles.width = "100%"

    def _tell(self, text: str) -> None:
        self.query_one("#told", Static).update(as_content([line((text, "warning"))]))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return the path; ask again before a file is replaced."""
        event.stop()
        typed = event.value.strip()
        try:
            path = Path(typed).expanduser()
            problem = why_not(path)
        except RuntimeError as error:  # The home folder of an unknown user.
            problem = str(error)
        if problem:
            self._tell(f"▲ {problem}")
        elif path.exists() and typed != self._warned:
            self._warned = typed
            self._tell("▲ There is such a file. Enter again replaces it.")
        else:
            self.dismiss(path)


def why_not(path: Path) -> str:
    """Return why no list can be written there, "" if it can."""
    try:
        if path.suffix.lower() not in (".csv", ".json"):
            return "Its name ends in .csv or .json."
        if path.is_dir() or not path.parent.is_dir():
            return "There is no such folder."
    except (OSError, ValueError) as error:
        return str(error)
    return ""


def export_list(table: VirtualTable, name: str) -> str:
    """Ask for a file, first `NAME.csv`, and write the table's rows to it; return "" or why that is
    not possible.
    """
    if not isinstance(table.source, Arranged):
        return "this list cannot be written"

    def answered(path: Path | None) -> None:
        if path is not None:
            start(table.app, partial(_write, table, path), "export")

    table.app.push_screen(ExportScreen(table.source.row_count, f"{name}.csv"), answered)
    return ""


def export_to(table: VirtualTable, name: str) -> str:
    """Write the table's rows to a new file; return "" or why that is not possible."""
    if not isinstance(table.source, Arranged):
        return "this list cannot be written"
    try:
        path = Path(name).expanduser()
        problem = why_not(path)
        if not problem and path.exists():
            problem = "There is such a file: E asks before it is replaced."
    except (OSError, ValueError, RuntimeError) as error:
        problem = str(error)
    if not problem:
        start(table.app, partial(_write, table, path), "export")
    return problem


async def _write(table: VirtualTable, path: Path) -> None:
    source = table.source
    assert isinstance(source, Arranged)
    total = source.row_count
    columns = [(column.id, column.title) for column in table.columns]
    try:
        file = await asyncio.to_thread(RowFile, path, columns)
    except OSError as error:
        _tell(table, f"Nothing was written: {error.strerror or error}", wrong=True)
        return
    whole = False
    try:
        while file.rows < total:
            rows = await source.load(file.rows, total)
            if not rows:
                break
            await asyncio.to_thread(file.add, [row.values for row in rows])
        if file.rows == total == source.row_count:
            await asyncio.to_thread(file.done)
            whole = True
    except Exception as error:
        _tell(table, f"Nothing was written: {error}", wrong=True)
        return
    finally:
        if not whole:
            await asyncio.to_thread(file.give_up)
    if whole:
        _tell(table, f"{plural(total, 'row')} written to {visible(str(path))}")
    else:
        _tell(table, "The list changed meanwhile: nothing was written. Try again.", wrong=True)


def _tell(table: VirtualTable, text: str, *, wrong: bool = False) -> None:
    table.app.notify(text, severity="error" if wrong else "information", markup=False)


class FieldsScreen(Dialog[FieldChoice | None]):
    """A dialog that returns the choice of columns and of their order, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "step(1)", "down", id="fields.down", tooltip="next column"),
        Binding("up,k", "step(-1)", "up", id="fields.up", tooltip="column before"),
        Binding("shift+down,J", "move(1)", "later", id="fields.later", tooltip="move it down"),
        Binding("shift+up,K", "move(-1)", "earlier", id="fields.earlier", tooltip="move it up"),
        Binding("space", "show_or_hide", "show", id="fields.toggle", tooltip="show or hide it"),
        Binding("u", "forget", "as given", id="fields.forget", tooltip="all, in their order"),
        Binding(
            "enter,vertical_line", "keep", "keep", id="fields.keep", tooltip="show the list so"
        ),
        Binding("escape", "no", "no", id="fields.no", tooltip="change nothing"),
    ]

    def __init__(self, columns: Sequence[TableColumn], choice: FieldChoice) -> None:
        super().__init__()
        self._given = tuple(columns)
        self._columns = list(choice.arranged(columns))
        self._hidden = set(choice.hidden)
        self._unseen = tuple(name for name in choice.order if name not in self._ids(columns))
        self._at = 0

    @staticmethod
    def _ids(columns: Sequence[TableColumn]) -> list[str]:
        return [column.id for column in columns]

    def compose(self) -> ComposeResult:
        """Compose the dialog with one line for each column."""
        with VerticalScroll(id="dialog", classes="again", can_focus=False) as dialog:
            set_titles(dialog, "Columns", "Enter keeps · Esc changes nothing")
            yield Static(id="fields", markup=False)

    def on_mount(self) -> None:
        """Show the columns."""
        self._draw()

    def _draw(self) -> None:
        lines: list[Line] = []
        for at, column in enumerate(self._columns):
            here = at == self._at
            shown = column.id not in self._hidden
            lines.append(
                line(
                    ("› " if here else "  ", "key"),
                    ("[x] " if shown else "[ ] ", "" if shown else "dim"),
                    (column.title, "title" if here else "" if shown else "dim"),
                )
            )
        keys = (("space", " show or hide   "), ("shift+↑↓", " move   "), ("u", " as given"))
        lines += [(), line(*(part for key, text in keys for part in ((key, "key"), (text, "dim"))))]
        self.query_one("#fields", Static).update(as_content(lines))

    def action_step(self, step: int) -> None:
        """Move the cursor to another column."""
        self._at = (self._at + step) % max(1, len(self._columns))
        self._draw()

    def action_move(self, step: int) -> None:
        """Move the column to another place."""
        to = self._at + step
        if 0 <= to < len(self._columns):
            columns = self._columns
            columns[self._at], columns[to] = columns[to], columns[self._at]
            self._at = to
            self._draw()

    def action_show_or_hide(self) -> None:
        """Show or hide the column; at least one column stays."""
        name = self._columns[self._at].id
        self._hidden ^= {name}
        if not set(self._ids(self._columns)) - self._hidden:
            self._hidden.discard(name)
            self.notify("One column stays.", severity="warning", markup=False)
        self._draw()

    def action_forget(self) -> None:
        """Restore all columns, in the list's own order."""
        self._columns, self._hidden, self._unseen = list(self._given), set(), ()
        self._draw()

    def action_keep(self) -> None:
        """Return the choice."""
        ids = self._ids(self._columns)
        if not self._hidden and ids == self._ids(self._given) and not self._unseen:
            self.dismiss(FieldChoice())
            return
        self.dismiss(FieldChoice((*ids, *self._unseen), frozenset(self._hidden)))
