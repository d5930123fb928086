"""The question before an operation that stops or removes something. The default is no."""

from __future__ import annotations

from collections.abc import Sequence

from rowtui.tui.views.dialog import Dialog
from rowtui.tui.views.view import set_titles
from rowtui.tui.widgets.cells import line
from rowtui.tui.widgets.fields import Field
from rowtui.tui.widgets.palette import as_content
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.widgets import Input, Static

MOST_LINES = 8
"""The number of lines about the objects of the question; the others are counted."""


class ConfirmScreen(Dialog[bool]):
    """A dialog that returns True after the exact word: `yes` for one object, the number for
    several.
    """

    BINDINGS = [Binding("escape", "no", "do nothing", id="confirm.no", tooltip="do nothing")]

    def __init__(self, question: str, lines: Sequence[str], count: int, *, of: int = 0) -> None:
        """Set the texts. `of` is the number of all lines, if `lines` has only the first of them."""
        super().__init__()
        self._of = of or len(lines)
        self._question = question
        self._lines = lines
        self.word = "yes" if count == 1 else str(count)

    def compose(self) -> ComposeResult:
        """Compose the objects of the question, and the field for the answer."""
        shown = [line(text) for text in self._lines[:MOST_LINES]]
        if self._of > len(shown):
            shown.append(line((f"and {self._of - len(shown):,} more", "dim")))
        shown.append(line(""))
        shown.append(
            line(
                "Type ",
                (self.word, "key"),
                " and press ",
                ("Enter", "key"),
                ".  ",
                ("Esc", "key"),
                " does nothing.",
            )
        )
        with Vertical(id="dialog") as dialog:
            set_titles(dialog, self._question)
            yield Static(as_content(shown), markup=False)
            yield Field(id="answer", keys=(("Enter", f"answer {self.word}"),))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return True only for the exact word."""
        event.stop()
        typed = event.value.strip().lower().replace(",", "")
        self.dismiss(typed == self.word or (self.word == "yes" and typed == "y"))

    def action_no(self) -> None:
        """Return False."""
        self.dismiss(False)
