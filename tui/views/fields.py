"""The dialog for the columns of a list, and for their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rowtui.tui.shell.column_choice import FieldChoice
from rowtui.tui.views.dialog import Dialog
from rowtui.tui.widgets.cells import Line, line
from rowtui.tui.widgets.chrome import set_titles
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.palette import as_content
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static


class FieldsScreen(Dialog[FieldChoice | None]):
    """A dialog that returns the choice, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "step(1)", "down", id="fields.down", tooltip="next column"),
        Binding("up,k", "step(-1)", "up", id="fields.up", tooltip="column before"),
        Binding("shift+down,J", "move(1)", "later", id="fields.later", tooltip="move it down"),
        Binding("shift+up,K", "move(-1)", "earlier", id="fields.earlier", tooltip="move it up"),
        Binding("space", "show_or_hide", "show", id="fields.toggle", tooltip="show or hide it"),
        Binding("u", "forget", "as given", id="fields.forget", tooltip="all, in their order"),
        Binding("enter,f", "keep", "keep", id="fields.keep", tooltip="show the list so"),
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
