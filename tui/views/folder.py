"""The question for the folder to which a plan is written; the default is to write nothing."""

from __future__ import annotations

from rowtui.tui.views.dialog import Dialog
from rowtui.tui.views.view import set_titles
from rowtui.tui.widgets.cells import line
from rowtui.tui.widgets.fields import Field
from rowtui.tui.widgets.palette import as_content
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.widgets import Input, Static


class FolderScreen(Dialog[str]):
    """A dialog that returns the name of a folder; "" for none."""

    BINDINGS = [Binding("escape", "no", "write nothing", id="folder.no", tooltip="write nothing")]

    def __init__(self, question: str, proposed: str) -> None:
        super().__init__()
        self._question = question
        self._proposed = proposed

    def compose(self) -> ComposeResult:
        """Compose the description, and the field for the folder."""
        shown = [
            line("Every script as it would be sent, and plan.json. Nothing is submitted."),
            line(("Below the project's folder, unless it begins with / or ~.", "dim")),
            line(""),
            line(("Enter", "key"), " writes there.  ", ("Esc", "key"), " writes nothing."),
        ]
        with Vertical(id="dialog") as dialog:
            dialog.add_class("folder")
            set_titles(dialog, self._question)
            yield Static(as_content(shown), markup=False)
            yield Field(self._proposed, id="folder", keys=(("Enter", "write"),))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return the name."""
        event.stop()
        self.dismiss(event.value.strip())

    def action_no(self) -> None:
        """Return ""."""
        self.dismiss("")
