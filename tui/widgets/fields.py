"""Text fields: one that names its keys, and a small form whose changes take effect at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from textual.containers import Container
from textual.message import Message
from textual.widgets import Input


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
