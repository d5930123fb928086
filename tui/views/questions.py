"""Questions on top of a view, whose default is no.

`confirm` asks before an operation that stops or removes something. `FolderScreen` asks for a
folder, and `TrustScreen` whether the code of a mapping file may run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rowtui.core.base.text import plural, visible
from rowtui.core.project.views.mapping_trust import MappingReview
from rowtui.tui.views.dialogs import Dialog
from rowtui.tui.widgets.cells import Line, as_content, line
from rowtui.tui.widgets.chrome import set_titles
from rowtui.tui.widgets.fields import InputField
from rowtui.tui.widgets.text_lines import TextLines
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.widgets import Input, Static

MOST_LINES = 8
"""The number of lines about the objects of the question; the others are counted."""


class ConfirmScreen(Dialog[bool]):
    """A dialog that returns True after the exact word: `yes` for one object, or the number."""

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
            yield InputField(id="answer", keys=(("Enter", f"answer {self.word}"),))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return True only for the exact word; without a text the question stays."""
        event.stop()
        if not (typed := event.value.strip().lower().replace(",", "")):
            return
        self.dismiss(typed == self.word or (self.word == "yes" and typed == "y"))


def confirm(
    app: App[Any],
    question: str,
    lines: Sequence[str],
    count: int,
    do: Callable[[], object],
    *,
    otherwise: str = "",
    of: int = 0,
) -> None:
    """Ask the question, and call `do` after the exact word; else show the text `otherwise`."""

    def answered(yes: bool | None) -> None:
        if yes:
            do()
        elif otherwise:
            app.notify(otherwise, markup=False)

    app.push_screen(ConfirmScreen(question, lines, count, of=of), answered)


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
            yield InputField(self._proposed, id="folder", keys=(("Enter", "write"),))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return the name."""
        event.stop()
        self.dismiss(event.value.strip())


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
        """Compose the text, or its differences from the trusted text, and the field below."""
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
                difference_line if review.differs else line, name="trust-text"
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
        """Return True only for the exact word; without a text the question stays."""
        event.stop()
        if typed := event.value.strip().lower():
            self.dismiss(typed == WORD)

    def action_other(self) -> None:
        """Move from the answer to the text, or back."""
        answer = self.query_one(Input)
        (self.query_one(TextLines) if answer.has_focus else answer).focus()


def difference_line(text: str) -> Line:
    """Return a line of a difference, styled by its first character."""
    style = {"+": "completed", "-": "failed", "@": "dim"}.get(text[:1], "")
    return line((text, style))
