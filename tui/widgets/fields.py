"""Text fields: one that names its keys, a small form, and the line of a filter below a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from rowtui.tui.widgets.cells import as_content, line
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input, Static


class InputField(Input):
    """One line to type in. `keys` has the keys of the field, with the effect of each one.

    The line of keys at the bottom of the screen shows them while the field has the focus.
    """

    def __init__(self, value: str = "", *, keys: Sequence[tuple[str, str]], **how: Any) -> None:
        super().__init__(value, compact=True, **how)
        self.keys = tuple(keys)


class Fields(Container):
    """Fields by their names, in `NAMES`; the id of each is `PREFIX` followed by its name."""

    NAMES: ClassVar[Sequence[str]] = ()
    PREFIX: ClassVar[str] = ""
    KEYS: ClassVar[Sequence[tuple[str, str]]] = (
        ("Enter", "done"),
        ("Tab", "next field"),
        ("Esc", "close"),
    )

    class Changed(Message):
        """Posted after the user has changed the text of a field."""

        def can_replace(self, message: Message) -> bool:
            """Whether this message replaces an older one: only the last of a burst matters."""
            return isinstance(message, Fields.Changed)

    class Done(Message):
        """Posted on Enter: the user has completed the form."""

    def field(self, name: str) -> InputField:
        """Return one field."""
        return self.query_one(f"#{self.PREFIX}{name}", InputField)

    @property
    def texts(self) -> dict[str, str]:
        """The texts of the fields."""
        return {name: self.field(name).value for name in self.NAMES}

    def fill(self, texts: Mapping[str, str]) -> None:
        """Put these texts into the fields, without a message."""
        for name in self.NAMES:
            text = texts.get(name, "")
            if self.field(name).value != text:
                with self.prevent(Input.Changed):
                    self.field(name).value = text

    def enter(self) -> None:
        """Focus the first field."""
        self.field(self.NAMES[0]).focus()

    @property
    def inside(self) -> bool:
        """Whether one of the fields has the focus."""
        return any(self.field(name).has_focus for name in self.NAMES)

    def next_field(self) -> None:
        """Move to the next field, in a cycle."""
        at = next((n for n, name in enumerate(self.NAMES) if self.field(name).has_focus), -1)
        self.field(self.NAMES[(at + 1) % len(self.NAMES)]).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Post that a text has changed."""
        event.stop()
        self.post_message(self.Changed())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Post that the form is complete."""
        event.stop()
        self.post_message(self.Done())


DEBOUNCE_SECONDS = 0.15
"""Seconds between the last key and the request: the user does not read results of a
shorter time.
"""

KEYS = (("Enter", "keep the filter"), ("Esc", "show all rows"))

EXAMPLES = "text  field=value  !not  ~regex  T<0.9"


class FilterBar(Vertical):
    """One line, and a second line while the filter has an error."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "clear", "clear", id="filter.clear", tooltip="show all rows again"),
    ]
    DEFAULT_CSS = """
    FilterBar { dock: bottom; height: auto; background: $panel; }
    FilterBar Horizontal { height: 1; }
    FilterBar Horizontal Static { width: 2; color: $text-key; text-style: bold; }
    FilterBar Input { width: 1fr; background: $panel; }
    FilterBar .wrong { height: 1; display: none; }
    FilterBar .wrong.-shown { display: block; }
    """

    class Typed(Message):
        """Posted after a pause in typing; `done`: Enter or Esc was pressed."""

        def __init__(self, bar: FilterBar, text: str, *, done: bool = False) -> None:
            super().__init__()
            self.bar = bar
            self.text = text
            self.done = done

    def __init__(self, text: str, problem: str = "") -> None:
        super().__init__()
        self._text = text
        self._timer: Timer | None = None
        self._problem = problem

    def compose(self) -> ComposeResult:
        """Compose the field, and the error."""
        with Horizontal():
            yield Static("/", markup=False)
            yield InputField(self._text, keys=KEYS, placeholder=EXAMPLES)
        wrong = Static(_why(self._problem), classes="wrong", markup=False)
        yield wrong.set_class(bool(self._problem), "-shown")

    def on_mount(self) -> None:
        """Focus the field: select the previous filter, or continue a refused one."""
        field = self.query_one(Input)
        field.select_on_focus = not self._problem
        field.focus()
        field.action_end()

    @property
    def text(self) -> str:
        """The text of the field."""
        return self.query_one(Input).value.strip() if self.is_mounted else self._text

    @property
    def lines(self) -> int:
        """The number of lines of the list that the bar hides."""
        return 2 if self._problem else 1

    def say(self, problem: str) -> None:
        """Show the error; "" for none."""
        if problem != self._problem and self.is_mounted:
            self._problem = problem
            wrong = self.query_one(".wrong", Static)
            wrong.update(_why(problem))
            wrong.set_class(bool(problem), "-shown")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Post the filter after a pause in typing."""
        event.stop()
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(DEBOUNCE_SECONDS, self._tell)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Keep the filter."""
        event.stop()
        self._tell(done=True)

    def action_clear(self) -> None:
        """Remove the filter."""
        with self.prevent(Input.Changed):
            self.query_one(Input).value = ""
        self._tell(done=True)

    def _tell(self, *, done: bool = False) -> None:
        if self._timer is not None:
            self._timer.stop()
        self.post_message(self.Typed(self, self.text, done=done))


def _why(problem: str) -> Content:
    return as_content([line((" ▲ " + problem, "warning"))])
