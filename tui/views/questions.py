"""Questions on top of a view, whose default is no.

`confirm` asks before an operation that stops or removes something. `FolderScreen` asks for a
folder, `ChooseScreen` for one of several lines, and `TrustScreen` whether the code of a mapping
file may run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rowtui.core.base.text import plural, visible
from rowtui.core.project.views.mapping_trust import MappingReview
from rowtui.tui.views.dialogs import Dialog
from rowtui.tui.widgets.cells import Line, as_content, cut, line, wrapped
from rowtui.tui.widgets.chrome import set_titles
from rowtui.tui.widgets.fields import InputField
from rowtui.tui.widgets.text_lines import TextLines
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Input, OptionList, Static

MOST_LINES = 8
"""The number of rows about the objects of the question; the others are counted."""

AROUND = 18
"""Lines of a question and its table without its rows; on a lower screen there is no table."""


class Question(NamedTuple):
    """A question before a verb: its objects, what happens, and the word that confirms it.

    `table`: the titles, the rows, and a row of sums; `more` rows are left out. `wrong`: why the
    user should hesitate. `to`: the purpose of the word. `otherwise`: what Esc does. `undo`: whether
    the verb can be undone. `loses`: whether results or computing time are lost.
    """

    title: str
    happens: Sequence[str]
    word: str
    table: Sequence[Sequence[str]] = ()
    more: int = 0
    wrong: str = ""
    to: str = ""
    otherwise: str = "does nothing"
    undo: str = ""
    loses: bool = False

    def lines(self, width: int, height: int) -> list[Line]:
        """Return the question for a dialog of this width on a screen of this height."""
        rows = min(MOST_LINES, height - AROUND)
        lines: list[Line] = []
        if self.table and rows > 0:
            lines = [cut(row, width) for row in table_lines(self.table, rows, self.more)]
            lines.append(())
        if self.wrong:
            lines += wrapped(line(("✗ ", "failed"), (self.wrong, "failed")), width, 2)
        for text in self.happens:
            lines += wrapped(line(text), width)
        return lines


def table_lines(table: Sequence[Sequence[str]], most: int, more: int = 0) -> list[Line]:
    """Return a table: titles, at most this number of rows, how many are left out, and the sums.

    Numbers are aligned right, except in the first column.
    """
    titles, *rows, sums = table
    shown = [titles, *rows[:most], sums]
    columns = list(zip(*shown, strict=True))
    widths = [max(map(len, cells)) for cells in columns]
    right = [at > 0 and all(it[:1] in _NUMERIC for it in it[1:]) for at, it in enumerate(columns)]
    parts = [
        "  ".join(
            f"{visible(cell):{'>' if number else '<'}{width}}"
            for cell, width, number in zip(row, widths, right, strict=True)
        )
        for row in shown
    ]
    lines = [line((parts[0], "dim")), *map(line, parts[1:-1])]
    if left := more + len(rows) - len(rows[:most]):
        lines.append(line((f"and {left:,} more", "dim")))
    return [*lines, line((parts[-1], "title"))]


_NUMERIC = "0123456789·–<"


def word_for(count: int, *, anyway: bool = False) -> str:
    """Return the text to type: `yes` for one object, or their number; with a doubt, `anyway`."""
    return ("yes" if count == 1 else str(count)) + (f" {ANYWAY}" if anyway else "")


ANYWAY = "anyway"
"""The additional word for a confirmation if a check failed or a budget does not suffice."""


def is_yes(word: str, typed: str | None) -> bool:
    """Whether the typed text is this confirmation; `y` is short for `yes`."""
    text = " ".join((typed or "").lower().replace(",", "").split())
    return text == word or (word.startswith("yes") and text == "y" + word.removeprefix("yes"))


class ConfirmScreen(Dialog[str]):
    """A dialog that returns what the user typed; only the exact word is a confirmation.

    `ask` returns the question, which may change while the user reads or types.
    """

    BINDINGS = [Binding("escape", "no", "close", id="confirm.no", tooltip="do nothing")]

    def __init__(self, ask: Callable[[], Question]) -> None:
        super().__init__()
        self._ask = ask

    def compose(self) -> ComposeResult:
        """Compose the objects, what happens, the field for the answer, and what Esc does."""
        with Vertical(id="dialog"):
            yield Static(id="what", markup=False)
            with Horizontal(id="asked"):
                yield Static(id="type", markup=False)
                yield InputField(id="answer", keys=(("Enter", "answer"),))
            yield Static(id="else", markup=False)

    def on_resize(self) -> None:
        """Show the question for the new size."""
        super().on_resize()
        self.show_question()

    def show_question(self) -> None:
        """Show the question as it is now; before all its widgets are there, it is shown later."""
        if not (self.query("#else") and self.query("#answer")):
            return
        question, dialog = self._ask(), self.query_one("#dialog")
        set_titles(dialog, question.title)
        dialog.set_class(question.loses, "failure")
        word, enter = (question.word, "key"), ("Enter", "key")
        to = f" to {question.to}:" if question.to else "."
        # The width of the dialog is known after its first layout.
        width = dialog.content_size.width or min(64, self.size.width * 24 // 25 - 6)
        parts = {
            "what": question.lines(width, self.size.height),
            "type": [line("Type ", word, " and press ", enter, to)],
            "else": [line(("Esc", "key"), f" {question.otherwise}.  {question.undo}")],
        }
        for name, lines in parts.items():
            self.query_one(f"#{name}", Static).update(as_content(lines))
        self.query_one(InputField).keys = (("Enter", f"answer {question.word}"),)

    def on_input_changed(self) -> None:
        """Show what must be typed now, for example after the checks of a plan."""
        self.show_question()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return the text; without a text the question stays."""
        event.stop()
        if typed := event.value.strip():
            self.dismiss(typed)


def confirm(
    app: App[Any], question: Question, do: Callable[[], object], *, otherwise: str = ""
) -> None:
    """Ask the question, and call `do` after the exact word; else show the text `otherwise`."""

    def answered(typed: str | None) -> None:
        if is_yes(question.word, typed):
            do()
        elif otherwise:
            app.notify(otherwise, markup=False)

    app.push_screen(ConfirmScreen(lambda: question), answered)


class ChooseScreen(Dialog[int | None]):
    """A dialog for one of several lines. It returns the index of the line, or None."""

    BINDINGS = [
        Binding("escape", "no", "close", id="login.nothing", tooltip="choose nothing"),
        Binding("j", "step(1)", "down", show=False, id="login.down", tooltip="one line down"),
        Binding("k", "step(-1)", "up", show=False, id="login.up", tooltip="one line up"),
    ]

    def __init__(self, title: str, lines: Sequence[Line], enter: str) -> None:
        super().__init__()
        self._title, self._lines, self._enter = title, lines, enter

    def compose(self) -> ComposeResult:
        """Compose the lines, and what Enter does with the chosen one."""
        with VerticalScroll(id="dialog", classes="login", can_focus=False) as dialog:
            set_titles(dialog, self._title)
            yield OptionList(*(as_content([one]) for one in self._lines), compact=True)
            keys = line(("Enter", "key"), f" {self._enter}   ", ("Esc", "key"), " does nothing")
            yield Static(as_content([(), keys]), markup=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return the index of the chosen line."""
        event.stop()
        self.dismiss(event.option_index)

    def action_step(self, by: int) -> None:
        """Move up or down, as in every list."""
        options = self.query_one(OptionList)
        if by > 0:
            options.action_cursor_down()
        else:
            options.action_cursor_up()


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
