"""Text fields: one with the keys that it takes, and a small form that counts at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from textual.containers import Container
from textual.message import Message
from textual.widgets import Input


class Field(Input):
    """One line to type in. `keys`: the keys that act here, with what each one does.

    The line of keys at the bottom of the screen shows them while the field has the focus.
    """

    def __init__(self, value: str = "", *, keys: Sequence[tuple[str, str]], **how: Any) -> None:
        super().__init__(value, compact=True, **how)
        self.keys = tuple(keys)


class Fields(Container):
    """Fields by their names, in `NAMES`; the id of each is its name after `PREFIX`."""

    NAMES: ClassVar[Sequence[str]] = ()
    PREFIX: ClassVar[str] = ""
    KEYS: ClassVar[Sequence[tuple[str, str]]] = (
        ("Enter", "done"),
        ("Tab", "next field"),
        ("Esc", "close"),
    )

    class Changed(Message):
        """A field has another text, typed by a person."""

        def can_replace(self, message: Message) -> bool:
            """Only the last of a burst matters."""
            return isinstance(message, Fields.Changed)

    class Done(Message):
        """Enter: the person has typed it all."""

    def field(self, name: str) -> Field:
        """One field."""
        return self.query_one(f"#{self.PREFIX}{name}", Field)

    @property
    def texts(self) -> dict[str, str]:
        """What stands in the fields."""
        return {name: self.field(name).value for name in self.NAMES}

    def fill(self, texts: Mapping[str, str]) -> None:
        """Put these texts into the fields; nobody is told."""
        for name in self.NAMES:
            text = texts.get(name, "")
            if self.field(name).value != text:
                with self.prevent(Input.Changed):
                    self.field(name).value = text

    def enter(self) -> None:
        """Begin with the first field."""
        self.field(self.NAMES[0]).focus()

    @property
    def inside(self) -> bool:
        """Whether the person is typing here."""
        return any(self.field(name).has_focus for name in self.NAMES)

    def next_field(self) -> None:
        """From one field to the next, round and round."""
        at = next((n for n, name in enumerate(self.NAMES) if self.field(name).has_focus), -1)
        self.field(self.NAMES[(at + 1) % len(self.NAMES)]).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Tell that something was typed."""
        event.stop()
        self.post_message(self.Changed())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Tell that all was typed."""
        event.stop()
        self.post_message(self.Done())
