"""The question before something is stopped or taken away. The default is no."""

from __future__ import annotations

from collections.abc import Sequence

from rowtui.tui.render.cells import line
from rowtui.tui.screens.dialog import Dialog
from rowtui.tui.screens.view import set_titles
from rowtui.tui.widgets.fields import Field
from rowtui.tui.widgets.palette import as_content
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.widgets import Input, Static

MOST_LINES = 8
"""Lines of what it concerns; the rest is counted."""


class ConfirmScreen(Dialog[bool]):
    """True after the very word: `yes` for one thing, the number for several."""

    BINDINGS = [Binding("escape", "no", "do nothing", id="confirm.no", tooltip="do nothing")]

    def __init__(self, question: str, lines: Sequence[str], count: int, *, of: int = 0) -> None:
        """`of`: how many lines there would be, where `lines` are the first of them."""
        super().__init__()
        self._of = of or len(lines)
        self._question = question
        self._lines = lines
        self.word = "yes" if count == 1 else str(count)

    def compose(self) -> ComposeResult:
        """What it concerns, and where to type."""
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
        """Only the very word is a yes."""
        event.stop()
        typed = event.value.strip().lower().replace(",", "")
        self.dismiss(typed == self.word or (self.word == "yes" and typed == "y"))

    def action_no(self) -> None:
        """No."""
        self.dismiss(False)
