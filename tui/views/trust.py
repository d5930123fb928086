"""The question whether the code of a mapping file may run. The user reads it first; default no."""

from __future__ import annotations

from rowtui.core.base.text import plural, visible
from rowtui.core.engine.api.engine import MappingReview
from rowtui.tui.views.dialog import Dialog
from rowtui.tui.widgets.cells import Line, line
from rowtui.tui.widgets.chrome import set_titles
from rowtui.tui.widgets.fields import InputField
from rowtui.tui.widgets.palette import as_content
from rowtui.tui.widgets.text_lines import TextLines
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.widgets import Input, Static

WORD = "trust"


class TrustScreen(Dialog[bool]):
    """A dialog that returns True after the exact word."""

    BINDINGS = [
        Binding("escape", "no", "trust nothing", id="trust.no", tooltip="trust nothing"),
        Binding("tab", "other", "text or answer", id="trust.pane", priority=True,
                tooltip="between the text and the answer"),
    ]  # fmt: skip

    def __init__(self, review: MappingReview) -> None:
        super().__init__()
        self._review = review

    def compose(self) -> ComposeResult:
        """Compose the text, or its differences from the trusted text; below, the field for the
        answer.
        """
        review = self._review
        asked = line(
            f"Its expressions are Python and run as you. {visible(review.place)}  ",
            (f"sha256 {review.digest[:12]}", "dim"),
        )
        typed = line(
            "Read it, then type ", (WORD, "key"), " and press ", ("Enter", "key"), ".  ",
            ("Tab", "key"), " scrolls the text.  ", ("Esc", "key"), " trusts nothing.",
        )  # fmt: skip
        with Vertical(id="trust"):
            page: TextLines[str] = TextLines(
                _difference if review.differs else line, name="trust-text"
            )
            what = "what changed in" if review.differs else "all of"
            set_titles(page, f"Trust {review.name}?", f"{what} {plural(len(review.lines), 'line')}")
            page.lines = review.lines
            page.empty = line(("The file is empty.", "dim"))
            yield page
            yield Static(as_content([asked, typed]), markup=False)
            yield InputField(id="answer", keys=(("Enter", f"answer {WORD}"),))

    def on_mount(self) -> None:
        """Show the text from its beginning; the focus is on the answer."""
        page: TextLines[str] = self.query_one(TextLines)
        lines, page.lines = tuple(page.lines), ()
        page.show(lines)
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return True only for the exact word."""
        event.stop()
        self.dismiss(event.value.strip().lower() == WORD)

    def action_no(self) -> None:
        """Return False."""
        self.dismiss(False)

    def action_other(self) -> None:
        """Move from the answer to the text, or back."""
        answer = self.query_one(Input)
        (self.query_one(TextLines) if answer.has_focus else answer).focus()


def _difference(text: str) -> Line:
    """Return a line of a difference, styled by its first character."""
    style = {"+": "completed", "-": "failed", "@": "dim"}.get(text[:1], "")
    return line((text, style))
