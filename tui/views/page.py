"""A page of text on top of a view: to read, to copy from, to close."""

from __future__ import annotations

from collections.abc import Sequence

from rowtui.core.base.text import plural
from rowtui.tui.views.dialog import Dialog
from rowtui.tui.views.view import set_titles
from rowtui.tui.widgets.cells import line
from rowtui.tui.widgets.text_lines import TextLines
from textual.app import ComposeResult
from textual.binding import Binding


class PageScreen(Dialog[None]):
    """Lines of text under a title."""

    BINDINGS = [
        Binding("escape,q", "dismiss", "close", id="page.close", tooltip="close this page"),
        Binding("y", "copy", "copy", id="page.copy", tooltip="copy all of it"),
    ]

    def __init__(self, title: str, lines: Sequence[str]) -> None:
        super().__init__()
        self._title = title
        self._lines = tuple(lines)

    def compose(self) -> ComposeResult:
        """Compose the text."""
        page: TextLines[str] = TextLines(line, name="page")
        page.empty = line(("There is nothing to read here.", "dim"))
        below = f"{plural(len(self._lines), 'line')} · y copy · Esc close"
        set_titles(page, self._title, below)
        yield page

    def on_mount(self) -> None:
        """Show the text from its beginning."""
        self.query_one(TextLines).show(self._lines)

    def action_copy(self) -> None:
        """Copy the whole text."""
        self.app.copy_to_clipboard("\n".join(self._lines))
        self.app.notify("Copied.", markup=False)
