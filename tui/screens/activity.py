"""`@`: everything that happened since the start, newest last."""

from __future__ import annotations

from rowtui.core.text import plural
from rowtui.tui.render.cells import Line, line
from rowtui.tui.render.numbers import clock_time
from rowtui.tui.screens.view import set_titles
from rowtui.tui.session import Activity, Session
from rowtui.tui.widgets.text_lines import TextLines
from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen


class ActivityScreen(ModalScreen[None]):
    """A page to read and to copy from."""

    BINDINGS = [
        Binding("escape,at,q", "dismiss", "close", id="activity.close", tooltip="close this page"),
        Binding("y", "copy", "copy", id="activity.copy", tooltip="copy all of it"),
    ]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._styles: dict[str, str] = {}
        self._lines = []
        for entry in session.activity:
            for number, part in enumerate(entry.text.splitlines() or [""]):
                text = _text(entry, part) if not number else " " * 20 + part
                self._lines.append(text)
                self._styles[text] = entry.style

    def compose(self) -> ComposeResult:
        """One line each."""
        page = TextLines(self._colour, name="activity-page")
        page.empty = line(("Nothing has happened yet.", "dim"))
        set_titles(page, "Activity", f"{plural(len(self._lines), 'line')} · y copy · Esc close")
        yield page

    def on_mount(self) -> None:
        """The newest is at the end."""
        self.query_one(TextLines).show(self._lines, follow=True)

    def _colour(self, text: str) -> Line:
        return line((text[:20], "dim"), (text[20:], self._styles.get(text, "")))

    def action_copy(self) -> None:
        """Copy all of it."""
        self.app.copy_to_clipboard("\n".join(self._lines))
        self.app.notify("Copied the activity.", markup=False)


def _text(entry: Activity, part: str) -> str:
    return f" {clock_time(entry.at)}  {entry.source:<8} {part}"
