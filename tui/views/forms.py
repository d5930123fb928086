"""A form in a dialog: lines about its objects, a field for each value, a sentence below each error.

A form sends nothing: its result is shown, and confirmed, before it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Generic, NamedTuple, TypeVar

from rowtui.tui.views.dialogs import Dialog, show_wrong
from rowtui.tui.widgets.cells import Line, as_content, line
from rowtui.tui.widgets.chrome import set_titles
from rowtui.tui.widgets.fields import InputField
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Input, Static

T = TypeVar("T")


class FormField(NamedTuple):
    """One line of a form; the examples stand in the empty field, `text` is there at first."""

    name: str
    label: str
    examples: str
    text: str = ""


class FormScreen(Dialog[T], Generic[T]):
    """A dialog that returns the value of the fields, or None. An empty field changes nothing.

    `read` returns this value, and by the names of fields a sentence about each unreadable text.
    `note` is shown beside the title. `NAME` begins the ids of the fields; `ENTER` is what Enter
    does.
    """

    NAME: ClassVar[str]
    ENTER: ClassVar[str]
    MOVES: ClassVar[tuple[str, str]] = ("Tab", "next field")

    def __init__(
        self,
        title: str,
        note: str,
        lines: Sequence[Line],
        fields: Sequence[FormField],
        read: Callable[[Mapping[str, str]], tuple[T, Mapping[str, str]]],
    ) -> None:
        super().__init__()
        self._title, self._note, self._lines = title, note, lines
        self._fields = fields
        self._read = read

    def compose(self) -> ComposeResult:
        """Compose the lines, a field for each value that can be changed, and the keys."""
        with VerticalScroll(id="dialog", classes="again", can_focus=False) as dialog:
            set_titles(dialog, self._title, self._note)
            yield Static(as_content([*self._lines, ()]), markup=False)
            for field in self._fields:
                with Horizontal(classes="field"):
                    yield Static(field.label, markup=False)
                    yield InputField(
                        field.text,
                        id=f"{self.NAME}-{field.name}",
                        placeholder=field.examples,
                        keys=(("Enter", self.ENTER), self.MOVES),
                        select_on_focus=False,
                    )
                yield Static(id=f"wrong-{field.name}", markup=False, classes="wrong")
            yield from self.below()

    def below(self) -> ComposeResult:
        """Compose what is below the fields: the keys."""
        keys = line(
            ("Enter", "key"), f" {self.ENTER.replace('show', 'shows')}   ", ("Tab", "key"),
            " next   ", ("Esc", "key"), " does nothing",
        )  # fmt: skip
        yield Static(as_content([(), keys]), markup=False)

    def _input(self, name: str) -> Input:
        return self.query_one(f"#{self.NAME}-{name}", Input)

    def _typed(self) -> tuple[T, Mapping[str, str]]:
        return self._read({field.name: self._input(field.name).value for field in self._fields})

    def _name_of(self, field: Input) -> str:
        return (field.id or "").removeprefix(f"{self.NAME}-")

    def _check(self, only: str = "") -> Mapping[str, str]:
        """Show the errors beneath all fields, or beneath this one; return them by field name."""
        _, wrong = self._typed()
        for field in self._fields:
            if only in ("", field.name):
                show_wrong(self, field.name, wrong.get(field.name, ""))
        return wrong

    def on_input_changed(self, event: Input.Changed) -> None:
        """Check again a field that was wrong; an incomplete text is not reported as wrong."""
        name = self._name_of(event.input)
        if self.query(f"#wrong-{name}.-shown"):
            self._check(name)

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        """Check a field that the user has left."""
        if isinstance(event.widget, Input) and self.is_current:
            self._check(self._name_of(event.widget))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return the value, if all fields can be parsed."""
        event.stop()
        if wrong := self._check():
            self._input(next(iter(wrong))).focus()
            return
        self.dismiss(self._typed()[0])
